"""Which bytes an access of NumPy's is about: pairs of an address and a number of bytes."""

from __future__ import annotations

from typing import Any, Iterator, List, Tuple

import numpy as np

from ._operand import address_of

Runs = Iterator[Tuple[int, int]]


def runs(array: np.ndarray) -> Runs:
    """The elements of a plain array with any strides."""
    if not array.size:
        return
    address, block = address_of(array), array.itemsize
    if array.flags.c_contiguous or array.flags.f_contiguous:
        yield address, array.nbytes
        return
    axes = [(n, s) for n, s in zip(array.shape, array.strides) if n > 1 and s]
    address += sum(s * (n - 1) for n, s in axes if s < 0)
    axes = sorted((abs(s), n) for n, s in axes)
    while axes and axes[0][0] <= block:  # one behind the other, or on each other
        step, n = axes.pop(0)
        block += step * (n - 1)
    offsets = np.zeros(1, np.int64)
    for step, n in reversed(axes):
        offsets = (offsets[:, None] + step * np.arange(n)).ravel()
    for offset in offsets.tolist():
        yield address + offset, block


def selected(array: np.ndarray, key: Any) -> Runs:
    """The elements of a plain array that an index of any kind selects, or a function that is given
    an array of the same shape.
    """
    offsets = np.zeros((), np.int64)
    for n, stride in zip(array.shape, array.strides):
        offsets = offsets[..., None] + stride * np.arange(n)
    chosen: Any = key(offsets) if callable(key) else offsets[key]
    found = np.unique(chosen)
    if found.size:
        size = array.itemsize
        gaps = np.flatnonzero(np.diff(found) > size)
        starts: List[int] = found[[0, *(gaps + 1)]].tolist()
        ends: List[int] = found[[*gaps, -1]].tolist()
        address = address_of(array)
        for start, end in zip(starts, ends):
            yield address + start, end - start + size


def masked(own: Tuple[int, ...], where: Any, shape: Tuple[int, ...]) -> np.ndarray:
    """Which elements of an operand of shape `own` a ufunc uses that is done in `shape`, `where` a
    mask says.
    """
    chosen: Any = np.broadcast_to(where, shape)
    chosen = chosen.any(axis=tuple(range(len(shape) - len(own))))
    for axis, n in enumerate(own):
        if n == 1 and chosen.shape[axis] != 1:
            chosen = chosen.any(axis=axis, keepdims=True)
    return np.asarray(chosen, bool)


def whole_segments(array: np.ndarray, indices: Any, axis: int) -> Runs:
    """The elements that ``reduceat`` reads: from each index to the next one, if that is larger."""
    used = np.zeros(array.shape[axis], bool)
    starts = np.asarray(indices).tolist()
    for start, end in zip(starts, starts[1:] + [array.shape[axis]]):
        used[start : max(end, start + 1)] = True
    return selected(array, (slice(None),) * (axis % array.ndim) + (used,))
