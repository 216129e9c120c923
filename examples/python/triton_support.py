# mypy: ignore-errors
"""What the examples in Triton share: where kernels run, arrays there, times, and NCCL beside them.

With a GPU for each PE, kernels are compiled. Without, Triton's interpreter runs them on host memory.
Import this module before Triton. With ``--plot FILE`` PE 0 draws the results, and on GPUs the times,
by matplotlib.
"""

import os
import socket
import statistics
import sys

import numpy as np


def _plot() -> str:
    """The file of ``--plot FILE``, which is taken out of the arguments; nothing if there is none."""
    if "--plot" not in sys.argv:
        return ""
    at = sys.argv.index("--plot")
    if at + 1 == len(sys.argv):
        raise SystemExit("--plot: say which file, such as result.png")
    _, file = sys.argv[at : at + 2]
    del sys.argv[at : at + 2]
    return file


def _gpus() -> int:
    if os.environ.get("TRITON_INTERPRET") == "1" or os.environ.get("NVSHMEMRS_MEMORY") == "host":
        return 0
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()


PLOT = _plot()
GPUS = _gpus()
if not GPUS:
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["NVSHMEMRS_MEMORY"] = "host"

import nvshmemrs.core as nvshmem  # noqa: E402

if GPUS:
    import torch


def start():
    """Joins the job; this PE's number and the number of PEs."""
    if GPUS:
        os.environ.setdefault("NVSHMEM_SYMMETRIC_SIZE", "1g")
        nvshmem.init(device=int(os.environ.get("NVSHMEMRS_PE", "0")) % GPUS)
        torch.cuda.set_device(torch.cuda.current_device())
    else:
        nvshmem.init()
    return nvshmem.my_pe(), nvshmem.n_pes()


def symmetric(shape, dtype):
    """An array of zeros on every PE: a tensor on a GPU, else an array of NumPy's."""
    if GPUS:
        return nvshmem.tensor(shape, getattr(torch, dtype))
    made = nvshmem.array(shape, dtype)
    made[...] = 0
    return made


def local(values, dtype):
    """An array of this PE's own."""
    if GPUS:
        return torch.tensor(values, device="cuda").to(getattr(torch, dtype))
    return np.ascontiguousarray(values).astype(dtype)


def fill(array, values):
    """Copies values into an array."""
    if GPUS:
        array.copy_(torch.as_tensor(values).to(array.dtype))
    else:
        array[...] = values


def read(array):
    """The elements, in single precision or as integers."""
    if GPUS:
        torch.cuda.synchronize()
        array = array.float() if array.is_floating_point() else array
        return array.cpu().numpy()
    return np.array(array)


def meet():
    """A barrier of the host, after what the GPU has been given."""
    if GPUS:
        torch.cuda.synchronize()
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)


def time_of(call, rounds=9, calls=10):
    """Microseconds of a call: the median of some rounds, of the slowest PE. Only on GPUs."""
    times = []
    for turn in range(rounds + 2):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        meet()
        first.record()
        for _ in range(calls):
            call()
        last.record()
        torch.cuda.synchronize()
        if turn >= 2:
            times.append(first.elapsed_time(last) * 1e3 / calls)
    mine, worst = (nvshmem.tensor(1, torch.float32) for _ in range(2))
    mine.fill_(statistics.median(times))
    torch.cuda.synchronize()
    nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, worst, mine, "max")
    slowest = float(worst.item())
    nvshmem.free_tensor(mine)
    nvshmem.free_tensor(worst)
    return slowest


def join_nccl(me, n):
    """torch.distributed over NCCL, on a port that PE 0 picks. NVLink multicast stays off."""
    import torch.distributed as dist

    os.environ["NCCL_NVLS_ENABLE"] = "0"
    os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    port = nvshmem.tensor(1, torch.int64)
    if me == 0:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port.fill_(probe.getsockname()[1])
    torch.cuda.synchronize()
    nvshmem.broadcast(nvshmem.Teams.TEAM_WORLD, port, port, 0)
    address = f"tcp://127.0.0.1:{int(port.item())}"
    dist.init_process_group(
        "nccl", init_method=address, rank=me, world_size=n, device_id=torch.device("cuda", torch.cuda.current_device())
    )
    nvshmem.free_tensor(port)
    return dist


def plot(title, found, plain, times=None):
    """Draws numbers of the kernels over those of a plain computation: right ones lie on the line.
    `times`: microseconds by name, beside them. Only where ``--plot`` asks, and only on PE 0.
    """
    if not PLOT or nvshmem.my_pe():
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found, plain = (np.asarray(x, np.float32).ravel() for x in (found, plain))
    some = slice(None, None, max(1, found.size // 4000))
    figure, axes = pyplot.subplots(1, 2 if times else 1, figsize=(10 if times else 5, 5), squeeze=False)
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
    figure.savefig(PLOT)
    pyplot.close(figure)
    print(f"drawn: {PLOT}")
