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

    def _at(self, index: Any) -> np.ndarray:
        """A view, of a single element too."""
        found = self._elements[index]
        if not isinstance(found, np.ndarray):
            key = index if isinstance(index, tuple) else (index,)
            found = self._elements[(*key, ...)]
        return found

    def __getitem__(self, index: Any) -> "ndarray":
        return self._like(self._at(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        value = value.get() if isinstance(value, ndarray) else value
        stream = cuda.get_current_stream().ptr
        fakegpu.copy_on(stream, self._at(index), np.asarray(value))

    def set(self, values: Any) -> None:
        """Copies from the host, on the current stream."""
        self[...] = values

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

    def ravel(self) -> "ndarray":
        """A view of one dimension."""
        return self.reshape(-1)

    def __len__(self) -> int:
        return len(self._elements)

    def __str__(self) -> str:
        return str(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __float__(self) -> float:
        return float(self.get())

    def __array__(self, *_: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


def _seen(value: Any) -> Any:
    """What the host sees of an argument."""
    return value._elements if isinstance(value, ndarray) else value


def _of(function: Any) -> Any:
    """A function of NumPy's for arrays here. It is done at once, when the current stream has come so
    far.
    """

    def on_gpu(*arguments: Any, out: Any = None) -> ndarray:
        cuda.get_current_stream().synchronize()
        arguments = tuple(_seen(value) for value in arguments)
        if out is None:
            return asarray(function(*arguments))
        function(*arguments, out=_seen(out))
        return out

    return on_gpu


def _method(function: Any) -> Any:
    return lambda *arguments: function(*arguments)


def _in_place(function: Any) -> Any:
    return lambda array, other: function(array, other, out=array)


add, subtract, multiply = (_of(f) for f in (np.add, np.subtract, np.multiply))
for _name, _function in {
    "add": add,
    "sub": subtract,
    "mul": multiply,
    "neg": _of(np.negative),
    "eq": _of(np.equal),
    "lt": _of(np.less),
    "gt": _of(np.greater),
}.items():
    setattr(ndarray, f"__{_name}__", _method(_function))
    if _function in (add, subtract, multiply):
        setattr(ndarray, f"__i{_name}__", _in_place(_function))
for _name in ("all", "any", "max", "min", "sum"):
    setattr(ndarray, _name, _method(_of(getattr(np, _name))))


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """Anything."""
    return ndarray(shape, dtype)


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
