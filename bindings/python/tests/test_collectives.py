"""Collectives with one PE, and their wrong arguments. Several PEs: test_jobs.py."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem


def test_broadcast(job: None) -> None:
    a, b = nvshmem.array(3, "c8"), nvshmem.array(3, "c8")
    a[:] = 1j
    nvshmem.broadcast(0, b, a)
    assert b.tolist() == [1j] * 3
    x, y = nvshmem.buffer(8), nvshmem.buffer(8)
    x.memoryview[:] = bytes(range(8))
    nvshmem.broadcast("WORLD", y, x, root=0)
    assert bytes(y.memoryview) == bytes(range(8))


def test_barriers(job: None) -> None:
    nvshmem.barrier(0)
    nvshmem.barrier("TEAM_NODE")
    nvshmem.sync("TEAM_SHARED")
    nvshmem.barrier_all()
    nvshmem.sync_all()
    for function in (nvshmem.barrier, nvshmem.sync):
        for team in (-1, 99, "X", None):
            fails(lambda: function(team), "(?i)team")


@pytest.mark.parametrize(
    ("dst", "src", "op", "message"),
    [
        ("f8", "f4", "sum", "dtype"),
        ("f2", "f2", "xor", "op"),
        ("c8", "c8", "max", "op"),
        ("M8[s]", "M8[s]", "max", "has dtype datetime64.s.: the element types are int8"),
        (">f8", ">f8", "max", "native byte order"),
        ("f8", "f8", "mean", "op='mean': the operations are sum, min, max"),
        ("f8", "f8", 99, "op"),
        ("f8", "f8", None, "op"),
    ],
)
def test_reduce_refuses(job: None, dst: str, src: str, op: object, message: str) -> None:
    a, b = nvshmem.array(3, dst), nvshmem.array(3, src)
    b[:] = 1
    fails(lambda: nvshmem.reduce(0, a, b, op), message)
    assert not a.any()
    nvshmem.barrier_all()


def test_sizes_must_agree(job: None) -> None:
    a, b = nvshmem.array(3), nvshmem.array(4)
    for call in (lambda: nvshmem.reduce(0, a, b, "sum"), lambda: nvshmem.broadcast(0, a, b)):
        fails(call, "dst is 3 elements of float32 .* src 4 elements")
    fails(lambda: nvshmem.reduce(0, nvshmem.buffer(12), a, "sum"), "dst_array is a Buffer")
    fails(lambda: nvshmem.reduce(0, a, nvshmem.array(6)[::2], "sum"), "strides")
    c, d = nvshmem.array((2, 3), "f4"), nvshmem.array((2, 3), "f4", morder="F")
    for call in (
        lambda: nvshmem.reduce(0, c, d, "sum"),
        lambda: nvshmem.broadcast(0, d, c),
        lambda: nvshmem.fcollect(0, d, d),
        lambda: nvshmem.alltoall(0, c, d),
        lambda: nvshmem.gather(0, d, c),
        lambda: nvshmem.scatter(0, c, d),
        lambda: nvshmem.collect(0, c, d),
        lambda: nvshmem.reducescatter(0, d, d, "sum"),
    ):
        fails(call, "not C-contiguous")
    d[:] = [[1, 2, 3], [4, 5, 6]]
    nvshmem.reduce(0, d, d, "max")
    nvshmem.broadcast(0, d, d)
    assert d.tolist() == [[1, 2, 3], [4, 5, 6]]
    for call in (
        lambda: nvshmem.fcollect(0, a, b),
        lambda: nvshmem.alltoall(0, a, b),
        lambda: nvshmem.gather(0, a, b),
        lambda: nvshmem.scatter(0, a, b),
        lambda: nvshmem.reducescatter(0, a, b, "sum"),
        lambda: nvshmem.inscan(0, a, b),
        lambda: nvshmem.exscan(0, a, b),
    ):
        fails(call, "dst (is )?3 elements of float32")
    fails(lambda: nvshmem.collect(0, b[:3], a), "4 bytes before its allocation does")
    a.flags.writeable = False
    for call in (
        lambda: nvshmem.reduce(0, a, a, "sum"),
        lambda: nvshmem.broadcast(0, a, a),
        lambda: nvshmem.gather(0, a, a),
        lambda: nvshmem.scatter(0, a, a),
    ):
        fails(call, "read-only")
    fails(lambda: nvshmem.broadcast(0, b, b, root=1), "root")
    fails(lambda: nvshmem.broadcast(0, b, b, root="0"), "root")
    for collective in (nvshmem.gather, nvshmem.scatter):
        for root in (1, -1, 2**31, "0", None):
            fails(lambda: collective(0, b, b, root=root), "root")


def test_alltoalls_refuses(job: None) -> None:
    a, b = nvshmem.array(10, "i4"), nvshmem.array(10, "i4")
    b[:] = 1
    for arguments in ((0, 1, 1), (1, 0, 1), (1, 1, -1), (3, 1, 5), (1, 5, 3), (1, 1, 11)):
        fails(lambda: nvshmem.alltoalls(0, a, b, *arguments), "stride=")
    fails(lambda: nvshmem.alltoalls(0, nvshmem.buffer(8), nvshmem.buffer(8), 1, 1, 1), "pass dtype")
    assert not a.any()
    nvshmem.alltoalls(0, a, b, 3, 2, 4)
    assert a.tolist() == [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]


def test_element_types_that_are_said(job: None) -> None:
    a, b = nvshmem.array(2, "u2"), nvshmem.buffer(4)
    a[:] = [0x3F80, 0xC000]  # 1 and -2
    nvshmem.reduce(0, b, a, "min", dtype="bfloat16")
    assert np.asarray(b).view("u2").tolist() == [0x3F80, 0xC000]
    nvshmem.reduce(0, a, b, "max", dtype="ushort")
    for dtype in ("f4", "int", "i2", "half"):
        fails(lambda: nvshmem.reduce(0, a, b, "max", dtype=dtype), "dst_array has dtype uint16")
    fails(lambda: nvshmem.reduce(0, a, b, "max", dtype="nonsense"), "dtype='nonsense'")
    with pytest.raises(nvshmem.NvshmemInvalid, match="no whole number of 'double'"):
        nvshmem.reduce(0, nvshmem.buffer(12), nvshmem.buffer(12), "max", dtype="double")


def test_bools_that_are_said(job: None) -> None:
    a, b = nvshmem.array(2, "?"), nvshmem.buffer(2)
    a[:] = [True, False]
    for dtype in ("bool", bool, np.bool_, np.dtype("?")):
        nvshmem.reduce(0, b, a, "sum", dtype=dtype)
        assert bytes(b.memoryview) == b"\1\0"
    with pytest.raises(nvshmem.NvshmemInvalid, match="dst_array has dtype bool, and dtype='f4'"):
        nvshmem.reduce(0, a, a, "sum", dtype="f4")
    with pytest.raises(nvshmem.NvshmemInvalid, match="dst has dtype bool and src uint8"):
        nvshmem.reduce(0, a, nvshmem.array(2, "u1"), "max")


def test_bfloat16_of_ml_dtypes(job: None) -> None:
    try:
        import ml_dtypes
    except ImportError:
        fails(lambda: nvshmem.array(3, "bfloat16"), "install ml_dtypes", nvshmem.NotSupportedError)
        return
    a = nvshmem.array(3, "bfloat16")
    assert a.dtype == ml_dtypes.bfloat16
    a[:] = [1, -2, 0.5]
    nvshmem.reduce(0, a, a, "sum")
    nvshmem.put(a[1:], a[:2].copy(), 0)
    assert a.astype("f4").tolist() == [1, 1, -2]


def test_collective_on_buffer_refuses(job: None) -> None:
    a, b = nvshmem.buffer(16), nvshmem.array(4)
    for arguments, message in (
        (("collect", 0, a, a), "coll='collect'"),
        (("gather", 0, nvshmem.buffer(8), a), "dest is 8 bytes: the other Buffer needs 16"),
        (("scatter", 0, a, nvshmem.buffer(8)), "src is 8 bytes: the other Buffer needs 16"),
        (("gather", 0, a, a, None, None, "0"), "root='0'"),
        (("reduce", 0, a, b), "src is a SymmetricArray"),
        (("reduce", 0, a, a), "op=None"),
        (("reduce", 0, a, a, None, "sum"), "pass dtype"),
        (("reduce", 0, a, a, "float", "avg"), "op='avg'"),
        (("broadcast", 0, a, nvshmem.buffer(8)), "src is 8 bytes: the other Buffer needs 16"),
        (("fcollect", 0, nvshmem.buffer(8), a), "dest is 8 bytes: the other Buffer needs 16"),
    ):
        fails(lambda: nvshmem.collective_on_buffer(*arguments), message)
    with pytest.raises(nvshmem.NotSupportedError, match="takes no stream of CUDA"):
        nvshmem.collective_on_buffer("fcollect", 0, a, a, stream=5)
    nvshmem.barrier_all()
