"""A PE that looks into its own job, and keeps its place in it."""

import time

import nvshmemrs.core as nvshmem
from nvshmemrs import inspect

nvshmem.init()
me, n_pes = nvshmem.my_pe(), nvshmem.n_pes()
job = inspect.this_job()
for _ in range(20):
    seen = job.snapshot(20.0)
    assert seen.n_pes == job.n_pes() == n_pes
    assert [pe.pe for pe in seen.pes] == list(range(n_pes))
    assert all(pe.details.fresh for pe in seen.pes), [pe.silence for pe in seen.pes]
    # A PE that has died, or has lost its lock, is noticed within 0.6 s.
    assert all(pe.state == inspect.State.ACTIVE for pe in seen.pes), seen
    time.sleep(0.05)
assert repr(job) == f"Job(n_pes={n_pes})"
text = repr(seen)
assert text.startswith(f"Snapshot(stage=Stage.RUNNING, n_pes={n_pes}, summary=["), text
assert f"pes=<{n_pes} x Pe>" in text and text == str(seen), text
heap = seen.pes[me].details.heap
assert repr(heap) in repr(seen.pes[me].details) and "memory='host'" in repr(heap), heap
try:
    job.snapshot(-1.0)
except inspect.InspectError.BadArgument as error:
    assert "`patience` is -1" in str(error)
else:
    raise AssertionError("a patience of -1 was taken")
nvshmem.barrier(nvshmem.Teams.TEAM_WORLD)
nvshmem.finalize()
print(f"PE {me} has looked")
