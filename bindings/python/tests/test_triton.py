"""Kernels in Triton: in its interpreter with several PEs, and compiled for GPUs that need not be there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, List

import numpy as np
import pytest
from conftest import finished, program, repository, run, run_job, tool

import nvshmemrs.core as nvshmem
from nvshmemrs import _ffi

triton = pytest.importorskip("triton")

ROOT = Path(__file__).resolve().parents[3]
INTERPRETED = {"TRITON_INTERPRET": "1", "NVSHMEMRS_MEMORY": "host"}


def launched(
    n: int, *arguments: str, command: str = sys.executable, **environment: str
) -> "subprocess.CompletedProcess[str]":
    # After a PE has failed, the others have time to print their errors, also on a busy machine.
    job = [tool(), "--grace", "60", "-n", str(n), "--", command]
    return finished(*job, *arguments, limit=200, **INTERPRETED, **environment)


@pytest.mark.parametrize("n", [2, 3])
def test_every_function_in_the_interpreter(n: int) -> None:
    done = launched(n, program("triton_kernels.py"))
    assert done.returncode == 0 and done.stdout.count("ok\n") == n, done.stdout
    assert done.stdout.count("triton ok: ") == 8 * n, done.stdout


def test_small_reductions_are_sent_as_kernels_in_c_plus_plus_send_them(tmp_path: Path) -> None:
    library = _ffi.library_path()
    folders = [f"-I{ROOT / 'include'}", f"-I{ROOT / 'tests/programs/device'}"]
    options = ["-std=c++17", "-O0", "-fno-strict-aliasing", *folders]
    rpath = f"-Wl,-rpath,{os.path.dirname(library)}"
    lines = {}
    # Without mail, as in kernels of Numba, so all meet: two meetings a call.
    for name, without in (("mail", []), ("none", ["-DNVSHMEMRS_DEVICE_NO_MAIL"])):
        file = tmp_path / name
        command = ["c++", *options, *without, "-o", str(file), program("mixed_mail.cpp"), library, rpath]
        subprocess.run(command, check=True)
        ours = f"exec {sys.executable} {program('triton_mail.py')}"
        shell = f"if [ $NVSHMEMRS_PE = 1 ]; then exec {file}; else {ours}; fi"
        done = launched(2, "-c", shell, command="sh")
        assert done.returncode == 0, done.stdout
        lines[name] = sorted(line for line in done.stdout.splitlines() if " slot " in line)
    assert len(lines["mail"]) == 30 and lines["mail"].count("double count 67 slot 3: 3") == 2, lines
    assert [line for line in lines["mail"] if line.endswith(": 6")] == [
        f"{name} count 3 slot 8: 6" for name in ("double", "float", "int8") for _ in range(2)
    ]
    assert lines["none"] == [line.replace(": 3", ": 6") for line in lines["mail"]]


def test_a_dead_pe_ends_waits_in_kernels(
    spawn: Callable[..., List["subprocess.Popen[str]"]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in INTERPRETED.items():
        monkeypatch.setenv(name, value)
    alive, _dead = spawn(2, "triton_faults.py", "killed")
    out, err = alive.communicate(timeout=120)
    assert "triton ok: killed" in out and "PE 1" in out, out + err


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("0 1 0 0", "`remote_pe` is 1 .* `put` for PE 1; it must be from 0 to 0"),
        ("1 0 -100000000 0", "`array` is 0x.* `get` for PE 0"),
        ("2 -1 0 0", "`remote_pe` is -1 .* `put`"),
        ("3 0 -100000000 0", "`array` is 0x.* `atomic_fetch_add`"),
        ("5 0 0 200", "`slot` is 200 .* `barrier`"),
        ("8 0 -100000000 0", "`array` is 0x.* `test_any`"),
        ("9 4 0 0", "4 .* `broadcast`"),
    ],
)
def test_wrong_arguments_are_told(case: str, words: str) -> None:
    done = launched(1, program("triton_faults.py"), "wrong", *case.split())
    assert re.search(rf"triton ok: wrong, argument .*{words}", done.stdout), done.stdout
    assert "ended: InterpreterError" in done.stdout, done.stdout


@pytest.mark.parametrize("check", [False, True])
def test_the_error_of_a_launch_says_what_was_wrong(check: bool) -> None:
    # With the checker, too: in its jobs the library gets no report of kernels.
    for case, words in (
        ("2 7 0 0", "put: PE 7 is none: the job has 1 PEs"),
        ("5 0 0 -1", "barrier: slot -1 is none that teams have"),
    ):
        words_of_case = (sys.executable, program("triton_faults.py"), "wrong", *case.split())
        out = run_job(1, *words_of_case, check=check, **INTERPRETED)
        assert re.search(rf"ended: InterpreterError.*{words}", out), out


def test_a_wrong_collective_ends_the_waits_of_the_others() -> None:
    done = launched(2, program("triton_faults.py"), "alone")
    assert re.search(r"triton ok: alone, .*PE 1", done.stdout), done.stdout


def checked(expected: int, *command: str, seed: int = 5) -> str:
    words, named = (sys.executable, *command), {"NVSHMEMRS_CHECK_SEED": str(seed)}
    return run_job(2, *words, check=True, expected=expected, limit=300, **named)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_checker_finds_nothing_in_right_kernels(seed: int) -> None:
    out = checked(0, program("triton_checked.py"), "right", seed=seed)
    assert out.count("triton ok: right, PE ") == 2 and "the checker found nothing" in out, out


@pytest.mark.parametrize("example", ["gemm_all_reduce", "moe", "attention", "all_reduce"])
def test_the_checker_passes_the_examples(example: str) -> None:
    out = checked(0, str(repository(f"examples/python/triton_{example}.py")))
    assert out.count(f"{example} ok PE ") == 2 and "the checker found nothing" in out, out


@pytest.mark.parametrize(
    "scenario, found, one, other, kernel",
    [
        ("waits", "one place is read and written", "load", "put", "passes_on"),
        ("flag", "one place is read and written", "load", "put", "stores"),
        ("early", "one place is read and written", "store", "get", "fills_early"),
    ],
)
def test_the_checker_finds_what_kernels_forget(
    scenario: str, found: str, one: str, other: str, kernel: str
) -> None:
    out = checked(1, program("triton_checked.py"), scenario)
    assert found in out and "the checker found 1 problem" in out, out
    for operation in (one, other):
        assert re.search(rf"{operation} at \S*triton_checked.py:\d+ \({kernel}\)", out), out


@pytest.mark.parametrize(
    "example", ["triton_gemm_all_reduce", "triton_moe", "triton_attention", "triton_all_reduce"]
)
def test_examples_in_small(example: str, tmp_path: Path) -> None:
    path = repository(f"examples/python/{example}.py")
    picture = tmp_path / "picture.png"
    done = launched(2, str(path), "--plot", str(picture))
    assert done.returncode == 0 and len(re.findall(r" ok PE \d of 2$", done.stdout, re.M)) == 2, done.stdout
    assert done.stdout.count("NCCL is left out: kernels run on the host") == 1, done.stdout
    assert done.stdout.count("drawn: ") == 1 and picture.read_bytes()[:4] == b"\x89PNG", done.stdout


def compiled(*targets: str, **more: str) -> "Dict[str, str]":
    """The results of compiling kernels, for GPUs that need not be here: name and sm, and notes.
    Targets are those of sm_80 and so on, or names of kernels, if not all are to be compiled.
    """
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    command = [sys.executable, program("triton_compiled.py"), *targets]
    more["TRITON_DEFAULT_FP_FUSION"] = "0"
    done = finished(*command, base=environment, apart=True, limit=400, **more)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)


def test_kernels_compile_for_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    found = compiled("80", "90", "100")
    assert {name.split()[-1] for name in found} == {"sm_80", "sm_90", "sm_100"}
    for name, notes in found.items():
        assert "cubin" in notes, (name, notes)
    # Accesses of 16 bytes to other PEs' memory stay, whatever the type.
    for name in ("put int8", "put float16", "put float32", "put float64", "two_shot", "fast"):
        wide = [notes for key, notes in found.items() if f"{key.split(' sm_')[0]} " == f"{name} "]
        assert wide, (name, found)
        for notes in wide:
            assert re.search(r"wide stores [1-9]", notes), (name, notes)
            # A thread has four accesses in flight; accesses of the last block have masks and may be narrow.
            assert not name.startswith("put") or re.search(r"wide stores [4-9]", notes), (name, notes)
    orders = next(notes for name, notes in found.items() if name.startswith("signal sm_90"))
    for order in ("release", "acquire", "fence.acq_rel.sys", "fence.sc.sys"):
        assert order in orders, orders
    assert not any("trap" in notes for notes in found.values())
    # Waits for one value are Triton's own, where it has them: they look at a clock.
    assert ("globaltimer" in orders) == hasattr(triton.language, "atomic_poll"), orders
    # A wrong call ends the kernel.
    checked = compiled("90", "signal", "collectives", NVSHMEMRS_DEVICE_CHECK="1")
    assert len(checked) == 2 and all("trap" in notes for notes in checked.values()), checked


def refusal(code: str, **environment: str) -> str:
    """The output of a program that ends well."""
    return run(sys.executable, "-c", code, NVSHMEMRS_MEMORY="host", **environment)


WRONG = """
import triton, triton.language as tl
import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

@triton.jit
def signals(state, x, OP: tl.constexpr):
    nvt.signal_op(nvt.context(state), x, 1, 0, OP)

@triton.jit
def reductions(state, x, OP: tl.constexpr):
    nvt.reduce_two_shot(nvt.context(state), 0, x, x, 4, OP)

@triton.jit
def atomics(state, x, OP: tl.constexpr):
    nvt.atomic_add(nvt.context(state), x, OP, 0)

@triton.jit
def updates(state, x, OP: tl.constexpr):
    nvt.signal_op(nvt.context(state), x, OP, 0)

@triton.jit
def targets(state, x, OP: tl.constexpr):
    nvt.put(nvt.context(state), x, x, 2, OP, BLOCK=2)

@triton.jit
def swapped(state, x, OP: tl.constexpr):
    nvt.signal_wait_until(nvt.context(state), x, 1, OP)

@triton.jit
def waits(state, x, OP: tl.constexpr):
    nvt.wait_until(nvt.context(state), x, OP, 0)

nvshmem.init()
for kernel, dtype, right, wrong in (
    (signals, "int64", nvt.SIGNAL_ADD, 3),
    (updates, "int64", 1, nvt.SIGNAL_ADD),
    (targets, "int64", 0, nvt.SIGNAL_SET),
    (swapped, "int64", None, nvt.CMP_GE),
    (waits, "int64", nvt.CMP_GE, nvt.SIGNAL_SET),
    (waits, "int64", 5, 6),
    (atomics, "int32", 1, nvt.CMP_LT),
    (reductions, "int32", nvt.XOR, 99),
    (reductions, "float32", nvt.MAX, nvt.XOR),
    (atomics, "int32", 1, None),
    (atomics, "int16", None, 1),
):
    x = nvt.wrap(nvshmem.array(4, dtype))
    if right is not None:
        kernel[(1,)](nvt.state(), x, OP=right)
    if wrong is not None:
        try:
            kernel[(1,)](nvt.state(), x, OP=wrong)
        except Exception as error:
            print(error)
nvshmem.finalize()
"""


def test_operations_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WRONG)
    done = launched(1, str(tmp_path / "program.py"))
    for words in (
        "OP is 3: OP must be SIGNAL_SET or SIGNAL_ADD. Call signal_op(ctx, signal, value, pe, OP)",
        "value is SIGNAL_ADD: value must be a number. Call signal_op(ctx, signal, value, pe, OP)",
        "pe is SIGNAL_SET: pe must be a number",
        "value is CMP_GE: value must be a number. Call signal_wait_until(ctx, signal, CMP, value)",
        "CMP is SIGNAL_SET: CMP must be CMP_EQ,",
        "CMP is 6: CMP must be CMP_EQ,",
        "value is CMP_LT: value must be a number",
        "OP must be SUM, MIN, MAX, PROD, AND, OR or XOR",
        "AND, OR and XOR are reductions of integers",
        "atomics act on elements of 32 and 64 bits, not of int16",
    ):
        assert done.stdout.count(words) == 1 and done.returncode == 0, done.stdout


REFUSED = """
import numpy as np
import nvshmemrs.core as nvshmem
from nvshmemrs.core.device import triton as nvt

def told(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except nvshmem.NvshmemError as error:
        print(type(error).__name__, error)
    else:
        print("not refused", call, arguments)

told(nvt.state)
nvshmem.init()
told(nvt.state)
told(nvt.wrap, nvshmem.array(4, "float32"))
nvshmem.finalize()
told(nvt.state)
"""

REFUSED_INTERPRETED = REFUSED.replace("told(nvt.state)\ntold(nvt.wrap, nvshmem.array(4, \"float32\"))\n", """
array = nvshmem.array((4, 6), "float32")
nvt.wrap(array)
for wrong in (5, nvshmem.buffer(64), array[:, 1], array.astype("complex64"), array.astype(">f4")):
    told(nvt.wrap, wrong)
local = np.zeros((3, 4), "float32")
told(nvt.wrap, local)
nvt.wrap(local, symmetric=False)
free = nvshmem.array(4, "float32")
nvshmem.free_array(free)
told(nvt.wrap, free)
told(nvt.Workspace, nbytes=0)
told(nvt.Workspace, programs=0)
told(nvt.Workspace, programs=5000)
told(nvt.Workspace, nbytes="large")
""")


def test_what_the_host_refuses() -> None:
    said = refusal(REFUSED, TRITON_INTERPRET="0")
    assert said.count("NotInitializedError") == 2, said
    assert said.count("NotSupportedError") == 2 and said.count("TRITON_INTERPRET=1") == 2, said
    said = refusal(REFUSED_INTERPRETED, TRITON_INTERPRET="1")
    assert "not refused" not in said and said.count("NotInitializedError") == 2, said
    assert said.count("NvshmemInvalid") == 11 and "is not symmetric memory" in said, said
    assert "was freed" in said and said.count("Triton has no type") == 2, said


def test_without_triton_the_import_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "try: import nvshmemrs.core.device.triton\n"
        "except ImportError as error: print(error)\n"
    )
    (tmp_path / "triton.py").write_text("raise ImportError('no triton here')\n")
    paths = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    said = refusal(code, PYTHONPATH=paths)
    assert "Triton 3.6 to 3.9" in said and "no triton here" in said, said
    (tmp_path / "triton.py").write_text("__version__ = '3.4.0'\n__path__ = []\n")
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("__version__ = '3.4.0'\n")
    (tmp_path / "triton" / "language.py").write_text("")
    said = refusal(code, PYTHONPATH=paths)
    assert "this is 3.4.0" in said, said


def test_arrays_are_not_copied() -> None:
    code = (
        "import numpy as np, nvshmemrs.core as nvshmem\n"
        "nvt = nvshmem.device.triton\n"
        "a = np.arange(6, dtype='int16').reshape(2, 3)\n"
        "p = nvt.wrap(a, symmetric=False)\n"
        "assert p.data_ptr() == a.ctypes.data and p.shape == (2, 3) and p.stride() == (3, 1)\n"
        "assert p.numel() == 6 and p.element_size() == 2 and nvt.wrap(p) is p\n"
        "print('ok', p)\n"
    )
    assert refusal(code, TRITON_INTERPRET="1").startswith("ok Pointer(0x")


def test_numbers_are_those_of_the_library() -> None:
    from nvshmemrs import _ffi

    code = (
        "from nvshmemrs.core.device import triton as nvt\n"
        "print(*(getattr(nvt, name).value for name in 'CMP_EQ CMP_NE CMP_GT CMP_LE CMP_LT CMP_GE'"
        ".split()), nvt.SIGNAL_SET.value, nvt.SIGNAL_ADD.value)\n"
    )
    numbers = [int(word) for word in refusal(code).split()[-8:]]
    kinds = nvshmem.ComparisonType
    expected = [kinds.CMP_EQ, kinds.CMP_NE, kinds.CMP_GT, kinds.CMP_LE, kinds.CMP_LT, kinds.CMP_GE]
    expected += [nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD]
    assert numbers == [int(number) for number in expected], numbers
    assert np.dtype(_ffi.DeviceState).itemsize == 64
