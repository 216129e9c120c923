"""Memory of the PEs' own becomes symmetric: puts, gets and collectives on it, peers, and back."""

import gc
import mmap

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem

nvshmem.init(timeout=30)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
PAGE = mmap.PAGESIZE

for order in ("C", "F"):
    mine = nvshmem.aligned_empty((30, 50), "f8", order)
    assert mine.ctypes.data % PAGE == 0 and not mine.any()
    mine[:] = me
    array = nvshmem.register_external_array(mine)
    assert isinstance(array, nvshmem.SymmetricArray) and array.flags.f_contiguous == (order == "F")
    assert (array == me).all() and array.shape == (30, 50) and array.dtype == np.float64
    nvshmem.barrier_all()
    nvshmem.put(array[3:5, ::7], np.full((2, 8), 100.0 + me), right)
    nvshmem.barrier_all()
    assert (mine[3:5, ::7] == 100 + left).all() and (mine[5:] == me).all()
    got = np.zeros((30, 50), order=order)
    nvshmem.get(got, array, right)
    assert got[3, 0] == 100 + me and got[29, 49] == right
    peer = nvshmem.get_peer_array(array, right)
    assert peer[3, 0] == 100 + me and peer.strides == array.strides
    assert nvshmem.array_get_buffer(array)[0].buffer_type == nvshmem.BufferTypes.EXTERNAL
    nvshmem.barrier_all()
    nvshmem.reduce("WORLD", array, array, "sum")
    assert mine[29, 49] == n * (n - 1) / 2
    # The memory stays while it is registered, whoever forgets it.
    kept = mine.copy()
    del mine, peer
    gc.collect()
    assert np.array_equal(array, kept)
    nvshmem.unregister_external_array(array)
    for use in (lambda: nvshmem.put(array, got, right), lambda: nvshmem.get(got, array, 0)):
        raises(nvshmem.NvshmemInvalid, "", use)
    nvshmem.barrier_all()

# An mmap, the array in it passed to both, as the tutorial does; it can be used again afterwards.
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
pages = mmap.mmap(-1, 4 * PAGE, flags=PRIVATE)
local = np.frombuffer(pages, "i4")
for _ in range(3):
    registered = nvshmem.register_external_array(local)
    nvshmem.p(registered[7:], me + 5, right)
    nvshmem.barrier_all()
    assert local[7] == left + 5 and local[6] == local[8] == 0
    nvshmem.unregister_external_array(local)
    assert local[7] == left + 5
buffer = nvshmem.register_external_buffer(pages)
assert buffer.size == 4 * PAGE and buffer.handle
nvshmem.atomic_inc(buffer, right, dtype="int")
nvshmem.barrier_all()
assert local[0] == 1
raises(BufferError, "", pages.close)
wrong = [
    (nvshmem.register_external_buffer, pages, "registered"),
    (nvshmem.free, buffer, "unregister_external_buffer"),
    (nvshmem.unregister_external_buffer, np.zeros(4), "not registered"),
    (nvshmem.register_external_array, np.zeros(3 * PAGE, "u1")[1:], "aligned_empty"),
    (nvshmem.register_external_array, nvshmem.aligned_empty((64, 64))[:, ::2], "contiguous"),
    (nvshmem.register_external_buffer, memoryview(bytes(PAGE)), "read-only"),
    (nvshmem.register_external_buffer, [1], "list"),
    (nvshmem.register_external_buffer, mmap.mmap(-1, PAGE), "private anonymous memory"),
]
for function, argument, message in wrong:
    for everybody in (True, False):  # all wrong, and one wrong: all raise
        is_wrong = everybody or me == n - 1
        words, given = (message, argument) if is_wrong else ("", buffer)
        raises(nvshmem.NvshmemError, words, function, given)
nvshmem.unregister_external_buffer(buffer)
assert buffer.handle == 0

# realloc keeps the beginning.
block = nvshmem.buffer(100)
np.asarray(block)[:] = me
bigger = nvshmem.realloc(block, 100_000)
assert block.handle == 0 and bigger.size == 100_000 and (np.asarray(bigger)[:100] == me).all()
nvshmem.put(bigger, np.full(100_000, right, "u1"), right)
nvshmem.barrier_all()
assert (np.asarray(bigger) == me).all()
assert nvshmem.realloc(bigger, 0) is None
made = nvshmem.realloc(None, 64)
raises(nvshmem.NvshmemError, "", nvshmem.realloc, made, "64" if me == n - 1 else 128)
assert made.handle
nvshmem.free(made)

# What is registered at finalize becomes private again.
at_the_end = nvshmem.aligned_empty(10, "i8")
at_the_end[:] = me
still = nvshmem.register_external_array(at_the_end)
nvshmem.finalize()
assert (at_the_end == me).all()
print("ok\n", end="")  # one write, so that PEs do not mix
