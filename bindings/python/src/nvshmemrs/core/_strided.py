"""Copies between two arrays of any layout, as few calls of the library as their strides allow.

Elements correspond by index: both arrays are walked in C order, in any memory layout.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from ._arguments import integer
from ._job import bare, lib
from ._operand import Function, Operand, same_dtype
from .nvshmem_types import NvshmemInvalid

Strides = Tuple[int, ...]
# Length, and bytes from one to the next in dst and in src.
Axis = Tuple[int, int, int]
# So much work numpy.shares_memory may do before an overlap counts as one.
_OVERLAP_WORK: Any = 100_000


class Calls:
    """The library's functions for one direction; the last two are blocking. `plain` is `contiguous`
    from `bare`.
    """

    __slots__ = ("contiguous", "plain", "strided", "blocks")

    def __init__(self, contiguous: str, strided: Function, blocks: Function) -> None:
        self.contiguous: Function = getattr(lib, contiguous)
        self.plain = bare(contiguous)
        self.strided = strided
        self.blocks = blocks


class Piece(NamedTuple):
    """Elements of one array that a shape and strides describe, `offset` bytes from its first."""

    offset: int
    shape: Tuple[int, ...]
    strides: Strides


class Blocks(NamedTuple):
    """Blocks of bytes that are contiguous in dst and src and repeat along `axes`."""

    to: int
    of: int
    nbytes: int
    axes: List[Axis]
    itemsize: int


def plan(dst: Operand, src: Operand, count: Optional[int], local: bool) -> List[Blocks]:
    """The copies for `count` elements, or all. `local`: the target is this PE, so source and target
    may overlap.
    """
    itemsize, number = _agree(dst, src, count)
    if number == 0:  # the library still checks the PE and the addresses
        return [Blocks(dst.address, src.address, 0, [], itemsize)]
    found = []
    for in_dst, in_src in _pieces(dst, src, itemsize, number):
        nbytes, axes = _axes(in_dst, in_src, itemsize)
        # Axes that run backwards in dst are walked from their end.
        last = [n - 1 if s < 0 else 0 for n, s in zip(in_dst.shape, in_dst.strides)]
        to = dst.address + in_dst.offset + sum(n * s for n, s in zip(last, in_dst.strides))
        of = src.address + in_src.offset + sum(n * s for n, s in zip(last, in_src.strides))
        found.append(Blocks(to, of, nbytes, axes, itemsize))
    if local and (len(found) > 1 or found[0].axes):
        _check_overlap(dst, src)
    return found


def copy(calls: Calls, runtime: Any, planned: List[Blocks], pe: int) -> int:
    """Performs the planned copies; returns the library's status."""
    for blocks in planned:
        if blocks.axes:
            status = _copy_blocks(calls, runtime, blocks, pe)
        else:
            status = calls.contiguous(runtime, blocks.to, blocks.of, blocks.nbytes, pe)
        if status:
            return status
    return 0


def _copy_blocks(calls: Calls, runtime: Any, blocks: Blocks, pe: int) -> int:
    # The library walks the longest axis, Python the others.
    *axes, (length, dst_stride, src_stride) = sorted(blocks.axes)
    unit = math.gcd(blocks.itemsize, dst_stride, src_stride)
    strides = (dst_stride // unit, src_stride // unit)
    for steps in itertools.product(*(range(axis[0]) for axis in axes)):
        to = blocks.to + sum(i * axis[1] for i, axis in zip(steps, axes))
        of = blocks.of + sum(i * axis[2] for i, axis in zip(steps, axes))
        if blocks.nbytes == unit:
            status = calls.strided(runtime, to, of, *strides, unit, length, pe)
        else:
            size = blocks.nbytes // unit
            status = calls.blocks(runtime, to, of, *strides, unit, size, length, pe)
        if status:
            return status
    return 0


def _agree(dst: Operand, src: Operand, count: Optional[int]) -> Tuple[int, int]:
    """Bytes of an element, and how many are to be moved."""
    same_dtype(dst, src)
    dtype = dst.dtype if dst.dtype is not None else src.dtype
    itemsize = 1 if dtype is None else dtype.itemsize or 1
    if any(n > 1 and s == 0 for n, s in zip(dst.shape, dst.strides)):
        raise NvshmemInvalid(f"dst has strides {dst.strides}: its elements lie on each other")
    if count is None:
        if dst.nbytes != src.nbytes:
            raise NvshmemInvalid(
                f"dst is {dst.describe()} and src {src.describe()}: pass slices of the same size, "
                "or count"
            )
        return itemsize, dst.nbytes // itemsize
    limit = min(dst.nbytes, src.nbytes) // itemsize
    number = integer(count, "count")
    if not 0 <= number <= limit:
        raise NvshmemInvalid(
            f"count={count}: dst is {dst.describe()} and src {src.describe()}, so 0 to {limit}"
        )
    return itemsize, number


def _pieces(dst: Operand, src: Operand, itemsize: int, count: int) -> Iterator[Tuple[Piece, Piece]]:
    """Pairs of the same shape that together make the first `count` elements of both."""
    in_dst, in_src = _prefix(dst, itemsize, count), _prefix(src, itemsize, count)
    if in_dst is None and in_src is None:
        in_dst = in_src = [Piece(0, (count,), (itemsize,))]
    elif in_dst is None:
        in_dst = _alike(in_src or [], itemsize)
    elif in_src is None:
        in_src = _alike(in_dst, itemsize)
    elif [piece.shape for piece in in_dst] != [piece.shape for piece in in_src]:
        raise NvshmemInvalid(
            f"dst has shape {dst.shape} and src {src.shape}, and neither is C-contiguous: reshape "
            "one, or copy it first"
        )
    return zip(in_dst, in_src or [])


def _prefix(array: Operand, itemsize: int, count: int) -> Optional[List[Piece]]:
    """The first `count` elements in C order; None if they just follow each other."""
    if array.layout is not None or array.dtype is None:
        return None
    sides = [(n, s) for n, s in zip(array.shape, array.strides) if n != 1]
    pieces = []
    offset = 0
    while count:
        shape, strides = tuple(n for n, _ in sides), tuple(s for _, s in sides)
        rows, count = divmod(count, math.prod(shape[1:]))
        if rows:
            pieces.append(Piece(offset, (rows, *shape[1:]), strides))
        offset += rows * strides[0]
        sides = sides[1:]
    return pieces


def _alike(pieces: List[Piece], itemsize: int) -> List[Piece]:
    """Pieces of the same shapes that follow each other in memory."""
    made = []
    offset = 0
    for piece in pieces:
        strides: List[int] = []
        step = itemsize
        for length in reversed(piece.shape):
            strides.insert(0, step)
            step *= length
        made.append(Piece(offset, piece.shape, tuple(strides)))
        offset += step
    return made


def _axes(dst: Piece, src: Piece, itemsize: int) -> Tuple[int, List[Axis]]:
    """Bytes that are contiguous in both, and the axes along which such blocks repeat."""
    axes = [
        (n, d, s) if d >= 0 else (n, -d, -s)
        for n, d, s in zip(dst.shape, dst.strides, src.strides)
        if n != 1
    ]
    # Any order of the axes visits the same elements; the widest strides come first.
    axes.sort(key=lambda axis: -axis[1])
    merged: List[Axis] = []
    for n, d, s in axes:
        if merged and merged[-1][1:] == (n * d, n * s):
            n *= merged.pop()[0]
        merged.append((n, d, s))
    block = itemsize
    if merged and merged[-1][1:] == (itemsize, itemsize):
        block *= merged.pop()[0]
    return block, merged


def _check_overlap(dst: Operand, src: Operand) -> None:
    low, high = _extent(dst)
    start, end = _extent(src)
    if end <= low or high <= start:
        return
    try:
        both = dst.as_numpy(), src.as_numpy()
        overlap = np.shares_memory(*both, max_work=_OVERLAP_WORK)
    except RuntimeError:  # numpy.exceptions.TooHardError, which older versions name otherwise
        overlap = True
    if overlap:
        raise NvshmemInvalid(
            "dst and src overlap, and one of them is not contiguous: copy src first"
        )


def _extent(array: Operand) -> Tuple[int, int]:
    """The lowest address and the one behind the highest."""
    ends = [(n - 1) * s for n, s in zip(array.shape, array.strides)]
    low = array.address + sum(end for end in ends if end < 0)
    itemsize = 1 if array.dtype is None else array.dtype.itemsize
    return low, array.address + sum(end for end in ends if end > 0) + itemsize
