"""Arguments of kernels' functions, checked when a kernel is compiled."""

from __future__ import annotations

from typing import Any, Tuple

from ...direct import ComparisonType
from ...nvshmem_types import NvshmemInvalid
from ...rma import SignalOp
from ._frontend import cute, cutlass

Int32, Uint64 = cutlass.Int32, cutlass.Uint64

INTEGERS = (
    cutlass.Int8,
    cutlass.Int16,
    cutlass.Int32,
    cutlass.Int64,
    cutlass.Uint8,
    cutlass.Uint16,
    cutlass.Uint32,
    cutlass.Uint64,
)
FLOATS = (
    cutlass.Float16,
    cutlass.BFloat16,
    cutlass.Float32,
    cutlass.Float64,
    cutlass.Float8E4M3FN,
    cutlass.Float8E5M2,
)
TYPES = INTEGERS + FLOATS
"""Types of elements."""


def names(kinds: Any) -> str:
    """The names of types."""
    return ", ".join(kind.__name__ for kind in kinds)


def tensor(
    value: Any, name: str, caller: str, kinds: Any = TYPES, strided: bool = False
) -> Any:
    """A tensor in global memory whose elements follow each other, as far as that is known now."""
    if not isinstance(value, cute.Tensor):
        raise NvshmemInvalid(
            f"{caller}: {name} must be a cute.Tensor, not {type(value).__name__}"
        )
    if value.element_type not in kinds:
        raise NvshmemInvalid(
            f"{caller}: {name} has elements of {value.element_type.__name__}; it takes "
            f"{names(kinds)}"
        )
    if value.memspace not in (cute.AddressSpace.gmem, cute.AddressSpace.generic):
        raise NvshmemInvalid(
            f"{caller}: {name} is in memory {value.memspace}; it must be in global memory"
        )
    layout = value.layout
    if not strided and cute.is_static(layout) and cute.cosize(layout) != cute.size(layout):
        raise NvshmemInvalid(
            f"{caller}: {name} has the layout {layout}, in which elements do not follow each "
            "other: pass parts that do, one after the other"
        )
    return value


def pair(dst: Any, src: Any, caller: str, kinds: Any = TYPES) -> Any:
    """Two tensors of one type, which is returned."""
    tensor(dst, "dst", caller, kinds)
    tensor(src, "src", caller, kinds)
    if dst.element_type is not src.element_type:
        raise NvshmemInvalid(
            f"{caller}: dst has elements of {dst.element_type.__name__} and src of "
            f"{src.element_type.__name__}; they must be the same"
        )
    return dst.element_type


def size_of(tensor: Any) -> Any:
    """How many elements a tensor has: a number of Python's, if that is known now."""
    return cute.size(tensor)


def smaller(one: Any, other: Any) -> Any:
    """The smaller of two numbers of elements."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return cutlass.min(Uint64(one), Uint64(other))


def not_larger(one: Any, other: Any, what: str, caller: str) -> Any:
    """Raises if it is known now that `one` is larger; else whether it is not."""
    if isinstance(one, int) and isinstance(other, int):
        if one > other:
            raise NvshmemInvalid(f"{caller}: {what}: {one} elements are more than {other}")
        return None
    return Uint64(one) <= Uint64(other)


def target(pe: Any, caller: str) -> Any:
    """The number of a PE."""
    if isinstance(pe, bool) or not isinstance(pe, (int, cutlass.Integer)):
        raise NvshmemInvalid(f"{caller}: pe must be an integer, not {type(pe).__name__}")
    if isinstance(pe, int) and not 0 <= pe < 2**31:
        raise NvshmemInvalid(f"{caller}: pe={pe}: PEs have numbers from 0")
    return Int32(pe)


def team_handle(team: Any, caller: str) -> Any:
    """The handle of a team."""
    if isinstance(team, bool) or not isinstance(team, (int, cutlass.Integer)):
        raise NvshmemInvalid(
            f"{caller}: team must be the number of a team, not {type(team).__name__}"
        )
    if isinstance(team, int):
        if not 0 <= team < 2**64:
            raise NvshmemInvalid(f"{caller}: team={team}: that is no team")
        return Uint64(team)
    # A handle of 32 bits has no generation; it must not become negative.
    return Uint64(team if team.width == 64 else cutlass.Uint32(team))


def slot_number(slot: Any, caller: str) -> Any:
    """Which of a team's slots a call uses."""
    if isinstance(slot, bool) or not isinstance(slot, (int, cutlass.Integer)):
        raise NvshmemInvalid(f"{caller}: slot must be an integer, not {type(slot).__name__}")
    if isinstance(slot, int) and not 0 <= slot < 2**31:
        raise NvshmemInvalid(f"{caller}: slot={slot}: slots have numbers from 0")
    return cutlass.Uint32(slot)


def signal(value: Any, caller: str) -> Any:
    """A signal: a tensor whose first element has 64 bits."""
    return tensor(value, "signal_var", caller, (cutlass.Uint64, cutlass.Int64))


def chosen(value: Any, kinds: Tuple[Any, ...], name: str, caller: str) -> Any:
    """One of an enumeration's members, by number, if that is known now; else a number."""
    if isinstance(value, cutlass.Integer):
        return Int32(value)
    if isinstance(value, bool) or not isinstance(value, int) or value not in tuple(map(int, kinds)):
        shown = ", ".join(kind.name for kind in kinds)
        raise NvshmemInvalid(f"{caller}: {name}={value!r}: give one of {shown}")
    return int(value)


SIGNAL_OPS = (SignalOp.SIGNAL_SET, SignalOp.SIGNAL_ADD)
COMPARISONS = tuple(ComparisonType)[:6]
