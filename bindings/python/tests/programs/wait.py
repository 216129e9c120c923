"""Waits for what never comes, in the way the argument says, and prints what came of it."""

import signal
import sys
import time

import nvshmemrs.core as nvshmem

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
flag = nvshmem.array(1, "u8")
heard = []
signal.signal(signal.SIGUSR1, lambda *_: heard.append("SIGUSR1"))
nvshmem.barrier_all()
print("ready", flush=True)
if me == n - 1:
    time.sleep(60)
try:
    if sys.argv[1] == "barrier":
        nvshmem.barrier_all()
    elif sys.argv[1] == "malloc":
        nvshmem.array(8)
    else:
        nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ)
except BaseException as error:
    print(f"{type(error).__name__}: {error}", flush=True)
print(f"heard {heard}", flush=True)
