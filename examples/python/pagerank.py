"""PageRank of Debian's packages: which packages do all others depend on?

    nvshmemrs-run -n 4 -- python examples/python/pagerank.py [--graph GRAPH] [--plot FILE]

GRAPH is `debian` (the packages that apt knows), `generated`, or a file that `--export FILE` wrote.
Without apt or its package lists, `debian` is an error: `generated` is a graph of the same kind.

Each PE owns a block of the nodes, and the edges that end there. In a step it needs the weights of
the nodes at the beginning of these edges. So each PE puts the weights that PE q needs, and no
others, into q's inbox, with a signal. core/examples/pagerank.rs is the same program in Rust.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import nvshmemrs.core as nvshmem
import report
from numpy.typing import NDArray

Edges = NDArray[np.int32]  # of two columns: from node, to node
Ranks = NDArray[np.float64]
DAMPING = 0.85
TOLERANCE = 1e-10  # of the sum of all changes in a step
LIMIT = 1e-12  # largest difference from the result of one process
SET, AT_LEAST = nvshmem.SignalOp.SIGNAL_SET, nvshmem.ComparisonType.CMP_GE
WORLD = nvshmem.Teams.TEAM_WORLD


def debian() -> tuple[list[str], Edges]:
    """Names, and edges from a package to each package that it depends on."""
    try:
        text = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"pagerank: {error}: choose --graph generated") from error
    number: dict[str, int] = {}
    edges: set[tuple[int, int]] = set()
    package = 0
    for line in text.decode("utf-8", "replace").splitlines():
        field, _, value = line.partition(": ")
        if field == "Package":
            package = number.setdefault(value, len(number))
        elif field in ("Depends", "Pre-Depends", "Recommends"):
            for word in value.replace("|", ",").split(","):
                other = word.split("(")[0].split(":")[0].strip()
                edges.add((package, number.setdefault(other, len(number))))
    if len(edges) < 100_000:
        raise SystemExit(f"pagerank: apt knows {len(edges)} dependencies: run apt-get update")
    return list(number), np.array(sorted(edges), dtype=np.int32)


def generated(nodes: int = 20_000, degree: int = 6) -> tuple[list[str], Edges]:
    """A graph in which node i has `degree` edges to earlier nodes, most of them to the first nodes."""
    random = np.random.default_rng(1)
    source = np.repeat(np.arange(1, nodes, dtype=np.int32), degree)
    target = (source * random.random(len(source)) ** 3).astype(np.int32)
    edges = np.unique(np.column_stack((source, target)), axis=0)
    return [f"node{i}" for i in range(nodes)], edges


def load(graph: str) -> tuple[list[str], Edges]:
    if graph in ("debian", "generated"):
        return debian() if graph == "debian" else generated()
    with open(graph, "rb") as file:
        nodes, edges = np.fromfile(file, np.int32, 2)
        pairs = np.fromfile(file, np.int32, 2 * edges).reshape(edges, 2)
        return file.read().decode().split("\n")[:nodes], pairs


def one_process(nodes: int, edges: Edges) -> Ranks:
    """The same iteration, written without blocks."""
    source, target = edges.T
    degree = np.bincount(source, minlength=nodes)
    rank, change = np.full(nodes, 1 / nodes), 1.0
    while change > TOLERANCE:
        weight = rank / np.maximum(degree, 1)
        new = np.bincount(target, weight[source], nodes) + rank[degree == 0].sum() / nodes
        new = (1 - DAMPING) / nodes + DAMPING * new
        change, rank = np.abs(new - rank).sum(), new
    return rank


class Block:
    """The nodes and edges of this PE, and where its weights go. Collective."""

    def __init__(self, nodes: int, edges: Edges) -> None:
        self.me, self.n, self.nodes = nvshmem.my_pe(), nvshmem.n_pes(), nodes
        self.size = -(-nodes // self.n)
        self.first, self.end = (min((self.me + i) * self.size, nodes) for i in (0, 1))
        owner = edges // self.size  # of both ends of each edge
        needed = np.unique(edges[:, 0] + owner[:, 1].astype(np.int64) * nodes)  # (to PE, node)
        to, node = needed // nodes, needed % nodes
        pairs = np.bincount((node // self.size) * self.n + to, minlength=self.n**2)
        self.sent = [node[(to == q) & (node // self.size == self.me)] - self.first for q in range(self.n)]
        self.received = pairs.reshape(self.n, self.n)[:, self.me]
        # Weights from PE p begin at inbox[p * room], in the order of their nodes.
        self.room = int(pairs.max())
        ours = edges[owner[:, 1] == self.me]
        mine = node[to == self.me]
        start = np.concatenate([p * self.room + np.arange(k) for p, k in enumerate(self.received)])
        self.place = start[np.searchsorted(mine, ours[:, 0])].astype(np.int64)
        self.target = ours[:, 1] - self.first
        self.degree = np.bincount(edges[:, 0], minlength=nodes)[self.first : self.end]
        self.inbox = nvshmem.array(self.n * self.room, dtype="float64")
        self.arrived = nvshmem.array(self.n, dtype="uint64")
        self.sums = nvshmem.array(2, dtype="float64")
        nvshmem.barrier_all()  # all signals are 0

    def pagerank(self) -> tuple[Ranks, int]:
        """Ranks of this PE's nodes, and the number of steps. Collective."""
        rank, change, step = np.full(self.end - self.first, 1 / self.nodes), 1.0, 0
        self.sums[1] = (self.degree == 0).sum() / self.nodes  # rank of nodes without an edge
        nvshmem.reduce(WORLD, self.sums, self.sums, "sum")
        while change > TOLERANCE:
            step += 1
            weight = rank / np.maximum(self.degree, 1)
            start = self.me * self.room
            for q in np.roll(np.arange(self.n), -self.me).tolist():
                data = weight[self.sent[q]]
                place = self.inbox[start : start + len(data)]
                nvshmem.put_signal(place, data, self.arrived[self.me : self.me + 1], step, SET, q)
            nvshmem.wait_until_all(self.arrived, AT_LEAST, step)
            new = np.bincount(self.target, self.inbox[self.place], len(rank))
            new = (1 - DAMPING) / self.nodes + DAMPING * (new + self.sums[1] / self.nodes)
            # After this reduction every PE has read its inbox, so the next step may overwrite it.
            self.sums[:] = np.abs(new - rank).sum(), new[self.degree == 0].sum()
            nvshmem.reduce(WORLD, self.sums, self.sums, "sum")
            change, rank = self.sums[0], new
        return rank, step


def plot(file: str, names: list[str], rank: Ranks) -> None:
    figure = report.figure(6, 3)
    axes = figure.subplots()
    best = np.argsort(-rank)[:15][::-1]
    axes.barh([names[i] for i in best], 100 * rank[best], color="#4477aa")
    axes.set(xlabel="PageRank in %")
    axes.tick_params(labelsize=8)
    figure.savefig(file, dpi=100)


def main() -> int:
    parser = report.options("PageRank of a graph, by default Debian's packages.")
    parser.add_argument("--graph", default="debian", help="debian, generated or a file (debian)")
    parser.add_argument("--export", metavar="FILE", help="write the graph and end")
    options = parser.parse_args()
    names, edges = load(options.graph)
    if options.export:
        with open(options.export, "wb") as file:
            file.write(np.array([len(names), len(edges)], np.int32).tobytes() + edges.tobytes())
            file.write("\n".join(names).encode())
        return 0

    nvshmem.init()
    block = Block(len(names), edges)
    begin = time.perf_counter()
    rank, steps = block.pagerank()
    seconds = time.perf_counter() - begin
    whole = report.whole_on_pe_0(rank, block.first, len(names))
    ok = True
    if block.me == 0:
        worst = np.abs(whole - one_process(len(names), edges)).max()
        ok = bool(worst <= LIMIT)  # false for a NaN
        problem = f"{len(names)} nodes and {len(edges)} edges on {block.n} PEs"
        top = ", ".join(names[i] for i in np.argsort(-whole)[:5])
        check = f"max |difference| = {worst:.1e} (limit {LIMIT})"
        report.show(problem, seconds, f"{steps} steps, first {top}", check, ok)
        if options.plot:
            plot(options.plot, names, whole)
    nvshmem.finalize()
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
