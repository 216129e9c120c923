"""Arrays of torch and CuPy, objects with ``__cuda_array_interface__``, and objects that share host
memory with NumPy: their addresses, their Buffers, and their construction on the heap. No library is
imported unless the program uses its arrays.
"""

from __future__ import annotations

import ctypes
import sys
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from ._arguments import a_kind
from ._dtypes import CODES, NARROW, SIZES
from .nvshmem_types import NotSupportedError, NvshmemInvalid

CPU = 1
"""DLPack's number for memory of the host."""
CUDA = 2
"""DLPack's number for memory of a GPU."""


class Described(NamedTuple):
    """An array: `dtype` is None for bytes; `is_same` checks later whether the description still
    holds; None where no check is possible.
    """

    address: int
    dtype: Optional[np.dtype]
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    on_gpu: bool
    is_same: Optional[Callable[[Any], bool]]
    keeper: Optional[np.ndarray] = None  # a NumPy array of the same memory, which keeps it in place

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        total = 1 if self.dtype is None else self.dtype.itemsize
        for length in self.shape:
            total *= length
        return total

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements follow each other in C order."""
        step = 1 if self.dtype is None else self.dtype.itemsize
        for length, stride in zip(reversed(self.shape), reversed(self.strides)):
            if length > 1 and stride != step:
                return self.nbytes == 0
            step *= length
        return True


def described(value: Any, name: str) -> Optional[Described]:
    """The kind of argument `name`; None if it is not an array."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_torch(torch, value, name)
    if cupy is not None and isinstance(value, cupy.ndarray):
        return _of_cupy(value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, dict):
        dtype, shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        strides = interface.get("strides") or _c_strides(shape, dtype.itemsize)
        return Described(interface["data"][0], dtype, shape, tuple(strides), True, None)
    if type(value).__module__.startswith("cuda.core") and hasattr(value, "handle"):
        on_gpu = bool(value.is_device_accessible)
        return Described(int(value.handle), None, (int(value.size),), (1,), on_gpu, None)
    return _of_host(value, name)


def _of_host(value: Any, name: str) -> Optional[Described]:
    """An object that shares its memory with NumPy: by the buffer protocol, NumPy's array interface
    or DLPack. An object of single bytes with the buffer protocol alone is bytes, as a Buffer is.
    """
    if isinstance(value, (str, np.generic)):
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError):  # the latter of NumPy's arrays with elements of ml_dtypes
        view = None
    try:
        if view is not None:
            array = np.asarray(view)
        elif isinstance(getattr(value, "__array_interface__", None), dict):
            array = np.asarray(value)
        elif hasattr(value, "__dlpack__") and value.__dlpack_device__()[0] == CPU:
            array = _by_dlpack(value)
        else:
            return None
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise NvshmemInvalid(
            f"{name} is {a_kind(value)}, whose memory NumPy cannot share: {error}"
        ) from None
    address: int = array.__array_interface__["data"][0]
    if view is not None and view.format == "B" and view.c_contiguous:
        return Described(address, None, (view.nbytes,), (1,), False, None, array)
    return Described(address, array.dtype, array.shape, array.strides, False, None, array)


class _Tensor(ctypes.Structure):
    """The beginning of DLPack's DLTensor, as far as it is changed here."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
    ]


_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_has_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
# The fields before the DLTensor of a DLManagedTensorVersioned: version, context, deleter, flags.
_VERSIONED = 32
# DLPack's codes of types that NumPy lacks, with their bits; those of float8 are DLPack 1.1's.
_NARROW_CODES = {(4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}
_UNSIGNED = 1


class _Shared:
    """A capsule of DLPack's, for NumPy."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> Tuple[int, int]:
        return CPU, 0


def _by_dlpack(value: Any) -> np.ndarray:
    try:
        return np.from_dlpack(value)
    except (RuntimeError, BufferError):
        try:
            capsule = value.__dlpack__(max_version=(1, 1))
        except TypeError:
            capsule = value.__dlpack__()
        versioned = bool(_has_name(capsule, b"dltensor_versioned"))
        address = _pointer_in(capsule, b"dltensor_versioned" if versioned else b"dltensor")
        tensor = _Tensor.from_address(address + versioned * _VERSIONED)
        name = _NARROW_CODES.get((tensor.code, tensor.bits))
        if name is None:
            raise
        tensor.code = _UNSIGNED
        return np.from_dlpack(_Shared(capsule)).view(torch_dtype(name))


def is_read_only(value: Any) -> bool:
    """Whether an array's library says that it must not be written."""
    for library, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        module = sys.modules.get(library)
        if module is not None and isinstance(value, getattr(module, name, ())):
            return False  # they know no such arrays
    interface = getattr(value, "__cuda_array_interface__", None)
    if isinstance(interface, dict):
        return bool(interface["data"][1])
    found = _of_host(value, "array")
    if found is None or found.keeper is None:
        return False
    # Arrays of JAX are never written, though DLPack may not say so.
    return not found.keeper.flags.writeable or type(value).__module__.startswith("jax")


def _of_cupy(array: Any) -> Described:
    shape, strides = array.shape, array.strides

    # Only that of contiguous arrays is asked for, and what can change of them is the shape.
    def is_same(now: Any) -> bool:
        return now.shape == shape  # type: ignore[no-any-return]

    return Described(array.data.ptr, array.dtype, shape, strides, True, is_same)


def _of_torch(torch: Any, tensor: Any, name: str) -> Described:
    if tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg():
        raise NvshmemInvalid(
            f"{name} is a tensor whose elements are not in memory as they are: pass "
            "to_dense() or resolve_conj().resolve_neg() of it"
        )
    if tensor.device.type not in ("cpu", "cuda"):
        raise NvshmemInvalid(f"{name} is a tensor on {tensor.device}: pass one on cuda or cpu")
    address, shape, steps = tensor.data_ptr(), tuple(tensor.shape), tensor.stride()
    kind = tensor.dtype

    def is_same(now: Any) -> bool:
        same = now.data_ptr() == address and now.shape == shape and now.stride() == steps
        return same and now.dtype == kind  # type: ignore[no-any-return]

    dtype = torch_dtype(kind)
    itemsize = dtype.itemsize
    strides = tuple([step * itemsize for step in steps])
    return Described(address, dtype, shape, strides, bool(tensor.is_cuda), is_same)


def torch_dtype(dtype: Any) -> np.dtype:
    """NumPy's name for a torch dtype; bfloat16 and the float8 types have ml_dtypes's, or, without
    it, a type of their size and name.
    """
    known = _TORCH.get(dtype)
    if known is None:
        name = str(dtype).rpartition(".")[2]
        try:
            known = np.dtype(name)
        except TypeError:
            known = _without_numpy(name)
        _TORCH[dtype] = known
    return known


_TORCH: Dict[Any, np.dtype] = {}
_BYTES = {name: SIZES[code] for name, code in NARROW.items()}


def _without_numpy(name: str) -> np.dtype:
    if name not in _BYTES:
        raise NotSupportedError(f"dtype torch.{name} is none that symmetric memory holds")
    try:
        import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        made = np.dtype([(name, f"u{_BYTES[name]}")])
        if name in NARROW:
            CODES[made] = NARROW[name]
        return made
    found: np.dtype = np.dtype(getattr(ml_dtypes, name))
    return found


def _c_strides(shape: Tuple[int, ...], itemsize: int) -> Tuple[int, ...]:
    strides: List[int] = []
    for length in reversed(shape):
        strides.insert(0, itemsize)
        itemsize *= length
    return tuple(strides)


class Span:
    """Memory as NumPy sees it, for its layout; it may be a GPU's, and must not be read."""

    __slots__ = ("base", "__array_interface__", "__weakref__")

    def __init__(
        self,
        address: int,
        base: Any,
        shape: Tuple[int, ...],
        dtype: Optional[np.dtype],
        strides: Optional[Tuple[int, ...]] = None,
    ) -> None:
        self.base = base  # the object that keeps the memory; `memory.owner_of` looks for it here
        self.__array_interface__: Dict[str, Any] = {
            "version": 3,
            "shape": shape,
            "typestr": "|u1" if dtype is None else f"|V{dtype.itemsize}",
            "data": (address, False),
            "strides": strides,
        }

    def array(self) -> np.ndarray:
        """A NumPy array there."""
        return np.asarray(self)


# --- over memory of the heap ----------------------------------------------------------------------


def dlpack(array: np.ndarray, device: int, narrow: str = "") -> Any:
    """A DLPack capsule of an array whose elements are on a GPU, or on the host if `device` is -1.
    NumPy makes it, and keeps the array as long as the capsule's consumer needs it; the device it
    cannot know, nor `narrow`, the name of a type that it lacks.
    """
    capsule = array.__dlpack__()
    tensor = _Tensor.from_address(_pointer_in(capsule, b"dltensor"))
    if device >= 0:
        tensor.device_type, tensor.device_id = CUDA, device
    for (code, bits), name in _NARROW_CODES.items():
        if name == narrow:
            tensor.code, tensor.bits = code, bits
    return capsule


# Arrays of NumPy that torch's storages were made from; they know the Buffer.
_storages: Dict[int, "weakref.ref[np.ndarray]"] = {}


def torch_tensor(array: np.ndarray, device: int, dtype: Any) -> Any:
    """A torch tensor with the elements of `array`, which are integers of dtype's size. `device` is
    -1 for the host.
    """
    import torch  # type: ignore[import-not-found, unused-ignore]

    found = torch.from_numpy(array) if device < 0 else torch.from_dlpack(dlpack(array, device))
    tensor = found.view(dtype)
    if not hasattr(tensor, "untyped_storage"):  # torch 1, on host memory
        return tensor
    key = tensor.untyped_storage()._cdata
    _storages[key] = weakref.ref(array, lambda dead: _forget(key, dead))
    return tensor


def _forget(key: int, dead: "weakref.ref[np.ndarray]") -> None:
    if _storages.get(key) is dead:
        del _storages[key]


def base_of(value: Any) -> Any:
    """The NumPy array or the object that keeps an array's memory; None if that is not known."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if torch is not None and isinstance(value, torch.Tensor):
        if not _storages:  # as of arrays that torch shares; and torch 1 cannot tell
            return None
        known = _storages.get(value.untyped_storage()._cdata)
        return None if known is None else known()
    if cupy is not None and isinstance(value, cupy.ndarray):
        return getattr(value.data.mem, "_owner", None)
    return None
