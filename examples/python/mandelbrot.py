"""Work stealing: rows of the Mandelbrot set, which take very different times.

    nvshmemrs-run -n 4 -- python examples/python/mandelbrot.py [--no-steal] [--plot FILE]

Each PE owns a block of rows, and a counter in symmetric memory: its next row. A PE takes a row of
its own by an atomic fetch-and-add on its counter. When its rows are taken, it takes rows of the
next PE by the same operation there, and so on. So no row is taken twice, and no PE waits. A row
that is done is put into the image on PE 0. examples/cpp/mandelbrot.cpp is the same program in C++.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import nvshmemrs.core as nvshmem
import report
from numpy.typing import NDArray

Counts = NDArray[np.int32]
X, Y = (-2.0, 0.6), (-0.2, 1.5)  # the last rows are outside the set, and quick
LIMIT = 500  # iterations


def row_of_set(i: int, height: int, width: int) -> Counts:
    """Iterations of each point of row `i` until it leaves the disc of radius 2, at most LIMIT."""
    cx = X[0] + (X[1] - X[0]) * np.arange(width) / width
    cy = Y[0] + (Y[1] - Y[0]) * i / height
    counts = np.full(width, LIMIT, dtype=np.int32)
    inside, x, y = np.arange(width), np.zeros(width), np.zeros(width)
    for step in range(LIMIT):
        if len(inside) == 0:
            break
        x2, y2 = x * x, y * y
        leaves = x2 + y2 > 4
        if leaves.any():
            counts[inside[leaves]] = step
            stays = ~leaves
            inside = inside[stays]
            cx, x, y, x2, y2 = (a[stays] for a in (cx, x, y, x2, y2))
        y = 2 * x * y + cy
        x = x2 - y2 + cx
    return counts


def take(counter: NDArray[np.int64], pe: int, end: int) -> int | None:
    """The next row of PE `pe`, or None if all its rows are taken."""
    row = int(nvshmem.atomic_fetch_add(counter, 1, pe))
    return row if row < end else None


def compute(image: Counts, owner: Counts, steal: bool) -> tuple[int, int]:
    """Computes all rows of the image on PE 0. Collective. Returns rows done and rows stolen."""
    me, n, height = nvshmem.my_pe(), nvshmem.n_pes(), len(image)
    counter = nvshmem.array(1, dtype="int64")
    counter[0] = me * height // n
    nvshmem.barrier_all()
    done = stolen = 0
    for victim in [(me + i) % n for i in range(n if steal else 1)]:
        end = (victim + 1) * height // n
        while (row := take(counter, victim, end)) is not None:
            nvshmem.put(image[row], row_of_set(row, *image.shape), 0)
            nvshmem.p(owner[row : row + 1], me, 0)
            done, stolen = done + 1, stolen + (victim != me)
    nvshmem.barrier_all()  # completes the puts, and no PE needs a counter any more
    return done, stolen


def plot(file: str, image: Counts, owner: Counts) -> None:
    figure = report.figure(7, 3)
    left, right = figure.subplots(1, 2, width_ratios=(5, 1), sharey=True)
    extent = (*X, *Y)
    left.imshow(np.log(image + 1.0), origin="lower", extent=extent, cmap="magma", aspect="auto")
    right.imshow(owner[:, None], origin="lower", extent=(0, 1, *Y), cmap="tab10", aspect="auto", vmin=0, vmax=9)
    left.set(xlabel="Re c", ylabel="Im c")
    right.set(xticks=[], title="PE of the row")
    figure.savefig(file, dpi=90)


def main() -> int:
    parser = report.options("The Mandelbrot set, by work stealing.")
    parser.add_argument("--height", type=int, default=300, help="rows; 3/2 as many columns (300)")
    parser.add_argument("--no-steal", action="store_true", help="a PE computes its own rows only")
    options = parser.parse_args()
    if options.height < 1:
        sys.exit(f"mandelbrot: --height {options.height} is less than 1")

    nvshmem.init()
    me, n, height = nvshmem.my_pe(), nvshmem.n_pes(), options.height
    image = nvshmem.array((height, height * 3 // 2), dtype="int32")
    owner = nvshmem.array(height, dtype="int32")
    nvshmem.barrier_all()
    begin = time.perf_counter()
    done = compute(image, owner, not options.no_steal)
    seconds = time.perf_counter() - begin

    table = nvshmem.array((n, 2), dtype="int64")
    nvshmem.put(table[me], np.array(done), 0)
    nvshmem.barrier_all()
    ok = True
    if me == 0:
        alone = np.array([row_of_set(i, *image.shape) for i in range(height)])
        ok = np.array_equal(image, alone) and table[:, 0].sum() == height
        problem = f"{image.shape[0]} x {image.shape[1]} points on {n} PEs"
        for pe, (rows, stolen) in enumerate(table):
            problem += f"\nPE {pe}: {rows} rows, {stolen} of them of other PEs"
        check = "equal to the image of one process"
        report.show(problem, seconds, f"{image.sum(dtype=np.int64)} iterations", check, ok)
        if options.plot:
            plot(options.plot, image, owner)
    nvshmem.finalize()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
