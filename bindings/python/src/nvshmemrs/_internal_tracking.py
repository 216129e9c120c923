"""``nvshmem.core._internal_tracking`` of NVSHMEM4Py, for programs that use it: whether this
process is a PE, and the memory that it has allocated and not freed. Both are read-only.
"""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import Any, Dict, Iterator, Mapping

from .core import _job
from .core._job import job
from .core.direct import InitStatus, init_status
from .core.nvshmem_types import BufferTypes

__all__ = ["InternalInitStatus"]


class InternalInitStatus(enum.IntEnum):
    """The value of ``_is_initialized["status"]``."""

    UNINITIALIZED = 0
    INITIALIZED = 1
    DE_INITIALIZED = 2


class _Status(Mapping[str, InternalInitStatus]):
    def __getitem__(self, name: str) -> InternalInitStatus:
        if name != "status":
            raise KeyError(name)
        if init_status() == InitStatus.STATUS_IS_INITIALIZED:
            return InternalInitStatus.INITIALIZED
        return InternalInitStatus.UNINITIALIZED

    def __iter__(self) -> Iterator[str]:
        return iter(("status",))

    def __len__(self) -> int:
        return 1


class _Resource:
    """The memory of a heap that is not freed, by address. Where its last reference went away, this PE
    has released it, and it has no Buffer.
    """

    @property
    def _mem_references(self) -> Mapping[int, Mapping[str, Any]]:
        found: Dict[int, Mapping[str, Any]] = {}
        for (runtime, address), known in list(_job.buffers.items()):
            buffer = known() if runtime == job.runtime else None
            if buffer is not None and buffer.is_live:
                found[address] = self._entry(buffer, buffer.buffer_type)
        _job.forget_freed()
        for runtime, address in list(_job.released):
            if runtime == job.runtime and address not in found:
                found[address] = self._entry(None, BufferTypes.NORMAL)
        return MappingProxyType(found)

    def _entry(self, buffer: Any, kind: BufferTypes) -> Mapping[str, Any]:
        entry = {
            "ref_count": 1,
            "resource": self,
            "buffer": buffer,
            "type": kind,
            "freed": False,
            "released": buffer is None,
            "except_on_del": False,
        }
        return MappingProxyType(entry)


class _Resources(Mapping[int, _Resource]):
    """By the GPU that the heap is on, -1 for host memory; empty until something is allocated."""

    _only = _Resource()

    def __getitem__(self, device: int) -> _Resource:
        if device != job.device or not self._only._mem_references:
            raise KeyError(device)
        return self._only

    def __iter__(self) -> Iterator[int]:
        return iter((job.device,) if self._only._mem_references else ())

    def __len__(self) -> int:
        return len(list(iter(self)))


_is_initialized = _Status()
_mr_references = _Resources()
