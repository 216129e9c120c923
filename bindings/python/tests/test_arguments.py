"""Arguments that must not be taken for each other: enums, numbers, switches, streams and teams."""

from __future__ import annotations

import enum
import inspect
import sys
from typing import Any, Callable, List

import numpy as np
import pytest
from conftest import finished

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType as Cmp
from nvshmemrs.core import Op, SignalOp, TeamConfigMask

SET, ADD = SignalOp.SIGNAL_SET, SignalOp.SIGNAL_ADD


@pytest.fixture
def flag(job: None) -> Any:
    return nvshmem.array(1, "u8")


def refused(call: Callable[[], object], *parts: str) -> None:
    """The call raises, and the message has these parts."""
    with pytest.raises(nvshmem.NvshmemInvalid) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


def test_value_and_comparison_in_the_wrong_order(flag: Any) -> None:
    flag[0] = 7
    right = "Call signal_wait(signal_var, 1, ComparisonType.CMP_GE)"
    refused(lambda: nvshmem.signal_wait(flag, Cmp.CMP_GE, 1), right)
    refused(lambda: nvshmem.signal_wait(signal_var=flag, signal_val=Cmp.CMP_GE, signal_op=1), right)
    assert nvshmem.signal_wait(flag, 1, Cmp.CMP_GE) == 7
    for function, name in (
        (nvshmem.wait_until, "ivar"),
        (nvshmem.test, "ivar"),
        (nvshmem.wait_until_all, "ivars"),
        (nvshmem.wait_until_any, "ivars"),
        (nvshmem.wait_until_some, "ivars"),
        (nvshmem.test_all, "ivars"),
        (nvshmem.test_any, "ivars"),
        (nvshmem.test_some, "ivars"),
    ):
        right = f"Call {function.__name__}({name}, ComparisonType.CMP_LT, 9)"
        refused(lambda: function(flag, 9, Cmp.CMP_LT), "cmp is 9: it must be a Comparison", right)
        refused(lambda: function(flag, np.int64(9), Cmp.CMP_LT), "ComparisonType.CMP_LT, ")
        refused(lambda: function(flag, value=Cmp.CMP_LT, cmp=9), right)
        function(flag, Cmp.CMP_LT, 9)
        function(flag, cmp=Cmp.CMP_LT, value=9)


def test_value_and_signal_operation_in_the_wrong_order(flag: Any) -> None:
    a, b = nvshmem.array(2), np.ones(2, "f4")
    for function in (nvshmem.put_signal, nvshmem.put_signal_nbi):
        right = f"Call {function.__name__}(dst, src, signal_var, 1, SignalOp.SIGNAL_SET, remote_pe)"
        refused(lambda: function(a, b, flag, SET, 1, 0), "signal_op is 1: it must be a", right)
    refused(
        lambda: nvshmem.signal_op(flag, ADD, 3, 0),
        "Call signal_op(signal_var, 3, SignalOp.SIGNAL_ADD, remote_pe)",
    )
    assert flag[0] == 0 and not a.any()
    nvshmem.put_signal(a, b, signal_var=flag, signal_val=2, signal_op=ADD, remote_pe=0)
    nvshmem.signal_op(flag, 3, signal_op=ADD, pe=0)
    assert flag[0] == 5 and a.all()


def test_a_number_in_the_place_of_an_enum(flag: Any) -> None:
    # The number of a member, as C has it, and the member that has it in the answer.
    refused(lambda: nvshmem.signal_wait(flag, 4, 5), "Call signal_wait(signal_var, 4, Comp", "_GE)")
    refused(lambda: nvshmem.wait_until(flag, 1, 4), "wait_until(ivar, ComparisonType.CMP_NE, 4)")
    refused(lambda: nvshmem.signal_op(flag, 4, 10, 0), "(signal_var, 4, SignalOp.SIGNAL_ADD, ")
    refused(lambda: nvshmem.signal_op(flag, 4, True, 0), "signal_op is True: it must be a SignalOp")
    refused(lambda: nvshmem.test(flag, "==", 4), "cmp is '==': it must be a ComparisonType")
    # A member of another enum is as wrong as a number.
    refused(lambda: nvshmem.signal_op(flag, 4, Cmp.CMP_EQ, 0), "signal_op is ComparisonType.CMP_EQ")
    refused(lambda: nvshmem.signal_wait(flag, 4, ADD), "signal_op is SignalOp.SIGNAL_ADD")
    assert flag[0] == 0


def test_an_operation_is_a_name_or_an_op(job: None) -> None:
    a, b = nvshmem.array(2), nvshmem.array(2)
    for function in (nvshmem.reduce, nvshmem.reducescatter, nvshmem.inscan, nvshmem.exscan):
        for op in (1, np.int32(1), True, Cmp.CMP_NE, None, 1.0, "SUM", b"sum"):
            refused(
                lambda: function(0, a, b, op),
                "op=",
                function.__name__ + '(team, dst_array, src_array, "sum")',
            )
        for op in ("sum", Op.SUM, np.str_("sum")):
            function(0, a, b, op)
    refused(lambda: nvshmem.reduce("sum", a, b, 0), "team='sum': the teams are TEAM_")  # type: ignore
    refused(lambda: nvshmem.reduce(a, b, 0, "sum"), "team is a SymmetricArray", "first argument")
    c = nvshmem.buffer(8)
    refused(lambda: nvshmem.collective_on_buffer("reduce", 0, c, c, "float", 1), "op=1")
    refused(lambda: nvshmem.collective_on_buffer(0, "reduce", c, c), "team='reduce'")
    nvshmem.barrier_all()


def test_a_comparison_that_is_none(flag: Any) -> None:
    for call in (
        lambda: nvshmem.wait_until(flag, Cmp.CMP_SENTINEL, 1),
        lambda: nvshmem.signal_wait(flag, 1, Cmp.CMP_SENTINEL),
    ):
        refused(call, "one of `ComparisonType.CMP_EQ`, ", " and `ComparisonType.CMP_GE`")


def test_a_signal_is_one_element(flag: Any) -> None:
    many, none = nvshmem.array(4, "u8"), nvshmem.array(4, "u8")[:0]
    for signal, words in ((many, "signal_var is 4 elements of uint64"), (none, "needs 8 bytes")):
        for call in (
            lambda: nvshmem.signal_wait(signal, 0, Cmp.CMP_EQ),
            lambda: nvshmem.signal_op(signal, 1, SET, 0),
            lambda: nvshmem.signal_fetch(signal),
            lambda: nvshmem.put_signal(flag, np.ones(1, "u8"), signal, 1, SET, 0),
        ):
            refused(call, words)
    refused(lambda: nvshmem.signal_fetch(many), "such as signal_var[0:1]")
    assert not many.any() and flag[0] == 0
    nvshmem.signal_op(many[2:3], 5, SET, 0)
    assert list(many) == [0, 0, 5, 0]
    assert nvshmem.signal_wait(many[2:3], 5, Cmp.CMP_EQ) == 5


def test_only_teams_are_listed_as_teams(job: None) -> None:
    with pytest.raises(nvshmem.NvshmemInvalid) as caught:
        nvshmem.barrier("ROWS")
    listed = str(caught.value).partition("the teams are ")[2].split(", ")
    assert "TEAM_WORLD" in listed and "TEAM_SHARED" in listed
    assert not {"TEAM_INVALID", "TEAM_MC_SHARED", "TEAMS_MIN", "TEAM_INDEX_MAX"} & set(listed)
    for name in listed:
        assert nvshmem.team_n_pes(name) >= -1


def test_types_have_their_article(job: None) -> None:
    a = nvshmem.array(2)
    refused(lambda: nvshmem.put(3, a, 0), "dst is an int: pass")
    refused(lambda: nvshmem.put(a, [1, 2], 0), "src is a list: pass")
    refused(lambda: nvshmem.put(object(), a, 0), "dst is an object: pass")


def test_the_limit_of_a_wait_has_the_callers_name() -> None:
    lines = "import nvshmemrs.core as n; n.init({}); a = n.array(1, 'f8'); n.wait_until(a, {}, 1.0)"
    for given, setting, words in (
        ("timeout=0.05", {}, "the timeout given to init sets: it waits for the float64 element"),
        ("", {"NVSHMEMRS_TIMEOUT": "0.05"}, "the limit that NVSHMEMRS_TIMEOUT sets: it waits"),
    ):
        program = lines.format(given, "n.ComparisonType.CMP_EQ")
        done = finished(sys.executable, "-c", program, apart=True, **setting)
        assert words in done.stderr, done.stderr


def test_a_member_of_an_enum_is_no_value(job: None) -> None:
    integers, reals = nvshmem.array(2, "i8"), nvshmem.array(2, "f8")
    others = [nvshmem.array(2, dtype) for dtype in ("f2", "c8", "?", "i1")]
    for member in (Cmp.CMP_GE, SET, Op.SUM, TeamConfigMask.UNIQUEID, nvshmem.BufferTypes.PEER):
        for a in (integers, reals):
            for call in (
                lambda: nvshmem.atomic_set(a, member, 0),
                lambda: nvshmem.atomic_fetch_add(a, member, 0),
                lambda: nvshmem.atomic_swap_nbi(np.zeros(1, a.dtype), a, member, 0),
                lambda: nvshmem.wait_until(a, Cmp.CMP_LE, member),
                lambda: nvshmem.test_all(a, Cmp.CMP_LE, [0, member]),
            ):
                refused(call, f"{type(member).__name__}.{member.name}", "must be a number")
        for a in (integers, reals, *others):
            refused(lambda: nvshmem.p(a, member, 0), "must be a number")
        for call in (
            lambda: nvshmem.atomic_compare_swap(integers, member, 1, 0),
            lambda: nvshmem.signal_op(integers, member, SET, 0),
            lambda: nvshmem.signal_wait(integers, member, Cmp.CMP_GE),
        ):
            refused(call, "must be a number")
    assert not integers.any() and not reals.any() and not any(a.any() for a in others)


def test_a_members_name_shows_the_right_call(flag: Any) -> None:
    refused(
        lambda: nvshmem.signal_op(flag, SET, SET, 0),
        "is SignalOp.SIGNAL_SET: it must be a number",
        "Call signal_op(signal_var, 1, SignalOp.SIGNAL_SET, remote_pe)",
    )


class State(enum.IntEnum):
    """A program's own."""

    READY = 3


def test_a_programs_own_enum_is_a_number(flag: Any) -> None:
    nvshmem.signal_op(flag, State.READY, SET, 0)
    assert nvshmem.signal_wait(flag, State.READY, Cmp.CMP_EQ) == 3
    nvshmem.wait_until(flag, Cmp.CMP_EQ, State.READY)
    nvshmem.atomic_add(flag, State.READY, 0)
    assert flag[0] == 6


def test_numpys_numbers_are_numbers(flag: Any) -> None:
    a, b = nvshmem.array(4, "i4"), np.arange(4, dtype="i4")
    for kind in (np.int8, np.uint16, np.int64, np.uint64):
        zero, one, two = kind(0), kind(1), kind(2)
        flag[0] = 0
        nvshmem.put(a, b, zero)
        nvshmem.put(a, b, two, zero)  # count and PE
        nvshmem.put(a, b, pe=zero, count=two)
        nvshmem.iput(a, b, two, one, two, zero)
        nvshmem.p(a, two, zero)
        nvshmem.atomic_add(a, one, zero, offset=two)
        nvshmem.signal_op(flag, one, ADD, zero)
        assert nvshmem.signal_wait(flag, one, Cmp.CMP_EQ) == 1
        nvshmem.wait_until(flag, Cmp.CMP_EQ, one, offset=zero)
        nvshmem.broadcast(zero, a, nvshmem.array(kind(4), "i4"), root=zero)
        nvshmem.team_split_strided(zero, zero, one, one, new_team_name=f"OF_{kind.__name__}")
        assert nvshmem.team_translate_pe(zero, zero, zero) == 0
        assert nvshmem.buffer(kind(8)).size == 8
    nvshmem.atomic_set(nvshmem.array(1, "f4"), np.float32(0.5), np.int64(0))
    with nvshmem.deadline(np.float32(5)), nvshmem.deadline(np.int64(5)):
        nvshmem.barrier_all()
    nvshmem.finalize()
    nvshmem.init(heap_bytes=np.int64(1 << 22), timeout=np.float64(10), init_timeout=np.int32(10))


def test_a_bool_is_a_value_and_counts_nothing(flag: Any) -> None:
    a, b = nvshmem.array(4, "i4"), np.arange(4, dtype="i4")
    for true in (True, np.True_):
        numbered: List[Callable[[], object]] = [
            lambda: nvshmem.put(a, b, true),
            lambda: nvshmem.put(a, b, 1, true),
            lambda: nvshmem.put(a, b, 0, count=true),
            lambda: nvshmem.get(b, a, pe=true),
            lambda: nvshmem.iput(a, b, true, 1, 1, 0),
            lambda: nvshmem.p(a, 1, true),
            lambda: nvshmem.g(a, true),
            lambda: nvshmem.atomic_inc(a, true),
            lambda: nvshmem.atomic_inc(a, 0, offset=true),
            lambda: nvshmem.wait_until(a, Cmp.CMP_EQ, 0, offset=true),
            lambda: nvshmem.broadcast(0, a, a, true),
            lambda: nvshmem.barrier(true),
            lambda: nvshmem.team_split_strided(0, true, 1, 1),
            lambda: nvshmem.team_split_2d(0, true),
            lambda: nvshmem.team_split_strided(0, 0, 1, 1, config_mask=true),
            lambda: nvshmem.TeamConfig(uniqueid=true),
            lambda: nvshmem.buffer(true),
            lambda: nvshmem.array(true),
            lambda: nvshmem.array((2, true)),
            lambda: nvshmem.get_peer_array(a, true),
            lambda: nvshmem.deadline(true).__enter__(),
        ]
        for call in numbered:
            refused(call)
        flag[0] = 0
        nvshmem.signal_op(flag, true, SET, 0)
        nvshmem.atomic_add(flag, true, 0)
        assert flag[0] == 2 and nvshmem.test(flag, Cmp.CMP_GT, true)
        flags = nvshmem.array(1, "?")
        nvshmem.p(flags, true, 0)
        assert flags[0]
    assert not a.any()
    nvshmem.barrier_all()
    nvshmem.finalize()
    for named in ({"heap_bytes": True}, {"timeout": True}, {"device": True}):
        refused(lambda: nvshmem.init(**named))


def test_a_text_is_no_number(job: None) -> None:
    for dtype in ("f4", "f2", "c8", "?", "i8"):
        refused(lambda: nvshmem.p(nvshmem.array(1, dtype), "3", 0))
    refused(lambda: nvshmem.atomic_set(nvshmem.array(1, "f4"), "3", 0), "value='3'")
    refused(lambda: nvshmem.array("34"), "shape='34'")
    refused(lambda: nvshmem.array(b"34"), "shape=b'34'")


def test_a_stream_or_a_number_is_no_status(job: None) -> None:
    a = nvshmem.array(1, "i4")
    with nvshmem.Stream() as stream:
        for function in (
            nvshmem.wait_until_all,
            nvshmem.wait_until_any,
            nvshmem.wait_until_some,
            nvshmem.test_all,
            nvshmem.test_any,
            nvshmem.test_some,
        ):
            # It would have left the only element out, and the call would have returned at once.
            name = function.__name__
            refused(
                lambda: function(a, Cmp.CMP_EQ, 1, stream),
                "status is a Stream",
                f"Call {name}(ivars, cmp, value, status), or give a stream by its name, stream=",
            )
            for status in (1, True, [0.5], "1", [stream]):
                refused(lambda: function(a, Cmp.CMP_EQ, 1, status), "status is ")
            function(a, Cmp.CMP_EQ, 0, None, stream)
            function(a, Cmp.CMP_EQ, 0, stream=stream)


def test_what_has_no_effect_takes_no_other_argument(job: None) -> None:
    refused(lambda: nvshmem.array(3, "f4", "F"), "release is 'F': it must be True or False")
    refused(lambda: nvshmem.array(3, "f4", False, "C", 8), "except_on_del is 8")
    refused(lambda: nvshmem.bytearray(3, "f4", False, "F"), "device_id='F'")
    refused(lambda: nvshmem.buffer(8, 16), "release is 16")
    refused(lambda: nvshmem.array(2, 3), "dtype=3: it must be a dtype", 'array((2, 3), "float32")')
    refused(lambda: nvshmem.array(2, None), "dtype=None")
    refused(lambda: nvshmem.array("f4"), "shape='f4'")
    refused(lambda: nvshmem.array((2.7, 3)), "shape=(2.7, 3)")
    refused(lambda: nvshmem.aligned_empty(3, "f4", "K"), "morder='K'")
    refused(lambda: nvshmem.utils.get_size("3", "float"), "shape='3'")
    refused(lambda: nvshmem.check_access(nvshmem.array(1), "read"), "write is 'read'")
    refused(lambda: nvshmem.get_unique_id(4), "empty is 4")
    a = nvshmem.buffer(8)
    refused(
        lambda: nvshmem.collective_on_buffer("fcollect", 0, a, a, None, None, 0, None, "yes"),
        "enable_timing is 'yes'",
    )
    refused(lambda: nvshmem.team_split_strided(0, 0, 1, 1, "ROW"), "config is a str")
    refused(lambda: nvshmem.team_split_strided(0, 0, 1, 1, None, SET), "config_mask is SignalOp")
    refused(lambda: nvshmem.team_split_strided(0, 0, 1, 1, None, 0, 3), "new_team_name=3")
    config = nvshmem.TeamConfig(num_contexts=1)
    made = nvshmem.team_split_strided(0, 0, 1, 1, config, TeamConfigMask.NUM_CONTEXTS)
    nvshmem.team_destroy(made)


def test_every_parameter_has_a_name() -> None:
    for name in nvshmem.__all__:
        function = getattr(nvshmem, name)
        if not inspect.isfunction(function):
            continue
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.kind != parameter.POSITIONAL_ONLY, name
            if parameter.kind == parameter.VAR_POSITIONAL:  # where a PE or a stream may stand
                assert name in ("put", "get", "put_nbi", "get_nbi")
                assert "stream" in inspect.signature(function).parameters


def test_positional_streams_stay_where_the_reference_has_them(flag: Any) -> None:
    a, b = nvshmem.array(2), nvshmem.array(2)
    with nvshmem.Stream() as stream:
        nvshmem.put(a, b, 0, stream)
        nvshmem.get_nbi(a, b, 0, stream)
        nvshmem.put_signal(a, b, flag, 1, SET, 0, stream)
        nvshmem.signal_op(flag, 1, SET, 0, stream)
        nvshmem.signal_wait(flag, 1, Cmp.CMP_EQ, stream)
        nvshmem.quiet(stream)
        nvshmem.reduce(0, a, b, "sum", stream)
        nvshmem.broadcast(0, a, b, 0, stream)
        nvshmem.fcollect(0, a, b, stream)
        nvshmem.alltoall(0, a, b, stream)
        nvshmem.barrier(0, stream)
        nvshmem.barrier_all(stream)
    refused(lambda: nvshmem.put(a, b, 0, Cmp.CMP_EQ), "the PE behind the count is ComparisonType")
