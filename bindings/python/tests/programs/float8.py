"""Reductions of float8 by every PE on host memory, with the codes of ml_dtypes as the model: a left
fold in float32, rounded once to the nearest, of two to the even one, saturated, and with one NaN.
"""

import ml_dtypes
import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
stream = nvshmem.Stream()
# The first two PEs have all pairs of codes, and the others something else.
pairs = np.arange(1 << 16)
STEPS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": lambda a, b: np.where(((b < a) | np.isnan(b)) & ~np.isnan(a), b, a),
    "max": lambda a, b: np.where(((b > a) | np.isnan(b)) & ~np.isnan(a), b, a),
}


def codes(pe: int) -> np.ndarray:
    mixed = (pairs & 0xFF, pairs >> 8)[pe] if pe < 2 else pairs * (2 * pe + 1) >> 3
    return (mixed & 0xFF).astype("u1")


def rounded(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    largest = float(ml_dtypes.finfo(dtype).max)
    made = np.clip(values, -largest, largest).astype(dtype).view("u1")
    return np.where(np.isnan(values), 0x7F, made).astype("u1")


def check(dtype: np.dtype, op: str) -> None:
    parts = [codes(pe).view(dtype).astype("f4") for pe in range(n)]
    totals = [parts[0]]
    for part in parts[1:]:
        totals.append(STEPS[op](totals[-1], part))
    wanted = rounded(totals[-1], dtype)
    source, dest = nvshmem.array(1 << 16, dtype), nvshmem.array((1 << 16) + 2, dtype)
    # The sizes: all algorithms; in the slots of the meeting, and in blocks of the memory.
    for size in (1, 1984, 1 << 16):
        for queue in (None, stream):
            source.view("u1")[:] = codes(me)
            dest.view("u1")[:] = 0xA5
            nvshmem.barrier_all()
            result, own = dest[1 : size + 1], source[-size:]
            nvshmem.reduce(0, result, own, op, queue)
            if queue is not None:
                queue.synchronize()
            assert (result.view("u1") == wanted[-size:]).all(), (dtype, op, size)
            nvshmem.inscan(0, result, own, op)
            assert (result.view("u1") == rounded(totals[me], dtype)[-size:]).all(), (dtype, op)
            share = size // n
            if share:
                nvshmem.reducescatter(0, dest[1 : share + 1], own[: share * n], op)
                mine = wanted[-size:][me * share : (me + 1) * share]
                assert (dest.view("u1")[1 : share + 1] == mine).all(), (dtype, op, size)
            nvshmem.reduce(0, own, own, op)
            assert (own.view("u1") == wanted[-size:]).all(), (dtype, op, size, "in place")
            assert (dest.view("u1")[[0, size + 1]] == 0xA5).all()
            nvshmem.barrier_all()
    for wrong in ("and", "or", "xor"):
        words = f"sum, prod, min or max with elements of `{dtype}`"
        raises(nvshmem.NvshmemInvalid, words, nvshmem.reduce, 0, dest, dest, wrong)
    # As its bits, for whom ml_dtypes is not there.
    bits = nvshmem.array(1 << 16, "u1")
    bits[:] = codes(me)
    nvshmem.barrier_all()
    nvshmem.reduce(0, bits, bits, op, dtype=dtype.name)
    assert (bits == wanted).all()
    for one in (source, dest, bits):
        nvshmem.barrier_all()
        nvshmem.free_array(one)


with np.errstate(all="ignore"):
    for name in ("float8_e4m3fn", "float8_e5m2"):
        for op in STEPS:
            check(np.dtype(getattr(ml_dtypes, name)), op)

# They move as bytes do.
a = nvshmem.array((n, 8), "float8_e5m2")
row = np.array([1, -2, 0.5, 3, float("inf"), float("nan"), 0, -0.0], a.dtype)
for function in (nvshmem.put, nvshmem.put_nbi):
    function(a[me], row, (me + 1) % n)
    nvshmem.quiet()
    nvshmem.barrier_all()
    assert a[me - 1].tobytes() == row.tobytes()
    a[me - 1] = 0
    nvshmem.barrier_all()
nvshmem.iput(a[me], row, 2, 1, 4, (me + 1) % n)
nvshmem.barrier_all()
assert a[me - 1, ::2].tobytes() == row[:4].tobytes() and not a.view("u1")[me - 1, 1::2].any()
nvshmem.barrier_all()
a[me] = row
nvshmem.fcollect(0, a, a[me])
assert a.tobytes() == n * row.tobytes()
nvshmem.barrier_all()
stream.close()
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
