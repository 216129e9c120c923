"""CuTe tensors on a heap in device memory: made, those of peers, registered, freed; wrong arguments.
No kernel is launched, so it also runs with a stand-in for the driver.
"""

import ctypes
import os

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.cute as nv

import nvshmemrs.core.interop.cute as heap  # isort: skip; it finds the next ones
import cutlass
import cutlass.cute as cute

os.environ["NVSHMEMRS_MEMORY"] = "device"


raises(nvshmem.NotInitializedError, "init", lambda: heap.tensor(4))
nvshmem.init(heap_bytes=1 << 24, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()

KINDS = (cutlass.Boolean, cutlass.Int8, cutlass.Uint16, cutlass.BFloat16, cutlass.Float32)
for kind in (*KINDS, cutlass.Float64, cutlass.Int64, cutlass.Float16):
    t = heap.tensor((4, 6), kind)
    size = 24 * max(kind.width // 8, 1)
    assert isinstance(t, cute.Tensor) and t.element_type is kind, t
    assert tuple(t.shape) == (4, 6) and tuple(t.stride) == (6, 1), t
    buffer, nbytes, dtype = heap.tensor_get_buffer(t)
    assert (buffer.handle, nbytes, dtype) == (int(t.data_ptr), size, kind)
    peer = heap.get_peer_tensor(t, (me + 1) % n)
    stride = nvshmem.device.state().stride
    assert int(peer.data_ptr) == int(t.data_ptr) + ((me + 1) % n - me) * stride
    assert peer.element_type is kind and tuple(peer.stride) == (6, 1)
    heap.free_tensor(t)
    raises(nvshmem.NvshmemError, "freed", lambda: heap.tensor_get_buffer(t))  # noqa: B023

t = heap.tensor((4, 6), cutlass.Float32, morder="F")
assert tuple(t.stride) == (1, 4), t
assert tuple(heap.get_peer_tensor(t, me).stride) == (1, 4)
there = heap.tensor_get_buffer(t)[0]
there.copy_from(np.full(96, me + 1, "u1"))
nvshmem.barrier_all()
copy = np.zeros(96, "u1")
nvshmem.get(copy, there, (me + 1) % n)
assert set(copy.tolist()) == {(me + 1) % n + 1}, copy
nvshmem.barrier_all()
raises(nvshmem.NvshmemInvalid, "peer_pe is missing", lambda: heap.get_peer_tensor(t))
raises(nvshmem.NvshmemInvalid, str(n), lambda: heap.get_peer_tensor(t, n))
raises(nvshmem.NvshmemInvalid, "interop.cute made", lambda: heap.tensor_get_buffer(there))
raises(nvshmem.NvshmemInvalid, "interop.cute made", lambda: heap.get_peer_tensor(5, 0))
raises(nvshmem.NotSupportedError, "multicast", lambda: heap.get_multicast_tensor(0, t))


# A launch by CuTe passes the 64 bytes and the tensor's address.
@cute.kernel
def kernel(state: nv.State, x: cute.Tensor):
    nv.use(state)
    nv.p(x, 1, nv.my_pe())


@cute.jit
def launch(state: nv.State, x: cute.Tensor):
    kernel(state, x).launch(grid=[1, 1, 1], block=[1, 1, 1])


state = nvshmem.device.state()
compiled, library = heap.cute_compile_helper(launch, state, t, options="--gpu-arch sm_90a")
assert library is None
given, kept = compiled.generate_execution_args(state, t)
assert ctypes.string_at(given[0], 64) == bytes(state)
assert ctypes.c_uint64.from_address(given[1]).value == int(t.data_ptr)
del kept

b = heap.bytetensor((3, 5), cutlass.Float64)
assert b.element_type is cutlass.Int8 and tuple(b.shape) == (120,), b
heap.free_tensor(b)
heap.free_tensor(t)
heap.cleanup_cute()
if n == 1:
    raises(nvshmem.NvshmemInvalid, "Float32", lambda: heap.tensor(4, "float32"))
    raises(nvshmem.NvshmemInvalid, "morder", lambda: heap.tensor(4, morder="X"))
    raises(nvshmem.NvshmemInvalid, "shape", lambda: heap.tensor((2, -1)))
nvshmem.finalize()
raises(nvshmem.NotInitializedError, "init", lambda: heap.tensor(4))
print("ok")
