"""Numba's simulator in a job that is checked: operations of kernels become calls of the library, which
the checker sees, and announcements of loads and stores.

Other PEs' memory has no addresses here, because the checker watches nothing behind a pointer. A
place on another PE is a number: this PE's address, and `STRIDE` for each PE from here to there. So
the functions of ``_kernels`` compute places as always, and accesses find the PE in them.

Puts and gets are those of the library that block, and signals, waits and collectives are its own.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
from numba.cuda import simulator as _simulator
from numba.cuda.simulator import args as _args
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray

from .... import _ffi
from ... import _sites
from ..._dtypes import code_of_array
from ..._job import check, job, lib
from ..._operand import operand
from ..._places import runs
from ...memory import owner_of
from ...nvshmem_types import NotSupportedError
from ..primitives import TABLE
from . import _simulated

STRIDE = 1 << 48
"""More than any address: from a place on a PE to that on the next one."""

_LOAD, _STORE = int(_ffi.Access.LOAD), int(_ffi.Access.STORE)
# A line of the simulator's is no place in the program.
_sites.skipped += (os.path.dirname(str(_simulator.__file__)) + os.sep,)


def __getattr__(name: str) -> Any:
    return getattr(_simulated, name)


_known: Tuple[int, List[int], Any] = (0, [], None)


def _job_words() -> List[int]:
    """The state, as of a job whose PE 0 has its memory at -`STRIDE` times this PE's number, so that
    this PE's places are its addresses. The job's struct says that all addresses are symmetric: the
    library looks at each. Its abort word is always 0: the library's waits end by themselves.
    """
    global _known
    if _known[0] != job.runtime or not job.runtime:
        n = ctypes.c_int32()
        check(lib.nvshmemrs_n_pes(job.runtime, ctypes.byref(n)))
        struct = (ctypes.c_uint64 * 8)(STRIDE - 1)
        at = ctypes.addressof(struct)
        base = -job.my_pe * STRIDE
        words = [0, n.value << 32 | job.my_pe, base, STRIDE, at + 56, 0, at, 1]
        _known = (job.runtime, words, struct)
    return _known[1]


_simulated._job_words = _job_words
_place = _simulated._place


def _announce(at: int, nbytes: int, access: int) -> None:
    check(lib.nvshmemrs_check_access(at, nbytes, access, None))


# --- the table ------------------------------------------------------------------------------------


def _load(kind: Any, acquire: bool) -> Callable[[int], int]:
    bits = 8 * ctypes.sizeof(kind)
    name = f"atomic_fetch{bits}" if acquire and bits >= 32 else f"g{bits}"
    from_pe = getattr(lib, f"nvshmemrs_{name}")

    def load(at: int) -> int:
        own, pe = _place(at)
        if pe == job.my_pe and not (acquire and bits >= 32):
            _announce(own, bits // 8, _LOAD)
            return int(kind.from_address(own).value)
        found = kind()
        check(from_pe(job.runtime, own, pe, ctypes.byref(found)))
        return int(found.value)

    return load


def _store(kind: Any, release: bool) -> Callable[[int, int], None]:
    bits = 8 * ctypes.sizeof(kind)
    name = f"atomic_set{bits}" if release and bits >= 32 else f"p{bits}"
    to_pe = getattr(lib, f"nvshmemrs_{name}")

    def store(at: int, value: int) -> None:
        own, pe = _place(at)
        value = int(value) & (1 << bits) - 1
        if pe == job.my_pe and not release:
            _announce(own, bits // 8, _STORE)
            kind.from_address(own).value = value
            return
        if release and bits < 32:
            check(lib.nvshmemrs_fence(job.runtime))
        check(to_pe(job.runtime, own, value, pe))

    return store


def _move(dest: int, source: int, nbytes: int) -> None:
    """Copies bytes between two addresses, each on any PE."""
    (to, pe), (start, there) = _place(dest), _place(source)
    if there != job.my_pe:
        if pe != job.my_pe:
            raise NotSupportedError("the checker knows no copy between two other PEs")
        check(lib.nvshmemrs_get(job.runtime, to, start, nbytes, there))
    elif pe != job.my_pe:
        check(lib.nvshmemrs_put(job.runtime, to, start, nbytes, pe))
    else:
        _announce(start, nbytes, _LOAD)
        _announce(to, nbytes, _STORE)
        ctypes.memmove(to, start, nbytes)


def _copies(size: int, count: int) -> Callable[..., None]:
    def copy(dest: int, source: int, step: int = 0) -> None:
        for k in range(count):
            _move(dest + k * step, source + k * step, size)

    return copy


def _cas_u16(at: int, cond: int, value: int) -> int:
    raise NotSupportedError("a job that is checked has no atomic operations of float16 in kernels")


# The same rows, in terms of the accesses above.
_emit: Any = _simulated._emit
_parts: Dict[str, Any] = {
    "_load": _load,
    "_store": _store,
    "_copies": _copies,
    "_cas_u16": _cas_u16,
}
_simulated.__dict__.update(_parts)
globals().update((name, _emit(row)) for name, row in TABLE.items())


def bulk_engines() -> int:
    """Puts and gets are those of the library, so nothing is lent."""
    return 0


# --- functions that are the library's own ---------------------------------------------------------


def _functions() -> Dict[str, Dict[str, Any]]:
    """The replacements of functions of ``_kernels``, by module."""
    package = __name__.rpartition(".")[0]
    state = importlib.import_module(f"{package}._state")
    meet, rank = state.meet_group, state.rank

    def copy(dest: int, source: int, nbytes: int, scope: int) -> None:
        if rank(scope) == 0 and nbytes > 0:
            _move(dest, source, nbytes)

    def update_signal(at: int, value: int, op: int) -> None:
        own, pe = _place(at)
        value &= 2**64 - 1
        check(lib.nvshmemrs_signal_op(job.runtime, own, value, op, pe))

    def announce(at: int, value: int, op: int) -> None:
        check(lib.nvshmemrs_fence(job.runtime))
        update_signal(at, value, op)

    def wait_for_signal(at: int, cmp: int, value: int) -> int:
        seen = ctypes.c_uint64()
        value &= 2**64 - 1
        check(lib.nvshmemrs_signal_wait(job.runtime, at, cmp, value, ctypes.byref(seen)))
        return seen.value

    def holds(operation: int, ivars: Any, i: int, cmp: int, value: int, values: int) -> bool:
        array = _simulated._array(ivars)
        at, size = _simulated.address(ivars) + i * array.itemsize, array.itemsize
        if values != 0:
            _announce(values + i * size, size, _LOAD)
            value = int.from_bytes(ctypes.string_at(values + i * size, size), "little")
        bits, found = ctypes.c_uint64(value & 2**64 - 1), ctypes.c_int32()
        code = code_of_array(array.dtype)
        check(
            lib.nvshmemrs_test(job.runtime, at, cmp, ctypes.byref(bits), code, ctypes.byref(found))
        )
        return bool(found.value)

    class Row:
        """A team that this PE is a member of."""

        def __init__(self, handle: int, me: int) -> None:
            size = ctypes.c_int32()
            check(lib.nvshmemrs_team_n_pes(job.runtime, handle, ctypes.byref(size)))
            self.handle, self.me, self.size = handle, me, size.value

    def find_team(handle: int) -> Any:
        me = ctypes.c_int32()
        if lib.nvshmemrs_team_my_pe(job.runtime, handle, ctypes.byref(me)) or me.value < 0:
            return 0
        return Row(handle, me.value)

    def pe_of(row: Row, member: int) -> int:
        pe = ctypes.c_int32()
        check(lib.nvshmemrs_team_translate_pe(job.runtime, row.handle, member, 0, ctypes.byref(pe)))
        return pe.value

    def collective(scope: int, team: int, name: str, *arguments: Any) -> int:
        """One thread of the group makes the library's call."""
        meet(scope)
        member = find_team(team) != 0
        if member and rank(scope) == 0:
            check(getattr(lib, f"nvshmemrs_{name}")(job.runtime, team, *arguments))
        meet(scope)
        return 0 if member else -1

    def barrier_of(operation: int, team: int, slot: int, scope: int) -> int:
        return collective(scope, team, "barrier" if operation == state.BARRIER else "sync")

    def broadcast_bytes(
        team: int, dest: int, source: int, nbytes: int, align: int, root: int, slot: int, scope: int
    ) -> int:
        return collective(scope, team, "broadcast", dest, source, nbytes, root)

    def gather_bytes(
        operation: int, team: int, dest: int, source: int, nbytes: int, *rest: Any
    ) -> int:
        name = "alltoall" if operation == state.ALLTOALL else "fcollect"
        return collective(rest[-1], team, name, dest, source, nbytes)

    def reduction_of(op: str, scatter: bool) -> Any:
        code, name = int(_ffi.Op[op.upper()]), "reducescatter" if scatter else "reduce"

        def reduce(
            like: Any, team: int, dest: int, source: int, count: int, slot: int, scope: int
        ) -> int:
            dtype = code_of_array(_simulated._array(like).dtype)
            return collective(scope, team, name, dest, source, count, dtype, code)

        return reduce

    def maxloc_bytes(
        like: Any, team: int, dest: int, source: int, count: int, slot: int, scope: int
    ) -> int:
        """The library has no such reduction: gets between two barriers, and a store."""
        meet(scope)
        row = find_team(team)
        if row and rank(scope) == 0:
            pairs = np.empty((row.size, count, 2))
            check(lib.nvshmemrs_barrier(job.runtime, team))
            for part, member in zip(pairs, range(row.size)):
                at, pe = part.ctypes.data, pe_of(row, member)
                check(lib.nvshmemrs_get(job.runtime, at, source, part.nbytes, pe))
            check(lib.nvshmemrs_barrier(job.runtime, team))
            largest = pairs[pairs[:, :, 0].argmax(0), np.arange(count)]
            _announce(dest, largest.nbytes, _STORE)
            ctypes.memmove(dest, largest.ctypes.data, largest.nbytes)
        meet(scope)
        return 0 if row else -1

    def team_me(row: Row) -> int:
        return row.me

    def team_size(row: Row) -> int:
        return row.size

    teams = {"find_team": find_team, "team_me": team_me, "team_size": team_size, "pe_of": pe_of}
    return {
        "rma": {"copy": copy, "update_signal": update_signal, "announce": announce},
        "_lent": {"copy": copy},
        "direct": {"update_signal": update_signal, "wait_for_signal": wait_for_signal, **teams},
        "waits": {"_holds": holds},
        "collective": {
            "barrier_of": barrier_of,
            "broadcast_bytes": broadcast_bytes,
            "gather_bytes": gather_bytes,
            "reduction_of": reduction_of,
            "maxloc_bytes": maxloc_bytes,
            **{name: teams[name] for name in ("find_team", "team_size")},
        },
    }


# --- arrays ---------------------------------------------------------------------------------------


class Watched(FakeCUDAArray):  # type: ignore[misc]
    """An array whose elements announce that a kernel loads or stores them."""

    def _announce(self, place: Any, access: int) -> None:
        key = place if isinstance(place, tuple) else (place,)
        if all(isinstance(one, (int, np.integer, slice)) for one in key):
            for at, nbytes in runs(self._ary[(*key, ...)]):
                _announce(at, nbytes, access)

    def __getitem__(self, place: Any) -> Any:
        found = self._ary[place]
        if isinstance(found, np.ndarray):
            return Watched(found, stream=self.stream)
        self._announce(place, _LOAD)
        return self._ary[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._announce(place, _STORE)
        self._ary[place] = value


def moved(like: Any, at: int) -> Any:
    """The array at another address; for another PE a pointer, which the checker is told of."""
    own, pe = _place(at)
    if pe != job.my_pe:
        pointer = ctypes.c_void_p()
        check(lib.nvshmemrs_ptr(job.runtime, own, pe, ctypes.byref(pointer)))
        own = pointer.value or 0
    return _simulated.moved(like, own)


_to_device = _args.InOut.to_device


def _wrap(self: Any, retr: Any, stream: Any = 0) -> Any:
    """Watches symmetric arrays, where the simulator copies other arrays, and copies them back."""
    value = self.value
    if isinstance(value, np.ndarray) and job.runtime and value.size:
        if owner_of(value) is not None:
            operand(value, "an argument of the kernel")  # raises if it was freed
            return Watched(value.view(np.ndarray))
    return _to_device(self, retr, stream)


def install() -> None:
    """Makes the simulator pass symmetric arrays as they are, and watch them."""
    package = __name__.rpartition(".")[0]
    for name, functions in _functions().items():
        module = importlib.import_module(f"{package}.{name}")
        for function in functions:
            if not hasattr(module, function):
                raise AttributeError(f"{name} has no function {function}")
        vars(module).update(functions)
    _simulated.install(_wrap)
