# mypy: ignore-errors
"""Triton's interpreter in a job that is checked: operations of kernels become calls of the library,
which the checker sees, and announcements of loads and stores.

Other PEs' memory has no addresses here, because the checker watches nothing behind a pointer. A
place on another PE is a number: this PE's address, and `STRIDE` for each PE from here to there. So
`ptr` computes places as always, and accesses find the PE in them. Loads from other PEs are the
library's gets, stores its puts, and atomics its own. Programs meet in its barriers.
"""

from __future__ import annotations

import ctypes
import os

import numpy as np
import triton
import triton.language as tl
from triton.runtime import interpreter

from .... import _ffi
from ... import _sites
from ..._job import check, job, lib
from ...nvshmem_types import NotSupportedError
from ._settings import _number

STRIDE = 1 << 48
"""More than any address: from a place on a PE to that on the next one."""

_LOAD, _STORE = int(_ffi.Access.LOAD), int(_ffi.Access.STORE)
# A line of the interpreter's is no place in the program.
_sites.skipped += (os.path.dirname(triton.__file__) + os.sep,)

_known = (0, None, None)


def words() -> int:
    """The address of the state, as of a job whose PE 0 has its memory at -`STRIDE` times this PE's
    number, so that this PE's places are its addresses. The job's struct says that all addresses are
    symmetric: the library looks at each.
    """
    global _known
    if _known[0] != job.runtime:
        n = ctypes.c_int32()
        check(lib.nvshmemrs_n_pes(job.runtime, ctypes.byref(n)))
        about = np.zeros(8, np.int64)
        about[0], about[4] = STRIDE - 1, 1 << 20  # bytes of the heap; slots of a team
        state = np.zeros(9, np.int64)
        state[1] = n.value << 32 | job.my_pe
        state[2], state[3] = -job.my_pe * STRIDE, STRIDE
        state[4], state[6] = state.ctypes.data + 64, about.ctypes.data
        _known = (job.runtime, state, about)
    return int(_known[1].ctypes.data)


# --- accesses -------------------------------------------------------------------------------------


def _places(pointers, mask):
    """The elements that a mask selects: their indices, addresses of this PE, and PEs."""
    at = np.ascontiguousarray(pointers).reshape(-1).view(np.int64)
    kept = np.flatnonzero(np.broadcast_to(mask, np.shape(pointers)).reshape(-1))
    return kept, at[kept] & (STRIDE - 1), job.my_pe + (at[kept] >> 48)


def _runs(own, pes, size):
    """Where elements begin that follow each other, and how many do."""
    if not len(own):
        return
    ends = np.flatnonzero((np.diff(own) != size) | (np.diff(pes) != 0)) + 1
    for begin, end in zip([0, *ends.tolist()], [*ends.tolist(), len(own)]):
        yield begin, end


def _load(pointers, mask, other, dtype):
    """As the interpreter's load."""
    found = np.array(np.broadcast_to(other, np.shape(pointers)), dtype)
    flat, size = found.reshape(-1), found.itemsize
    kept, own, pes = _places(pointers, mask)
    for begin, end in _runs(own, pes, size):
        part, nbytes = np.empty(end - begin, dtype), (end - begin) * size
        at, pe = int(own[begin]), int(pes[begin])
        if pe == job.my_pe:
            check(lib.nvshmemrs_check_access(at, nbytes, _LOAD, None))
            ctypes.memmove(part.ctypes.data, at, nbytes)
        else:
            check(lib.nvshmemrs_get(job.runtime, part.ctypes.data, at, nbytes, pe))
        flat[kept[begin:end]] = part
    return flat.reshape(np.shape(pointers))


def _store(pointers, value, mask):
    """As the interpreter's store."""
    value = np.broadcast_to(value, np.shape(pointers)).reshape(-1)
    kept, own, pes = _places(pointers, mask)
    for begin, end in _runs(own, pes, value.itemsize):
        part = np.ascontiguousarray(value[kept[begin:end]])
        at, pe = int(own[begin]), int(pes[begin])
        if pe == job.my_pe:
            check(lib.nvshmemrs_check_access(at, part.nbytes, _STORE, None))
            ctypes.memmove(at, part.ctypes.data, part.nbytes)
        else:
            check(lib.nvshmemrs_put(job.runtime, at, part.ctypes.data, part.nbytes, pe))


_WORDS = {4: ctypes.c_uint32, 8: ctypes.c_uint64}
_NAMES = {
    "ADD": "fetch_add",
    "AND": "fetch_and",
    "OR": "fetch_or",
    "XOR": "fetch_xor",
    "XCHG": "swap",
}


def _word(dtype):
    if dtype.itemsize not in _WORDS:
        raise NotSupportedError(f"a job that is checked has no atomic operations of {dtype}")
    return _WORDS[dtype.itemsize]


def _atomic_load(pointers, mask, dtype):
    """An atomic fetch of each word."""
    kind, found = _word(dtype), np.zeros(np.shape(pointers), dtype)
    bits = found.reshape(-1).view(f"u{dtype.itemsize}")
    fetch, one = getattr(lib, f"nvshmemrs_atomic_fetch{8 * dtype.itemsize}"), kind()
    for k, own, pe in zip(*(part.tolist() for part in _places(pointers, mask))):
        check(fetch(job.runtime, own, pe, ctypes.byref(one)))
        bits[k] = one.value
    return found


def _each(pointers, value, mask, change):
    """The old words; ``change(own, pe, value)`` returns one of them."""
    value = np.ascontiguousarray(np.broadcast_to(value, np.shape(pointers)))
    _word(value.dtype)
    given = value.reshape(-1).view(f"u{value.itemsize}")
    found = np.zeros(value.shape, value.dtype)
    bits = found.reshape(-1).view(given.dtype)
    for k, own, pe in zip(*(part.tolist() for part in _places(pointers, mask))):
        bits[k] = change(own, pe, int(given[k]))
    return found


def _compare_swap(kind):
    swap, one = getattr(lib, f"nvshmemrs_atomic_compare_swap{8 * ctypes.sizeof(kind)}"), kind()

    def once(own, pe, expected, value):
        check(swap(job.runtime, own, expected, value, pe, ctypes.byref(one)))
        return one.value

    return once


def _atomic_rmw(name, pointers, value, mask):
    """As the interpreter's; `name` is that of the operation."""
    value = np.asarray(value)
    dtype, kind, one = value.dtype, _word(value.dtype), _word(value.dtype)()
    bits = 8 * dtype.itemsize
    if name in _NAMES:
        call = getattr(lib, f"nvshmemrs_atomic_{_NAMES[name]}{bits}")

        def change(own, pe, given):
            check(call(job.runtime, own, given, pe, ctypes.byref(one)))
            return one.value
    else:
        fold = {"FADD": np.add, "MIN": np.minimum, "UMIN": np.minimum}.get(name, np.maximum)
        number = np.dtype(f"u{dtype.itemsize}") if name in ("UMIN", "UMAX") else dtype
        once = _compare_swap(kind)

        def change(own, pe, given):
            old = 0
            while True:
                both = np.array([old, given], f"u{dtype.itemsize}").view(number)
                new = int(fold(both[:1], both[1:]).view(f"u{dtype.itemsize}")[0])
                seen = once(own, pe, old, new)
                if seen == old:
                    return old
                old = seen

    return _each(pointers, value, mask, change)


def _atomic_cas(pointers, expected, value):
    once = _compare_swap(_word(np.asarray(value).dtype))
    expected = np.ascontiguousarray(np.broadcast_to(expected, np.shape(pointers)))
    wanted = iter(expected.reshape(-1).view(f"u{expected.itemsize}").tolist())
    every = np.ones(np.shape(pointers), bool)
    return _each(pointers, value, every, lambda own, pe, new: once(own, pe, next(wanted), new))


class _Accesses:
    """The accesses that the interpreter calls."""

    def __init__(self, below):
        self._below = below

    def __getattr__(self, name):
        return getattr(self._below, name)

    def load(self, pointers, mask, other, dtype):
        return (
            _load(pointers, mask, other, np.dtype(dtype))
            if job.runtime
            else self._below.load(pointers, mask, other, dtype)
        )

    def store(self, pointers, value, mask):
        return (
            _store(pointers, value, mask)
            if job.runtime
            else self._below.store(pointers, value, mask)
        )

    def atomic_rmw(self, operation, pointers, value, mask, order):
        if not job.runtime:
            return self._below.atomic_rmw(operation, pointers, value, mask, order)
        return _atomic_rmw(str(operation).rpartition(".")[2], pointers, value, mask)

    def atomic_cas(self, pointers, expected, value, order):
        if not job.runtime:
            return self._below.atomic_cas(pointers, expected, value, order)
        return _atomic_cas(pointers, expected, value)


def install():
    """Makes the interpreter's accesses calls of the library."""
    interpreter._interpreter = _Accesses(interpreter._interpreter)
    builder = interpreter.InterpreterBuilder
    plain_load, plain_store = (
        getattr(builder, f"create_atomic_{name}", None) for name in ("load", "store")
    )
    if plain_load is None:  # before Triton 3.9 read-modify-writes take their place
        return

    def create_atomic_load(self, ptr, mask, sem, scope):
        if not job.runtime:
            return plain_load(self, ptr, mask, sem, scope)
        kind = ptr.get_element_ty()
        found = _atomic_load(ptr.data, mask.data, np.dtype(interpreter._get_np_dtype(kind)))
        return interpreter.TensorHandle(found, kind)

    def create_atomic_store(self, ptr, val, mask, sem, scope):
        if not job.runtime:
            return plain_store(self, ptr, val, mask, sem, scope)
        _atomic_rmw("XCHG", ptr.data, val.data, mask.data)

    builder.create_atomic_load, builder.create_atomic_store = (
        create_atomic_load,
        create_atomic_store,
    )


# --- functions that are the library's own ---------------------------------------------------------


def fence(ctx):
    """Puts and stores of this program before it are seen before those after it, by every PE."""
    check(lib.nvshmemrs_fence(job.runtime))


def quiet(ctx):
    """Completes the puts, stores and atomics of this program."""
    check(lib.nvshmemrs_quiet(job.runtime))


_members = {}


def team_fields(team):
    """The fields of a team, whose `epochs` is its handle, and its members are listed."""
    handle, me, n, pe = _number(team), *(ctypes.c_int32() for _ in range(3))
    if lib.nvshmemrs_team_my_pe(job.runtime, handle, ctypes.byref(me)) or me.value < 0:
        return [0, -1, 0, 0, 0, 0, handle]
    check(lib.nvshmemrs_team_n_pes(job.runtime, handle, ctypes.byref(n)))
    listed = np.zeros(n.value, np.int32)
    for member in range(n.value):
        check(lib.nvshmemrs_team_translate_pe(job.runtime, handle, member, 0, ctypes.byref(pe)))
        listed[member] = pe.value
    _members[handle] = listed
    return [n.value, me.value, 0, 0, listed.ctypes.data, 0, handle]


def numbers(values):
    """Scalars of Triton's: four of 32 bits, and then of 64."""
    return [tl.full((), value, tl.int32 if k < 4 else tl.int64) for k, value in enumerate(values)]


def meet(ctx, t, slot, steps=1):
    """Meets the other members, in the library's barrier."""
    if _number(slot) < 0:
        return tl.full((), -1, tl.int32)
    check(lib.nvshmemrs_barrier(job.runtime, _number(t.epochs)))
    return tl.full((), 0, tl.int32)


# As Triton's own functions, which it does not look into.
for _function in (fence, quiet, meet):
    _function.__triton_builtin__ = True
