"""The functions of ``_kernels`` in Python, for Numba's simulator: PEs are processes, the heap is
host memory, and a thread of a block is a thread of Python.

Loads and stores are those of ctypes, single instructions for aligned words; fences and
read-modify-writes are the library's. Arguments are always checked, and wrong ones raise errors. A
wait looks for the error that has broken the job, and raises that, too.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import ctypes
import functools
import struct
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
from numba.cuda.simulator import args as _args
from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray, FakeWithinKernelCUDAArray
from numba.cuda.simulator.kernel import BlockThread
from numba.cuda.simulator.kernelapi import FakeCUDAShared

from ..._job import check, job, lib
from ..._operand import operand
from ...nvshmem_types import NotSupportedError, NvshmemError, NvshmemInvalid
from .. import fitting
from .. import state as _state_of_job
from .._dtypes import CHECKS, INTEGERS, KINDS
from .._findings import sentence
from .._members import Members
from .._operations import NAMES
from ..primitives import TABLE, Primitive

# The simulator's main thread looks for the end of a block all the time, so others must get turns.
sys.setswitchinterval(min(sys.getswitchinterval(), 1e-4))

_MASK = 2**64 - 1
_WORDS: Dict[int, Any] = {
    8: ctypes.c_uint8,
    16: ctypes.c_uint16,
    32: ctypes.c_uint32,
    64: ctypes.c_uint64,
}


def jitable(function: Any) -> Any:
    return function


def public(function: Any) -> Any:
    """A function that kernels call; outside of them it raises."""

    members = Members(function)

    @functools.wraps(function)
    def inside(*args: Any, **named: Any) -> Any:
        if not isinstance(threading.current_thread(), BlockThread):
            raise NotSupportedError(f"{function.__name__} is for kernels: call it in one")
        members.expect_values(args, named)
        with np.errstate(all="ignore"):
            return function(*args, **named)

    return inside


inlined = giving = public


def lendable(function: Any, lent: Any) -> Any:
    return public(lent)


# --- the table ------------------------------------------------------------------------------------


def _place(at: int) -> Tuple[int, int]:
    """This PE's address of symmetric memory, and the PE that an address is on."""
    _, base, stride = _job_words()[1:4]
    pe, offset = divmod(at - base, stride)
    return base + job.my_pe * stride + offset, pe


def _load(kind: Any, acquire: bool) -> Callable[[int], int]:
    def load(at: int) -> int:
        value: int = kind.from_address(at).value
        if acquire:
            check(lib.nvshmemrs_quiet(job.runtime))
        return value

    return load


def _store(kind: Any, release: bool) -> Callable[[int, int], None]:
    def store(at: int, value: int) -> None:
        if release:
            check(lib.nvshmemrs_fence(job.runtime))
        kind.from_address(at).value = int(value)

    return store


def _modify(function: Any, kind: Any) -> Callable[..., Any]:
    mask = 2 ** (8 * ctypes.sizeof(kind)) - 1

    def modify(at: int, *values: Any) -> Any:
        own, pe = _place(at)
        old = kind()
        given = values if kind is ctypes.c_double else [int(value) & mask for value in values]
        check(function(job.runtime, own, *given, pe, ctypes.byref(old)))
        return old.value

    return modify


def _cas_u16(at: int, cond: int, value: int) -> int:
    """By the word of 32 bits that the element is in."""
    word, shift = at & ~3, (at & 2) * 8
    swap = _modify(lib.nvshmemrs_atomic_compare_swap32, ctypes.c_uint32)
    while True:
        old = ctypes.c_uint32.from_address(word).value
        seen = old >> shift & 0xFFFF
        if seen != cond:
            check(lib.nvshmemrs_quiet(job.runtime))
            return seen
        new = (old & ~(0xFFFF << shift)) | (value & 0xFFFF) << shift
        if swap(word, old, new) == old:
            return seen


def _copies(size: int, count: int) -> Callable[..., None]:
    def copy(dest: int, source: int, step: int = 0) -> None:
        for k in range(count):
            ctypes.memmove(dest + k * step, source + k * step, size)

    return copy


def _same_bits(to: str, given: str) -> Callable[[Any], Any]:
    def bits(value: Any) -> Any:
        number = struct.unpack(to, struct.pack(given, value))[0]
        return np.float32(number) if to == "f" else np.float64(number) if to == "d" else number

    return bits


def _trap() -> None:
    raise NvshmemError("a kernel has ended itself")


def _emit(row: Primitive) -> Callable[..., Any]:
    """A row as a function of Python. Integers are not negative."""
    parts = row.name.split("_")
    size = int(parts[-1][1:]) if parts[-1][0] in "uf" and parts[-1][1:].isdigit() else 0
    if parts[0] == "ld":
        return _load(_WORDS[size], parts[1] == "acquire")
    if parts[0] == "st":
        return _store(_WORDS[size], parts[1] == "release")
    if parts[0] in ("atom", "red"):
        what = "fetch_" + parts[-2] if parts[-2] != "exch" else "swap"
        if parts[-1] == "f64":
            return _modify(getattr(lib, f"nvshmemrs_atomic_{what}_double"), ctypes.c_double)
        return _modify(getattr(lib, f"nvshmemrs_atomic_{what}{size}"), _WORDS[size])
    if parts[0] == "cas":
        if size == 16:
            return _cas_u16
        return _modify(getattr(lib, f"nvshmemrs_atomic_compare_swap{size}"), _WORDS[size])
    if parts[0] == "copy":
        count = int(parts[2][1:]) if len(parts) == 3 else 1
        return _copies(int(parts[1][1:]) // 8, count)
    if parts[0] == "bits":
        codes = {"u32": "I", "u64": "Q", "f32": "f", "f64": "d"}
        return _same_bits(codes[parts[1]], codes[parts[2]])
    return _OTHERS[row.name]


_taking = threading.Lock()


def _take(at: int) -> int:
    """Takes a word of shared memory if no other thread has it: 0 then."""
    word = ctypes.c_uint32.from_address(at)
    with _taking:
        old, word.value = word.value, 1
    return old


def _shared_place(at: int) -> int:
    """The address itself; -1 on the heap, which is not a block's memory."""
    heap = state(2) + job.my_pe * state(3)
    return -1 if heap <= at < heap + state(3) else at


_OTHERS: Dict[str, Callable[..., Any]] = {
    "shared_place": _shared_place,
    "shared_take": _take,
    "shared_free": lambda at: ctypes.memset(at, 0, 4),
    "bulk_begin": lambda barriers: None,
    "bulk_load": lambda to, start, nbytes, barrier: ctypes.memmove(to, start, nbytes),
    "bulk_came": lambda barrier, parity: 1,
    "bulk_store": ctypes.memmove,
    "bulk_await_reads": lambda: None,
    "bulk_end": lambda barriers: None,
    "fence_acq_rel": lambda: check(lib.nvshmemrs_fence(job.runtime)),
    "fence_sc": lambda: check(lib.nvshmemrs_quiet(job.runtime)),
    "prefetch": lambda at: None,
    "cvt_f32_f16": lambda bits: np.float32(np.uint16(bits).view(np.float16)),
    "cvt_f16_f32": lambda value: int(np.float16(value).view(np.uint16)),
    "meet_128": lambda barrier: _vote(128, False),
    "any_128": lambda barrier, vote: _vote(128, bool(vote)),
    "clock": time.monotonic_ns,
    "trap": _trap,
}

globals().update((name, _emit(row)) for name, row in TABLE.items())


# --- arrays and their elements --------------------------------------------------------------------


def _array(like: Any) -> np.ndarray:
    while isinstance(like, (FakeWithinKernelCUDAArray, FakeCUDAArray)):
        like = like._item if isinstance(like, FakeWithinKernelCUDAArray) else like._ary
    if not isinstance(like, np.ndarray):
        raise NvshmemInvalid(f"an array is needed, not {type(like).__name__}")
    return like


def _element(like: Any) -> np.ndarray:
    array = _array(like)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise NvshmemInvalid(
            "the array has gaps: pass a contiguous one, or call iput or iget"
        )
    return array


def _expect(like: Any, known: Any, what: str) -> None:
    name = _element(like).dtype.name
    if name not in known:
        raise NvshmemInvalid(f"{what} knows elements of {', '.join(known)}, not of {name}")


def itemsize(like: Any) -> int:
    return _element(like).itemsize


def kind_of(like: Any) -> int:
    return KINDS.get(_array(like).dtype.name, 0)


def address(like: Any) -> int:
    return 0 if like is None else int(_array(like).__array_interface__["data"][0])


def count(like: Any) -> int:
    return _element(like).size


def room(like: Any) -> int:
    """How many elements there are; 0 of None."""
    return 0 if like is None else count(like)


def contiguous_bytes(like: Any) -> int:
    array = _array(like)
    return array.nbytes if array.flags.c_contiguous or array.flags.f_contiguous else 1


def moved(like: Any, at: int) -> Any:
    """The array at another address."""
    array = _array(like)
    memory: Any = (ctypes.c_char * max(_extent(array), 1)).from_address(at)
    made: np.ndarray = np.ndarray(array.shape, array.dtype, memory, 0, array.strides)
    return FakeWithinKernelCUDAArray(FakeCUDAArray(made))


def _extent(array: np.ndarray) -> int:
    if not array.size:
        return 0
    return int(sum((n - 1) * s for n, s in zip(array.shape, array.strides))) + array.itemsize


def encode(like: Any, value: Any) -> int:
    """The bits of a number as an element of the array; of another array its first element."""
    if isinstance(value, (FakeWithinKernelCUDAArray, FakeCUDAArray, np.ndarray)):
        value = _array(value).flat[0]
    number = np.asarray(value)
    if number.dtype.kind not in "biuf" and number.dtype.name != "bfloat16":
        raise NvshmemInvalid(f"a number is needed, not {value!r}")
    return int.from_bytes(number.astype(_element(like).dtype).tobytes(), sys.byteorder)


def decode(like: Any, bits: int) -> Any:
    """The number that the bits of an element are."""
    dtype = _element(like).dtype
    return np.frombuffer((bits & _MASK).to_bytes(8, "little")[: dtype.itemsize], dtype)[0]


def check_pair(dst: Any, src: Any) -> None:
    if _element(dst).dtype != _element(src).dtype:
        raise NvshmemInvalid(
            f"dst has elements of {_array(dst).dtype}, and src of {_array(src).dtype}"
        )


globals().update(
    (name, functools.partial(_expect, known=known, what=what))
    for name, (known, what) in CHECKS.items()
)


def check_word(like: Any) -> None:
    if itemsize(like) > 8:
        name = _array(like).dtype.name
        raise NvshmemInvalid(f"elements of {name} are too long to be accessed at once")


def check_values(ivars: Any, values: Any) -> None:
    if _element(ivars).dtype != _element(values).dtype:
        name, wanted = _array(values).dtype.name, _array(ivars).dtype.name
        raise NvshmemInvalid(f"values has elements of {name}, and not of {wanted}")


def flag_bytes(like: Any) -> int:
    """The bytes of an element of a `status`; 0 of None."""
    if like is None:
        return 0
    _expect(like, ("bool", *INTEGERS), "a status")
    return itemsize(like)


def named(dtype: str) -> Any:
    """A function that takes an array of one type of elements only."""
    return lambda like: _expect(like, (dtype,), "this function")


def no_multicast(like: Any) -> None:
    raise NotSupportedError("get_multicast_array is not supported: multicast memory is not offered")


def by_kind(what: str, table: Dict[str, Callable[[Any, Any], Any]]) -> Any:
    """A function of an array and a value, specialised by element type."""

    def choose(like: Any, value: Any) -> Any:
        _expect(like, table, what)
        return table[_array(like).dtype.name](like, value)

    return choose


def by_op(name: str, doc: str, table: Dict[str, Callable[[], Any]]) -> Any:
    """A function for kernels whose argument `op` is the name of an operation."""

    def function(team: Any, dst_array: Any, src_array: Any, op: str, slot: int = 0) -> Any:
        if op not in table:
            raise NvshmemInvalid(f"op={op!r}: it is one of {', '.join(table)}")
        if op in ("and", "or", "xor"):
            _expect(dst_array, INTEGERS, op)
        return table[op]()(team, dst_array, src_array, slot)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return public(function)


def refresh_compiler() -> None:
    """There is none."""


# --- lent memory ----------------------------------------------------------------------------------


shared_bytes = contiguous_bytes


def bulk_engines() -> int:
    """Copies of the host's memory stand for the engines."""
    return 1


def _caller() -> Any:
    """The frame of the program's function that calls."""
    frame: Any = sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith("nvshmemrs."):
        frame = frame.f_back
    return frame


def lend(word: int) -> None:
    """Keeps the memory lent to the calling function, for the thread."""
    _thread().nvshmemrs_lent = {**getattr(_thread(), "nvshmemrs_lent", {}), _caller(): word}


def lent() -> int:
    found: Dict[Any, int] = getattr(_thread(), "nvshmemrs_lent", {})
    return found.get(_caller(), 0)


# --- numbers, threads, state ----------------------------------------------------------------------


def integer(value: Any) -> int:
    if isinstance(value, (float, np.floating)):
        raise NvshmemInvalid(f"an integer is needed, not {value!r}")
    return int(value)


def unsigned(value: int) -> int:
    return value & _MASK


def signed(value: int) -> int:
    return ((value & _MASK) ^ 2**63) - 2**63


def smallest(a: int, b: int) -> int:
    return a if a < b else b


def apart() -> None:
    pass


def idle() -> None:
    """Between two looks at a word that another PE writes."""
    check(lib.nvshmemrs_runtime_check(job.runtime))
    if getattr(threading.current_thread(), "abort", False):
        raise RuntimeError("another thread of the block has failed")
    time.sleep(2e-5)


_known: Tuple[int, List[int]] = (0, [])


def _job_words() -> List[int]:
    global _known
    if _known[0] != job.runtime or not job.runtime:
        words = list(struct.unpack("<8Q", bytes(fitting(_state_of_job(), "a kernel"))))
        if job.device >= 0:
            raise NotSupportedError(
                "Numba's simulator runs kernels on host memory, and the heap is on a GPU: set "
                "NVSHMEMRS_MEMORY=host, or NUMBA_ENABLE_CUDASIM=0"
            )
        _known = (job.runtime, words)
    return _known[1]


def state(word: int) -> int:
    return 1 if word == 7 else _job_words()[word]


def refuse(kind: int, operation: int, pe: int, at: int, nbytes: int) -> None:
    name = NAMES.get(operation, str(operation))
    raise NvshmemInvalid(sentence(kind, name, pe, state(1) >> 32, at, nbytes))


def _thread() -> Any:
    return threading.current_thread()


def block_thread() -> int:
    return int(_thread().thread_id)


def block_threads() -> int:
    return int(np.prod(_thread()._manager._block_dim))


def grid_block() -> int:
    at, (nx, ny, _) = _thread().blockIdx, _thread()._manager._grid_dim
    return int(at.x + nx * (at.y + ny * at.z))


def sync_block() -> None:
    _thread().syncthreads()


def vote_block(vote: bool) -> bool:
    return bool(_thread().syncthreads_or(1 if vote else 0))


class _Group:
    """A barrier of the threads of a warp or a warpgroup, with a vote: whether any thread gave true."""

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition()
        self._threads, self._came, self._turn = threads, 0, 0
        self._vote = self._result = False

    def meet(self, vote: bool) -> bool:
        with self._changed:
            turn = self._turn
            self._vote |= vote
            self._came += 1
            if self._came == self._threads:
                self._result, self._vote, self._came = self._vote, False, 0
                self._turn += 1
                self._changed.notify_all()
            while turn == self._turn:
                self._changed.wait(0.1)
                if _thread().abort:
                    raise RuntimeError("another thread of the block has failed")
            return self._result


_making = threading.Lock()


def _vote(most: int, vote: bool) -> bool:
    """Of the group of up to `most` threads that the calling one is in."""
    me, first = _thread(), block_thread() & -most
    with _making:
        groups = vars(me._manager).setdefault("nvshmemrs_groups", {})
        if (most, first) not in groups:
            groups[most, first] = _Group(min(most, block_threads() - first))
    return bool(groups[most, first].meet(vote))


def vote_warp(vote: bool) -> bool:
    return _vote(32, vote)


def sync_warp() -> None:
    vote_warp(False)


# --- launches -------------------------------------------------------------------------------------

_to_device = _args.InOut.to_device


def _wrap(self: Any, retr: Any, stream: Any = 0) -> Any:
    """Wraps symmetric arrays, where the simulator copies other arrays, and copies them back."""
    value = self.value
    if isinstance(value, np.ndarray) and job.runtime:
        _, base, stride = _job_words()[1:4]
        n = _job_words()[1] >> 32
        if base <= address(value) < base + n * stride:
            if value.size and _place(address(value))[1] == job.my_pe:
                operand(value, "an argument of the kernel")  # raises if it was freed
            return FakeCUDAArray(value.view(np.ndarray))
    return _to_device(self, retr, stream)


_Shared: Any = FakeCUDAShared  # its methods have no types
_shared_array = _Shared.array
_sharing = threading.Lock()


def _share(self: Any, shape: Any, dtype: Any, alignment: Any = None) -> Any:
    """``cuda.shared.array``, by one thread at a time. The simulator looks for the array of a line,
    and then stores a new one, so threads that come together would have an array each. It takes this
    function's line for the program's, so each line of the program has a dictionary of its own."""
    caller = sys._getframe(1)
    with _sharing:
        of_lines = vars(self).setdefault("of_lines", {})
        line = (caller.f_code.co_filename, caller.f_lineno)
        self._allocations = of_lines.setdefault(line, {})
        return _shared_array(self, shape, dtype, alignment)


def install(wrap: Callable[..., Any] = _wrap) -> None:
    """Makes the simulator pass symmetric arrays as they are, by `wrap`, and makes the threads of a
    block share their arrays."""
    _args.InOut.to_device = wrap
    _Shared.array = _share
