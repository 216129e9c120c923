"""The synchronisation checker (``NVSHMEMRS_CHECK=1``, ``nvshmemrs-run --check``)."""

from __future__ import annotations

from typing import Any

from .. import _ffi
from ._arguments import switch
from ._job import check, lib
from ._operand import operand
from .nvshmem_types import NvshmemInvalid

__all__ = ["check_access"]

_LOAD = int(_ffi.Access.LOAD)
_STORE = int(_ffi.Access.STORE)


def check_access(array: Any, write: bool = False) -> None:
    """Tells the checker that the program is about to read, or to write, `array`, a NumPy array or
    a Buffer. The checker sees the calls of this package, and NumPy's accesses to arrays. This
    is for accesses of other libraries. Without the checker it does nothing.

    Local.
    """
    known = operand(array, "array")
    if known.layout is None and known.dtype is not None:
        raise NvshmemInvalid(
            f"array is not C-contiguous: shape {known.shape}, strides {known.strides} bytes. "
            "Announce its parts"
        )
    access = _STORE if switch(write, "write") else _LOAD
    check(lib.nvshmemrs_check_access(known.address, known.nbytes, access, None))
