"""The operations: each a call of XLA's, with a token as its first operand and its first result."""

from __future__ import annotations

import math
from typing import Any, Dict, NamedTuple, Tuple, Union

import numpy as np

from ...._ffi import Collective
from ..._arguments import a_kind, integer, pe_of, team_of
from ..._dtypes import element_code
from ..._operand import signal_value
from ...collective import Op, team_size
from ...direct import ComparisonType, n_pes
from ...nvshmem_types import NvshmemInvalid
from ...rma import SignalOp
from .._common import private_bytes
from . import _setup
from ._array import SymmetricArray, check_width, is_of_jax, symmetric

Team = Union[int, str]


class Shift(NamedTuple):
    """A PE by its distance from the caller; made by ``shift``."""

    distance: int


Pe = Union[int, Shift]

# As `enum operation` of bindings/jax/src/calls.c has them.
_OPERATIONS = {
    name: number
    for number, name in enumerate(
        "reduce reducescatter fcollect alltoall broadcast barrier quiet put get put_signal "
        "signal_wait kernel".split()
    )
}
_ALIGNMENT = 256
# Of truth values, whose elements are bytes of 0 and 1.
_OF_BOOLS = {"sum": Op.OR, "max": Op.OR, "or": Op.OR, "prod": Op.AND, "min": Op.AND, "and": Op.AND}


def token() -> Any:
    """The first token. A program has one, and passes on the token that each operation returns.

    Local. Operations that do not pass a token on have no order, which on the host is an error.
    """
    jax = _setup.import_jax()
    return jax.numpy.zeros((1,), jax.numpy.uint32)


def shift(distance: int) -> Shift:
    """The PE `distance` behind the caller in the order of PEs, which goes round: with n PEs,
    ``(my_pe() + distance) % n``. Programs that use it are the same on every PE, as
    ``jax.distributed`` requires on GPUs.

    Local.
    """
    return Shift(integer(distance, "distance") % n_pes())


def all_reduce(x: Any, token: Any, op: Any = "sum", team: Team = "TEAM_WORLD") -> Tuple[Any, Any]:
    """Combines `x` of every member, element by element: the result, and the next token.

    Collective over `team` with the same shape, dtype and `op`: "sum", "prod", "min", "max", "and",
    "or", "xor" or an ``Op``. The result has the same bits on every member. OpenSHMEM 1.5 section
    9.9.9.
    """
    check_operand(x)
    dtype, number = _element_type(x, op)
    result = _like(x, x.shape)
    return _collective("reduce", x, result, token, team, count=x.size, dtype=dtype, op=number)


def reduce_scatter(
    x: Any, token: Any, op: Any = "sum", team: Team = "TEAM_WORLD"
) -> Tuple[Any, Any]:
    """As ``all_reduce``, but each member keeps its part: the first axis of `x` has a part of one
    length for every member, in team order.

    Collective over `team`. NVSHMEM `nvshmem_<type>_<op>_reducescatter`.
    """
    check_operand(x)
    dtype, number = _element_type(x, op)
    shape = (_parts(x, team), *x.shape[1:])
    result = _like(x, shape)
    count = math.prod(shape)
    return _collective("reducescatter", x, result, token, team, count=count, dtype=dtype, op=number)


def all_gather(x: Any, token: Any, team: Team = "TEAM_WORLD") -> Tuple[Any, Any]:
    """`x` of all members, in team order, along a new first axis.

    Collective over `team` with the same shape and dtype. OpenSHMEM 1.5 section 9.9.8.
    """
    check_operand(x)
    members = team_size(team_of(team))
    return _collective("fcollect", x, _like(x, (members, *x.shape)), token, team)


def all_to_all(x: Any, token: Any, team: Team = "TEAM_WORLD") -> Tuple[Any, Any]:
    """Sends part j of `x` to member j; the result has part i from member i. Parts have one length
    and lie along the first axis.

    Collective over `team` with the same shape and dtype. OpenSHMEM 1.5 section 9.9.5.
    """
    check_operand(x)
    part = _parts(x, team) * math.prod(x.shape[1:]) * x.dtype.itemsize
    return _collective("alltoall", x, _like(x, x.shape), token, team, count=part)


def broadcast(x: Any, token: Any, root: int = 0, team: Team = "TEAM_WORLD") -> Tuple[Any, Any]:
    """`x` of the member with team number `root`, on every member.

    Collective over `team` with the same shape, dtype and `root`. OpenSHMEM 1.5 section 9.9.7.
    """
    check_operand(x)
    members, number = team_size(team_of(team)), integer(root, "root")
    if not 0 <= number < members:
        raise NvshmemInvalid(f"root={root}: the team has members 0 to {members - 1}")
    return _collective("broadcast", x, _like(x, x.shape), token, team, root=number)


def barrier(token: Any, team: Team = "TEAM_WORLD") -> Any:
    """Meets all members, and completes what they have put: the next token.

    Collective over `team`. OpenSHMEM 1.5 section 9.9.1.
    """
    return call("barrier", token, team=team_of(team))[0]


def quiet(token: Any) -> Any:
    """Completes this PE's puts: the next token. One-sided. OpenSHMEM 1.5 section 9.11.2."""
    return call("quiet", token)[0]


def put(dst: SymmetricArray, x: Any, pe: Pe, token: Any) -> Any:
    """Copies `x` to `dst` on PE `pe`; complete there after ``quiet`` or ``barrier``. The next token.

    One-sided. OpenSHMEM 1.5 section 9.6.1.
    """
    return call("put", token, x, dest=_dest(dst, x), **_pe(pe))[0]


def get(src: SymmetricArray, pe: Pe, token: Any) -> Tuple[Any, Any]:
    """The contents of `src` on PE `pe`, as a new array, and the next token.

    One-sided. OpenSHMEM 1.5 section 9.6.1.
    """
    result = _result_of(src)
    return call("get", token, result=result, source=offset(src), **_pe(pe))[::-1]


def load(src: SymmetricArray, token: Any) -> Tuple[Any, Any]:
    """The contents of this PE's `src`, as a new array, and the next token. Local."""
    return get(src, shift(0), token)


def store(dst: SymmetricArray, x: Any, token: Any) -> Any:
    """Writes `x` to this PE's own `dst`; the next token. Local."""
    return put(dst, x, shift(0), token)


def put_signal(
    dst: SymmetricArray,
    x: Any,
    signal: SymmetricArray,
    value: int,
    pe: Pe,
    token: Any,
    signal_op: SignalOp = SignalOp.SIGNAL_SET,
) -> Any:
    """Copies `x` to `dst` on PE `pe`, then updates the signal there: a PE that sees the signal
    sees the data. Returns the next token.

    One-sided. `signal` is a SymmetricArray of one uint64. OpenSHMEM 1.5 section 9.8.3.
    """
    if type(signal_op) is not SignalOp:
        raise NvshmemInvalid(f"signal_op is {a_kind(signal_op)}: it must be a SignalOp")
    numbers = {"dest": _dest(dst, x), "signal": _signal(signal), **_pe(pe)}
    number = signal_value(value, "value").value
    return call("put_signal", token, x, **numbers, value=number, signal_op=int(signal_op))[0]


def signal_wait(
    signal: SymmetricArray,
    value: int,
    token: Any,
    cmp: ComparisonType = ComparisonType.CMP_GE,
) -> Any:
    """Waits until this PE's copy of the signal compares to `value` as `cmp` says; the next token.
    The sender's puts before the signal are visible to later operations.

    Local: only the caller waits. OpenSHMEM 1.5 section 9.10.15.
    """
    if type(cmp) is not ComparisonType:
        raise NvshmemInvalid(f"cmp is {a_kind(cmp)}: it must be a ComparisonType")
    number = signal_value(value, "value").value
    return call("signal_wait", token, signal=_signal(signal), value=number, cmp=int(cmp))[0]


# --- Arguments of calls -------------------------------------------------------------------------


def call(
    operation: str, token: Any, *operands: Any, result: Any = None, **numbers: int
) -> Tuple[Any, ...]:
    """The next token, and the result if there is one."""
    _setup.started()
    jax = _setup.import_jax()
    if getattr(token, "shape", None) != (1,) or token.dtype != np.uint32:
        raise NvshmemInvalid(
            f"token is {a_kind(token)}: pass what the last operation returned, or token()"
        )
    varying = frozenset().union(*(_varying(jax, value) for value in (token, *operands)))
    shapes = [(token.shape, token.dtype), *([result] if result else [])]
    outputs = [_struct(jax, shape, dtype, varying) for shape, dtype in shapes]
    called = jax.ffi.ffi_call(_setup.TARGET, outputs, has_side_effect=True)
    # 64 bits, which may be those of an unsigned number.
    attributes = {
        name: np.uint64(value % 2**64).astype(np.int64) for name, value in numbers.items()
    }
    return tuple(called(token, *operands, operation=np.int64(_OPERATIONS[operation]), **attributes))


def _collective(
    operation: str, x: Any, result: Any, token: Any, team: Team, **numbers: int
) -> Tuple[Any, Any]:
    shape, dtype = result
    sizes = [math.prod(dims) * dtype.itemsize for dims in (x.shape, shape)]
    need, room = sum(sizes) + 2 * _ALIGNMENT, _setup.started().staging.size
    number = team_of(team)
    parts = team_size(number) if operation == "alltoall" else 1
    if 0 < min(sizes) // parts <= private_bytes(number, Collective[operation.upper()]):
        numbers["private"] = 1
    elif need > room:
        raise NvshmemInvalid(
            f"x has {sizes[0]} bytes and its result {sizes[1]}: the call needs {need} bytes of the "
            f"staging area, which has {room}: call start(staging={need}) on all PEs, or more"
        )
    return call(operation, token, x, result=result, team=number, **numbers)[::-1]


def _like(x: Any, shape: Tuple[int, ...]) -> Tuple[Tuple[int, ...], "np.dtype[Any]"]:
    return shape, np.dtype(x.dtype)


def _result_of(src: Any) -> Tuple[Tuple[int, ...], "np.dtype[Any]"]:
    found = symmetric(src, "src")
    check_width(_setup.import_jax(), found, "src")
    return found.shape, found.dtype


def _struct(jax: Any, shape: Any, dtype: Any, varying: Any) -> Any:
    if varying:
        return jax.ShapeDtypeStruct(shape, dtype, vma=varying)
    return jax.ShapeDtypeStruct(shape, dtype)


def _varying(jax: Any, value: Any) -> Any:
    """The axes of a mesh along which a value differs, as reported by ``shard_map``."""
    return getattr(jax.typeof(value), "vma", None) or frozenset()


def check_operand(x: Any, name: str = "x") -> None:
    """Raises unless argument `name` is an array whose elements JAX keeps, on this PE's device. A
    traced array has no device yet.
    """
    jax = _setup.import_jax()
    if isinstance(x, SymmetricArray):
        raise NvshmemInvalid(f"{name} is a SymmetricArray: pass its contents, from load({name}, token)")
    if not isinstance(x, (jax.Array, np.ndarray, np.generic)):
        raise NvshmemInvalid(f"{name} is {a_kind(x)}: pass an array, such as jax.numpy.asarray({name})")
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        raise NvshmemInvalid(f"{name} is an array of random keys: pass jax.random.key_data({name})")
    if not isinstance(x, jax.Array) and not is_of_jax(jax, x.dtype):
        raise NvshmemInvalid(
            f"{name} has dtype {x.dtype}, which JAX does not have: convert it, as with "
            f"{name}.astype('float32')"
        )
    check_width(jax, x, name)
    if isinstance(x, jax.core.Tracer) or not isinstance(x, jax.Array):
        return
    mine = _setup.local_device(jax)
    if x.devices() != {mine}:
        found = ", ".join(sorted(str(device) for device in x.devices()))
        raise NvshmemInvalid(
            f"{name} is on {found}, and this PE's device is {mine}: pass jax.device_put({name}, ...)"
        )


def _element_type(x: Any, op: Any) -> Tuple[int, int]:
    """The library's numbers for the elements and for an operation."""
    dtype = np.dtype(x.dtype)
    name = op.name.lower() if type(op) is Op else op
    if not isinstance(name, str) or name.upper() not in Op.__members__:
        names = ", ".join(member.lower() for member in Op.__members__)
        raise NvshmemInvalid(f"op={op!r}: the operations are {names}, and the members of Op")
    if dtype == np.bool_:
        return element_code(np.dtype(np.uint8), None, "x"), int(_OF_BOOLS.get(name, Op.XOR))
    return element_code(dtype, None, "x"), int(Op.__members__[name.upper()])


def _parts(x: Any, team: Team) -> int:
    """The length of a part of the first axis."""
    members = team_size(team_of(team))
    if not x.shape or x.shape[0] % members:
        raise NvshmemInvalid(
            f"x has shape {tuple(x.shape)}: its first axis must have {members} parts of one length"
        )
    return int(x.shape[0]) // members


def offset(array: SymmetricArray) -> int:
    """Bytes from the staging area, the same on all PEs."""
    return array.address - _setup.started().staging.live_address()


def _dest(dst: Any, x: Any) -> int:
    found = symmetric(dst, "dst")
    check_operand(x)
    if found.shape != tuple(x.shape) or found.dtype != np.dtype(x.dtype):
        raise NvshmemInvalid(
            f"dst is {found.dtype}{list(found.shape)}, and x {np.dtype(x.dtype)}{list(x.shape)}: "
            "both must have one shape and dtype"
        )
    return offset(found)


def _signal(value: Any) -> int:
    found = symmetric(value, "signal")
    if found.nbytes != 8 or found.dtype.kind not in "iu":
        raise NvshmemInvalid(
            f"signal is {found.dtype}{list(found.shape)}: a signal is one uint64, such as signals[0]"
        )
    return offset(found)


def _pe(pe: Any) -> Dict[str, int]:
    if isinstance(pe, Shift):
        return {"pe": pe.distance, "relative": 1}
    number = pe_of(pe, None, "pe")
    if not 0 <= number < n_pes():
        raise NvshmemInvalid(f"pe={pe}: the job has PEs 0 to {n_pes() - 1}")
    return {"pe": number}
