"""One PE of a job that measures all-reduces inside of jit: this library's, by a call of XLA's, and jax.lax.psum. PEs are the processes of
jax.distributed, on a port that PE 0 picks. Started by nvshmemrs-run: jax_bench.py [BYTES ...]. PE 0 prints its times: for each size a row, and a
row with donated arrays.
"""

from __future__ import annotations

import socket
import statistics
import sys
import time
from functools import partial

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from rows import row

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj

ROUNDS, CALLS = 9, 100
# The target for a size, as a share of psum's time.
WANTED = {64 << 10: 0.7}
sizes = [int(word) for word in sys.argv[1:]] or [1 << 10, 8 << 10, 64 << 10, 1 << 20, 16 << 20]


def port_of_pe_0() -> int:
    """A port that was free on PE 0."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = np.array([free.getsockname()[1]], np.int64)
    with nvshmem.buffer(port.nbytes) as memory:
        memory.copy_from(port)
        nvshmem.broadcast(nvshmem.Teams.TEAM_WORLD, memory, memory, root=0)
        memory.copy_to(port)
    return int(port[0])


nj.select_gpu()
nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
if jax.config.jax_platforms == "cpu":
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port_of_pe_0()}", n, me)
nj.start(staging=3 * max(sizes))
mesh = Mesh(np.array(jax.devices()), ("pe",))
sharding = NamedSharding(mesh, P("pe"))


def global_array(value: np.ndarray) -> jax.Array:
    return jax.make_array_from_callback((n * value.shape[0],), sharding, lambda _: value)


def chained(one, donated):
    """A program of many calls, each of which takes the result of the previous call. With `donated` arguments, results take the places of the
    arguments, as in the step of a training loop, and XLA launches the same CUDA graph again without an update.
    """

    @partial(jax.jit, donate_argnums=(0, 1) if donated else ())
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("pe"), P("pe")), out_specs=(P("pe"), P("pe")), check_vma=False)
    def program(x, token):
        for _ in range(CALLS):
            x, token = one(x, token)
            x = x / n
        return x, token

    return program


def measured(program, nbytes, token) -> tuple[float, jax.Array]:
    """Microseconds of a call, the median of the rounds on this PE, and the last token."""
    took = []
    x = global_array(np.full(nbytes // 4, float(n), np.float32))
    for _ in range(ROUNDS + 2):
        jax.block_until_ready((x, token))
        nvshmem.barrier_all()
        start = time.perf_counter()
        x, token = jax.block_until_ready(program(x, token))
        took.append((time.perf_counter() - start) / CALLS * 1e6)
    assert (np.asarray(x.addressable_shards[0].data) == n).all()
    return statistics.median(took[2:]), token


def token_of(value):
    return global_array(np.full(1, value, np.uint32))


programs = {
    donated: (chained(nj.all_reduce, donated), chained(lambda x, token: (jax.lax.psum(x, "pe"), token), donated)) for donated in (False, True)
}
token = token_of(0)
for nbytes in sizes:
    for donated, (ours, theirs) in programs.items():
        mine, token = measured(ours, nbytes, token)
        xla, _ = measured(theirs, nbytes, token_of(0))
        if me == 0:
            name = f"jax: all_reduce in jit{' with donated arrays' if donated else ''}, {nbytes} bytes, {n} PEs"
            row(name, mine, "us", share=WANTED.get(nbytes), peer=("jax.lax.psum", xla))
nj.stop()
nvshmem.finalize()
