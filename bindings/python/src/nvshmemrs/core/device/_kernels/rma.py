"""Puts, gets and puts with a signal from kernels.

A function without a suffix is called by one thread. One with ``_warp`` or ``_block`` is called by
all threads of a full warp or of the block, with equal arguments. Such a call begins with a meeting
of these threads, and ends with one unless its name has ``nbi``.

Arrays have any number of dimensions and are contiguous; `dst` and `src` have one dtype, and the
smaller size counts. `pe` is a PE's number.
"""

# mypy: ignore-errors

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ._backend import (
    SIGNAL_ADD,
    SIGNAL_SET,
    address,
    check_pair,
    check_signal,
    check_word,
    count,
    decode,
    encode,
    integer,
    itemsize,
    jitable,
    lendable,
    lent,
    public,
    red_add_u64,
    red_relaxed_add_u64,
    smallest,
    st_relaxed_u64,
    st_release_u64,
)
from ._copy import copy, copy_strided
from ._elements import load_relaxed, store_relaxed
from ._lent import copy_lent
from ._record import (
    FENCED,
    NO_FLAGS,
    RECORD_GET,
    RECORD_PUT,
    RECORD_PUT_SIGNAL,
    RECORDS,
    UNTIL_QUIET,
    record,
    record_as,
    record_strided,
)
from ._state import (
    BLOCK,
    GET,
    GET_NBI,
    IGET,
    IPUT,
    PUT,
    PUT_NBI,
    PUT_SIGNAL,
    PUT_SIGNAL_NBI,
    SCOPES,
    THREAD,
    check_argument,
    meet_group,
    on,
    rank,
)

__all__ = ["g", "p"]


@public
def p(dst, value, pe):
    """Stores one element at the beginning of `dst` on PE `pe`, at once; orders nothing.

    `value` is a number or an array, whose first element counts. One-sided; the source may be used
    again when it returns. NVSHMEM `nvshmem_TYPE_p`.
    """
    check_word(dst)
    size, to, at = itemsize(dst), integer(pe), address(dst)
    word, bits = on(PUT, to, at, size, size), encode(dst, value)
    if RECORDS:
        record(RECORD_PUT, PUT, to, at, size)
    store_relaxed(word, bits, size)


@public
def g(src, pe):
    """The first element of `src` on PE `pe`, loaded at once; orders nothing.

    One-sided; complete when it returns. NVSHMEM `nvshmem_TYPE_g`.
    """
    check_word(src)
    size, of, at = itemsize(src), integer(pe), address(src)
    word = on(GET, of, at, size, size)
    if RECORDS:
        record(RECORD_GET, GET, of, at, size)
    return decode(src, load_relaxed(word, size))


@jitable
def align_of(size):
    return smallest(size, 8)


@jitable
def _record_put(operation, dest, source, nbytes, pe, scope):
    flags = NO_FLAGS if operation == PUT else UNTIL_QUIET
    record_as(scope, RECORD_PUT, operation, pe, dest, nbytes, source, 0, flags)


@jitable
def _record_get(operation, dest, source, nbytes, pe, scope):
    flags = NO_FLAGS if operation == GET else UNTIL_QUIET
    record_as(scope, RECORD_GET, operation, pe, source, nbytes, dest, 0, flags)


@jitable
def _record_put_signal(operation, dest, source, nbytes, signal, pe, scope):
    flags = NO_FLAGS if operation == PUT_SIGNAL else UNTIL_QUIET
    # The signal covers all that the threads of the group have put before they met.
    if scope != THREAD:
        flags |= FENCED
    record_as(scope, RECORD_PUT_SIGNAL, operation, pe, dest, nbytes, source, signal, flags)


@jitable
def update_signal(at, value, op):
    if op == SIGNAL_ADD:
        red_relaxed_add_u64(at, value)
    else:
        st_relaxed_u64(at, value)


@jitable
def announce(at, value, op):
    """``update_signal`` as a release. A fence would be an acquire, too, and drop what the first level
    of the cache has.
    """
    if op == SIGNAL_ADD:
        red_add_u64(at, value)
    else:
        st_release_u64(at, value)


@jitable
def _copy_plain(to, source, nbytes, scope, word):
    copy(to, source, nbytes, scope)


def _moving(copy_group):
    """Put, get and put with a signal for addresses. `copy_group` copies by all threads of a group; its
    last argument is the word of lent memory.
    """

    @jitable
    def put_bytes(operation, dest, source, nbytes, align, pe, scope, word):
        to = on(operation, pe, dest, nbytes, align)
        meet_group(scope)
        if RECORDS:
            _record_put(operation, dest, source, nbytes, pe, scope)
        copy_group(to, source, nbytes, scope, word)
        if operation == PUT:
            meet_group(scope)

    @jitable
    def get_bytes(operation, dest, source, nbytes, align, pe, scope, word):
        start = on(operation, pe, source, nbytes, align)
        meet_group(scope)
        if RECORDS:
            _record_get(operation, dest, source, nbytes, pe, scope)
        copy_group(dest, start, nbytes, scope, word)
        if operation == GET:
            meet_group(scope)

    @jitable
    def put_signal_bytes(
        operation, dest, source, nbytes, align, signal, value, op, pe, scope, word
    ):
        to = on(operation, pe, dest, nbytes, align)
        at = on(operation, pe, signal, 8, 8)
        check_argument(op == SIGNAL_SET or op == SIGNAL_ADD, operation, op)
        meet_group(scope)
        if RECORDS:
            _record_put_signal(operation, dest, source, nbytes, signal, pe, scope)
        copy_group(to, source, nbytes, scope, word)
        # The release of one thread covers the stores of the others before they met.
        meet_group(scope)
        if rank(scope) == 0:
            announce(at, value, op)

    return put_bytes, get_bytes, put_signal_bytes


@jitable
def _no_word():
    return 0


class _Moves(NamedTuple):
    """Put, get and put with a signal, either through lent memory or not."""

    put: Any
    get: Any
    put_signal: Any
    word: Any  # gives the word of the lent memory


_PLAIN = _Moves(*_moving(_copy_plain), _no_word)
_LENT = _Moves(*_moving(copy_lent), lent)


def forms(make, scope):
    """The functions that `make` makes: without lent memory, and with it if it helps the scope."""
    return [make(moves) for moves in ((_PLAIN, _LENT) if scope != BLOCK else (_PLAIN,))]


@jitable
def least_bytes(dst, src):
    return smallest(count(dst), count(src)) * itemsize(dst)


def _put(operation, scope, moves):
    move, word = moves.put, moves.word

    def put(dst, src, pe):
        """Copies `src` of this PE to `dst` of PE `pe`; orders nothing. One-sided."""
        check_pair(dst, src)
        size, nbytes = itemsize(dst), least_bytes(dst, src)
        at, to = address(dst), integer(pe)
        move(operation, at, address(src), nbytes, align_of(size), to, scope, word())

    return put


def _get(operation, scope, moves):
    move, word = moves.get, moves.word

    def get(dst, src, pe):
        """Copies `src` of PE `pe` to `dst` of this PE. One-sided."""
        check_pair(dst, src)
        size, nbytes = itemsize(dst), least_bytes(dst, src)
        at, of = address(src), integer(pe)
        move(operation, address(dst), at, nbytes, align_of(size), of, scope, word())

    return get


def _put_signal(operation, scope, moves):
    move, word = moves.put_signal, moves.word

    def put_signal(dst, src, signal_var, signal_val, signal_op, pe):
        """Copies `src` to `dst` of PE `pe`, then updates the signal there: a PE that sees the signal
        by a wait or a test sees the data. `signal_var` is an array of uint64 or int64;
        `signal_op` is SignalOp.SIGNAL_SET or SIGNAL_ADD. One-sided.
        """
        check_pair(dst, src)
        check_signal(signal_var)
        size, nbytes = itemsize(dst), least_bytes(dst, src)
        signal, value = address(signal_var), integer(signal_val)
        at, start, align = address(dst), address(src), align_of(size)
        op, to = integer(signal_op), integer(pe)
        move(operation, at, start, nbytes, align, signal, value, op, to, scope, word())

    return put_signal


@jitable
def _record_strided(operation, dest, source, dest_step, source_step, n, size, pe, scope):
    if operation == IPUT:
        kind, at, step, own, own_step = RECORD_PUT, dest, dest_step, source, source_step
    else:
        kind, at, step, own, own_step = RECORD_GET, source, source_step, dest, dest_step
    record_strided(scope, kind, operation, pe, at, step, own, own_step, n, size)


@jitable
def strided_bytes(operation, dest, source, dest_step, source_step, n, size, pe, scope):
    """`n` elements of `size` bytes, at steps in elements."""
    check_argument(
        dest_step > 0 and source_step > 0 and n >= 0, operation, smallest(dest_step, source_step)
    )
    to, start = dest, source
    if operation == IPUT:
        span = ((n - 1) * dest_step + 1) * size if n > 0 else 0
        to = on(operation, pe, dest, span, align_of(size))
    else:
        span = ((n - 1) * source_step + 1) * size if n > 0 else 0
        start = on(operation, pe, source, span, align_of(size))
    meet_group(scope)
    if RECORDS:
        _record_strided(operation, dest, source, dest_step, source_step, n, size, pe, scope)
    copy_strided(to, start, dest_step, source_step, n, size, scope)
    meet_group(scope)


def _strided(operation, scope, name, docs):
    def strided(dst, src, dst_stride, src_stride, nelems, pe):
        check_pair(dst, src)
        size, n, to = itemsize(dst), integer(nelems), integer(pe)
        step, from_step = integer(dst_stride), integer(src_stride)
        strided_bytes(operation, address(dst), address(src), step, from_step, n, size, to, scope)

    strided.__doc__ = docs
    _make(name, strided)


_IPUT = """Copies `nelems` elements of `src`, `src_stride` elements apart, to every
        `dst_stride`-th element of `dst` on PE `pe`; strides are at least 1. One-sided.
        """
_IGET = """Copies `nelems` elements of `src` on PE `pe`, `src_stride` elements apart, to every
        `dst_stride`-th element of `dst`; strides are at least 1. One-sided.
        """


def _make(name, function, lent=None):
    for one in (function, lent or function):
        one.__name__ = one.__qualname__ = name
        one.__module__ = __name__
    globals()[name] = public(function) if lent is None else lendable(function, lent)
    __all__.append(name)


_FORMS = (
    ("put", _put, PUT),
    ("put_nbi", _put, PUT_NBI),
    ("get", _get, GET),
    ("get_nbi", _get, GET_NBI),
    ("put_signal", _put_signal, PUT_SIGNAL),
    ("put_signal_nbi", _put_signal, PUT_SIGNAL_NBI),
)
for _scope, _suffix in SCOPES:
    for _name, _form, _operation in _FORMS:
        _make(_name + _suffix, *forms(partial(_form, _operation, _scope), _scope))
    _strided(IPUT, _scope, "iput" + _suffix, _IPUT)
    _strided(IGET, _scope, "iget" + _suffix, _IGET)
