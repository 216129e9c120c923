"""Jobs whose PEs are threads of this process."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from typing import Any, List

import numpy as np
import pytest
from conftest import fails, finished

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp, Teams

HEAP = 1 << 22


def ring() -> int:
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox, signal_var = nvshmem.array(4, "int64"), nvshmem.array(1, "uint64")
    nvshmem.put_signal(inbox, np.full(4, me), signal_var, 1, SignalOp.SIGNAL_SET, (me + 1) % n)
    nvshmem.signal_wait(signal_var, 1, ComparisonType.CMP_GE)
    came = int(inbox[3])
    nvshmem.reduce(Teams.TEAM_WORLD, inbox, inbox, "sum")
    assert inbox[0] == n * (n - 1) // 2
    nvshmem.free_array(signal_var)
    nvshmem.free_array(inbox)
    return came


def not_a_pe() -> bool:
    return nvshmem.init_status() == nvshmem.InitStatus.STATUS_NOT_INITIALIZED


@pytest.mark.parametrize("n", [1, 2, 4])
def test_results_come_in_the_order_of_the_pes(n: int) -> None:
    for _ in range(2):  # a second job after the first
        with nvshmem.local(n, heap_bytes=HEAP) as job:
            assert job.n_pes == n
            for _ in range(3):
                assert job.run(ring) == [(pe - 1) % n for pe in range(n)]
        assert not_a_pe() and job.n_pes == 0
        fails(lambda: job.run(ring), "this job has ended")


def test_what_is_allocated_stays_from_one_run_to_the_next() -> None:
    kept: List[Any] = [None] * 3

    def make() -> None:
        me = nvshmem.my_pe()
        kept[me] = nvshmem.array(2, "int32")
        kept[me][:] = me

    def fetch() -> List[int]:
        me, n = nvshmem.my_pe(), nvshmem.n_pes()
        theirs = np.zeros(2, "int32")
        nvshmem.get(theirs, kept[me], (me + 1) % n)
        nvshmem.barrier_all()
        return [int(value) for value in theirs]

    with nvshmem.local(3, heap_bytes=HEAP) as job:
        job.run(make)
        assert job.run(fetch) == [[1, 1], [2, 2], [0, 0]]
        fails(nvshmem.my_pe, "this thread is no PE", nvshmem.NotInitializedError)
    assert [int(array[0]) for array in kept] == [0, 1, 2]


def test_each_pe_has_teams_streams_and_releases_of_its_own() -> None:
    def body() -> Any:
        me = nvshmem.my_pe()
        first = nvshmem.team_split_strided(Teams.TEAM_WORLD, 0, 1, 1, new_team_name="PART")
        rest = nvshmem.team_split_strided(Teams.TEAM_WORLD, 1, 1, 3, new_team_name="REST")
        mine = first if me == 0 else rest
        values = nvshmem.array(2, "int64")
        with nvshmem.Stream() as stream:
            for _ in range(50):
                values[:] = 1
                nvshmem.reduce(mine, values, values, "sum", stream=stream)
                stream.synchronize()
                assert values[0] == (1 if me == 0 else 3)
        assert ("PART" in Teams) == (me == 0) and ("REST" in Teams) == (me != 0)
        del values
        nvshmem.heap_stats()  # records the release, which all have done behind the barrier
        nvshmem.barrier_all()
        nvshmem.free_array(nvshmem.array(2))
        return nvshmem.heap_stats().allocations, nvshmem.team_n_pes(mine)

    with nvshmem.local(4, heap_bytes=HEAP) as job:
        assert job.run(body) == [(0, 1), (0, 3), (0, 3), (0, 3)]
    assert "PART" not in Teams


@pytest.mark.parametrize("guilty", [0, 2])
def test_what_is_raised_on_a_pe_ends_the_others(guilty: int) -> None:
    def body() -> None:
        nvshmem.barrier_all()
        if nvshmem.my_pe() == guilty:
            raise KeyError("lost")
        nvshmem.barrier_all()

    start = time.monotonic()
    with pytest.raises(
        nvshmem.LocalJobError, match=f"PE {guilty} raised KeyError: 'lost'"
    ) as caught:
        with nvshmem.local(3, heap_bytes=HEAP) as job:
            job.run(body)
    error = caught.value
    assert error.pe == guilty and isinstance(error.__cause__, KeyError)
    others = {pe: type(other) for pe, other in error.errors.items() if pe != guilty}
    assert others == dict.fromkeys({0, 1, 2} - {guilty}, nvshmem.PeDiedError)
    assert time.monotonic() - start < 30 and not_a_pe()
    with nvshmem.local(2, heap_bytes=HEAP) as job:
        assert job.run(ring) == [1, 0]


def test_a_pe_makes_no_job_and_does_not_end_its_own() -> None:
    def body() -> List[str]:
        messages = []
        for call in (
            nvshmem.finalize,
            lambda: nvshmem.local(2),
            lambda: job.run(nvshmem.my_pe),
        ):
            with pytest.raises(nvshmem.NvshmemInvalid) as caught:
                call()
            messages.append(str(caught.value))
        return messages

    with nvshmem.local(2, heap_bytes=HEAP) as job:
        for pe, messages in enumerate(job.run(body)):
            assert [message.split(":")[0] for message in messages] == [
                "finalize", "local", "run",
            ]  # fmt: skip
            assert all(f"this thread is PE {pe}" in message for message in messages)
        with nvshmem.local(3, heap_bytes=HEAP) as other:  # beside it, not inside
            assert other.run(ring) == [2, 0, 1] and job.run(ring) == [1, 0]
        for wrong, message in ((0, "at least one PE"), ("x", "integer"), (-1, "at least one PE")):
            with pytest.raises(nvshmem.NvshmemInvalid, match=message):
                nvshmem.local(wrong)  # type: ignore[arg-type]
        with pytest.raises(nvshmem.NvshmemInvalid, match="takes a function"):
            job.run(3)  # type: ignore[arg-type]


def test_the_process_may_be_a_pe_of_another_job(job: None) -> None:
    mine = nvshmem.array(3, "int64")
    with nvshmem.local(2, heap_bytes=HEAP) as threads:
        assert threads.run(ring) == [1, 0]
        nvshmem.put(mine, np.arange(3), 0)
        assert (nvshmem.my_pe(), nvshmem.n_pes()) == (0, 1)
    nvshmem.free_array(mine)


def test_two_threads_that_init_do_not_overwrite_each_other() -> None:
    uid = nvshmem.get_unique_id()
    failed: List[str] = []

    def second() -> None:
        time.sleep(0.3)
        with pytest.raises(nvshmem.NvshmemInvalid) as caught:
            nvshmem.init(uid=uid, rank=1, nranks=2, heap_bytes=HEAP)
        failed.append(str(caught.value))

    thread = threading.Thread(target=second)
    thread.start()
    with pytest.raises(nvshmem.NvshmemError):  # the other one never comes
        nvshmem.init(uid=uid, rank=0, nranks=2, heap_bytes=HEAP, init_timeout=1.5)
    thread.join()
    assert "another thread of this process is in init" in failed[0] and "local()" in failed[0]
    nvshmem.init(heap_bytes=HEAP)
    fails(lambda: nvshmem.init(uid=uid, rank=0, nranks=2), "a job already.* other arguments")
    nvshmem.finalize()


CTRL_C = """
import sys, time
import nvshmemrs.core as nvshmem

def body():
    if nvshmem.my_pe() == 0:
        sys.stdout.write("ready\\n")
        sys.stdout.flush()
        while True:  # in Python
            time.sleep(0.01)
    nvshmem.barrier_all()  # in the library

try:
    with nvshmem.local(3, heap_bytes=1 << 22) as job:
        job.run(body)
except KeyboardInterrupt:
    print("interrupted")
with nvshmem.local(2, heap_bytes=1 << 22) as job:
    print(job.run(nvshmem.my_pe))
"""


def test_ctrl_c_ends_all_pes() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", CTRL_C],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("interrupted\n[0, 1]\n", "", 0)


LEFT_OPEN = """
import nvshmemrs.core as nvshmem
job = nvshmem.local(2, heap_bytes=1 << 22)
print(job.run(nvshmem.my_pe))
"""


def test_a_job_that_is_left_open_ends_with_the_process() -> None:
    done = finished(sys.executable, "-c", LEFT_OPEN, apart=True)
    assert (done.stdout, done.stderr, done.returncode) == ("[0, 1]\n", "", 0)


def test_arrays_of_other_libraries_find_their_buffer_beside_another_job() -> None:
    kept: List[Any] = [None] * 2

    def make() -> None:
        kept[nvshmem.my_pe()] = nvshmem.array(4, "int64")

    def find() -> None:
        own = kept[nvshmem.my_pe()]
        found = nvshmem.array_get_buffer(np.from_dlpack(own))[0]
        assert found is nvshmem.array_get_buffer(own)[0]
        for _ in range(2):  # the second time after the first Buffer was collected
            peer = nvshmem.get_peer_buffer(found, 1 - nvshmem.my_pe())
            assert nvshmem.array_get_buffer(np.from_dlpack(peer))[0] is peer
            del peer

    with nvshmem.local(2, heap_bytes=HEAP) as job:
        job.run(make)
        job.run(find)
        with nvshmem.local(1, heap_bytes=HEAP) as other:
            other.run(lambda: nvshmem.array(4, "int64"))
        job.run(find)


def test_a_pe_beside_a_local_job_keeps_its_names_of_teams(job: None) -> None:
    nvshmem.team_split_strided("TEAM_WORLD", 0, 1, 1, new_team_name="before")
    with nvshmem.local(2, heap_bytes=HEAP) as threads:
        assert nvshmem.team_n_pes("before") == 1
        assert threads.run(lambda: "before" in Teams) == [False, False]
        nvshmem.team_split_strided("TEAM_WORLD", 0, 1, 1, new_team_name="meanwhile")
    assert "before" in Teams and nvshmem.team_n_pes("meanwhile") == 1
    nvshmem.finalize()
    assert "before" not in Teams


CHECKED = """
import numpy as np
import nvshmemrs.core as nvshmem

def body(mended):
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox = nvshmem.array(4, "float64")
    nvshmem.put(inbox, np.full(4, float(me)), (me + 1) % n)
    if mended:
        nvshmem.barrier_all()
    total = inbox.sum()
    nvshmem.barrier_all()
    nvshmem.free_array(inbox)

for mended in (True, False):
    try:
        with nvshmem.local(3, heap_bytes=1 << 22) as job:
            job.run(lambda: body(mended))
        print("silent")
    except nvshmem.CheckFailedError:
        print("found")
"""


def test_the_checker_tells_the_threads_apart() -> None:
    done = finished(sys.executable, "-c", CHECKED, apart=True, NVSHMEMRS_CHECK="1")
    assert done.stdout == "silent\nfound\n", done.stderr
    assert "load at <string>:" in done.stderr and "put at <string>:" in done.stderr
