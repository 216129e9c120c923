# mypy: ignore-errors
"""Helpers of the examples of torch.ops.nvshmemrs: the device they run on, and NCCL to compare.

With a GPU for each PE, they run there in bfloat16, and are measured. Without, they run on host
memory in single precision.
"""

import os

import beside
import torch

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.torch as nt

GPUS = 0 if os.environ.get("NVSHMEMRS_MEMORY") == "host" else torch.cuda.device_count()
DTYPE = torch.bfloat16 if GPUS else torch.float32
# On host memory without a C++ compiler.
BACKEND = "inductor" if GPUS else "aot_eager"


def start(reserve):
    """Joins the job: this PE's number, the number of PEs, and the device. `reserve` is in bytes."""
    device = torch.device("cpu")
    if GPUS:
        os.environ.setdefault("NVSHMEM_SYMMETRIC_SIZE", "1g")
        device = torch.device("cuda", int(os.environ.get("NVSHMEMRS_PE", "0")) % GPUS)
        torch.cuda.set_device(device)
        nvshmem.init(device=device)
    else:
        nvshmem.init()
    nt.reserve(reserve)
    return nvshmem.my_pe(), nvshmem.n_pes(), device


def expect_close(found, plain, name):
    """Raises unless all numbers are those of the plain computation, as far as the dtype goes."""
    plain = plain.float()
    error = (found.float() - plain).abs().max() / plain.abs().max()
    assert error < (0.03 if GPUS else 1e-4), f"{name}: the largest error is {error}"


def measure(work, ours, peers_of, peers_in_graph):
    """Times ours in a CUDA graph beside torch with NCCL, on GPUs. `peers_of` makes calls by name, of a
    group; those that need the host cannot be in a graph.
    """
    if not GPUS:
        beside.left_out("tensors are on the host")
        return
    peer = beside.join_nccl(2)
    if peer is not None:
        beside.compare_all(peer, work, ours, peers_of(peer), True, peers_in_graph)


def finish(name):
    """Leaves the job, and says that all was right."""
    if GPUS:
        torch.cuda.synchronize()
    nvshmem.barrier_all()
    print(f"{name} ok PE {nvshmem.my_pe()} of {nvshmem.n_pes()}")
    nvshmem.finalize()
