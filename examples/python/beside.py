"""Helpers of the examples with kernels: NCCL for comparison, timing, and ``--plot FILE``.

NCCL is that of torch, on GPUs. Where it cannot be, PE 0 says that it is left out, and why.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np

import nvshmemrs.core as nvshmem


def plot_file() -> str:
    """The file of ``--plot FILE``, which is taken out of the arguments; "" if there is none."""
    if "--plot" not in sys.argv:
        return ""
    at = sys.argv.index("--plot")
    if at + 1 == len(sys.argv):
        raise SystemExit("--plot: say which file, such as result.png")
    _, file = sys.argv[at : at + 2]
    del sys.argv[at : at + 2]
    return file


class Peer(NamedTuple):
    """torch, and its group of all PEs over NCCL."""

    torch: Any
    dist: Any


def left_out(why: str) -> None:
    """PE 0 says that NCCL is not beside the example."""
    if nvshmem.my_pe() == 0:
        print(f"NCCL is left out: {why}", flush=True)


def gpus_of_all(mine: bytes) -> List[bytes]:
    """The UUIDs of all PEs' GPUs; `mine` is that of this PE's. Every PE calls."""
    n = int(nvshmem.n_pes())
    own, everyone = nvshmem.buffer(len(mine)), nvshmem.buffer(n * len(mine))
    own.copy_from(np.frombuffer(mine, np.uint8))
    nvshmem.fcollect(nvshmem.Teams.TEAM_WORLD, everyone, own)
    all_of_them = np.zeros((n, len(mine)), np.uint8)
    everyone.copy_to(all_of_them)
    nvshmem.barrier_all()
    nvshmem.free(everyone)
    nvshmem.free(own)
    return [gpu.tobytes() for gpu in all_of_them]


def join_nccl(least: int = 1) -> Optional[Peer]:
    """torch.distributed over NCCL, on a port that PE 0 picks; None if there are fewer than `least`
    PEs or there is no torch, which is said. NVLink multicast stays off. Every PE calls, after init.
    """
    me, n = int(nvshmem.my_pe()), int(nvshmem.n_pes())
    if n < least:
        left_out(f"it takes {least} PEs")
        return None
    os.environ["NCCL_NVLS_ENABLE"] = "0"
    os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    torch: Any = None
    dist: Any = None
    gpu: Any = None
    mine = bytes(16)
    try:
        torch = importlib.import_module("torch")
        dist = importlib.import_module("torch.distributed")
        gpu = torch.device("cuda", torch.cuda.current_device())
        mine = bytes(torch.cuda.get_device_properties(gpu).uuid.bytes)
        why = "another PE has no torch that tells which GPU it has"
    except (ImportError, AttributeError, AssertionError, RuntimeError) as error:
        why = str(error)
    gpus = gpus_of_all(mine)
    if bytes(16) in gpus:
        left_out(why)
        return None
    if len(set(gpus)) < n:
        left_out("PEs share a GPU, which it refuses")
        return None
    word = np.zeros(8, np.uint8)
    port = nvshmem.buffer(8)
    store = dist.TCPStore("127.0.0.1", 0, n, True, wait_for_workers=False) if me == 0 else None
    if store is not None:
        word.view(np.int64)[0] = store.port
        port.copy_from(word)
    nvshmem.barrier_all()
    if me != 0:
        nvshmem.get(port, port, 0)
        port.copy_to(word)
    nvshmem.barrier_all()
    nvshmem.free(port)
    if store is None:
        store = dist.TCPStore("127.0.0.1", int(word.view(np.int64)[0]), n, False)
    dist.init_process_group("nccl", store=store, rank=me, world_size=n, device_id=gpu)
    return Peer(torch, dist)


def windows(peer: Peer, shape: Any, dtype: Any) -> Any:
    """A tensor in memory that NCCL has as a symmetric window; None where torch cannot make it, which
    PE 0 says. Every PE calls.
    """
    torch = peer.torch
    try:
        backend = peer.dist.group.WORLD._get_backend(torch.device("cuda"))
        pool = torch.cuda.MemPool(backend.mem_allocator)
        with torch.cuda.use_mem_pool(pool):
            made = torch.empty(shape, dtype=dtype, device="cuda")
        peer.dist.barrier()
        backend.register_mem_pool(pool, symm=True)
    except (RuntimeError, AttributeError, TypeError) as error:
        if nvshmem.my_pe() == 0:
            print(f"NCCL's windows are left out: {str(error).splitlines()[0]}", flush=True)
        return None
    _pools.append(pool)
    return made


# The memory of windows stays until the measurements are over.
_pools: List[Any] = []


def _graph_of(peer: Peer, call: Callable[[], object], calls: int) -> Callable[[], object]:
    """A CUDA graph of so many calls."""
    torch = peer.torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    nvshmem.barrier_all()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(calls):
            call()
    replay: Callable[[], object] = graph.replay
    return replay


def time_of(
    peer: Peer,
    call: Callable[[], object],
    rounds: int = 9,
    calls: int = 10,
    graph: bool = False,
) -> float:
    """Microseconds of a call on torch's stream, or in a CUDA graph: the median of some rounds, of the
    slowest PE.
    """
    torch, times, each = peer.torch, [], calls
    if graph:
        call, each = _graph_of(peer, call, calls), 1
    for turn in range(rounds + 2):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        nvshmem.barrier_all()
        first.record()
        for _ in range(each):
            call()
        last.record()
        torch.cuda.synchronize()
        if turn >= 2:
            times.append(first.elapsed_time(last) * 1e3 / calls)
    slowest = torch.tensor([statistics.median(times)], device="cuda", dtype=torch.float64)
    peer.dist.all_reduce(slowest, op=peer.dist.ReduceOp.MAX)
    return float(slowest.item())


def compare(
    peer: Peer, work: str, ours: Callable[[], object], name: str, theirs: Callable[[], object]
) -> Dict[str, float]:
    """Measures ours and the peer's, which is called `name`, as ``compare_all`` does, without graphs."""
    return compare_all(peer, work, ours, {name: theirs}, graph=False)


def compare_all(
    peer: Peer,
    work: str,
    ours: Callable[[], object],
    peers: Dict[str, Callable[[], object]],
    graph: bool,
    peers_in_graph: bool = False,
) -> Dict[str, float]:
    """Measures ours and the peers' by their names, in CUDA graphs if asked; PE 0 prints a line for
    each peer, in the form that ``run-gpu-bench --python-kernels`` reads. Then `peers` is emptied, and
    the group ends.
    Microseconds by name, for `plot`.
    """
    times = {"nvshmemrs": time_of(peer, ours, graph=graph)}
    mine = times["nvshmemrs"]
    for name, theirs in peers.items():
        times[name] = other = time_of(peer, theirs, graph=peers_in_graph)
        if nvshmem.my_pe() == 0:
            words = f"nvshmemrs {mine:.1f} us, {name} {other:.1f} us ({mine / other:.2f}x)"
            print(f"{work}: {words}", flush=True)
        del theirs
    # The memory of windows is given back before the group ends: afterwards, NCCL ends the process.
    peers.clear()
    _pools.clear()
    peer.dist.destroy_process_group()
    return times


def exchange(peer: Peer, sends: Dict[int, Any], receives: Dict[int, Any]) -> None:
    """Sends tensors to ranks and receives others from ranks, by NCCL, all at once."""
    dist = peer.dist
    made = [dist.P2POp(dist.isend, tensor, rank) for rank, tensor in sends.items()]
    made += [dist.P2POp(dist.irecv, tensor, rank) for rank, tensor in receives.items()]
    for request in dist.batch_isend_irecv(made):
        request.wait()


def plot(
    file: str, title: str, found: Any, plain: Any, times: Optional[Dict[str, float]] = None
) -> None:
    """Draws numbers of the kernels over those of a plain computation, by matplotlib: right ones lie
    on the line. `times`: microseconds by name, beside them. Only if there is a `file`, and on PE 0.
    """
    if not file or nvshmem.my_pe():
        return
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = importlib.import_module("matplotlib.pyplot")
    found, plain = (np.asarray(x, np.float32).ravel() for x in (found, plain))
    some = slice(None, None, max(1, found.size // 4000))
    figure, axes = pyplot.subplots(
        1, 2 if times else 1, figsize=(10 if times else 5, 5), squeeze=False
    )
    left = axes[0][0]
    low, high = float(plain.min()), float(plain.max())
    left.plot([low, high], [low, high], color="0.7", zorder=0)
    left.plot(plain[some], found[some], ".", markersize=3)
    left.set_xlabel("plain computation")
    left.set_ylabel(f"kernels, {nvshmem.n_pes()} PEs")
    left.set_title(title)
    if times:
        right = axes[0][1]
        bars = right.bar(list(times), list(times.values()), color=["C0", "C1"])
        right.bar_label(bars, fmt="%.0f")
        right.set_ylabel("microseconds")
    figure.tight_layout()
    figure.savefig(file)
    pyplot.close(figure)
    print(f"drawn: {file}")
