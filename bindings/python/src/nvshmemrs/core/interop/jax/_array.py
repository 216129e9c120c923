"""Symmetric memory for JAX programs."""

from __future__ import annotations

import math
from typing import Any, Tuple, Union

import numpy as np

from ...._handle import Handle
from ... import _foreign
from ..._arguments import a_kind, integer
from ..._dtypes import numpy_dtype
from ..._job import job, lib
from ...memory import Buffer, allocate, as_numpy, end, fail_allocation, fail_free
from ...nvshmem_types import NvshmemInvalid
from .. import _common
from . import _setup


class SymmetricArray(Handle):
    """An array on the symmetric heap, made by ``array``, or a part of one: ``a[1]``, ``a[2:4]``.

    It is no value of JAX's, because other PEs write it: operations of this module take it, and
    ``load`` gives what is in it at that point as a new array. Functions that ``jit`` compiles may
    take it as an argument, or use it from outside; they are compiled anew for another one.
    """

    __slots__ = ("_buffer", "_offset", "shape", "dtype")

    def __init__(
        self, buffer: Buffer, offset: int, shape: Tuple[int, ...], dtype: "np.dtype[Any]"
    ) -> None:
        self._buffer = buffer
        self._offset = offset
        self.shape = shape
        self.dtype = dtype

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def address(self) -> int:
        """Where its first element is; NvshmemInvalid once the memory is freed."""
        return self._buffer.live_address() + self._offset

    def view(self) -> Any:
        """The memory as an array of JAX's, without a copy. Local.

        JAX takes arrays for values that never change. So use a view while no PE writes: between two
        barriers, and with ``jax.block_until_ready`` of what was computed from it before the second.
        A view must not be donated.
        """
        self._buffer.live_address()
        jax = _setup.import_jax()
        check_width(jax, self, "view")
        carried = self.dtype if self.dtype.kind in "biufc" else f"u{self.dtype.itemsize}"
        memory = np.ndarray(self.shape, carried, as_numpy(self._buffer), self._offset)
        exported = _Exported(memory, self.dtype.name)
        return jax.dlpack.from_dlpack(exported, copy=False)

    def __getitem__(self, index: Union[int, slice]) -> "SymmetricArray":
        if not self.shape:
            raise NvshmemInvalid("a SymmetricArray of one element has no parts")
        length, row = self.shape[0], self.dtype.itemsize * math.prod(self.shape[1:])
        if isinstance(index, slice):
            first, last, step = index.indices(length)
            if step != 1 or last <= first:
                raise NvshmemInvalid(f"{index}: a part has elements that follow each other")
            shape = (last - first, *self.shape[1:])
        else:
            first, shape = integer(index, "index"), self.shape[1:]
            if not -length <= first < length:
                raise IndexError(f"index {first} of an array of length {length}")
            first %= length
        return SymmetricArray(self._buffer, self._offset + first * row, shape, self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SymmetricArray) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a SymmetricArray is no value: load(array, token) gives what is in it")

    def __repr__(self) -> str:
        return f"<SymmetricArray {self.dtype}{list(self.shape)} in {self._buffer!r}>"

    def _key(self) -> Tuple[Any, ...]:
        return id(self._buffer), self._offset, self.shape, self.dtype


class _Exported:
    """A NumPy array of memory that may be a GPU's, for JAX. Its elements have the type `name`."""

    def __init__(self, memory: np.ndarray, name: str) -> None:
        self._memory = memory
        self._name = name

    def __dlpack__(self, **_: Any) -> Any:
        return _foreign.dlpack(self._memory, job.device, self._name)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return (_foreign.CUDA, job.device) if job.device >= 0 else (_foreign.CPU, 0)


def array(shape: Any, dtype: Any = "float32") -> SymmetricArray:
    """Allocates an array of zeros on every PE's symmetric heap.

    Collective over all PEs with the same arguments; includes a barrier. ``start`` comes first. The
    dtype is one that JAX has; of 64 bits only with ``jax_enable_x64``, but for signals.
    """
    try:
        _setup.started()
        kind = numpy_dtype(dtype)
        if not is_of_jax(_setup.import_jax(), kind):
            raise NvshmemInvalid(f"dtype={dtype!r}: JAX has no such elements")
        dims = _common.checked(shape, kind, kind.itemsize, "C")
        _register()
    except NvshmemInvalid as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_calloc, math.prod(dims), kind.itemsize)
    return SymmetricArray(memory, 0, dims, kind)


def free_array(array: SymmetricArray) -> None:
    """Frees an array on every PE; views and parts of it must not be used any more.

    Collective over all PEs with the same array; a barrier comes first.
    """
    try:
        found = symmetric(array, "array")
        if found.nbytes != found._buffer.size:
            raise NvshmemInvalid("free_array: this is a part of an array: pass the whole array")
    except NvshmemInvalid as error:
        fail_free(error)
    end(array._buffer)


def symmetric(value: Any, name: str) -> SymmetricArray:
    """Argument `name`, which must be a live array on the symmetric heap."""
    if not isinstance(value, SymmetricArray):
        raise NvshmemInvalid(
            f"{name} is {a_kind(value)}: it must be a SymmetricArray, which interop.jax.array makes"
        )
    value._buffer.live_address()
    return value


def is_of_jax(jax: Any, dtype: "np.dtype[Any]") -> bool:
    """Whether JAX has arrays of these elements."""
    try:
        jax.typeof(np.empty(0, dtype))
    except TypeError:
        return False
    return True


def check_width(jax: Any, array: Any, name: str) -> None:
    """Raises for elements that JAX would make narrower."""
    if array.dtype.itemsize < 8 or array.dtype.kind not in "iufc":
        return
    if jax.dtypes.canonicalize_dtype(array.dtype) != array.dtype:
        raise NvshmemInvalid(
            f"{name}: an array of {array.dtype} is no value of JAX's unless JAX has 64-bit types: "
            'call jax.config.update("jax_enable_x64", True)'
        )


_registered = False


def _register() -> None:
    """Lets functions that ``jit`` compiles take arrays of this class."""
    global _registered
    if not _registered:
        _setup.import_jax().tree_util.register_static(SymmetricArray)
        _registered = True
