"""The program ends while other threads wait for signals that nobody sends. The first word says what
threads, the second how it ends.
"""

import atexit
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import nvshmemrs.core as nvshmem

threads, end = sys.argv[1:]
nvshmem.init()
signals = nvshmem.array(8, "uint64")


def wait(i: int) -> None:
    try:
        nvshmem.signal_wait(signals[i : i + 1], 1, nvshmem.ComparisonType.CMP_EQ)
    except nvshmem.NvshmemError:
        pass


if threads == "pool":
    pool = ThreadPoolExecutor(8)
    for i in range(8):
        pool.submit(wait, i)
else:
    for i in range(8):
        threading.Thread(target=wait, args=(i,), daemon=threads == "daemons").start()
time.sleep(0.2)
if end == "finalizes":
    # A function of `atexit` may wait again: the threads have ended.
    atexit.register(lambda: (nvshmem.finalize(), print("finalized\n", end="")))
    atexit.register(lambda: (time.sleep(0.1 * nvshmem.my_pe()), nvshmem.barrier_all()))
    sys.exit(3)
elif end == "raises":
    raise ValueError("from the program")
elif end == "exits":
    sys.exit(3)
