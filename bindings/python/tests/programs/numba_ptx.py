"""Kernels of Numba on a machine without a GPU: they are compiled to PTX, which is run in Python, on a
heap in host memory.
"""

from __future__ import annotations

import ctypes
import fcntl
import sys
import warnings
from pathlib import Path
from typing import Any, Dict, Tuple

import numba.cuda
import numba.cuda.dispatcher
import numpy as np
from numba.cuda import types

import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import fitting, state
from nvshmemrs.core.device._symbol import SYMBOL
from nvshmemrs.core.device.numba._compiled import RECORDS

sys.path.append(str(Path(__file__).parents[1] / "cute"))
import ptx

warnings.simplefilter("ignore")


class Device:
    """What Numba asks for where there is no GPU."""

    compute_capability = (9, 0)


numba.cuda.dispatcher.get_current_device = lambda: Device


class Alone:
    """What one process of the job does at a time."""

    def __init__(self) -> None:
        self.file = open(__file__)

    def __enter__(self) -> None:
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_: object) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)


ptx.atomic = Alone()


def kind(argument: Any) -> Any:
    """The type of an argument as Numba has it."""
    if isinstance(argument, np.ndarray):
        return types.Array(getattr(types, argument.dtype.name), argument.ndim, "C")
    return types.int64


def passed(argument: Any) -> Tuple[bytes, ...]:
    """An argument's parts as a kernel takes them."""
    if not isinstance(argument, np.ndarray):
        return (int(argument).to_bytes(8, "little", signed=True),)
    words = (0, 0, argument.size, argument.itemsize, argument.__array_interface__["data"][0])
    return tuple(
        word.to_bytes(8, "little") for word in (*words, *argument.shape, *argument.strides)
    )


class Kernel:
    """A kernel: `kernel[blocks, threads](...)` returns when it is over."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.made: Dict[Any, ptx.Kernel] = {}

    def __getitem__(self, shape: Tuple[int, int]) -> Any:
        return lambda *arguments: self.launch(*shape, arguments)

    def launch(self, blocks: int, threads: int, arguments: Tuple[Any, ...]) -> None:
        given = tuple(map(kind, arguments))
        if given not in self.made:
            text, _ = numba.cuda.compile_ptx(self.function, given, cc=Device.compute_capability)
            self.made[given] = ptx.Kernel(text)
        words = ctypes.create_string_buffer(bytes(fitting(state(), "a kernel", RECORDS)), 64)
        memory = {SYMBOL: ctypes.addressof(words)}
        parts = [part for argument in arguments for part in passed(argument)]
        grid = [
            ptx.Block(self.made[given], threads, *parts, memory=memory, place=(number, blocks))
            for number in range(blocks)
        ]
        # The other PEs are processes, which this one may have to wait for.
        ptx.run(grid, seed=nvshmem.my_pe(), limit=sys.maxsize)
