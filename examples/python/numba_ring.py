"""The ring of NVSHMEM4Py's documentation in a kernel of Numba: each PE puts a block to the PE on
its right with a signal, until every block has come round to where it began.

    nvshmemrs-run -n 4 -- python examples/python/numba_ring.py

Without a GPU Numba's simulator runs the kernel: the program turns it on where there is none.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

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
def ring(blocks: Any, arrived: Any, rounds: int) -> None:
    """`blocks` has a row to send from and one to receive in, which change places."""
    right = (shmem.my_pe() + 1) % shmem.n_pes()
    for turn in range(1, rounds + 1):
        mine = blocks[(turn + 1) % 2]
        theirs = blocks[turn % 2]
        shmem.put_signal_block(theirs, mine, arrived, turn, SET, right)
        if cuda.threadIdx.x == 0:
            shmem.signal_wait(arrived, GE, turn)
        # The row that was sent is received in next, so all PEs must have read it.
        shmem.barrier_all_block()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--elements", type=int, default=256 if SIMULATED else 1 << 20)
    parser.add_argument("--threads", type=int, default=4 if SIMULATED else 512)
    options = parser.parse_args()
    gpu = int(os.environ.get("NVSHMEMRS_PE", "0"))
    nvshmem.init(device="host" if SIMULATED else gpu % len(cuda.gpus))
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    blocks = nvshmem.array((2, options.elements), dtype="float32")
    arrived = nvshmem.array(1, dtype="uint64")
    expected = np.arange(options.elements, dtype=np.float32) + me
    first: Any = blocks[0]
    if SIMULATED:
        first[:] = expected
    else:
        first.set(expected)
    nvshmem.barrier_all()
    ring[1, options.threads](blocks, arrived, 0)  # compiles it
    cuda.synchronize()
    nvshmem.barrier_all()
    start = time.perf_counter()
    ring[1, options.threads](blocks, arrived, n)
    cuda.synchronize()
    took = time.perf_counter() - start
    got: Any = blocks[n % 2]
    got = np.array(got) if SIMULATED else got.get()
    # After n steps each block is back where it began.
    assert np.array_equal(got, expected), f"PE {me}: {got} and not {expected}"
    rate = n * options.elements * 4 / took / 1e9
    print(f"numba_ring ok PE {me}: {n} steps, {took * 1e6:.0f} us, {rate:.3f} GB/s", flush=True)
    nvshmem.free_array(blocks)
    nvshmem.free_array(arrived)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
