"""Starts NVSHMEM4Py in a PE of nvshmemrs-run, for the sides of NVSHMEM4Py in the benchmarks."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

# NVSHMEM4Py imports torch if torch is installed. torch loads the NVSHMEM of its own build, whose version may differ from the headers of
# NVSHMEM4Py, and NVSHMEM4Py would use that library.
sys.modules["torch"] = None  # type: ignore[assignment]


def begin(me: int, n: int):
    """Initializes `nvshmem.core` on a GPU of this PE's; returns it, and a stream."""
    import cupy
    import numpy
    import nvshmem.core as nvshmem

    try:
        from cuda.core import Device
    except ImportError:  # its name in earlier versions
        from cuda.core.experimental import Device

    device = Device(me % cupy.cuda.runtime.getDeviceCount())
    device.set_current()
    file = Path(os.environ["BENCH_UNIQUE_ID"])
    uid = nvshmem.get_unique_id(empty=me != 0)
    if me == 0:
        unfinished = file.with_suffix(".part")
        unfinished.write_bytes(uid._data.tobytes())
        unfinished.rename(file)
    else:
        for _ in range(3000):
            if file.exists():
                break
            time.sleep(0.01)
        uid._data[:] = numpy.frombuffer(file.read_bytes(), uid._data.dtype)
    nvshmem.init(device=device, uid=uid, rank=me, nranks=n, initializer_method="uid")
    return nvshmem, device.create_stream()
