"""Sample sort: sorts keys that are spread over PEs, with one exchange of data.

    nvshmemrs-run -n 4 -- python examples/python/sample_sort.py [--keys N] [--plot FILE]

Each PE generates and sorts a block of the keys. Equidistant samples of all blocks give `n - 1`
splitters. Each PE cuts its sorted block at the splitters, and puts piece d into the inbox of PE d.
The table of all piece lengths, which every PE has, tells each PE its place in every inbox.
examples/c/sample_sort.c is the same program in C.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import nvshmemrs.core as nvshmem
import report
from numpy.typing import NDArray

Keys = NDArray[np.uint64]
SAMPLES = 64  # of each PE; more samples make the final blocks more equal


def random_bits(i: Keys) -> Keys:
    """Element i of the sequence of splitmix64, a generator without a state."""
    z = (i + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def keys(first: int, end: int) -> Keys:
    """Keys number `first` to `end`: products of two 32-bit numbers, so that small keys are frequent."""
    bits = random_bits(np.arange(first, end, dtype=np.uint64))
    return (bits >> np.uint64(32)) * (bits & np.uint64(0xFFFFFFFF))


def fingerprint(sorted_keys: Keys) -> int:
    """The sum of key times position modulo 2^64, which depends on the order."""
    return int(np.dot(sorted_keys, np.arange(1, len(sorted_keys) + 1, dtype=np.uint64)))


def sample_sort(block: Keys) -> tuple[Keys, Keys, NDArray[np.int64]]:
    """Sorts the keys of all PEs. Collective. Returns this PE's part, the splitters and the lengths
    of all pieces, `[from, to]`."""
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    block.sort()
    samples = nvshmem.array(n * SAMPLES, dtype="uint64")
    mine = samples[me * SAMPLES : (me + 1) * SAMPLES]
    mine[:] = block[(np.arange(SAMPLES) * len(block)) // SAMPLES]
    nvshmem.fcollect(nvshmem.Teams.TEAM_WORLD, samples, mine)
    splitters = np.sort(samples)[SAMPLES::SAMPLES]

    cuts = np.concatenate(([0], np.searchsorted(block, splitters), [len(block)]))
    lengths = nvshmem.array((n, n), dtype="int64")
    lengths[me] = np.diff(cuts)
    nvshmem.fcollect(nvshmem.Teams.TEAM_WORLD, lengths, lengths[me])

    inbox = nvshmem.array(int(lengths.sum(axis=0).max()), dtype="uint64")
    for pe in np.roll(np.arange(n), -me):  # each PE begins with another destination
        start = int(lengths[:me, pe].sum())
        piece = block[cuts[pe] : cuts[pe + 1]]
        nvshmem.put_nbi(inbox[start : start + len(piece)], piece, int(pe))
    nvshmem.barrier_all()  # completes all puts
    part = inbox[: lengths[:, me].sum()].copy()
    part.sort()
    return part, splitters, lengths.copy()


def plot(file: str, whole: Keys, splitters: Keys, counts: NDArray[np.int64]) -> None:
    figure = report.figure(7, 2.6)
    left, right = figure.subplots(1, 2)
    left.hist(whole.astype(float) / 2.0**64, bins=60, color="#4477aa")
    for splitter in splitters:
        left.axvline(float(splitter) / 2.0**64, color="#cc3311")
    left.set(xlabel="key / 2^64, and the splitters", ylabel="keys", yscale="log")
    right.bar(range(len(counts)), counts, color="#4477aa")
    right.axhline(np.mean(counts), color="#cc3311")
    right.set(xlabel="PE", ylabel="keys after the sort", xticks=range(len(counts)))
    figure.savefig(file, dpi=100)


def main() -> int:
    parser = report.options("Sorts keys that are spread over PEs.")
    parser.add_argument("--keys", type=int, default=2_000_000, help="keys of all PEs (2000000)")
    options = parser.parse_args()

    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    total = options.keys
    if total < n * SAMPLES:
        sys.exit(f"sample_sort: --keys {total}: {n} PEs need at least {n * SAMPLES} keys")
    block = keys(me * total // n, (me + 1) * total // n)

    nvshmem.barrier_all()
    begin = time.perf_counter()
    part, splitters, lengths = sample_sort(block)
    nvshmem.barrier_all()
    seconds = time.perf_counter() - begin

    counts = lengths.sum(axis=0)
    whole = report.whole_on_pe_0(part, int(counts[:me].sum()), total)
    ok = True
    if me == 0:
        ok = np.array_equal(whole, np.sort(keys(0, total)))
        problem = f"{total} keys on {n} PEs, {counts.min()} to {counts.max()} keys on a PE"
        check = "equal to the sort of one process"
        report.show(problem, seconds, f"{fingerprint(whole):016x}", check, ok)
        if options.plot:
            plot(options.plot, whole, splitters, counts)
    nvshmem.finalize()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
