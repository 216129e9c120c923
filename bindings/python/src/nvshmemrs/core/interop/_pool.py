"""torch's memory pools over the symmetric heap."""

from __future__ import annotations

from typing import Any, List

from ..._ffi import library_path
from .._job import job
from ..nvshmem_types import NotInitializedError, NotSupportedError

# torch's pools refer to their allocator and do not keep it.
_allocators: List[Any] = []


def mem_pool(**options: Any) -> Any:
    """A ``torch.cuda.MemPool`` whose memory is the symmetric heap: what torch makes under ``with
    torch.cuda.use_mem_pool(pool):`` are tensors that operations and ``get_peer_tensor`` take.
    `options` are those of MemPool.

    The call is local. But torch's first tensor of a size, and whatever finds no room in the pool,
    allocates a block of at least 2 MiB, which is collective over all PEs: under ``use_mem_pool``
    all PEs must make the same tensors in the same order. Where that fails, torch says that the GPU
    is out of memory. torch gives blocks back with the pool, once its tensors are gone, and in
    ``torch.cuda.empty_cache()``; that is local, and the next collective allocation frees them.
    NotSupportedError on host memory, and without torch.
    """
    if not job.runtime:
        raise NotInitializedError("mem_pool: this process is not a PE; call init first")
    if job.device < 0:
        raise NotSupportedError(
            "mem_pool: the symmetric heap is host memory, and torch has memory pools on GPUs only; "
            "pass device to init, or set NVSHMEMRS_MEMORY=device"
        )
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotSupportedError(f"mem_pool: torch cannot be imported ({error})") from None
    missing = [name for name in ("MemPool", "use_mem_pool") if not hasattr(torch.cuda, name)]
    if missing:
        raise NotSupportedError(
            f"mem_pool: this torch has no torch.cuda.{missing[0]}; torch 2.5 and later have it"
        )
    if not _allocators:
        names = "nvshmemrs_pool_alloc", "nvshmemrs_pool_free"
        _allocators.append(torch.cuda.memory.CUDAPluggableAllocator(library_path(), *names))
    return torch.cuda.MemPool(_allocators[0].allocator(), **options)
