# mypy: ignore-errors
"""Constants of functions for kernels, and arguments that must not be taken for each other: these are
looked at while a kernel is compiled.
"""

import triton.language as tl

from ..._arguments import is_member
from ...direct import ComparisonType
from ...nvshmem_types import NvshmemInvalid
from ...rma import SignalOp
from .._members import SUPPORTED


class Constant(int):
    """The number of a member of an enum, which is no number elsewhere. Triton makes names of its
    text, so that is the number's.
    """


def constant(member):
    """A member of an enum, for kernels."""
    number = Constant(member)
    number.member = member
    return tl.constexpr(number)


def _plain(value):
    """The value of a constexpr."""
    return getattr(value, "value", value) if isinstance(value, tl.constexpr) else value


def _member(value):
    """The member of an enum that was passed, or None."""
    value = _plain(value)
    return getattr(value, "member", None) if isinstance(value, Constant) else value if is_member(value) else None


def expect_number(value, name, call=""):
    """Raises for a member of an enum where a number belongs. `call` is the right call."""
    found = _member(value)
    if found is not None:
        right = f". Call {_plain(call)}" if call else ""
        raise NvshmemInvalid(f"{_plain(name)} is {found.name}: {_plain(name)} must be a number{right}")


def _expect_member(value, kind, name, call):
    """Raises for anything else than a member of the enum `kind`, or its number."""
    found, known = _member(value), SUPPORTED[kind]
    if found is not None:
        good, text = type(found) is kind and found in known, found.name
    else:
        text = _plain(value)
        good = isinstance(text, int) and not isinstance(text, bool) and text in known
    if not good:
        names = [member.name for member in known]
        wanted = f"{', '.join(names[:-1])} or {names[-1]}"
        raise NvshmemInvalid(f"{name} is {text}: {name} must be {wanted}. Call {_plain(call)}")


def expect_comparison(CMP, value, call):
    """Raises unless CMP is a comparison and `value` a number."""
    _expect_member(CMP, ComparisonType, "CMP", call)
    expect_number(value, "value", call)


def expect_update(value, pe, OP, call):
    """Raises unless OP is an operation of a signal and the others are numbers."""
    expect_number(value, "value", call)
    expect_number(pe, "pe", call)
    _expect_member(OP, SignalOp, "OP", call)


# As Triton's own functions, which the compiler calls.
for _function in (expect_number, expect_comparison, expect_update):
    _function.__triton_builtin__ = True
