"""Waits and tests of elements of this PE that others write. Local; each is an acquire.

`cmp` is a ComparisonType: how an element compares with `value`, or with its own of `values`, which
have the dtype of the elements. Elements whose `status` is not 0 are left out; it is an array of
integers of any size, or of bool. `status`, `values` and `indices` are contiguous and have at least
as many elements as are waited for. A wait ends without a match when the job is broken;
see ``aborted``. They know the integers of 16, 32 and 64 bits.
"""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import (
    CMP_EQ,
    CMP_GE,
    address,
    check_indices,
    check_values,
    check_wait,
    clock,
    count,
    decode,
    encode,
    flag_bytes,
    idle,
    integer,
    itemsize,
    jitable,
    public,
    room,
)
from ._elements import load_acquire, read, write
from ._record import RECORDS, record_seen
from ._state import (
    POLLS,
    TEST,
    TEST_ALL,
    TEST_ANY,
    TEST_SOME,
    WAIT_UNTIL,
    WAIT_UNTIL_ALL,
    WAIT_UNTIL_ANY,
    WAIT_UNTIL_SOME,
    broken,
    check_argument,
    check_own,
    compare,
    this_pe,
)

__all__ = []


@jitable
def _check(operation, ivars, n, cmp):
    check_wait(ivars)
    check_own(operation, address(ivars), n * itemsize(ivars), itemsize(ivars))
    check_argument(cmp >= CMP_EQ and cmp <= CMP_GE, operation, cmp)


@jitable
def check_status(operation, status, n):
    """Returns the bytes of an element of `status`; 0 if there is none."""
    size = flag_bytes(status)
    check_argument(size == 0 or room(status) >= n, operation, room(status))
    return size


@jitable
def expect_values(operation, ivars, values, n):
    check_values(ivars, values)
    check_argument(room(values) >= n, operation, room(values))


@jitable
def _left_out(status, flag, i):
    return flag != 0 and read(status + i * flag, flag) != 0


@jitable
def _holds(operation, ivars, i, cmp, value, values):
    """`value`: the bits that all compare with, unless `values` is the address of more."""
    size = itemsize(ivars)
    at = address(ivars) + i * size
    seen = load_acquire(at, size)
    other = read(values + i * size, size) if values != 0 else value
    good = compare(cmp, decode(ivars, seen), decode(ivars, other))
    if RECORDS and good:
        record_seen(operation, this_pe(), at, size, seen)
    return good


@jitable
def wait_all(waits, operation, ivars, n, status, flag, cmp, value, values):
    """Whether each element has held once."""
    _check(operation, ivars, n, cmp)
    polls, i = 0, 0
    while i < n:
        if not _left_out(status, flag, i):
            while not _holds(operation, ivars, i, cmp, value, values):
                polls += 1
                if not waits or (polls & POLLS == 0 and broken()):
                    return False
                idle()
        i += 1
    return True


@jitable
def wait_any(waits, operation, ivars, n, status, flag, cmp, value, values):
    """An index that holds; -1 if none does, or there is none. A search begins anywhere, so a series
    of calls comes to every element that holds.
    """
    _check(operation, ivars, n, cmp)
    start = ((clock() * 0x9E3779B1) >> 8 & 0xFFFFFF) % n if n > 0 else 0
    polls = 0
    while True:
        candidates, k = False, 0
        while k < n:
            i = start + k
            if i >= n:
                i -= n
            if not _left_out(status, flag, i):
                candidates = True
                if _holds(operation, ivars, i, cmp, value, values):
                    return i
                polls += 1
                if waits and polls & POLLS == 0 and broken():
                    return -1
            k += 1
        if not waits or not candidates:
            return -1
        idle()


@jitable
def wait_some(waits, operation, ivars, n, indices, status, flag, cmp, value, values):
    """How many hold; `indices` gets which."""
    _check(operation, ivars, n, cmp)
    check_indices(indices)
    check_argument(room(indices) >= n, operation, room(indices))
    which, step = address(indices), itemsize(indices)
    polls = 0
    while True:
        candidates, found, i = False, 0, 0
        while i < n:
            if not _left_out(status, flag, i):
                candidates = True
                if _holds(operation, ivars, i, cmp, value, values):
                    write(which + found * step, i, step)
                    found += 1
                else:
                    polls += 1
                    if waits and polls & POLLS == 0 and broken():
                        return found
            i += 1
        if found > 0 or not waits or not candidates:
            return found
        idle()


@public
def wait_until(ivar, cmp, value):
    """Returns once the first element of `ivar` holds."""
    wait_all(True, WAIT_UNTIL, ivar, 1, 0, 0, integer(cmp), encode(ivar, value), 0)


@public
def test(ivar, cmp, value):
    """Whether the first element of `ivar` holds."""
    return wait_all(False, TEST, ivar, 1, 0, 0, integer(cmp), encode(ivar, value), 0)


def _forms(find, docs):
    """A search of elements that all compare with one value, and of elements with a value each."""

    def with_value(waits, operation):
        def search(ivars, cmp, value, status=None):
            n, bits = count(ivars), encode(ivars, value)
            at, flag = address(status), check_status(operation, status, n)
            return find(waits, operation, ivars, n, at, flag, integer(cmp), bits, 0)

        search.__doc__ = docs
        return search

    def with_values(waits, operation):
        def search(ivars, cmp, values, status=None):
            """As the one without ``_vector``; each element compares with its own of `values`."""
            n = count(ivars)
            expect_values(operation, ivars, values, n)
            at, flag = address(status), check_status(operation, status, n)
            own = address(values)
            return find(waits, operation, ivars, n, at, flag, integer(cmp), 0, own)

        return search

    return with_value, with_values


_all = _forms(wait_all, "Whether each element holds; a wait returns once each has held.")
_any = _forms(wait_any, "The index of an element that holds; -1 if none does, or all are left out.")


def _some(waits, operation):
    def some(ivars, indices, cmp, value, status=None):
        """How many elements hold; their indices go to `indices`, an array of integers."""
        n, bits = count(ivars), encode(ivars, value)
        at, flag = address(status), check_status(operation, status, n)
        return wait_some(waits, operation, ivars, n, indices, at, flag, integer(cmp), bits, 0)

    return some


def _some_vector(waits, operation):
    def some_vector(ivars, indices, cmp, values, status=None):
        """As the one without ``_vector``; each element compares with its own of `values`."""
        n = count(ivars)
        expect_values(operation, ivars, values, n)
        at, flag = address(status), check_status(operation, status, n)
        own = address(values)
        return wait_some(waits, operation, ivars, n, indices, at, flag, integer(cmp), 0, own)

    return some_vector


def _make(name, function):
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    globals()[name] = public(function)
    __all__.append(name)


__all__ += ["wait_until", "test"]
for _waits, _name, _operations in (
    (True, "wait_until", (WAIT_UNTIL_ALL, WAIT_UNTIL_ANY, WAIT_UNTIL_SOME)),
    (False, "test", (TEST_ALL, TEST_ANY, TEST_SOME)),
):
    for _operation, _kind, (_one, _many) in zip(
        _operations, ("_all", "_any", "_some"), (_all, _any, (_some, _some_vector))
    ):
        _make(_name + _kind, _one(_waits, _operation))
        _make(_name + _kind + "_vector", _many(_waits, _operation))
