"""Names, arguments and types of nvshmem.core; queries; init and finalize."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import nvshmemrs
import nvshmemrs.core as nvshmem

# Name and leading parameters, as in nvshmem.core 0.4.1.
SIGNATURES = {
    "array": "shape dtype release morder except_on_del",
    "array_get_buffer": "array",
    "barrier": "team stream",
    "barrier_all": "stream",
    "broadcast": "team dst_array src_array root stream",
    "buffer": "size release except_on_del",
    "bytearray": "shape dtype release device_id morder except_on_del",
    "finalize": "",
    "free": "buffer",
    "free_array": "array",
    "get": "dst src remote_pe stream",
    "get_name": "",
    "get_nbi": "dst src remote_pe stream",
    "get_peer_array": "array peer_pe",
    "get_peer_buffer": "buffer pe",
    "get_unique_id": "empty",
    "get_version": "",
    "init": "device uid rank nranks mpi_comm initializer_method",
    "init_status": "",
    "my_pe": "",
    "n_pes": "",
    "put": "dst src remote_pe stream",
    "put_nbi": "dst src remote_pe stream",
    "put_signal": "dst src signal_var signal_val signal_op remote_pe stream",
    "put_signal_nbi": "dst src signal_var signal_val signal_op remote_pe stream",
    "quiet": "stream",
    "reduce": "team dst_array src_array op stream",
    "signal_fetch": "signal_var",
    "signal_op": "signal_var signal_val signal_op remote_pe stream",
    "signal_wait": "signal_var signal_val signal_op stream",
    "sync": "team stream",
    "sync_all": "stream",
    "team_my_pe": "team",
    "team_n_pes": "team",
    "team_translate_pe": "src_team src_pe dest_team",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_parameters_have_the_names_and_order_of_the_reference(name: str) -> None:
    function = getattr(nvshmem, name)
    positional = [
        p.name for p in inspect.signature(function).parameters.values() if p.kind != p.KEYWORD_ONLY
    ]
    assert positional == SIGNATURES[name].split()
    assert function.__doc__


def test_everything_exported_exists() -> None:
    assert len(set(nvshmem.__all__)) == len(nvshmem.__all__)
    for name in nvshmem.__all__:
        assert getattr(nvshmem, name) is not None


def test_what_is_not_there_says_so() -> None:
    with pytest.raises(
        AttributeError, match=f"fcollect is not in nvshmemrs {nvshmemrs.__version__}"
    ):
        nvshmem.fcollect
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        nvshmem.nonsense
    assert not set(nvshmem._ABSENT) & set(nvshmem.__all__)


def test_enums_have_the_numbers_of_the_reference() -> None:
    assert (nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD) == (9, 10)
    assert [m.name for m in nvshmem.ComparisonType] == [
        "CMP_EQ",
        "CMP_NE",
        "CMP_GT",
        "CMP_LE",
        "CMP_LT",
        "CMP_GE",
    ]
    assert [int(m) for m in nvshmem.ComparisonType] == [0, 1, 2, 3, 4, 5]
    assert nvshmem.InitStatus.STATUS_IS_INITIALIZED == 2


def test_teams_are_an_open_enum() -> None:
    assert (nvshmem.Teams.TEAM_WORLD, nvshmem.Teams.TEAM_SHARED, nvshmem.Teams.TEAM_NODE) == (
        0,
        1,
        2,
    )
    assert nvshmem.Teams.WORLD == nvshmem.Teams["TEAM_WORLD"] == 0
    assert nvshmem.Teams.TEAM_INVALID == -1
    teams = nvshmem.MutableEnum(A=1)
    teams.add("B", 2)
    assert (
        "B" in teams
        and list(teams) == ["A", "B"]
        and list(teams.values()) == [1, 2]
        and teams.B == 2
    )
    with pytest.raises(ValueError):
        teams.add("A", 3)
    teams.remove("A")
    with pytest.raises(ValueError):
        teams.remove("A")
    teams.remove_by_value(2)
    teams.remove_by_value(2)
    assert len(teams) == 0 and dict(teams.items()) == {}
    with pytest.raises(AttributeError):
        teams.B
    with pytest.raises(KeyError):
        teams["B"]


def test_versions() -> None:
    version = nvshmem.get_version()
    assert version.libnvshmem_version == version.nvshmem4py_version == nvshmemrs.__version__
    assert version.openshmem_spec_version == "1.5"
    assert nvshmemrs.__version__ in nvshmem.get_name()


def test_unique_ids_can_be_sent_by_any_means() -> None:
    uid = nvshmem.get_unique_id()
    assert len(bytes(uid)) == 128 and uid.version != 0 and uid != nvshmem.get_unique_id()
    blank = nvshmem.get_unique_id(empty=True)
    assert blank.version == 0 and bytes(blank) == bytes(128)
    blank._data.view(np.int8)[:] = uid._data.view(np.int8)  # what a broadcast into the buffer does
    assert (
        blank == uid == pickle.loads(pickle.dumps(uid)) == nvshmem.UniqueID.from_bytes(bytes(uid))
    )
    assert nvshmem.UniqueID.from_data(uid._data) == uid
    with pytest.raises(nvshmem.NvshmemInvalid, match="128 bytes, not 3"):
        nvshmem.UniqueID.from_bytes(b"abc")


def test_one_pe_alone(job: None) -> None:
    assert (nvshmem.my_pe(), nvshmem.n_pes()) == (0, 1)
    assert nvshmem.init_status() is nvshmem.InitStatus.STATUS_IS_INITIALIZED
    for team in (nvshmem.Teams.TEAM_WORLD, "TEAM_SHARED", "NODE", np.int64(0)):
        assert (nvshmem.team_my_pe(team), nvshmem.team_n_pes(team)) == (0, 1)
    assert nvshmem.team_translate_pe("WORLD", 0, "NODE") == 0
    with pytest.raises(nvshmem.NvshmemInvalid, match="src_pe"):
        nvshmem.team_translate_pe("WORLD", 1, "NODE")
    for team in (-1, 77, "NOBODY", 1.5, 2**64):
        with pytest.raises(nvshmem.NvshmemInvalid, match="team"):
            nvshmem.team_n_pes(team)


def test_init_again_with_another_size() -> None:
    for size in (1 << 22, 1 << 23):
        nvshmem.init(device="host", heap_bytes=size, timeout=10, init_timeout=10)
        assert nvshmem.heap_stats().heap_bytes >= size
        nvshmem.free_array(nvshmem.array(size // 16, "u1"))
        nvshmem.finalize()
    assert nvshmem.init_status() is nvshmem.InitStatus.STATUS_NOT_INITIALIZED


def test_init_by_unique_id() -> None:
    nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1, initializer_method="uid")
    assert nvshmem.n_pes() == 1
    nvshmem.finalize()


class Communicator:
    """What init uses of an mpi4py communicator."""

    def Get_rank(self) -> int:
        return 0

    def Get_size(self) -> int:
        return 1

    def bcast(self, value: object, root: int = 0) -> object:
        assert root == 0 and value is not None
        return value


@pytest.mark.parametrize("method", ["mpi", "emulated_mpi", ""])
def test_init_by_communicator(method: str) -> None:
    nvshmem.init(mpi_comm=Communicator(), initializer_method=method)
    assert nvshmem.n_pes() == 1
    nvshmem.finalize()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "cuda"}, "device='cuda': this version keeps the symmetric heap in host memory"),
        ({"device": object()}, "host memory"),
        ({"initializer_method": "pmi"}, 'initializer_method="pmi"'),
        ({"initializer_method": "mpi"}, "needs mpi_comm"),
        ({"initializer_method": "uid", "rank": 0}, "missing: uid, nranks"),
        ({"rank": 0, "nranks": 1}, "need a uid"),
        ({"uid": b"x", "rank": 0, "nranks": 1}, "uid is a bytes"),
        ({"heap_bytes": 0}, "heap_bytes=0"),
        ({"timeout": -1}, "timeout=-1"),
    ],
)
def test_init_refuses(arguments: dict, message: str) -> None:
    with pytest.raises(nvshmem.NvshmemInvalid, match=message):
        nvshmem.init(**arguments)
    assert nvshmem.init_status() == 0


def test_init_twice_is_refused(job: None) -> None:
    with pytest.raises(nvshmem.NvshmemInvalid, match="finalize first"):
        nvshmem.init()
    assert nvshmem.n_pes() == 1


def test_rank_out_of_range_is_refused() -> None:
    with pytest.raises(nvshmem.NvshmemError):
        nvshmem.init(uid=nvshmem.get_unique_id(), rank=1, nranks=1)
    assert nvshmem.init_status() == 0


def test_job_scope() -> None:
    with nvshmem.job(heap_bytes=1 << 22):
        assert nvshmem.my_pe() == 0
    assert nvshmem.init_status() == 0
    with pytest.raises(RuntimeError, match="mine"):
        with nvshmem.job():
            raise RuntimeError("mine")
    assert nvshmem.init_status() == 0


def test_streams_are_refused(job: None) -> None:
    a = nvshmem.array(2)
    calls = [
        lambda: nvshmem.put(a, a.copy(), 0, 1),
        lambda: nvshmem.quiet(stream=object()),
        lambda: nvshmem.barrier_all("s"),
        lambda: nvshmem.reduce(0, a, a, "sum", stream=1),
        lambda: nvshmem.broadcast(0, a, a, 0, stream=1),
    ]
    for call in calls:
        with pytest.raises(nvshmem.NotSupportedError, match="takes no stream"):
            call()


def test_import_and_use_print_nothing() -> None:
    program = (
        "import nvshmemrs.core as nvshmem; nvshmem.init(); a = nvshmem.array(3);"
        "nvshmem.put(a, a.copy(), 0); nvshmem.barrier_all(); b = nvshmem.array(3); del b;"
        "nvshmem.finalize()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""
