"""The device functions of NVSHMEM's C library, by their names without prefix, as kernels that use
``nvshmem.bindings.device.numba`` call them: ``int_p``, ``float_put_block``, ``putmem_nbi``,
``put_signal_nbi``, ``signal_wait_until``, ``int_atomic_fetch_add``, ``float_sum_reduce_warp`` ...

`dest`, `source` and signals are arrays, or pointers such as ``ffi.from_buffer`` gives. Counts are
those of elements, of bytes where the name has ``mem``. A name with a type takes arrays of that
type. Names are made when they are first asked for; an unknown name raises AttributeError.
Collectives take a `slot` as their last argument, 0 if it is left out. ``barrier_warpgroup`` is for
128 threads that begin at a multiple of 128. ``double2_maxloc_reduce_block`` takes arrays of float64,
which are pairs of a value and its place, aligned to 16 bytes. Regions begin and end, and change
nothing, because puts are stores. Functions with ``qp_`` take a
queue pair as their last argument, which changes nothing between GPUs of one host, and use no lent
memory. ``ptr`` gives an
address as a number, 0 if the memory is not symmetric; ``mc_ptr`` gives 0.
"""

# mypy: ignore-errors
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import inspect
import re

from .._dtypes import WAITED
from . import _about, amo, collective, direct, rma
from . import _state as _s
from ._backend import (
    address,
    check_pair,
    check_signal,
    encode,
    giving,
    integer,
    itemsize,
    jitable,
    ld_weak_u64,
    lend,
    lendable,
    named,
    public,
    refresh_compiler,
    st_relaxed_u64,
    st_weak_u32,
    st_weak_u64,
    unsigned,
)
from ._backend import sync_block as _meet_block
from ._lent import lent_bytes, lent_word
from ._record import FETCHES, RECORD_ATOMIC, RECORD_POINTER, RECORDS, record
from .amo import *  # noqa: F403
from .collective import (
    barrier_of,
    broadcast_bytes,
    gather_bytes,
    maxloc_bytes,
    reduction_of,
    sync,
    sync_block,
    sync_warp,
)
from .direct import SmemAmount, fence, quiet, signal_op, signal_wait
from .rma import align_of, forms, strided_bytes
from .waits import check_status, expect_values, test, wait_all, wait_any, wait_some, wait_until

__all__ = """
    ask_smem barrier barrier_all barrier_all_block barrier_all_warp barrier_block
    barrier_warp barrier_warpgroup double2_maxloc_reduce_block fence flush flush_block
    flush_warp g give_smem info_get_name info_get_version mc_ptr my_pe n_pes p ptr qp_fence
    qp_fence_block qp_fence_warp qp_quiet qp_quiet_block qp_quiet_warp qp_signal_op quiet
    region_is_active region_start_block region_stop_block release_smem signal_counted_reset
    signal_fetch signal_op signal_wait_until sync_all sync_all_block sync_all_warp
    team_my_pe team_n_pes team_sync team_sync_block team_sync_warp team_translate_pe
    vendor_get_version_info
""".split()  # pyright: ignore[reportUnsupportedDunderAll]

for _module in (_about, collective, direct, rma):
    globals().update((name, found) for name, found in vars(_module).items() if name in __all__)
signal_wait_until = signal_wait
team_sync, team_sync_warp, team_sync_block = sync, sync_warp, sync_block


@public
def ptr(dest, pe):
    """The address of symmetric memory on a PE; 0 if it is not symmetric, or there is no such PE."""
    own, member = address(dest), integer(pe)
    offset = own - _s.heap()
    if member < 0 or member >= _s.all_pes() or offset < 0 or offset >= ld_weak_u64(_s.state(6)):
        return 0
    if RECORDS:
        record(RECORD_POINTER, _s.GET, member)
    return own + (member - _s.this_pe()) * _s.state(3)


@public
def mc_ptr(team, dest):
    """0: there is no multicast."""
    return 0


@giving
def give_smem(smem, nbytes):
    """Lends shared memory as ``give_smem`` of the package does, `nbytes` bytes of it."""
    word = lent_word(address(smem), integer(nbytes))
    lend(word)
    return lent_bytes(word)


_double = named("float64")


@public
def region_start_block(region, attributes):
    """Begins a region, in which NVSHMEM may hold puts back; here it changes nothing. `region` gets a
    handle. Returns 0.
    """
    if _s.rank(_s.BLOCK) == 0:
        st_weak_u64(address(region), 0)
    _meet_block()
    return 0


@public
def region_stop_block(region):
    """Ends a region. Returns 0."""
    _meet_block()
    return 0


@public
def region_is_active(hints, active):
    """Whether puts are held back: never, so `active`, an int32, gets 0. Returns 0."""
    st_weak_u32(address(active), 0)
    return 0


@public
def signal_counted_reset(sig_addr):
    """Sets a signal of this PE's to 0. Orders nothing."""
    check_signal(sig_addr)
    at = address(sig_addr)
    _s.check_own(_s.SIGNAL_OP, at, 8, 8)
    if RECORDS:
        record(RECORD_ATOMIC, _s.SIGNAL_OP, _s.this_pe(), at, 8, 0, 0, 0, FETCHES)
    st_relaxed_u64(at, 0)


@public
def barrier_warpgroup(team, slot=0):
    """``barrier`` by the 128 threads of a warpgroup, which begin at a multiple of 128."""
    return barrier_of(_s.BARRIER, integer(team), integer(slot), _s.WARPGROUP)


@public
def double2_maxloc_reduce_block(team, dest, source, nreduce, slot=0):
    """The largest value of all members with the place beside it, of equal ones that of the first
    member. The arrays have float64 in pairs: a value and its place.
    """
    _double(dest)
    check_pair(dest, source)
    n, at, start = integer(nreduce), address(dest), address(source)
    return maxloc_bytes(dest, integer(team), at, start, n, integer(slot), _s.BLOCK)


def _orders(full, scope):
    def order(pe, qps, num_qps):
        """As without ``qp_`` for each thread of the group; the choice of queue pairs changes nothing."""
        if full:
            quiet()
        else:
            fence()
        _s.meet_group(scope)

    return public(order)


qp_quiet, qp_quiet_warp, qp_quiet_block = (_orders(True, scope) for scope, _ in _s.SCOPES)
qp_fence, qp_fence_warp, qp_fence_block = (_orders(False, scope) for scope, _ in _s.SCOPES)


@public
def qp_signal_op(sig_addr, signal, sig_op, pe, qp):
    """``signal_op``; the choice of the queue pair changes nothing."""
    signal_op(sig_addr, signal, sig_op, pe)


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
    """The check that an array has the element type of a name."""
    return named(_TYPES[kind]) if kind else _anything


def _size(unit):
    """Bytes per unit of a function's counts: 0 for the elements of its arrays."""
    return 1 if unit == "mem" else int(unit) // 8 if unit else 0


def _extent(kind, unit, pair=True):
    """The check of the arrays of a function; it gives the bytes of so many units, and their alignment."""
    check, fixed = _checks(kind), _size(unit)
    same = pair and fixed == 0

    @jitable
    def extent(dest, source, nelems):
        check(dest)
        if same:
            check_pair(dest, source)
        size = fixed if fixed != 0 else itemsize(dest)
        return integer(nelems) * size, align_of(size)

    return extent


def _moves(kind, what, unit, nbi, scope):
    extent, operation = _extent(kind, unit), getattr(_s, what.upper() + ("_NBI" if nbi else ""))

    def moving(moves):
        move, word = getattr(moves, what), moves.word

        def function(dest, source, nelems, pe):
            nbytes, align = extent(dest, source, nelems)
            at, start, to = address(dest), address(source), integer(pe)
            move(operation, at, start, nbytes, align, to, scope, word())

        return function

    return forms(moving, scope)


def _signals(kind, unit, nbi, scope):
    extent, operation = _extent(kind, unit), _s.PUT_SIGNAL_NBI if nbi else _s.PUT_SIGNAL

    def moving(moves):
        move, word = moves.put_signal, moves.word

        def function(dest, source, nelems, sig_addr, signal, sig_op, pe):
            nbytes, align = extent(dest, source, nelems)
            check_signal(sig_addr)
            at, start, place = address(dest), address(source), address(sig_addr)
            value, op, to = integer(signal), integer(sig_op), integer(pe)
            move(operation, at, start, nbytes, align, place, value, op, to, scope, word())

        return function

    return forms(moving, scope)


def _broadcasts(kind, unit, scope):
    extent = _extent(kind, unit, pair=False)

    def function(team, dest, source, nelems, root, slot=0):
        nbytes, align = extent(dest, source, nelems)
        at, start, member, number = address(dest), address(source), integer(root), integer(slot)
        return broadcast_bytes(integer(team), at, start, nbytes, align, member, number, scope)

    return function


def _gathers(kind, what, unit, scope):
    extent, operation = _extent(kind, unit, pair=False), getattr(_s, what.upper())

    def function(team, dest, source, nelems, slot=0):
        nbytes, align = extent(dest, source, nelems)
        at, start, number = address(dest), address(source), integer(slot)
        return gather_bytes(operation, integer(team), at, start, nbytes, align, number, scope)

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


def _strided(kind, what, unit, scope):
    check, fixed = _checks(kind), _size(unit)
    operation = getattr(_s, what.upper())

    def function(dest, source, dst, sst, nelems, pe):
        check(dest)
        if fixed == 0:
            check_pair(dest, source)
        size, n, to = fixed if fixed != 0 else itemsize(dest), integer(nelems), integer(pe)
        at, start, step = address(dest), address(source), integer(dst)
        strided_bytes(operation, at, start, step, integer(sst), n, size, to, scope)

    return function


@jitable
def _any(waits, operation, ivars, n, status, flag, cmp, value, values):
    return unsigned(wait_any(waits, operation, ivars, n, status, flag, cmp, value, values))


def _wait_set(kind, waits, form, vector):
    check, operation = _checks(kind), getattr(_s, _OPERATIONS[waits] + form.upper())

    find = wait_all if form == "_all" else _any

    def search(ivars, nelems, status, cmp, cmp_value):
        check(ivars)
        n, bits = integer(nelems), encode(ivars, cmp_value)
        at, flag = address(status), check_status(operation, status, n)
        return find(waits, operation, ivars, n, at, flag, integer(cmp), bits, 0)

    def search_vector(ivars, nelems, status, cmp, cmp_values):
        check(ivars)
        n = integer(nelems)
        expect_values(operation, ivars, cmp_values, n)
        at, flag, own = address(status), check_status(operation, status, n), address(cmp_values)
        return find(waits, operation, ivars, n, at, flag, integer(cmp), 0, own)

    def some(ivars, nelems, indices, status, cmp, cmp_value):
        check(ivars)
        n, bits = integer(nelems), encode(ivars, cmp_value)
        at, flag, how = address(status), check_status(operation, status, n), integer(cmp)
        return unsigned(wait_some(waits, operation, ivars, n, indices, at, flag, how, bits, 0))

    def some_vector(ivars, nelems, indices, status, cmp, cmp_values):
        check(ivars)
        n, how = integer(nelems), integer(cmp)
        expect_values(operation, ivars, cmp_values, n)
        at, flag, own = address(status), check_status(operation, status, n), address(cmp_values)
        return unsigned(wait_some(waits, operation, ivars, n, indices, at, flag, how, 0, own))

    return ((some, some_vector) if form == "_some" else (search, search_vector))[vector]


def _queued(original):
    """A function that takes a queue pair, too."""
    inner = jitable(original)

    def two(ivar, pe, qp):
        return inner(ivar, pe)

    def three(ivar, value, pe, qp):
        return inner(ivar, value, pe)

    def four(dest, source, nelems, pe, qp):
        inner(dest, source, nelems, pe)

    def seven(dest, source, nelems, sig_addr, signal, sig_op, pe, qp):
        inner(dest, source, nelems, sig_addr, signal, sig_op, pe)

    return {2: two, 3: three, 4: four, 7: seven}[original.__code__.co_argcount]


_OPERATIONS = {True: "WAIT_UNTIL", False: "TEST"}
# By the number of parameters.
_BY_COUNT = {2: _one, 3: _two, 4: _three}
_ORIGINALS = ("p", "g", "wait_until", "test", *amo.__all__)

_KIND = "(?:(" + "|".join(_TYPES) + ")_)?"
_SCOPE = "(_warp|_block)?"
_UNIT = "(mem|8|16|32|64|128)?"


def _forms(made):
    """The function without lent memory, and with it if there is one."""
    return made if isinstance(made, list) else [made]


def _make(name):
    """The function of a name, or its forms; None if there is none."""
    if re.fullmatch("qp_.*(put|get|_p$|_g$).*", name):
        original = None if "iput" in name or "iget" in name else _make(name[3:])
        return _queued(_forms(original)[0]) if original is not None else None
    found = re.fullmatch(_KIND + "(iput|iget)(8|16|32|64|128)?" + _SCOPE, name)
    if found and bool(found[1]) != bool(found[3]):
        return _strided(found[1], found[2], found[3], _SCOPES[found[4] or ""])
    found = re.fullmatch(_KIND + "(wait_until|test)(_all|_any|_some)(_vector)?", name)
    if found and _TYPES.get(found[1]) in WAITED:
        return _wait_set(found[1], found[2] == "wait_until", found[3], bool(found[4]))
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
        original = globals()[found[2]]
        count = len(inspect.signature(original).parameters)
        return _BY_COUNT[count](_checks(found[1]), original)
    return None


def __getattr__(name):
    made = None if name.startswith("_") else _make(name)
    if made is None:
        raise AttributeError(f"nvshmemrs has no device function {name}")
    functions = _forms(made)
    for one in functions:
        one.__name__ = one.__qualname__ = name
        one.__module__ = __name__
    made = globals()[name] = lendable(*functions) if len(functions) == 2 else public(*functions)
    refresh_compiler()
    return made
