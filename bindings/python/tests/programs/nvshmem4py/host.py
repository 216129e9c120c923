"""A program that knows NVSHMEM4Py only, without a GPU: a ring, a histogram by atomics, collectives
and teams. It has nothing of nvshmemrs in it.
"""

import argparse

import nvshmem
import nvshmem.core
from nvshmem.core import ComparisonType, SignalOp, Teams
from nvshmem.core.nvshmem_types import NvshmemError, NvshmemInvalid
from nvshmem.core.utils import dtype_nbytes, get_size


def ring(rounds: int) -> None:
    """Passes a value around."""
    me, n = nvshmem.core.my_pe(), nvshmem.core.n_pes()
    data = nvshmem.core.array((4,), dtype="float32")
    box = nvshmem.core.array((4,), dtype="float32")
    flag, size, kind = nvshmem.core.array_get_buffer(nvshmem.core.array((1,), dtype="uint64"))
    assert (size, kind) == (8, "uint64")
    for step in range(1, rounds + 1):
        data[:] = 100 * step + me
        nvshmem.core.put_signal(box, data, flag, step, SignalOp.SIGNAL_SET, remote_pe=(me + 1) % n)
        nvshmem.core.signal_wait(flag, step, ComparisonType.CMP_GE)
        assert box.tolist() == [100 * step + (me - 1) % n] * 4
        nvshmem.core.barrier_all()
    nvshmem.core.free_array(data)
    nvshmem.core.free_array(box)
    nvshmem.core.free(flag)


def histogram() -> None:
    """Every PE counts on PE 0."""
    me, n = nvshmem.core.my_pe(), nvshmem.core.n_pes()
    counts = nvshmem.core.array((2,), dtype="int64")
    for _ in range(10):
        nvshmem.core.atomic_add(counts, me + 1, 0, offset=1)
        nvshmem.core.atomic_inc(counts, 0)
    nvshmem.core.barrier(Teams.TEAM_WORLD)
    if me == 0:
        assert counts.tolist() == [10 * n, 10 * n * (n + 1) // 2]
    nvshmem.core.free_array(counts)


def collectives() -> None:
    """On Buffers, as the perftests use them."""
    n = nvshmem.core.n_pes()
    nbytes = get_size((8,), "int32")
    assert nbytes == 8 * dtype_nbytes("int")
    src, dst = nvshmem.core.buffer(nbytes), nvshmem.core.buffer(n * nbytes)
    took = nvshmem.core.collective_on_buffer(
        "fcollect", Teams.TEAM_WORLD, dst, src, dtype="int", enable_timing=True
    )
    assert took >= 0
    nvshmem.core.free(src)
    nvshmem.core.free(dst)


def teams() -> None:
    """A team of the even PEs."""
    me, n = nvshmem.core.my_pe(), nvshmem.core.n_pes()
    team = nvshmem.core.team_split_strided(
        Teams.TEAM_WORLD, 0, 2, (n + 1) // 2, nvshmem.core.TeamConfig(), 0, new_team_name="EVEN"
    )
    assert (team is None) == (me % 2 == 1)
    if team is not None:
        assert nvshmem.core.team_n_pes(team) == (n + 1) // 2
        assert nvshmem.core.team_translate_pe(team, 0, Teams.TEAM_WORLD) == 0
        nvshmem.core.team_destroy("EVEN")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, required=True)
    arguments = parser.parse_args()
    try:
        nvshmem.core.buffer(8)
    except NvshmemError:
        pass  # before init
    nvshmem.core.init()
    assert nvshmem.core.get_version().openshmem_spec_version
    ring(arguments.rounds)
    histogram()
    collectives()
    teams()
    try:
        nvshmem.core.buffer(0)
    except NvshmemInvalid:
        pass
    n = nvshmem.core.n_pes()
    nvshmem.core.finalize()
    print(f"ok of {n}\n", end="")


if __name__ == "__main__":
    main()
