"""Memory of a job as kernels see it, made by hand: heaps of PEs that nobody runs, and their states."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, List

import numpy as np

from nvshmemrs.core.device import MAGIC, VERSION

_STRIDE, _JOB, _SYNC = 1 << 20, 1 << 13, 1 << 16


class World:
    """`n` PEs, all of which are members of the only team."""

    def __init__(self, n: int) -> None:
        self._memory = ctypes.create_string_buffer(n * (_STRIDE + _JOB) + 4096)
        self.base = -(-ctypes.addressof(self._memory) // 4096) * 4096
        self.n = n
        self.states: List[bytes] = []
        for pe in range(n):
            job = self._job(pe)
            room = _STRIDE - _SYNC
            # As nvshmemrs_device.cuh declares them: the job, its team WORLD, and the state.
            head = struct.pack("<QIIQQIIQQQ", room, 1, 0, 0, 0, 128, 0, 0, 0, 0)
            row = struct.pack("<iiiiQQQIIQ", n, pe, 0, 1, 0, room, job + 2048, 0, 0, 0)
            ctypes.memmove(job, head + row, 128)
            words = (MAGIC, VERSION, pe, n, self.base, _STRIDE, job + 1024, 0, job, 0, 0)
            self.states.append(struct.pack("<IIiiQQQQQII", *words))

    def _job(self, pe: int) -> int:
        return self.base + self.n * _STRIDE + pe * _JOB

    def address(self, pe: int, offset: int = 0) -> int:
        """Where a PE's heap begins."""
        return self.base + pe * _STRIDE + offset

    def view(self, pe: int, dtype: Any, count: int, offset: int = 0) -> Any:
        """Elements of a PE's heap."""
        bytes_ = (ctypes.c_char * (count * np.dtype(dtype).itemsize)).from_address(
            self.address(pe, offset)
        )
        return np.frombuffer(bytes_, dtype)

    def meetings(self, pe: int) -> int:
        """How often slot 0 has met."""
        return ctypes.c_uint64.from_address(self._job(pe) + 2048).value
