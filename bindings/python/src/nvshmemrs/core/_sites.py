"""Names the line of the program that calls, for the reports of the checker and of allocations.

The library asks for it on each call while one of the two is on. Otherwise it asks once in a long
wait of the main thread, for reports of a job that stands still.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from types import CodeType
from typing import Callable, Dict, Optional, Tuple

from .. import _ffi

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
skipped: Tuple[str, ...] = (PACKAGE,)
"""How the names of files begin that are no places; `_watch` adds NumPy."""
_texts: Dict[Tuple[CodeType, int], bytes] = {}

try:
    _HERE = os.getcwd() + os.sep
except OSError:  # the folder is gone
    _HERE = ""

interrupted: Callable[[BaseException], None]
"""Receives exceptions of signal handlers that run during a hook; `_job` sets it."""


def _text(code: CodeType, line: int) -> bytes:
    name = code.co_filename
    if _HERE and name.startswith(_HERE):
        name = name[len(_HERE) :]
    function = "" if code.co_name == "<module>" else f" ({code.co_name})"
    return f"{name}:{line}{function}".encode("utf-8", "replace") + b"\0"


def _find() -> Optional[bytes]:
    """The line of the program that calls."""
    frame = sys._getframe().f_back
    while frame is not None and frame.f_code.co_filename.startswith(skipped):
        frame = frame.f_back
    if frame is None:
        return None
    key = (frame.f_code, frame.f_lineno)
    text = _texts.get(key)
    if text is None:
        text = _texts[key] = _text(*key)
    return text


class _Here(threading.local):
    """Whether calls of this thread come from one line, and that line once it is known."""

    keeps = False
    text: Optional[bytes] = None


here = _Here()


def _place(user: Optional[int], address: Optional[int], out: int, size: int) -> int:
    # No exception may cross the library, and an exception of a signal handler must not get lost.
    try:
        text = here.text or _find()
        if here.keeps:
            here.text = text
        if text is None or len(text) > size:
            return 1
        ctypes.memmove(out, text, len(text))
        return 0
    except BaseException as error:
        interrupted(error)  # noqa: F821 - the module of jobs sets it
        return 1


hook = _ffi.SiteHook(_place)
"""The hook that the library calls."""
