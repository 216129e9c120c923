"""A forked child is no PE: its calls fail, and its end disturbs nobody."""

import gc
import multiprocessing
import os
import sys

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem


def child(array: np.ndarray) -> None:
    calls = [
        nvshmem.init,
        nvshmem.barrier_all,
        nvshmem.quiet,
        nvshmem.finalize,
        lambda: nvshmem.put(array, np.zeros(4), 0),
        lambda: nvshmem.array(4),
        lambda: nvshmem.free_array(array),
        lambda: nvshmem.reduce(0, array, array, "nonsense"),
        lambda: nvshmem.put(array[::2], np.zeros(2), 0),
        lambda: nvshmem.atomic_fetch(array, 0),
        lambda: nvshmem.team_split_strided(0, 0, 1, 1),
        nvshmem.Stream,
    ]
    for call in calls:
        raises(nvshmem.ForkedError, "fork", call)
    assert nvshmem.init_status() == nvshmem.InitStatus.STATUS_NOT_INITIALIZED
    gc.collect()


nvshmem.init()
a = nvshmem.array(4, "f8")
a[:] = 5
if nvshmem.my_pe() == 0:
    pid = os.fork()
    if pid == 0:
        try:
            child(a)
        except BaseException as error:
            print(error, flush=True)
            os._exit(1)
        sys.exit(0)  # the whole way out, atexit handlers too
    assert os.waitpid(pid, 0)[1] == 0
    process = multiprocessing.get_context("fork").Process(target=child, args=(a,))
    process.start()
    process.join()
    assert process.exitcode == 0
nvshmem.barrier_all()
nvshmem.reduce(0, a, a, "sum")
assert (a == 5 * nvshmem.n_pes()).all()
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
