"""Shared by the five programs of docs/examples.md: the whole result on PE 0, its lines and picture."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import nvshmemrs.core as nvshmem

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

Element = TypeVar("Element", bound=np.generic)


def options(description: str) -> argparse.ArgumentParser:
    """A parser that knows `--plot FILE`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--plot", metavar="FILE", help="picture to write")
    return parser


def whole_on_pe_0(part: NDArray[Element], first: int, *shape: int) -> NDArray[Element]:
    """An array of this shape, in which PE 0 has the parts of all PEs. Collective. `part` is the part
    of this PE, and begins at row `first`."""
    whole = nvshmem.array(shape, dtype=part.dtype)
    nvshmem.put(whole[first : first + len(part)], part, 0)
    nvshmem.barrier_all()
    result = whole.copy()
    nvshmem.free_array(whole)
    return result


def show(problem: str, seconds: float, result: str, check: str, ok: bool) -> None:
    """Prints the lines of a program; measure.py reads its time, and the tests its result."""
    print(problem)
    print(f"time: {seconds:.4f} s")
    print(f"result: {result}")
    print(f"check: {check}{'' if ok else ': FAILED'}")


def figure(width: float, height: float) -> Figure:
    """An empty picture of so many inches. Only pictures need matplotlib."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
