"""The accesses of NumPy's functions to the watched arrays among their arguments. Most functions
read all of them; the functions here do not.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Set

import numpy as np

from ._places import masked, runs, selected
from ._watch import LOAD, STORE, Watching, plain, read, record, unwrapped, write

# Functions that read nothing: they return shapes, or views without a copy.
_LOOK = (
    "broadcast_arrays broadcast_to can_cast common_type empty_like iscomplexobj isrealobj "
    "may_share_memory min_scalar_type ndim ones_like result_type shape shares_memory size "
    "zeros_like"
)
# Those that are written in Python and use methods, indices and ufuncs of watched arrays, which
# announce their accesses.
_THROUGH = (
    "all amax amin any apply_along_axis apply_over_axes array_split atleast_1d atleast_2d "
    "atleast_3d clip compress cumprod cumsum delete diagonal dsplit expand_dims extract flip "
    "fliplr flipud hsplit imag ix_ matrix_transpose max mean meshgrid min moveaxis permute_dims "
    "piecewise prod ptp put put_along_axis ravel real reshape rollaxis rot90 round select split "
    "squeeze std sum swapaxes take take_along_axis trace transpose tril triu unstack var vsplit"
)


def _functions(names: str) -> Set[Any]:
    found = {getattr(np, name, None) for name in names.split()}
    return found - {None}


_looking = _functions(_LOOK)
_through = _functions(_THROUGH)
for _name in ("as_strided", "sliding_window_view"):
    _looking.add(getattr(np.lib.stride_tricks, _name))


def goes_through(function: Any) -> bool:
    """Whether a function is to be called with watched arrays."""
    return function in _through


def announce(function: Any, args: Any, named: Any) -> None:
    """Announces the accesses of a function, except those to its argument `out`."""
    if function in _looking:
        return
    special = _special.get(function)
    if special is None or not special(*args, **named):
        read((args, {key: one for key, one in named.items() if key != "out"}))


def _given(value: Any, where: Any) -> None:
    """Announces that an operand is read where a mask of the result's shape says."""
    if isinstance(value, Watching):
        here = plain(value)
        try:
            chosen = np.broadcast_to(_offsets_mask(here, where), here.shape)
        except ValueError:
            return  # the call will raise the error
        record(LOAD, selected(here, chosen))


def _offsets_mask(here: np.ndarray, where: Any) -> np.ndarray:
    where = np.asarray(where, bool)
    return masked(here.shape, where, np.broadcast_shapes(here.shape, where.shape))


def _where(condition: Any, x: Any = None, y: Any = None) -> bool:
    if x is None or y is None:
        return False
    read(condition)
    chosen = np.asarray(unwrapped(condition), bool)
    shape = np.broadcast_shapes(chosen.shape, np.shape(x), np.shape(y))
    chosen = np.broadcast_to(chosen, shape)
    _given(x, chosen)
    _given(y, ~chosen)
    return True


def _copyto(dst: Any, src: Any, casting: Any = None, where: Any = True) -> bool:
    if where is True:
        read(src)
        write(dst)
        return True
    read(where)
    chosen = np.broadcast_to(np.asarray(unwrapped(where), bool), np.shape(dst))
    _given(src, chosen)
    if isinstance(dst, Watching):
        record(STORE, selected(plain(dst), chosen))
    return True


def _putmask(a: Any, mask: Any, values: Any) -> bool:
    read((mask, values))
    if isinstance(a, Watching):
        chosen = np.asarray(unwrapped(mask), bool).reshape(np.shape(a))
        record(STORE, selected(plain(a), chosen))
    return True


def _place(arr: Any, mask: Any, vals: Any) -> bool:
    return _putmask(arr, mask, vals)


def _fill_diagonal(a: Any, val: Any, wrap: bool = False) -> bool:
    read(val)
    if isinstance(a, Watching):
        here = plain(a)
        if here.ndim == 2:
            touched = np.zeros(here.shape, bool)
            np.fill_diagonal(touched, True, wrap)
            record(STORE, selected(here, touched))
        else:
            record(STORE, runs(np.einsum("i" * here.ndim + "->i", here)))
    return True


def _diag(v: Any, k: int = 0) -> bool:
    """The diagonal of a matrix is a view."""
    return bool(np.ndim(v) == 2)


def _full_like(a: Any, fill_value: Any, **_: Any) -> bool:
    read(fill_value)
    return True


_special: Dict[Any, Callable[..., bool]] = {
    np.where: _where,
    np.copyto: _copyto,
    np.putmask: _putmask,
    np.place: _place,
    np.fill_diagonal: _fill_diagonal,
    np.diag: _diag,
    np.full_like: _full_like,
}
