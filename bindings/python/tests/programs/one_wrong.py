"""One PE gives a collective a wrong argument: every PE raises, nothing is written."""

import numpy as np

import nvshmemrs.core as nvshmem

nvshmem.init(timeout=30)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
wrong = me == n - 1
a, b = nvshmem.array(6, "f8"), nvshmem.array(6, "f8")
a[:], b[:] = me, -1
h, t = nvshmem.array(6, "f2"), nvshmem.array(6, "M8[s]")
big = nvshmem.array(6 * n, "f8")
big[:] = me
m = nvshmem.array((2, 3), "f8")

CASES = {
    "another dtype": (lambda: nvshmem.reduce(0, b, h if wrong else a, "sum"), "dtype"),
    "a dtype that reductions lack": (
        lambda: nvshmem.reduce(0, *((t, t) if wrong else (b, a)), "sum"),
        "datetime64",
    ),
    "an op that is none": (lambda: nvshmem.reduce(0, b, a, "mean" if wrong else "sum"), "mean"),
    "fcollect: too small": (
        lambda: nvshmem.fcollect(0, big[:-1] if wrong else big, a),
        "times the size",
    ),
    "alltoall: parts that are not equal": (
        lambda: nvshmem.alltoall(0, *((big[1:], big[1:]) if wrong else (big, big))),
        "equal parts",
    ),
    "gather: the root's is too small": (
        lambda: nvshmem.gather(0, big[1:] if wrong else big, a, n - 1),
        "times the size",
    ),
    "gather: a source that is none": (
        lambda: nvshmem.gather(0, big, None if wrong else a, 0),
        "NoneType",
    ),
    "scatter: the root's is too small": (
        lambda: nvshmem.scatter(0, a, big[1:] if wrong else big, n - 1),
        "times the size",
    ),
    "scatter: another root": (lambda: nvshmem.scatter(0, a, big, 0 if wrong else 1), "root"),
    "reducescatter: too small": (
        lambda: nvshmem.reducescatter(0, b, big[1:] if wrong else big, "sum"),
        "times the size",
    ),
    "scan: another op": (lambda: nvshmem.inscan(0, b, a, "sum" if wrong else "max"), "op"),
    "collect: no room": (
        lambda: nvshmem.collect(0, big[:6] if wrong else big, a),
        "before its allocation",
    ),
    "alltoalls: another stride": (
        lambda: nvshmem.alltoalls(0, b, big, 0 if wrong else 1, 1, 1),
        "stride",
    ),
    "realloc: no size": (lambda: nvshmem.realloc(None, -1 if wrong else 8), "size="),
    "an op number that is none": (lambda: nvshmem.reduce(0, b, a, 99 if wrong else "sum"), "99"),
    "another op": (lambda: nvshmem.reduce(0, b, a, "min" if wrong else "sum"), "op"),
    "another count": (
        lambda: nvshmem.reduce(0, *((b[:5], a[:5]) if wrong else (b, a)), "sum"),
        "count|5",
    ),
    "different counts of one PE": (
        lambda: nvshmem.reduce(0, b, a[:5] if wrong else a, "sum"),
        "5 elements",
    ),
    "strides": (lambda: nvshmem.reduce(0, b[:3], a[::2] if wrong else a[:3], "sum"), "strides"),
    "no array": (lambda: nvshmem.reduce(0, b, None if wrong else a, "sum"), "NoneType"),
    "private memory": (
        lambda: nvshmem.reduce(0, b, np.zeros(6) if wrong else a, "sum"),
        "symmetric",
    ),
    "a stream": (lambda: nvshmem.reduce(0, b, a, "sum", stream=1 if wrong else None), "stream"),
    "broadcast: another root": (lambda: nvshmem.broadcast(0, b, a, int(wrong)), "root"),
    "broadcast: a root that is none": (
        lambda: nvshmem.broadcast(0, b, a, n if wrong else 0),
        "root",
    ),
    "broadcast: a root that is no number": (
        lambda: nvshmem.broadcast(0, b, a, "0" if wrong else 0),
        "root",
    ),
    "broadcast: another size": (
        lambda: nvshmem.broadcast(0, b, a[:2] if wrong else a, 0),
        "2 elements",
    ),
    "broadcast: private memory": (
        lambda: nvshmem.broadcast(0, b, np.zeros(6) if wrong else a, 0),
        "symmetric",
    ),
    "array: another shape": (lambda: nvshmem.array(3 if wrong else 4), ""),
    "array: no dtype": (lambda: nvshmem.array(4, "object" if wrong else "f8"), "Python objects"),
    "array: negative": (lambda: nvshmem.array(-4 if wrong else 4), "negative"),
    "array: empty": (lambda: nvshmem.array(0 if wrong else 4), "0 bytes"),
    "buffer: no size": (lambda: nvshmem.buffer("4" if wrong else 4), "size="),
    "free: private memory": (
        lambda: nvshmem.free_array(np.zeros(3) if wrong else m),
        "not made by array",
    ),
    "free: a view": (lambda: nvshmem.free_array(m[1] if wrong else m), "a view of 24 bytes"),
    "free: another array": (lambda: nvshmem.free_array(h if wrong else m), ""),
}
for name, (call, pattern) in CASES.items():
    try:
        call()
    except nvshmem.NvshmemError as error:
        text = str(error)
        if wrong:
            assert any(part in text for part in pattern.split("|")), (name, text)
        else:
            assert isinstance(error, (nvshmem.PeerArgumentError, nvshmem.MismatchError)), (
                name,
                repr(error),
            )
            assert f"PE {n - 1}" in text or "PE 0" in text, (name, text)
            # Not what Python has passed on in the place of what it refused.
            passed_on = ("is 0;", "is 0x0;", "is 0x1;", str(2**64 - 1))
            assert not any(part in text for part in passed_on), (name, text)
    else:
        raise AssertionError(f"{name}: no error on PE {me}")
    nvshmem.barrier_all()
    assert (b == -1).all() and (a == me).all() and (big == me).all(), name
    assert nvshmem.heap_stats().allocations == 6, name

nvshmem.reduce(0, b, a, "sum")
assert (b == n * (n - 1) / 2).all()
m[0, 0] = 1
for array in (a, b, h, m, t, big):
    nvshmem.free_array(array)
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
