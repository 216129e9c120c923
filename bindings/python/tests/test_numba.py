"""Kernels of Numba: compiled for GPUs without one, and run by its simulator."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import program, run, run_job

import nvshmemrs.core as nvshmem
from nvshmemrs import _ffi
from nvshmemrs.core.device.primitives import CONSTRAINTS, TABLE

pytest.importorskip("numba_cuda")
ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "python"

# The names of NVSHMEM4Py 0.4.1's modules, whose arguments are the same here.
SCOPES = ("", "_warp", "_block")
RMA = [
    f"{name}{nbi}{scope}"
    for name in ("put", "get", "put_signal")
    for nbi in ("", "_nbi")
    for scope in SCOPES
] + ["p", "g"]
MEM = ["get_peer_array", "get_multicast_array"]
SMEM = ["ask_smem", "give_smem", "release_smem", "SmemAmount"]
DIRECT = (
    "my_pe n_pes team_my_pe team_n_pes barrier_all sync_all signal_op signal_wait".split() + SMEM
)
AMO = [f"atomic_{name}" for name in ("fetch", "set", "swap", "compare_swap")] + [
    f"atomic_{fetch}{name}"
    for fetch in ("", "fetch_")
    for name in ("inc", "add", "and", "or", "xor")
]
COLLECTIVE = [
    name + scope
    for name in "sync sync_all barrier barrier_all reduce reducescatter fcollect broadcast "
    "alltoall".split()
    for scope in SCOPES
]


def launched(n: int, *command: str, python: bool = True, **named: Any) -> str:
    words = [*[sys.executable] * python, *command]
    return run_job(n, *words, limit=300, NUMBA_ENABLE_CUDASIM="1", **named)


def test_all_names_of_nvshmem4py_are_there() -> None:
    counts = [len(RMA), len(MEM), len(DIRECT), len(AMO), len(COLLECTIVE)]
    assert counts == [20, 2, 12, 14, 27]
    names = set(RMA + MEM + DIRECT + AMO + COLLECTIVE)
    assert len(names) == 73  # barrier_all and sync_all are in two modules
    code = (
        "import inspect, json\n"
        "import nvshmem.core.device.numba as n\n"
        "from nvshmem.core.device.numba import amo, collective, direct, mem, rma\n"
        "parts = rma, mem, direct, amo, collective\n"
        "says = lambda f: list(inspect.signature(f).parameters) if callable(f) else []\n"
        "print(json.dumps([{k: says(getattr(p, k)) for k in p.__all__} for p in (n, *parts)]))\n"
    )
    found = json.loads(run(sys.executable, "-m", "nvshmemrs", "-c", code, NUMBA_ENABLE_CUDASIM="1"))
    for expected, part in zip([names, RMA, MEM, DIRECT, AMO, COLLECTIVE], found):
        assert set(expected) <= set(part)
    arguments = found[0]
    for name, given in (
        ("put", ["dst", "src", "pe"]),
        ("put_signal_nbi_warp", ["dst", "src", "signal_var", "signal_val", "signal_op", "pe"]),
        ("signal_wait", ["signal_var", "signal_op", "signal_val"]),
        ("atomic_compare_swap", ["dst", "cond", "value", "pe"]),
        ("get_peer_array", ["arr", "pe"]),
        ("get_multicast_array", ["team", "array"]),
    ):
        assert arguments[name] == given
    assert arguments["reduce_block"][:4] == ["team", "dst_array", "src_array", "op"]
    assert arguments["broadcast"][:4] == ["team", "dst_array", "src_array", "root"]


def test_rows_of_the_table_have_their_operands() -> None:
    for name, row in TABLE.items():
        assert row.name == name and set(row.arguments) <= set(CONSTRAINTS)
        operands = (row.result is not None) + len(row.arguments)
        assert all(f"${n}" in row.ptx for n in range(operands)), row
        assert f"${operands}" not in row.ptx, row
        outputs = row.constraints.count("=")
        assert outputs == (row.result is not None), row


def test_every_function_compiles_for_gpus() -> None:
    out = run(sys.executable, program("numba_compile.py"), limit=600, NUMBA_ENABLE_CUDASIM="0")
    assert "numba ok: " in out, out


@pytest.mark.parametrize("n", [2, 3])
def test_the_simulator_runs_kernels_of_several_pes(n: int) -> None:
    # With three PEs for a few types of elements.
    out = launched(n, program("numba_kernels.py"), *["few"] * (n == 3))
    assert out.count("numba ok: ") == n * 6, out


@pytest.mark.parametrize("check", [False, True])
def test_threads_of_the_simulator_share_their_arrays(check: bool) -> None:
    out = launched(1, program("numba_shared.py"), check=check)
    assert out.count("numba shared ok") == 1, out


@pytest.mark.parametrize("n", [1, 2])
def test_kernels_lend_shared_memory(n: int) -> None:
    out = launched(n, program("numba_lent.py"))
    assert out.count("numba lent ok: ") == n * 4, out


def test_functions_by_the_names_of_the_c_library() -> None:
    out = launched(1, program("numba_bindings.py"))
    assert "numba ok: 2877 functions called" in out, out


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("name", ["ring", "moe"])
def test_programs_of_nvshmem4py(name: str, n: int) -> None:
    out = launched(n, "-m", "nvshmemrs", program(f"nvshmem4py/numba_{name}.py"))
    assert out.count(f"{name} ok PE ") == n, out


def test_rounds_of_reductions_in_place_are_those_of_cuda(tmp_path: Path) -> None:
    # The members meet once a round, so kernels of all languages must make the same rounds.
    file, library = tmp_path / "rounds", _ffi.library_path()
    folders = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests/programs/device'}"]
    options = ["-std=c++17", "-O0", "-fno-strict-aliasing", *folders, "-o", str(file)]
    rpath = f"-Wl,-rpath,{os.path.dirname(library)}"
    run("c++", *options, program("mixed_rounds.cpp"), library, rpath)
    alone = launched(1, str(file), python=False)
    assert alone.count(": ") == 30 and "int8 scope 1 threads 33 count 3001 aligned 1: 8" in alone
    assert launched(1, program("numba_rounds.py")) == alone
    # Two in Numba and one in C++ meet in the same reductions.
    numba = f"exec {sys.executable} {program('numba_rounds.py')}"
    shell = f"if [ $NVSHMEMRS_PE = 1 ]; then exec {file}; else {numba}; fi"
    mixed = launched(3, "sh", "-c", shell, python=False)
    assert sorted(mixed.splitlines()) == sorted(alone.splitlines() * 3)


def checked(scenario: str, expected: int, seed: int = 5) -> str:
    words = sys.executable, program("numba_checked.py"), scenario
    named = {"NVSHMEMRS_CHECK_SEED": str(seed)}
    return run_job(2, *words, check=True, expected=expected, limit=300, **named)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_checker_finds_nothing_in_right_kernels(seed: int) -> None:
    out = checked("right", 0, seed)
    assert out.count("numba ok: right, PE ") == 2, out
    assert "the checker found nothing" in out, out


def test_the_checker_passes_the_examples() -> None:
    out = launched(2, str(EXAMPLES / "numba_heat.py"), "--steps", "3", check=True)
    assert out.count("numba_heat ok PE ") == 2 and "the checker found nothing" in out, out


@pytest.mark.parametrize(
    "scenario, found, one, other",
    [
        ("waits", "one place is read and written", "load", "put"),
        ("fence", "the put comes after the p, or there is no fence", "load", "put"),
        ("early", "one place is read and written", "store", "get"),
    ],
)
def test_the_checker_finds_what_kernels_forget(
    scenario: str, found: str, one: str, other: str
) -> None:
    out = checked(scenario, 1)
    assert found in out and "the checker found 1 problem" in out, out
    kernel = {"waits": "passes_on", "fence": "flags", "early": "fills_early"}[scenario]
    for operation in (one, other):
        assert f": {operation} at " in out, out
    assert out.count("numba_checked.py:") >= 2 and f"({kernel})" in out, out


def watched(which: str, expected: int, **named: str) -> str:
    """What two PEs with the kernels of numba_watched.py print under the checker."""
    words = sys.executable, program("numba_watched.py"), which
    return run_job(2, *words, check=True, expected=expected, limit=300, **named)


# Of six kernels: an operation of the finding, and the place of its call; then the other one.
FOUND = (
    ("put", "A", "get", "B"),
    ("put", "C", "get", "D"),
    ("put_nbi", "E", "put", "F"),
    ("put", "G", "put", "G"),
    ("put_signal", "H", "get", "I"),
    ("put_signal", "J", "get", "K"),
)


def test_the_checker_finds_what_compiled_kernels_forget() -> None:
    out = watched("planted", 1, NUMBA_ENABLE_CUDASIM="0", NUMBA_KERNELS="interpreted")
    assert "the checker found 6 problems" in out and "loads and stores of kernels" in out, out
    lines = Path(program("numba_watched.py")).read_text().splitlines()
    place = {line[-1]: n for n, line in enumerate(lines, 1) if line[-5:-1] == "  # "}
    for operation, at, other, there in FOUND:
        for name, mark in ((operation, at), (other, there)):
            assert f": {name} at numba_watched.py:{place[mark]} (" in out, (name, mark, out)


@pytest.mark.parametrize("which", ["mended", "correct"])
@pytest.mark.parametrize("simulated", ["0", "1"])
def test_the_checker_finds_nothing_in_correct_compiled_kernels(which: str, simulated: str) -> None:
    kernels = {"0": "interpreted", "1": "numba-cuda"}[simulated]
    out = watched(which, 0, NUMBA_ENABLE_CUDASIM=simulated, NUMBA_KERNELS=kernels)
    assert out.count(f"numba watched ok: {which}, PE ") == 2, out
    assert "the checker found nothing" in out, out


RECORDED = """
import numpy as np
if not hasattr(np, "row_stack"): np.row_stack = np.vstack
import numba.cuda.dispatcher
from numba import cuda
from numba.cuda import types
numba.cuda.dispatcher.get_current_device = lambda: type("", (), {"compute_capability": (9, 0)})
import nvshmemrs.core.device.numba as shmem
def kernel(x, pe): shmem.p(x, 1, pe)
text, _ = cuda.compile_ptx(kernel, (types.int32[::1], types.int64), cc=(9, 0))
print("records", text.count("nvshmemrs_place"))
"""


def test_only_kernels_of_a_checked_job_have_the_code_of_records() -> None:
    named = {"NUMBA_ENABLE_CUDASIM": "0"}
    assert run(sys.executable, "-W", "ignore", "-c", RECORDED, **named) == "records 0\n"
    out = run(sys.executable, "-W", "ignore", "-c", RECORDED, NVSHMEMRS_CHECK="1", **named)
    assert out.startswith("records ") and out != "records 0\n", out


CHOSEN = """
def chosen(x, pe):
    if pe > 3:
        function = shmem.p
    else:
        function = shmem.p
    shmem.p(x, 1, pe)
    function(x, 2, pe)
import re
text, _ = cuda.compile_ptx(chosen, (types.int32[::1], types.int64), cc=(9, 0))
first, second = re.findall(r"st.global.u64 *\t*\\[(%rd[0-9]+)\\], (%rd[0-9]+);", text)[:2]
print(first[0] == second[0], len(re.findall(rf"mov.[bu]64 *\t*{second[1]}, 0;", text)))
"""


def test_a_call_of_which_only_types_know_the_function_has_no_earlier_place() -> None:
    named = {"NUMBA_ENABLE_CUDASIM": "0", "NVSHMEMRS_CHECK": "1"}
    assert run(sys.executable, "-W", "ignore", "-c", RECORDED + CHOSEN, **named).endswith("True 1\n")


def test_what_is_wrong_is_refused() -> None:
    out = launched(2, program("numba_errors.py"), expected=137)
    assert "numba ok: errors" in out, out


def test_the_cause_is_told_with_the_checker_too() -> None:
    code = (
        "from numba import cuda\n"
        "import nvshmemrs.core as nvshmem, nvshmemrs.core.device.numba as shmem\n"
        "@cuda.jit\n"
        "def puts(x, pe): shmem.put(x, x, pe)\n"
        "nvshmem.init()\n"
        "try: puts[1, 1](nvshmem.array(4, 'int32'), 7)\n"
        "except nvshmem.NvshmemInvalid as error: print(error)\n"
        "nvshmem.finalize()\n"
    )
    out = launched(1, "-c", code, check=True, NVSHMEMRS_MEMORY="host")
    assert "put: PE 7 is none: the job has 1 PEs" in out, out


@pytest.mark.parametrize("frontend", ["numba", "numba_cuda_mlir"])
def test_without_a_gpu_a_launch_says_what_can_be_done(frontend: str) -> None:
    code = (
        "import numpy as np\n"
        "if not hasattr(np, 'row_stack'): np.row_stack = np.vstack\n"
        f"from {frontend} import cuda\n"
        f"import nvshmemrs.core as nvshmem, nvshmemrs.core.device.{frontend} as shmem\n"
        "@cuda.jit\n"
        "def puts(x): shmem.put(x, x, 0)\n"
        "nvshmem.init()\n"
        "try: puts[1, 1](nvshmem.array(4, 'int32'))\n"
        "except ImportError as error: print(type(error).__name__, error)\n"  # as Numba has it
        "nvshmem.finalize()\n"
    )
    named = {"NUMBA_ENABLE_CUDASIM": "0", "NUMBA_DISABLE_CUDA": "1", "CUDA_VISIBLE_DEVICES": ""}
    out = run(sys.executable, "-W", "ignore", "-c", code, NVSHMEMRS_MEMORY="host", **named)
    assert "CudaSupportError" in out and "Without a GPU, " in out, out
    assert "NUMBA_ENABLE_CUDASIM=1" in out, out


@pytest.mark.parametrize("name", ["numba_ring", "numba_heat"])
def test_examples(name: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    out = launched(2, str(EXAMPLES / f"{name}.py"), "--plot", str(picture))
    assert out.count(f"{name} ok PE ") == 2, out
    assert out.count("NCCL is left out: kernels run on the host") == 1, out
    assert out.count("drawn: ") == 1 and picture.read_bytes()[:4] == b"\x89PNG", out


def test_a_missing_or_untested_frontend_is_told() -> None:
    code = (
        "import importlib.metadata as m, warnings\n"
        "real = m.version\n"
        "m.version = lambda name: '9.1' if name == 'numba-cuda' else real(name)\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import nvshmemrs.core.device.numba\n"
        "print([str(w.message) for w in caught if 'numba-cuda 9.1' in str(w.message)])\n"
        "try: import nvshmemrs.core.device.no_frontend\n"
        "except ImportError: pass\n"
        "import sys; sys.modules['numba.cuda'] = None\n"
        "sys.modules.pop('nvshmemrs.core.device.numba')\n"
        "try: import nvshmemrs.core.device.numba\n"
        "except ImportError as error: print(error)\n"
    )
    out = run(sys.executable, "-c", code, NUMBA_ENABLE_CUDASIM="1")
    assert "0.30.x" in out and "needs numba-cuda" in out, out
    assert nvshmem.device is not None
