"""Symmetric memory without element types: allocation, peers, registered memory."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, NamedTuple, NoReturn, Optional, Union

from .. import _ffi
from . import _job, _registered
from ._arguments import integer, pe_of, switch
from ._buffer import Block, free, unregister_external_buffer
from ._buffer import as_numpy as as_numpy
from ._buffer import end as end
from ._buffer import fail_free as fail_free
from ._buffer import leave_scope as leave_scope
from ._buffer import owner_of as owner_of
from ._buffer import registered_at as registered_at
from ._buffer import unregister as unregister
from ._job import NO_ADDRESS, NO_SIZE, check, fail_together, job, lib, unsupported
from ._operand import operand, writable
from .nvshmem_types import BufferTypes, NvshmemInvalid
from .streams import handle_of, queue, release_all

__all__ = [
    "Buffer",
    "HeapStats",
    "NvshmemResource",
    "buffer",
    "free",
    "get_mc_buffer",
    "get_multicast_buffer",
    "get_peer_buffer",
    "heap_stats",
    "realloc",
    "register_external_buffer",
    "unfreed",
    "unregister_external_buffer",
]


class Buffer(Block):
    """A block of symmetric memory, made by ``buffer`` and the array functions, never directly.

    It supports DLPack, NumPy's array interface and the buffer protocol as bytes, or the interface of
    CUDA, and the attributes of a cuda.core.Buffer; ``memoryview`` works on host memory. ``with``
    frees it. If the last reference to it and to all arrays in it is dropped first, this PE's release
    is recorded, and the next collective allocation frees the memory that all PEs have released.
    """

    __slots__ = ()

    def copy_from(self, src: Any, *, stream: Any = None) -> None:
        """Copies an array or Buffer of the same size here. Local, as in cuda.core."""
        self._copy(lib.nvshmemrs_put, src, "src", stream)

    def copy_to(self, dst: Any, *, stream: Any = None) -> Any:
        """Copies this memory to an array or Buffer of the same size, and returns that. Local, as in
        cuda.core.
        """
        self._copy(lib.nvshmemrs_get, dst, "dst", stream)
        return dst

    def _copy(self, function: Callable[..., int], other: Any, name: str, stream: Any) -> None:
        if self._origin is not None:
            raise NvshmemInvalid("this is a peer's Buffer: use get, or put")
        if name == "dst":
            writable(other, name)
        there = operand(other, name)
        if there.nbytes != self._size or (there.layout is None and there.dtype is not None):
            raise NvshmemInvalid(
                f"{name} is {there.describe()}: give contiguous memory of {self._size} bytes"
            )
        sides = self.live_address(), there.address
        if name == "dst":
            sides = sides[::-1]
        check(queue(stream, (self, other, there), function, *sides, self._size, job.my_pe))


def buffer(size: int, release: bool = False, except_on_del: bool = True) -> Buffer:
    """Allocates `size` bytes on every PE's symmetric heap; their contents are undefined.

    Collective over all PEs with the same `size`; includes a barrier. `release` and `except_on_del`
    are accepted and have no effect: a Buffer that is collected without ``free`` raises and prints
    nothing, its release is recorded (see Buffer).
    """
    try:
        nbytes = integer(size, "size")
        switch(release, "release")
        switch(except_on_del, "except_on_del")
        if not 0 < nbytes < NO_SIZE:
            raise NvshmemInvalid(f"size={size!r}: a buffer must have at least 1 byte")
    except NvshmemInvalid as error:
        fail_allocation(error)
    return allocate(lib.nvshmemrs_malloc, nbytes)


def realloc(buffer: Optional[Buffer], size: int) -> Optional[Buffer]:
    """Gives a Buffer another size on every PE; the contents stay, up to the smaller size.

    Collective over all PEs with the same arguments; includes a barrier. Returns the new Buffer, and
    the old one is gone. None for `buffer` allocates; 0 for `size` frees and returns None. OpenSHMEM
    1.5 section 9.3.1.
    """
    moved = ctypes.c_void_p()
    old = 0
    try:
        nbytes = integer(size, "size")
        if not 0 <= nbytes < NO_SIZE:
            raise NvshmemInvalid(f"size={size!r}: give an integer number of bytes, 0 to free")
        if buffer is not None:
            if not isinstance(buffer, Buffer) or buffer.buffer_type != BufferTypes.NORMAL:
                raise NvshmemInvalid(f"realloc takes a Buffer from buffer(), not {buffer!r}")
            old = buffer.live_address()
    except NvshmemInvalid as error:
        fail_together(error, lib.nvshmemrs_realloc, NO_ADDRESS, 1, moved)
    release_all()
    if buffer is None:
        check(lib.nvshmemrs_realloc(job.runtime, old, nbytes, moved))
    else:
        buffer.forget_for(lib.nvshmemrs_realloc, job.runtime, old, nbytes, moved)
    return Buffer(moved.value, nbytes) if moved.value else None


def get_peer_buffer(buffer: Buffer, pe: int) -> Buffer:
    """PE `pe`'s copy of a Buffer, for direct loads and stores. Local.

    Each call gives a new object; closing one closes no other.
    """
    if not isinstance(buffer, Buffer):
        raise NvshmemInvalid(f"get_peer_buffer takes a Buffer, not {type(buffer).__name__}")
    if buffer._origin is not None:
        raise NvshmemInvalid(
            "get_peer_buffer takes this PE's Buffer, not a peer's"
        )
    return Buffer(peer_address(buffer.live_address(), pe), buffer._size, buffer)


def get_multicast_buffer(team: Any, buffer: Buffer) -> Buffer:
    """NotSupportedError: multicast memory is a feature of GPUs."""
    raise unsupported("get_multicast_buffer")


get_mc_buffer = get_multicast_buffer


def register_external_buffer(
    buffer: Any, preferred_address: Union[int, Buffer, None] = None
) -> Buffer:
    """Makes memory of this process symmetric, where it is: the returned Buffer and `buffer` are the
    same bytes, at two addresses.

    On a GPU `buffer` is an array, or a cuda.core.Buffer, that is a whole mapping of memory from
    cuMemCreate with handles of type POSIX_FILE_DESCRIPTOR, as cuda.core's virtual memory resource
    makes it. On host memory:

    Collective over all PEs with the same size. `buffer` is anything with a writable buffer in
    private memory: ``aligned_empty(...)``, or an ``mmap.mmap`` with the flags MAP_PRIVATE and
    MAP_ANONYMOUS, or an array in one. It begins at a page and ends at one, and is kept mapped until
    ``unregister_external_buffer`` or ``finalize``. `preferred_address` is an unused address, the
    same on every PE, for the symmetric side. Other threads may go on using `buffer` meanwhile, here
    and in ``unregister_external_buffer``: a thread that touches it waits. Where the kernel has no userfaultfd
    for that, a process with several threads gets NotSupportedError. NVSHMEM
    `nvshmemx_buffer_register_symmetric`.
    """
    symmetric = ctypes.c_void_p()
    find = _registered.whole_pages if job.device < 0 else _registered.on_gpu
    try:
        exporter, address, size = find(buffer)
        wish = _registered.preferred(preferred_address)
    except NvshmemInvalid as error:
        rejected = (NO_ADDRESS, NO_SIZE, None, symmetric)
        fail_together(error, lib.nvshmemrs_buffer_register, *rejected)
    check(lib.nvshmemrs_buffer_register(handle_of(None), address, size, wish, symmetric))
    made = Buffer(symmetric.value or 0, size, exporter=exporter)
    _job.external[made._address] = (address, made)
    return made


class NvshmemResource:
    """NotSupportedError: the reference's allocator of GPU memory; here ``buffer`` allocates."""

    def __init__(self, device: Any) -> None:
        raise unsupported("NvshmemResource", "buffer() and array() allocate symmetric memory")


class HeapStats(NamedTuple):
    """How full the symmetric heap is, in bytes; the same on every PE, but for `released`."""

    heap_bytes: int
    used_bytes: int
    free_bytes: int
    largest_free_bytes: int
    allocations: int
    released: int


def heap_stats() -> HeapStats:
    """How full the symmetric heap is. Local."""
    _job.release_dropped()
    stats = _ffi.HeapStats()
    check(lib.nvshmemrs_heap_stats(job.runtime, ctypes.byref(stats)))
    return HeapStats(*(getattr(stats, name) for name in HeapStats._fields))


def unfreed() -> str:
    """The objects that this PE has created and not freed, with call sites, in the format of
    ``finalize``; NotSupportedError unless NVSHMEMRS_TRACK=1 is set. Local.
    """
    _job.release_dropped()
    length = ctypes.c_size_t()
    check(lib.nvshmemrs_unfreed(job.runtime, None, 0, length))
    text = ctypes.create_string_buffer(length.value + 1)
    check(lib.nvshmemrs_unfreed(job.runtime, text, len(text), length))
    return text.value.decode("utf-8", "replace")


# --- for the other modules of this package --------------------------------------------------------


def allocate(function: Any, *sizes: int) -> Buffer:
    """Calls an allocation function of the library. Collective."""
    release_all()
    address = ctypes.c_void_p()
    check(function(job.runtime, *sizes, ctypes.byref(address)))
    nbytes = 1
    for size in sizes:
        nbytes *= size
    return Buffer(address.value or 0, nbytes)


def fail_allocation(error: Exception) -> NoReturn:
    """Raises `error` after telling the other PEs, which are in a collective allocation."""
    fail_together(error, lib.nvshmemrs_malloc, NO_SIZE, ctypes.byref(ctypes.c_void_p()))


def peer_address(address: int, pe: int) -> int:
    """Where PE `pe`'s copy of `address` can be loaded and stored."""
    number = pe_of(pe, None, "pe")
    peer = ctypes.c_void_p()
    check(lib.nvshmemrs_ptr(job.runtime, address, number, ctypes.byref(peer)))
    if not peer.value:
        raise NvshmemInvalid(f"loads and stores from this PE do not reach PE {pe}: use get and put")
    return peer.value
