# mypy: ignore-errors
"""A sum around a ring in jit: each PE passes its left neighbour's value to its right neighbour.

On a GPU for each PE a Pallas kernel (Mosaic) stores to the neighbour's memory and signals it. Without
GPUs the step is made of this library's operations. Without `--pallas` on a machine with GPUs set
NVSHMEMRS_MEMORY=host and JAX_PLATFORMS=cpu.

    nvshmemrs-run -n 2 -- python3 jax_ring.py [--pallas]
"""

import os
import sys

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj

PALLAS = "--pallas" in sys.argv
if PALLAS:
    nj.mosaic_environment()
    os.environ.setdefault("NVSHMEMRS_MEMORY", "device")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # torch is there, too

# isort: split
import time

import beside
import jax
import jax.numpy as jnp
import numpy as np

SHAPE = jax.ShapeDtypeStruct((128, 128), jnp.float32)


def pallas_step(n):
    """A launch of the kernel: the block that came, and the next token."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import mosaic_gpu as plgpu

    def body(x, y, ready, arrived):
        right = (jax.lax.axis_index("pe") + 1) % n
        left = (jax.lax.axis_index("pe") + n - 1) % n
        # The neighbour may store here, and so may this PE there.
        pl.semaphore_signal(ready, device_id=left)
        pl.semaphore_wait(ready)
        plgpu.remote_ref(y, right)[...] = x[...]
        pl.semaphore_signal(arrived, device_id=right)
        pl.semaphore_wait(arrived)

    semaphores = [plgpu.SemaphoreType.REGULAR] * 2
    launch = nj.kernel(plgpu.kernel(body, out_type=SHAPE, scratch_types=semaphores), SHAPE)

    def step(x, token):
        return nj.load(launch.outputs[0], launch(x, token=token))

    return step


def plain_step(me, n):
    """The same by a put."""
    inbox = nj.array(SHAPE.shape)

    def step(x, token):
        token = nj.put(inbox, x, (me + 1) % n, token)
        block, token = nj.load(inbox, nj.barrier(token))
        return block, nj.barrier(token)  # then the next put may come

    return step


def beside_nccl(ring_sum, x, token, n):
    """Prints the time of a ring's sum and of NCCL's all-reduce, on GPUs; returns the next token."""
    if not PALLAS:
        beside.left_out("JAX runs on the host")
        return token
    peer = beside.join_nccl(2)
    if peer is None:
        return token
    summed = peer.torch.zeros(SHAPE.shape, device="cuda")
    rounds, took = 50, {"nvshmemrs": [], "NCCL": []}
    for _ in range(rounds):
        nvshmem.barrier_all()
        begin = time.perf_counter()
        _, token = jax.block_until_ready(ring_sum(x, token))
        middle = time.perf_counter()
        peer.dist.all_reduce(summed)
        peer.torch.cuda.synchronize()
        took["nvshmemrs"].append(middle - begin)
        took["NCCL"].append(time.perf_counter() - middle)
    ours, theirs = (sorted(times)[rounds // 2] * 1e6 for times in took.values())
    if nvshmem.my_pe() == 0:
        work = f"sum of {x.nbytes >> 10} KiB around a ring in jit, with its launch, {n} PEs"
        print(f"{work}: nvshmemrs {ours:.1f} us, NCCL {theirs:.1f} us ({ours / theirs:.2f}x)")
    peer.dist.destroy_process_group()
    return token


def main():
    nj.select_gpu()
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    nj.start(staging=1 << 20)
    step = pallas_step(n) if PALLAS else plain_step(me, n)

    @jax.jit
    def ring_sum(x, token):
        total = x
        for _ in range(n - 1):
            x, token = step(x, token)
            total += x
        return total, token

    token = nj.token()
    blocks = [np.random.default_rng(pe).integers(0, 9, SHAPE.shape) for pe in range(n)]
    for turn in range(3):
        found, token = ring_sum(jnp.asarray(blocks[me] + turn, SHAPE.dtype), token)
        np.testing.assert_array_equal(np.asarray(found), sum(blocks) + n * turn)
    token = beside_nccl(ring_sum, jnp.asarray(blocks[me], SHAPE.dtype), token, n)
    jax.block_until_ready(nj.barrier(token))
    print(f"jax_ring ok PE {me} of {n}")
    nj.stop()
    nvshmem.finalize()


if __name__ == "__main__":
    main()
