"""The names of nvshmem.core.interop.cupy, whose arrays lie on GPUs: they say so.

The functions of these names in ``nvshmemrs.core`` make and take NumPy arrays.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..nvshmem_types import NotSupportedError, not_on_host

__all__ = [
    "array",
    "array_get_buffer",
    "bytearray",
    "empty",
    "free_array",
    "get_multicast_array",
    "get_peer_array",
    "register_external_array",
    "unregister_external_array",
]


def _error(name: str) -> NotSupportedError:
    return not_on_host(
        f"interop.cupy.{name}", f"{name} of nvshmemrs.core, or of interop.numpy, has NumPy arrays"
    )


def array(
    shape: Any,
    dtype: Any = "float32",
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("array")


empty = array


def bytearray(
    shape: Any,
    dtype: Any = "float32",
    release: bool = False,
    device_id: Optional[int] = None,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("bytearray")


def free_array(array: Any) -> None:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("free_array")


def array_get_buffer(array: Any) -> Tuple[Any, int, str]:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("array_get_buffer")


def get_peer_array(array: Any, peer_pe: Optional[int] = None) -> Any:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("get_peer_array")


def get_multicast_array(team: Any, array: Any) -> Any:
    """NotSupportedError: multicast memory is a feature of GPUs."""
    raise _error("get_multicast_array")


def register_external_array(array: Any) -> Any:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("register_external_array")


def unregister_external_array(array: Any) -> None:
    """NotSupportedError: CuPy arrays lie on a GPU."""
    raise _error("unregister_external_array")
