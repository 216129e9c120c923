"""Teams with one PE: names, configs, wrong arguments. Several PEs: programs/teams.py."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import fails

import nvshmemrs.core as nvshmem
from nvshmemrs.core import TeamConfig, TeamConfigMask, Teams, TeamUniqueId


def test_configs() -> None:
    config = TeamConfig()
    assert (config.version, config.num_contexts, config.uniqueid) == (2, 0, 0) and config.ptr
    config = TeamConfig(version=2, num_contexts=1, uniqueid=1004)
    assert (config.num_contexts, config.uniqueid) == (1, 1004) and "1004" in repr(config)
    assert config == TeamConfig(0, 1, TeamUniqueId(1004)) != TeamConfig()
    config.uniqueid = 2**64 - 1
    assert config.uniqueid == 2**64 - 1
    for arguments in (
        {"version": 3},
        {"uniqueid": -1},
        {"uniqueid": 2**64},
        {"uniqueid": "1"},
        {"num_contexts": 2**31},
        {"num_contexts": 1.0},
    ):
        fails(lambda: TeamConfig(**arguments), next(iter(arguments)))


def test_unique_ids(job: None) -> None:
    first, second = nvshmem.get_team_unique_id(), nvshmem.get_team_unique_id()
    assert first != second and first == TeamUniqueId(first.value) and str(first) == str(first.value)
    assert first.ptr and repr(TeamUniqueId(7)) == "TeamUniqueId(7)"
    fails(lambda: TeamUniqueId(-1), "value=-1")


def test_one_pe(job: None) -> None:
    team = nvshmem.team_split_strided("WORLD", 0, 1, 1, TeamConfig(), 0, "MINE")
    assert Teams.MINE == Teams["MINE"] == team and type(team) is int and "MINE" in Teams
    for name in ("MINE", team, np.uint64(team)):
        assert (nvshmem.team_my_pe(name), nvshmem.team_n_pes(name)) == (0, 1)
        nvshmem.barrier(name)
    assert nvshmem.team_translate_pe("MINE", 0, "WORLD") == 0
    assert nvshmem.team_translate_pe("MINE", 0, None) == -1
    config = TeamConfig(num_contexts=3, uniqueid=9)
    other = nvshmem.team_init(
        config, TeamConfigMask.NUM_CONTEXTS | TeamConfigMask.UNIQUEID, 1, 0, "OTHER"
    )
    assert nvshmem.team_get_config(other) == config
    x, y = nvshmem.team_split_2d("OTHER", 1, config, TeamConfigMask.NUM_CONTEXTS)
    assert nvshmem.team_get_config(x).num_contexts == 3
    for made in (x, y, "OTHER", "MINE"):
        nvshmem.team_destroy(made)
    assert "MINE" not in Teams and "OTHER" not in Teams and f"TEAM_X_{x}" not in Teams
    nvshmem.team_destroy(None)
    for gone in (team, "MINE"):
        fails(lambda: nvshmem.barrier(gone), "(?i)team")


@pytest.mark.parametrize("team", ["TEAM_WORLD", "NODE", 0, 1, 3, 5])
def test_predefined_teams_stay(job: None, team: object) -> None:
    before = dict(Teams.items())
    fails(lambda: nvshmem.team_destroy(team), "predefined")
    assert dict(Teams.items()) == before
    nvshmem.barrier(team)


@pytest.mark.parametrize(
    "arguments",
    [
        (0, 0, 1, 2),
        (0, 1, 1, 1),
        (0, -1, 1, 1),
        (0, 0, 1, 0),
        (0, 0, 1, -1),
        (0, 0, 0, 2),
        (0, 0, -1, 2),
        (0, 2**31, 1, 1),
        (0, 0, 1.0, 1),
        (0, 0, 1, None),
        (0, 0, 1, 1, 5),
        (0, 0, 1, 1, None, 0, ""),
        (0, 0, 1, 1, None, 0, 7),
        (0, 0, 1, 1, None, 0, "WORLD"),
        (0, 0, 1, 1, None, 0, "TEAM_NODE"),
        (-1, 0, 1, 1),
        (None, 0, 1, 1),
        ("NOBODY", 0, 1, 1),
    ],
)
def test_split_strided_refuses(job: None, arguments: tuple) -> None:
    before = dict(Teams.items())
    fails(lambda: nvshmem.team_split_strided(*arguments))
    assert dict(Teams.items()) == before


@pytest.mark.parametrize("arguments", [(0, 0), (0, -1), (0, "1"), (0, 1, 7), (77, 1)])
def test_split_2d_refuses(job: None, arguments: tuple) -> None:
    fails(lambda: nvshmem.team_split_2d(*arguments))
    with pytest.raises(nvshmem.NvshmemInvalid, match="there is a team of that name"):
        Teams.add("A_Y", 0)
        nvshmem.team_split_2d(0, 1, new_team_name="A")
    assert "A_X" not in Teams


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        ((TeamConfig(), 0, 1, 0), {}, "no uniqueid"),
        ((None, 0, 1, 0), {}, "no uniqueid"),
        ((7, 0, 1, 0), {}, "team_config is an int"),
        ((TeamConfig(uniqueid=1), 0), {}, "npes=None, n_pes=None"),
        ((TeamConfig(uniqueid=1), 0, 1, 0), {"n_pes": 1}, "give one of them"),
        ((TeamConfig(uniqueid=1), 0), {"n_pes": 1}, "pe_idx_in_team=None, my_pe=None"),
        ((TeamConfig(uniqueid=1), 0, 0, 0), {}, "pe|PE|index|Index"),
        ((TeamConfig(uniqueid=1), 0, 2, 0), {}, "pe|PE|index|Index"),
        ((TeamConfig(uniqueid=1), 0, 1, 1), {}, "pe|PE|index|Index"),
        ((TeamConfig(uniqueid=1), 0, 1, 0, "WORLD"), {}, "there is a team of that name"),
    ],
)
def test_init_refuses(job: None, arguments: tuple, named: dict, message: str) -> None:
    fails(lambda: nvshmem.team_init(*arguments, **named), message)


def test_translate_refuses(job: None) -> None:
    for pe in (-1, 1, 2**40, "0"):
        fails(lambda: nvshmem.team_translate_pe(0, pe, 0), "src_pe")
    fails(lambda: nvshmem.team_get_config(99), "(?i)team")


def test_finalize_forgets_teams() -> None:
    before = dict(Teams.items())
    for _ in range(2):
        nvshmem.init()
        nvshmem.team_split_strided(0, 0, 1, 1, new_team_name="AGAIN")
        nvshmem.finalize()
        assert dict(Teams.items()) == before
