"""What the stand-ins for torch, CuPy and cuda.core share: the libcuda that is found (for tests the one
of tests/programs/fake_cuda.c, whose memory the host can read) with its streams, and memory there.
"""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Dict, Optional

import numpy as np

_driver = ctypes.CDLL("libcuda.so.1")
_contexts: Dict[int, ctypes.c_void_p] = {}
device = 0
initialized = False


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the driver."""
    status = getattr(_driver, name)(*arguments)
    assert status == 0, f"{name}: {status}"


def set_device(number: int) -> None:
    """Makes a GPU the current one of this thread."""
    global device, initialized
    if number not in _contexts:
        call("cuInit", 0)
        _contexts[number] = context = ctypes.c_void_p()
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), number)
    call("cuCtxPushCurrent_v2", _contexts[number])
    device, initialized = number, True


def device_count() -> int:
    """How many GPUs there are."""
    call("cuInit", 0)
    count = ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    return count.value


class Stream:
    """A stream of the driver's; the default one without a number."""

    made = 0

    def __init__(self, raw: Optional[int] = None) -> None:
        self.own = raw is None
        self.raw = raw or 0
        if raw is None:
            handle = ctypes.c_void_p()
            call("cuStreamCreate", ctypes.byref(handle), 1)
            self.raw = handle.value or 0
            Stream.made += 1

    def __del__(self) -> None:
        if self.own and self.raw:
            call("cuStreamDestroy_v2", ctypes.c_void_p(self.raw))

    def synchronize(self) -> None:
        """Waits for it."""
        call("cuStreamSynchronize", ctypes.c_void_p(self.raw))

    def query(self) -> bool:
        """Whether it is idle. It goes on then."""
        return bool(_driver.cuStreamQuery(ctypes.c_void_p(self.raw)) == 0)


class Memory:
    """Memory of this process that the driver knows."""

    def __init__(self, nbytes: int) -> None:
        place = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(place), ctypes.c_size_t(max(nbytes, 1)), 0)
        self.address = place.value or 0

    def __del__(self) -> None:
        if initialized:
            _driver.cuMemFreeHost(ctypes.c_void_p(self.address))


class PrivateMemory:
    """Memory of the current GPU; it lasts until the process ends."""

    def __init__(self, nbytes: int) -> None:
        page = 2 << 20
        size = ctypes.c_size_t(-(-max(nbytes, 1) // page) * page)
        place, memory = ctypes.c_uint64(), ctypes.c_uint64()
        zero = ctypes.c_uint64(0)
        call("cuMemAddressReserve", ctypes.byref(place), size, ctypes.c_size_t(0), zero, zero)
        properties = struct.pack("iiiiQ8x", 1, 1, 1, device, 0)
        call("cuMemCreate", ctypes.byref(memory), size, properties, zero)
        call("cuMemMap", place, size, ctypes.c_size_t(0), memory, zero)
        access = struct.pack("iii", 1, device, 3)
        call("cuMemSetAccess", place, size, access, ctypes.c_size_t(1))
        call("cuMemRelease", memory)
        self.address = place.value


class _At:
    def __init__(self, address: int, nbytes: int, keep: Any) -> None:
        self.keep = keep
        self.__array_interface__ = {
            "version": 3,
            "shape": (nbytes,),
            "typestr": "|u1",
            "data": (address, False),
        }


def bytes_at(address: int, nbytes: int, keep: Any) -> np.ndarray:
    """What is there, as bytes; `keep` lives as long."""
    return np.asarray(_At(address, nbytes, keep))


def copy_on(stream: int, to: np.ndarray, of: np.ndarray) -> None:
    """Copies host memory, which may change at once, when the stream comes to it; row by row where
    `to` is no block.
    """
    of = np.ascontiguousarray(np.broadcast_to(of, to.shape), to.dtype)
    if to.flags.c_contiguous or to.flags.f_contiguous:
        of = np.asarray(of, order="C" if to.flags.c_contiguous else "F")
        place, source = to.ctypes.data, of.ctypes.data
        arguments = (ctypes.c_uint64(place), ctypes.c_uint64(source), ctypes.c_size_t(to.nbytes))
        if to.nbytes:
            call("cuMemcpyAsync", *arguments, ctypes.c_void_p(stream))
    else:
        for i, other in enumerate(of):
            copy_on(stream, to[i : i + 1] if to.ndim == 1 else to[i], other)
