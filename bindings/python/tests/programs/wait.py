"""Waits for what never comes, in the way the argument says, and prints what came of it.

The last PE sleeps instead. A second argument is the deadline of the wait, in seconds.
"""

import contextlib
import os
import signal
import sys
import time

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType as Cmp

heard = []


def on_signal(*_: object) -> None:
    heard.append("SIGUSR1")
    print("SIGUSR1", flush=True)


signal.signal(signal.SIGUSR1, on_signal)


def nothing() -> None:
    """The last PE is not even there yet."""


def queued() -> nvshmem.Stream:
    """A stream whose operation waits; without the deadline, so that it is not over first."""
    stream = nvshmem.Stream()
    nvshmem.signal_wait(flag, 1, Cmp.CMP_EQ, stream=stream)
    return stream


WAITS = {
    "init": nothing,
    "barrier": lambda: nvshmem.barrier_all(),
    "reduce": lambda: nvshmem.reduce(0, many, many, "sum"),
    "malloc": lambda: nvshmem.array(8),
    "team_split": lambda: nvshmem.team_split_strided("WORLD", 0, 1, n),
    "team_init": lambda: nvshmem.team_init(nvshmem.TeamConfig(uniqueid=7), 0, n, me),
    "signal_wait": lambda: nvshmem.signal_wait(flag, 1, Cmp.CMP_EQ),
    "wait_until_any": lambda: nvshmem.wait_until_any(many, Cmp.CMP_EQ, 5),
    "stream_synchronize": lambda: stream.synchronize(),
    "event_synchronize": lambda: event.synchronize(),
    "finalize": lambda: nvshmem.finalize(),
}
wait = sys.argv[1]
last = int(os.environ["NVSHMEMRS_PE"]) == int(os.environ["NVSHMEMRS_N_PES"]) - 1

try:
    if wait == "init":
        print("ready", flush=True)
        if last:
            time.sleep(60)
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    flag, many = nvshmem.array(1, "u8"), nvshmem.array(100000, "i8")
    nvshmem.barrier_all()
    if wait != "init":
        print("ready", flush=True)
    if last:
        time.sleep(60)
    if wait.endswith("synchronize"):
        stream = queued()
        event = stream.record()
    limit = nvshmem.deadline(float(sys.argv[2])) if len(sys.argv) > 2 else contextlib.nullcontext()
    with limit:
        WAITS[wait]()
except BaseException as error:
    print(f"{type(error).__name__}: {error}", flush=True)
print(f"heard {heard}", flush=True)
