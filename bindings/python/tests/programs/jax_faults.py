"""Wrong use of operations in JAX programs, by one PE: each line that it prints is an error's text."""

import os
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj
from nvshmemrs.core.interop.jax import _setup


def told(name, function, *arguments, **named):
    try:
        jax.block_until_ready(function(*arguments, **named))
    except (nvshmem.NvshmemError, jax.errors.JaxRuntimeError, TypeError, ValueError) as error:
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
    else:
        raise AssertionError(f"{name}: no error")


def wrong_calls():
    a, flags, x, token = nj.array(4), nj.array(2, "uint64"), jnp.ones(4), nj.token()
    told("not symmetric", nj.put, x, x, 0, token)
    told("numpy", nj.put, np.ones(4, np.float32), x, 0, token)
    told("shape", nj.put, a, jnp.ones(3), 0, token)
    told("dtype", nj.put, a, jnp.ones(4, jnp.int32), 0, token)
    told("pe", nj.put, a, x, 1, token)
    told("no token", nj.barrier, x)
    told("signal", nj.signal_wait, flags, 1, token)
    told("list", nj.all_reduce, [1.0, 2.0], token)
    told("number", nj.put, a, 1.0, 0, token)
    told("symmetric operand", nj.all_gather, a, token)
    told("narrow operand", nj.all_reduce, np.ones(4), token)
    told("key", nj.all_gather, jax.random.key(0), token)
    told("traced key", jax.jit(nj.broadcast), jax.random.key(0), token)
    told("objects", nj.broadcast, np.array([None, "a"]), token)
    told("dates", nj.all_to_all, np.zeros(4, "datetime64[s]"), token)
    told("long double", nj.put, a, np.ones(4, np.longdouble), 0, token)
    told("signal value", nj.put_signal, a, x, flags[0], -1, 0, token)
    told("op", nj.all_reduce, x, token, "mean")
    told("parts", nj.all_to_all, jnp.float32(1), token)
    told("root", nj.broadcast, x, token, 1)
    told("team", nj.all_reduce, x, token, "sum", "NONE")
    told("staging", nj.all_reduce, jnp.ones(1 << 16), token)
    told("gradient", jax.grad(lambda x: nj.all_reduce(x, token)[0].sum()), x)
    told("narrow", nj.load, flags, token)
    told("narrow view", flags.view)
    told("a value", jnp.sum, a)
    told("part", lambda: a[::2])
    told("elements", nj.array, 4, "datetime64[s]")
    told("long elements", nj.array, 4, np.longdouble)
    told("float8", nj.all_reduce, jnp.ones(4, "float8_e4m3"), token)
    told("start again", nj.start)
    known = _setup.local_device
    _setup.local_device = lambda jax: "CudaDevice(id=1)"
    told("device", nj.put, a, x, 0, token)
    _setup.local_device = known


def wrong_order():
    a, first = nj.array(4), nj.token()
    _, second = nj.load(a, first)
    _, third = nj.load(a, second)
    told("stale", nj.load, a, second)
    # The order is that of tokens: an operation with the last one goes on.
    _, fourth = nj.load(a, third)

    @jax.jit
    def forked(token):
        one, other = nj.load(a, token), nj.load(a, token)
        return one[1], other[1]

    told("forked", forked, fourth)


def freed():
    a, token = nj.array(4), nj.token()
    read = jax.jit(lambda token: nj.load(a, token))
    _, token = read(token)
    nj.free_array(a[:])
    told("freed", nj.load, a, token)
    told("freed, compiled", read, token)


def stopped():
    a, token = nj.array(4), nj.token()
    read = jax.jit(lambda token: nj.load(a, token))
    _, token = jax.block_until_ready(read(token))
    nj.stop()
    told("stopped", nj.load, a, token)
    told("stopped, compiled", read, token)
    told("stop again", nj.stop)
    nj.start(staging=4096)
    assert read(nj.token())[0].shape == (4,)


def versions():
    nj.stop()
    known, jax.__version__ = jax.__version__, "0.99.1"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            nj.start(staging=4096)
            nj.stop()
    jax.__version__ = known
    assert all(warning.category is nvshmem.NvshmemWarning for warning in caught), caught
    assert [str(warning.message) for warning in caught] == [
        "nvshmemrs was tested with JAX 0.10 and 0.11, and this is 0.99.1"
    ], caught
    nj.start(staging=4096)


def killed():
    """PE 1 of two dies, before a collective of the other."""
    token = jax.block_until_ready(nj.barrier(nj.token()))
    if nvshmem.my_pe() == 1:
        os._exit(3)
    told("dead", jax.jit(nj.all_reduce), jnp.ones(4), token)
    os._exit(0)


nvshmem.init(heap_bytes=1 << 24)
if sys.argv[1] == "start":
    told("before start", nj.barrier, nj.token())
    told("start", nj.start)
else:
    nj.start(staging=1 << 16)
    globals()[sys.argv[1]]()
nvshmem.finalize()
print("ok", flush=True)
