"""Arrays on the symmetric heap: NumPy's on host memory, CuPy's on GPUs. The functions are those of
``interop.numpy`` and ``interop.cupy``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Tuple

from ._job import job
from .interop import cupy, numpy
from .interop._types import Element, Order, Shape, makes_array
from .memory import Buffer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def _library() -> Any:
    return numpy if job.device < 0 else cupy


@makes_array
def array(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    morder: Order = "C",
    except_on_del: bool = True,
) -> Any:
    """Allocates an array of zeros on every PE's symmetric heap: NumPy's, or CuPy's on a GPU.

    Collective over all PEs with the same arguments; includes a barrier. `morder` is "C" or "F".
    Type checkers know the elements from `dtype`, and take every array for one of NumPy's. `release`
    and `except_on_del` are accepted and have no effect; see ``buffer``. ``with`` frees it.
    """
    return _library().array(shape, dtype, release, morder, except_on_del)


@makes_array
def empty(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    morder: Order = "C",
    except_on_del: bool = True,
) -> Any:
    """As ``array``, but the contents are undefined: on host memory no time goes into zeros.

    Collective over all PEs with the same arguments; includes a barrier.
    """
    return _library().empty(shape, dtype, release, morder, except_on_del)


def bytearray(
    shape: Shape,
    dtype: Any = "float32",
    release: bool = False,
    device_id: Optional[int] = None,
    morder: Order = "C",
    except_on_del: bool = True,
) -> "numpy.SymmetricArray[Tuple[Any, ...], np.dtype[np.uint8]]":
    """The bytes of an array of this shape and dtype, as a one-dimensional array of uint8.

    Collective over all PEs, as ``array``. `device_id` is accepted and has no effect: ``init``
    chooses the memory.
    """
    made: Any = _library().bytearray(shape, dtype, release, device_id, morder, except_on_del)
    return made  # type: ignore[no-any-return]


def free_array(array: Any) -> None:
    """Frees an array on every PE; views of it must not be used any more.

    Collective over all PEs with the same array; a barrier comes first. It takes the array as
    allocated, reshaped perhaps, and no smaller view. A peer's array is only closed here.
    """
    _library().free_array(array)


def array_get_buffer(array: Any) -> Tuple[Buffer, int, str]:
    """The Buffer that an array, or a view of one, lies in, the array's bytes, and its dtype's name.
    Local.
    """
    found: Tuple[Buffer, int, str] = _library().array_get_buffer(array)
    return found


def get_peer_array(
    array: "NDArray[Element]", peer_pe: Optional[int] = None
) -> "numpy.SymmetricArray[Tuple[Any, ...], np.dtype[Element]]":
    """PE `peer_pe`'s copy of an array or view, for direct loads and stores, on a GPU by kernels:
    same shape, dtype and strides. Local.
    """
    made: Any = _library().get_peer_array(array, peer_pe)
    return made  # type: ignore[no-any-return]


def get_multicast_array(team: Any, array: Any) -> Any:
    """NotSupportedError: this version offers no multicast memory."""
    return _library().get_multicast_array(team, array)


def register_external_array(
    array: "NDArray[Element]",
) -> "numpy.SymmetricArray[Tuple[Any, ...], np.dtype[Element]]":
    """Makes an array of this process symmetric, where it is, and returns the array to use in
    operations: the same elements, shape, dtype and order, at another address.

    Collective over all PEs with the same size. The array is C- or F-contiguous, and its memory its
    own, as that of ``aligned_empty``; see ``register_external_buffer``. NVSHMEM
    `nvshmemx_buffer_register_symmetric`.
    """
    made: Any = _library().register_external_array(array)
    return made  # type: ignore[no-any-return]


def unregister_external_array(array: Any) -> None:
    """Makes a registered array's memory private again; the array that was registered keeps its
    contents. Takes that array, or the result of ``register_external_array``.

    Collective over all PEs with the same array; a barrier comes first.
    """
    _library().unregister_external_array(array)
