"""Streams and events: ordered queues of operations, and marks in them.

Every operation takes ``stream=``. With None it is done when the call returns. With a ``Stream`` the
call returns at once, and the operation runs after all that was queued before it; arrays and Buffers
that it uses are kept until it has run, but their contents must stay as they are. What goes wrong in
the queue is raised by the next ``synchronize``. Functions that return a value wait for it. Arrays that
a graph uses are the program's to keep.

With the heap on a GPU, ``stream`` may also be a stream of torch, CuPy or cuda.core, anything with
``__cuda_stream__``, or the number of a ``cudaStream_t``, which must then exist until ``finalize``;
and None first waits for the work on the current streams of torch and CuPy, where they are in use. Such
a stream keeps no array alive: the program must keep pinned memory, and tensors of another stream,
until the stream has run the operation.
"""

from __future__ import annotations

import collections
import ctypes
import operator
import sys
import threading
from typing import Any, Callable, Deque, Dict, List, Optional, Set, Tuple

from .. import _ffi
from .._handle import Handle
from . import _device, _job
from ._arguments import a_kind
from ._job import abandoned, adopted, check, job, lent, lib
from .nvshmem_types import NotSupportedError, NvshmemError, NvshmemInvalid

__all__ = ["Event", "Stream"]

_UNFINISHED = (int(_ffi.Status.INTERRUPTED), int(_ffi.Status.TIMEOUT))
# So many operations' arrays are kept before an event marks the place where they can go.
_BATCH = 256
# Streams whose close was interrupted: their queues may still run, and use the arrays they hold.
_unfinished: List[Any] = []


class Event(Handle):
    """A mark in a stream, to wait for and to measure time with. All methods are local."""

    __slots__ = ("_handle", "_runtime")

    def __init__(self) -> None:
        self._handle = 0
        self._runtime = job.runtime
        self._handle = _made(lib.nvshmemrs_event_new)

    def record(self, stream: Any) -> None:
        """Queues the mark: it is reached when all queued before is done. A later call moves it."""
        if stream is None:
            raise NvshmemInvalid("stream is None: an event is recorded in a stream")
        check(lib.nvshmemrs_event_record(self._live(), handle_of(stream)))

    def wait(self, stream: Any = None) -> None:
        """Makes `stream` wait until the latest record is reached; with None, the caller waits.

        An event without a record delays no stream.
        """
        if stream is None:
            self.synchronize()
        else:
            check(lib.nvshmemrs_stream_wait_event(handle_of(stream), self._live()))

    def synchronize(self) -> None:
        """Waits until the latest record is reached."""
        check(lib.nvshmemrs_event_synchronize(self._live()))

    sync = synchronize

    def query(self) -> bool:
        """Whether the latest record is reached."""
        done = ctypes.c_int32()
        check(lib.nvshmemrs_event_query(self._live(), done))
        return bool(done.value)

    @property
    def is_done(self) -> bool:
        """``query()``, as cuda.core names it."""
        return self.query()

    def elapsed(self, end: "Event") -> float:
        """Milliseconds from this event to `end`; NvshmemInvalid unless both are reached."""
        if not isinstance(end, Event):
            raise NvshmemInvalid(f"end is {a_kind(end)}: pass an Event")
        milliseconds = ctypes.c_double()
        check(lib.nvshmemrs_event_elapsed(self._live(), end._live(), milliseconds))
        return milliseconds.value

    def __sub__(self, start: "Event") -> float:
        """Milliseconds from `start` to this event, as cuda.core has it."""
        if not isinstance(start, Event):
            return NotImplemented
        return start.elapsed(self)

    def _live(self) -> int:
        if self._runtime != job.runtime:
            raise NvshmemInvalid("this event belongs to a job that was finalized: make a new one")
        return self._handle

    def __del__(self, free: Callable[[int], int] = lib.nvshmemrs_event_free) -> None:
        if self._handle and not job.is_forked():
            free(self._handle)


class Stream(Handle):
    """An ordered queue of operations of this PE, run by a separate thread; with the heap on a GPU,
    a CUDA stream.

    ``with`` waits for the queued operations and closes it. ``finalize`` waits for all streams. All methods
    are local.
    """

    __slots__ = ("_handle", "_parameter", "_runtime", "_held", "_batches", "_lock", "in_flight")

    def __init__(self) -> None:
        self._handle = 0
        self._runtime = job.runtime
        # Arrays of queued operations: the newest, and older batches with an event behind each. An
        # operation is queued before its arrays are added, so a taker of the list waits for it, too.
        self._held: List[Any] = []
        self._batches: Deque[Tuple[Event, List[Any]]] = collections.deque()
        # Arrays of non-blocking operations, held until a later quiet has run.
        self.in_flight: Dict[int, Any] = {}
        # Reentrant, because a finaliser that the interpreter runs meanwhile may queue something.
        self._lock = threading.RLock()
        _close_idle()
        self._parameter = ctypes.c_uint64()  # the handle, as functions from `bare` take it
        check(lib.nvshmemrs_stream_new(job.runtime, self._parameter))
        self._handle = self._parameter.value

    @property
    def handle(self) -> int:
        """The library's number for it; 0 once it is closed."""
        return self._handle if self._runtime == job.runtime else 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        """Version 0 of the protocol and the cudaStream_t, for torch, CuPy and cuda.core;
        NotSupportedError on host memory.
        """
        raw = ctypes.c_void_p()
        check(lib.nvshmemrs_stream_cuda(self.live_handle(), raw))
        return (0, raw.value or 0)

    def synchronize(self) -> None:
        """Waits until all that is queued has run; raises the first error among it, which is then
        forgotten.
        """
        handle = self.live_handle()
        with self._lock:
            held, self._held = self._held, []
            batches, self._batches = self._batches, collections.deque()
        status = lib.nvshmemrs_stream_synchronize(handle)
        if status in _UNFINISHED:  # it may run still
            with self._lock:
                self._held.append(held)  # as a whole: another thread may have it in its hands still
                self._batches.extendleft(reversed(batches))
        else:
            self._hand_over()
        check(status)

    sync = synchronize

    def _hand_over(self) -> None:
        """Leaves the arrays of non-blocking operations in flight to the next ``quiet``."""
        while self.in_flight:
            job.in_flight.update([self.in_flight.popitem()])

    def query(self) -> bool:
        """Whether nothing is queued or running."""
        done = ctypes.c_int32()
        check(lib.nvshmemrs_stream_query(self.live_handle(), done))
        return bool(done.value)

    def record(self, event: Optional[Event] = None) -> Event:
        """Records `event`, or a new event, behind the queued operations, and returns it."""
        if event is None:
            event = Event()
        elif not isinstance(event, Event):
            raise NvshmemInvalid(f"event is {a_kind(event)}: pass an Event")
        event.record(self)
        return event

    def wait(self, event_or_stream: Any) -> None:
        """Makes operations queued later wait for an event, or for the operations now queued in
        another stream.
        """
        event = event_or_stream
        if not isinstance(event, Event):
            if isinstance(event, Stream) or (job.device >= 0 and event is not None):
                event, stream = Event(), event
                event.record(stream)
            else:
                raise NvshmemInvalid(f"a stream waits for an Event or a Stream, not {event!r}")
        event.wait(self)
        hold(self, event)

    def close(self) -> None:
        """Waits for the queued operations and ends the queue; raises the first remaining error."""
        if self.handle:
            handle, self._handle = self._handle, 0
            status = lib.nvshmemrs_stream_free(handle)
            if status in _UNFINISHED:
                # Includes arrays that another thread has queued and is about to add.
                _unfinished.append(self)
            else:
                self._held, self._batches = [], collections.deque()
                self._hand_over()
            check(status)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        # After an exception the queue may wait for ever; it is closed once it is idle.
        if kind is None:
            self.close()

    def live_handle(self) -> ctypes.c_uint64:
        """The handle; NvshmemInvalid if the stream is gone."""
        if not self._handle:
            raise NvshmemInvalid("this stream was closed: make a new one")
        if self._runtime != job.runtime:
            raise NvshmemInvalid("this stream belongs to a job that was finalized: make a new one")
        return self._parameter

    def end_batch(self) -> None:
        """Records events behind held arrays, and releases arrays whose events have been reached."""
        with self._lock:
            if len(self._held) < _BATCH:  # another thread was faster
                return
            batch, self._held = self._held, []
            try:
                # Behind every operation of the batch: each was queued before it came in here.
                event = Event()
                event.record(self)
            except BaseException:
                self._held.append(batch)
                raise
            self._batches.append((event, batch))
            while self._batches and _is_over(self._batches[0][0]):
                self._batches.popleft()

    def discard(self) -> None:
        """Forgets a queue that finalize has ended. Never waits."""
        handle, self._handle = self._handle, 0
        lib.nvshmemrs_stream_free(handle)

    def __del__(self) -> None:
        # It must not wait, and queued operations use the held arrays: they stay until it is idle.
        if not self._handle or job.is_forked():
            return
        if self._runtime in _job.live:
            abandoned.append(self)
        else:
            self.discard()

    def __repr__(self) -> str:
        return f"<Stream {self.handle:#x}>" if self.handle else "<Stream, closed>"


def _is_over(event: Event) -> bool:
    try:
        return event.query()
    except NvshmemError:
        # Recorded during a capture: the launch of the graph, and so the event, is unknown.
        return False


def _made(function: Callable[..., int]) -> int:
    handle = ctypes.c_uint64()
    check(function(job.runtime, handle))
    return handle.value


def _close_idle() -> None:
    """Closes streams without references and without queued operations."""
    for stream in abandoned[:]:
        if stream._runtime == job.runtime and stream.query():
            abandoned.remove(stream)
            stream._hand_over()
            stream.discard()


# --- for the other modules of this package --------------------------------------------------------


def handle_of(stream: Any) -> ctypes.c_uint64:
    """The handle for an operation on `stream`, in place of the runtime's."""
    kind = type(stream)
    if kind is Stream:
        if stream._handle and stream._runtime == job.runtime:
            return stream._parameter  # type: ignore[no-any-return]
        return stream.live_handle()  # type: ignore[no-any-return]
    if stream is None:
        if job.device >= 0:
            _join_current()
        return job.handle
    known = _KINDS.get(kind)
    if known is not None:
        handle = adopted.get(known(stream))
        if handle is not None:
            return handle
    if isinstance(stream, Stream):
        return stream.live_handle()
    if job.device < 0:
        raise NotSupportedError(
            f"stream={stream!r}: the symmetric heap is host memory, which takes no stream of CUDA "
            "or another library; make one with nvshmem.Stream(), or leave stream None"
        )
    raw = _raw(stream)
    return adopted.get(raw) or _adopt(raw, stream)


def hold(stream: Any, used: Any) -> None:
    """Keeps the arrays of an operation that was just queued. A stream of another library keeps
    none: that library orders its own memory by its streams, memory of the heap is freed by a
    collective, the driver copies pageable host memory, and the program keeps the rest.
    """
    if isinstance(stream, Stream):
        held = stream._held
        held.append(used)
        if len(held) >= _BATCH:
            stream.end_batch()


def hold_until_quiet(stream: Any, used: Tuple[Any, ...]) -> None:
    """Keeps the arrays of a non-blocking operation until a later quiet. Called before the
    operation, and again after it, because another thread's quiet may have come in between.
    """
    place = _place(stream)
    if place is not None:
        for one in used:
            place.in_flight[id(one)] = one


def completed(stream: Any, function: Callable[..., int], *arguments: Any) -> int:
    """Calls a function that completes non-blocking operations, and releases their arrays; returns
    the library's status.
    """
    place = _place(stream)
    if place is None:
        return function(*arguments)
    # Another thread may begin an operation meanwhile, which this does not complete.
    in_flight, place.in_flight = place.in_flight, {}
    status = function(*arguments)
    if status:
        place.in_flight.update(in_flight)
    elif place is not job:
        hold(stream, in_flight)
    return status


def release_all() -> None:
    """Releases memory that the program has dropped, and arrays of non-blocking operations, before a
    collective that completes these. An error here is repeated by the collective.
    """
    if job.in_flight:
        completed(None, lib.nvshmemrs_quiet, handle_of(None))
    _job.release_dropped()


def _place(stream: Any) -> Any:
    """The holder of arrays of a stream's non-blocking operations; None for a foreign stream."""
    if stream is None:
        return job
    return stream if isinstance(stream, Stream) else None


def queue(stream: Any, used: Any, function: Callable[..., int], *arguments: Any) -> int:
    """Queues an operation that uses the memory of `used`; returns the library's status."""
    status = function(handle_of(stream), *arguments)
    if not status:
        hold(stream, used)
    return status


def synchronize(stream: Any) -> None:
    """Waits for a stream of any kind."""
    if isinstance(stream, Stream):
        stream.synchronize()
    else:
        check(lib.nvshmemrs_stream_synchronize(handle_of(stream)))


# The attribute with the cudaStream_t, for each type of stream seen so far.
_KINDS: Dict[type, Callable[[Any], Any]] = {}


def _raw(stream: Any) -> int:
    """The cudaStream_t of a stream."""
    tells: Callable[[Any], Any]
    if hasattr(stream, "cuda_stream"):  # torch
        tells = operator.attrgetter("cuda_stream")
    elif hasattr(stream, "__cuda_stream__"):  # cuda.core
        tells = _of_cuda_core
    elif hasattr(stream, "ptr"):  # CuPy
        tells = operator.attrgetter("ptr")
    else:
        tells = _number
    try:
        number = operator.index(tells(stream))
        _KINDS[type(stream)] = tells
    except TypeError:
        number = -1
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(
            f"stream={stream!r}: give a stream of torch, CuPy or cuda.core, an nvshmem.Stream, "
            "an object with __cuda_stream__, the number of a cudaStream_t, or None"
        )
    return number


def _of_cuda_core(stream: Any) -> Any:
    return stream.__cuda_stream__()[1]


def _number(stream: Any) -> int:
    if isinstance(stream, bool):
        raise TypeError
    return operator.index(stream)


def _adopt(raw: int, stream: Any) -> ctypes.c_uint64:
    """A handle for a stream of CUDA. The stream is kept until its handle is released."""
    _release_unused()
    handle = ctypes.c_uint64()
    check(lib.nvshmemrs_stream_from_cuda(job.runtime, raw, handle))
    adopted[raw] = handle
    # torch's own streams last as long as the process, though their objects come and go; those that
    # are numbers are kept by the caller.
    torchs = hasattr(stream, "cuda_stream") and type(stream).__name__ == "Stream"
    if raw and not torchs and not hasattr(stream, "__index__"):
        lent[raw] = stream
    return handle


def _release_unused() -> None:
    """Releases streams without other references. Never waits.

    A weak reference would be too late: the library marks what is on a stream when it is released,
    and by then a stream with ``__del__`` has destroyed itself.
    """
    for raw in list(lent):
        # One reference is the table's, one the call's.
        if sys.getrefcount(lent[raw]) <= 2:
            lib.nvshmemrs_stream_release(adopted.pop(raw, 0))
            del lent[raw]


def adopt_current() -> Set[int]:
    """The handles of the array libraries' current streams. ``finalize`` waits for all handles."""
    if job.device < 0:
        return set()
    return {handle_of(stream).value for stream in _device.current_streams(job.device)}


def _join_current() -> None:
    """Waits for prior work on the array libraries' current streams."""
    if _dropped or _job.dropped.get(job.runtime):
        _job.release_dropped()
    for handle in adopt_current():
        check(lib.nvshmemrs_stream_synchronize(handle))


# Allocations that were dropped, and events behind the work on CUDA streams at that time.
_dropped: Deque[Tuple[int, List[Event], List[int]]] = collections.deque()


def _unused(addresses: List[int]) -> List[int]:
    """Which of the allocations that were dropped no stream of CUDA uses any more: these, if nothing
    is on the streams, and earlier ones. Never waits.
    """
    if addresses:
        events = _behind_all()
        if events is None:
            _job.dropped[job.runtime].extend(addresses)
        else:
            _dropped.append((job.runtime, events, addresses))
    ready: List[int] = []
    while _dropped:
        runtime, events, dropped = _dropped[0]
        if runtime == job.runtime:
            if not all(event.query() for event in events):
                break
            ready += dropped
        _dropped.popleft()
    return ready


def _behind_all() -> Optional[List[Event]]:
    """Events behind the work on the CUDA streams in use; None if they cannot be recorded, as while
    a stream is captured into a graph.
    """
    events = []
    for handle in adopt_current().union(handle.value for handle in adopted.values()):
        done = ctypes.c_int32()
        if lib.nvshmemrs_stream_query(handle, done):
            return None
        if not done.value:
            event = Event()
            check(lib.nvshmemrs_event_record(event._handle, handle))
            events.append(event)
    return events


_job.unused = _unused
