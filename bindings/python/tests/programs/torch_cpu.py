"""torch tensors on host memory: over symmetric arrays, and as the local side; all without a copy."""

import functools

import expect
import numpy as np
import torch

import nvshmemrs.core as nvshmem
from nvshmemrs.core._operand import operand

nvshmem.init(timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right = (me + 1) % n


refused = functools.partial(expect.raises, nvshmem.NvshmemInvalid)

a, buffer = nvshmem.array((4, 3), "f4"), nvshmem.buffer(48)
where = a.__array_interface__["data"][0]
over = [torch.from_dlpack(a), torch.from_numpy(a), torch.as_tensor(a)]
assert [tensor.data_ptr() for tensor in over] == [where] * 3
over_buffer = torch.frombuffer(buffer, dtype=torch.float32).reshape(4, 3)
assert over_buffer.data_ptr() == torch.from_dlpack(buffer).data_ptr() == buffer.handle

# A tensor over symmetric memory is symmetric: its elements move, by their strides.
for tensor in (*over, over_buffer):
    assert operand(tensor, "dst").address == tensor.data_ptr()
    tensor.fill_(-1)
    nvshmem.barrier_all()
    private = torch.arange(12, dtype=torch.float32).reshape(4, 3) + 100 * me
    assert operand(private, "src").address == private.data_ptr()
    nvshmem.put(tensor, private, right)
    nvshmem.barrier_all()
    left = (me - 1) % n
    assert torch.equal(tensor, torch.arange(12.0).reshape(4, 3) + 100 * left), tensor
    nvshmem.barrier_all()
    nvshmem.put(tensor[:, 1], private[:, 2].neg(), right)
    nvshmem.barrier_all()
    assert tensor[:, 1].tolist() == [-(3.0 * row + 2 + 100 * left) for row in range(4)]
    nvshmem.barrier_all()
    got = torch.zeros(3)
    nvshmem.get(got, tensor[2], me)
    assert torch.equal(got, tensor[2])
    tensor.fill_(me + 1)
    nvshmem.reduce(0, tensor, tensor, "sum")
    assert (tensor == n * (n + 1) / 2).all()
    assert nvshmem.array_get_buffer(a)[0].handle == where

# Types: bfloat16 is torch's own, others have NumPy's names.
for dtype in (torch.uint8, torch.int16, torch.int64, torch.float16, torch.float64, torch.bfloat16):
    size = torch.empty(0, dtype=dtype).element_size()
    memory = nvshmem.buffer(8 * size)
    tensor = torch.frombuffer(memory, dtype=dtype)
    assert tensor.data_ptr() == memory.handle
    tensor.fill_(2)
    nvshmem.put(tensor, torch.full((8,), 3, dtype=dtype), right)
    nvshmem.barrier_all()
    nvshmem.reduce("TEAM_WORLD", tensor, tensor, "max")
    assert tensor.tolist() == [3] * 8
    nvshmem.free(memory)

# On a stream.
with nvshmem.Stream() as stream:
    nvshmem.put(over[0], torch.ones(4, 3), right, stream)
nvshmem.barrier_all()
assert (a == 1).all()
# Bounds and lifetimes are those of the array.
rest = over[0].view(-1)[:8]
refused("dst is 12 elements", lambda: nvshmem.put(over[0], torch.zeros(3, 3), right))
refused("dtype", lambda: nvshmem.put(over[0], torch.zeros(4, 3, dtype=torch.float64), right))
refused("dst", lambda: nvshmem.put(torch.zeros(4, 3), over[0], right))
refused("16 bytes before its allocation", lambda: nvshmem.collect(0, rest, over[0].view(-1)[:2]))
refused("to_dense", lambda: nvshmem.put(over[0], torch.zeros(4, 3).to_sparse(), right))
nvshmem.free_array(a)
refused("", lambda: nvshmem.put(over[0], torch.zeros(4, 3), right))
nvshmem.free(buffer)
assert np.__version__
nvshmem.finalize()
print("ok\n", end="")
