"""JAX on the symmetric heap: operations inside of ``jit`` and ``shard_map``, by ``jax.ffi``.

``start`` comes first. Every operation takes a token and returns one: XLA runs calls in the order in
which tokens go from one to the next, which therefore is the same on all PEs. Results are new arrays.
Symmetric memory is a ``SymmetricArray``, which XLA never has as a value of its own::

    nvshmem_jax.start()
    inbox = nvshmem_jax.array(4, "float32")

    @jax.jit
    def step(x, token):
        total, token = nvshmem_jax.all_reduce(x, token)
        token = nvshmem_jax.put(inbox, total, right, token)
        token = nvshmem_jax.barrier(token)
        return nvshmem_jax.load(inbox, token)

Importing this module does not import JAX; ``start`` does.
"""

from ._array import SymmetricArray, array, free_array
from ._calls import (
    all_gather,
    all_reduce,
    all_to_all,
    barrier,
    broadcast,
    get,
    load,
    put,
    put_signal,
    quiet,
    reduce_scatter,
    shift,
    signal_wait,
    store,
    token,
)
from ._mosaic import Kernel, kernel, mosaic_environment
from ._setup import select_gpu, start, stop

__all__ = [
    "Kernel",
    "SymmetricArray",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "array",
    "barrier",
    "broadcast",
    "free_array",
    "get",
    "kernel",
    "load",
    "mosaic_environment",
    "put",
    "put_signal",
    "quiet",
    "reduce_scatter",
    "select_gpu",
    "shift",
    "signal_wait",
    "start",
    "stop",
    "store",
    "token",
]
