"""A program that knows NVSHMEM4Py only, as its examples are: MPI, cuda.core, CuPy, torch, a stream.
It has nothing of nvshmemrs in it.
"""

import sys

import cupy
import nvshmem.core
import torch
from cuda.core import Device
from mpi4py import MPI
from nvshmem import bindings
from nvshmem.core.interop import torch as nvshmem_torch
from nvshmem.core.interop.cupy import array, array_get_buffer, free_array

comm = MPI.COMM_WORLD
rank, nranks = comm.Get_rank(), comm.Get_size()
dev = Device(rank % torch.cuda.device_count())
dev.set_current()
if sys.argv[1] == "uid":
    uid = nvshmem.core.get_unique_id(empty=rank != 0)
    comm.Bcast(uid._data.view("int8"), root=0)
    nvshmem.core.init(device=dev, uid=uid, rank=rank, nranks=nranks, initializer_method="uid")
else:
    nvshmem.core.init(device=dev, mpi_comm=comm, initializer_method="mpi")
me, n = nvshmem.core.my_pe(), nvshmem.core.n_pes()
stream = dev.create_stream()

# CuPy: a reduction, a put with a signal, and a peer's memory.
src, dst = array((10,), dtype="float32"), array((10,), dtype="float32")
flag = array((1,), dtype="uint64")
assert isinstance(src, cupy.ndarray)
src[:] = me + 1
cupy.cuda.get_current_stream().synchronize()
nvshmem.core.reduce(nvshmem.core.Teams.TEAM_WORLD, dst, src, "sum", stream=stream)
stream.sync()
assert dst.tolist() == [n * (n + 1) / 2] * 10
nvshmem.core.barrier(nvshmem.core.Teams.TEAM_WORLD, stream=stream)
signal, _, _ = array_get_buffer(flag)
nvshmem.core.put_signal(
    dst, src, signal, 1, nvshmem.core.SignalOp.SIGNAL_SET, remote_pe=(me + 1) % n, stream=stream
)
nvshmem.core.signal_wait(signal, 1, nvshmem.core.ComparisonType.CMP_EQ, stream=stream)
nvshmem.core.barrier(nvshmem.core.Teams.TEAM_WORLD, stream=stream)
stream.sync()
assert dst.tolist() == [(me - 1) % n + 1] * 10
peer = nvshmem.core.get_peer_array(dst, (me + 1) % n)
assert peer.shape == dst.shape

# The same by numbers.
address, number = dst.data.ptr, int(stream.__cuda_stream__()[1])
nbytes, right = dst.nbytes, (me + 1) % n
bindings.barrier_all_on_stream(number)
bindings.float_sum_reduce_on_stream(bindings.Team_id.TEAM_WORLD, address, src.data.ptr, 10, number)
bindings.barrier_all_on_stream(number)
bindings.putmem_on_stream(address, src.data.ptr, nbytes, right, number)
bindings.quiet_on_stream(number)
bindings.barrier_all_on_stream(number)
stream.sync()
assert dst.tolist() == [(me - 1) % n + 1] * 10
assert bindings.ptr(address, right) == peer.data.ptr
for one in (src, dst, flag):
    free_array(one)

# torch.
one = nvshmem_torch.tensor((4, 4), dtype=torch.int32)
all_of_them = nvshmem.core.tensor((4 * n, 4), dtype=torch.int32)
one.fill_(me)
nvshmem.core.fcollect("TEAM_WORLD", all_of_them, one, stream=None)
assert all_of_them.tolist() == [[pe] * 4 for pe in range(n) for _ in range(4)]
nvshmem.core.free_tensor(one)
nvshmem.core.free_tensor(all_of_them)
nvshmem.core.finalize()
print("ok\n", end="")
