"""JAX's handler for GPUs, called as XLA calls it, with the stand-in for the driver: XLA itself is not there."""

import ctypes as c
from functools import partial

import fakegpu
import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs import _ffi
from nvshmemrs.core import _job
from nvshmemrs.core.interop.jax import _calls

P = c.c_void_p


class Buffer(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("dtype", c.c_int), ("data", P), ("rank", c.c_int64), ("dims", P)]


class Span(c.Structure):
    _fields_ = [("at", c.c_char_p), ("length", c.c_size_t)]


class Scalar(c.Structure):
    _fields_ = [("dtype", c.c_int), ("value", P)]


class Buffers(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("count", c.c_int64), ("types", P), ("buffers", P)]


class Attributes(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("count", c.c_int64), ("types", P), ("names", P), ("values", P)]


class Call(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("api", P), ("context", P), ("stage", c.c_int)]
    _fields_ += [("operands", Buffers), ("results", Buffers), ("attributes", Attributes)]


class Error(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("message", c.c_char_p), ("code", c.c_int)]


class Stream(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("context", P), ("stream", P)]


class Api(c.Structure):
    _fields_ = [("size", c.c_size_t), ("extensions", P), ("version", P * 3), ("internal", P), ("error", P), ("unused", P * 3), ("stream", P)]


nvshmem.init(heap_bytes=1 << 24)
fakegpu.set_device(_job.job.device)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
xla, told = fakegpu.Stream(), []


@c.CFUNCTYPE(P, c.POINTER(Error))
def error(given):
    told.append((given[0].code, given[0].message.decode()))
    return 1


@c.CFUNCTYPE(P, c.POINTER(Stream))
def stream(given):
    given[0].stream = xla.raw
    return None


api = Api(error=c.cast(error, P), stream=c.cast(stream, P))
library = c.CDLL(_ffi.library_path().replace("libnvshmemrs.so.0", "libnvshmemrs_jax.so").replace("libnvshmemrs.so", "libnvshmemrs_jax.so"))
library.nvshmemrs_jax_use.argtypes = [c.c_uint64, P, c.c_size_t]
library.nvshmemrs_jax_cuda.restype = P
library.nvshmemrs_jax_host.restype = P


class Value:
    """An array of XLA's: private memory of the GPU, which the host reads here."""

    def __init__(self, values, xla_type):
        values = np.asarray(values)
        self.memory = fakegpu.PrivateMemory(values.nbytes)
        self.array = fakegpu.bytes_at(self.memory.address, values.nbytes, self).view(values.dtype)
        self.array[:] = values.reshape(-1)
        self.dims = (c.c_int64 * values.ndim)(*values.shape)
        self.buffer = Buffer(0, None, xla_type, self.memory.address, values.ndim, c.cast(self.dims, P))


def of(values):
    pointers = (P * len(values))(*(c.addressof(value.buffer) for value in values))
    made = Buffers(0, None, len(values), None, c.cast(pointers, P))
    made.keep = pointers, values
    return made


def call(operation, operands, results, handler=library.nvshmemrs_jax_cuda, **numbers):
    numbers["operation"] = _calls._OPERATIONS[operation]
    names = sorted(numbers)
    words = [c.c_int64(numbers[name]) for name in names]
    scalars = [Scalar(5, c.addressof(word)) for word in words]
    spans = [Span(name.encode(), len(name)) for name in names]
    types = (c.c_int * len(names))(*[3] * len(names))
    at = [(P * len(names))(*map(c.addressof, things)) for things in (spans, scalars)]
    attributes = Attributes(0, None, len(names), c.cast(types, P), c.cast(at[0], P), c.cast(at[1], P))
    given, taken = of(operands), of(results)
    frame = Call(0, None, c.addressof(api), None, 3, given, taken, attributes)
    return handler(c.byref(frame))


F32, U32 = 11, 8
token, after = Value(np.zeros(1, "u4"), U32), Value(np.zeros(1, "u4"), U32)
x, y = Value(np.arange(6, dtype="f4") + me, F32), Value(np.zeros(6, "f4"), F32)
assert call("barrier", [token], [after], team=0) and "has not called interop.jax.start" in told.pop()[1]

staging, inbox, signal = nvshmem.buffer(1 << 16), nvshmem.buffer(1024), nvshmem.buffer(64)
assert library.nvshmemrs_jax_use(_job.job.runtime, staging.handle, staging.size) == 0
box, flag = inbox.handle - staging.handle, signal.handle - staging.handle
# The contents of a Buffer are undefined.
zeros = np.zeros(1024, np.uint8)
nvshmem.put(inbox, zeros, me), nvshmem.put(signal, zeros[:64], me)
nvshmem.barrier_all()


def good(*arguments, **numbers):
    assert not call(*arguments, **numbers), told
    xla.synchronize()


total = sum(np.arange(6, dtype="f4") + pe for pe in range(n))
for _ in range(3):
    good("reduce", [token, x], [after, y], team=0, count=6, dtype=int(_ffi.Dtype.FLOAT), op=int(nvshmem.Op.SUM))
    assert (y.array == total).all(), y.array
every = Value(np.zeros((n, 6), "f4"), F32)
good("fcollect", [token, x], [after, every], team=0)
assert (every.array.reshape(n, 6) == [np.arange(6) + pe for pe in range(n)]).all(), every.array
good("broadcast", [token, x], [after, y], team=0, root=n - 1)
assert (y.array == np.arange(6) + n - 1).all(), y.array

right, left = (me + 1) % n, (me - 1) % n
good("put", [token, x], [after], dest=box, pe=right)
good("quiet", [token], [after])
good("barrier", [token], [after], team=0)
good("get", [token], [after, y], source=box, pe=me)
assert (y.array == np.arange(6) + left).all(), y.array
for turn in range(1, 4):
    x.array[:] = np.arange(6) + 10 * turn + me
    good("barrier", [token], [after], team=0)
    good("put_signal", [token, x], [after], dest=box, signal=flag, value=turn, pe=right, signal_op=9)
    good("signal_wait", [token], [after], signal=flag, value=turn, cmp=5)
    good("get", [token], [after, y], source=box, pe=me)
    assert (y.array == np.arange(6) + 10 * turn + left).all(), y.array

# On XLA's own buffers, which are private memory: the staging area stays as it is.
untouched = np.full(1 << 16, 0xEE, np.uint8)
nvshmem.put(staging, untouched, me)
nvshmem.barrier_all()
kinds = {"dtype": int(_ffi.Dtype.FLOAT), "op": int(nvshmem.Op.SUM), "team": 0, "private": 1}
wide = Value(np.arange(1 << 14, dtype="f4") % 100 + me, F32)
summed = Value(np.zeros(1 << 14, "f4"), F32)
parts = Value(np.arange(6 * n, dtype="f4") + 100 * me, F32)
sent = Value(np.zeros(6 * n, "f4"), F32)
for turn in range(3):
    x.array[:] = np.arange(6) + 10 * turn + me
    good("reduce", [token, x], [after, y], count=6, **kinds)
    assert (y.array == total + 10 * turn * n).all(), y.array
    good("fcollect", [token, x], [after, every], **kinds)
    assert (every.array.reshape(n, 6) == [np.arange(6) + 10 * turn + pe for pe in range(n)]).all(), every.array
    good("broadcast", [token, x], [after, y], root=n - 1, **kinds)
    assert (y.array == np.arange(6) + 10 * turn + n - 1).all(), y.array
    good("reducescatter", [token, parts], [after, y], count=6, **kinds)
    assert (y.array == n * (np.arange(6) + 6 * me) + 50 * n * (n - 1)).all(), y.array
    good("alltoall", [token, parts], [after, sent], count=24, **kinds)
    assert (sent.array.reshape(n, 6) == [np.arange(6) + 6 * me + 100 * pe for pe in range(n)]).all(), sent.array
    # The staging area has no room for this operand and its result.
    good("reduce", [token, wide], [after, summed], count=1 << 14, **kinds)
    assert (summed.array == n * (np.arange(1 << 14) % 100) + n * (n - 1) // 2).all(), summed.array
left_there = np.zeros_like(untouched)
nvshmem.get(left_there, staging, me)
assert (left_there == untouched).all()
nothing = Value(np.zeros(0, "f4"), F32)
good("reduce", [token, nothing], [after, nothing], count=0, **kinds)
large = Value(np.zeros(3 << 20, "f4"), F32)
assert call("reduce", [token, large], [after, large], count=3 << 20, **kinds) and "must be in symmetric memory" in told.pop()[1]



class Plain:
    """The same memory as another library's array. nvshmem.core's own collectives take symmetric arrays only."""

    __cuda_array_interface__ = {"version": 3, "shape": (6,), "typestr": "<f4", "data": (x.memory.address, False)}


heap = nvshmem.buffer(6 * 4)
for arrays in ((Plain(), Plain()), (heap, Plain()), (Plain(), heap)):
    for collective in (partial(nvshmem.reduce, op="sum", dtype="float32"), partial(nvshmem.broadcast, root=0)):
        try:
            collective("WORLD", *arrays, stream=xla.raw)
        except nvshmem.NvshmemInvalid as error:
            name = "dst" if isinstance(arrays[0], Plain) else "src"
            assert f"argument `{name}` is {x.memory.address:#x}; it must be a symmetric address" in str(error), error
        else:
            raise AssertionError("memory that is not symmetric was taken")
xla.synchronize()

# Errors, of the library and of the handler.
assert call("put", [token, x], [after], dest=-(1 << 40), pe=right) and "argument `dst` is 0x" in told[-1][1], told
assert call("put", [token, x], [after], dest=box, pe=n) and "nvshmemrs: " in told.pop()[1]
assert call("reduce", [token, wide], [after, wide], team=0, count=1) and "staging area, which has 65536" in told.pop()[1]
assert call("barrier", [token], [after], handler=library.nvshmemrs_jax_host) and "on the host" in told.pop()[1]
assert call("kernel", [token], [after], count=65, launch=1) and "at most 64" in told.pop()[1]

# A kernel: what Mosaic's launch gets.
seen = []


@c.CFUNCTYPE(None, P, P, c.POINTER(P))
def launch(function, stream, buffers):
    seen.append((function, stream, [buffers[at] for at in range(3)]))


address = c.cast(launch, P).value
numbers = {"operand_0": 1, "offset_1": box, "operand_2": 2}
good("kernel", [token, x, y], [after], count=3, launch=address, function=77, **numbers)
assert seen == [(77, xla.raw, [x.memory.address, inbox.handle, y.memory.address])], seen

nvshmem.barrier_all()
assert library.nvshmemrs_jax_use(0, None, 0) == 0
nvshmem.finalize()
print("ok", flush=True)
