"""This process's membership in the job: the runtime handle, and errors and callbacks of the library.

Nothing here runs a collective implicitly: not when an array is collected, not at exit.
"""

from __future__ import annotations

import atexit
import collections
import concurrent.futures.thread  # noqa: F401  (see _end_waits)
import ctypes
import operator
import os
import re
import sys
import threading
import weakref
from types import TracebackType
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Generator,
    List,
    NoReturn,
    Optional,
    Set,
    Tuple,
    Type,
)

from .. import _ffi
from .._handle import Handle
from . import _extension, _last_errors, _sites
from ._traceback import hidden_frames
from .nvshmem_types import (
    NotSupportedError,
    Teams,
    TeamsOfProcess,
    TeamsOfThread,
    error_of,
    name_teams_of_thread,
)

lib = _ffi.lib
_NOT_INITIALIZED = int(_ffi.Status.NOT_INITIALIZED)
_FORKED = int(_ffi.Status.FORKED)
_INTERRUPTED = int(_ffi.Status.INTERRUPTED)
_PEER_ARGUMENT = int(_ffi.Status.PEER_ARGUMENT)
_MISMATCH = int(_ffi.Status.MISMATCH)

# Sizes and addresses that every member's library refuses; see `fail_together`.
NO_SIZE = 2**64 - 1
NO_ADDRESS = 1


def bare(name: str) -> Callable[..., int]:
    """A function of the library without argument conversion, which halves the time of a call.
    Arguments are results of `from_param` of their C types, instances of these types, and int32
    numbers. Any other number would lose its upper half.
    """
    function: Callable[..., int] = lib[name]
    return function


class Mapping(Handle):
    """Keeps the heap's memory in this process: the job and every Buffer refer to it, so an array
    that outlives finalize accesses unused memory, and does not crash.
    """

    __slots__ = ("_handle",)

    def __init__(self, runtime: int) -> None:
        self._handle = 0
        handle = ctypes.c_uint64()
        check(lib.nvshmemrs_heap_keep(runtime, ctypes.byref(handle)))
        self._handle = handle.value

    def __del__(self, drop: Callable[[int], int] = lib.nvshmemrs_heap_drop) -> None:
        # An interpreter that ends has taken `job` away before some objects.
        if job is not None and not job.is_forked():
            drop(self._handle)


class Job:
    """This process's one runtime; 0 is none, which the library answers with NOT_INITIALIZED.

    `device` is the number of the GPU whose memory holds the heap, -1 on host memory. `handle` is
    `runtime` as `bare` functions take it. `direct` is what an operation without a stream is called
    with, None where `streams.handle_of` has to be asked. `in_flight` is what non-blocking operations
    use until ``quiet``, by id. `again` says how often ``init`` was called again, and ``finalize``
    was not; `origin` what the first ``init`` got as the job, and `identity` the unique id, PE
    and number of PEs by which it joined, if it did so.
    """

    __slots__ = (
        "runtime",
        "handle",
        "direct",
        "device",
        "pid",
        "mapping",
        "my_pe",
        "in_flight",
        "again",
        "origin",
        "identity",
    )

    def __init__(self) -> None:
        self.runtime = 0
        self.handle = ctypes.c_uint64()
        self.direct: Optional[ctypes.c_uint64] = None
        self.device = -1
        self.pid = 0
        self.my_pe = -1
        self.mapping: Optional[Mapping] = None
        self.in_flight: Dict[int, Any] = {}
        self.again = 0
        self.origin: Tuple[Any, ...] = ()
        self.identity: Optional[Tuple[Any, int, int]] = None

    def is_forked(self) -> bool:
        """Whether this process is a child of the one that joined, hence no PE."""
        return os.getpid() != self.pid


job = Job()


class _Mine(threading.local):
    """The job of a thread that is a PE of a local job."""

    job: Optional[Job] = None


_mine = _Mine()


def is_thread() -> bool:
    """Whether this thread is a PE of a local job."""
    return _mine.job is not None


def _of_thread(name: str) -> Any:
    slot = vars(Job)[name]

    def get(self: Job) -> Any:
        return slot.__get__(_mine.job or self)

    def put(self: Job, value: Any) -> None:
        slot.__set__(_mine.job or self, value)

    return property(get, put)


class _JobOfThread(Job):
    """The type of `job` while there are local jobs: each of their threads has its own state."""

    __slots__ = ()


for _name in Job.__slots__:
    if _name != "pid":  # which all threads share
        setattr(_JobOfThread, _name, _of_thread(_name))


class Sizes(Dict[int, int]):
    """Cached numbers."""

    __slots__ = ()


class _NoSizes(Sizes):
    """A handle means different teams to different threads, so nothing is cached."""

    __slots__ = ()

    def __setitem__(self, team: int, size: int) -> None:
        pass


_local_jobs = 0
_changing = threading.Lock()


def count_local_jobs(more: int) -> None:
    """Records that a local job begins (1) or has ended (-1). Without one, the job is looked up
    without the thread.
    """
    global _local_jobs
    with _changing:
        _local_jobs += more
        there = _local_jobs > 0
        job.__class__ = _JobOfThread if there else Job
        team_sizes.__class__ = _NoSizes if there else Sizes
        Teams.__class__ = TeamsOfThread if there else TeamsOfProcess
        team_sizes.clear()
        _tell_extension()


def _tell_extension() -> None:
    """Tells the extension the runtime of plain calls: the process's, if no thread has another runtime."""
    _extension.set_runtime(job.runtime if job.direct and not _local_jobs else 0)


def become(made: Job) -> None:
    """Makes the calling thread a PE of a local job, which `joined` then describes."""
    name_teams_of_thread()
    _mine.job = made


# The runtimes of this process that have not ended.
live: Set[int] = set()



class _Operands(Dict[int, Any]):
    """Properties of arrays used before, by id; see _operand. Cleared when memory is freed."""

    __slots__ = ()

    def clear(self) -> None:
        super().clear()
        _extension.forget()


operands = _Operands()

# Objects that keep registered buffers mapped, by symmetric address; see memory.
external: Dict[int, Any] = {}

# Streams that lost their last reference while they had work; see streams.
abandoned: List[Any] = []

# The handles of streams of CUDA that were used, by cudaStream_t; see streams.
adopted: Dict[int, ctypes.c_uint64] = {}

# Those among them that their libraries destroy with the last reference; see streams.
lent: Dict[int, Any] = {}

# The numbers of members of the teams used before, by handle; see collective.
team_sizes = Sizes()

# Buffers by runtime and address. Arrays of other libraries than NumPy have no other way to theirs.
buffers: Dict[Tuple[int, int], "weakref.ref[Any]"] = {}

# Allocations that this PE has released, by runtime and address. All PEs free them together, when
# all have released them; see _internal_tracking.
released: Set[Tuple[int, int]] = set()

# By runtime, the addresses of allocations whose last reference was dropped, and which CUDA streams
# may still use; `release_dropped` releases them once no stream uses them any more.
dropped: Dict[int, Deque[int]] = {}


# Notes, under the checker, memory that other libraries get unwatched; `_watch` sets it.
hand_out: Optional[Callable[[int, int], None]] = None

# Selects the dropped allocations that no CUDA stream uses any more; streams sets it.
unused: Callable[[List[int]], List[int]] = list


def forget_freed() -> None:
    """Removes freed allocations from `released`."""
    there = ctypes.c_int32()
    for runtime, address in list(released):
        status = lib.nvshmemrs_is_symmetric(runtime, address, 1, there)
        if status or not there.value:
            released.discard((runtime, address))


def drop(runtime: int, address: int, device: int) -> None:
    """Releases an allocation whose last reference was dropped. It may be called anywhere, also by a
    finaliser inside a wait: the library's function never waits, and calls no callback.
    """
    if runtime not in live:
        return
    released.add((runtime, address))
    if len(released) % 1024 == 0:
        forget_freed()
    if device >= 0:
        dropped[runtime].append(address)
        return
    known = buffers.get((runtime, address))
    if known is not None and known() is None:
        buffers.pop((runtime, address), None)
    lib.nvshmemrs_release(runtime, address)  # no caller could receive an error


def release_dropped() -> None:
    """Releases GPU memory that the garbage collector has dropped, once no stream uses it."""
    if job.device < 0:
        return
    waiting = dropped.get(job.runtime)
    addresses = []
    while waiting:
        try:
            addresses.append(waiting.popleft())
        except IndexError:  # another thread has released it
            break
    for address in addresses:
        buffers.pop((job.runtime, address), None)
    for address in unused(addresses):
        check(lib.nvshmemrs_release(job.runtime, address))


def check(status: int) -> None:
    """Raises the exception for a status that is not success."""
    if status:
        raise_status(status)


def last_error() -> str:
    """The library's text for the last failed call of this thread, in Python's names."""
    text: bytes = lib.nvshmemrs_last_error_in(_ffi.Language.PYTHON)
    return text.decode("utf-8", "replace")


# Another PE's text about arguments that Python has replaced: see `fail_together`.
_REJECTED = re.compile(
    r"^(in `\w+`: )(?:(PE \d+) reports: argument (?:`op` is 0;|`dst` is 0x0;|`src` is 0x0;|`array` "
    rf"is {NO_ADDRESS:#x};).*|(PE \d+) has `size` {NO_SIZE}, but .*|PE \d+ has .* but (PE \d+) has "
    rf"`size` {NO_SIZE}.*)$"
)


def _without_rejected(message: str) -> str:
    """A message about another PE's arguments, without the values by which it has rejected them."""
    found = _REJECTED.match(message)
    if found is None:
        return message
    pe = found[2] or found[3] or found[4]
    return f"{found[1]}{pe} has an argument that must not be; the error of {pe} says which"


def raise_status(status: int) -> NoReturn:
    """Raises the exception for a failed call of this thread."""
    if status == _INTERRUPTED:
        message = last_error()
        caught = _watcher.caught
        if _ended and not caught and threading.current_thread() is not threading.main_thread():
            raise SystemExit(message)  # ends the thread, and prints nothing
        error = caught.pop() if caught else KeyboardInterrupt()
        if _watcher.handed_over:
            _watcher.handed_over = False
            lib.nvshmemrs_interrupt_clear(job.runtime)
        if type(error) is KeyboardInterrupt and not error.args:
            error.args = (message,)  # the wait of this PE
        raise error
    if status == _NOT_INITIALIZED and not job.runtime:
        message = "this process is not a PE: call init first"
        if _local_jobs:
            message = "this thread is no PE: the PEs of a local job are the threads that run() uses"
            raise error_of(status, message)
        if job.pid:
            message = (
                "this process is not a PE any more, after finalize or leave; call init to join a job again"
            )
    else:
        message = last_error()
        if status in (_PEER_ARGUMENT, _MISMATCH):
            message = _without_rejected(message)
    raise error_of(status, message)


def fail_together(
    error: Exception, function: Callable[..., int], *rejected: Any, runtime: Any = 0
) -> NoReturn:
    """Raises `error`, found before a collective, without stranding the other members.

    `function` is the collective and `rejected` are arguments that the library does not accept: it
    tells the other members, whose calls raise too. `runtime` is the handle of a stream, if the
    collective would have been queued on one.
    """
    status = function(runtime or job.runtime, *rejected)
    if status in (_NOT_INITIALIZED, _FORKED, _INTERRUPTED):
        raise_status(status)
    raise error


def unsupported(what: str, instead: str = "") -> NotSupportedError:
    """The error for a function that only GPUs have, and that this version lacks there, too."""
    if job.device >= 0:
        return NotSupportedError(f"{what} is not offered by this version of nvshmemrs")
    hint = f"; {instead}" if instead else ""
    return NotSupportedError(f"{what} needs a GPU, and the symmetric heap is host memory{hint}")


# --- Ctrl-C ---------------------------------------------------------------------------------------
#
# A long wait calls `_hook`, which gives Python the chance to run its signal handlers. Python runs
# them at the first instruction of a function, before any `try` in it. So the hook resumes a
# generator that is inside its `try` already: an exception of a handler is kept, the wait ends with
# INTERRUPTED, and `raise_status` raises it. Each thread has its own generator; only the main
# thread's ever runs a handler. Waits of other threads do not call `_hook`: Python ends a daemon
# thread that comes back to it after the interpreter's end, in the middle of the library's wait.


def _watch(caught: List[BaseException]) -> Generator[int, object, None]:
    answer = 0
    while True:
        try:
            yield answer
            answer = 0
        except GeneratorExit:
            return
        except BaseException as error:  # raised by a signal handler
            caught.append(error)
            answer = 1


class _Watcher(threading.local):
    def __init__(self) -> None:
        self.caught: List[BaseException] = []
        self.handed_over = False  # whether a part of it waits for the next call that waits
        watch = _watch(self.caught)
        next(watch)
        self.poll = watch.send


_watcher = _Watcher()


def hand_over(error: BaseException) -> None:
    """Keeps an exception of a signal handler that could not be raised, for this PE's next wait."""
    _watcher.caught.append(error)
    _watcher.handed_over = True
    lib.nvshmemrs_interrupt(job.runtime)


_sites.interrupted = hand_over
_hook = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.py_object)(operator.methodcaller("poll", None))


def interruptible() -> None:
    """Lets Ctrl-C end this thread's init, and the waits of the runtime that it returns."""
    _watcher.caught.clear()  # and makes this thread's generator, before a wait needs it
    own: Any = None if threading.current_thread().daemon else _hook
    hook = ctypes.cast(own, _ffi.InterruptHook)
    check(lib.nvshmemrs_init_interrupt_hook(hook, id(_watcher)))


def joined(runtime: int) -> None:
    """Makes `runtime` the job of this process, or of this thread of a local job."""
    live.add(runtime)
    dropped[runtime] = collections.deque()
    job.runtime = runtime
    job.handle = ctypes.c_uint64(runtime)
    device = ctypes.c_int32(-1)
    check(lib.nvshmemrs_device(runtime, device))
    job.device = device.value
    job.direct = job.handle if job.device < 0 else None
    _tell_extension()
    job.pid = os.getpid()
    check(lib.nvshmemrs_site_hook_in(runtime, _sites.hook, None, _ffi.Language.PYTHON))
    hook = ctypes.cast(_hook, _ffi.InterruptHook)
    main = threading.main_thread().native_id
    check(lib.nvshmemrs_interrupt_hook_on(runtime, main, hook, id(_watcher)))
    job.mapping = Mapping(runtime)
    number = ctypes.c_int32()
    check(lib.nvshmemrs_my_pe(runtime, number))
    job.my_pe = number.value
    if not is_thread():
        _last_errors.open_file()
    # Once: a hook that another package has put before ours since then calls ours.
    if not _excepthooks:
        _excepthooks.append(sys.excepthook)
        sys.excepthook = _leave_after


def left() -> None:
    """Forgets the runtime; every array, stream and team of it is unusable from now on."""
    runtime = job.runtime
    live.discard(runtime)
    job.runtime = 0
    job.handle = ctypes.c_uint64()
    job.direct = None
    _tell_extension()
    job.device = -1
    job.mapping = None
    job.my_pe = -1
    if not is_thread():
        _last_errors.close_file()
    job.in_flight = {}
    job.again = 0
    job.origin = ()
    job.identity = None
    if not is_thread():  # which uses no streams of CUDA; the process may be a PE on a GPU, too
        while adopted:
            lib.nvshmemrs_stream_release(adopted.popitem()[1])
        lent.clear()
    for place in [place for place in list(buffers) if place[0] == runtime]:
        buffers.pop(place, None)
    released.difference_update([place for place in list(released) if place[0] == runtime])
    team_sizes.clear()
    operands.clear()
    dropped.pop(runtime, None)
    for address, (_, made) in list(external.items()):
        if made._runtime == runtime:
            external.pop(address, None)
    for stream in abandoned[:]:
        if stream._runtime == runtime:
            abandoned.remove(stream)
            stream.discard()
    Teams.reset()


def leave() -> None:
    """Leaves the job at once without waiting: the other PEs' waits raise PeDiedError."""
    runtime = job.runtime
    if runtime and not job.is_forked():
        # First: streams that nobody refers to any more may wait for other PEs, and it ends them.
        lib.nvshmemrs_leave(runtime)
        left()


# A program that ends without finalize must not hang in a collective.
atexit.register(leave)

# Whether the interpreter ends. The main thread may still wait then, in functions of `atexit`.
_ended = False


def _end_waits() -> None:
    """Ends the waits of all threads, now and later: the interpreter would wait for the threads."""
    global _ended
    if job.is_forked():
        return
    _ended = True
    atexit.register(_let_wait)  # called first of all that are registered
    for runtime in list(live):
        lib.nvshmemrs_interrupt(runtime)


def _let_wait() -> None:
    """Lets the main thread wait again, for functions that the program has given to `atexit`."""
    for runtime in list(live):
        lib.nvshmemrs_interrupt_clear(runtime)


# `concurrent.futures` waits for the threads of its pools there. What is registered last is called
# first, so that import comes before.
threading._register_atexit(_end_waits)  # type: ignore[attr-defined]

# The previous exception hooks.
_excepthooks: List[Callable[..., object]] = []


def _leave_after(
    kind: Type[BaseException], error: BaseException, traceback: Optional[TracebackType]
) -> None:
    """Reports an exception that ends the program, and leaves: before Python waits for threads,
    which may be inside a collective.
    """
    try:
        with hidden_frames(error, traceback) as shown:
            known = job.runtime and not job.is_forked()
            whole, line = _last_errors.told(job.my_pe, kind, error, shown) if known else (True, "")
            if whole:
                _excepthooks[0](kind, error, shown)
            if line and sys.stderr is not None:
                sys.stderr.write(f"{line}\n")
    finally:
        # At the interactive prompt an exception ends nothing.
        if not (hasattr(sys, "ps1") or sys.flags.interactive):
            leave()
