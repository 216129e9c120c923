"""PE 1 ends by an exception, in the way the first argument says, while the others are inside a
collective; they print what they get.
"""

import sys
import threading
import time

import nvshmemrs.core as nvshmem

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
if sys.argv[1] == "unhandled":  # by anyone
    nvshmem.barrier_all()  # no PE is in init any more, whose errors are others
    if me == 1:
        raise ValueError("the cause")
    nvshmem.barrier_all()
if sys.argv[1] == "alike":
    raise ValueError("of all")
flag, data = nvshmem.array(1, "u8"), nvshmem.array(4, "f8")
nvshmem.barrier_all()


def in_a_thread() -> None:
    raise ValueError("from a thread of PE 1")


def waits_for_ever() -> None:
    """Of a thread that Python waits for at exit."""
    try:
        nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ)
    except nvshmem.NvshmemError as error:
        print(f"thread: {type(error).__name__}: {error}", flush=True)


def end(how: str) -> None:
    if how == "exception":
        raise ValueError("from PE 1")
    if how == "exit":
        sys.exit(3)
    if how == "with_arrays":  # that are collected at exit, beside views and a team
        kept = [nvshmem.array(10)[2:] for _ in range(5)]
        team = nvshmem.team_split_strided("WORLD", 0, 1, n)
        raise ValueError(f"from PE 1, with {len(kept)} arrays and team {team}")
    if how == "stream":  # whose collective waits for the others
        stream = nvshmem.Stream()
        nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ, stream=stream)
        nvshmem.barrier_all(stream)
        raise ValueError("from PE 1, with a stream")
    if how == "inside":  # the package, on behalf of a call with a wrong argument
        try:
            {}["key"]
        except KeyError:
            nvshmem.put(data, data, 77)
    if how == "recursion":  # a traceback as deep as the stack
        end(how)
    if how == "thread_waits":
        threading.Thread(target=waits_for_ever).start()
        time.sleep(0.1)
        raise ValueError("from PE 1, with a thread")
    raise SystemExit(f"unknown way {how}")


how = sys.argv[1]
if how == "in_a_thread":
    # The PE goes on: only its thread has ended.
    if me == 1:
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()
    nvshmem.reduce(0, data, data, "sum")
    nvshmem.finalize()
    print("ok\n", end="")
    sys.exit(0)
if me == 1:
    if how != "with_arrays":
        time.sleep(0.2)
    end(how)
if how == "with_arrays":
    arrays = [nvshmem.array(10) for _ in range(5)]
    team = nvshmem.team_split_strided("WORLD", 0, 1, n)
start = time.monotonic()
try:
    nvshmem.barrier_all()
except nvshmem.PeDiedError as error:
    print(f"PeDiedError after {time.monotonic() - start:.3f} s: {error}", flush=True)
else:
    raise AssertionError("the barrier came back")
