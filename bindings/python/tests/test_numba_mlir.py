"""Kernels of numba-cuda-mlir without a GPU: compiled, launched with a stand-in for the driver, and run by
their PTX in Python.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Dict

import pytest
from conftest import program, run, run_job

pytest.importorskip("numba_cuda_mlir")
# Where `cargo xtask bundle` leaves the kernels of all parts, which take many minutes to compile.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[3] / "target"))
BUNDLED = TARGET / "xtask" / "numba-mlir"
PARTS = ("rma", "amo", "waits", "order", "collectives", "reductions")


def python(*words: str, **named: Any) -> str:
    return run(sys.executable, "-W", "ignore", *words, limit=600, **named)


def interpreted(base: Dict[str, str], n: int, folder: Path, *parts: str) -> str:
    words = sys.executable, "-W", "ignore", program("numba_interpreted.py"), str(folder), *parts
    return run_job(n, *words, base=base, limit=300, NVSHMEMRS_MEMORY="device")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The kernels of one part, compiled."""
    made = tmp_path_factory.mktemp("kernels")
    build = program("numba_mlir_build.py")
    out = python(build, str(made), "--only", "pass_on,store_buffering")
    assert out.count("compiled: ") == 2, out
    return made


def test_all_functions_are_there() -> None:
    code = "import nvshmemrs.core.device.numba_cuda_mlir as m; print(*m.__all__)"
    names = set(python("-c", code).split())
    assert len(names) == 101 and {"put_signal_block", "get_multicast_array"} <= names


def test_a_function_compiles_for_three_architectures() -> None:
    out = python(program("numba_mlir_compile.py"), "80,90,100", "put_signal_block")
    assert out.count("compiled: ") == 1, out


def test_atomics_and_waits_compile() -> None:
    out = python(program("numba_mlir_compile.py"), "90", "atomic_fetch_add", "signal_wait")
    assert out.count("compiled: ") == 2, out


NAN = """
from numba_mlir_alone import compiled, named
from numba_cuda_mlir import cuda
import nvshmemrs.core.device.numba_cuda_mlir
from nvshmemrs.core.device.numba_cuda_mlir import _numbers
least, most = _numbers._min, _numbers._max

@cuda.jit
def kernel(x):
    x[2] = least(x[0], x[1])
    x[3] = most(x[0], x[1])

print(compiled(kernel, [named("float32[]")], 90)[1].count("setp.nan.f32"), "comparisons")
"""


def test_reductions_look_for_a_nan(tmp_path: Path) -> None:
    # This compiler leaves out what depends on `x != x`.
    file = tmp_path / "program.py"
    file.write_text(NAN)
    paths = [str(Path(program("numba_mlir_alone.py")).parent), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(filter(None, paths))
    assert python(str(file), PYTHONPATH=path).endswith("2 comparisons\n")


def test_launches_bring_arguments_and_state(launches: Dict[str, str]) -> None:
    assert python(program("numba_mlir_launches.py"), base=launches).endswith("launches ok\n")


def test_kernels_pass_messages_in_order(folder: Path, launches: Dict[str, str]) -> None:
    out = interpreted(launches, 2, folder, "order")
    assert out.count("numba ok: order, PE ") == 2, out


@pytest.fixture(scope="module")
def lending(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels that lend shared memory, compiled."""
    made = tmp_path_factory.mktemp("lending")
    build = program("numba_mlir_build.py")
    out = python(build, str(made), "--only", "crowd,one_of_a_warp,answers,dynamic")
    assert out.count("compiled: ") == 4, out
    return made


@pytest.mark.parametrize("n", [1, 2])
def test_kernels_lend_shared_memory(n: int, lending: Path, launches: Dict[str, str]) -> None:
    out = interpreted(launches, n, lending, "lent", "crowd", "one", "answers")
    assert out.count("numba lent ok: ") == 3 * n, out


def test_only_kernels_that_lend_have_bulk_copies(lending: Path, folder: Path) -> None:
    (lends,), others = lending.glob("crowd*.ptx"), folder.glob("*.ptx")
    assert "cp.async.bulk.global" in lends.read_text()
    assert not [file for file in others if "cp.async.bulk" in file.read_text()]


def test_wrong_code_is_noticed(folder: Path, launches: Dict[str, str], tmp_path: Path) -> None:
    """The kernel writes 7 for what it should write: so the elements that are compared come from it."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.glob("pass_on*.ptx")
    text, stores = re.subn(r"(st\.u32\s+\[[^\]]*\]), [^;]*;", r"\1, 7;", file.read_text())
    assert stores
    file.write_text(text)
    with pytest.raises(AssertionError, match="message passing"):
        interpreted(launches, 1, tmp_path, "order")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_kernels_of_the_bundle(n: int, launches: Dict[str, str]) -> None:
    if not (BUNDLED / "kernels.json").is_file():
        pytest.skip("`cargo xtask bundle` has not compiled them here")
    if "other sources: " in python(program("numba_mlir_build.py"), str(BUNDLED), "--check"):
        pytest.skip("`cargo xtask bundle` has compiled them from other sources than these")
    out = interpreted(launches, n, BUNDLED, *PARTS)
    assert out.count("numba ok: ") == n * len(PARTS), out
