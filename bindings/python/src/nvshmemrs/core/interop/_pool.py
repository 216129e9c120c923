"""torch's memory pools over the symmetric heap."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, List, Optional

from ..._ffi import library_path
from .._arguments import integer
from .._job import check, job, last_error, lib
from ..memory import fail_allocation
from ..nvshmem_types import (
    HeapExhaustedError,
    NotInitializedError,
    NotSupportedError,
    NvshmemInvalid,
)
from ..streams import release_all

# torch's pools refer to their allocator and do not keep it.
_allocators: List[Any] = []
# The runtimes that have reserved memory for pools.
_reserved: List[int] = []


def mem_pool(nbytes: Optional[int] = None, **options: Any) -> Any:
    """A ``torch.cuda.MemPool`` on the symmetric heap: operations and ``get_peer_tensor`` accept the
    tensors that torch creates under ``with torch.cuda.use_mem_pool(pool):``.
    `options` are those of MemPool.

    With `nbytes` it reserves so much symmetric memory, for all pools of the job: collective over all
    PEs with the same `nbytes`. Without, it is local, and the pool shares the existing reserve.
    Allocations are local then, also while a stream is captured: all PEs must make the same tensors
    in the same order, and drop them so, to have them at the same symmetric address. Tensors may be
    dropped by any thread, and by the garbage collector; nothing waits for it.

    torch takes blocks of at least 2 MiB. Where there is no room it says that the GPU is out of
    memory; under ``use_mem_pool`` of this module the error says what to do. The memory stays
    reserved until ``finalize``. NotSupportedError on host memory, and without torch.
    """
    if not job.runtime:
        raise NotInitializedError("mem_pool: this process is not a PE; call init first")
    if job.device < 0:
        raise NotSupportedError(
            "mem_pool: the symmetric heap is host memory, and torch has memory pools on GPUs only; "
            "pass device to init, or set NVSHMEMRS_MEMORY=device"
        )
    try:
        torch = _torch("MemPool", "use_mem_pool")
        size = 0 if nbytes is None else integer(nbytes, "nbytes")
        if nbytes is not None and not 0 < size < 2**63:
            raise NvshmemInvalid(f"nbytes={nbytes!r}: a reserve has at least 1 byte")
        captured = getattr(torch.cuda, "is_current_stream_capturing", None)
        if nbytes is not None and captured is not None and captured():
            raise NvshmemInvalid(
                "mem_pool: the current stream is captured into a graph: call mem_pool before the "
                "capture, on all PEs"
            )
        if nbytes is None and job.runtime not in _reserved:
            raise NvshmemInvalid(
                "mem_pool: no memory is reserved for pools: pass nbytes, on all PEs, the first time"
            )
    except (NvshmemInvalid, NotSupportedError) as error:
        if nbytes is None:
            raise
        fail_allocation(error)
    if size:
        release_all()
        check(lib.nvshmemrs_pool_reserve(job.runtime, size))
        _reserved[:] = [*_reserved, job.runtime]
    if not _allocators:
        names = "nvshmemrs_pool_alloc", "nvshmemrs_pool_free"
        _allocators.append(torch.cuda.memory.CUDAPluggableAllocator(library_path(), *names))
    return torch.cuda.MemPool(_allocators[0].allocator(), **options)


@contextlib.contextmanager
def use_mem_pool(pool: Any) -> Iterator[None]:
    """As ``torch.cuda.use_mem_pool``, for a pool of ``mem_pool``. HeapExhaustedError where torch would
    report that the GPU is out of memory: the error has the size of the reserve, and a remedy.
    """
    torch = _torch("use_mem_pool")
    try:
        with torch.cuda.use_mem_pool(pool):
            yield
    except torch.cuda.OutOfMemoryError as error:
        raise HeapExhaustedError(
            f"the pool of symmetric memory has no room for a tensor: {last_error()}. Call "
            "mem_pool(nbytes) of nvshmemrs.core.interop.torch with more, before tensors are made and "
            "before a capture"
        ) from error


def _torch(*names: str) -> Any:
    """torch, if it has these functions for pools."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotSupportedError(f"mem_pool: torch cannot be imported ({error})") from None
    missing = [name for name in names if not hasattr(torch.cuda, name)]
    if missing:
        raise NotSupportedError(
            f"mem_pool: this torch has no torch.cuda.{missing[0]}; torch 2.5 and later have it"
        )
    return torch
