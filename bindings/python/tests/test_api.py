"""Names, arguments and types of nvshmem.core; queries; init and finalize."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import fails

import nvshmemrs
import nvshmemrs.core as nvshmem

# Name and leading parameters, as in nvshmem.core 0.4.1. Where that has `stream` behind `remote_pe`,
# put and get take a PE there, too.
SIGNATURES = {
    "alltoall": "team dst_array src_array stream",
    "array": "shape dtype release morder except_on_del",
    "array_get_buffer": "array",
    "ask_smem": "amount",
    "atomic_add": "target value remote_pe",
    "atomic_and": "target value remote_pe",
    "atomic_compare_swap": "target cond value remote_pe",
    "atomic_fetch": "target remote_pe",
    "atomic_fetch_add": "target value remote_pe",
    "atomic_fetch_and": "target value remote_pe",
    "atomic_fetch_inc": "target remote_pe",
    "atomic_fetch_or": "target value remote_pe",
    "atomic_fetch_xor": "target value remote_pe",
    "atomic_inc": "target remote_pe",
    "atomic_or": "target value remote_pe",
    "atomic_set": "target value remote_pe",
    "atomic_swap": "target value remote_pe",
    "atomic_xor": "target value remote_pe",
    "barrier": "team stream",
    "barrier_all": "stream",
    "broadcast": "team dst_array src_array root stream",
    "buffer": "size release except_on_del",
    "bytearray": "shape dtype release device_id morder except_on_del",
    "bytetensor": "shape dtype release morder except_on_del",
    "collective_on_buffer": "coll team dest src dtype op root stream enable_timing",
    "fcollect": "team dst_array src_array stream",
    "finalize": "",
    "find_device_bitcode_library": "",
    "flush": "stream",
    "free": "buffer",
    "free_array": "array",
    "free_tensor": "tensor",
    "get": "dst src remote_pe stream_or_pe",
    "get_multicast_array": "team array",
    "get_multicast_buffer": "team buffer",
    "get_multicast_tensor": "team tensor",
    "get_name": "",
    "get_nbi": "dst src remote_pe stream_or_pe",
    "get_peer_array": "array peer_pe",
    "get_peer_buffer": "buffer pe",
    "get_peer_tensor": "tensor peer_pe",
    "get_team_unique_id": "",
    "get_unique_id": "empty",
    "get_version": "",
    "init": "device uid rank nranks mpi_comm initializer_method",
    "init_status": "",
    "library_finalize": "lib",
    "library_init": "lib",
    "module_finalize": "mod",
    "module_init": "mod",
    "my_pe": "",
    "n_pes": "",
    "put": "dst src remote_pe stream_or_pe",
    "put_nbi": "dst src remote_pe stream_or_pe",
    "put_signal": "dst src signal_var signal_val signal_op remote_pe stream",
    "put_signal_nbi": "dst src signal_var signal_val signal_op remote_pe stream",
    "query_thread": "",
    "quiet": "stream",
    "reduce": "team dst_array src_array op stream",
    "reducescatter": "team dst_array src_array op stream",
    "register_external_array": "array",
    "register_external_buffer": "buffer preferred_address",
    "register_external_tensor": "tensor",
    "signal_fetch": "signal_var stream",
    "signal_op": "signal_var signal_val signal_op remote_pe stream",
    "signal_wait": "signal_var signal_val signal_op stream",
    "sync": "team stream",
    "sync_all": "stream",
    "team_destroy": "team",
    "team_get_config": "team",
    "team_init": "team_config config_mask npes pe_idx_in_team new_team_name",
    "team_my_pe": "team",
    "team_n_pes": "team",
    "team_split_2d": "parent_team xrange xaxis_config xaxis_mask yaxis_config yaxis_mask "
    "new_team_name",
    "team_split_strided": "parent_team start stride size config config_mask new_team_name",
    "team_translate_pe": "src_team src_pe dest_team",
    "tensor": "shape dtype release morder except_on_del",
    "tensor_get_buffer": "tensor",
    "unregister_external_array": "array",
    "unregister_external_buffer": "buffer",
    "unregister_external_tensor": "tensor",
}
# And the reference's types.
TYPES = """
    BufferTypes ComparisonType DeviceLibLanguage InitStatus MutableEnum NvshmemError NvshmemInvalid
    NvshmemKernelObject NvshmemResource NvshmemStream NvshmemStreamsType SignalOp SmemAmount
    TeamConfig TeamUniqueId Teams ThreadSupport UniqueID Version
""".split()


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


def test_types_of_the_reference_are_there() -> None:
    assert set(TYPES) | set(SIGNATURES) - {"bytearray"} <= set(nvshmem.__all__)


def test_other_ways_to_the_names() -> None:
    assert nvshmem.core is nvshmem and nvshmem.core.put is nvshmem.put
    assert nvshmemrs.put is nvshmem.put and nvshmemrs.Teams is nvshmem.Teams
    assert nvshmem.get_mc_buffer is nvshmem.get_multicast_buffer
    for module in (nvshmem, nvshmemrs):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
            module.nonsense


NEEDS_A_GPU = [
    "bytetensor",
    "free_tensor",
    "get_mc_buffer",
    "get_multicast_array",
    "get_multicast_buffer",
    "get_multicast_tensor",
    "get_peer_tensor",
    "library_finalize",
    "library_init",
    "module_finalize",
    "module_init",
    "register_external_tensor",
    "tensor",
    "tensor_get_buffer",
    "unregister_external_tensor",
    "NvshmemKernelObject",
    "NvshmemKernelObject.from_handle",
    "NvshmemKernelObject.from_triton",
    "NvshmemResource",
    "interop.torch.empty",
    "interop.cupy.empty",
    "interop.cupy.array",
    "interop.cupy.free_array",
]


@pytest.mark.parametrize("name", NEEDS_A_GPU)
def test_what_needs_a_gpu_says_so(name: str) -> None:
    function = nvshmem
    for part in name.split("."):
        function = getattr(function, part)
    required = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    fails(lambda: function(*(1 for _ in required)), "needs a GPU", nvshmem.NotSupportedError)


def test_enums_have_the_numbers_of_the_reference() -> None:
    assert (nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD) == (9, 10)
    expected = {"EQ": 0, "NE": 1, "GT": 2, "LE": 3, "LT": 4, "GE": 5, "SENTINEL": 32767}
    assert {m.name: int(m) for m in nvshmem.ComparisonType} == {
        f"CMP_{name}": number for name, number in expected.items()
    }
    assert [int(m) for m in nvshmem.InitStatus] == [0, 1, 2, 3, 4, 32767]
    assert [int(m) for m in nvshmem.ThreadSupport] == [0, 1, 2, 3, 32767]
    assert [int(m) for m in nvshmem.SmemAmount] == [0, 1, 2, 32767]
    assert [int(m) for m in nvshmem.BufferTypes] == [0, 1, 2, 3]
    assert [int(m) for m in nvshmem.TeamConfigMask] == [1, 2]
    assert {m.name: int(m) for m in nvshmem.Op} == {
        "SUM": 1, "MIN": 2, "MAX": 3, "PROD": 4, "AND": 5, "OR": 6, "XOR": 7
    }  # fmt: skip
    assert dict(nvshmem.Teams.items()) == {
        "TEAM_INVALID": -1,
        "TEAM_WORLD": 0,
        "TEAM_SHARED": 1,
        "TEAM_NODE": 2,
        "TEAM_SAME_MYPE_NODE": 3,
        "TEAM_SAME_GPU": 4,
        "TEAM_GPU_LEADERS": 5,
        "TEAM_MC_SHARED": 6,
        "TEAMS_MIN": 7,
        "TEAM_INDEX_MAX": 32767,
    }


def test_every_thread_may_call() -> None:
    assert nvshmem.query_thread() is nvshmem.ThreadSupport.THREAD_MULTIPLE


def test_sizes_of_types() -> None:
    names = {"float": 4, "double": 8, "half": 2, "bfloat16": 2, "short": 2, "uchar": 1, "int": 4}
    assert {name: nvshmem.utils.dtype_nbytes(name) for name in names} == names
    assert nvshmem.utils.get_size((3, 5), "float64") == nvshmem.utils.get_size(15, "double") == 120
    fails(lambda: nvshmem.utils.dtype_nbytes("nonsense"), "nonsense", ValueError)
    fails(lambda: nvshmem.utils.get_size((3, -1), "int"), "negative")


def test_a_stream_of_torch_is_wrapped() -> None:
    class Torch:
        cuda_stream = 77

    assert nvshmem.NvshmemStream(Torch()).__cuda_stream__() == (0, 77)
    fails(lambda: nvshmem.NvshmemStream(object()), "cuda_stream")


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
    fails(lambda: teams.add("A", 3), error=ValueError)
    teams.remove("A")
    fails(lambda: teams.remove("A"), error=ValueError)
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
    blank._data.view(np.int8)[:] = uid._data.view(np.int8)  # as a broadcast into the buffer does
    assert (
        blank == uid == pickle.loads(pickle.dumps(uid)) == nvshmem.UniqueID.from_bytes(bytes(uid))
    )
    assert nvshmem.UniqueID.from_data(uid._data) == uid
    fails(lambda: nvshmem.UniqueID.from_bytes(b"abc"), "128 bytes, not 3")


def test_one_pe_alone(job: None) -> None:
    assert (nvshmem.my_pe(), nvshmem.n_pes()) == (0, 1)
    assert nvshmem.init_status() is nvshmem.InitStatus.STATUS_IS_INITIALIZED
    for team in (nvshmem.Teams.TEAM_WORLD, "TEAM_SHARED", "NODE", np.int64(0)):
        assert (nvshmem.team_my_pe(team), nvshmem.team_n_pes(team)) == (0, 1)
    assert nvshmem.team_translate_pe("WORLD", 0, "NODE") == 0
    fails(lambda: nvshmem.team_translate_pe("WORLD", 1, "NODE"), "src_pe")
    for team in (None, -1, "TEAM_INVALID"):
        assert nvshmem.team_my_pe(team) == nvshmem.team_n_pes(team) == -1
    for team in (77, "NOBODY", 1.5, 2**64):
        fails(lambda: nvshmem.team_n_pes(team), "team")
    with pytest.raises(nvshmem.NotSupportedError, match="TEAM_MC_SHARED needs a GPU"):
        nvshmem.team_n_pes(nvshmem.Teams.TEAM_MC_SHARED)


def test_init_again_with_another_size() -> None:
    for size in (1 << 22, 1 << 23):
        nvshmem.init(device="host", heap_bytes=size, timeout=10, init_timeout=10)
        assert nvshmem.heap_stats().heap_bytes >= size
        nvshmem.free_array(nvshmem.array(size // 16, "u1"))
        nvshmem.finalize()
    assert nvshmem.init_status() is nvshmem.InitStatus.STATUS_NOT_INITIALIZED
    nvshmemrs.init(dev="host", stream=None)
    nvshmemrs.finalize(dev="host", stream=None)


def test_init_by_unique_id() -> None:
    nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1, initializer_method="uid")
    assert nvshmem.n_pes() == 1
    nvshmem.finalize()


class Communicator:
    """The part of an mpi4py communicator that init uses."""

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
        ({"device": "cpu"}, "device='cpu': give the number of a GPU"),
        ({"device": object()}, "give the number of a GPU"),
        ({"device": -1}, "device=-1: give the number of a GPU"),
        ({"initializer_method": "pmi"}, 'initializer_method="pmi"'),
        ({"initializer_method": "mpi"}, "needs mpi_comm"),
        ({"initializer_method": "uid", "rank": 0}, "missing: uid, nranks"),
        ({"rank": 0, "nranks": 1}, "need a uid"),
        ({"uid": b"x", "rank": 0, "nranks": 1}, "uid is a bytes"),
        ({"heap_bytes": 0}, "heap_bytes=0"),
        ({"timeout": -1}, "timeout=-1"),
        ({"dev": 1.5}, "device=1.5"),
        ({"dev": "host", "device": "host"}, "give one of them"),
        ({"stream": object()}, "takes no stream of CUDA"),
    ],
)
def test_init_refuses(arguments: dict, message: str) -> None:
    fails(lambda: nvshmem.init(**arguments), message)
    assert nvshmem.init_status() == 0


def test_init_again_with_other_arguments_is_refused(job: None) -> None:
    fails(lambda: nvshmem.init(uid=nvshmem.get_unique_id(), rank=0, nranks=1), "finalize first")
    assert nvshmem.n_pes() == 1


@pytest.mark.parametrize(
    ("rank", "nranks", "message"),
    [
        (1, 1, "rank=1: it must be from 0 to 0"),
        (-1, 3, "rank=-1: it must be from 0 to 2"),
        (0, 0, "nranks=0: it must be at least 1"),
    ],
)
def test_rank_out_of_range_is_refused(rank: int, nranks: int, message: str) -> None:
    uid = nvshmem.get_unique_id()
    fails(lambda: nvshmem.init(uid=uid, rank=rank, nranks=nranks), message)
    assert nvshmem.init_status() == 0


def test_job_scope() -> None:
    with nvshmem.job(heap_bytes=1 << 22):
        assert nvshmem.my_pe() == 0
    assert nvshmem.init_status() == 0
    with pytest.raises(RuntimeError, match="mine"):
        with nvshmem.job():
            raise RuntimeError("mine")
    assert nvshmem.init_status() == 0


def test_import_and_use_print_nothing() -> None:
    program = (
        "import nvshmemrs.core as nvshmem; nvshmem.init(); a = nvshmem.array(3);"
        "nvshmem.put(a, a.copy(), 0); nvshmem.barrier_all(); b = nvshmem.array(3); del b;"
        "nvshmem.finalize()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == done.stderr == b""


def test_ask_smem_says_what_a_launch_asks_for() -> None:
    amount = nvshmem.SmemAmount
    assert nvshmem.ask_smem() == nvshmem.ask_smem(amount.SMEM_RECOMMENDED) == 65536
    assert nvshmem.ask_smem(amount.SMEM_MINIMUM) == 8320
    assert nvshmem.ask_smem(amount.SMEM_BARRIERS_ONLY) == 128
    for wrong in (3, -1, "SMEM_MINIMUM", None):
        fails(lambda: nvshmem.ask_smem(wrong), "it is a SmemAmount")
