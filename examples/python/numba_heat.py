"""Heat in a plate: halo exchange inside of a kernel of Numba, all steps in one launch.

    nvshmemrs-run -n 4 -- python examples/python/numba_heat.py [--plot FILE]

Each PE has some rows of the plate. A step needs the rows beside them, which the neighbours put with
a signal. There is a copy of the rows for odd and one for even steps. A PE is at most one step ahead
of its neighbours, because it waits for their rows of each step. So what it puts is never what a
neighbour still reads. The result is compared with the same steps in NumPy.

Without a GPU Numba's simulator runs the kernel: the program turns it on where there is none. On
GPUs PE 0 prints the time of the same steps by torch and NCCL.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

import beside
import numpy as np

import nvshmemrs.core as nvshmem

# Whether kernels run in the simulator, which must be known before numba.cuda is imported.
if not os.path.exists("/dev/nvidiactl"):
    os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")
SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
if not hasattr(np, "row_stack"):  # numba-cuda 0.30 asks for it, and NumPy 2.5 has it no more
    np.__dict__["row_stack"] = np.vstack

from numba import cuda  # noqa: E402

import nvshmemrs.core.device.numba as shmem  # noqa: E402

SET = nvshmem.SignalOp.SIGNAL_SET
GE = nvshmem.ComparisonType.CMP_GE


@cuda.jit  # type: ignore[untyped-decorator,unused-ignore]
def heat(plate: Any, arrived: Any, begin: int, steps: int) -> None:
    """`plate`: two copies of the rows, the first and the last of which are the neighbours'.
    `arrived`: a signal for the row from above, and one for that from below.
    """
    me, n = shmem.my_pe(), shmem.n_pes()
    rows, columns = plate.shape[1] - 2, plate.shape[2]
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    for step in range(begin + 1, begin + steps + 1):
        old, new = plate[(step + 1) % 2], plate[step % 2]
        if thread == 0:
            if me > 0:
                shmem.signal_wait(arrived[0:1], GE, step - 1)
            if me < n - 1:
                shmem.signal_wait(arrived[1:2], GE, step - 1)
        cuda.syncthreads()
        for cell in range(thread, rows * (columns - 2), threads):
            i, j = 1 + cell // (columns - 2), 1 + cell % (columns - 2)
            around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
            new[i, j] = old[i, j] + 0.125 * (around - 4.0 * old[i, j])
        # A put by the block begins with a meeting of its threads, so their rows are complete.
        if me > 0:
            shmem.put_signal_block(new[rows + 1], new[1], arrived[1:2], step, SET, me - 1)
        if me < n - 1:
            shmem.put_signal_block(new[0], new[rows], arrived[0:1], step, SET, me + 1)
        cuda.syncthreads()


def initial(rows: int, columns: int) -> "np.ndarray[Any, Any]":
    """The plate before the first step; its edge keeps its temperature."""
    i, j = np.indices((rows, columns))
    plate: Any = 20.0 + (i * 7 + j * 3) % 11 + 80.0 * (i == 0)
    return plate  # type: ignore[no-any-return]


def expected(plate: "np.ndarray[Any, Any]", steps: int) -> "np.ndarray[Any, Any]":
    """The plate after some steps, by NumPy."""
    for _ in range(steps):
        old, plate = plate, plate.copy()
        around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
        plate[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.125 * (around - 4.0 * old[1:-1, 1:-1])
    return plate


def beside_nccl(launch: Any, plate: Any, arrived: Any, both: Any, steps: int) -> Any:
    """The same steps by torch and NCCL, and both times; None where NCCL cannot be."""
    if SIMULATED:
        return beside.left_out("kernels run on the host")
    peer = beside.join_nccl(least=2)
    if peer is None:
        return None
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    rows, columns = plate.shape[1] - 2, plate.shape[2]
    theirs = peer.torch.tensor(both, device="cuda")
    done = [steps, 0]

    def fused() -> None:
        launch(plate, arrived, done[0], steps)
        done[0] += steps

    def plain() -> None:
        for _ in range(steps):
            done[1] += 1
            old, new = theirs[(done[1] + 1) % 2], theirs[done[1] % 2]
            around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
            new[1:-1, 1:-1] = old[1:-1, 1:-1] + 0.125 * (around - 4.0 * old[1:-1, 1:-1])
            near = {pe: end for pe, end in ((me - 1, 0), (me + 1, rows + 1)) if 0 <= pe < n}
            sent = {pe: new[1] if pe < me else new[rows] for pe in near}
            beside.exchange(peer, sent, {pe: new[end] for pe, end in near.items()})

    plain()
    ours = peer.torch.as_tensor(plate[steps % 2], device="cuda")
    assert bool(peer.torch.allclose(theirs[steps % 2][1:-1], ours[1:-1], rtol=1e-12))
    work = f"heat, {steps} steps of {rows} x {columns} cells on each of {n} PEs, Numba"
    return beside.compare(peer, work, fused, "torch and NCCL", plain)


def main() -> None:
    plot = beside.plot_file()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4 if SIMULATED else 256, help="of a PE")
    parser.add_argument("--columns", type=int, default=12 if SIMULATED else 1024)
    parser.add_argument("--steps", type=int, default=6 if SIMULATED else 500)
    parser.add_argument("--threads", type=int, default=4 if SIMULATED else 512)
    options = parser.parse_args()
    gpu = int(os.environ.get("NVSHMEMRS_PE", "0"))
    nvshmem.init(device="host" if SIMULATED else gpu % len(cuda.gpus))
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    rows = options.rows
    whole = initial(n * rows + 2, options.columns)
    mine = whole[me * rows : (me + 1) * rows + 2]
    plate: Any = nvshmem.array((2, rows + 2, options.columns), dtype="float64")
    arrived = nvshmem.array(2, dtype="uint64")
    both = np.stack([mine, mine])
    if SIMULATED:
        plate[:] = both
    else:
        plate.set(both)
    nvshmem.barrier_all()
    launch = heat[1, options.threads]
    launch(plate, arrived, 0, 0)  # compiles it
    cuda.synchronize()
    nvshmem.barrier_all()
    start = time.perf_counter()
    launch(plate, arrived, 0, options.steps)
    cuda.synchronize()
    took = time.perf_counter() - start
    nvshmem.barrier_all()
    got = plate[options.steps % 2]
    got = np.array(got) if SIMULATED else got.get()
    right = expected(whole, options.steps)[me * rows + 1 : (me + 1) * rows + 1]
    np.testing.assert_allclose(got[1 : rows + 1], right, rtol=1e-12)
    cells = rows * options.columns * options.steps / took / 1e6
    print(
        f"numba_heat ok PE {me}: {options.steps} steps, {took * 1e3:.2f} ms, "
        f"{cells:.3f} million cells a second",
        flush=True,
    )
    times = beside_nccl(launch, plate, arrived, both, options.steps)
    beside.plot(plot, f"heat after {options.steps} steps", got[1 : rows + 1], right, times)
    nvshmem.free_array(plate)
    nvshmem.free_array(arrived)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
