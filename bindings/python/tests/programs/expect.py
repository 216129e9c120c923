"""Calls that must fail, for the programs of this folder."""

from __future__ import annotations

from typing import Any, Callable, Tuple, Type, Union


def raises(
    kind: Union[Type[BaseException], Tuple[Type[BaseException], ...]],
    words: str,
    call: Callable[..., object],
    *arguments: Any,
    **named: Any,
) -> None:
    """The call must raise an error of this kind with these words in its text."""
    try:
        call(*arguments, **named)
    except kind as error:
        assert words in str(error), (words, error)
    else:
        raise AssertionError(f"no error with {words!r}")
