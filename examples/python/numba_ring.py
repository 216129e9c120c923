"""The ring of NVSHMEM4Py's documentation in a kernel of Numba: each PE puts a row to the PE on
its right with a signal, until every row has come round to where it began.

    nvshmemrs-run -n 4 -- python examples/python/numba_ring.py [--plot FILE]

Without a GPU Numba's simulator runs the kernel: the program turns it on where there is none. On
GPUs PE 0 prints the time of the same ring by NCCL.
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
def ring(rows: Any, arrived: Any, read: Any, begin: int, rounds: int) -> None:
    """`rows` has a row to send from and one to receive in, which change places. `begin`: rounds
    that were made before. Each block has a part of the rows, and signals of its own.
    """
    me, n = shmem.my_pe(), shmem.n_pes()
    right, left = (me + 1) % n, (me + n - 1) % n
    block = cuda.blockIdx.x
    part = rows.shape[1] // cuda.gridDim.x
    begins, ends = block * part, (block + 1) * part
    arrived, read = arrived[block : block + 1], read[block : block + 1]
    for turn in range(begin + 1, begin + rounds + 1):
        mine = rows[(turn + 1) % 2, begins:ends]
        theirs = rows[turn % 2, begins:ends]
        if cuda.threadIdx.x == 0:
            # The row that is received in was sent from in the turn before.
            shmem.signal_wait(read, GE, turn - 1)
        # put_signal_block begins with a barrier of the block, so all threads see the awaited data.
        shmem.put_signal_block(theirs, mine, arrived, turn, SET, right)
        if cuda.threadIdx.x == 0:
            shmem.signal_op(read, turn, SET, left)
            shmem.signal_wait(arrived, GE, turn)


def beside_nccl(launch: Any, rows: Any, signals: Any) -> Any:
    """The ring by torch and NCCL, and both times; None where NCCL cannot be."""
    if SIMULATED:
        return beside.left_out("kernels run on the host")
    peer = beside.join_nccl(least=2)
    if peer is None:
        return None
    me, n, elements = nvshmem.my_pe(), nvshmem.n_pes(), rows.shape[1]
    tensors = [peer.torch.full((elements,), value, device="cuda") for value in (float(me), -1.0)]
    done = [n, 0]

    def ours() -> None:
        launch(rows, signals[0], signals[1], done[0], n)
        done[0] += n

    def theirs() -> None:
        for _ in range(n):
            mine, other = tensors[done[1] % 2], tensors[(done[1] + 1) % 2]
            beside.exchange(peer, {(me + 1) % n: mine}, {(me - 1) % n: other})
            done[1] += 1

    theirs()
    assert bool((tensors[n % 2] == me).all())
    work = f"ring of {n} PEs, {elements * 4 >> 10} KiB a step, Numba"
    return beside.compare(peer, work, ours, "NCCL's send and recv", theirs)


def main() -> None:
    plot = beside.plot_file()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=256 if SIMULATED else 1 << 20)
    parser.add_argument("--blocks", type=int, default=2 if SIMULATED else 64)
    parser.add_argument("--threads", type=int, default=4 if SIMULATED else 512)
    options = parser.parse_args()
    if options.blocks < 1 or options.elements % options.blocks:
        parser.error(f"{options.elements} elements cannot be divided among {options.blocks} blocks")
    gpu = int(os.environ.get("NVSHMEMRS_PE", "0"))
    nvshmem.init(device="host" if SIMULATED else gpu % len(cuda.gpus))
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    rows = nvshmem.array((2, options.elements), dtype="float32")
    signals = nvshmem.array((2, options.blocks), dtype="uint64")
    expected = np.arange(options.elements, dtype=np.float32) + me
    first: Any = rows[0]
    if SIMULATED:
        first[:] = expected
    else:
        first.set(expected)
    nvshmem.barrier_all()
    launch = ring[options.blocks, options.threads]
    launch(rows, signals[0], signals[1], 0, 0)  # compiles it
    cuda.synchronize()
    nvshmem.barrier_all()
    start = time.perf_counter()
    launch(rows, signals[0], signals[1], 0, n)
    cuda.synchronize()
    took = time.perf_counter() - start
    got: Any = rows[n % 2]
    got = np.array(got) if SIMULATED else got.get()
    # After n steps each row is back where it began.
    assert np.array_equal(got, expected), f"PE {me}: {got} and not {expected}"
    rate = n * options.elements * 4 / took / 1e9
    print(f"numba_ring ok PE {me}: {n} steps, {took * 1e6:.0f} us, {rate:.3f} GB/s", flush=True)
    times = beside_nccl(launch, rows, signals)
    beside.plot(plot, f"ring of {n} PEs", got, expected, times)
    nvshmem.free_array(rows)
    nvshmem.free_array(signals)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
