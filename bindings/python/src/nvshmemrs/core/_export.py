"""The buffer protocol before Python 3.12, which is the first to know ``__buffer__``."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Type, TypeVar

from . import _job
from .nvshmem_types import NvshmemError

_Kind = TypeVar("_Kind", bound=Type[Any])

# Where CPython 3.9 to 3.11 have these fields of a type, and of a Py_buffer the exporter.
_BASIC_SIZE, _AS_BUFFER, _EXPORTER = 32, 160, 8


def exporting(kind: _Kind) -> _Kind:
    """Makes ``memoryview`` and ``numpy.frombuffer`` call a class's ``__buffer__``, as Python 3.12
    does by itself.
    """
    if sys.version_info < (3, 12) and sys.implementation.name == "cpython":
        _fill(kind)
    return kind


def _get(value: Any, view: int, flags: int) -> int:
    # No exception may leave this function. If it fails, NumPy uses the array interface, which
    # raises the reason.
    try:
        memory = value.__buffer__(flags)
        source = (ctypes.c_char * memory.nbytes).from_buffer(memory)
        address = ctypes.addressof(source)
        ctypes.pythonapi.PyBuffer_FillInfo(
            ctypes.c_void_p(view),
            ctypes.py_object(value),
            ctypes.c_void_p(address),
            ctypes.c_ssize_t(memory.nbytes),
            0,
            flags,
        )
        return 0
    except BaseException as error:
        if not isinstance(error, (NvshmemError, BufferError)):
            _job.hand_over(error)
        ctypes.c_void_p.from_address(view + _EXPORTER).value = None
        return -1


_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)(_get)


def _fill(kind: Type[Any]) -> None:
    """Puts `_get` into the type's table of the buffer protocol."""
    begin, end = id(kind), id(kind) + type.__sizeof__(kind)
    size = ctypes.c_ssize_t.from_address(begin + _BASIC_SIZE).value
    table = ctypes.c_void_p.from_address(begin + _AS_BUFFER).value or 0
    if size == kind.__basicsize__ and begin < table < end:  # else a build with other fields
        slot = ctypes.cast(_get_buffer, ctypes.c_void_p)
        ctypes.c_void_p.from_address(table).value = slot.value
