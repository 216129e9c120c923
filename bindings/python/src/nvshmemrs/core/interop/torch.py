"""The names of nvshmem.core.interop.torch, whose tensors lie on GPUs: they say so."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from ..nvshmem_types import NotSupportedError, not_on_host

__all__ = [
    "bytetensor",
    "empty",
    "free_tensor",
    "get_multicast_tensor",
    "get_peer_tensor",
    "register_external_tensor",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
]


def _error(name: str) -> NotSupportedError:
    return not_on_host(name, "array() makes NumPy arrays, which torch.from_numpy shares")


def tensor(
    shape: Any,
    dtype: Any = None,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("tensor")


empty = tensor


def bytetensor(
    shape: Any,
    dtype: Any = None,
    release: bool = False,
    morder: str = "C",
    except_on_del: bool = True,
) -> Any:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("bytetensor")


def free_tensor(tensor: Any) -> None:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("free_tensor")


def tensor_get_buffer(tensor: Any) -> Tuple[Any, int, str]:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("tensor_get_buffer")


def get_peer_tensor(tensor: Any, peer_pe: Optional[int] = None) -> Any:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("get_peer_tensor")


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """NotSupportedError: multicast memory is a feature of GPUs."""
    raise _error("get_multicast_tensor")


def register_external_tensor(tensor: Any) -> Any:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("register_external_tensor")


def unregister_external_tensor(tensor: Any) -> None:
    """NotSupportedError: the reference's tensors lie on a GPU."""
    raise _error("unregister_external_tensor")
