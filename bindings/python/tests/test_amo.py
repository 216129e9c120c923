"""Atomics with one PE: elements, types and wrong arguments. Each operation: programs/amo.py."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem


def test_elements(job: None) -> None:
    a = nvshmem.array((3, 4), "i8", morder="F")
    a[:] = np.arange(12).reshape(3, 4)
    for offset in range(12):  # counted in C order, whatever the layout
        assert nvshmem.atomic_fetch(a, 0, offset=offset) == offset
        assert nvshmem.atomic_fetch(a[::-1], pe=0, offset=offset) == a[::-1].ravel()[offset]
    assert nvshmem.atomic_fetch(a[1:2, 2], 0) == 6
    nvshmem.atomic_set(a[:, 3], -9, 0, offset=np.int16(2))
    assert a[2, 3] == -9 and (a == -9).sum() == 1


@pytest.mark.parametrize("value", [5, np.int8(5), np.uint64(5), np.array(5), np.array(5, "u1")])
def test_values_of_many_types(job: None, value: object) -> None:
    a = nvshmem.array(1, "i4")
    assert nvshmem.atomic_fetch_add(a, value, 0) == 0 and a[0] == 5
    b = nvshmem.array(1, "f4")
    nvshmem.atomic_add(b, value, 0)
    assert nvshmem.atomic_swap(b, np.float64(0.5), 0) == 5.0 and b[0] == 0.5


@pytest.mark.parametrize(
    ("dtype", "wrong"),
    [
        ("i4", [2**31, -(2**31) - 1, 1.5, "1", None, np.array([1, 2]), np.array(1.0), 1j]),
        ("i8", [2**63, -(2**63) - 1, 0.0]),
        ("u4", [2**32, -1, np.int8(-1)]),
        ("u8", [2**64, -1]),
        ("f4", [1e39, -4e38, "x", None, 2**200, 1j]),
        ("f8", ["x", 2**2000, np.array([1.0, 2.0])]),
    ],
)
def test_a_value_that_does_not_fit_is_an_error(job: None, dtype: str, wrong: list) -> None:
    a = nvshmem.array(2, dtype)
    a[:] = 1
    for value in wrong:
        for function in (nvshmem.atomic_set, nvshmem.atomic_add, nvshmem.atomic_fetch_add):
            fails(lambda: function(a, value, 0), "value=")
        if dtype[0] != "f":
            fails(lambda: nvshmem.atomic_compare_swap(a, 1, value, 0), "value=")
            fails(lambda: nvshmem.atomic_compare_swap(a, value, 1, 0), "value=")
    assert a.tolist() == [1, 1]


def test_limits(job: None) -> None:
    for dtype in ("i4", "i8", "u4", "u8"):
        a = nvshmem.array(1, dtype)
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        assert nvshmem.atomic_swap(a, high, 0) == 0
        assert nvshmem.atomic_fetch_inc(a, 0) == high  # and wraps around
        assert nvshmem.atomic_swap(a, low, 0) == low
        assert nvshmem.atomic_fetch(a, 0) == low
    b = nvshmem.array(1, "f4")
    for value in (float("inf"), float(np.finfo("f4").max), -0.0):
        nvshmem.atomic_set(b, value, 0)
        assert nvshmem.atomic_fetch(b, 0) == value


FLOATS = ["atomic_fetch", "atomic_set", "atomic_swap", "atomic_add", "atomic_fetch_add"]
INTEGERS = ["atomic_inc", "atomic_fetch_inc", "atomic_and", "atomic_fetch_or", "atomic_xor"]


@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "c8", "?", "M8[s]", ">i4"])
def test_types_without_atomics(job: None, dtype: str) -> None:
    a = nvshmem.array(4, dtype)
    for name in FLOATS + INTEGERS:
        values = () if name.endswith(("inc", "fetch")) else (1,)
        fails(lambda: getattr(nvshmem, name)(a, *values, 0), "the operation knows|element types")


@pytest.mark.parametrize("name", INTEGERS)
def test_floats_have_few_atomics(job: None, name: str) -> None:
    values = () if name.endswith("inc") else (1,)
    with pytest.raises(
        nvshmem.NvshmemInvalid,
        match=f"{name}: the element is float64, and the operation knows int32, int64, uint32",
    ):
        getattr(nvshmem, name)(nvshmem.array(1, "f8"), *values, 0)


def test_wrong_arguments(job: None) -> None:
    a, b, local = nvshmem.array(3, "i4"), nvshmem.buffer(10), np.zeros(3, "i4")
    for offset in (3, -1, 2**70, 1.0, None):
        fails(lambda: nvshmem.atomic_inc(a, 0, offset=offset), "offset=")
    fails(lambda: nvshmem.atomic_inc(a[:0], 0), "offset=0")
    fails(lambda: nvshmem.atomic_inc(b, 0), "pass dtype")
    fails(lambda: nvshmem.atomic_inc(b, 0, offset=2, dtype="int"), "so 0 to 1")
    fails(lambda: nvshmem.atomic_inc(a, 0, dtype="uint32"), "has dtype int32, and dtype='uint32'")
    fails(lambda: nvshmem.atomic_inc(local, 0), "dest|symmetric")
    fails(lambda: nvshmem.atomic_inc([1], 0), "target is a list")
    fails(lambda: nvshmem.atomic_inc(a), "remote_pe is missing")
    fails(lambda: nvshmem.atomic_fetch_nbi(np.zeros(1, "u4"), a, 0), "give one dtype")
    local.flags.writeable = False
    fails(lambda: nvshmem.atomic_fetch_nbi(local, a, 0), "fetch is a read-only array")
    with pytest.raises(nvshmem.NotSupportedError, match="takes no stream of CUDA"):
        nvshmem.atomic_inc(a, 0, stream=7)
    misaligned = np.ndarray((1,), "i4", buffer=np.asarray(b), offset=1)
    fails(lambda: nvshmem.atomic_inc(misaligned, 0), "multiple of 4")
    assert not a.any()
