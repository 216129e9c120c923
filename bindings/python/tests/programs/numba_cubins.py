"""Stands for `numba_cuda_mlir.cuda` where that is not installed: its kernels come from the folder that
NUMBA_KERNELS names, in which `numba_mlir_build.py` has put their cubins and `kernels.json`.

An argument is passed as that compiler's own launcher passes it, with which
`numba_mlir_launches.py` compares: an integer in 8 bytes, a bool in 1, and an array in parts of
8 bytes, which are its address twice, 0, its shape, and its strides in elements.
"""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any, Dict, List, Tuple

import numpy as np
from cuda.bindings import driver

from nvshmemrs.core.device._module import fill
from nvshmemrs.core.device._symbol import SYMBOL


def done(found: Any) -> Any:
    """What a call of the driver gives, if its status is that of success."""
    status, *rest = found
    assert status == driver.CUresult.CUDA_SUCCESS, status
    return rest[0] if rest else None


def signature(name: str, arguments: Tuple[Any, ...]) -> str:
    """A kernel's name with the types of its arguments."""

    def kind(argument: Any) -> str:
        if hasattr(argument, "dtype"):
            return f"{np.dtype(argument.dtype).name}[]"
        return "bool" if isinstance(argument, bool) else "int64"

    return " ".join([name, *map(kind, arguments)])


def passed(arguments: Tuple[Any, ...]) -> List[bytes]:
    """The arguments as the kernel takes them."""
    parts: List[bytes] = []
    for argument in arguments:
        if isinstance(argument, (bool, np.bool_)):
            parts.append(bytes([bool(argument)]))
        elif hasattr(argument, "__cuda_array_interface__"):
            at = argument.__cuda_array_interface__["data"][0]
            strides = [stride // argument.itemsize for stride in argument.strides]
            parts += [np.int64(x).tobytes() for x in (at, at, 0, *argument.shape, *strides)]
        else:
            parts.append(np.int64(int(argument)).tobytes())
    return parts


class Kernel:
    """A kernel by its name: `kernel[blocks, threads, 0, bytes of shared memory](...)`."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.loaded: Dict[str, Tuple[Any, List[int]]] = {}

    def __getitem__(self, shape: Tuple[int, ...]) -> Any:
        return lambda *arguments: self.launch(shape, arguments)

    def load(self, wanted: str) -> Tuple[Any, List[int]]:
        """A function of the driver's, and the sizes of its arguments."""
        listed = json.loads((self.folder / "kernels.json").read_text())
        assert wanted in listed, f"no kernel was compiled for {wanted!r}; there are {[*listed]}"
        entry = listed[wanted]
        cubin = (self.folder / entry["file"]).read_bytes()
        library = done(driver.cuLibraryLoadData(cubin, [], [], 0, [], [], 0))
        # Few kernels only lend, and know no job.
        if SYMBOL.encode() in cubin:
            fill(library)
        kernel = done(driver.cuLibraryGetKernel(library, entry["kernel"].encode()))
        return done(driver.cuKernelGetFunction(kernel)), entry["sizes"]

    def launch(self, shape: Tuple[int, ...], arguments: Tuple[Any, ...]) -> None:
        wanted = signature(self.name, arguments)
        if wanted not in self.loaded:
            self.loaded[wanted] = self.load(wanted)
        function, sizes = self.loaded[wanted]
        parts = passed(arguments)
        assert [len(part) for part in parts] == sizes, (wanted, sizes, parts)
        held = [ctypes.create_string_buffer(part, len(part)) for part in parts]
        table = (ctypes.c_void_p * len(held))(*map(ctypes.addressof, held))
        blocks, threads, _, shared = (*shape, 0, 0)[:4]
        grid = (blocks, 1, 1, threads, 1, 1)
        done(driver.cuLaunchKernel(function, *grid, shared, 0, ctypes.addressof(table), 0))


def jit(function: Any) -> Kernel:
    """What `cuda.jit` gives."""
    return Kernel(function.__name__, Path(os.environ["NUMBA_KERNELS"]))


def synchronize() -> None:
    """Waits for the kernels, and says which error they ended with."""
    done(driver.cuCtxSynchronize())


class Gpus:
    """The GPUs."""

    def __len__(self) -> int:
        done(driver.cuInit(0))
        return int(done(driver.cuDeviceGetCount()))


gpus = Gpus()
