"""The device functions of NVSHMEM's C library, by their names without prefix, as kernels that use
``nvshmem.bindings.device.numba`` call them: ``int_p``, ``float_put_block``, ``putmem_nbi``,
``put_signal_nbi``, ``signal_wait_until``, ``int_atomic_fetch_add``, ``float_sum_reduce_warp`` ...

`dest`, `source` and signals are arrays, or pointers such as ``ffi.from_buffer`` gives. Counts are
those of elements, of bytes where the name has ``mem``. A name with a type takes arrays of that
type. Names are made when they are first asked for; one that is not here raises AttributeError.
Collectives take a `slot` as their last argument, 0 if it is left out.
"""

# mypy: ignore-errors
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re

from . import _state as _s
from ._backend import (
    address,
    check_pair,
    check_signal,
    integer,
    itemsize,
    jitable,
    named,
    public,
)
from .amo import *  # noqa: F403
from .collective import (
    barrier,
    barrier_all,
    barrier_all_block,
    barrier_all_warp,
    barrier_block,
    barrier_warp,
    broadcast_bytes,
    gather_bytes,
    reduction_of,
    sync,
    sync_all,
    sync_all_block,
    sync_all_warp,
    sync_block,
    sync_warp,
)
from .direct import (
    fence,
    flush,
    flush_block,
    flush_warp,
    my_pe,
    n_pes,
    quiet,
    signal_fetch,
    signal_op,
    signal_wait,
    team_my_pe,
    team_n_pes,
    team_translate_pe,
)
from .rma import align_of, g, get_bytes, iget, iput, p, put_bytes, put_signal_bytes
from .waits import *  # noqa: F403

__all__ = [
    "barrier",
    "barrier_all",
    "barrier_all_block",
    "barrier_all_warp",
    "barrier_block",
    "barrier_warp",
    "fence",
    "flush",
    "flush_block",
    "flush_warp",
    "g",
    "iget",
    "iput",
    "my_pe",
    "n_pes",
    "p",
    "quiet",
    "signal_fetch",
    "signal_op",
    "signal_wait_until",
    "sync_all",
    "sync_all_block",
    "sync_all_warp",
    "team_my_pe",
    "team_n_pes",
    "team_sync",
    "team_sync_block",
    "team_sync_warp",
    "team_translate_pe",
]

signal_wait_until = signal_wait
team_sync, team_sync_warp, team_sync_block = sync, sync_warp, sync_block

_TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    **{name: "int8" for name in ("char", "schar", "int8")},
    **{name: "int16" for name in ("short", "int16")},
    **{name: "int32" for name in ("int", "int32")},
    **{name: "int64" for name in ("long", "longlong", "int64", "ptrdiff")},
    **{name: "uint8" for name in ("uchar", "uint8")},
    **{name: "uint16" for name in ("ushort", "uint16")},
    **{name: "uint32" for name in ("uint", "uint32")},
    **{name: "uint64" for name in ("ulong", "ulonglong", "uint64", "size")},
}
_SCOPES = {"": _s.THREAD, "_warp": _s.WARP, "_block": _s.BLOCK}


@jitable
def _anything(like):
    pass


def _checks(kind):
    """What checks that an array has the elements that a name tells."""
    return named(_TYPES[kind]) if kind else _anything


def _size(unit):
    """The bytes of what a function counts: 0 for the elements of its arrays."""
    return 1 if unit == "mem" else int(unit) // 8 if unit else 0


def _moves(kind, what, unit, nbi, scope):
    check, fixed = _checks(kind), _size(unit)
    operation = getattr(_s, what.upper() + ("_NBI" if nbi else ""))
    move = put_bytes if what == "put" else get_bytes

    def function(dest, source, nelems, pe):
        check(dest)
        if fixed == 0:
            check_pair(dest, source)
        size = fixed if fixed != 0 else itemsize(dest)
        nbytes, align = integer(nelems) * size, align_of(size)
        move(operation, address(dest), address(source), nbytes, align, integer(pe), scope)

    return function


def _signals(kind, unit, nbi, scope):
    check, fixed = _checks(kind), _size(unit)
    operation = _s.PUT_SIGNAL_NBI if nbi else _s.PUT_SIGNAL

    def function(dest, source, nelems, sig_addr, signal, sig_op, pe):
        check(dest)
        if fixed == 0:
            check_pair(dest, source)
        check_signal(sig_addr)
        size = fixed if fixed != 0 else itemsize(dest)
        put_signal_bytes(
            operation,
            address(dest),
            address(source),
            integer(nelems) * size,
            align_of(size),
            address(sig_addr),
            integer(signal),
            integer(sig_op),
            integer(pe),
            scope,
        )

    return function


def _broadcasts(kind, unit, scope):
    check, fixed = _checks(kind), _size(unit)

    def function(team, dest, source, nelems, root, slot=0):
        check(dest)
        size = fixed if fixed != 0 else itemsize(dest)
        nbytes, align, start = integer(nelems) * size, align_of(size), address(source)
        member, number = integer(root), integer(slot)
        return broadcast_bytes(
            integer(team), address(dest), start, nbytes, align, member, number, scope
        )

    return function


def _gathers(kind, what, unit, scope):
    check, fixed = _checks(kind), _size(unit)
    operation = getattr(_s, what.upper())

    def function(team, dest, source, nelems, slot=0):
        check(dest)
        size = fixed if fixed != 0 else itemsize(dest)
        nbytes, align, start = integer(nelems) * size, align_of(size), address(source)
        return gather_bytes(
            operation, integer(team), address(dest), start, nbytes, align, integer(slot), scope
        )

    return function


def _reduces(kind, op, scatter, scope):
    check, reduction = _checks(kind), reduction_of(op, scatter)

    def function(team, dest, source, nelems, slot=0):
        check(dest)
        check_pair(dest, source)
        n, start = integer(nelems), address(source)
        return reduction(dest, integer(team), address(dest), start, n, integer(slot), scope)

    return function


def _one(check, original):
    def function(ivar, pe):
        check(ivar)
        return original(ivar, pe)

    return function


def _two(check, original):
    def function(ivar, value, more):
        check(ivar)
        return original(ivar, value, more)

    return function


def _three(check, original):
    def function(ivar, value, more, pe):
        check(ivar)
        return original(ivar, value, more, pe)

    return function


def _six(check, original):
    def function(dest, source, dst, sst, nelems, pe):
        check(dest)
        original(dest, source, dst, sst, nelems, pe)

    return function


_BY_COUNT = {2: _one, 3: _two, 4: _three, 6: _six}
_ORIGINALS = {
    "p": 3,
    "g": 2,
    "iput": 6,
    "iget": 6,
    "wait_until": 3,
    "test": 3,
    "atomic_fetch": 2,
    "atomic_inc": 2,
    "atomic_fetch_inc": 2,
    "atomic_compare_swap": 4,
    **{
        "atomic_" + name: 3
        for name in "set swap add fetch_add and fetch_and or fetch_or xor fetch_xor".split()
    },
}

_KIND = "(?:(" + "|".join(_TYPES) + ")_)?"
_SCOPE = "(_warp|_block)?"
_UNIT = "(mem|8|16|32|64|128)?"


def _make(name):
    """The function of a name; None if there is none."""
    found = re.fullmatch(_KIND + "(put|get)" + _UNIT + "(_nbi)?" + _SCOPE, name)
    if found and not (found[1] and found[3]):
        return _moves(found[1], found[2], found[3], found[4], _SCOPES[found[5] or ""])
    found = re.fullmatch(_KIND + "put" + _UNIT + "_signal(_nbi)?" + _SCOPE, name)
    if found and not (found[1] and found[2]):
        return _signals(found[1], found[2], found[3], _SCOPES[found[4] or ""])
    found = re.fullmatch(_KIND + "broadcast(mem)?" + _SCOPE, name)
    if found and bool(found[1]) != bool(found[2]):
        return _broadcasts(found[1], found[2], _SCOPES[found[3] or ""])
    found = re.fullmatch(_KIND + "(fcollect|alltoall)(mem)?" + _SCOPE, name)
    if found and bool(found[1]) != bool(found[3]):
        return _gathers(found[1], found[2], found[3], _SCOPES[found[4] or ""])
    ops = "(sum|prod|min|max|and|or|xor)_(reduce|reducescatter)"
    found = re.fullmatch(_KIND + ops + _SCOPE, name)
    if found and found[1]:
        scatter = found[3] == "reducescatter"
        return _reduces(found[1], found[2], scatter, _SCOPES[found[4] or ""])
    found = re.fullmatch(_KIND + "(" + "|".join(_ORIGINALS) + ")", name)
    if found and found[1]:
        return _BY_COUNT[_ORIGINALS[found[2]]](_checks(found[1]), globals()[found[2]])
    return None


def __getattr__(name):
    function = None if name.startswith("_") else _make(name)
    if function is None:
        raise AttributeError(f"nvshmemrs has no device function {name}")
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    made = globals()[name] = public(function)
    return made
