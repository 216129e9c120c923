"""Leaves arrays, a team, a stream and an event to finalize, and collects one array before it. The test
knows the lines by the comments behind them.
"""

import gc
import sys

import nvshmemrs.core as nvshmem


def allocate(shape: int) -> object:
    return nvshmem.array(shape, "f8")  # line: array


nvshmem.init(heap_bytes=1 << 24)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
kept = [allocate(10), allocate(30)]
buffer = nvshmem.buffer(5000)  # line: buffer
collected = allocate(7)
freed = allocate(9)
nvshmem.free_array(freed)
with nvshmem.array(11):
    pass
team = nvshmem.team_split_strided("TEAM_WORLD", 0, 1, n)  # line: team
stream = nvshmem.Stream()  # line: stream
event = stream.record()  # line: event
if me == 1:
    more = nvshmem.Event()  # line: more

cycle = [collected]
cycle.append(cycle)
del collected, cycle
gc.collect()
if sys.argv[1:] == ["freed"]:
    stream.close()
    nvshmem.team_destroy(team)
    del stream, event, kept, buffer
    if me == 1:
        del more
    gc.collect()
print(nvshmem.unfreed())
nvshmem.finalize()
print("ok\n", end="")
