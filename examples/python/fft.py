"""A distributed FFT: the electric potential of point charges, by two-dimensional transforms.

    nvshmemrs-run -n 4 -- python examples/python/fft.py [--size N] [--plot FILE]

The equation is -laplacian(u) = charge on a periodic square of N x N points. Each PE has N / n rows.
A transform along rows needs no communication. Between the two directions the matrix is transposed:
each PE puts block q of its rows into the matrix of PE q, with a signal. The potential is the inverse
transform of the charge's transform divided by the eigenvalues of the operator.
examples/fortran/fft.f90 is the same program in Fortran.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import nvshmemrs.core as nvshmem
import report
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Complex = NDArray[np.complex128]
LIMIT = 1e-12  # largest difference from the result of one process, relative to the largest value
SET, AT_LEAST = nvshmem.SignalOp.SIGNAL_SET, nvshmem.ComparisonType.CMP_GE


def charges(size: int) -> list[tuple[int, int, float]]:
    """Row, column and charge of each point charge; their sum is 0, as a periodic square demands."""
    return [
        (size // 4, size // 4, 1.0),
        (size // 4, 3 * size // 4, -1.0),
        (size // 2, size // 2, 2.0),
        (3 * size // 4, size // 3, -1.0),
        (7 * size // 8, 7 * size // 8, -1.0),
    ]


def eigenvalues(size: int, first: int, end: int) -> Matrix:
    """Eigenvalues of the 5-point -laplacian, for `end - first` frequencies of one direction."""
    wave = 2 - 2 * np.cos(2 * np.pi * np.arange(size) / size)
    values: Matrix = wave[first:end, None] + wave
    values[values == 0] = np.inf  # the mean of the potential is 0
    return values


class Transposition:
    """Transposes a complex matrix of `size` rows that are dealt over the PEs. Collective."""

    def __init__(self, size: int) -> None:
        self.me, self.n, self.block = nvshmem.my_pe(), nvshmem.n_pes(), size // nvshmem.n_pes()
        # Complex numbers as pairs. Two inboxes: a PE may be one transposition ahead of another.
        shape = (2, self.n, self.block, self.block, 2)
        self.inbox = nvshmem.array(shape, dtype="float64")
        self.arrived = nvshmem.array(self.n, dtype="uint64")
        self.count = 0
        nvshmem.barrier_all()  # all signals are 0

    def __call__(self, rows: Complex) -> Complex:
        self.count += 1
        inbox, mine = self.inbox[self.count % 2], self.arrived[self.me : self.me + 1]
        for q in [(self.me + i) % self.n for i in range(self.n)]:
            data = np.ascontiguousarray(rows[:, q * self.block : (q + 1) * self.block].T)
            pairs = data.view(np.float64).reshape(self.block, self.block, 2)
            nvshmem.put_signal(inbox[self.me], pairs, mine, self.count, SET, q)
        nvshmem.wait_until_all(self.arrived, AT_LEAST, self.count)
        blocks = np.array(inbox).view(np.complex128)[..., 0]
        return np.concatenate(list(blocks), axis=1)


def potential(charge: Matrix, size: int) -> tuple[Matrix, float]:
    """The rows of the potential that this PE has, from those of the charge. Collective."""
    transpose = Transposition(size)
    begin = time.perf_counter()
    me, block = transpose.me, transpose.block
    columns = np.fft.fft(transpose(np.fft.fft(charge)))
    columns /= eigenvalues(size, me * block, (me + 1) * block)
    rows = np.fft.ifft(transpose(np.fft.ifft(columns))).real
    nvshmem.barrier_all()
    return rows, time.perf_counter() - begin


def plot(file: str, whole: Matrix) -> None:
    figure = report.figure(4, 3.4)
    axes = figure.subplots()
    most = np.abs(whole).max() / 2
    image = axes.imshow(whole, origin="lower", cmap="RdBu", vmin=-most, vmax=most)
    axes.contour(whole, levels=np.linspace(-most, most, 15), colors="black", linewidths=0.4)
    rows, columns, _ = zip(*charges(len(whole)))
    axes.plot(columns, rows, ".", color="black", markersize=3)
    figure.colorbar(image, label="potential")
    figure.savefig(file, dpi=90)


def main() -> int:
    parser = report.options("The potential of point charges, by FFT.")
    parser.add_argument("--size", type=int, default=1024, help="rows and columns (1024)")
    options = parser.parse_args()

    nvshmem.init()
    me, n, size = nvshmem.my_pe(), nvshmem.n_pes(), options.size
    if size < 8 or size % n:
        sys.exit(f"fft: --size {size}: it is at least 8 and a multiple of the number of PEs, {n}")
    block = size // n
    whole = np.zeros((size, size))
    for row, column, charge in charges(size):
        whole[row, column] = charge
    rows, seconds = potential(whole[me * block : (me + 1) * block], size)

    result = report.whole_on_pe_0(rows, me * block, size, size)
    ok = True
    if me == 0:
        alone = np.fft.ifft2(np.fft.fft2(whole) / eigenvalues(size, 0, size)).real
        worst = np.abs(result - alone).max() / np.abs(alone).max()
        # The potential must also solve the equation, whichever transform was used.
        around = sum(np.roll(result, shift, axis) for shift in (-1, 1) for axis in (0, 1))
        residual = np.abs(4 * result - around - whole).max()
        ok = bool(worst <= LIMIT and residual <= LIMIT)  # false for a NaN
        found = f"largest potential {result.max():.9f}, smallest {result.min():.9f}"
        check = f"relative difference {worst:.1e}, residual {residual:.1e} (limit {LIMIT})"
        report.show(f"{size} x {size} points on {n} PEs", seconds, found, check, ok)
        if options.plot:
            plot(options.plot, result)
    nvshmem.finalize()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
