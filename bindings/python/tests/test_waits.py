"""Waits and tests with one PE: forms, types and wrong arguments. Several PEs: programs/waits.py."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType as Cmp

COMPARE = {
    Cmp.CMP_EQ: np.equal,
    Cmp.CMP_NE: np.not_equal,
    Cmp.CMP_GT: np.greater,
    Cmp.CMP_LE: np.less_equal,
    Cmp.CMP_LT: np.less,
    Cmp.CMP_GE: np.greater_equal,
}
DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_comparison(job: None, dtype: str) -> None:
    a = nvshmem.array(6, dtype)
    a[:] = [0, 1, 2, 3, 2, 1] if dtype[0] == "u" else [-3, -2, 0, 2, -1, 1]
    choose = np.random.default_rng(1)
    for cmp, compare in COMPARE.items():
        for value in a.tolist():
            status = choose.integers(0, 2, 6)
            each = choose.permutation(np.asarray(a))
            for wanted in (value, each, each.tolist()):
                hits = compare(a, wanted)
                for chosen in (None, status, status.tolist(), status.astype(bool)):
                    counted = np.ones(6, bool) if chosen is None else status == 0
                    expected = [int(i) for i in np.flatnonzero(np.asarray(hits) & counted)]
                    assert nvshmem.test_some(a, cmp, wanted, chosen) == expected
                    found = nvshmem.test_any(a, cmp, wanted, chosen)
                    assert found in expected if expected else found is None
                    everything = bool(np.asarray(hits)[counted].all())
                    assert nvshmem.test_all(a, cmp, wanted, chosen) is everything
                    if everything:
                        nvshmem.wait_until_all(a, cmp, wanted, chosen)
                    if expected or not counted.any():
                        assert nvshmem.wait_until_some(a, cmp, wanted, chosen) == expected
                        assert nvshmem.wait_until_any(a, cmp, wanted, chosen) in (
                            expected or [None]
                        )
            for offset in range(6):
                hit = bool(compare(a[offset], value))
                assert nvshmem.test(a, cmp, value, offset=offset) is hit
                if hit:
                    nvshmem.wait_until(a, cmp, value, offset=offset)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_series_comes_to_every_index(job: None, dtype: str) -> None:
    a, b = nvshmem.array(9, dtype), nvshmem.array(4, dtype)
    a[:], b[:] = [1, 1, 0, 1, 1, 1, 1, 0, 1], 1
    status = [0, 0, 0, 1, 0, 0, 0, 0, 0]
    forms = (nvshmem.test_any, nvshmem.wait_until_any)
    for function in forms:
        for value in (1, [1] * 9):
            series = [function(a, Cmp.CMP_EQ, value, status) for _ in range(6)]
            assert sorted(series) == [0, 1, 4, 5, 6, 8]
    # Two arrays by turns, and both functions.
    expected = {(f, x.size, i) for f in forms for x in (a, b) for i in np.flatnonzero(x)}
    for _ in range(2000):
        for function in forms:
            for x in (a, b):
                expected.discard((function, x.size, function(x, Cmp.CMP_GE, 1)))
        if not expected:
            break
    assert not expected


def test_no_elements_and_buffers(job: None) -> None:
    a, b = nvshmem.array(3, "i4"), nvshmem.buffer(8)
    assert nvshmem.wait_until_any(a, Cmp.CMP_EQ, 5, [1, 1, 1]) is None
    assert nvshmem.wait_until_some(a, Cmp.CMP_EQ, 5, [1, 1, 1]) == []
    nvshmem.wait_until_all(a, Cmp.CMP_EQ, 5, [1, 1, 1])
    np.asarray(b).view("f4")[:] = [1.5, -2]
    assert nvshmem.test(b, Cmp.CMP_EQ, -2, offset=1, dtype="float")
    assert nvshmem.test_some(b, Cmp.CMP_GT, 1, dtype="float") == [0]


def test_a_wait_ends_when_another_thread_writes(job: None) -> None:
    a = nvshmem.array(4, "i2")
    found = []
    waiter = threading.Thread(
        target=lambda: found.append(nvshmem.wait_until_some(a, Cmp.CMP_LT, [0, 0, 0, -5]))
    )
    waiter.start()
    time.sleep(0.05)
    nvshmem.p(a[3:], -1, 0)
    time.sleep(0.05)
    assert waiter.is_alive()
    nvshmem.p(a[2:], -1, 0)
    waiter.join(10)
    assert found == [[2]]


def test_a_wait_has_a_deadline() -> None:
    nvshmem.init(timeout=0.2)
    a = nvshmem.array(2, "i4")
    for call in (
        lambda: nvshmem.wait_until(a, Cmp.CMP_EQ, 1),
        lambda: nvshmem.wait_until_all(a, Cmp.CMP_EQ, 1),
        lambda: nvshmem.wait_until_any(a, Cmp.CMP_EQ, [1, 1]),
        lambda: nvshmem.wait_until_some(a, Cmp.CMP_EQ, 1, [0, 1]),
    ):
        fails(call, "wait_until", nvshmem.WaitTimeoutError)
    nvshmem.finalize()


def test_wrong_arguments(job: None) -> None:
    a = nvshmem.array(3, "u1")
    several = (
        nvshmem.wait_until_all,
        nvshmem.wait_until_any,
        nvshmem.wait_until_some,
        nvshmem.test_all,
        nvshmem.test_any,
        nvshmem.test_some,
    )
    for function in several:
        for arguments, message in (
            ((a, Cmp.CMP_SENTINEL, 0), "cmp"),
            ((a, 17, 0), "cmp"),
            ((a, "CMP_EQ", 0), "cmp is 'CMP_EQ'"),
            ((a, Cmp.CMP_EQ, 256), "value=256: uint8 holds 0 to 255"),
            ((a, Cmp.CMP_EQ, -1), "value=-1"),
            ((a, Cmp.CMP_EQ, [0, 1, 0.5]), "value=0.5"),
            ((a, Cmp.CMP_EQ, [0, 1]), "value has 2 elements, and ivars 3"),
            ((a, Cmp.CMP_EQ, 0, [1]), "status has 1 elements, and ivars 3"),
            ((a[::2], Cmp.CMP_EQ, 0), "ivars is not C-contiguous"),
            ((np.zeros(3, "u1"), Cmp.CMP_EQ, 0), "ivar|symmetric"),
            ((nvshmem.buffer(4), Cmp.CMP_EQ, 0), "pass dtype"),
            ((nvshmem.array(3, "f2"), Cmp.CMP_EQ, 0), "waits and tests know no float16"),
        ):
            fails(lambda: function(*arguments), message)
        with pytest.raises(nvshmem.NotSupportedError, match="takes no stream of CUDA"):
            function(a, Cmp.CMP_EQ, 0, stream=3)
    for function in (nvshmem.wait_until, nvshmem.test):
        for arguments, named, message in (
            ((a, 17, 0), {}, "cmp"),
            ((a, Cmp.CMP_EQ, 256), {}, "value=256"),
            ((a, Cmp.CMP_EQ, 0), {"offset": 3}, "offset=3"),
            ((np.zeros(3, "u1"), Cmp.CMP_EQ, 0), {}, "ivar|symmetric"),
            ((nvshmem.array(3, "c8"), Cmp.CMP_EQ, 0), {}, "know no complex64"),
        ):
            fails(lambda: function(*arguments, **named), message)
