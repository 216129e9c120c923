"""Collectives that kernels call.

All members of `team` call, by one thread, by all threads of a full warp (``_warp``) or of the block
(``_block``), and with the same `slot`: below 128 in jobs of up to 64 PEs, else below 8192 / n_pes.
Calls of one slot have one order on all members. Blocks that call at the same time use different
slots, such as the number of the block, and must all be running at once. For reductions in place the
groups of all members have the same number of threads.

They return 0, or -1 if the job was broken or this PE is no member; `dst_array` is undefined then.
Earlier accesses of each member's group are visible to the groups of all members that have returned. The
functions of ``nvshmemrs_device.cuh`` follow the same protocol, so members may differ in language.
"""

# mypy: ignore-errors

from __future__ import annotations

from functools import cache, partial

from ._backend import (
    address,
    apart,
    bits_f64_u64,
    by_op,
    check_pair,
    count,
    integer,
    itemsize,
    jitable,
    ld_weak_u64,
    public,
    smallest,
)
from ._copy import copy
from ._elements import read, write
from ._meet import begin, epoch_of, meet, meet_here
from ._numbers import FOLDS, narrow, widen
from ._record import NO_FLAGS, RECORDS, WRITES_OWN, record_use
from ._state import (
    ALLTOALL,
    BARRIER,
    BROADCAST,
    FCOLLECT,
    REDUCE,
    REDUCESCATTER,
    SCOPES,
    SYNC,
    check_argument,
    check_own,
    find_team,
    on_member,
    rank,
    size,
    team_me,
    team_size,
)

__all__ = []


@jitable
def barrier_of(operation, team, slot, scope):
    apart()
    row = begin(operation, team, slot)
    if row == 0 or not meet_here(operation, row, slot, epoch_of(row, slot, scope) + 1, scope):
        return -1
    return 0


@jitable
def broadcast_bytes(team, dest, source, nbytes, align, root, slot, scope):
    row = begin(BROADCAST, team, slot)
    if row == 0:
        return -1
    epoch = epoch_of(row, slot, scope)
    check_own(BROADCAST, dest, nbytes, align)
    check_own(BROADCAST, source, nbytes, align)
    good = root >= 0 and root < team_size(row)
    check_argument(good, BROADCAST, root)
    if RECORDS and team_me(row) == root:
        record_use(scope, BROADCAST, source, nbytes, NO_FLAGS)
    if not meet(BROADCAST, row, slot, epoch + 1, scope):
        return -1
    if good and (team_me(row) != root or dest != source):
        if RECORDS:
            record_use(scope, BROADCAST, dest, nbytes, WRITES_OWN)
        copy(dest, on_member(row, root, source), nbytes, scope)
    return 0 if meet(BROADCAST, row, slot, epoch + 2, scope) and good else -1


@jitable
def gather_bytes(operation, team, dest, source, nbytes, align, slot, scope):
    """Member m's part, of `nbytes` bytes, goes to the m-th place of `dest`."""
    row = begin(operation, team, slot)
    if row == 0:
        return -1
    n, me = team_size(row), team_me(row)
    epoch = epoch_of(row, slot, scope)
    taken = nbytes * n if operation == ALLTOALL else nbytes
    check_own(operation, dest, nbytes * n, align)
    check_own(operation, source, taken, align)
    if RECORDS:
        record_use(scope, operation, source, taken, NO_FLAGS)
    if not meet(operation, row, slot, epoch + 1, scope):
        return -1
    if RECORDS:
        record_use(scope, operation, dest, nbytes * n, WRITES_OWN)
    part = me * nbytes if operation == ALLTOALL else 0
    # Each member starts with a different one.
    k = 0
    while k < n:
        m = me + k
        if m >= n:
            m -= n
        copy(dest + m * nbytes, on_member(row, m, source) + part, nbytes, scope)
        k += 1
    return 0 if meet(operation, row, slot, epoch + 2, scope) else -1


@jitable
def members(team):
    """At least 1, so that sizes can be divided by it."""
    row = find_team(team)
    return team_size(row) if row != 0 else 1


@jitable
def pack_bytes(nbytes):
    """The bytes that a thread folds at once, where all places are aligned to sixteen."""
    return 8 if nbytes == 1 else 16


def _packs(word, operation):
    """A function that folds packs of an operation. ``word(like, row, at, nbytes)`` returns eight folded bytes."""

    @jitable
    def packs(like, row, slot, epoch, dest, source, count, in_place, nbytes, scope):
        """Packs of sixteen bytes, for elements of one byte eight. In place, a round writes its data
        after all members have read it, so rounds have the length of ``nvshmemrs_device.cuh``: four
        packs per thread, for elements below four bytes two. Returns the last epoch; -1 if the job is
        broken.
        """
        apart()
        four, both = nbytes >= 4, nbytes > 1
        pack = pack_bytes(nbytes)
        step = size(scope) * pack
        every = step * 4 if four else step * 2
        start, end = 0, count * pack
        while start < end:
            a = start + rank(scope) * pack
            b, c, d = a + step, a + 2 * step, a + 3 * step
            a0, a1, b0, b1, c0, c1, d0, d1 = 0, 0, 0, 0, 0, 0, 0, 0
            if a < end:
                a0 = word(like, row, source + a, nbytes)
                if both:
                    a1 = word(like, row, source + a + 8, nbytes)
            if b < end:
                b0 = word(like, row, source + b, nbytes)
                if both:
                    b1 = word(like, row, source + b + 8, nbytes)
            if four and c < end:
                c0 = word(like, row, source + c, nbytes)
                c1 = word(like, row, source + c + 8, nbytes)
            if four and d < end:
                d0 = word(like, row, source + d, nbytes)
                d1 = word(like, row, source + d + 8, nbytes)
            if in_place:
                epoch += 1
                if not meet(operation, row, slot, epoch, scope):
                    return -1
            if a < end:
                write(dest + a, a0, 8)
                if both:
                    write(dest + a + 8, a1, 8)
            if b < end:
                write(dest + b, b0, 8)
                if both:
                    write(dest + b + 8, b1, 8)
            if four and c < end:
                write(dest + c, c0, 8)
                write(dest + c + 8, c1, 8)
            if four and d < end:
                write(dest + d, d0, 8)
                write(dest + d + 8, d1, 8)
            start += every
        return epoch

    return packs


def _reduction(op, scatter):
    """The reduction with an operation: functions of their own, because types depend on it."""
    fold = FOLDS[op]
    operation = REDUCESCATTER if scatter else REDUCE

    @jitable
    def element(like, row, at, nbytes):
        """The bits of an element at `at`, folded over all members."""
        n, m = team_size(row), 1
        folded = widen(like, read(on_member(row, 0, at), nbytes))
        while m < n:
            folded = fold(folded, widen(like, read(on_member(row, m, at), nbytes)))
            m += 1
        return narrow(like, folded)

    @jitable
    def word(like, row, at, nbytes):
        """Eight bytes of elements."""
        apart()
        if nbytes == 8:
            return element(like, row, at, nbytes)
        bits, done = 0, 0
        while done < 8:
            one = element(like, row, at + done, nbytes) & ((1 << (nbytes * 8)) - 1)
            bits |= one << (done * 8)
            done += nbytes
        return bits

    packs = _packs(word, operation)

    @jitable
    def singles(like, row, slot, epoch, dest, source, count, in_place, nbytes, scope):
        """As ``packs``, element by element."""
        apart()
        start = 0
        while start < count:
            i = start + rank(scope)
            bits = 0
            if i < count:
                bits = element(like, row, source + i * nbytes, nbytes)
            if in_place:
                epoch += 1
                if not meet(operation, row, slot, epoch, scope):
                    return -1
            if i < count:
                write(dest + i * nbytes, bits, nbytes)
            start += size(scope)
        return epoch

    @jitable
    def reduce(like, team, dest, source, count, slot, scope):
        row = begin(operation, team, slot)
        if row == 0:
            return -1
        epoch, nbytes = epoch_of(row, slot, scope), itemsize(like)
        part = count * nbytes
        total = part * team_size(row) if scatter else part
        check_own(operation, dest, part, nbytes)
        check_own(operation, source, total, nbytes)
        epoch += 1
        if RECORDS:
            record_use(scope, operation, source, total, NO_FLAGS)
        if not meet(operation, row, slot, epoch, scope):
            return -1
        if RECORDS:
            record_use(scope, operation, dest, part, WRITES_OWN)
        in_place = dest < source + total and source < dest + part
        start = source + part * team_me(row) if scatter else source
        # All members must take the same way in place, and parts may be aligned differently there.
        mixed = dest | source | (part if scatter else 0)
        whole = 0 if mixed & 15 else part // pack_bytes(nbytes)
        done = whole * pack_bytes(nbytes)
        epoch = packs(like, row, slot, epoch, dest, start, whole, in_place, nbytes, scope)
        if epoch < 0:
            return -1
        left = smallest(count, count - done // nbytes)
        at, to = start + done, dest + done
        epoch = singles(like, row, slot, epoch, to, at, left, in_place, nbytes, scope)
        if epoch < 0:
            return -1
        # In place the last round's meeting came after the last read.
        if in_place:
            return 0
        return 0 if meet(operation, row, slot, epoch + 1, scope) else -1

    return reduce


@jitable
def _largest(row, at):
    """The address of the pair that a member has, whose first number is the largest; of equal ones
    that of the first member.
    """
    n, m = team_size(row), 1
    best = on_member(row, 0, at)
    value = bits_f64_u64(ld_weak_u64(best))
    while m < n:
        other = on_member(row, m, at)
        found = bits_f64_u64(ld_weak_u64(other))
        if (found > value or not found == found) and value == value:
            best, value = other, found
        m += 1
    return best


@jitable
def _located(like, row, at, nbytes):
    """Half of a pair, of which `at` says which."""
    apart()
    return ld_weak_u64(_largest(row, at & -16) + (at & 8))


_packs_of_pairs = _packs(_located, REDUCE)


@jitable
def maxloc_bytes(like, team, dest, source, count, slot, scope):
    """The reduction of ``_packs_of_pairs``: pairs of float64, a value and its place."""
    row = begin(REDUCE, team, slot)
    if row == 0:
        return -1
    epoch, nbytes = epoch_of(row, slot, scope) + 1, count * 16
    check_own(REDUCE, dest, nbytes, 16)
    check_own(REDUCE, source, nbytes, 16)
    if RECORDS:
        record_use(scope, REDUCE, source, nbytes, NO_FLAGS)
    if not meet(REDUCE, row, slot, epoch, scope):
        return -1
    if RECORDS:
        record_use(scope, REDUCE, dest, nbytes, WRITES_OWN)
    in_place = dest < source + nbytes and source < dest + nbytes
    epoch = _packs_of_pairs(like, row, slot, epoch, dest, source, count, in_place, 16, scope)
    if epoch < 0:
        return -1
    if in_place:
        return 0
    return 0 if meet(REDUCE, row, slot, epoch + 1, scope) else -1


reduction_of = cache(_reduction)  # (op, scatter)


def _reduces(op, scatter, scope):
    reduction = reduction_of(op, scatter)

    @jitable
    def reduce(team, dst_array, src_array, slot):
        check_pair(dst_array, src_array)
        parts = members(integer(team)) if scatter else 1
        n = smallest(count(dst_array), count(src_array) // parts)
        at, start = address(dst_array), address(src_array)
        return reduction(dst_array, integer(team), at, start, n, integer(slot), scope)

    return reduce


def _meets(operation, scope, docs):
    """A meeting of a team, and one of all PEs."""

    def of_team(team, slot=0):
        return barrier_of(operation, integer(team), integer(slot), scope)

    def of_all(slot=0):
        return barrier_of(operation, 0, integer(slot), scope)

    of_team.__doc__, of_all.__doc__ = (docs.format(who) for who in ("members", "PEs"))
    return of_team, of_all


def _broadcast(scope):
    def broadcast(team, dst_array, src_array, root=0, slot=0):
        """Copies `src_array` of member `root` to `dst_array` of every member; the smaller size
        counts.
        """
        check_pair(dst_array, src_array)
        nbytes = smallest(count(dst_array), count(src_array)) * itemsize(dst_array)
        at, align = address(dst_array), smallest(itemsize(dst_array), 8)
        start, number = address(src_array), integer(root)
        return broadcast_bytes(
            integer(team), at, start, nbytes, align, number, integer(slot), scope
        )

    return broadcast


def _fcollect(scope):
    def fcollect(team, dst_array, src_array, slot=0):
        """Member m's `src_array` becomes the m-th part of `dst_array` on every member."""
        check_pair(dst_array, src_array)
        n = count(src_array)
        check_argument(count(dst_array) >= n * members(integer(team)), FCOLLECT, count(dst_array))
        align, nbytes = smallest(itemsize(dst_array), 8), n * itemsize(dst_array)
        at, start = address(dst_array), address(src_array)
        return gather_bytes(FCOLLECT, integer(team), at, start, nbytes, align, integer(slot), scope)

    return fcollect


def _alltoall(scope):
    def alltoall(team, dst_array, src_array, slot=0):
        """Part m of `src_array` goes to member m, to the part of `dst_array` that has the sender's
        number. The array has as many equal parts as the team has members.
        """
        check_pair(dst_array, src_array)
        n = members(integer(team))
        part = count(src_array) // n
        check_argument(count(dst_array) >= part * n, ALLTOALL, count(dst_array))
        align, nbytes = smallest(itemsize(dst_array), 8), part * itemsize(dst_array)
        at, start = address(dst_array), address(src_array)
        return gather_bytes(ALLTOALL, integer(team), at, start, nbytes, align, integer(slot), scope)

    return alltoall


def _make(name, function):
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    globals()[name] = public(function)
    __all__.append(name)


def _make_by_op(name, scatter, scope, doc):
    function = by_op(name, doc, {op: cache(partial(_reduces, op, scatter, scope)) for op in FOLDS})
    function.__module__ = __name__
    globals()[name] = function
    __all__.append(name)


_REDUCE = """Folds `src_array` of all members, in the order of the team, into `dst_array` of every
    member; the smaller size counts. `op` is "sum", "prod", "min", "max", or for integers "and",
    "or", "xor". The bits are those of the host's reduction."""
_REDUCESCATTER = """As ``reduce``, but member m gets part m of the result: as many elements as
    `dst_array` has, at most a member's share of `src_array`."""

_MEETINGS = (
    ("sync", SYNC, "Returns when all {} have come."),
    (
        "barrier",
        BARRIER,
        "Returns when all {} have called it; completes the calling group's puts.",
    ),
)

for _scope, _suffix in SCOPES:
    for _name, _operation, _docs in _MEETINGS:
        _of_team, _of_all = _meets(_operation, _scope, _docs)
        _make(_name + _suffix, _of_team)
        _make(_name + "_all" + _suffix, _of_all)
    _make("broadcast" + _suffix, _broadcast(_scope))
    _make("fcollect" + _suffix, _fcollect(_scope))
    _make("alltoall" + _suffix, _alltoall(_scope))
    _make_by_op("reduce" + _suffix, False, _scope, _REDUCE)
    _make_by_op("reducescatter" + _suffix, True, _scope, _REDUCESCATTER)
