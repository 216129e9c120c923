"""Jobs whose PEs are threads of this process: for notebooks, tests and small programs."""

from __future__ import annotations

import atexit
import ctypes
import os
import queue
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._handle import Handle
from . import _device, _job
from ._arguments import integer
from ._job import Job, check, lib
from .init_fini import attributes, end_together
from .interop.numpy import announce_if_checked
from .nvshmem_types import NotSupportedError, NvshmemInvalid, PeDiedError

__all__ = ["LocalJob", "LocalJobError", "local"]


class LocalJobError(RuntimeError):
    """The function passed to ``run`` raised an exception on a PE; that exception is the cause.

    ``pe`` is the first PE that raised, ``errors`` has the exception of each PE.
    """

    def __init__(self, pe: int, errors: Dict[int, BaseException]) -> None:
        error = errors[pe]
        super().__init__(f"PE {pe} raised {type(error).__name__}: {error}")
        self.pe = pe
        self.errors = errors

    def __reduce__(self) -> Any:
        return type(self), (self.pe, self.errors)


class _Task:
    """The task of all PEs, and its results."""

    def __init__(self, body: Callable[["_Pe"], Any]) -> None:
        self.body = body
        self.outcomes: Dict[int, Tuple[Any, Optional[BaseException]]] = {}
        self.news: "queue.SimpleQueue[None]" = queue.SimpleQueue()

    def answer(self, pe: int, result: Any, error: Optional[BaseException]) -> None:
        """Says how it went on a PE; the first answer counts."""
        self.outcomes.setdefault(pe, (result, error))
        self.news.put(None)


class _Pe:
    """A thread that is a PE, as the others see it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.runtime = 0
        self.tasks: "queue.SimpleQueue[Optional[_Task]]" = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, name=f"PE {number}", daemon=True)

    def join(self, job: int) -> None:
        """Joins a job of the library's. Collective; on the thread."""
        _job.become(Job())
        runtime = ctypes.c_uint64()
        _job.interruptible()
        check(lib.nvshmemrs_local_job_join(job, self.number, ctypes.byref(runtime)))
        self.runtime = runtime.value
        _job.joined(runtime.value)

    def _work(self) -> None:
        while True:
            task = None
            try:
                task = self.tasks.get()
                if task is None:
                    return
                self._do(task)
            except BaseException as late:  # Ctrl-C, when the function had returned
                if task is not None:
                    task.answer(self.number, None, late)

    def _do(self, task: _Task) -> None:
        try:
            result = task.body(self)
        except BaseException as error:
            # At once, because the others may wait for this PE.
            _job.leave()
            task.answer(self.number, None, error)
        else:
            task.answer(self.number, result, None)


class LocalJob(Handle):
    """A job whose PEs are threads of this process, made by ``local``.

    ``with`` ends it. It is in order for as long as nothing has been raised on a PE.
    """

    def __init__(
        self,
        n_pes: int,
        heap_bytes: Optional[int],
        timeout: Optional[float],
        init_timeout: Optional[float],
    ) -> None:
        self._pes: List[_Pe] = []
        self._busy = threading.Lock()
        self._process = os.getpid()
        if _job.is_thread():
            raise NvshmemInvalid(
                f"local: this thread is PE {_job.job.my_pe} of a local job, and cannot make another"
            )
        if _device.asked() == "device":
            raise NotSupportedError(
                "local: NVSHMEMRS_MEMORY=device is set, and local jobs in Python are on host memory"
            )
        count = integer(n_pes, "n_pes")
        if not 1 <= count < 2**31:
            raise NvshmemInvalid(f"n_pes={n_pes}: a job has at least one PE")
        announce_if_checked()
        attr = attributes("host", heap_bytes, timeout, init_timeout)
        job = ctypes.c_uint64()
        check(lib.nvshmemrs_local_job_new(count, ctypes.byref(attr), ctypes.byref(job)))
        _job.count_local_jobs(1)
        self._pes = [_Pe(number) for number in range(count)]
        atexit.register(self._end, True)
        try:
            for pe in self._pes:
                pe.thread.start()
            self._all(lambda pe: pe.join(job.value))
        except BaseException:
            self._end(leave=True)
            raise
        finally:
            lib.nvshmemrs_local_job_free(job)

    @property
    def n_pes(self) -> int:
        """How many PEs it has; 0 after its end."""
        return len(self._pes)

    def run(self, function: Callable[[], Any]) -> List[Any]:
        """Calls `function()` on each PE at the same time; returns the results in the PEs' order.

        An error that it raises on a PE ends the job: that PE leaves, so the waits of the others raise
        PeDiedError. When all have ended, LocalJobError says which PE it was. So does Ctrl-C, which
        raises KeyboardInterrupt on all PEs and here.
        """
        if _job.is_thread():
            raise NvshmemInvalid(
                f"run: this thread is PE {_job.job.my_pe}, which is inside of run already"
            )
        if not callable(function):
            raise NvshmemInvalid(f"run takes a function, not {function!r}")
        if not self._busy.acquire(blocking=False):
            raise NvshmemInvalid("run: another thread is inside of run with this job")
        try:
            if not self._pes:
                raise NvshmemInvalid("run: this job has ended: make another with local()")
            try:
                return self._all(lambda pe: function())
            except BaseException:
                self._end(leave=True)
                raise
        finally:
            self._busy.release()

    def close(self) -> None:
        """Ends the job: finalizes on all PEs, and raises their errors."""
        if not self._busy.acquire(blocking=False):
            raise NvshmemInvalid("close: another thread is inside of run with this job")
        try:
            self._end(leave=False)
        finally:
            self._busy.release()

    def __enter__(self) -> "LocalJob":
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._end(leave=True)

    def __repr__(self) -> str:
        return f"<LocalJob of {self.n_pes} PEs>" if self._pes else "<LocalJob, ended>"

    def _all(self, body: Callable[[_Pe], Any]) -> List[Any]:
        """Has all threads call `body`; their results."""
        task = _Task(body)
        for pe in self._pes:
            pe.tasks.put(task)
        interrupt: Optional[BaseException] = None
        while len(task.outcomes) < len(self._pes):
            try:
                # With a limit: news that came with a signal may be lost.
                task.news.get(timeout=1)
            except queue.Empty:
                pass
            except BaseException as raised:  # by a signal handler, such as Ctrl-C
                if interrupt is not None:
                    raise  # the second one does not wait for the threads any more
                interrupt = raised
                for pe in self._pes:
                    if pe.number not in task.outcomes:
                        _interrupt(pe)
        if interrupt is not None:
            raise interrupt
        errors = {pe: error for pe, (_, error) in task.outcomes.items() if error is not None}
        if errors:
            # The first error that is not a consequence of another PE's end.
            causes = [pe for pe, error in errors.items() if not isinstance(error, PeDiedError)]
            first = (causes or list(errors))[0]
            raise LocalJobError(first, errors) from errors[first]
        return [task.outcomes[pe.number][0] for pe in self._pes]

    def _end(self, leave: bool) -> None:
        if not self._pes or self._process != os.getpid():
            return
        pes = self._pes
        try:
            if leave:
                for pe in pes:
                    # A thread may be busy; its waits end.
                    if pe.runtime in _job.live:
                        lib.nvshmemrs_leave(pe.runtime)
            else:
                self._all(lambda pe: end_together())
        except LocalJobError as error:
            raise error.errors[error.pe] from None
        finally:
            self._pes = []
            forget = _Task(lambda pe: _job.leave())
            for pe in pes:
                pe.tasks.put(forget)
                pe.tasks.put(None)
            end = time.monotonic() + 2
            for pe in pes:
                if pe.thread.ident is not None:
                    pe.thread.join(max(0.0, end - time.monotonic()))
            _job.count_local_jobs(-1)
            atexit.unregister(self._end)


def _interrupt(pe: _Pe) -> None:
    """Ends a PE's wait, now and later, and its Python computation."""
    if pe.runtime in _job.live:
        lib.nvshmemrs_interrupt(pe.runtime)
    if pe.thread.ident is not None:
        ident = ctypes.c_ulong(pe.thread.ident)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(KeyboardInterrupt))


def local(
    n_pes: int,
    *,
    heap_bytes: Optional[int] = None,
    timeout: Optional[float] = None,
    init_timeout: Optional[float] = None,
) -> LocalJob:
    """Makes a job of `n_pes` PEs that are threads of this process, also in a notebook::

        with nvshmem.local(4) as job:
            results = job.run(f)

    ``f()`` runs on each PE and may call everything but ``init`` and ``finalize``; what the PEs have
    allocated stays from one ``run`` to the next. Only these threads are PEs: others of the process
    raise NotInitializedError. The symmetric heap is host memory. The arguments by name are those of
    ``init``. Local.
    """
    return LocalJob(n_pes, heap_bytes, timeout, init_timeout)
