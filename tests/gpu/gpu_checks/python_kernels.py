"""Checks of kernels in Python: Triton, Numba, CuTe."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

from .common import DIST, EXAMPLES, LAUNCHER, PROGRAMS, Check, lacks, pes_of, processes, python_env, together

TRITON_PARTS = "rma signals waits atomics collectives reductions fast litmus"
TRITON_EXAMPLES = "gemm_all_reduce moe attention all_reduce"


def triton(numbers: list[int], python: str) -> list[Check]:
    """Kernels in Triton, compiled: every function, wrong arguments, a PE that dies, and the examples."""
    env = {**python_env(), "TRITON_INTERPRET": "0"}
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for group in together(n, TRITON_PARTS.split()):
            command = processes(n, python, str(PROGRAMS / "triton_kernels.py"), *group)
            name = f"triton: {' '.join(group)}, {pes_of(n)}"
            says = r"^triton ok: PART, PE \d+$"
            checks.append(Check(name, command, says, n, parts=group, gpus=n, env=env, limit=240))
        for example in TRITON_EXAMPLES.split():
            command = processes(n, python, str(EXAMPLES / f"triton_{example}.py"))
            big = {**env, "NVSHMEM_SYMMETRIC_SIZE": "1g"}
            checks.append(
                Check(f"triton: {example} example, {n}", command, rf"^{example} ok PE \d+ of {n}$", n, gpus=n, env=big, limit=150)
            )
    faults = str(PROGRAMS / "triton_faults.py")
    checking = {**env, "NVSHMEMRS_DEVICE_CHECK": "1"}
    # The job's status is the dead PE's; the other PE's output decides.
    for name, part, asked in (("a dead PE", "killed", env), ("a wrong collective", "alone", checking)):
        ends = ["sh", "-c", f"{shlex.join([*processes(2, python, faults), part])}; true"]
        checks.append(Check(f"triton: {name}", ends, f"^triton ok: {part}, .*PE 1", gpus=2, env=asked, limit=100))
    for case, words in (("0 1 0 0", "remote_pe"), ("3 0 -100000000 0", "array"), ("5 0 0 200", "slot")):
        command = processes(1, python, faults, "wrong", *case.split())
        says = f"^triton ok: wrong, argument `{words}`"
        checks.append(Check(f"triton: wrong arguments, {words}", command, says, env=checking, limit=100))
    return checks


def bitcode(numbers: list[int], python: str) -> list[Check]:
    """A kernel of Triton's that NVSHMEM's names are linked to from bitcode."""
    checks = []
    for n in sorted({*numbers, 2}):
        command, says = processes(n, python, str(PROGRAMS / "triton_bitcode.py")), r"^bitcode ok: ring, PE \d+$"
        checks.append(Check(f"bitcode: a ring in Triton, {pes_of(n)}", command, says, n, gpus=n, env=python_env(), limit=120))
    return checks


def python_kernels(n: int, python: str) -> list[Check]:
    """Kernels of CUDA C++ that programs in Python start."""
    checks = []
    for source in sorted((DIST / "examples/cuda/python").glob("*.py")):
        for pes in sorted({1, 2, n}):
            says = f"^{source.stem} ok PE "
            command = processes(pes, python, str(source))
            name = f"kernels: python: {source.name}, {pes} processes"
            checks.append(Check(name, command, says, pes, gpus=n, env=python_env(), limit=100))
    return checks


CUTE = DIST / "share/nvshmemrs/cute"
CUTE_PARTS = ("queries", "moves", "lends", "atomics", "ordered", "collectives", "meets", "times")


def cute(n: int, python: str) -> list[Check]:
    """Kernels of CuTe: cubins that the bundle has, which need no CuTe here."""
    script = str(PROGRAMS / "cute_gpu.py")
    checks = []
    for pes in sorted({1, 2, n}):
        # Times of PEs that share a GPU mean nothing.
        for group in together(pes, CUTE_PARTS if pes <= n else CUTE_PARTS[:-1]):
            command = processes(pes, python, script, str(CUTE), *group)
            name = f"cute: {' '.join(group)}, {pes} processes"
            checks.append(Check(name, command, "^cute ok: PART$", pes, parts=group, gpus=n, env=python_env(), limit=200))
        command = processes(pes, python, str(PROGRAMS / "cute_names.py"), str(CUTE))
        checks.append(Check(f"cute: names, {pes} processes", command, "^cute ok: names, PE ", pes, gpus=n, env=python_env(), limit=100))
        command = processes(pes, python, str(DIST / "examples/cute/ring_launch.py"), str(CUTE))
        name = f"cute: ring_launch.py, {pes} processes"
        checks.append(Check(name, command, "^ring_launch ok PE ", pes, gpus=n, env=python_env(), limit=100))
    # The job's status is the dead PE's; the other PEs' output decides.
    most = max(n, 2)
    for part, pes, times, env in (("checked", 1, 1, {"NVSHMEMRS_DEVICE_CHECK": "1"}), ("killed", most, most - 1, {})):
        launch = shlex.join([LAUNCHER, "--grace", "20", "-n", str(pes), "--", python, script, str(CUTE), part])
        command = ["sh", "-c", launch + "; true"]
        checks.append(Check(f"cute: {part}", command, f"^cute ok: {part}$", times, gpus=n, env={**python_env(), **env}, limit=100))
    return checks


def other_than_cubins(python: str, folder: Path) -> str:
    """Why this machine's GPU cannot load a folder's cubins; nothing if it can."""
    if not (folder / "kernels.json").is_file():
        return "this bundle has none of them"
    arch = next(iter(json.loads((folder / "kernels.json").read_text()).values()))["arch"]
    ask = "import cupy; print('sm_' + cupy.cuda.Device().compute_capability)"
    here = subprocess.run([python, "-c", ask], capture_output=True, text=True, timeout=120).stdout.strip()
    return "" if here == arch.rstrip("a") else f"they are for {arch}, and the GPU is {here}"


NUMBA = ("rma", "amo", "waits", "order", "collectives", "reductions")


def numba_parts(n: int, python: str, name: str, kernels: str, few: bool, limit: int, **more: str) -> list[Check]:
    """Every part of the functions, with kernels that a compiler makes, or has made."""
    command = [python, str(PROGRAMS / "numba_kernels.py"), *["few"] * few]
    env = {**python_env(), "NUMBA_KERNELS": kernels, **more}
    checks = []
    for part in NUMBA:
        for pes in sorted({1, 2, n}):
            says = f"^numba ok: {part}, PE "
            check = Check(f"{name}: {part}, {pes} PEs", processes(pes, *command, part), says, pes, gpus=pes, env=env, limit=limit)
            checks.append(check)
    lending = [python, str(PROGRAMS / "numba_lent.py"), *["few"] * few]
    for pes in sorted({1, 2, n}):
        what = f"{name}: lent shared memory, {pes} PEs"
        checks.append(Check(what, processes(pes, *lending), "^numba lent ok: ", 4 * pes, gpus=pes, env=env, limit=limit))
    return checks


def numba(n: int, python: str) -> list[Check]:
    """Kernels in Python, which Numba compiles: the programs that the simulator runs, too, and the examples."""
    missing = lacks(python, "numba_cuda", "cupy")
    if missing:
        print(f"not run: kernels of Numba: {missing}")
        return []
    checks = numba_parts(n, python, "numba", "numba-cuda", False, 300, NUMBA_ENABLE_CUDASIM="0")
    pes = max(n, 2)
    for name in ("numba_ring", "numba_heat"):
        command = processes(pes, python, str(EXAMPLES / f"{name}.py"))
        env = {**python_env(), "NUMBA_ENABLE_CUDASIM": "0"}
        checks.append(Check(f"numba: {name}.py", command, f"^{name} ok PE ", pes, gpus=pes, env=env, limit=200))
    return checks + watched_numba(n, python)


def watched_numba(n: int, python: str) -> list[Check]:
    """The checker on kernels of Numba, as `watched` of kernels.py on kernels of CUDA C++."""
    checks = []
    counts = sorted({2, max(2, n)})
    script = str(PROGRAMS / "numba_watched.py")
    for name, which, status, says in (
        ("six bugs in Numba", "planted", 1, "the checker found 6 problems"),
        ("Numba without the bugs", "mended", 0, "the checker found nothing"),
        ("correct kernels of Numba", "correct", 0, "the checker found nothing"),
    ):
        commands = [shlex.join([LAUNCHER, "--check", "-n", str(pes), "--", python, script, which]) for pes in counts]
        runs = " && ".join(f"{{ {command}; test $? -eq {status}; }}" for command in commands)
        env = {**python_env(), "NUMBA_ENABLE_CUDASIM": "0"}
        checks.append(Check(f"checker: {name}", ["sh", "-c", runs], says, len(counts), gpus=n, env=env, limit=400))
    return checks


NUMBA_MLIR = DIST / "share/nvshmemrs/numba-mlir"


def numba_mlir(n: int, python: str) -> list[Check]:
    """The same kernels by numba-cuda-mlir: the bundle's cubins, or compiled here where they cannot be loaded."""
    missing = lacks(python, "cupy", "cuda.bindings.driver") or other_than_cubins(python, NUMBA_MLIR)
    if not missing:
        return numba_parts(n, python, "numba-mlir cubins", str(NUMBA_MLIR), True, 300)
    if not lacks(python, "numba_cuda_mlir.cuda", "cupy"):
        print(f"kernels of numba-cuda-mlir are compiled here, which takes many minutes: {missing}")
        return numba_parts(n, python, "numba-mlir", "numba-cuda-mlir", True, 1800)
    print(f"not run: kernels of numba-cuda-mlir: {missing}")
    return []
