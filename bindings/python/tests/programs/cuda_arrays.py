"""CuPy arrays, torch tensors and Buffers on a heap in device memory: transfers, atomics, signals and
collectives on them, peers' copies, views, freeing and collecting; without a stream, after prior work on
the current one.
"""

import functools
import gc
import os
import sys

import cupy
import expect
import numpy as np
import torch

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp

number = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
torch.cuda.set_device(number)
cupy.cuda.Device(number).use()
nvshmem.init(device=torch.device("cuda", number), heap_bytes=1 << 25, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
local = torch.device("cuda", number)


raises = functools.partial(expect.raises, nvshmem.NvshmemError)

# --- Buffers ---
b = nvshmem.buffer(4096)
assert b.device_id == number and b.is_device_accessible and not b.is_host_accessible
assert b.handle == b.__cuda_array_interface__["data"][0] and b.__dlpack_device__() == (2, number)
assert not hasattr(b, "__array_interface__")
expect.raises(TypeError, "GPU", np.asarray, b)
b.copy_from(np.arange(4096, dtype="u2").view("u1")[:4096])
back = np.zeros(4096, "u1")
assert b.copy_to(back) is back and back.view("u2")[:3].tolist() == [0, 1, 2]
nvshmem.barrier_all()
nvshmem.put(b, np.full(4096, me, "u1"), right)
nvshmem.barrier_all()
assert set(b.copy_to(back).tolist()) == {left}
raises("4096 bytes", lambda: b.copy_to(back[1:]))
shared = torch.from_dlpack(b) if hasattr(torch, "from_dlpack") else None
assert shared.data_ptr() == b.handle and shared.shape == (4096,)
del shared
nvshmem.free(b)

# --- CuPy ---
a = nvshmem.array((4, 8), "f4")
assert isinstance(a, cupy.ndarray) and a.data.ptr and not a.get().any()
nvshmem.barrier_all()
assert nvshmem.array_get_buffer(a[1:])[0] is nvshmem.array_get_buffer(a)[0]
src = cupy.zeros((4, 8), dtype="f4")
stream = cupy.cuda.Stream(non_blocking=True)
with stream:
    src.fill(me + 1)  # not there yet when put is called
    nvshmem.put(a, src, right)
nvshmem.barrier_all()
assert (a.get() == left + 1).all()
nvshmem.barrier_all()
nvshmem.put(a[:, 2], np.arange(4, dtype="f4") + me, right)
nvshmem.barrier_all()
assert a.get()[:, 2].tolist() == [left, left + 1, left + 2, left + 3] and a.get()[0, 3] == left + 1
got = np.zeros((4, 8), "f4")
nvshmem.get(got[::-1], a, right)
assert got[3, 2] == me and got[0, 2] == me + 3
peer = nvshmem.get_peer_array(a[1:, 2:4], right)
assert peer.shape == (3, 2) and peer.strides == (32, 4) and peer.get()[0, 0] == me + 1
nvshmem.barrier_all()
peer[...] = 50 + me  # a store to the peer's memory
stream.synchronize()
cupy.cuda.get_current_stream().synchronize()
nvshmem.barrier_all()
assert (a.get()[1:, 2:4] == 50 + left).all()
f = nvshmem.array((3, 2), "i4", morder="F")
assert f.flags.f_contiguous
nvshmem.put(f, np.asfortranarray(np.arange(6, dtype="i4").reshape(3, 2)), me)
assert f.get().tolist() == [[0, 1], [2, 3], [4, 5]]
assert nvshmem.bytearray((2, 3), "f8").shape == (48,)
raises("dtype", lambda: nvshmem.put(a, f, right))
raises("dst is 32 elements", lambda: nvshmem.put(a, src[0], right))

# --- torch ---
t = nvshmem.tensor((2, 16), dtype=torch.bfloat16)
assert t.device.type == "cuda" and t.device.index == number and t.dtype is torch.bfloat16
assert nvshmem.tensor_get_buffer(t[1])[0] is nvshmem.tensor_get_buffer(t)[0]
assert nvshmem.tensor_get_buffer(t)[1:] == (64, "bfloat16")
s = torch.cuda.Stream()
send = torch.zeros(2, 16, dtype=torch.float32, device=local)
box = nvshmem.tensor((2, 16), dtype=torch.float32)
with torch.cuda.stream(s):
    send.fill_(7 + me)
    nvshmem.put(box, send, right)
nvshmem.barrier_all()
assert box.tolist()[1][3] == 7 + left
nvshmem.put(box[1], np.zeros(16, "f4"), me)  # NumPy beside torch
assert box.tolist()[1] == [0] * 16 and box.tolist()[0] == [7 + left] * 16
nvshmem.put(box[1, :8], a[1], me)  # CuPy beside torch
assert box.tolist()[1][2] == 50 + left
kept = nvshmem.get_peer_tensor(box[:, 4:], right)
assert tuple(kept.shape) == (2, 12) and kept.stride() == (16, 1) and kept.device.index == number
nvshmem.barrier_all()
kept.fill_(-1)
torch.cuda.current_stream().synchronize()
nvshmem.barrier_all()
assert box.tolist()[0] == [7 + left] * 4 + [-1] * 12
square = nvshmem.tensor((4, 4), dtype=torch.int32)
nvshmem.put(square, np.arange(16, dtype="i4").reshape(4, 4), me)
square.t_()  # the same object, another layout
nvshmem.get(got := np.zeros((4, 4), "i4"), square, me)
assert got.tolist() == np.arange(16).reshape(4, 4).T.tolist()
square.t_()
host = torch.zeros(4, 4, dtype=torch.int32)
nvshmem.get(host, square, me)
assert host.tolist()[3] == [12, 13, 14, 15]
assert nvshmem.bytetensor((2, 3), dtype=torch.float64).shape == (48,)
raises("give a torch.dtype", lambda: nvshmem.tensor(3, dtype="f4"))

# --- one element, signals, atomics, waits ---
nvshmem.barrier_all()
nvshmem.p(box, 2.5, right)
nvshmem.barrier_all()
assert nvshmem.g(box, me) == 2.5
counter = nvshmem.array(2, "i8")
nvshmem.atomic_add(counter, 5, right, offset=1)
nvshmem.barrier_all()
assert nvshmem.atomic_fetch(counter, me, offset=1) == 5
assert nvshmem.atomic_fetch_add(counter, 2, me, offset=1) == 5 and counter.tolist() == [0, 7]
flag = nvshmem.array(1, "u8")
nvshmem.put_signal(a, src, flag, 3, SignalOp.SIGNAL_SET, right)
assert nvshmem.signal_wait(flag, 3, ComparisonType.CMP_EQ) == 3
assert nvshmem.signal_fetch(flag) == 3 and (a.get() == left + 1).all()
nvshmem.wait_until(flag, ComparisonType.CMP_GE, 3)
assert nvshmem.test(flag, ComparisonType.CMP_EQ, 3)
nvshmem.iput(a, np.arange(8, dtype="f4"), 4, 2, 4, me)
assert a.get().reshape(-1)[:16:4].tolist() == [0, 2, 4, 6]
nvshmem.barrier_all()

# --- collectives ---
ones, total = nvshmem.tensor(8), nvshmem.tensor(8)
ones.fill_(me + 1)
nvshmem.reduce("WORLD", total, ones, "sum")
assert total.tolist() == [n * (n + 1) / 2] * 8
t.fill_(0)
nvshmem.reduce("WORLD", t, t, "max")  # bfloat16
# float8: every code stays, but for NaN, of which there is one; twice the largest is the largest.
codes = nvshmem.tensor(256, dtype=torch.float8_e4m3fn)
bits = np.arange(256, dtype="u1")
nvshmem.tensor_get_buffer(codes)[0].copy_from(bits)
nvshmem.barrier_all()
nvshmem.reduce("WORLD", codes, codes, "max")
nvshmem.tensor_get_buffer(codes)[0].copy_to(bits)
assert bits.tolist() == [*range(255), 0x7F]
nvshmem.reduce("WORLD", codes, codes, "sum")
nvshmem.tensor_get_buffer(codes)[0].copy_to(bits)
assert n == 1 or bits[[0x7E, 0xFE, 0x7F, 0x80, 0xFF]].tolist() == [0x7E, 0xFE, 0x7F, 0x80, 0x7F]
parts, part = nvshmem.array(n * 2, "i4"), nvshmem.array(2, "i4")
part.fill(me)
nvshmem.fcollect("WORLD", parts, part)
assert parts.tolist() == [pe for pe in range(n) for _ in range(2)]
parts.fill(me)
nvshmem.alltoall("WORLD", parts, parts)
assert parts.tolist() == [pe for pe in range(n) for _ in range(2)]
nvshmem.broadcast("WORLD", part, part, n - 1)
assert part.tolist() == [n - 1] * 2
part.fill(me)
nvshmem.gather("WORLD", parts if me == n - 1 else None, part, n - 1)
assert parts.tolist() == [pe for pe in range(n) for _ in range(2)]
parts[:] = parts * 3
nvshmem.scatter("WORLD", part, parts if me == n - 1 else None, n - 1)
assert part.tolist() == [3 * me] * 2
raises("dtype", lambda: nvshmem.fcollect("WORLD", parts, counter))

# --- freeing ---
nvshmem.free_array(f)
raises("was freed", lambda: nvshmem.put(f, f, me))
raises("was freed", lambda: nvshmem.free_array(f))
nvshmem.free_tensor(box)
raises("was freed", lambda: nvshmem.free_tensor(box))
raises("was freed", lambda: nvshmem.put(box, send, me))
raises("a view of 32 bytes", lambda: nvshmem.free_array(a[0]))
again = nvshmem.tensor((2, 16))  # where box was, most likely
raises("was freed", lambda: nvshmem.free_tensor(box))
with nvshmem.array(3) as scoped:
    pass
raises("was freed", lambda: nvshmem.free_array(scoped))


def allocations() -> int:
    """What is allocated when all that was dropped is given back."""
    gc.collect()
    for used in (stream, s, cupy.cuda.get_current_stream()):
        used.synchronize()  # so that nothing can use it any more
    for _ in range(2):  # once all PEs have said so
        nvshmem.free(nvshmem.buffer(8))
    return nvshmem.heap_stats().allocations


before = allocations()
view = again[1]
del again
assert allocations() == before  # the view keeps it
del view
assert allocations() == before - 1
last = nvshmem.tensor(4).fill_(9)
with torch.cuda.stream(s):
    last.fill_(5)
nvshmem.finalize()
assert last.tolist() == [5] * 4  # what it held
raises("finalize", lambda: nvshmem.put(last, last, 0))
assert "numba" not in sys.modules
print("ok\n", end="")
