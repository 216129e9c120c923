"""The GPU of this PE, and the array libraries that use it: torch and CuPy, where the program has
imported them. Nothing here imports them.
"""

from __future__ import annotations

import ctypes
import operator
import os
import re
import sys
from typing import Any, List, Optional

from .. import _ffi
from .nvshmem_types import NvshmemInvalid, error_of

_RTLD_NOLOAD = 4


def asked() -> Optional[str]:
    """Where NVSHMEMRS_MEMORY puts the heap, None if it is not set."""
    return os.environ.get("NVSHMEMRS_MEMORY", "").lower() or None


def number_of(device: Any) -> int:
    """The number of a GPU from a number, "cuda:1", or a device of cuda.core, torch or CuPy; -1
    where it names none in particular, such as torch.device("cuda").
    """
    if isinstance(device, str):
        named = re.fullmatch(r"cuda(?::(\d+))?", device)
        if named:
            return int(named[1] or -1)
        raise _no_device(device)
    kind = getattr(device, "type", None)
    if isinstance(kind, str) and hasattr(device, "index"):  # torch.device
        if kind != "cuda":
            raise _no_device(device)
        return -1 if device.index is None else int(device.index)
    for name in ("device_id", "id"):  # cuda.core.Device, cupy.cuda.Device
        if hasattr(device, name):
            return int(getattr(device, name))
    try:
        number = -1 if isinstance(device, bool) else operator.index(device)
    except TypeError:
        raise _no_device(device) from None
    if not 0 <= number < 2**31:
        raise _no_device(device)
    return number


def _no_device(device: Any) -> NvshmemInvalid:
    return NvshmemInvalid(
        f"device={device!r}: give the number of a GPU, a cuda.core.Device, a torch.device of type "
        'cuda, a cupy.cuda.Device, "host", or None'
    )


def is_current() -> bool:
    """Whether the calling thread has a current CUDA context: then the program has chosen a GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=_RTLD_NOLOAD)
        current = driver.cuCtxGetCurrent
    except (OSError, AttributeError):  # nobody has loaded it, so nobody has chosen
        return False
    context = ctypes.c_void_p()
    return current(ctypes.byref(context)) == 0 and bool(context.value)


def use(device: int) -> None:
    """Makes a GPU's primary context the calling thread's current one, unless it has one, so that
    torch and CuPy use the GPU of the heap. It stays so.
    """
    if is_current():
        return
    driver = ctypes.CDLL("libcuda.so.1", mode=_RTLD_NOLOAD)
    number, context = ctypes.c_int(), ctypes.c_void_p()
    for name, arguments in (
        ("cuDeviceGet", (ctypes.byref(number), device)),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), number)),
        ("cuCtxPushCurrent_v2", (context,)),
    ):
        status = getattr(driver, name)(*arguments)
        if status:
            raise error_of(int(_ffi.Status.CUDA), f"{name} of GPU {device}: error {status}")


def current_streams(device: int) -> List[Any]:
    """The current streams of the array libraries that the program uses on this GPU: those of torch
    and CuPy, where they have been imported.
    """
    found: List[Any] = []
    torch, cupy = (
        getattr(sys.modules.get(name), "cuda", None)  # which it may not have while it is imported
        for name in ("torch", "cupy")
    )
    if torch is not None and torch.is_initialized():
        found.append(torch.current_stream(device))
    if cupy is not None:
        found.append(cupy.get_current_stream(device))
    return found
