"""Fused operations: in their plain form, by Triton's interpreter, and compiled for GPUs that need not be
here. On GPUs the program fused_operations.py runs, too.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, Callable, Dict, List, Set, Tuple

import pytest
from conftest import program, run, run_job
from kept import kept
from test_libraries import runs_with_torch

import nvshmemrs.core as nvshmem
from nvshmemrs.core._job import job
from nvshmemrs.core.device import _triton_launch as _launch

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


class Launched:
    """A stand-in for a kernel of Triton and for its compiled form; `calls` gets the arguments of each launch."""

    def __init__(self, name: str, arg_names: List[str], calls: List[Tuple[str, Any]]) -> None:
        self.__name__, self.arg_names, self.calls = name, arg_names, calls
        self.do_not_specialize: List[str] = []

    def __getitem__(self, grid: Tuple[int, ...]) -> Callable[..., "Launched"]:
        def run(*values: Any, **constants: Any) -> "Launched":
            numbers = [value.data_ptr() if hasattr(value, "data_ptr") else value for value in values]
            self.calls.append((self.__name__, (grid, numbers, constants)))
            return Launched("compiled", self.arg_names, self.calls)

        return run


def test_a_compiled_kernel_is_launched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.setattr(job, "device", 0)
    monkeypatch.setattr(_launch, "_compiled", {})
    monkeypatch.setattr(_launch, "_current_stream_of", lambda: lambda device: 33 + device)
    calls: List[Tuple[str, Any]] = []
    kernel = Launched("kernel", ["x", "y", "n", "eps", "BLOCK", "WIDE"], calls)

    def start(x: int, y: int, n: int, block: int = 8, kind: str = "int32") -> None:
        memory = _launch.Argument(x, kind), _launch.Argument(y, "int64")
        _launch.launch(kernel, 5, memory, (n, 0.5), BLOCK=block, num_warps=4, WIDE=True)

    start(32, 64, 7)
    start(48, 80, 9)
    assert calls == [
        ("kernel", ((5,), [32, 64, 7, 0.5], {"BLOCK": 8, "num_warps": 4, "WIDE": True})),
        ("compiled", ((5, 1, 1), [48, 80, 9, 0.5, 8, True], {"stream": 33})),
    ]
    calls.clear()
    others = (40, 64, 7), (32, 72, 7), (32, 64, 1), (32, 64, 16), (32, 64, 1 << 31), (32, 64, 7, 16), (32, 64, 7, 8, "int8")
    for other in others:
        start(*other)
        start(*other)
    assert [name for name, _ in calls] == len(others) * ["kernel", "compiled"]
    calls.clear()
    kernel.__name__, kernel.arg_names, kernel.do_not_specialize = "other", ["x", "n"], ["n"]

    def once(n: int, loaded_only: bool) -> bool:
        return _launch.launch(kernel, 1, [_launch.Argument(32, "int32")], [n], loaded_only=loaded_only)

    assert not once(7, True)
    assert once(7, False) and all(once(n, True) for n in (1, 16, -7))
    assert not once(1 << 31, True) and not once(-(1 << 31) - 1, True)
    assert [name for name, _ in calls] == ["other"] + 3 * ["compiled"]
    stream = types.SimpleNamespace(cuda_stream=77)
    _launch.launch(kernel, 1, [_launch.Argument(32, "int32")], [7], stream=stream)
    assert calls[-1] == ("compiled", ((1, 1, 1), [32, 7], {"stream": 77}))


def test_numbers_of_one_key_are_the_same_to_triton() -> None:
    pytest.importorskip("triton")
    from triton._C.libtriton import native_specialize_impl
    from triton.backends.nvidia.compiler import CUDABackend

    edges = [0, 1, 2, 15, 16, 17, 100, (1 << 31) - 1, 1 << 31, (1 << 31) + 1, 1 << 40]
    numbers = [*edges, *(-number for number in edges), -(1 << 31) - 1]
    for key, specializes, some, kinds in (
        (_launch._specialized, True, [*numbers, 0.0, 1.0, 1e-6], 6),
        (_launch._width, False, numbers, 2),
    ):
        found: Dict[int, Set[Any]] = {}
        for number in some:
            special = native_specialize_impl(CUDABackend, number, False, specializes, specializes)
            found.setdefault(key(number), set()).add(special)
        assert all(len(specials) == 1 for specials in found.values()), found
        assert len(found) == kinds, found


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
