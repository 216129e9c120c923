"""Arrays of non-blocking operations that the program drops before quiet, in a checked job, which does
the operations late. Small arrays: NumPy gives their memory to the next ones of their size at once.
"""

import weakref
from typing import Any, List

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp

EACH = 100

nvshmem.init(heap_bytes=1 << 22)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
dst, src = nvshmem.array(EACH, "f8"), nvshmem.array(EACH, "f8")
signal, counter = nvshmem.array(1, "u8"), nvshmem.array(1, "i8")
src[:] = me


def others() -> List[np.ndarray]:
    """Takes memory that has just become free."""
    return [np.full(EACH, -1.0) for _ in range(20)] + [np.full(1, -1) for _ in range(20)]


for number in range(10):
    nvshmem.barrier_all()
    nvshmem.put_nbi(dst, np.full(EACH, float(me + number)), right)
    there = others()
    nvshmem.quiet()
    nvshmem.barrier_all()
    assert (dst == left + number).all(), (me, dst)
    assert all((one == -1).all() for one in there)

    nvshmem.barrier_all()
    value = np.full(EACH, float(me - number))
    how = SignalOp.SIGNAL_SET
    nvshmem.put_signal_nbi(dst, value, signal, number + 1, how, right)
    del value
    there = others()
    nvshmem.signal_wait(signal, number + 1, ComparisonType.CMP_GE)
    assert (dst == left - number).all(), (me, dst)
    nvshmem.quiet()
    assert all((one == -1).all() for one in there)

    wanted: Any = np.zeros(EACH)
    old: Any = np.zeros(1, "i8")
    nvshmem.get_nbi(wanted, src, right)
    nvshmem.atomic_fetch_add_nbi(old, counter, 1, right)
    ends = [weakref.ref(wanted), weakref.ref(old)]
    del wanted, old
    there = others()
    assert all(end() is not None for end in ends), "an array of an operation in flight is gone"
    if number % 2:
        nvshmem.quiet()
    else:
        nvshmem.barrier_all()
    assert all((one == -1).all() for one in there), "another array was written"
    assert all(end() is None for end in ends), "quiet keeps arrays"

nvshmem.barrier_all()
assert counter[0] == 10
nvshmem.finalize()
