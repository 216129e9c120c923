"""Shared parts of compilers that keep the state in memory of a kernel's module: the symbol of that
memory, and the checks of a launch.
"""

from __future__ import annotations

from .._job import job
from ..nvshmem_types import NotSupportedError

SYMBOL = "nvshmemrs_device_state"
"""The 64 bytes of the state in a module."""


def no_memory() -> NotSupportedError:
    """The error of a module without memory for the state."""
    return NotSupportedError(
        "the kernel's module has no memory for the state: do not link code for link-time "
        "optimization to kernels that communicate"
    )


def expect_heap_on(device: int) -> None:
    """Refuses a launch on another GPU than that of the symmetric heap."""
    if job.device != device:
        where = "host memory" if job.device < 0 else f"GPU {job.device}"
        raise NotSupportedError(
            f"the symmetric heap is on {where}, and the kernel is launched on GPU {device}: "
            "init(device=...) and cuda.select_device choose them"
        )
