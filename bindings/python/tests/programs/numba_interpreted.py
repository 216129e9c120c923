"""Runs `numba_kernels.py` with kernels that numba-cuda-mlir compiled, without a GPU: the stand-in for
libcuda of fake_launches.c passes launches on, and their PTX is run in Python, with real signals between
the PEs. `numba_interpreted.py FOLDER PART..`, where FOLDER is as `numba_mlir_build.py` leaves it.
With `lent` for a PART it is `numba_lent.py` that runs.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import runpy
import sys
import traceback
from pathlib import Path
from typing import Any, Dict

import cuda.bindings.driver  # noqa: F401  the real one, before the stand-ins are found

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "fakes"), str(HERE.parent / "cute")]
import ptx

FOLDER = Path(sys.argv[1])
LISTED = {
    entry["kernel"]: entry for entry in json.loads((FOLDER / "kernels.json").read_text()).values()
}
made: Dict[str, ptx.Kernel] = {}


class Alone:
    """What one process of the job does at a time."""

    def __init__(self) -> None:
        self.file = open(FOLDER / "kernels.json")

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)


@ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.POINTER(ctypes.c_uint),
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.c_void_p,
)
def launched(name: bytes, shape: Any, arguments: Any, state: int) -> int:
    try:
        entry = LISTED[name.decode()]
        if entry["kernel"] not in made:
            text = (FOLDER / entry["file"]).with_suffix(".ptx").read_text()
            made[entry["kernel"]] = ptx.Kernel(text)
        given = [ctypes.string_at(arguments[k], size) for k, size in enumerate(entry["sizes"])]
        assert list(shape[:3]) == [1, 1, 1] and list(shape[4:6]) == [1, 1], shape[:7]
        memory = {"nvshmemrs_device_state": state}
        shared = shape[6] or made[entry["kernel"]].shared
        block = ptx.Block(made[entry["kernel"]], shape[3], *given, memory=memory, shared=shared)
        # The other PEs are processes, which this one may have to wait for.
        ptx.run([block], seed=shape[3], limit=sys.maxsize)
        return 0
    except Exception:
        traceback.print_exc()
        return 719


ptx.atomic = Alone()
driver = ctypes.CDLL("libcuda.so.1")
ctypes.c_void_p.in_dll(driver, "fake_launched").value = ctypes.cast(launched, ctypes.c_void_p).value
os.environ["NUMBA_KERNELS"] = str(FOLDER)
sys.argv[1:] = ["few", "small", *sys.argv[2:]]
named = "numba_lent.py" if "lent" in sys.argv else "numba_kernels.py"
runpy.run_path(str(HERE / named), run_name="__main__")
