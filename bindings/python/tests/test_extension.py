"""The C extension: each call has the same results, effects and errors with it and without it."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import re
import sys
import threading
from typing import Any, Callable, Dict, List, Tuple

import numpy as np
import pytest
from conftest import fails, finished

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, Op, SignalOp, _extension

if os.environ.get("NVSHMEMRS_PYTHON_EXTENSION") == "0":
    pytest.skip("the extension is turned off", allow_module_level=True)

NAMES = [
    name for name in nvshmem.__all__ if type(getattr(nvshmem, name)).__module__ == "nvshmemrs._fast"
]
INTEGERS = ("i4", "i8", "u4", "u8", "q", "Q")
MOVED = ("f8", "f4", "f2", "c16", "?", "i1", "u2", ">i8", "V3")


def test_it_is_there() -> None:
    assert _extension.is_used(), "the wheel has no extension: its build says why"
    assert {"put", "get", "p", "g", "reduce", "quiet", "atomic_fetch_add"} <= set(NAMES)


class Sides:
    """The same arrays twice: calls take one side with the extension, the other without."""

    def __init__(self, with_it: bool) -> None:
        self.with_it = with_it
        self.arrays: Dict[str, Any] = {}

    def array(self, name: str, dtype: str, count: int = 4) -> Any:
        """A symmetric array, made once."""
        key = f"{name} {dtype} {count}"
        if key not in self.arrays:
            made = nvshmem.array(count, dtype)
            if made.dtype.kind != "V":
                made[:] = np.arange(1, count + 1) % 2 if dtype == "?" else np.arange(1, count + 1)
            self.arrays[key] = made
        return self.arrays[key]

    def call(self, name: str, *args: Any, **named: Any) -> Any:
        """The result or the error of the call, and the arrays after it."""
        function = getattr(nvshmem, name)
        function = function if self.with_it else function.__wrapped__
        try:
            result = function(*args, **named)
            outcome = type(result).__name__, str(result)
        except Exception as error:
            outcome = type(error).__name__, str(error)
        contents = {key: array.tobytes() for key, array in self.arrays.items()}
        return (*outcome, contents)


Scenario = Callable[[Sides], Any]


def moves(s: Sides) -> List[Any]:
    """Puts, gets, single elements."""
    seen = []
    for dtype in MOVED:
        a, b = s.array("a", dtype), s.array("b", dtype)
        private = np.zeros(4, dtype)
        read_only = np.zeros(4, dtype)
        read_only.flags.writeable = False
        for name in ("put", "get"):
            for args in (
                (a, b, 0),
                (a[1:3], b[2:4], 0),
                (a[1:], private[:3], 0),
                (a[::2], b[::2], 0),
                (a.reshape(2, 2), b, 0),
                (a, b[:3], 0),
                (a, np.zeros(4, "i2"), 0),
                (a[:0], b[:0], 0),
                (a, a, 0),
                (a, read_only, 0),
                (read_only, b, 0),
                (private, a, 0),
                (a, b, 1),
                (a, b, -1),
                (a, b, 2**40),
                (a, b, True),
                (a, b, np.int64(0)),
                (a, b, None),
                (a, b, 0.0),
                (a, b, 0, None),
                (a, b, 2, 0),
                (a, b),
                (a,),
                (None, b, 0),
                (a, 3, 0),
            ):
                seen.append(s.call(name, *args))
            seen.append(s.call(name, a, b, pe=0))
            seen.append(s.call(name, a, b, remote_pe=0))
            seen.append(s.call(name, a, b, 0, pe=0))
            seen.append(s.call(name, a, b, 0, count=2))
            seen.append(s.call(name, a, b, where=0))
            seen.append(s.call(name, dst=a, src=b, pe=0))
        for value in (1, -1, 300, 2**31, 2**63, 2**64, 1.5, 1e300, float("nan"), True, Op.SUM, "1"):
            seen.append(s.call("p", a, value, 0))
        seen.extend(
            [s.call("g", a, 0), s.call("g", a[2:], pe=0), s.call("g", a, 9), s.call("g", a[:0], 0)]
        )
    return seen


def atomics(s: Sides) -> List[Any]:
    """All atomic operations on all kinds of elements and values."""
    seen = []
    for name in (name for name in NAMES if name.startswith("atomic_")):
        values = [p for p in inspect.signature(getattr(nvshmem, name)).parameters][1:]
        count = values.index("remote_pe")
        for dtype in (*INTEGERS, "f4", "f8", "i2"):
            a = s.array("a", dtype)
            for value in (1, 2, -1, 2**31, 2**32 - 1, 2**63, 1.5, 1e300, True, SignalOp.SIGNAL_ADD):
                seen.append(s.call(name, a[1:], *[value] * count, 0))
            seen.append(s.call(name, a, *[1] * count, 0, offset=2))
            seen.append(s.call(name, a, *[1] * count, pe=0))
            seen.append(s.call(name, a, *[1] * count, 5))
            seen.append(s.call(name, a[:0], *[1] * count, 0))
            seen.append(s.call(name, np.zeros(1, dtype), *[1] * count, 0))
            seen.append(s.call(name, a))
    return seen


def signals(s: Sides) -> List[Any]:
    """Signals, waits whose condition holds, and order."""
    seen = []
    a, b = s.array("a", "f8"), s.array("b", "f8")
    for dtype in ("u8", "i8", "u4", "f8"):
        signal = s.array("signal", dtype, 1)
        for value in (5, 2**64 - 1, 2**64, -1, True, ComparisonType.CMP_EQ):
            for how in (SignalOp.SIGNAL_SET, SignalOp.SIGNAL_ADD, 9, ComparisonType.CMP_EQ):
                seen.append(s.call("put_signal", a, b, signal, value, how, 0))
                seen.append(s.call("signal_op", signal, value, how, 0))
        signal[0] = 7
        for compare in (ComparisonType.CMP_GE, 5, SignalOp.SIGNAL_SET):
            seen.append(s.call("signal_wait", signal, 7, compare))
            seen.append(s.call("wait_until", signal, compare, 7))
        seen.append(s.call("signal_wait", s.array("long", dtype), 1, ComparisonType.CMP_GE))
    for name in ("quiet", "fence", "barrier_all", "sync_all"):
        seen.append(s.call(name))
        seen.append(s.call(name, None))
        seen.append(s.call(name, stream=None))
        seen.append(s.call(name, 3))
    for team in (0, 1, 6, "TEAM_WORLD", -1, None, 2**63, 2**64, True, 12345):
        seen.append(s.call("barrier", team))
    return seen


def reductions(s: Sides) -> List[Any]:
    """Reductions of all types by all operations."""
    seen = []
    for dtype in (*INTEGERS, *MOVED):
        a, b = s.array("a", dtype), s.array("b", dtype)
        for op in ("sum", "prod", "min", "max", "and", "xor", "mean", Op.SUM, 1, None):
            seen.append(s.call("reduce", 0, a, b, op))
        for args in (
            (0, a, a, "sum"),
            (0, a[:3], b, "sum"),
            (0, a[::2], b[::2], "sum"),
            (0, a, np.zeros(4, dtype), "sum"),
            ("TEAM_WORLD", a, b, "sum"),
            (None, a, b, "sum"),
            (6, a, b, "sum"),
            (0, a, b, "sum", None),
        ):
            seen.append(s.call("reduce", *args))
    return seen


@pytest.mark.filterwarnings("ignore:overflow encountered")
@pytest.mark.parametrize("scenario", [moves, atomics, signals, reductions])
def test_calls_are_alike_with_and_without_it(job: None, scenario: Scenario) -> None:
    both: Tuple[List[Any], ...] = tuple(scenario(Sides(with_it)) for with_it in (True, False))
    assert len(both[0]) == len(both[1]) > 50
    for number, (with_it, without) in enumerate(zip(*both)):
        assert with_it[0] == without[0], (number, with_it[:2], without[:2])
        # Two arrays differ in their addresses.
        texts = [_without_addresses(outcome[1]) for outcome in (with_it, without)]
        assert texts[0] == texts[1], number
        assert with_it[2] == without[2], (number, with_it[:2])


def _without_addresses(text: str) -> str:
    return " ".join("0x" if "0x" in word else word for word in text.split())


def test_a_plain_call_runs_no_python(job: None) -> None:
    a, b, private = nvshmem.array(4, "f8"), nvshmem.array(4, "f8"), np.zeros(4)
    number, signal = nvshmem.array(1, "i8"), nvshmem.array(1, "u8")
    calls: Dict[str, Tuple[Any, ...]] = {
        "put": (a, private, 0),
        "get": (private[1:], b[1:], 0),
        "p": (a, 1.0, 0),
        "g": (a, 0),
        "put_signal": (a, b, signal, 5, SignalOp.SIGNAL_SET, 0),
        "signal_op": (signal, 7, SignalOp.SIGNAL_SET, 0),
        "signal_wait": (signal, 7, ComparisonType.CMP_EQ),
        "wait_until": (signal, ComparisonType.CMP_EQ, 7),
        "barrier": (0,),
        "reduce": (0, a, b, "sum"),
    }
    for name in NAMES:
        if name.startswith("atomic_"):
            function = getattr(nvshmem, name)
            count = list(inspect.signature(function).parameters).index("remote_pe")
            calls[name] = (number, *[1] * (count - 1), 0)
    run: List[str] = []
    for name in NAMES:
        function, arguments = getattr(nvshmem, name), calls.get(name, ())
        function(*arguments)  # the extension has not seen these arrays: Python checks them
        sys.setprofile(lambda frame, event, _: run.append(event) if event == "call" else None)
        try:
            function(*arguments)
        finally:
            sys.setprofile(None)
        assert not run, name


def test_memory_that_was_freed_is_refused(job: None) -> None:
    source = np.ones(4)
    for _ in range(3):
        old = nvshmem.array(4, "f8")
        view = old[1:]
        nvshmem.put(view, source[1:], 0)
        nvshmem.put(view, source[1:], 0)
        nvshmem.free_array(old)
        new = nvshmem.array(4, "f8")  # at the same address
        for dst, src in ((view, source[1:]), (new[1:], view)):
            fails(lambda: nvshmem.put(dst, src, 0), "was freed")
        assert not new.any()
        nvshmem.free_array(new)


def test_many_arrays(job: None) -> None:
    arrays = [nvshmem.array(1, "i8") for _ in range(1500)]
    for _ in range(2):
        for number, array in enumerate(arrays):
            nvshmem.p(array, number, 0)
            assert nvshmem.g(array, 0) == number


def test_an_array_that_changes_in_place(job: None) -> None:
    a, source = nvshmem.array(4, "f8"), np.ones(4)
    nvshmem.put(a, source, 0)
    source.resize(2, refcheck=False)
    fails(lambda: nvshmem.put(a, source, 0), "4 elements")
    nvshmem.put(a[:2], source, 0)


def test_quiet_lets_go_of_arrays_of_operations_in_flight(job: None) -> None:
    a = nvshmem.array(4, "f8")
    source = np.ones(4)
    before = sys.getrefcount(source)
    nvshmem.put_nbi(a, source, 0)
    assert sys.getrefcount(source) == before + 1
    nvshmem.quiet()
    assert sys.getrefcount(source) == before


def test_other_threads_run_during_a_wait(job: None) -> None:
    signal = nvshmem.array(1, "u8")
    seen: List[Any] = []
    wait = lambda: seen.append(nvshmem.signal_wait(signal, 3, ComparisonType.CMP_EQ))  # noqa: E731
    thread = threading.Thread(target=wait)
    thread.start()
    nvshmem.signal_op(signal, 3, SignalOp.SIGNAL_SET, 0)
    thread.join(60)
    assert seen == [3]


@pytest.mark.parametrize("name", NAMES)
def test_a_call_looks_like_its_python_function(name: str) -> None:
    function = getattr(nvshmem, name)
    python = function.__wrapped__
    assert inspect.isfunction(function) and inspect.signature(function) == inspect.signature(python)
    assert (function.__name__, function.__doc__) == (name, python.__doc__)
    assert function.__module__ == python.__module__ and repr(function) == repr(python)
    assert pickle.loads(pickle.dumps(function)) is function and copy.copy(function) is function


def test_as_an_attribute_of_a_class_it_is_a_method() -> None:
    class Holder:
        fence = nvshmem.fence

    assert Holder.fence is nvshmem.fence
    assert Holder().fence.__func__ is nvshmem.fence.__wrapped__  # type: ignore[attr-defined]


def python(code: str, **environment: str) -> Tuple[int, str]:
    """The exit status of a program, and its output."""
    done = finished(sys.executable, "-c", code, **environment)
    return done.returncode, done.stdout


ASK = "import nvshmemrs.core as n; print(n._extension.is_used(), type(n.put).__name__)"
# A module for which `sys.modules` has None cannot be imported.
MISSING = "import sys; sys.modules['nvshmemrs._fast'] = None; " + ASK
OTHER_LAYOUT = """
import nvshmemrs._fast
def setup(*_):
    raise ImportError("another layout")
nvshmemrs._fast.setup = setup
"""


@pytest.mark.parametrize(
    ("code", "setting", "said"),
    [
        (ASK, "0", "False function"),
        (ASK, "1", "True Function"),
        (ASK, "yes", "NVSHMEMRS_PYTHON_EXTENSION=yes: it must be 0 or 1, or not set"),
        (MISSING, "", "False function"),
        (OTHER_LAYOUT + ASK, "", "False Function"),
        (OTHER_LAYOUT + ASK, "1", "the extension cannot be used: another layout"),
        (MISSING, "1", "NVSHMEMRS_PYTHON_EXTENSION=1, and the extension cannot be used"),
    ],
)
def test_the_setting(code: str, setting: str, said: str) -> None:
    status, printed = python(code, NVSHMEMRS_PYTHON_EXTENSION=setting)
    assert said in printed, printed
    assert (status == 0) == ("unction" in said and "must" not in said and "cannot" not in said)


SUBINTERPRETER = """
import importlib.util, {module} as interpreters
place = importlib.util.find_spec("nvshmemrs._fast").origin
code = f'''
import importlib.machinery, importlib.util
loader = importlib.machinery.ExtensionFileLoader("nvshmemrs._fast", {{place!r}})
spec = importlib.util.spec_from_loader("nvshmemrs._fast", loader)
try:
    loader.exec_module(importlib.util.module_from_spec(spec))
except ImportError as error:
    print("refused:", error)
'''
interpreters.run_string(interpreters.create(), code)
"""


def test_a_subinterpreter_is_refused() -> None:
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    printed = python(SUBINTERPRETER.format(module=module))[1]
    # From 3.12 on Python refuses it by itself.
    assert re.search("refused: .*(main interpreter only|in subinterpreters)", printed), printed
