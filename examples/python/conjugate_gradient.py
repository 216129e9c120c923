"""Conjugate gradient: the temperature of a plate with a ring that conducts badly.

    nvshmemrs-run -n 4 -- python examples/python/conjugate_gradient.py [--size N] [--plot FILE]

The equation is -div(k grad(u)) = heat on N x N points, with u = 0 at the border. Two points are
heated, one of them inside the ring. Each PE has a block of rows. The product with the matrix needs
one row of each neighbour, which arrives with a signal; the two scalar products are reductions.
examples/julia/conjugate_gradient.jl is the same program in Julia.
"""

from __future__ import annotations

import sys
import time
from typing import Callable

import numpy as np
import nvshmemrs.core as nvshmem
import report
from numpy.typing import NDArray

Points = NDArray[np.float64]
TOLERANCE = 1e-9  # of the residual's norm, relative to that of the heat
LIMIT = 1e-8  # largest difference from the result of one process
SET, AT_LEAST = nvshmem.SignalOp.SIGNAL_SET, nvshmem.ComparisonType.CMP_GE


def conductivity(size: int, first: int, end: int) -> Points:
    """k at the points of the rows before `end`, from `first`; both may be outside, by one row."""
    y, x = np.mgrid[first:end, -1 : size + 1] / (size - 1) - 0.5
    radius = np.sqrt(x * x + y * y)
    return np.where((radius > 0.25) & (radius < 0.3), 0.05, 1.0)


def coefficients(size: int, first: int, end: int) -> list[Points]:
    """The coefficients of the matrix row for the neighbours in the south, north, west and east:
    the harmonic mean of the two conductivities."""
    k = conductivity(size, first - 1, end + 1)
    center = k[1:-1, 1:-1]
    around = k[:-2, 1:-1], k[2:, 1:-1], k[1:-1, :-2], k[1:-1, 2:]
    return [2 * center * other / (center + other) for other in around]


def heat(size: int) -> Points:
    source = np.zeros((size, size))
    source[size // 2, size // 2] = 1.0
    source[size // 8, size // 4] = 0.5
    return source


def multiply(matrix: list[Points], u: Points) -> Points:
    """The matrix of these coefficients times `u`, which has a border of one point."""
    south, north, west, east = matrix
    inner = u[1:-1, 1:-1]
    flow = south * (inner - u[:-2, 1:-1]) + north * (inner - u[2:, 1:-1])
    return flow + west * (inner - u[1:-1, :-2]) + east * (inner - u[1:-1, 2:])


def dot(a: Points, b: Points) -> float:
    return float(np.sum(a * b))  # np.vdot starts threads of its own, which compete with other PEs


def conjugate_gradient(
    source: Points, product: Callable[[Points], Points], dot: Callable[[Points, Points], float]
) -> tuple[Points, int]:
    """Solves `product(u) = source`. Returns u and the number of steps."""
    u, r, p, steps = np.zeros_like(source), source.copy(), source.copy(), 0
    old = first = dot(r, r)
    while old > TOLERANCE**2 * first:
        q = product(p)
        alpha = old / dot(p, q)
        u += alpha * p
        r -= alpha * q
        new = dot(r, r)
        p = r + new / old * p
        old, steps = new, steps + 1
    return u, steps


class Plate:
    """This PE's rows of the plate, and the halo on both sides. Collective."""

    def __init__(self, size: int) -> None:
        self.me, self.n = nvshmem.my_pe(), nvshmem.n_pes()
        self.first, self.end = (size * (self.me + i) // self.n for i in (0, 1))
        self.coefficients = coefficients(size, self.first, self.end)
        self.halo = nvshmem.array((2, size), dtype="float64")  # the rows south and north of mine
        self.arrived = nvshmem.array(2, dtype="uint64")
        self.sum = nvshmem.array(1, dtype="float64")
        self.neighbours = [(side, pe) for side, pe in ((0, self.me - 1), (1, self.me + 1)) if 0 <= pe < self.n]
        self.padded = np.zeros((self.end - self.first + 2, size + 2))
        self.step = 0
        nvshmem.barrier_all()  # all signals are 0

    def product(self, p: Points) -> Points:
        self.step += 1
        for side, pe in self.neighbours:  # my row at this side is at the other side of that PE
            other = 1 - side
            signal = self.arrived[other : other + 1]
            nvshmem.put_signal(self.halo[other], p[-side], signal, self.step, SET, pe)
        self.padded[1:-1, 1:-1] = p
        for side, _ in self.neighbours:
            nvshmem.signal_wait(self.arrived[side : side + 1], self.step, AT_LEAST)
            self.padded[-side, 1:-1] = self.halo[side]
        return multiply(self.coefficients, self.padded)

    def dot(self, a: Points, b: Points) -> float:
        """The scalar product over all PEs. It also separates the steps: when it returns, all PEs
        have read their halo rows, and neighbours may write them again."""
        self.sum[0] = dot(a, b)
        nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, self.sum, self.sum, "sum")
        return float(self.sum[0])


def plot(file: str, u: Points) -> None:
    figure = report.figure(4, 3.4)
    axes = figure.subplots()
    image = axes.imshow(u, origin="lower", cmap="inferno", extent=(0, 1, 0, 1))
    axes.contour(u, levels=12, colors="white", linewidths=0.4, extent=(0, 1, 0, 1))
    figure.colorbar(image, label="temperature")
    figure.savefig(file, dpi=90)


def main() -> int:
    parser = report.options("The temperature of a plate, by conjugate gradient.")
    parser.add_argument("--size", type=int, default=256, help="rows and columns (256)")
    options = parser.parse_args()

    nvshmem.init()
    plate, size = Plate(options.size), options.size
    if size < max(8, plate.n):
        sys.exit(f"conjugate_gradient: --size {size}: at least 8, and a row for each PE")
    begin = time.perf_counter()
    u, steps = conjugate_gradient(heat(size)[plate.first : plate.end], plate.product, plate.dot)
    seconds = time.perf_counter() - begin

    whole = report.whole_on_pe_0(u, plate.first, size, size)
    ok = True
    if plate.me == 0:
        matrix = coefficients(size, 0, size)
        alone, _ = conjugate_gradient(heat(size), lambda p: multiply(matrix, np.pad(p, 1)), dot)
        worst = np.abs(whole - alone).max()
        residual = np.linalg.norm(heat(size) - multiply(matrix, np.pad(whole, 1)))
        ok = bool(worst <= LIMIT and residual <= LIMIT)  # false for a NaN
        problem = f"{size} x {size} points on {plate.n} PEs, {steps} steps"
        found = f"warmest {whole.max():.7f}, mean {whole.mean():.7f}"
        check = f"largest difference {worst:.1e}, residual {residual:.1e} (limit {LIMIT})"
        report.show(problem, seconds, found, check, ok)
        if options.plot:
            plot(options.plot, whole)
    nvshmem.finalize()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
