"""PE 0 waits; a signal handler of its own raises an exception."""

import signal
import time

import nvshmemrs.core as nvshmem


def on_signal(*_: object) -> None:
    raise RuntimeError("told to end")


signal.signal(signal.SIGTERM, on_signal)
nvshmem.init()
nvshmem.barrier_all()
print("ready", flush=True)
if nvshmem.my_pe() == 1:
    time.sleep(60)
try:
    nvshmem.barrier_all()
except RuntimeError as error:
    print(f"RuntimeError: {error}", flush=True)
