"""Tracebacks that end a program: without the frames inside this package, which say nothing of the
program's mistake.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType
from typing import Generator, Iterator, List, Optional

_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def _outside(traceback: Optional[TracebackType]) -> Optional[TracebackType]:
    """The traceback without frames of the package. A loop, because a traceback may be as deep as
    the interpreter's stack.
    """
    frames: List[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(traceback)
        traceback = traceback.tb_next
    outside: Optional[TracebackType] = None
    for at in reversed(frames):
        outside = TracebackType(outside, at.tb_frame, at.tb_lasti, at.tb_lineno)
    return outside


def _chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    """The exception, and the exceptions that are printed with it."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@contextlib.contextmanager
def hidden_frames(
    error: BaseException, traceback: Optional[TracebackType]
) -> Generator[Optional[TracebackType], None, None]:
    """Removes the package's frames from the tracebacks of `error` and of its causes while the block
    runs, and returns the remaining part of `traceback`. A traceback of such frames alone is kept.
    With ``NVSHMEM_DEBUG`` set to INFO or TRACE all frames are kept.
    """
    if os.environ.get("NVSHMEM_DEBUG", "").upper() not in ("", "WARN"):
        yield traceback
        return
    whole = [(part, part.__traceback__) for part in _chain(error)]
    for part, all_frames in whole:
        part.__traceback__ = _outside(all_frames) or all_frames
    try:
        yield _outside(traceback) or traceback
    finally:
        for part, all_frames in whole:
            part.__traceback__ = all_frames
