"""A stand-in for torch, as far as nvshmemrs and its tests use it; see cupy.py."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from typing import Any, Iterator, List

import fakegpu
import numpy as np


class dtype:
    """An element type; `carried` is what NumPy calls the bits."""

    def __init__(self, name: str, carried: str) -> None:
        self.name, self.carried = name, np.dtype(carried)

    def __repr__(self) -> str:
        return f"torch.{self.name}"


float16, float32, float64 = (dtype(f"float{n}", f"f{n // 8}") for n in (16, 32, 64))
int8, int16, int32, int64 = (dtype(f"int{n}", f"i{n // 8}") for n in (8, 16, 32, 64))
uint8, bool_ = dtype("uint8", "u1"), dtype("bool", "?")
complex64, complex128 = dtype("complex64", "c8"), dtype("complex128", "c16")
bfloat16, float8_e4m3fn = dtype("bfloat16", "i2"), dtype("float8_e4m3fn", "i1")
_BY_CARRIED = {
    one.carried: one
    for one in (float16, float32, float64, int8, int16, int32, int64, uint8, complex64, complex128)
}
strided, sparse_coo = object(), object()


def get_default_dtype() -> dtype:
    """float32"""
    return float32


class device:
    """A device."""

    def __init__(self, kind: str, index: Any = None) -> None:
        self.type, _, number = kind.partition(":")
        self.index = int(number) if number else index

    def __repr__(self) -> str:
        return f"device(type={self.type!r}, index={self.index})"


_numbers = itertools.count(1)


class Storage:
    """Who keeps the memory."""

    def __init__(self, keep: Any) -> None:
        self.keep, self._cdata = keep, next(_numbers)


class Tensor:
    """A tensor."""

    def __init__(self, elements: np.ndarray, kind: dtype, where: device, storage: Storage) -> None:
        self._elements, self.dtype, self.device, self._storage = elements, kind, where, storage
        self.layout = strided

    shape = property(lambda self: self._elements.shape)
    nbytes = property(lambda self: self._elements.nbytes)
    is_cuda = property(lambda self: self.device.type == "cuda")

    def data_ptr(self) -> int:
        """Its address."""
        place: int = self._elements.__array_interface__["data"][0]
        return place

    def stride(self) -> Any:
        """In elements."""
        return tuple(n // self._elements.itemsize for n in self._elements.strides)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self._elements.itemsize

    def untyped_storage(self) -> Storage:
        """Its storage."""
        return self._storage

    def is_conj(self) -> bool:
        """Never."""
        return False

    is_neg = is_conj

    def _like(self, elements: np.ndarray) -> "Tensor":
        return Tensor(elements, self.dtype, self.device, self._storage)

    def view(self, *shape: Any) -> "Tensor":
        """Another shape, or another dtype of the same size."""
        if isinstance(shape[0], dtype):
            kind = shape[0]
            assert kind.carried.itemsize == self._elements.itemsize
            interface = dict(self._elements.__array_interface__)
            interface["typestr"] = kind.carried.str
            if interface["strides"] is None:
                interface["strides"] = self._elements.strides

            class At:
                base, __array_interface__ = self._elements, interface

            return Tensor(np.asarray(At()), kind, self.device, self._storage)
        return self._like(self._elements.reshape(*shape))

    def __getitem__(self, index: Any) -> "Tensor":
        found = self._elements[index]
        assert isinstance(found, np.ndarray)
        return self._like(found)

    def t_(self) -> "Tensor":
        """Transposes it in place."""
        self._elements = self._elements.T
        return self

    def fill_(self, value: Any) -> "Tensor":
        """Fills it, on the current stream."""
        fakegpu.copy_on(cuda.current_stream().cuda_stream, self._elements, np.asarray(value))
        return self

    def copy_(self, other: "Tensor") -> "Tensor":
        """Copies, on the current stream."""
        cuda.current_stream().synchronize()
        fakegpu.copy_on(cuda.current_stream().cuda_stream, self._elements, other._elements)
        return self

    def tolist(self) -> Any:
        """Its elements."""
        if self.is_cuda:
            cuda.current_stream().synchronize()
        return self._elements.tolist()

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AssertionError("slow, and it knows no bfloat16")


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = [
    ("data", ctypes.c_void_p),
    ("device_type", ctypes.c_int32),
    ("device_id", ctypes.c_int32),
    ("ndim", ctypes.c_int32),
    ("code", ctypes.c_uint8),
    ("bits", ctypes.c_uint8),
    ("lanes", ctypes.c_uint16),
    ("shape", ctypes.POINTER(ctypes.c_int64)),
    ("strides", ctypes.POINTER(ctypes.c_int64)),
    ("byte_offset", ctypes.c_uint64),
    ("context", ctypes.c_void_p),
    ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
]
_api = ctypes.pythonapi
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_SetName", _api)
)
_USED = b"used_dltensor"


class _Owner:
    """Calls the deleter, as torch's storage does."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __del__(self) -> None:
        _Managed.from_address(self.place).deleter(self.place)


def from_dlpack(source: Any) -> Tensor:
    """A tensor over what a capsule, or what gives one, has."""
    capsule = source.__dlpack__() if hasattr(source, "__dlpack__") else source
    place = _pointer(capsule, b"dltensor")
    assert place, "no unversioned capsule"
    managed = _Managed.from_address(place)
    _rename(capsule, _USED)
    assert managed.device_type == 2 and managed.lanes == 1 and managed.byte_offset == 0
    letter = {0: "i", 1: "u", 2: "f", 5: "c"}[managed.code]
    kind = _BY_CARRIED[np.dtype(f"{letter}{managed.bits // 8}")]
    shape = tuple(managed.shape[i] for i in range(managed.ndim))
    if managed.strides:
        strides = tuple(managed.strides[i] * managed.bits // 8 for i in range(managed.ndim))
    else:  # C order
        strides = np.empty(shape, kind.carried).strides
    extent = sum((n - 1) * s for n, s in zip(shape, strides)) + managed.bits // 8
    owner = _Owner(place)
    there = fakegpu.bytes_at(managed.data, extent, owner)
    elements = np.ndarray(shape, kind.carried, there, 0, strides)
    return Tensor(elements, kind, device("cuda", managed.device_id), Storage(owner))


def zeros(*shape: int, dtype: dtype = float32, device: Any = "cpu") -> Tensor:
    """Zeros."""
    where = globals()["device"](str(device)) if isinstance(device, str) else device
    size = int(np.prod(shape)) * dtype.carried.itemsize
    if where.type == "cpu":
        return Tensor(np.zeros(shape, dtype.carried), dtype, where, Storage(None))
    memory = cuda.pool.block(size) if cuda.pool else fakegpu.Memory(size)
    elements = fakegpu.bytes_at(memory.address, size, memory).view(dtype.carried).reshape(shape)
    return Tensor(elements, dtype, where, Storage(memory)).fill_(0)


class OutOfMemoryError(RuntimeError):
    """What a pool says whose allocator gives nothing."""


class CUDAPluggableAllocator:
    """Functions of a library that allocate and free."""

    def __init__(self, path: str, alloc: str, free: str) -> None:
        library = ctypes.CDLL(path)
        takes = (ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
        self.alloc = ctypes.CFUNCTYPE(ctypes.c_void_p, *takes)((alloc, library))
        self.free = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *takes)((free, library))

    def allocator(self) -> "CUDAPluggableAllocator":
        """What a pool takes."""
        return self


class Block:
    """Memory of a pool; a tensor's storage keeps it."""

    def __init__(self, pool: "MemPool", address: int, size: int, stream: int) -> None:
        self.pool, self.address, self.size, self.stream = pool, address, size, stream

    def __del__(self) -> None:
        self.pool.idle.append((self.address, self.size, self.stream))


class MemPool:
    """Blocks of 2 MiB and more, which go back with the pool, and its tensors."""

    def __init__(self, allocator: CUDAPluggableAllocator) -> None:
        self.allocator, self.idle = allocator, []  # type: ignore[var-annotated, unused-ignore]

    def block(self, size: int) -> Block:
        """One that is idle, or a new one."""
        size, stream = max(-(-size // 512) * 512, 2 << 20), cuda.current
        for found in self.idle:
            if found[1:] == (size, stream):
                self.idle.remove(found)
                return Block(self, *found)
        address = self.allocator.alloc(size, fakegpu.device, stream)
        if not address:
            raise OutOfMemoryError(f"no {size} bytes of GPU {fakegpu.device}")
        return Block(self, address, size, stream)

    def __del__(self) -> None:
        for address, size, stream in self.idle:
            self.allocator.free(address, size, fakegpu.device, stream)


class Stream(fakegpu.Stream):
    """A stream, which is never destroyed."""

    kept: List[Any] = []

    def __init__(self, raw: Any = None) -> None:
        super().__init__(raw)
        if raw is None:
            Stream.kept.append(self)

    @property
    def cuda_stream(self) -> int:
        """The cudaStream_t."""
        return self.raw


class cuda:
    """torch.cuda"""

    MemPool = MemPool
    OutOfMemoryError = OutOfMemoryError
    Stream = Stream
    current = 0
    pool: Any = None

    class memory:
        """torch.cuda.memory"""

        CUDAPluggableAllocator = CUDAPluggableAllocator

    @staticmethod
    @contextlib.contextmanager
    def use_mem_pool(pool: MemPool) -> Iterator[None]:
        """New tensors of this GPU are in the pool's memory."""
        cuda.pool, before = pool, cuda.pool
        try:
            yield
        finally:
            cuda.pool = before

    is_initialized = staticmethod(lambda: fakegpu.initialized)
    is_available = staticmethod(lambda: True)
    set_device = staticmethod(fakegpu.set_device)
    device_count = staticmethod(fakegpu.device_count)

    @staticmethod
    def current_stream(device: Any = None) -> Stream:
        return Stream(cuda.current)

    class stream:
        """``with torch.cuda.stream(s):``"""

        def __init__(self, stream: Stream) -> None:
            self.now, self.before = stream.raw, cuda.current

        def __enter__(self) -> None:
            cuda.current = self.now

        def __exit__(self, *_: object) -> None:
            cuda.current = self.before
