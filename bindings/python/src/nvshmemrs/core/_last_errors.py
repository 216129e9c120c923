"""Exchanges the exceptions that end the PEs of a host, so that equal tracebacks are printed once,
and the first error of the job is printed last.

Each PE has a file in memory, which the others find in /proc as long as it lives. A PE that an
exception ends appends a record to the files of all others, and then reads its own. So of two PEs at
least one knows of the other, under any launcher. Without /proc each PE prints its own traceback.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from types import TracebackType
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, Type

_NAME = "nvshmemrs-errors"
# The core's name for the memory that the PEs of a host share.
_JOB = "nvshmemrs-job"
# The most characters of a summary.
_MOST = 500
_NOWHERE = "none"
# Nothing that a terminal or a pipe would notice.
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Record(NamedTuple):
    """An exception that ended a PE. `output` is the file of its standard error, or nothing."""

    time: int
    pe: int
    digest: str
    summary: str
    output: str


_file = -1


def open_file() -> None:
    """Makes the file in which other PEs write records."""
    global _file
    if _file < 0:
        try:
            _file = os.memfd_create(_NAME, os.MFD_CLOEXEC)
        except (AttributeError, OSError):
            return


def close_file() -> None:
    """This process is no PE any more."""
    global _file
    if _file >= 0:
        os.close(_file)
    _file = -1


def told(
    pe: int, kind: Type[BaseException], error: BaseException, shown: Optional[TracebackType]
) -> Tuple[bool, str]:
    """Tells the other PEs of an exception that ends this one: whether its traceback should be printed,
    and a line to print behind it, or nothing. The traceback is printed even if this fails.
    """
    if _file < 0:
        return True, ""
    try:
        return _told(pe, kind, error, shown)
    except Exception:
        return True, ""


def _told(
    pe: int, kind: Type[BaseException], error: BaseException, shown: Optional[TracebackType]
) -> Tuple[bool, str]:
    # Programs that end well need neither.
    import hashlib
    import traceback

    lines = traceback.format_exception(kind, error, shown)
    text = re.sub(rf"\bPE {pe}\b|\bpid {os.getpid()}\b", "itself", "".join(lines))
    summary = traceback.format_exception_only(kind, error)[-1].strip()[:_MOST]
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    own = _tell(pe, digest, summary, _output())
    before = sorted(record for record in _read() if record < own and record.pe != pe)
    if not before:
        return True, ""
    first = before[0]
    line = f"The first error of the job was PE {first.pe}'s: {first.summary}"
    for record in before if own.output != _NOWHERE else []:
        if (record.digest, record.output) == (digest, own.output):
            same = f"PE {pe}: the same traceback as PE {record.pe}'s"
            return False, same if record is first else f"{same}. {line}"
    return True, line


def _output() -> str:
    """The file or the terminal that standard error is; nothing for a pipe, which a launcher reads. It
    may be an object of the program's, too.
    """
    try:
        found = os.fstat(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return _NOWHERE
    if stat.S_ISCHR(found.st_mode):  # or /dev/null
        return f"tty {found.st_rdev}"
    return f"{found.st_dev}:{found.st_ino}" if stat.S_ISREG(found.st_mode) else ""


def _is_named(file: int, name: str) -> bool:
    """Whether an open file is a file in memory of that name. A PE may have closed a file that it was
    seen to have, and have opened another one by the same number before it was opened here.
    """
    return os.readlink(f"/proc/self/fd/{file}") == f"/memfd:{name} (deleted)"


def _files(pid: str, name: str) -> List[str]:
    """The files in memory of that name that a process has open."""
    folder = f"/proc/{pid}/fd"
    found = []
    for number in os.listdir(folder):
        path = f"{folder}/{number}"
        try:
            if os.readlink(path) == f"/memfd:{name} (deleted)":
                found.append(path)
        except OSError:
            continue  # closed since
    return found


def _jobs(pid: str) -> Set[Tuple[int, int]]:
    """The jobs that a process is in, by the shared memory of their PEs."""
    return {(found.st_dev, found.st_ino) for found in map(os.stat, _files(pid, _JOB))}


def _others() -> Iterator[str]:
    """The files of the other PEs of this host."""
    own = _jobs("self")
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            files = _files(pid, _NAME)
            if files and own & _jobs(pid):
                yield from files
        except OSError:
            continue  # another user's, or ended since


def _tell(pe: int, *more: str) -> Record:
    """Writes a record of this PE to the files of the others, and returns it."""
    import json

    # A PE that tells of an error itself has the files of the others open for a moment.
    opened: Dict[Tuple[int, int], int] = {}
    with contextlib.ExitStack() as stack:
        for path in _others():
            with contextlib.suppress(OSError):
                file = os.open(path, _APPEND)
                stack.callback(os.close, file)
                if _is_named(file, _NAME):
                    found = os.fstat(file)
                    opened[found.st_dev, found.st_ino] = file
        # As late as possible: the later of two PEs should know the earlier one.
        record = Record(time.monotonic_ns(), pe, *more)
        line = json.dumps(record).encode() + b"\n"
        for file in opened.values():
            os.write(file, line)
    return record


def _read() -> List[Record]:
    import json

    whole = os.pread(_file, os.fstat(_file).st_size, 0)
    parsed: List[Any] = [json.loads(line) for line in whole.splitlines()]
    return [Record(*values) for values in parsed]
