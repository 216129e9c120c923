"""Arguments that must not be taken for each other: numbers, members of enums, switches, teams.

A member of an enum of this package is no number: where a value, a count or a PE is wanted, it shows
that two arguments have changed places. A program's own IntEnum is a number like any other.
"""

from __future__ import annotations

import enum
import math
import numbers
import operator
from typing import Any, Dict, NoReturn, Tuple, Type

import numpy as np

from ._job import unsupported
from .nvshmem_types import TEAM_MC_SHARED, NvshmemInvalid, Teams

_PACKAGE = __name__.partition(".")[0]
_LARGEST_PE = 2**31
_INVALID_TEAM = 2**64 - 1
# Members of `Teams` that no operation takes as a team.
_NO_TEAMS = ("TEAM_INVALID", "TEAM_MC_SHARED", "TEAMS_MIN", "TEAM_INDEX_MAX")
_BOOLS = (bool, np.bool_)


def is_member(value: Any) -> bool:
    """Whether this is a member of an enum of this package."""
    return isinstance(value, enum.Enum) and type(value).__module__.partition(".")[0] == _PACKAGE


def shown(value: Any) -> str:
    """A value in an error message, as a program writes it."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (int, float, str, np.generic)):
        return repr(value)
    return a_kind(value)


def a_kind(value: Any) -> str:
    """The type of a value with its article, for messages: "an int", "a Buffer"."""
    name = type(value).__name__
    article = "an" if name == "ndarray" or name[:1].lower() in "aeio" else "a"
    return f"{article} {name}"


def is_masked(value: Any) -> bool:
    """Whether this is an array of NumPy's ``ma``, or another with a mask: its memory holds values
    that the array does not have.
    """
    return isinstance(value, np.ndarray) and hasattr(type(value), "mask")


def refuse_masked(value: Any, name: str) -> None:
    """Raises for an array with a mask."""
    if is_masked(value):
        raise NvshmemInvalid(
            f"{name} is a masked array, and operations know no masks: pass {name}.filled(...), or "
            f"np.asarray({name}) for the memory behind the mask"
        )


def refuse_member(value: Any, name: str, call: str = "") -> None:
    """Raises if a member of an enum of this package stands where a number is wanted, or a value
    that is masked.
    """
    refuse_masked(value, name)
    if is_member(value):
        right = f". Call {call}" if call else ""
        raise NvshmemInvalid(f"{name} is {shown(value)}: it must be a number{right}")


def wrong_member(
    kind: Type[enum.IntEnum], member: Any, value: Any, name: str, call: str
) -> NoReturn:
    """Raises for two arguments, of which one must be a member of `kind` and one a number.

    `call` is the right call; {member} and {value} stand for the two. They become what was passed,
    wherever it was passed.
    """
    right, number = member, value
    if type(member) is not kind:
        right = value if type(value) is kind else _member_of(kind, member)
    if not _is_number(value):
        number = member if _is_number(member) and type(value) is kind else 1
    what, wanted = (
        (f"the value beside {name} is {shown(value)}", "a number")
        if type(member) is kind
        else (f"{name} is {shown(member)}", a_kind(right))
    )
    text = call.format(member=shown(right), value=shown(number))
    raise NvshmemInvalid(f"{what}: it must be {wanted}. Call {text}")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, enum.Enum)


def _member_of(kind: Type[enum.IntEnum], number: Any) -> enum.IntEnum:
    """The member with this number, else the first one."""
    if _is_number(number) and number in list(kind):
        return kind(number)
    return next(iter(kind))


def integer(value: Any, name: str) -> int:
    """An integer that counts or names something. A bool is none."""
    if type(value) is int:
        return value
    if isinstance(value, _BOOLS):
        raise NvshmemInvalid(f"{name} is {value}: it must be an integer, which a bool is not here")
    refuse_member(value, name)
    try:
        return operator.index(value)
    except TypeError:
        raise NvshmemInvalid(f"{name}={shown(value)}: it must be an integer") from None


def whole(value: Any, name: str) -> int:
    """An integer for an element: a bool is 0 or 1, as NumPy has it."""
    return int(value) if isinstance(value, _BOOLS) else integer(value, name)


def check_shape(shape: Any) -> Tuple[int, ...]:
    """A shape as a tuple of integers."""
    kind = type(shape)  # no type checker narrows `shape` by it
    if kind is int and shape >= 0:
        return (shape,)
    try:
        if isinstance(shape, (str, bytes)):
            raise TypeError
        sides = shape if hasattr(shape, "__iter__") else (shape,)
        dims = tuple(integer(side, "shape") for side in sides)
    except (TypeError, NvshmemInvalid):
        dims = (-1,)
    if any(n < 0 for n in dims):
        raise NvshmemInvalid(
            f"shape={shape!r}: it must be an integer or a tuple of integers, none negative"
        )
    return dims


def switch(value: Any, name: str) -> bool:
    """A boolean option."""
    if not isinstance(value, _BOOLS):
        raise NvshmemInvalid(f"{name} is {shown(value)}: it must be True or False")
    return bool(value)


def duration(value: Any, name: str) -> float:
    """A positive number of seconds."""
    if isinstance(value, (numbers.Real, np.number)) and not isinstance(value, (bool, enum.Enum)):
        seconds = float(value)
        if 0 < seconds < math.inf:
            return seconds
    raise NvshmemInvalid(f"{name}={shown(value)}: it must be a positive number of seconds")


def c_int(value: Any, name: str) -> int:
    """An int32 argument that the library checks further."""
    number = value if type(value) is int else integer(value, name)
    if not -(2**31) <= number < 2**31:
        raise NvshmemInvalid(f"{name}={value}: out of range")
    return number


def bits(value: Any, kind: Type[enum.IntFlag], name: str) -> int:
    """Bits of a flag: members of `kind`, or their number, as nvshmem.core takes it."""
    return int(value) if type(value) is kind else integer(value, name)


def pe_of(remote_pe: Any, pe: Any, name: str = "remote_pe") -> int:
    """The PE number; `pe` is another spelling of `remote_pe`. The library checks its range."""
    if type(remote_pe) is int and pe is None and -_LARGEST_PE <= remote_pe < _LARGEST_PE:
        return remote_pe
    if remote_pe is None:
        if pe is None:
            raise NvshmemInvalid(f"{name} is missing: say which PE, 0 to n_pes() - 1")
        remote_pe = pe
    elif pe is not None:
        raise NvshmemInvalid(f"{name}={remote_pe!r} and pe={pe!r}: give one of them")
    number = integer(remote_pe, name)
    if not -_LARGEST_PE <= number < _LARGEST_PE:
        raise NvshmemInvalid(f"{name}={remote_pe}: no job has a PE of that number")
    return number


def teams() -> Dict[str, int]:
    """The teams that a PE may be a member of, by name."""
    return {name: team for name, team in Teams.items() if name not in _NO_TEAMS}


def team_names() -> str:
    """Their names, for an error."""
    return ", ".join(teams())


def team_of(value: Any) -> int:
    """A team's handle, from its handle or its name."""
    if type(value) is int and 0 <= value < 2**64 and value != TEAM_MC_SHARED:
        return value
    if isinstance(value, str):
        try:
            value = Teams[value]
        except KeyError:
            raise NvshmemInvalid(f"team={value!r}: the teams are {team_names()}") from None
    elif value is None:
        raise NvshmemInvalid(
            "team is None, which a PE gets for a team that it is no member of: only members call"
        )
    elif isinstance(value, np.ndarray) or not hasattr(value, "__index__"):
        raise NvshmemInvalid(
            f"team is {shown(value)}: it must be a team's number or its name, such as "
            '"TEAM_WORLD", and is the first argument'
        )
    number = integer(value, "team")
    if number == -1:
        return _INVALID_TEAM
    if number == TEAM_MC_SHARED:
        raise unsupported("TEAM_MC_SHARED")
    if not 0 <= number < 2**64:
        raise NvshmemInvalid(f"team={value}: no team has that handle")
    return number


def queried_team(value: Any) -> int:
    """As `team_of`; None, which non-members get, is TEAM_INVALID."""
    return _INVALID_TEAM if value is None else team_of(value)
