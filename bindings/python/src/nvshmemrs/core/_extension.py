"""The C extension ``nvshmemrs._fast``, which answers plain calls in place of the Python functions.

It is optional, and needs CPython 3.11 or later with a GIL, in the main interpreter. Without it every
call takes ctypes, with the same results and errors. NVSHMEMRS_PYTHON_EXTENSION=0 leaves it out; 1
makes it an error that it is not there.
"""

from __future__ import annotations

import copyreg
import ctypes
import importlib
import os
import sys
from typing import Any, Callable, Dict, Tuple, TypeVar

import numpy as np

from .. import _ffi

_SETTING = "NVSHMEMRS_PYTHON_EXTENSION"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _load() -> Any:
    wanted = os.environ.get(_SETTING, "").strip()
    if wanted not in ("", "0", "1"):
        raise ImportError(f"{_SETTING}={wanted}: it must be 0 or 1, or not set")
    if wanted == "0":
        return None
    try:
        if sys.version_info < (3, 11):
            raise ImportError("it needs Python 3.11 or later")
        found: Any = importlib.import_module("nvshmemrs._fast")
    except ImportError as error:
        if wanted == "1":
            raise ImportError(f"{_SETTING}=1, and the extension cannot be used: {error}") from error
        return None
    if found.API_HASH != _ffi.API_HASH:
        raise ImportError(
            f"{found.__file__} was made for API hash {found.API_HASH:#018x}, and this package for "
            f"{_ffi.API_HASH:#018x}: they are different builds of nvshmemrs"
        )
    copyreg.pickle(found.Function, lambda function: function.__qualname__)
    return found


_fast = _load()


def is_used() -> bool:
    """Whether plain calls take the extension."""
    return _fast is not None


def accelerated(function: _Function) -> _Function:
    """A decorator: lets the extension answer the plain calls of this function."""
    return function if _fast is None else _fast.function(function)


def set_runtime(runtime: int) -> None:
    """Takes note of the runtime whose plain calls the extension answers; 0 is none."""
    if _fast is not None:
        _fast.set_runtime(runtime)


def keep(array: np.ndarray) -> None:
    """Takes note that this array lies in memory of the heap that is allocated."""
    if _fast is not None:
        _fast.keep(array)


def forget() -> None:
    """Forgets which memory is allocated."""
    if _fast is not None:
        _fast.forget()


def set_up(
    array_class: type,
    names: Tuple[Any, ...],
    enums: Tuple[type, ...],
    codes: Dict[Any, int],
) -> None:
    """Tells the extension of the library, of NumPy and of `array_class`, that of arrays on the heap.
    Until then it passes all calls on, and always with a NumPy that lays out arrays in another way.

    `names` are the job, what raises for a status, the reductions by name, and the team without
    members; `enums` the classes of reductions, comparisons and signal operations; `codes` the
    library's numbers of dtypes.
    """
    global _fast
    if _fast is None:
        return
    functions = {
        name.partition("nvshmemrs_")[2]: ctypes.cast(_ffi.lib[name], ctypes.c_void_p).value
        for name, *_ in _ffi._FUNCTIONS
    }
    dtypes = [np.dtype(kind) for kind in "d f l q i L Q I b B h H ? D F e".split()]
    # Not a dict: the dtypes of "l" and "q" are equal, but the extension distinguishes them.
    rows = [(kind, kind.type, kind.itemsize, codes.get(kind, -1)) for kind in dtypes]
    sample = np.zeros(3)
    place: int = sample.__array_interface__["data"][0]
    classes = (np.ndarray, array_class)
    try:
        _fast.setup(functions, names, enums, rows, classes, (sample, place, sample.flags.num))
    except ImportError as error:
        if os.environ.get(_SETTING, "").strip() == "1":
            raise ImportError(f"{_SETTING}=1, and the extension cannot be used: {error}") from error
        set_runtime(0)
        _fast = None
