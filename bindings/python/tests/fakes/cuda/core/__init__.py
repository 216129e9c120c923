"""A stand-in for cuda.core, as far as nvshmemrs and its tests use it; see cupy.py."""

from __future__ import annotations

from typing import Any, Tuple

import fakegpu


class Stream(fakegpu.Stream):
    """A stream, which goes with its last reference."""

    def __cuda_stream__(self) -> Tuple[int, int]:
        return (0, self.raw)

    sync = fakegpu.Stream.synchronize


class Device:
    """A GPU."""

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = device_id

    def set_current(self) -> None:
        """Makes it the current one."""
        fakegpu.set_device(self.device_id)

    def create_stream(self) -> Stream:
        """A new stream."""
        return Stream()


class Buffer:
    """Memory of this process."""

    is_device_accessible = True
    is_host_accessible = True

    def __init__(self, size: int) -> None:
        self._memory, self.size = fakegpu.Memory(size), size
        self.bytes = fakegpu.bytes_at(self._memory.address, size, self._memory)

    @property
    def handle(self) -> Any:
        """Its address."""
        return self._memory.address
