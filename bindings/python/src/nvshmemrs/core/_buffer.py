"""Blocks of symmetric memory, how they end, and which of them an array lies in: the part of ``memory``
that does not depend on arguments of other kinds.
"""

from __future__ import annotations

import builtins
import gc
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, NoReturn, Optional, Tuple, TypeVar, cast

import numpy as np

from .._handle import Handle
from . import _foreign, _job
from ._export import exporting
from ._job import NO_ADDRESS, check, fail_together, job, lib
from .nvshmem_types import BufferTypes, NvshmemInvalid
from .streams import handle_of, synchronize

if TYPE_CHECKING:
    from .memory import Buffer

_OF_A_GPU = "this Buffer is memory of a GPU: use CuPy or torch, or get() it into a NumPy array"

_Block = TypeVar("_Block", bound="Block")


@exporting
class Block(Handle):
    """Symmetric memory: a Buffer without its copies, which depend on the types of their arguments."""

    __slots__ = (
        "_address",
        "_size",
        "_runtime",
        "_mapping",
        "_origin",
        "_exporter",
        "_device",
        "_finalizer",
        "__weakref__",
    )
    _instead = "pickle its contents, as in bytes(buffer.memoryview)"

    def __init__(
        self,
        address: int,
        size: int,
        origin: Optional["Block"] = None,
        exporter: Any = None,
    ) -> None:
        self._address = address
        self._size = size
        self._runtime = job.runtime
        self._mapping = job.mapping
        self._origin = origin  # of a peer's memory: our own, which has to stay allocated
        self._exporter = exporter  # of registered memory: keeps it mapped
        self._device = job.device
        self._finalizer: Any = None
        self._register()
        if origin is None and exporter is None:
            self._release_when_collected()

    @property
    def handle(self) -> int:
        """The address; 0 once the memory is freed."""
        return self._address if self.is_live else 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self._size

    @property
    def buffer_type(self) -> BufferTypes:
        """NORMAL for this PE's memory, PEER for another PE's, EXTERNAL for registered memory."""
        if self._exporter is not None:
            return BufferTypes.EXTERNAL
        return BufferTypes.NORMAL if self._origin is None else BufferTypes.PEER

    @property
    def is_live(self) -> bool:
        """Whether the memory is allocated still."""
        if self._origin is not None and not self._origin.is_live:
            return False
        return self._address != 0 and self._runtime == job.runtime

    @property
    def is_host_accessible(self) -> bool:
        """Whether the heap is host memory."""
        return self._device < 0

    @property
    def is_device_accessible(self) -> bool:
        """Whether the heap is a GPU's memory."""
        return self._device >= 0

    @property
    def device_id(self) -> int:
        """The GPU, as this process counts them, that reads and writes it; -1 for host memory."""
        return self._device

    @property
    def memoryview(self) -> "memoryview":
        """The bytes, writable."""
        if _job.hand_out is not None:
            _job.hand_out(self._address, self._size)
        return np.asarray(self).data

    def close(self, stream: Any = None) -> None:
        """``free``, unless already freed, after the work on `stream` has run; collective, except for
        a peer's Buffer. Registered memory is unregistered.
        """
        if stream is not None:
            synchronize(stream)
        if self._address:
            end(self)

    def __enter__(self: _Block) -> _Block:
        return self

    def __exit__(self, kind: Optional[type], *_: object) -> None:
        leave_scope(self, kind)

    def live_address(self) -> int:
        """The address; NvshmemInvalid if the memory is gone."""
        if self._address == 0 or self._runtime != job.runtime or not self.is_live:
            gone = self._gone()
            raise NvshmemInvalid(f"this {self._size}-byte buffer {gone}: allocate a new one")
        return self._address

    def _gone(self) -> str:
        mine = self if self._origin is None else self._origin
        if self._exporter is not None and self._address == 0:
            return "was unregistered"
        return (
            "was freed"
            if self._address == 0 or mine._address == 0
            else "belongs to a job that was finalized"
        )

    def _register(self) -> None:
        """Lets `owner_of` find it by its address. Of several Buffers of a peer's memory one is."""
        place = (self._runtime, self._address)
        _job.released.discard(place)  # of memory that was freed meanwhile
        known = _job.buffers.get(place)
        if self._origin is None or known is None or known() is None:
            _job.buffers[place] = weakref.ref(self)

    def _release_when_collected(self) -> None:
        place = (self._runtime, self._address, self._device)
        self._finalizer = weakref.finalize(self, _job.drop, *place)
        self._finalizer.atexit = False

    def forget_for(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls the function that takes the memory away. Before, because an interrupt behind the call must not
        let a finaliser release memory that may be another array's by then.
        """
        address = self._address
        self._forget()
        status = function(*arguments)
        if status:
            self._address = address
            self._register()
            self._release_when_collected()
            check(status)

    def _forget(self) -> None:
        if self._origin is None:
            _job.buffers.pop((self._runtime, self._address), None)
        self._address = 0
        if self._finalizer is not None:
            self._finalizer.detach()
        _job.operands.clear()

    def __buffer__(self, flags: int) -> "builtins.memoryview":
        if self._device >= 0:
            raise BufferError(_OF_A_GPU)
        if _job.hand_out is not None:
            _job.hand_out(self._address, self._size)
        return as_numpy(self).data

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        if self._device >= 0:
            raise AttributeError("__array_interface__: the memory is a GPU's")
        if _job.hand_out is not None:
            _job.hand_out(self._address, self._size)
        return self._interface()

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        if self._device < 0:
            raise AttributeError("__cuda_array_interface__: the memory is the host's")
        return self._interface()

    def _interface(self) -> Dict[str, Any]:
        address = self.live_address()
        return {"version": 3, "shape": (self._size,), "typestr": "|u1", "data": (address, False)}

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(_OF_A_GPU)

    def __dlpack__(self, **arguments: Any) -> Any:
        if self._device < 0:
            if _job.hand_out is not None:
                _job.hand_out(self._address, self._size)
            return np.asarray(self).__dlpack__(**arguments)
        return _foreign.dlpack(as_numpy(self), self._device)

    def __dlpack_device__(self) -> Tuple[int, int]:
        if self._device < 0:
            return np.asarray(self).__dlpack_device__()
        return (_foreign.CUDA, self._device)

    def __repr__(self) -> str:
        if not self.is_live:
            return f"<Buffer of {self._size} bytes, {self._gone()}>"
        return f"<Buffer of {self._size} bytes at {self._address:#x}, {self.buffer_type.name}>"


def free(buffer: Block) -> None:
    """Frees a Buffer on every PE; arrays in it must not be used any more.

    Collective over all PEs with the same Buffer; a barrier comes first. A peer's Buffer is only
    closed here.
    """
    if not isinstance(buffer, Block):
        kind = type(buffer).__name__
        fail_free(
            NvshmemInvalid(f"free takes a Buffer, not {kind}; for arrays there is free_array")
        )
    if buffer._origin is not None:
        buffer._forget()
        return
    if buffer._exporter is not None:
        fail_free(
            NvshmemInvalid("free: this memory was registered: use unregister_external_buffer")
        )
    if not buffer.is_live:
        gone = buffer._gone()
        fail_free(NvshmemInvalid(f"free: this {buffer._size}-byte buffer {gone} already"))
    buffer.forget_for(lib.nvshmemrs_free, handle_of(None), buffer._address)


def unregister_external_buffer(buffer: Any) -> None:
    """Makes registered memory private again; it keeps its contents. Takes the result of
    ``register_external_buffer``, or its argument.

    Collective over all PEs with the same memory; a barrier comes first.
    """
    unregister(buffer, "unregister_external_buffer")


def unregister(buffer: Any, function: str) -> None:
    """As ``unregister_external_buffer``; errors name `function`, which the program called."""
    try:
        found = buffer if isinstance(buffer, Block) else registered_at(buffer)
        if found is None or found._exporter is None:
            raise NvshmemInvalid(f"{function}: this {type(buffer).__name__} is not registered")
        address = found.live_address()
    except NvshmemInvalid as error:
        fail_together(error, lib.nvshmemrs_buffer_unregister, NO_ADDRESS)
    check(lib.nvshmemrs_buffer_unregister(handle_of(None), address))
    _job.external.pop(address, None)
    found._forget()
    found._exporter = memoryview(b"")  # the memory may be unmapped now


def fail_free(error: NvshmemInvalid) -> NoReturn:
    """Raises `error` after telling the other PEs, which are in a collective free."""
    fail_together(error, lib.nvshmemrs_free, NO_ADDRESS)


def owner_of(value: Any) -> Optional["Buffer"]:
    """The Buffer that an array, or a view of one, lies in; None for memory that is not ours."""
    base: Any = value
    array: Any = None
    if not isinstance(value, (np.ndarray, Block)):
        base = _foreign.base_of(value)
        if base is None:
            found = _foreign.described(value, "array")
            if found is None or found.keeper is None:
                return None if found is None else _at(found.address)
            base = found.keeper
    while base is not None:
        if isinstance(base, np.ndarray):
            array, base = base, base.base
        elif isinstance(base, Block):
            return cast("Buffer", base)
        elif isinstance(base, _foreign.Span):
            base = base.base
        elif isinstance(base, memoryview):
            base = base.obj
        elif type(base).__name__ == "PyCapsule":  # of DLPack
            return _at(array.__array_interface__["data"][0])
        elif type(base).__name__ == "_buffer_wrapper":  # between ``__buffer__`` and its caller
            base = next((one for one in gc.get_referents(base) if isinstance(one, Block)), None)
        else:
            base = getattr(base, "base", None)  # numpy.lib.stride_tricks leaves an object in between
    return None


def _at(place: int) -> Optional["Buffer"]:
    """The Buffer that this address is in."""
    for (runtime, address), known in list(_job.buffers.items()):
        buffer: Optional["Buffer"] = known() if runtime == job.runtime else None
        if buffer is not None and address <= place < address + buffer.size and buffer.is_live:
            return buffer
    return None


def as_numpy(buffer: Block) -> np.ndarray:
    """A Buffer's bytes as NumPy sees them: for their layout only, as they may be a GPU's."""
    return _foreign.Span(buffer.live_address(), buffer, (buffer.size,), None).array()


def end(buffer: Block) -> None:
    """Frees or unregisters. Collective, but for a peer's Buffer."""
    if buffer._exporter is None:
        free(buffer)
    else:
        unregister_external_buffer(buffer)


def registered_at(value: Any) -> Optional[Block]:
    """The registered Buffer whose private side begins where `value`, an exporter of a buffer, does;
    or that `value` lies in.
    """
    try:
        address = np.asarray(memoryview(value)).__array_interface__["data"][0]
    except (TypeError, ValueError):
        found = _foreign.described(value, "buffer") if job.device >= 0 else None
        if found is None:
            return None
        address = found.address
    for private, found in _job.external.values():
        if address in (private, found._address):
            return found  # type: ignore[no-any-return]
    return None


def leave_scope(buffer: Block, failed: Optional[type]) -> None:
    """The end of a `with` block: frees, unless it was freed in the block.

    After an exception the other PEs may never come to a collective free, so the release is recorded
    instead.
    """
    if not buffer.is_live:
        return
    if failed is None or buffer._origin is not None:
        end(buffer)
    elif buffer._exporter is None:
        address = buffer._address
        buffer._forget()
        _job.drop(job.runtime, address, buffer._device)
