"""Reprs of the values, which uniffi does not write: each field, and lists of values by their length."""

from __future__ import annotations

import enum
from typing import Any

#: Longer texts are cut, and longer lists are counted.
_TEXT = 60
_LIST = 8


def _words(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return str(value)
    if isinstance(value, str) and len(value) > _TEXT:
        return repr(value[: _TEXT - 3] + "...")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list) and value:
        plain = all(isinstance(item, (int, str, list)) for item in value)
        if plain and len(value) <= _LIST:
            return "[" + ", ".join(map(_words, value)) + "]"
        return f"<{len(value)} x {type(value[0]).__name__}>"
    return repr(value)


def _record(self: Any) -> str:
    fields = ", ".join(f"{name}={_words(value)}" for name, value in vars(self).items())
    return f"{type(self).__name__}({fields})"


def _job(self: Any) -> str:
    return f"Job(n_pes={self.n_pes()})"


def give_reprs(records: list[type], job: type) -> None:
    """Give the classes a repr, and the same text as ``str``."""
    for kind, text in ({record: _record for record in records} | {job: _job}).items():
        for name in ("__repr__", "__str__"):
            setattr(kind, name, text)
