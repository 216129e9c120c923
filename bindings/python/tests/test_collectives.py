"""Collectives with one PE, and their wrong arguments. Several PEs: test_jobs.py."""

from __future__ import annotations

import pytest

import nvshmemrs.core as nvshmem

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


@pytest.mark.parametrize("op", ["sum", "min", "max", nvshmem.Op.SUM])
@pytest.mark.parametrize("dtype", DTYPES)
def test_reduce(job: None, dtype: str, op: object) -> None:
    a, b = nvshmem.array(5, dtype), nvshmem.array((5, 1), dtype)
    a[:] = [5, 4, 3, 2, 1]
    nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, b, a, op)
    assert b.ravel().tolist() == [5, 4, 3, 2, 1]
    nvshmem.reduce("TEAM_WORLD", a[1:3], b[3:], op)
    assert a.tolist() == [5, 2, 1, 2, 1]
    nvshmem.reduce(0, a, a, op)
    assert a.tolist() == [5, 2, 1, 2, 1]


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
            with pytest.raises(nvshmem.NvshmemInvalid, match="team"):
                function(team)


@pytest.mark.parametrize(
    ("dst", "src", "op", "message"),
    [
        ("f8", "f4", "sum", "dtype"),
        ("f2", "f2", "sum", "has dtype float16: reductions know int8"),
        ("c8", "c8", "sum", "complex64"),
        ("?", "?", "max", "bool"),
        (">f8", ">f8", "max", "native byte order"),
        ("f8", "f8", "prod", "op='prod': the operations are sum, min, max"),
        ("f8", "f8", 99, "op"),
        ("f8", "f8", None, "op"),
    ],
)
def test_reduce_refuses(job: None, dst: str, src: str, op: object, message: str) -> None:
    a, b = nvshmem.array(3, dst), nvshmem.array(3, src)
    b[:] = 1
    with pytest.raises(nvshmem.NvshmemInvalid, match=message):
        nvshmem.reduce(0, a, b, op)
    assert not a.any()
    nvshmem.barrier_all()


def test_sizes_must_agree(job: None) -> None:
    a, b = nvshmem.array(3), nvshmem.array(4)
    for call in (lambda: nvshmem.reduce(0, a, b, "sum"), lambda: nvshmem.broadcast(0, a, b)):
        with pytest.raises(
            nvshmem.NvshmemInvalid, match="dst is 3 elements of float32 .* src 4 elements"
        ):
            call()
    with pytest.raises(nvshmem.NvshmemInvalid, match="dst_array is a Buffer"):
        nvshmem.reduce(0, nvshmem.buffer(12), a, "sum")
    with pytest.raises(nvshmem.NvshmemInvalid, match="strides"):
        nvshmem.reduce(0, a, nvshmem.array(6)[::2], "sum")
    a.flags.writeable = False
    for call in (lambda: nvshmem.reduce(0, a, a, "sum"), lambda: nvshmem.broadcast(0, a, a)):
        with pytest.raises(nvshmem.NvshmemInvalid, match="read-only"):
            call()
    with pytest.raises(nvshmem.NvshmemInvalid, match="root"):
        nvshmem.broadcast(0, b, b, root=1)
    with pytest.raises(nvshmem.NvshmemInvalid, match="root"):
        nvshmem.broadcast(0, b, b, root="0")
