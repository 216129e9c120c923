"""Fused operations: in their plain form, by Triton's interpreter, and compiled for GPUs that need not be
here. On GPUs the program fused_operations.py runs, too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

import pytest
from conftest import program, run, run_job
from kept import kept
from test_libraries import runs_with_torch

import nvshmemrs.core as nvshmem

PARTS = ("norm", "experts", "product", "teams")
INTERPRETED = {"TRITON_INTERPRET": "1", "NVSHMEMRS_MEMORY": "host"}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_plain_forms_follow_the_formulas(n: int) -> None:
    out = run_job(n, sys.executable, program("fused_operations.py"), limit=300, TRITON_INTERPRET="0")
    for part in PARTS:
        assert out.count(f"fused ok: {part}, PE ") == n, out


def test_plain_forms_under_the_checker() -> None:
    words = sys.executable, program("fused_operations.py"), "norm", "product"
    out = run_job(2, *words, check=True, limit=300)
    assert "the checker found nothing" in out, out


@pytest.mark.parametrize("part, n", [("norm", 2), ("experts", 2), ("product", 3), ("teams", 3)])
def test_kernels_follow_the_formulas(part: str, n: int) -> None:
    pytest.importorskip("triton")
    out = run_job(n, sys.executable, program("fused_operations.py"), part, limit=300, **INTERPRETED)
    assert out.count(f"fused ok: {part}, PE ") == n, out


@pytest.mark.parametrize("n", [2, 3])
def test_products_in_pieces(n: int, launch: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    for name, value in INTERPRETED.items():
        monkeypatch.setenv(name, value)
    launch(n, "fused_pieces.py")


def test_kernels_compile_for_gpus(tmp_path: Path) -> None:
    pytest.importorskip("triton")
    found = {}
    environment = {"TRITON_DEFAULT_FP_FUSION": "1", "TRITON_CACHE_DIR": str(tmp_path), "TRITON_INTERPRET": "0"}
    source = program("fused_compiled.py")

    def compiled() -> str:
        return run(sys.executable, source, "80", "90", limit=600, **environment)

    for line in kept("fused-compiled", [Path(source)], ["triton"], compiled).splitlines():
        name, _, notes = line.partition(": ")
        found[name] = notes
    names = {name.rpartition(" ")[0] for name in found if name.endswith("sm_90")}
    assert len(names) == 17 and len(found) == 2 * 17 - 1, found  # no float8 for sm_80
    assert all("cubin" in notes for notes in found.values()), found
    # Rows move by 16 bytes.
    for kernel in ("one_shot bf16", "two_shot bf16", "move 0", "combine bf16", "reduce_product bf16"):
        for sm in ("80", "90"):
            notes = found[f"{kernel} sm_{sm}"]
            assert "wide stores 0" not in notes and "wide loads 0" not in notes, (kernel, notes)


@pytest.mark.parametrize("interpreted", [False, True])
def test_wrong_arguments_are_named(interpreted: bool, launch: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    if interpreted:
        pytest.importorskip("triton")
        for name, value in INTERPRETED.items():
            monkeypatch.setenv(name, value)
    for n in (1, 2):
        launch(n, "fused_refused.py")


def test_a_workspace_needs_a_job() -> None:
    from nvshmemrs.core import fused

    with pytest.raises(nvshmem.NotInitializedError, match="call init first"):
        fused.Workspace(reduce_bytes=64)


def test_tensors_of_torch_on_host_memory(tmp_path: Path) -> None:
    runs_with_torch("torch_fused.py", tmp_path, TRITON_INTERPRET="0")
