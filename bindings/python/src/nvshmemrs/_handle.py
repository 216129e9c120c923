"""The base of objects that name something of this process: memory, streams, jobs."""

from __future__ import annotations

from typing import Any, Dict, NoReturn, TypeVar

_Self = TypeVar("_Self", bound="Handle")


class Handle:
    """A second object for the same memory or queue would end it twice: ``copy.copy``,
    ``copy.deepcopy`` and what uses them, such as ``dataclasses.asdict``, give the same object.
    It cannot be pickled, because it means nothing to another process or to a later job.
    """

    __slots__ = ()

    _instead = "pickle its description, and make a new one where it is needed"
    """Called in place of pickling."""

    def __copy__(self: _Self) -> _Self:
        return self

    def __deepcopy__(self: _Self, _: Dict[int, Any]) -> _Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"cannot pickle {type(self).__name__!r} object: it belongs to this process and its job; "
            f"{self._instead}"
        )
