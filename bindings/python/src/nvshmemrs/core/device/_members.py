"""Where calls of kernels' functions take members of enums. A member at another place shows that two
arguments have changed places: the host's functions take the value first, kernels the comparison.
"""

from __future__ import annotations

import enum
import functools
import inspect
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Type

import numpy as np

from .._arguments import a_kind, is_member, shown
from ..direct import ComparisonType, SmemAmount
from ..nvshmem_types import NvshmemInvalid
from ..rma import SignalOp

__all__ = ["SUPPORTED", "Members", "guard"]

SUPPORTED: Dict[Any, Tuple[enum.IntEnum, ...]] = {
    ComparisonType: tuple(ComparisonType)[:6],
    SignalOp: (SignalOp.SIGNAL_SET, SignalOp.SIGNAL_ADD),
    SmemAmount: tuple(SmemAmount),
}
"""The members of an enum that kernels' functions take."""

_PLACES: Dict[str, Type[enum.IntEnum]] = {
    "cmp": ComparisonType,
    "flag": SmemAmount,
    "sig_op": SignalOp,
    "signal_op": SignalOp,
}


class Members:
    """The parameters of a function, and which of them are members of which enum."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = function.__name__
        self.parameters = tuple(inspect.signature(function).parameters)
        self.kinds = {name: _PLACES[name] for name in self.parameters if name in _PLACES}
        if self.name == "signal_wait":
            self.kinds["signal_op"] = ComparisonType

    def bound(self, args: Any, named: Dict[str, Any]) -> Iterator[Tuple[str, Any]]:
        """Arguments with the names of their parameters."""
        yield from zip(self.parameters, args)
        yield from named.items()

    def refusal(self, name: str, kind: Any, number: Optional[int], text: str) -> str:
        """The error of an argument that is a member of the enum `kind`, or else a `number`, if it
        is known; the empty string if there is none. `text` is the argument as messages show it.
        """
        wanted = self.kinds.get(name)
        if kind is not None:
            good = kind is wanted
        else:
            good = number is None or wanted is None or number in SUPPORTED[wanted]
        if good:
            return ""
        must = "a number" if wanted is None else f"a {wanted.__name__}"
        call = ", ".join(
            f"{one}: {self.kinds[one].__name__}" if one in self.kinds else one
            for one in self.parameters
        )
        return f"{self.name}: {name} is {text}, and it must be {must}. Call {self.name}({call})"

    def expect_values(self, args: Any, named: Dict[str, Any]) -> None:
        """Raises for the first wrong argument of a call whose values are known, as far as they are."""
        for name, value in self.bound(args, named):
            kind = type(value) if is_member(value) else None
            number = int(value) if isinstance(value, (int, np.integer)) else None
            wrong = self.refusal(name, kind, number, shown(value))
            if wrong:
                raise NvshmemInvalid(wrong)

    def refusal_of_types(self, args: Any, named: Dict[str, Any], types: Any) -> str:
        """The error of the first argument whose type is that of a wrong enum. `types` are Numba's."""
        for name, like in self.bound(args, named):
            kind: Any = getattr(like, "instance_class", None)
            if isinstance(like, types.EnumMember) and is_member(next(iter(kind))):
                found = self.refusal(name, kind, None, a_kind(next(iter(kind))))
                if found:
                    return found
        return ""

    def refusal_of_literals(self, args: Any, named: Dict[str, Any], types: Any) -> str:
        """The error of the first literal that is no number of the enum at its place."""
        for name, like in self.bound(args, named):
            if isinstance(like, types.IntegerLiteral):
                number = like.literal_value
                found = self.refusal(name, None, number, str(number))
                if found:
                    return found
        return ""


def guard(module: Dict[str, Any]) -> None:
    """Makes the public functions of a module refuse members of enums at wrong places."""

    def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
        members = Members(function)

        @functools.wraps(function)
        def call(*args: Any, **named: Any) -> Any:
            members.expect_values(args, named)
            return function(*args, **named)

        return call

    for name in module["__all__"]:
        if inspect.isfunction(module[name]):
            module[name] = guarded(module[name])
