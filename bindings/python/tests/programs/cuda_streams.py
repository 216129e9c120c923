"""Operations on streams of torch, CuPy, cuda.core, on numbers and on our own, without waiting in
between; streams that go away; memory that is dropped while a stream uses it.
"""

import gc
import os
import time

import cupy
import numpy as np
import torch
from cuda.core import Device
from expect import raises

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp, _job

number = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
torch.cuda.set_device(number)
device = Device(number)
device.set_current()
nvshmem.init(heap_bytes=1 << 25, timeout=60)  # the current context's GPU
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
assert nvshmem.buffer(8).device_id == number
local = torch.device("cuda", number)

torchs, cupys, cores = torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True), device.create_stream()
own = nvshmem.Stream()
version, raw = own.__cuda_stream__()
assert version == 0 and raw
wrapped = nvshmem.NvshmemStream(torchs)
kinds = [torchs, cupys, cores, own, torchs.cuda_stream, wrapped]


def wait(stream):
    (getattr(stream, "synchronize", None) or getattr(stream, "sync", None) or torchs.synchronize)()


signal, total = nvshmem.array(1, "u8"), nvshmem.array(64, "i8")
box, ones = nvshmem.tensor(64, dtype=torch.int64), nvshmem.tensor(64, dtype=torch.int64)
send = torch.zeros(64, dtype=torch.int64, device=local)
for step, stream in enumerate(kinds, 1):
    wait(stream)
    send.fill_(100 * step + me)
    ones.fill_(step)
    torch.cuda.current_stream().synchronize()
    nvshmem.barrier_all()
    nvshmem.put_signal(box, send, signal, step, SignalOp.SIGNAL_SET, right, stream)
    nvshmem.signal_wait(signal, step, ComparisonType.CMP_GE, stream)
    nvshmem.reduce("WORLD", total, ones, "sum", stream)
    nvshmem.atomic_add(ones, 5, me, stream=stream)
    nvshmem.put(total[:1], ones[:1], me, stream=stream)
    nvshmem.quiet(stream)
    nvshmem.barrier_all(stream)
    event = nvshmem.Event()
    event.record(stream)
    event.synchronize()
    assert box.tolist() == [100 * step + left] * 64, (step, box.tolist()[:4])
    assert total.tolist() == [step + 5] + [step * n] * 63, (step, total.tolist()[:4])
    assert nvshmem.atomic_fetch(ones, me, stream=stream) == step + 5
    assert nvshmem.g(total, right, stream) == step + 5
    nvshmem.barrier_all()

# One handle for each stream. One that nobody else refers to is let go before the next is used, and
# only then destroyed.
assert set(_job.adopted) >= {torchs.cuda_stream, cupys.ptr, cores.__cuda_stream__()[1]}
known = set(_job.adopted)
for _ in range(20):
    temporary = device.create_stream()
    nvshmem.put(box, send, me, temporary)
    assert _job.adopted.keys() - known == {temporary.__cuda_stream__()[1]}
    del temporary
    gc.collect()
nvshmem.put(box, send, me, device.create_stream())
used = device.create_stream()
nvshmem.put(box, send, me, used)
assert _job.adopted.keys() - known == {used.__cuda_stream__()[1]}

# Our stream waits for another library's.
torchs.synchronize()
with torch.cuda.stream(torchs):
    send.fill_(-3)
own.wait(torchs)
nvshmem.put(box, send, me, own)
own.synchronize()
assert box.tolist() == [-3] * 64

# What is no stream is an error at once, in collectives on every PE.
for wrong in ("stream", object(), -1, 1.5):
    for call in (
        lambda: nvshmem.put(box, send, me, stream=wrong),
        lambda: nvshmem.barrier_all(wrong),
        lambda: nvshmem.reduce("WORLD", total, ones, "sum", wrong),
    ):
        raises(nvshmem.NvshmemError, "cudaStream_t", call)

# Memory that was dropped is not given away before the streams have passed.
gate = nvshmem.array(1, "u8")
dropped = nvshmem.tensor(1024, dtype=torch.int64)
address = dropped.data_ptr()
nvshmem.barrier_all()
nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, cores)
nvshmem.put(dropped, np.arange(1024), me, cores)
del dropped
gc.collect()
next_one = nvshmem.tensor(1024, dtype=torch.int64)
assert next_one.data_ptr() != address
nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, me)
cores.sync()
nvshmem.barrier_all()
for _ in range(100):  # once all PEs have said so
    last = nvshmem.tensor(1024, dtype=torch.int64)
    if last.data_ptr() == address:
        break
    time.sleep(0.01)
assert last.data_ptr() == address, (last.data_ptr(), address)

# finalize waits for the streams that were used, and for the current ones.
nvshmem.barrier_all()
nvshmem.put(box, np.full(64, 4), me, cupys)
with torch.cuda.stream(torch.cuda.Stream()):
    last.fill_(6)
    nvshmem.finalize()
assert box.tolist() == [4] * 64 and last.tolist() == [6] * 1024
assert not _job.adopted
try:
    own.query()
except nvshmem.NvshmemInvalid:
    pass
print("ok\n", end="")
