"""Symmetric memory: arrays, Buffers, DLPack, `with`, free and the garbage collector."""

from __future__ import annotations

import copy
import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem

DTYPES = [
    "i1",
    "i2",
    "i4",
    "i8",
    "u1",
    "u2",
    "u4",
    "u8",
    "f2",
    "f4",
    "f8",
    "c8",
    "c16",
    "?",
    "M8[s]",
    "f4,i8",
]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(job: None, dtype: str) -> None:
    with nvshmem.array((3, 4), dtype) as a:
        assert (
            a.shape == (3, 4)
            and a.dtype == np.dtype(dtype)
            and not a.view(np.ndarray).tobytes().strip(b"\0")
        )
        source = np.arange(12, dtype="i8").astype(dtype).reshape(3, 4)
        nvshmem.put(a, source, 0)
        assert a.tobytes() == source.tobytes()
        back = np.zeros((3, 4), dtype)
        nvshmem.get(back, a, 0)
        assert back.tobytes() == source.tobytes()


def test_an_array_is_an_ndarray(job: None) -> None:
    a = nvshmem.array((2, 3), "f8")
    assert isinstance(a, np.ndarray) and a.flags.c_contiguous and a.flags.writeable
    a[:] = np.arange(6).reshape(2, 3)
    same = a
    a += 1
    assert a is same and a.sum() == 21 and type(a.sum()) is np.float64
    for result in (
        a + 1,
        a.copy(),
        a.astype("f4"),
        np.sqrt(a),
        a.mean(axis=0),
        pickle.loads(pickle.dumps(a)),
    ):
        assert type(result) is np.ndarray
    assert np.array_equal(copy.deepcopy(a), a)
    assert np.add(a, 1, out=a) is a
    assert nvshmem.array_get_buffer(a[1:, 1])[0] is nvshmem.array_get_buffer(a)[0]
    nvshmem.free_array(a)


def test_an_empty_array_has_shape_dtype_and_order_and_may_hold_anything(job: None) -> None:
    made = nvshmem.empty((2, 3), "int16", morder="F")
    assert (made.shape, made.dtype, made.flags.f_contiguous) == ((2, 3), np.dtype("int16"), True)
    made[:] = 7
    nvshmem.put(made, made, 0)
    nvshmem.free_array(made)
    fails(lambda: nvshmem.empty(0), "give at least 1")
    with nvshmem.empty(4) as one:
        assert one.dtype == np.float32 and isinstance(one, nvshmem.SymmetricArray)


def test_fortran_order(job: None) -> None:
    a = nvshmem.array((2, 3), "i4", morder="F")
    assert a.flags.f_contiguous and not a.flags.c_contiguous
    source = np.asfortranarray(np.arange(6, dtype="i4").reshape(2, 3))
    nvshmem.put(a, source, 0)
    assert np.array_equal(a, source)
    a[:] = 0
    nvshmem.put(a, np.ascontiguousarray(source), 0)
    assert np.array_equal(a, source)
    nvshmem.get_peer_array(a, 0)[1, 2] = 77
    assert a[1, 2] == 77


def test_bytearray_holds_the_bytes_of_the_dtype(job: None) -> None:
    a = nvshmem.bytearray((2, 3), "f8")
    assert a.shape == (48,) and a.dtype == np.uint8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "0 bytes"),
        ((-1,), "none negative"),
        (((2, "x"),), "shape="),
        ((None,), "shape="),
        ((3, "object"), "Python objects"),
        ((3, "no such type"), "dtype="),
        ((2**62, "f8"), "bytes"),
        ((3, "f4", False, "K"), "morder='K'"),
    ],
)
def test_array_refuses(job: None, arguments: tuple, message: str) -> None:
    fails(lambda: nvshmem.array(*arguments), message)
    assert nvshmem.heap_stats().allocations == 0


def test_a_full_heap_says_what_to_do(job: None) -> None:
    with pytest.raises(nvshmem.HeapExhaustedError, match="NVSHMEM_SYMMETRIC_SIZE") as caught:
        nvshmem.array(1 << 22, "f8")
    assert isinstance(caught.value, MemoryError) and caught.value.status == 2
    nvshmem.free_array(nvshmem.array(3))


def test_buffer(job: None) -> None:
    with nvshmem.buffer(4096) as b:
        assert (
            b.handle != 0 and b.size == 4096 and b.is_host_accessible and not b.is_device_accessible
        )
        view = b.memoryview
        assert view.nbytes == 4096 and not view.readonly
        view[5] = 42
        assert np.asarray(b)[5] == 42
        nvshmem.put(b, np.full(4096, 7, "u1"), 0)
        assert set(view) == {7}
        nvshmem.put(b, np.full(2, 9, "u2"), 0, count=2)
        assert list(view[:5]) == [9, 0, 9, 0, 7]
    assert b.handle == 0 and "was freed" in repr(b)
    b.close()
    for use in (lambda: b.memoryview, lambda: nvshmem.put(b, b, 0), lambda: np.from_dlpack(b)):
        fails(use, "was freed")


@pytest.mark.parametrize("size", [0, -1, 2.5, "8", None, 2**64])
def test_buffer_refuses(job: None, size: object) -> None:
    fails(lambda: nvshmem.buffer(size), "size=")


def test_dlpack(job: None) -> None:
    a = nvshmem.array((2, 2), "f4")
    assert a.__dlpack_device__() == (1, 0)
    shared = np.from_dlpack(a)
    a[0, 1] = 3
    assert shared[0, 1] == 3
    b = nvshmem.buffer(16)
    shared = np.from_dlpack(b)
    assert shared.dtype == np.uint8 and shared.shape == (16,)
    b.memoryview[3] = 9
    assert shared[3] == 9
    # Whoever shares the memory keeps it.
    del b
    gc.collect()
    assert nvshmem.heap_stats().released == 0
    assert shared[3] == 9


def test_peers(job: None) -> None:
    a = nvshmem.array(8, "i8")
    peer = nvshmem.get_peer_array(a[2:8:2], 0)
    peer[:] = [1, 2, 3]
    assert a.tolist() == [0, 0, 1, 0, 2, 0, 3, 0]
    b, size, dtype = nvshmem.array_get_buffer(a)
    assert (size, dtype) == (64, "int64")
    first, second = nvshmem.get_peer_buffer(b, 0), nvshmem.get_peer_buffer(b, 0)
    assert first.buffer_type == nvshmem.BufferTypes.PEER
    nvshmem.free(first)
    assert first.handle == 0 and second.handle != 0 and b.handle != 0
    for pe in (-1, 1, 2**40):
        fails(lambda: nvshmem.get_peer_array(a, pe), "PE")
    fails(lambda: nvshmem.get_peer_array(a), "peer_pe is missing")
    nvshmem.free_array(a)
    assert second.handle == 0


def test_double_free(job: None) -> None:
    a = nvshmem.array(10)
    nvshmem.free_array(a)
    fails(lambda: nvshmem.free_array(a), "was freed already")
    other = nvshmem.array(10)  # the same address, most likely
    fails(lambda: nvshmem.free_array(a), "was freed already")
    fails(lambda: nvshmem.put(a, np.zeros(10, "f4"), 0), "was freed")
    nvshmem.free_array(other)
    b = nvshmem.buffer(8)
    nvshmem.free(b)
    fails(lambda: nvshmem.free(b), "was freed already")


def test_free_refuses_what_is_not_an_allocation(job: None) -> None:
    a = nvshmem.array(10)
    fails(lambda: nvshmem.free_array(a[2:4]), "a view of 8 bytes of an array of 40")
    fails(lambda: nvshmem.free_array(np.zeros(3)), "not made by array")
    fails(lambda: nvshmem.free_array([1]), "not list")
    fails(lambda: nvshmem.free(a), "free takes a Buffer")
    nvshmem.free_array(a.reshape(2, 5))
    assert nvshmem.heap_stats().allocations == 0


def test_with_frees_and_an_exception_only_releases(job: None) -> None:
    with nvshmem.array(10) as a:
        assert nvshmem.heap_stats().allocations == 1
        a[0] = 1
    assert nvshmem.heap_stats().allocations == 0
    with nvshmem.array(10) as a:
        nvshmem.free_array(a)
    with pytest.raises(ZeroDivisionError):
        with nvshmem.array(10):
            1 / 0
    assert nvshmem.heap_stats()[4:] == (1, 1)
    nvshmem.free_array(nvshmem.array(1))  # frees the arrays that all PEs have released
    assert nvshmem.heap_stats().allocations == 0


def test_collected_arrays_are_released_not_freed(job: None) -> None:
    a = nvshmem.array(100)
    view = a[10:20].reshape(2, 5)
    b = nvshmem.buffer(100)
    del a, b
    gc.collect()
    assert nvshmem.heap_stats()[4:] == (2, 1)  # the view keeps the first
    nvshmem.put(view, np.ones((2, 5), "f4"), 0)
    del view
    gc.collect()
    assert nvshmem.heap_stats()[4:] == (2, 2)
    c = nvshmem.array(1)
    assert nvshmem.heap_stats()[4:] == (1, 0)
    nvshmem.free_array(c)


def test_collected_after_finalize() -> None:
    nvshmem.init()
    a = nvshmem.array(10)
    nvshmem.finalize()
    nvshmem.init()
    b = nvshmem.array(10)
    del a
    gc.collect()
    assert nvshmem.heap_stats()[4:] == (1, 0)
    nvshmem.free_array(b)
    nvshmem.finalize()


def test_elements_outlive_finalize() -> None:
    def mapped() -> int:
        return Path("/proc/self/maps").read_text().count("memfd:nvshmemrs-job")

    nvshmem.init(heap_bytes=1 << 24)
    a = nvshmem.array(1000, "i4")
    a[:] = 7
    view = a[10:20]
    nvshmem.finalize()
    assert a.sum() == 7000
    a[3] = 1
    with pytest.raises(nvshmem.NvshmemError):
        nvshmem.put(a, np.ones(1000, "i4"), 0)
    nvshmem.init(heap_bytes=1 << 22)  # another heap beside the old one
    b = nvshmem.array(10)
    assert b.sum() == 0 and a[3] == 1 and mapped() == 2
    del a
    gc.collect()
    assert view.tolist() == [7] * 10 and mapped() == 2
    del view
    gc.collect()
    assert mapped() == 1
    nvshmem.free_array(b)
    del b
    nvshmem.finalize()
    gc.collect()
    assert mapped() == 0


def test_addresses_of_temporaries_are_not_confused(job: None) -> None:
    a = nvshmem.array(100, "i8")
    for i in range(100):
        nvshmem.put(a[i : i + 1], np.array([i]), 0)  # short-lived objects, whose ids come again
    assert a.tolist() == list(range(100))


@pytest.mark.filterwarnings("ignore:Setting the dtype:DeprecationWarning")
def test_an_array_changed_in_place_is_looked_at_again(job: None) -> None:
    a = nvshmem.array(4, "f8")
    source = np.arange(4, dtype="f8")
    nvshmem.put(a, source, 0)
    a.dtype = np.int64
    fails(lambda: nvshmem.put(a, source, 0), "dtype")
    source.dtype = np.int64
    nvshmem.put(a, source, 0)
