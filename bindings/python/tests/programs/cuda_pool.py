"""Tensors of a torch.cuda.MemPool over the symmetric heap: operations on them, peers' copies, and
what becomes of the memory when they are gone, also after finalize.
"""

import functools
import gc
import os
import time

import torch

import nvshmemrs.core as nvshmem

number = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
torch.cuda.set_device(number)
local = torch.device("cuda", number)


def raises(kind, words, call):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no error with {words!r}")


mem_pool = nvshmem.interop.torch.mem_pool
raises(nvshmem.NotInitializedError, "call init first", mem_pool)
nvshmem.init(device=local, heap_bytes=1 << 26, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n


def used():
    """After a collective allocation, which frees what all PEs have given back."""
    nvshmem.free(nvshmem.buffer(64))
    return nvshmem.heap_stats().used_bytes


before = used()
pool = mem_pool()
assert used() == before  # nothing was asked for yet
with torch.cuda.use_mem_pool(pool):
    send = torch.zeros(4, 256, dtype=torch.float32, device=local)
    box = torch.zeros(4, 256, dtype=torch.float32, device=local)
private = torch.zeros(4, 256, dtype=torch.float32, device=local)
assert used() >= before + (2 << 20) and box.data_ptr() % 512 == 0

# Operations take them as they take tensors of nvshmem.tensor.
send.fill_(me + 1)
stream = torch.cuda.current_stream()
nvshmem.put(box, send, right, stream=stream)
nvshmem.barrier_all(stream)
assert box.tolist() == [[left + 1.0] * 256] * 4
nvshmem.barrier_all()
nvshmem.put(box[1, 8:16], send[0, :8], right)
nvshmem.reduce("TEAM_WORLD", send, send, "sum")
assert send.tolist() == [[n * (n + 1) / 2] * 256] * 4
raises(nvshmem.NvshmemError, "symmetric", lambda: nvshmem.put(private, private, right))
raises(nvshmem.NvshmemInvalid, "not made by", lambda: nvshmem.get_peer_tensor(private, right))

# What a peer has, for kernels.
there = nvshmem.get_peer_tensor(box[2], right)
assert there.shape == (256,) and there.dtype is torch.float32
nvshmem.barrier_all()
there.fill_(10 + me)
torch.cuda.current_stream().synchronize()
nvshmem.barrier_all()
assert box[2].tolist() == [10.0 + left] * 256
found, nbytes, kind = nvshmem.tensor_get_buffer(box)
assert (found.handle, nbytes, kind) == (box.data_ptr(), 4096, "float32")
raises(nvshmem.NvshmemInvalid, "with the pool", functools.partial(nvshmem.free_tensor, box))


# A block that is too large for the heap: torch's error on every PE, and all goes on.
def large():
    with torch.cuda.use_mem_pool(pool):
        torch.zeros(1 << 26, dtype=torch.float32, device=local)


raises(torch.cuda.OutOfMemoryError, "", large)
nvshmem.barrier_all()

# Blocks go back with the pool, while what was put on their stream runs to its end.
send.fill_(3)
del send, box, there, found, pool
gc.collect()
getattr(torch.cuda, "empty_cache", gc.collect)()
# A block is given back when the GPU has come to its end, which every PE sees in its own time.
# used() is the same on every PE, so all of them look equally often.
rounds = 0
while used() != before and rounds < 500:
    rounds += 1
    time.sleep(0.01)
assert rounds < 500

# A tensor that outlives finalize holds what it held, and a job after it has other memory.
pool = mem_pool()
with torch.cuda.use_mem_pool(pool):
    kept = torch.zeros(256, dtype=torch.float32, device=local)
kept.fill_(7)
assert kept.tolist() == [7.0] * 256
nvshmem.finalize()
if n == 1:
    nvshmem.init(device=local, heap_bytes=1 << 26)
    other = nvshmem.tensor(1024, dtype=torch.float32)
    other.fill_(1)
    assert kept.tolist() == [7.0] * 256
    del kept, pool  # gives back what is no memory of this job
    gc.collect()
    assert other.tolist() == [1.0] * 1024
    nvshmem.free_tensor(other)
    nvshmem.finalize()
print("ok\n", end="")
