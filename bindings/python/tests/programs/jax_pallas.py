"""A kernel of Pallas for GPUs that puts to its right neighbour's memory and signals it, launched inside of
jit. With `lower` it is only lowered, for as many PEs as that says, which needs no GPU.
"""

import sys

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj

nj.mosaic_environment()

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

from nvshmemrs.core.interop.jax import _mosaic

SHAPE = jax.ShapeDtypeStruct((8, 128), jnp.float32)


def kernel_of(body):
    try:
        return plgpu.kernel(body, out_type=SHAPE, scratch_types=[plgpu.SemaphoreType.REGULAR] * 2)
    except TypeError:  # of JAX 0.10
        return plgpu.kernel(body, out_shape=SHAPE, scratch_shapes=[plgpu.SemaphoreType.REGULAR] * 2)


def ring(n):
    """Each PE's block goes to its right neighbour's result."""

    def body(x, y, ready, arrived):
        right = (jax.lax.axis_index("pe") + 1) % n
        left = (jax.lax.axis_index("pe") + n - 1) % n
        pl.semaphore_signal(ready, device_id=left)
        pl.semaphore_wait(ready)
        plgpu.remote_ref(y, right)[...] = x[...] + 1
        pl.semaphore_signal(arrived, device_id=right)
        pl.semaphore_wait(arrived)

    return kernel_of(body)


def in_place(n):
    """The same, to memory that is an argument; the result is what the PE has got."""

    def body(x, inbox, y, ready, arrived):
        right = (jax.lax.axis_index("pe") + 1) % n
        left = (jax.lax.axis_index("pe") + n - 1) % n
        pl.semaphore_signal(ready, device_id=left)
        pl.semaphore_wait(ready)
        plgpu.remote_ref(inbox, right)[...] = x[...] * 2
        pl.semaphore_signal(arrived, device_id=right)
        pl.semaphore_wait(arrived)
        y[...] = inbox[...]

    return kernel_of(body)


def lower(n):
    for name, made, count in (("ring", ring(n), 1), ("in_place", in_place(n), 2)):
        found = _mosaic.lowered(made, (SHAPE,) * count, n)
        assert found.arguments[:count] == list(range(count)), found
        assert set(found.arguments[count:]) == {None} and len(found.results) == 1, found
        assert b"nvshmem_ptr" in found.module and b"nvshmem_my_pe" in found.module
        print(f"pallas ok: {name} lowered, {len(found.module)} bytes", flush=True)


def wrong():
    """Functions that do not hold one kernel and nothing else."""
    one = ring(2)
    for function in (lambda x: x, lambda x: one(x + 1), lambda x: one(x) * 2, lambda x: one(one(x))):
        try:
            _mosaic.lowered(function, (SHAPE,), 2)
        except nvshmem.NvshmemInvalid as error:
            print(f"refused: {error}", flush=True)


def main():
    nj.select_gpu()
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    nj.start(staging=1 << 20)
    left, token = (me - 1) % n, nj.token()

    first = nj.kernel(ring(n), SHAPE)

    @jax.jit
    def step(x, token):
        token = first(x, token=token)
        y, token = nj.load(first.outputs[0], token)
        return y, nj.barrier(token)

    for turn in range(10):
        y, token = step(jnp.full(SHAPE.shape, me + 10.0 * turn), token)
        np.testing.assert_array_equal(np.asarray(y), np.full(SHAPE.shape, left + 10.0 * turn + 1))
    print(f"pallas ok: ring, PE {me}", flush=True)

    inbox = nj.array(SHAPE.shape)
    second = nj.kernel(in_place(n), SHAPE, inbox)
    many = jax.jit(lambda x, token: second(x, inbox, token=second(x, inbox, token=token)))
    for turn in range(10):
        token = nj.barrier(many(jnp.full(SHAPE.shape, me + 1.0 + turn), token))
        got, token = nj.load(inbox, token)
        seen, token = nj.load(second.outputs[0], token)
        for value in (got, seen):
            expected = np.full(SHAPE.shape, 2.0 * (left + 1 + turn))
            np.testing.assert_array_equal(np.asarray(value), expected)
        token = nj.barrier(token)
    jax.block_until_ready(token)
    print(f"pallas ok: in_place, PE {me}", flush=True)
    nvshmem.finalize()


if sys.argv[1:2] == ["lower"]:
    lower(int(sys.argv[2]))
    wrong()
else:
    main()
