"""torch.ops.nvshmemrs on host memory: eager operations with Debian 12's torch, 1.13, and all of them,
compiled and with gradients too, with Debian 13's, 2.6. programs/torch_ops.py and torch_graphs.py have
the checks; on GPUs `run-gpu-tests` runs them.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from conftest import program, repository, run_job

import nvshmemrs.core as nvshmem

ROOT = Path(__file__).resolve().parents[3]
EAGER = ["eager", "private", "onesided", "alltoallv", "refused", "wrong_splits", "groups"]
COMPILED = ["compiled", "gradients"]


@functools.lru_cache(None)
def has_torch(python: str) -> bool:
    """Whether a Python can import torch."""
    command = [python, "-c", "import torch, numpy; print(torch.Tensor)"]
    return bool(shutil.which(python)) and not subprocess.run(command, capture_output=True).returncode


def debian() -> str:
    """Debian's Python with its torch, or the running Python if it has torch."""
    for python in ("/usr/bin/python3", sys.executable):
        if has_torch(python):
            return python
    pytest.skip("no Python here has torch: apt-get install python3-torch")


def newer() -> str:
    """A Python whose torch has torch.compile."""
    python = os.environ.get("NVSHMEMRS_TORCH", str(ROOT / ".torch/bin/python-torch"))
    if not has_torch(python):
        pytest.skip(f"{python} has no torch: `cargo xtask setup test` unpacks it")
    return python


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder with this package alone, so that another Python uses its own NumPy."""
    (tmp_path / "nvshmemrs").symlink_to(Path(nvshmem.__file__).parent.parent)
    return tmp_path


def run(package: Path, n: int, python: str, *command: str, check: bool = False, fails: int = 0) -> str:
    """The output of a job."""
    found = {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    return run_job(n, python, *command, check=check, expected=fails, limit=300, **found)


def every_part(package: Path, n: int, python: str, file: str, parts: List[str]) -> None:
    said = run(package, n, python, program(file), *parts)
    assert said.count("ok\n") == n, said
    for part in parts:
        for pe in range(n):
            assert f"torch ops ok: {part}: " in said and f", PE {pe}\n" in said, (part, pe, said)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_eager_operations(package: Path, n: int) -> None:
    every_part(package, n, debian(), "torch_ops.py", EAGER)


@pytest.mark.parametrize("n", [1, 3])
def test_compiled_and_with_gradients(package: Path, n: int) -> None:
    every_part(package, n, newer(), "torch_graphs.py", COMPILED)


def test_eager_operations_of_a_newer_torch(package: Path) -> None:
    every_part(package, 2, newer(), "torch_ops.py", EAGER)


def test_no_import_of_torch_unless_it_is_asked_for(package: Path) -> None:
    code = """
import sys, nvshmemrs.core as nvshmem
assert "torch" not in sys.modules
import torch
assert not hasattr(torch.ops.nvshmemrs, "all_reduce")
nvshmem.interop.torch
assert torch.ops.nvshmemrs.all_reduce and nvshmem.interop.torch.all_reduce
print("ok")
"""
    assert "ok\n" in run(package, 1, debian(), "-c", code)


def test_a_version_that_was_not_tested_is_one_warning(package: Path) -> None:
    code = """
import warnings, torch
torch.__version__ = "2.99.1"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch
    from nvshmemrs.core.interop._torch_table import register
    register()
(one,) = [w for w in caught if issubclass(w.category, nvshmem.NvshmemWarning)]
assert "tested with torch 1.13 to 2.11; this is 2.99.1" in str(one.message)
assert one.filename == "<string>", one.filename  # the line of the import
print("ok")
"""
    assert "ok\n" in run(package, 1, debian(), "-c", code)


def test_a_torch_that_is_too_old_says_so(package: Path) -> None:
    code = """
import torch
torch.__version__ = "1.12.1"
import nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch as nt
try:
    nt.all_reduce(torch.ones(1))
except nvshmem.NotSupportedError as error:
    assert "needs torch 1.13 or later, and this is 1.12.1" in str(error), error
    print("ok")
"""
    assert "ok\n" in run(package, 1, debian(), "-c", code)


def test_without_torch() -> None:
    """This Python has none."""
    if has_torch(sys.executable):
        pytest.skip("this Python has torch")
    by_torch = nvshmem.interop.torch
    for call in (by_torch.all_reduce, by_torch.barrier, by_torch.signal_wait):
        with pytest.raises(nvshmem.NotSupportedError, match="torch cannot be imported"):
            call(1, 2) if call is by_torch.signal_wait else call("TEAM_WORLD")


def test_before_init(package: Path) -> None:
    code = """
import torch, nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch as nt
for call in (lambda: nt.all_reduce(torch.ones(1)), nt.barrier, lambda: nt.group_name()):
    try:
        call()
    except nvshmem.NvshmemInvalid as error:
        assert "call nvshmemrs.core.init first" in str(error) or call() == "TEAM_WORLD", error
print("ok")
"""
    code = code.replace(", lambda: nt.group_name()", "")
    assert "ok\n" in run(package, 1, debian(), "-c", code)


def test_under_the_checker(package: Path) -> None:
    code = """
import torch, nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch as nt
nvshmem.init(timeout=60)
nt.reserve(1 << 12)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
held = nvshmem.tensor(4, torch.float32)
nt.put(held, torch.full((4,), float(me)), (me + 1) % n)
nt.barrier()
assert nt.all_reduce(held).tolist() == [float(sum(range(n)))] * 4
rows, received = nt.all_to_all_v(held.view(4, 1), torch.ones(n, dtype=torch.int64), n)
assert received.tolist() == [[1] * n, list(range(n))]
nvshmem.barrier_all()
nvshmem.finalize()
print("ok")
"""
    assert run(package, 2, debian(), "-c", code, check=True).count("ok\n") == 2


TAKEN = """
import torch, nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch as nt
from nvshmemrs.core.interop import _torch_ops
nvshmem.init(timeout=60)
nt.reserve(1 << 12)
_torch_ops.private_bytes = lambda team, kind: 16
for call, parts in ((nt.all_reduce, 1), (nt.reduce_scatter, 2), (nt.all_gather, 1), (nt.all_to_all, 2), (nt.broadcast, 1)):
    call(torch.ones(5 * parts))
    try:
        call(torch.ones(4 * parts))
    except nvshmem.NvshmemError as error:
        assert "it must be a symmetric address of this PE" in str(error), error
    else:
        raise AssertionError(call)
nvshmem.finalize()
print("ok")
"""


def test_small_tensors_are_left_to_the_library_where_it_takes_them(package: Path) -> None:
    """Up to 16 bytes of a part here, where the library refuses all host memory that is not symmetric."""
    assert run(package, 2, debian(), "-c", TAKEN).count("ok\n") == 2


DIFFERENT = """
import sys, torch, nvshmemrs.core as nvshmem, nvshmemrs.core.interop.torch as nt
nvshmem.init(timeout=60)
nt.reserve(1 << 16)
held = nvshmem.tensor(8, torch.float32)
me = nvshmem.my_pe()
calls = {
    "length": lambda: nt.all_reduce(torch.ones(4 + me)),
    "op": lambda: nt.all_reduce(torch.ones(4), "max" if me else "min"),
    "memory": lambda: nt.all_gather(held if me else torch.ones(8)),
    "empty": lambda: nt.all_reduce(torch.ones(4 * me)),
    "root": lambda: nt.broadcast(held, me),
}
for name, call in calls.items():
    try:
        call()
    except nvshmem.MismatchError as error:
        print(f"{name}: {error}", flush=True)
    else:
        raise AssertionError(name)
nvshmem.finalize()
"""


def test_members_that_differ_all_get_an_error(package: Path) -> None:
    said = run(package, 2, debian(), "-c", DIFFERENT)
    for name in ("length", "op", "memory", "empty", "root"):
        assert said.count(f"{name}: in `") == 2, said


def test_tensors_on_host_memory(package: Path) -> None:
    code = """
import torch, nvshmemrs.core as nvshmem
nvshmem.init(timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
for dtype in (torch.float32, torch.bfloat16, torch.bool, torch.complex64):
    t = nvshmem.tensor((2, 3), dtype)
    assert t.dtype is dtype and t.device.type == "cpu" and not t.any()
    memory, nbytes, name = nvshmem.tensor_get_buffer(t)
    assert memory.handle == t.data_ptr() and nbytes == t.numel() * t.element_size()
    assert name == str(dtype).split(".")[1]
    there = nvshmem.get_peer_tensor(t[1], (me + 1) % n)
    nvshmem.barrier_all()
    there.fill_(1)
    nvshmem.barrier_all()
    assert t[1].all() and not t[0].any()
    nvshmem.free_tensor(t)
assert nvshmem.bytetensor(5, torch.float64).shape == (40,)
assert nvshmem.tensor((3, 2), torch.int32, morder="F").stride() == (1, 3)
try:
    nvshmem.tensor(3, "f4")
except nvshmem.NvshmemInvalid as error:
    assert "give a torch.dtype" in str(error)
nvshmem.finalize()
print("ok")
"""
    assert run(package, 2, debian(), "-c", code).count("ok\n") == 2


@pytest.mark.parametrize("example", ["torch_mlp", "torch_experts"])
def test_examples_in_small(package: Path, example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = repository(f"examples/python/{example}.py")
    monkeypatch.setenv("NVSHMEMRS_MEMORY", "host")
    said = run(package, 2, newer(), str(path))
    assert len(re.findall(rf"^{example} ok PE \d of 2$", said, re.M)) == 2, said
    assert said.count("NCCL is left out: tensors are on the host") == 1, said


PAGE = ROOT / "docs/torch.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if PAGE.is_file() else []


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_page(package: Path, number: int) -> None:
    run(package, 2, newer(), "-c", EXAMPLES[number])


def test_the_page_names_every_function() -> None:
    text = repository("docs/torch.md").read_text()
    new = set(nvshmem.interop.torch.__all__) - set(nvshmem.interop._tensors.__all__)  # type: ignore[attr-defined, unused-ignore]
    assert not [name for name in new if name not in text]
    assert len(EXAMPLES) >= 4
