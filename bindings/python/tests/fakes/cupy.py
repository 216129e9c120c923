"""A stand-in for CuPy, as far as nvshmemrs and its tests use it: arrays over memory of the (fake)
driver, filled asynchronously on the current stream.
"""

from __future__ import annotations

from typing import Any, List, Optional

import fakegpu
import numpy as np


class UnownedMemory:
    """Memory of somebody else's."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        assert device_id >= 0, "for a peer's memory the driver would say the peer's GPU"
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset


class Stream(fakegpu.Stream):
    """A stream."""

    stack: List["Stream"] = []

    def __init__(self, null: bool = False, non_blocking: bool = False) -> None:
        super().__init__(0 if null else None)

    @property
    def ptr(self) -> int:
        """The cudaStream_t."""
        return self.raw

    def __enter__(self) -> "Stream":
        Stream.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream.stack.pop()


class Device:
    """A GPU."""

    def __init__(self, number: int = 0) -> None:
        self.id = number

    def use(self) -> None:
        """Makes it the current one."""
        fakegpu.set_device(self.id)


_null = Stream(null=True)


class cuda:
    """cupy.cuda"""

    Device = Device
    MemoryPointer = MemoryPointer
    Stream = Stream
    UnownedMemory = UnownedMemory

    @staticmethod
    def get_current_stream(device_id: int = -1) -> Stream:
        return Stream.stack[-1] if Stream.stack else _null


class ndarray:
    """An array."""

    def __init__(
        self,
        shape: Any,
        dtype: Any = float,
        memptr: Optional[MemoryPointer] = None,
        strides: Any = None,
        order: str = "C",
    ) -> None:
        dtype = np.dtype(dtype)
        if memptr is None:
            memory = fakegpu.Memory(int(np.prod(shape)) * dtype.itemsize)
            size = int(np.prod(shape)) * dtype.itemsize
            memptr = MemoryPointer(UnownedMemory(memory.address, size, memory, fakegpu.device), 0)
        room = memptr.mem.size - (memptr.ptr - memptr.mem.ptr)
        there = fakegpu.bytes_at(memptr.ptr, room, memptr)
        self._set(memptr, np.ndarray(shape, dtype, there, 0, strides, order))  # type: ignore[arg-type, unused-ignore]

    def _set(self, memptr: MemoryPointer, elements: np.ndarray) -> "ndarray":
        self.data, self._elements = memptr, elements
        return self

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "strides", "dtype", "nbytes", "ndim", "size", "itemsize", "flags"):
            return getattr(self._elements, name)
        raise AttributeError(name)

    def _like(self, elements: np.ndarray) -> "ndarray":
        place = elements.__array_interface__["data"][0]
        pointer = MemoryPointer(self.data.mem, place - self.data.mem.ptr)
        return type(self).__new__(type(self))._set(pointer, elements)

    def __getitem__(self, index: Any) -> "ndarray":
        found = self._elements[index]
        if not isinstance(found, np.ndarray):
            found = self._elements.reshape(-1)[np.ravel_multi_index(index, self.shape) :][:1]
            found = found.reshape(())
        return self._like(found)

    def __setitem__(self, index: Any, value: Any) -> None:
        value = value.get() if isinstance(value, ndarray) else value
        stream = cuda.get_current_stream().ptr
        fakegpu.copy_on(stream, self._elements[index], np.asarray(value))

    def fill(self, value: Any) -> None:
        """Fills it, on the current stream."""
        self[...] = value

    def reshape(self, *shape: Any) -> "ndarray":
        """A view."""
        return self._like(self._elements.reshape(*shape))

    def get(self) -> np.ndarray:
        """A copy, once the current stream has come there."""
        cuda.get_current_stream().synchronize()
        return self._elements.copy(order="A")

    def tolist(self) -> Any:
        """Its elements."""
        return self.get().tolist()

    @property
    def __cuda_array_interface__(self) -> Any:
        return dict(self._elements.__array_interface__, version=3)

    def __array__(self, *_: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


def asarray(values: Any, dtype: Any = None) -> ndarray:
    """A copy in memory of the GPU."""
    values = np.asarray(values, dtype)
    made = ndarray(values.shape, values.dtype)
    made[...] = values
    return made


def zeros(shape: Any, dtype: Any = float) -> ndarray:
    """Zeros."""
    return asarray(np.zeros(shape, dtype))


def arange(*arguments: Any, dtype: Any = None) -> ndarray:
    """As NumPy's."""
    return asarray(np.arange(*arguments, dtype=dtype))
