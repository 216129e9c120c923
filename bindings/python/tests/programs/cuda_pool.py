"""Tensors of a torch.cuda.MemPool over the symmetric heap: operations on them, peers' copies, and
what becomes of the memory when they are gone, also after finalize.
"""

import functools
import gc
import os
import threading

import torch
from expect import raises

import nvshmemrs.core as nvshmem

number = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
torch.cuda.set_device(number)
local = torch.device("cuda", number)


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
raises(nvshmem.NvshmemInvalid, "pass nbytes", mem_pool)
raises(nvshmem.NvshmemInvalid, "at least 1 byte", functools.partial(mem_pool, 0))
# torch takes 2 MiB at a time for small tensors, and 20 MiB for those of 1 to 10 MiB.
pool = mem_pool(32 << 20)
reserved = used()
assert reserved >= before + (32 << 20)
with torch.cuda.use_mem_pool(pool):
    send = torch.zeros(4, 256, dtype=torch.float32, device=local)
    box = torch.zeros(4, 256, dtype=torch.float32, device=local)
private = torch.zeros(4, 256, dtype=torch.float32, device=local)
assert used() == reserved and box.data_ptr() % 512 == 0

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


# No allocation waits for another PE: one makes tensors that the others do not. Its own then lie elsewhere.
if me == 0:
    with torch.cuda.use_mem_pool(pool):
        alone = torch.zeros(1 << 20, dtype=torch.float32, device=local)
    alone.fill_(1)
    del alone


# A block that there is no room for: an error here, and all goes on.
def large(use):
    with use(pool):
        torch.zeros(1 << 26, dtype=torch.float32, device=local)


raises(torch.cuda.OutOfMemoryError, "", functools.partial(large, torch.cuda.use_mem_pool))
words = "in the 33554432 bytes reserved for pools: call `mem_pool()` on all PEs for more"
raises(nvshmem.HeapExhaustedError, words, functools.partial(large, nvshmem.interop.torch.use_mem_pool))
nvshmem.barrier_all()

# Blocks go back with the pool, from whatever thread, and come again.
send.fill_(3)
place = send.data_ptr()
thread = threading.Thread(target=lambda held: held.clear(), args=([send],))
del send, box, there, found, pool
thread.start()
thread.join()
gc.collect()
getattr(torch.cuda, "empty_cache", gc.collect)()
assert used() == reserved
second = mem_pool()
with torch.cuda.use_mem_pool(second):
    again = torch.zeros(4, 256, dtype=torch.float32, device=local)
assert again.tolist() == [[0.0] * 256] * 4
assert again.data_ptr() == place
del again, second
gc.collect()

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
