"""Views, strides and memory order of put and get, with one PE and NumPy as the model. More, at
random and between PEs: programs/views.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem
from nvshmemrs.core import SignalOp


def test_layouts_differ_by_index_not_by_byte(job: None) -> None:
    a = nvshmem.array((3, 4), "i4", morder="F")
    source = np.arange(12, dtype="i4").reshape(3, 4)
    nvshmem.put(a, source, 0)
    assert np.array_equal(a, source)
    flat = np.zeros(12, "i4")
    nvshmem.get(flat, a, 0)  # other shapes: both in C order
    assert flat.tolist() == list(range(12))
    nvshmem.get(flat[:5], a, 0, count=5)
    buffer = nvshmem.buffer(48)
    nvshmem.put(buffer, a, 0)
    assert np.asarray(buffer).view("i4").tolist() == list(range(12))
    nvshmem.put(a.T, source.T[::-1], 0)
    assert np.array_equal(a.T, source.T[::-1])


def test_four_dimensions_and_lengths_of_one(job: None) -> None:
    a = nvshmem.array((3, 1, 4, 5), "u1")
    b = np.arange(60, dtype="u1").reshape(3, 1, 4, 5)
    nvshmem.put(a[:, :, 1:3, ::2], b[:, :, 1:3, ::2], 0)
    wanted = np.zeros_like(b)
    wanted[:, :, 1:3, ::2] = b[:, :, 1:3, ::2]
    assert np.array_equal(a, wanted)
    nvshmem.put(a[:, 0, 0, :], b[::-1, 0, 3, :], 0)
    assert np.array_equal(a[:, 0, 0, :], b[::-1, 0, 3, :])
    nvshmem.put(a.transpose(2, 0, 3, 1), b.transpose(2, 0, 3, 1), 0)
    assert np.array_equal(a, b)


def test_fields_of_records(job: None) -> None:
    a = nvshmem.array(5, "i1,f8,i2")  # strides that are no multiple of the element's size
    b = np.zeros(5, "i1,f8,i2")
    b["f1"], b["f2"] = np.arange(5) / 2, np.arange(5)
    nvshmem.put(a["f1"], b["f1"], 0)
    nvshmem.put(a["f2"][::-1], b["f2"], 0)
    assert a["f1"].tolist() == [0, 0.5, 1, 1.5, 2] and a["f2"].tolist() == [4, 3, 2, 1, 0]
    assert not a["f0"].any()


def test_a_value_for_many(job: None) -> None:
    a = nvshmem.array((4, 3), "f4")
    nvshmem.put(a, np.broadcast_to(np.float32(2.5), (4, 3)), 0)
    assert (a == 2.5).all()
    nvshmem.put(a, np.broadcast_to(np.array([1, 2, 3], "f4"), (4, 3)), 0)
    assert a.tolist() == [[1, 2, 3]] * 4


def test_signals_follow_strided_data(job: None) -> None:
    a, signal = nvshmem.array((4, 4), "i4"), nvshmem.array(1, "u8")
    source = np.arange(16, dtype="i4").reshape(4, 4)
    for function in (nvshmem.put_signal, nvshmem.put_signal_nbi):
        a[:] = 0
        function(a[:, ::2], source[:, ::2], signal, 3, SignalOp.SIGNAL_ADD, 0)
        assert a[:, ::2].tolist() == source[:, ::2].tolist() and not a[:, 1::2].any()
    function(a, source.T, signal, 1, SignalOp.SIGNAL_ADD, 0, count=6)
    assert a.ravel().tolist()[:6] == source.T.ravel().tolist()[:6] and signal[0] == 7


def test_overlaps(job: None) -> None:
    a = nvshmem.array(10, "i4")
    a[:] = range(10)
    nvshmem.put(a[1:], a[:-1], 0)  # contiguous: as if through a copy
    assert a.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    nvshmem.put(a[::2], a[1::2], 0)  # in between, not over each other
    assert a[::2].tolist() == a[1::2].tolist()
    before = a.tolist()
    for dst, src in ((a, a[::-1]), (a[::2], a[2:7]), (a[:6:2], a[:3])):
        fails(lambda: nvshmem.put(dst, src, 0), "overlap")
    on_top = np.lib.stride_tricks.as_strided(a, (5,), (0,))
    fails(lambda: nvshmem.put(on_top, np.zeros(5, "i4"), 0), "lie on each other")
    assert a.tolist() == before


def test_views_refuse(job: None) -> None:
    a = nvshmem.array((4, 6), "i4")
    with pytest.raises(nvshmem.NvshmemInvalid, match="neither is C-contiguous: reshape"):
        nvshmem.put(a[:, ::2], np.zeros((6, 4), "i4")[:, ::2], 0)
    fails(lambda: nvshmem.put(a[:, ::2], np.zeros((4, 3)), 0), "dtype")
    fails(lambda: nvshmem.put(a[:, ::2], np.zeros((4, 3), "i4"), 0, count=13), "count=13")
    local = np.zeros((4, 6), "i4")
    local.flags.writeable = False
    fails(lambda: nvshmem.get(local[:, ::2], a[:, ::2], 0), "read-only")
    fails(lambda: nvshmem.put(np.zeros((4, 6), "i4")[:, ::2], a[:, ::2], 0), "dst")
    view = a[:, ::2]
    nvshmem.free_array(a)
    fails(lambda: nvshmem.put(view, np.zeros((4, 3), "i4"), 0), "was freed")
