# mypy: ignore-errors
"""Helpers of the examples in Triton: the device that kernels run on, and arrays there.

With a GPU for each PE, kernels are compiled. Without, Triton's interpreter runs them on host memory.
Import this module before Triton. With ``--plot FILE`` PE 0 draws the results, and on GPUs the times,
by matplotlib.
"""

import os

import numpy as np


def _gpus() -> int:
    if os.environ.get("TRITON_INTERPRET") == "1" or os.environ.get("NVSHMEMRS_MEMORY") == "host":
        return 0
    try:
        import torch
    except ImportError:
        return 0
    return torch.cuda.device_count()


GPUS = _gpus()
if not GPUS:
    os.environ["TRITON_INTERPRET"] = "1"
    os.environ["NVSHMEMRS_MEMORY"] = "host"

import beside  # noqa: E402

import nvshmemrs.core as nvshmem  # noqa: E402

PLOT = beside.plot_file()
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
    """A barrier of the host, after the GPU has completed its work."""
    if GPUS:
        torch.cuda.synchronize()
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)


def join_nccl():
    """NCCL beside the kernels; None where there are no GPUs, which is said."""
    if GPUS:
        return beside.join_nccl()
    beside.left_out("kernels run on the host")
    return None


def plot(title, found, plain, times=None):
    """Draws the results, if ``--plot`` asks."""
    beside.plot(PLOT, title, found, plain, times)
