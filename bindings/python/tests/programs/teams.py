"""Splits of splits, teams of arbitrary PEs, numbers, names, and what non-members get."""

from expect import raises

import nvshmemrs.core as nvshmem
from nvshmemrs.core import TeamConfig, TeamConfigMask, Teams

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()


def members(team: object) -> list:
    """The PEs of a team in its order; the others' view of it, through a sum over all."""
    found = [nvshmem.team_translate_pe(team, i, "WORLD") for i in range(nvshmem.team_n_pes(team))]
    assert found[nvshmem.team_my_pe(team)] == me
    for pe in range(n):
        expected = found.index(pe) if pe in found else -1
        assert nvshmem.team_translate_pe("WORLD", pe, team) == expected
    with nvshmem_sum(team) as total:
        assert total == sum(found), (total, found)
    return found


class nvshmem_sum:
    """The sum over a team of its members' PE numbers."""

    def __init__(self, team: object) -> None:
        self.team = team

    def __enter__(self) -> int:
        cell[:] = me
        nvshmem.reduce(self.team, total, cell, "sum")
        return int(total[0])

    def __exit__(self, *_: object) -> None:
        nvshmem.barrier(self.team)


cell, total = nvshmem.array(1, "i8"), nvshmem.array(1, "i8")
assert members("WORLD") == members(Teams.TEAM_NODE) == members("SHARED") == list(range(n))
assert members(Teams.TEAM_SAME_MYPE_NODE) == members("SAME_GPU") == [me]
assert members("GPU_LEADERS") == list(range(n))

# Strided, as the tutorial spells it.
evens = nvshmem.team_split_strided(
    Teams.TEAM_WORLD, start=0, stride=2, size=(n + 1) // 2, config=TeamConfig(),
    config_mask=0, new_team_name="EVENS",
)  # fmt: skip
assert (evens is None) == bool(me % 2) and ("EVENS" in Teams) == (evens is not None)
assert nvshmem.team_my_pe(evens) == (-1 if me % 2 else me // 2)
assert nvshmem.team_n_pes(evens) == (-1 if me % 2 else (n + 1) // 2)
if evens is not None:
    assert members("EVENS") == list(range(0, n, 2)) and Teams.EVENS == evens
    # A split of the split, in the other direction; then one whose non-members are in EVENS.
    size = nvshmem.team_n_pes(evens)
    back = nvshmem.team_split_strided(evens, size - 1, -1, size)
    assert members(back) == list(range(0, n, 2))[::-1] and f"TEAM_{back}" in Teams
    first = nvshmem.team_split_strided("EVENS", 0, 0, 1, new_team_name="FIRST")
    assert (first is not None) == (me == 0)
    if first is not None:
        assert members(first) == [0]
    nvshmem.team_destroy(first)
    assert "FIRST" not in Teams
    nvshmem.team_destroy(back)
    raises(nvshmem.NvshmemInvalid, "", nvshmem.barrier, back)
nvshmem.team_destroy("EVENS" if evens is not None else None)
assert "EVENS" not in Teams

# Two dimensions.
for xrange in (1, 2, n):
    x, y = nvshmem.team_split_2d(
        Teams.WORLD, xrange=xrange, xaxis_config=TeamConfig(), xaxis_mask=0,
        yaxis_config=TeamConfig(), yaxis_mask=0, new_team_name="GRID",
    )  # fmt: skip
    width = min(xrange, n)
    row = me - me % width
    assert members(x) == list(range(row, min(row + width, n))) and Teams.GRID_X == x
    assert members("GRID_Y") == list(range(me % width, n, width)) and Teams.GRID_Y == y
    for team in (x, y):
        nvshmem.team_destroy(team)
x, y = nvshmem.team_split_2d("WORLD", 2)
assert f"TEAM_X_{x}" in Teams and f"TEAM_Y_{y}" in Teams
for team in (x, y):
    nvshmem.team_destroy(team)

# Any PEs, in any order: PE 0 and the last one, backwards, with an id from PE 0.
ids = nvshmem.array(1, "u8")
ids[0] = nvshmem.get_team_unique_id().value
nvshmem.broadcast(0, ids, ids, root=0)
if me in (0, n - 1) and n > 1:
    config = TeamConfig(version=2, num_contexts=1, uniqueid=int(ids[0]))
    mask = TeamConfigMask.UNIQUEID | TeamConfigMask.NUM_CONTEXTS
    ends = nvshmem.team_init(config, mask, 2, 0 if me else 1, "ENDS")
    assert members("ENDS") == [n - 1, 0] and Teams.ENDS == ends
    told = nvshmem.team_get_config(ends)
    assert (told.num_contexts, told.uniqueid) == (1, int(ids[0]))
    nvshmem.team_destroy("ENDS")
    again = nvshmem.team_init(
        TeamConfig(uniqueid=1004), config_mask=0, n_pes=2, my_pe=int(me > 0), new_team_name="ENDS"
    )
    assert members(again) == [0, n - 1]
nvshmem.barrier_all()

# Many teams, one after the other and at a time.
for _ in range(300):
    nvshmem.team_destroy(nvshmem.team_split_strided("WORLD", 0, 1, n))
made = [nvshmem.team_split_strided("WORLD", 0, 1, n) for _ in range(100)]
assert len(set(made)) == 100 and None not in made
nvshmem.barrier(made[50])
for team in made:
    nvshmem.team_destroy(team)

# A name that one PE has taken, and a size that one PE gets wrong, are errors of all.
if me == 0:
    Teams.add("TAKEN", 0)
for arguments in (
    dict(start=0, stride=1, size=n, new_team_name="TAKEN"),
    dict(start=0, stride=1, size=n + (me == 0)),
    dict(start=0, stride=1, size=0 if me == 0 else n),
    dict(start=0, stride=1, size="2" if me == 0 else n),
):
    before = list(Teams)
    raises(nvshmem.NvshmemError, "", nvshmem.team_split_strided, "WORLD", **arguments)
    assert list(Teams) == before
nvshmem.barrier_all()
assert nvshmem.team_n_pes(0) == n
nvshmem.finalize()
assert "ENDS" not in Teams and "TAKEN" not in Teams and "TEAM_WORLD" in Teams
print("ok\n", end="")  # one write, so that PEs do not mix
