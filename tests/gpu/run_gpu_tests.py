#!/usr/bin/env python3
"""Runs the tests of this bundle on the GPUs of this machine, on 1, 2, 4, ... of them as far as they go.

Every check is a process with a time limit of its own. Printed are, when it has ended, its name, ok or FAILED,
its seconds, and the end of what a failing one said; the last line counts. Exit status: 0 if all passed, 1 if any
failed, 2 if there is nothing to run on.
"""

from __future__ import annotations

import argparse
import array
import fnmatch
import json
import math
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path

DIST = Path(__file__).resolve().parent
TESTS = DIST / "tests"
LAUNCHER = str(DIST / "bin/nvshmemrs-run")

# Asks the driver; not nvidia-smi, which does not know CUDA_VISIBLE_DEVICES. A process of its own, so that ours has no context.
COUNT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
n = ctypes.c_int()
for status in (cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(n))):
    if status: raise SystemExit(f"libcuda.so.1 answers {status}")
print(n.value)
"""


LANGUAGES = ("Python", "Rust", "C")
EXAMPLES = DIST / "examples/python"
PYTEST = DIST / "share/nvshmemrs/python-tests/test_cuda.py"


@dataclass
class Check:
    """A process, and what it must come to."""

    name: str
    command: list[str]
    # How many GPUs it uses; 0: it is about all of them.
    gpus: int = field(default=1, kw_only=True)
    # Whether it must not see others.
    only_those: bool = field(default=False, kw_only=True)
    # How often a line with these words (a regular expression) must be said.
    says: str = ""
    times: int = 1
    # Whether it must fail, soon, by an error of its own (not by a signal).
    refused: bool = False
    # What it exits with otherwise.
    status: int = 0
    env: dict[str, str] = field(default_factory=dict)
    limit: float | None = None


def program(name: str) -> str:
    return str(TESTS / name)


def processes(n: int, *command: str) -> list[str]:
    return [LAUNCHER, "-n", str(n), "--", *command]


def gpus_here() -> tuple[list[str], str]:
    """The GPUs that are visible, as CUDA_VISIBLE_DEVICES names them, and why none."""
    try:
        found = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return [], "libcuda.so.1 does not answer within 60 s"
    if found.returncode:
        lines = found.stderr.strip().splitlines()
        return [], lines[-1] if lines else f"status {found.returncode}"
    count = int(found.stdout)
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return (named if len(named) >= count > 0 and all(named) else [str(gpu) for gpu in range(count)])[:count], "no GPU is visible"


def counts(gpus: int) -> list[int]:
    """1, 2, 4, ... and all."""
    powers = [1 << shift for shift in range(gpus.bit_length()) if 1 << shift <= gpus]
    return powers if gpus in powers else [*powers, gpus]


FULL = str(64 << 20)  # bytes of the largest transfer
SMALL = str(1 << 20)
SUITE = 180.0  # seconds: it is tens of thousands of checks


def correctness(n: int, most: str) -> list[Check]:
    """Everything with one PE on each of `n` GPUs, as processes and as threads."""
    device = {"DEVICE_MOST": most}
    checks = []
    for kind, times in (("processes", 1), ("threads", 2)):

        def run(name: str) -> list[str]:
            if kind == "threads":  # noqa: B023
                return [program(name), "threads", str(n)]
            return processes(n, program(name))

        checks += [
            Check(f"{n} {kind}: transfers", run("device"), r"device ok PE \d+", n * times, gpus=n, env=device),
            Check(f"{n} {kind}: suite", run("suite"), rf"suite ok PE \d+ of {n}", n, gpus=n, limit=SUITE),
        ]
    for scenario in ("ring", "model", "misuse"):
        # A mistake takes two PEs; the values that the model expects are those of at most 4 PEs.
        if (scenario == "misuse" and n == 1) or (scenario == "model" and n > 4):
            continue
        command = processes(n, program("conformance"), scenario)
        checks.append(Check(f"{n} processes: {scenario}, Rust", command, rf"{scenario} ok PE \d+ of {n} \(Rust\)", n, gpus=n))
    command = processes(n, program("device_register-c"))
    checks.append(Check(f"{n} processes: registered memory, C", command, r"registered PE \d+", n, gpus=n))
    parts = "graph teams nbi let_go stuck function places result two_streams pageable overshoot repeated crowd backpressure"
    for part in parts.split():
        command = [*processes(n, program("device_streams-c")), part]
        checks.append(Check(f"{n} processes: streams, {part}, C", command, f"streams ok: {part}$", n, gpus=n))
    return checks + let_go(n) + beside(n) + held(n)


def let_go(n: int) -> list[Check]:
    """What is known of streams and teams that the program has given back."""
    parts = ["captured", "implicit", "in_capture", "after_captured", "after_captured_stream", "after_let_go"]
    parts += ["after_let_go_stream", "given_up_behind", "full"] + (["given_up_alone"] if n > 1 else [])
    checks = []
    for part in parts:
        command = [*processes(n, program("device_let_go-c")), part]
        checks.append(Check(f"{n} processes: {part}, C", command, f"let go ok: {part}$", n, gpus=n))
    return checks


def held(n: int) -> list[Check]:
    """What ends within its limits while streams that wait have all queues of the GPU."""
    env = {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}

    def check(part: str, launcher: list[str], said: int, **other: object) -> Check:
        command = [*launcher, program("device_held-c"), part]
        return Check(f"{n} processes: {part}, C", command, f"held ok: {part}$", said, gpus=n, limit=120, **{"env": env, **other})

    checks = []
    if n in (1, 2):
        checks.append(check("held_finalize", processes(n), n))
    if n == 1:
        checks.append(check("held_init", processes(n), n, env={**env, "NVSHMEMRS_INIT_TIMEOUT": "1"}))
    if n == 2:
        checks.append(check("held", processes(n), n))
        patient = [LAUNCHER, "--grace", "20", "-n", "2", "--"]
        checks.append(check("held_survivor", patient, 1, status=128 + signal.SIGKILL))
    return checks


def beside(n: int) -> list[Check]:
    """What must go on while something else on the GPUs waits."""
    parts = ["beside", "beside_two", "waits", "freed", "replayed"] + (["notice", "notice_unheard"] if n > 1 else [])
    checks = []
    for part in parts:
        command = [*processes(n, program("device_beside-c")), part]
        checks.append(Check(f"{n} processes: {part}, C", command, f"beside ok: {part}$", n, gpus=n))
    return checks


def shared(n: int) -> list[Check]:
    """Several processes on one GPU."""
    transfers = processes(n, program("device"))
    suite = processes(n, program("suite"))
    ring = processes(n, program("conformance"), "ring")
    checked = [LAUNCHER, "--check", "-n", str(n), "--", program("conformance"), "ring"]
    return [
        Check(f"{n} processes on one GPU: transfers", transfers, r"device ok PE \d+", n, only_those=True, env={"DEVICE_MOST": SMALL}),
        Check(f"{n} processes on one GPU: ring, Rust", ring, rf"ring ok PE \d+ of {n} \(Rust\)", n, only_those=True),
        Check(f"{n} processes on one GPU: ring, Rust, checked", checked, rf"ring ok PE \d+ of {n} \(Rust\)", n, only_those=True),
        Check(f"{n} processes on one GPU: suite", suite, rf"suite ok PE \d+ of {n}", n, only_those=True, limit=SUITE),
    ]


def landscape(language: str, land: Path, python: str, n: int) -> list[str]:
    """The example in a language: it compares its result with a single-process run, bit for bit."""
    if language == "Python":
        options = ["--map", str(land), "--steps", "60", "--no-plot"]
        return processes(n, python, str(EXAMPLES / "landscape.py"), *options)
    return processes(n, program({"Rust": "landscape-rs", "C": "landscape-c"}[language]), str(land), "60")


def write_land(file: Path) -> None:
    """A map for the landscape example, in the form that `landscape.py --export` writes."""
    rows, columns = 97, 61
    z = array.array("d", [100.0 * math.sin(0.7 * i) * math.cos(0.3 * i * i) for i in range(rows * columns)])
    file.write_bytes(struct.pack("<qqdd", rows, columns, 30.0, 20.0) + z.tobytes())


def examples(n: int, land: Path, python: str, has_cupy: bool) -> list[Check]:
    """The landscape in three languages, the tutorial and the first program of the README, with the heap on `n` GPUs."""
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))}
    same = r"^check: max \|difference\| = 0\.000e(\+00|0) "
    checks = [
        Check(f"{n} processes: landscape, {language}", landscape(language, land, python, n), same, gpus=n, env=paths)
        for language in LANGUAGES
        if has_cupy or language != "Python"
    ]
    if has_cupy:
        shown = f"^every check passed\nnot shown here: {not_shown(n, python)}$"
        for name, words, times in (("tutorial", shown, 1), ("hello", r"PE \d+ of \d+: my neighbour", n)):
            command = processes(n, python, str(EXAMPLES / f"{name}.py"))
            checks.append(Check(f"{n} processes: {name}, Python", command, words, times, gpus=n, env=paths))
    return checks


def not_shown(n: int, python: str) -> str:
    """What the tutorial leaves out with `n` PEs; its cells for cuda.core and Numba must run where these are installed."""
    cells = ["team_split_2d", "team_init"] if n < 4 else []
    for module, cell in (("cuda", "VirtualMemoryResource"), ("numba", "the kernel of Numba")):
        find = f"from importlib.util import find_spec; raise SystemExit(not find_spec({module!r}))"
        if subprocess.run([python, "-c", find], timeout=120).returncode:
            cells.append(cell)
    return "; ".join(cells) or "nothing"


def python_checks(python: str) -> list[Check]:
    """The tests of Python's arrays and streams, which use CuPy, torch and cuda.core."""
    env = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")])),
        "PATH": os.pathsep.join([str(DIST / "bin"), os.environ.get("PATH", "")]),
    }
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "-k", "gpus", str(PYTEST)]
    return [Check("Python: CuPy, torch and cuda.core (pytest)", command, r"^\d+ passed(, \d+ deselected)? in ", gpus=4, env=env, limit=600)]


def pools(n: int, python: str) -> Check:
    """torch's memory pools over the symmetric heap."""
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))}
    command = processes(n, python, str(PYTEST.parent / "programs/cuda_pool.py"))
    return Check(f"{n} processes: torch.cuda.MemPool, Python", command, "^ok$", n, gpus=n, env=paths)


TORCH_PARTS = {
    "torch_ops.py": ("eager", "onesided", "alltoallv", "refused", "groups", "wrong_splits"),
    "torch_graphs.py": ("compiled", "gradients", "graphs", "streams", "pools"),
}


def torch_ops(numbers: list[int], python: str) -> list[Check]:
    """torch.ops.nvshmemrs: eager, compiled, in graphs, on streams, with gradients, in pools, with wrong arguments."""
    env = {**python_env(), "NVSHMEM_SYMMETRIC_SIZE": "512m"}
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for file, parts in TORCH_PARTS.items():
            for part in parts:
                command = processes(n, python, str(PYTEST.parent / "programs" / file), part)
                name = f"torch: {part}, {n} PE{'s' if n > 1 else ''}"
                checks.append(Check(name, command, "^ok$", n, gpus=n, env=env, limit=300))
    return checks


TRITON_PARTS = "rma signals waits atomics collectives reductions fast litmus"
TRITON_EXAMPLES = "gemm_all_reduce moe attention"


def triton(numbers: list[int], python: str) -> list[Check]:
    """Kernels in Triton, compiled: every function, wrong arguments, a PE that dies, and the examples."""
    paths = os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))
    env = {"PYTHONPATH": paths, "TRITON_INTERPRET": "0"}
    programs = PYTEST.parent / "programs"
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for part in TRITON_PARTS.split():
            command = processes(n, python, str(programs / "triton_kernels.py"), part)
            name = f"triton: {part}, {n} PE{'s' if n > 1 else ''}"
            checks.append(Check(name, command, rf"^triton ok: {part}, PE \d+$", n, gpus=n, env=env, limit=240))
        for example in TRITON_EXAMPLES.split():
            command = processes(n, python, str(EXAMPLES / f"triton_{example}.py"))
            big = {**env, "NVSHMEM_SYMMETRIC_SIZE": "1g"}
            checks.append(
                Check(f"triton: {example} example, {n}", command, rf"^{example} ok PE \d+ of {n}$", n, gpus=n, env=big, limit=150)
            )
    faults = str(programs / "triton_faults.py")
    checking = {**env, "NVSHMEMRS_DEVICE_CHECK": "1"}
    # The job's status is that of the PE that died; what the other says counts.
    for name, part, asked in (("a dead PE", "killed", env), ("a wrong collective", "alone", checking)):
        ends = ["sh", "-c", f"{shlex.join([*processes(2, python, faults), part])}; true"]
        checks.append(Check(f"triton: {name}", ends, f"^triton ok: {part}, .*PE 1", gpus=2, env=asked, limit=100))
    for case, words in (("0 1 0 0", "remote_pe"), ("3 0 -100000000 0", "array"), ("5 0 0 200", "slot")):
        command = processes(1, python, faults, "wrong", *case.split())
        says = f"^triton ok: wrong, argument `{words}`"
        checks.append(Check(f"triton: wrong arguments, {words}", command, says, env=checking, limit=100))
    return checks


JAX_PARTS = "reductions moves teams one_sided signals control shards views large"


def jax(numbers: list[int], python: str) -> list[Check]:
    """Operations inside of JAX programs."""
    paths = os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))
    env = {"PYTHONPATH": paths, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    program = str(PYTEST.parent / "programs/jax_calls.py")
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for part in JAX_PARTS.split():
            command = processes(n, python, program, part)
            words = rf"^jax ok: {part}, PE \d+$"
            checks.append(Check(f"jax: {part}, {n} PE{'s' if n > 1 else ''}", command, words, n, gpus=n, env=env, limit=240))
    if max(numbers) > 1:
        command = processes(2, python, program, "shards", "distributed=47653")
        checks.append(Check("jax: shards of jax.distributed, 2 PEs", command, r"^jax ok: shards, PE \d+$", 2, gpus=2, env=env, limit=240))
    for n in numbers:  # each on a GPU of its own, as Mosaic needs it
        command = processes(n, python, str(PYTEST.parent / "programs/jax_pallas.py"))
        words = r"^pallas ok: (ring|in_place), PE \d+$"
        debug = {**env, "NVSHMEM_DEBUG": "WARN"}
        checks.append(Check(f"jax: Pallas, {n} PE{'s' if n > 1 else ''}", command, words, 2 * n, gpus=n, env=debug, limit=240))
    return checks


def bitcode(numbers: list[int], python: str) -> list[Check]:
    """A kernel of Triton's that NVSHMEM's names are linked to from bitcode."""
    paths = os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))
    command = [python, str(PYTEST.parent / "programs/triton_bitcode.py")]
    return [
        Check(
            f"bitcode: a ring in Triton, {n} PE{'s' if n > 1 else ''}",
            processes(n, *command),
            r"^bitcode ok: ring, PE \d+$",
            n,
            gpus=n,
            env={"PYTHONPATH": paths},
            limit=120,
        )
        for n in sorted({*numbers, 2})
    ]


def fused(numbers: list[int], python: str) -> list[Check]:
    """Fused operations beside the plain formulas, in graphs, too."""
    env = {**python_env(), "TRITON_INTERPRET": "0", "NVSHMEM_SYMMETRIC_SIZE": "1g"}
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for part in ("norm", "experts", "product", "teams")[: 4 if n > 2 else 3]:
            command = processes(n, python, str(PYTEST.parent / "programs/fused_operations.py"), part)
            says = rf"^fused ok: {part}, PE \d+$"
            checks.append(Check(f"fused: {part}, {n} PE{'s' if n > 1 else ''}", command, says, n, gpus=n, env=env, limit=300))
    return checks


def lacks(python: str, *modules: str) -> str:
    """Why modules cannot be imported; nothing if they can."""
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    try:
        done = subprocess.run([python, "-c", code, *modules], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return (lines or [f"status {done.returncode}"])[-1] if done.returncode else ""


def on_host() -> list[Check]:
    """The heap in host memory, which needs no GPU: that a node has GPUs changes nothing."""
    host = {"NVSHMEMRS_MEMORY": "host"}
    checks = []
    for scenario in ("ring", "model", "misuse"):
        command = processes(2, program(f"{scenario}-c"))
        checks.append(Check(f"2 processes, host memory: {scenario}, C", command, rf"{scenario} ok PE \d+ of 2 \(C\)", 2, env=host))
    return checks


MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def hosts(*command: str, options: tuple[str, ...] = (), pes: str = "abb") -> list[str]:
    """A PE for each letter, which names its host; this machine plays all hosts."""
    words = [*MPIRUN, *options]
    for at, name in enumerate(pes):
        words += [":"] * (at > 0) + ["-n", "1", "-x", f"NVSHMEMRS_HOST_ID={name}", *command]
    return words


# The first PE of every host takes the first GPU that it sees. Processes that share a GPU take turns there.
OWN_GPU = """
case $NVSHMEMRS_HOST_ID in a) at=1;; *) at=2;; esac
gpus="${CUDA_VISIBLE_DEVICES:-$GPUS}"
export CUDA_VISIBLE_DEVICES="$(echo "$gpus" | cut -d, -f$at)"
exec "$@"
"""


def hosts_with_a_gpu(*command: str) -> list[str]:
    """A PE on each of two hosts, with a GPU of its own."""
    return hosts("sh", "-c", OWN_GPU, "sh", *command, pes="ab")


def many_hosts(visible: list[str]) -> list[Check]:
    """The heap on GPUs of several hosts."""
    if not shutil.which("mpirun") or not (DIST / "lib/libnvshmemrs_mpi.so").is_file():
        print("not run: PEs of other hosts: mpirun is not on PATH, or the bundle was made without the plugin for MPI")
        return []
    device = hosts(program("device"))
    checks = [Check("3 processes, 2 hosts: transfers", device, r"device ok PE \d+", 6, gpus=3, env={"DEVICE_MOST": SMALL}, limit=180)]
    for scenario in ("ring", "model", "misuse"):
        says = rf"{scenario} ok PE \d+ of 3 \(Rust\)"
        checks.append(Check(f"3 processes, 2 hosts: {scenario}, Rust", hosts(program("conformance"), scenario), says, 3, gpus=3, limit=180))
    if len(visible) < 2:
        print("not run: the suite on 2 hosts: it takes 2 GPUs")
    else:
        suite = hosts_with_a_gpu(program("suite"), "few")
        env = {"GPUS": ",".join(visible[:2])}
        checks.append(Check("2 processes, 2 hosts: suite", suite, r"suite ok PE \d+ of 2", 2, gpus=2, env=env, limit=SUITE))
    for part in ("buffers", "streams", "registered", "far"):
        command = hosts(program("device_hosts-c"), part)
        checks.append(Check(f"3 processes, 2 hosts: {part}, C", command, f"device hosts ok: {part}$", 3, gpus=3, limit=120))
    # mpirun would end the others before they have said anything, and its status is that of the PE that died.
    dies = shlex.join(hosts(program("device_hosts-c"), "killed", options=("--enable-recovery",)))
    says = r"^(barrier|stream) on PE \d: status 15: PE 1 \("
    checks.append(Check("3 processes, 2 hosts: killed, C", ["sh", "-c", f"{dies}; true"], says, 4, gpus=3, limit=120))
    return checks


def killed(n: int) -> list[Check]:
    """One of `n` processes is killed by SIGKILL inside a collective: the others get an error within 5 s."""
    checks = []
    for mode, where in (("kill", "a barrier"), ("kill_stream", "a reduction on a stream")):
        command = [LAUNCHER, "--grace", "20", "-n", str(n), "--", program("device_errors-c"), mode]
        name = f"{n} processes: one is killed in {where}"
        checks.append(Check(name, command, f"errors ok: {mode}$", n - 1, gpus=n, status=128 + signal.SIGKILL))
    return checks


def bad_input(gpus: int) -> list[Check]:
    """What cannot be is refused soon, with words that name it."""
    ring = program("ring-c")
    small = {"DEVICE_MOST": "4096"}
    return [
        Check("no GPU visible", [ring], "CUDA_VISIBLE_DEVICES", refused=True, env={"CUDA_VISIBLE_DEVICES": ""}),
        Check("heap larger than the GPU", [ring], "NVSHMEM_SYMMETRIC_SIZE", refused=True, env={"NVSHMEM_SYMMETRIC_SIZE": "1t"}),
        Check(
            "more threads than GPUs",
            [program("device"), "threads", str(gpus + 1)],
            f"{gpus + 1} PEs that are threads",
            gpus=0,
            refused=True,
            env=small,
        ),
        Check(
            "PEs that want different memory",
            processes(2, "sh", "-c", f'[ "$NVSHMEMRS_PE" = 1 ] && export NVSHMEMRS_MEMORY=host; exec "{ring}"'),
            "different memory",
            refused=True,
        ),
        Check("no such GPU", [program("device_errors-c"), "index"], "errors ok: index"),
        Check("pointers that are not of the heap", [program("device_errors-c"), "arguments"], "errors ok: arguments"),
    ]


LIBRARIES = f"-L{DIST}/lib -lnvshmemrs -Xlinker -rpath={DIST}/lib"
PARTS = ("RMA", "LENT", "TILES", "AMO", "WAITS", "MOVES_OF_TEAMS", "NUMBERS_OF_TEAMS", "BITS_OF_TEAMS", "OTHER_TEAMS", "GRAPHS", "ORDER")


def compiled(part: str, nvcc: str, folder: str) -> tuple[str, str]:
    """A part of the functions that kernels call: the program, and the command that compiles it."""
    file = f"{folder}{part}"
    options = "-std=c++17 -arch=native -DNVSHMEMRS_DEVICE_CALLS --Ofast-compile=max"
    return file, f"{nvcc} {options} -D{part} -I{DIST}/include {TESTS}/kernels/gpu.cu {LIBRARIES} -o {file}"


def kernels(n: int, nvcc: str, folder: str) -> list[Check]:
    """The functions that kernels call, and the examples in CUDA: compiled here, and run by 1 PE, 2 on one GPU, and `n` on one each."""
    checks = []
    counts = sorted({1, 2, n})
    for part in PARTS:
        file, made = compiled(part, nvcc, f"{folder}/")
        runs = "".join(f" && {LAUNCHER} -n {pes} -- {file}" for pes in counts)
        checks.append(Check(f"kernels: {part}", ["sh", "-c", made + runs], "^gpu ok: ", sum(counts), gpus=n, limit=400))
    # The job's status is that of the PE that died; what the others say counts.
    for part, pes, env in (("CHECKED", 1, {"NVSHMEMRS_DEVICE_CHECK": "1"}), ("KILLED", 2, {})):
        file, made = compiled(part, nvcc, f"{folder}/")
        run = f" && {{ {LAUNCHER} -n {pes} -- {file}; true; }}"
        checks.append(Check(f"kernels: {part}", ["sh", "-c", made + run], f"^gpu ok: {part.lower()}, PE 0", env=env, limit=100))
    for source in sorted((DIST / "examples/cuda").glob("*.cu")):
        file = f"{folder}/{source.stem}"
        made = f"{nvcc} -std=c++17 -arch=native -I{DIST}/include {source} {LIBRARIES} -o {file}"
        runs = "".join(f" && {LAUNCHER} -n {pes} -- {file}" for pes in counts)
        says = f"^{source.stem} ok PE "
        checks.append(Check(f"kernels: {source.name}", ["sh", "-c", made + runs], says, sum(counts), gpus=n, limit=200))
    return checks


def nvshmem_names(n: int, nvcc: str, folder: str) -> list[Check]:
    """A program of NVSHMEM's names in two units, with a library that it opens after init and a cubin that the driver loads: compiled here with
    and without relocatable device code, and run by 1 PE, 2 on one GPU, and `n` on one each."""
    checks = []
    counts = sorted({1, 2, n})
    source = TESTS / "nvshmem/units.cpp"
    libraries = f"-L{DIST}/lib -lnvshmemrs_nvshmem -lnvshmemrs -lcuda -Xlinker -rpath={DIST}/lib"
    cubin = f"{folder}/nvshmem.cubin"
    for rdc in ("false", "true"):
        file, library = f"{folder}/nvshmem-{rdc}", f"{folder}/libnvshmem-{rdc}.so"
        compile_ = f"{nvcc} -std=c++17 -arch=native -Xcompiler -fPIC -I{DIST}/include -I{DIST}/include/nvshmemrs-compat"
        steps = [f"{compile_} -rdc={rdc} -x cu -c -DUNIT={unit} {source} -o {file}-{unit}.o" for unit in range(3)]
        steps += [
            f"{compile_} -rdc={rdc} {file}-0.o {file}-1.o {libraries} -o {file}",
            f"{compile_} -rdc={rdc} -shared {file}-2.o {libraries} -o {library}",
            f"{compile_} -x cu -cubin -DUNIT=3 {source} -o {cubin}",
        ]
        made = " && ".join(steps)
        modes = [("run", library), ("capture", library), ("launch", ""), ("module", cubin)]
        for pes in counts:
            for mode, argument in modes:
                made += f" && {LAUNCHER} -n {pes} -- {file} {mode} {argument}"
        name = "with" if rdc == "true" else "without"
        says = "^units (run|capture|launch|module) ok PE "
        times = sum(counts) * len(modes)
        checks.append(Check(f"NVSHMEM's names {name} -rdc", ["sh", "-c", made], says, times, gpus=n, limit=600))
        ends = " && ".join(steps) + f" && {{ {LAUNCHER} -n {max(2, n)} -- {file} exit; echo status $?; }}"
        checks.append(Check(f"NVSHMEM's global_exit in a kernel {name} -rdc", ["sh", "-c", ends], "^status 7$", gpus=n, limit=300))
    return checks


def python_env() -> dict[str, str]:
    """What Python needs to find the bundle's package."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))}


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
    script = str(PYTEST.parent / "programs/cute_gpu.py")
    checks = []
    for pes in sorted({1, 2, n}):
        # Times say nothing of PEs that share a GPU.
        for part in CUTE_PARTS if pes <= n else CUTE_PARTS[:-1]:
            command = processes(pes, python, script, str(CUTE), part)
            name = f"cute: {part}, {pes} processes"
            checks.append(Check(name, command, f"^cute ok: {part}$", pes, gpus=n, env=python_env(), limit=200))
        command = processes(pes, python, str(PYTEST.parent / "programs/cute_names.py"), str(CUTE))
        checks.append(Check(f"cute: names, {pes} processes", command, "^cute ok: names, PE ", pes, gpus=n, env=python_env(), limit=100))
        command = processes(pes, python, str(DIST / "examples/cute/ring_launch.py"), str(CUTE))
        name = f"cute: ring_launch.py, {pes} processes"
        checks.append(Check(name, command, "^ring_launch ok PE ", pes, gpus=n, env=python_env(), limit=100))
    # The job's status is that of the PE that died; what the others say counts.
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
    command = [python, str(PYTEST.parent / "programs/numba_kernels.py"), *["few"] * few]
    env = {**python_env(), "NUMBA_KERNELS": kernels, **more}
    checks = []
    for part in NUMBA:
        for pes in sorted({1, 2, n}):
            says = f"^numba ok: {part}, PE "
            check = Check(f"{name}: {part}, {pes} PEs", processes(pes, *command, part), says, pes, gpus=pes, env=env, limit=limit)
            checks.append(check)
    lending = [python, str(PYTEST.parent / "programs/numba_lent.py"), *["few"] * few]
    for pes in sorted({1, 2, n}):
        what = f"{name}: lent shared memory, {pes} PEs"
        checks.append(Check(what, processes(pes, *lending), "^numba lent ok: ", 4 * pes, gpus=pes, env=env, limit=limit))
    return checks


def numba(n: int, python: str) -> list[Check]:
    """Kernels in Python, which Numba compiles: what the simulator runs too, and the examples."""
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


# Parts of the functions that kernels call, small enough for compute-sanitizer. Only racecheck's is about shared memory.
SANITIZED = {"memcheck": ("OTHER_TEAMS", "TILES", "ORDER"), "racecheck": ("GRAPHS",)}


def sanitizer(gpus: int, tool: str, nvcc: str | None, folder: str) -> list[Check]:
    """Small cases under compute-sanitizer."""
    checks = []
    small = {"DEVICE_MOST": "4096", "NVSHMEMRS_TIMEOUT": "250"}
    for kind in ("memcheck", "racecheck"):
        under = [tool, "--tool", kind, "--error-exitcode", "99"]
        cases = [("ring", 1, [*under, program("conformance"), "ring"])]
        for n in (1, 2):
            if n <= gpus:
                cases.append((f"transfers, {n} threads", n, [*under, program("device"), "threads", str(n)]))
        if gpus > 1:
            cases.append(("ring, 2 processes", 2, processes(2, *under, program("conformance"), "ring")))
        for name, n, command in cases:
            times = 2 if "2 processes" in name else 1
            words = "ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards"
            checks.append(Check(f"{kind}: {name}", command, words, times, gpus=n, env=small, limit=300))
        for part in SANITIZED[kind] if nvcc else ():
            file, made = compiled(part, nvcc, f"{folder}/{kind}-")
            n = min(2, gpus)
            command = ["sh", "-c", f"{made} && {shlex.join(processes(n, *under, file))}"]
            checks.append(Check(f"{kind}: kernels, {part}, {n} PEs", command, words, n, gpus=n, env={"NVSHMEMRS_TIMEOUT": "500"}, limit=600))
    return checks


def wrong(check: Check, status: int, text: str) -> str | None:
    """Why a check that has ended has failed; None if it has not."""
    found = len(re.findall(check.says, text, re.MULTILINE)) if check.says else 0
    if check.refused:
        if status == 0:
            return "was not refused"
        if status < 0 or status > 128:
            return f"ended by signal {-status if status < 0 else status - 128}, not by an error"
        return None if found else f"does not say {check.says!r}"
    if status != check.status:
        return f"status {status}, not {check.status}"
    return None if found == check.times else f"says {check.says!r} {found} times, not {check.times}"


class Runs:
    """Runs checks, and ends what runs when it is told to."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.ended = False

    def perform(self, check: Check, visible: str | None) -> tuple[str | None, float, str]:
        """Runs a check on these GPUs, or on all: why it failed, its seconds, what it said."""
        limit = check.limit or self.limit
        env = {
            **os.environ,
            "NVSHMEMRS_MEMORY": "device",
            # An error of the library's own says more than our limit, so that comes first.
            "NVSHMEMRS_TIMEOUT": str(max(limit - 15, limit / 2)),
            "NVSHMEM_SYMMETRIC_SIZE": "256m",
            "PYTHONUNBUFFERED": "1",
            **({"CUDA_VISIBLE_DEVICES": visible} if visible else {}),
            **check.env,
        }
        if program("device") in check.command:
            # It asks for the heap it needs itself.
            env.pop("NVSHMEM_SYMMETRIC_SIZE")
        start = time.monotonic()
        with tempfile.TemporaryFile() as said:
            with self.lock:
                if self.ended:
                    return "was not begun", 0.0, ""
                process = subprocess.Popen(
                    check.command, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
                )
                self.running.add(process.pid)
            reason, status = None, 0
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                reason = f"not done after {limit:g} s"
            with self.lock:
                self.running.remove(process.pid)
                kill_group(process.pid)
            process.wait()
            took = time.monotonic() - start
            said.seek(0)
            text = said.read().decode(errors="replace")
        return reason or wrong(check, status, text), took, text

    def end(self) -> None:
        with self.lock:
            self.ended = True
            for group in self.running:
                kill_group(group)


def kill_group(group: int) -> None:
    """The check's own process and what shares its group. PEs do not: nvshmemrs-run has them ended when it is gone."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def report(check: Check, result: tuple[str | None, float, str], tail: int) -> bool:
    """Prints how a check ended; whether it passed."""
    reason, took, text = result
    print(f"{check.name} ... {'ok' if reason is None else 'FAILED'} {took:.1f} s", flush=True)
    if reason is not None:
        print(f"  {reason}; the command: {' '.join(check.command)}")
        lines = text.rstrip().splitlines()[-tail:]
        print("\n".join(f"  | {line}" for line in lines), flush=True)
    return reason is None


def perform_all(checks: list[Check], gpus: list[str], runs: Runs, args: argparse.Namespace) -> list[str]:
    """Runs checks, one after another or side by side on GPUs of their own; the names of those that failed."""
    waiting, free, failed = list(checks), list(gpus), []
    if args.side_by_side:
        # Those that take most come first: smaller ones fill what they leave.
        waiting.sort(key=lambda check: check.gpus or len(gpus), reverse=True)
    begun: dict[futures.Future, tuple[Check, list[str]]] = {}
    with futures.ThreadPoolExecutor(len(gpus)) as threads:
        try:
            while waiting or begun:
                for check in list(waiting):
                    uses = min(check.gpus, len(gpus)) or len(gpus)
                    takes = uses if args.side_by_side else len(gpus)
                    if takes > len(free):
                        continue
                    waiting.remove(check)
                    taken, free = free[:takes], free[takes:]
                    sees = taken[:uses] if check.only_those else taken
                    visible = None if len(sees) == len(gpus) else ",".join(sees)
                    begun[threads.submit(runs.perform, check, visible)] = check, taken
                for ended in futures.wait(begun, return_when=futures.FIRST_COMPLETED).done:
                    check, taken = begun.pop(ended)
                    free += taken
                    if not report(check, ended.result(), args.tail):
                        failed.append(check.name)
        finally:
            # An interrupt: what runs is not waited for.
            runs.end()
    return failed


def python_part(numbers: list[int], land: Path, python: str) -> list[Check]:
    """The examples and Python's tests; what cannot run here is said."""
    no_cupy = lacks(python, "numpy", "cupy")
    if no_cupy:
        print(f"not run: the examples in Python: {python}: {no_cupy}")
    checks = [check for n in numbers for check in examples(n, land, python, not no_cupy)]
    no_torch = lacks(python, "numpy", "torch")
    if no_torch:
        print(f"not run: the memory pools of torch: {python}: {no_torch}")
    else:
        checks += [pools(n, python) for n in numbers] + torch_ops(numbers, python)
        no_triton = lacks(python, "triton", "ml_dtypes")
        if no_triton:
            print(f"not run: kernels in Triton: {python}: {no_triton}")
        else:
            checks += triton(numbers, python) + bitcode(numbers, python) + fused(numbers, python)
    no_jax = lacks(python, "jax", "jax_plugins.xla_cuda13")
    if no_jax:
        print(f"not run: operations inside of JAX programs: {python}: {no_jax}")
    else:
        checks += jax(numbers, python)
    no_pytest = no_cupy or lacks(python, "pytest", "torch", "cuda.core")
    if no_pytest:
        print(f"not run: the tests in Python: {python}: {no_pytest}")
        return checks
    return checks + python_checks(python)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="seconds that one check may take (60; the suite, 180)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="checks whose names contain or match this; may be repeated")
    parser.add_argument("--pes", type=int, action="append", metavar="N", help="numbers of GPUs (1, 2, 4, ... and all)")
    parser.add_argument("--side-by-side", action="store_true", help="run checks that use different GPUs at the same time")
    parser.add_argument("--sanitizer", action="store_true", help="small cases under compute-sanitizer instead")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="the Python with CuPy, torch, pytest (python3)")
    parser.add_argument("--tail", type=int, default=25, metavar="LINES", help="of what a failing check said (25)")
    args = parser.parse_args()

    # A shell may have had it ignored for what runs in its background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    visible, why = gpus_here()
    gpus = len(visible)
    if gpus == 0:
        print(f"run-gpu-tests: no GPU to run on: {why}", file=sys.stderr)
        return 2
    folder = tempfile.TemporaryDirectory()
    land = Path(folder.name) / "hills.raw"
    write_land(land)
    if args.sanitizer:
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not Path(tool).exists():
            print("run-gpu-tests: compute-sanitizer is not on PATH, nor in /usr/local/cuda/bin", file=sys.stderr)
            return 2
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            print("not run: kernels that communicate: nvcc is not on PATH")
        checks = sanitizer(gpus, tool, nvcc, folder.name)
    else:
        numbers = [n for n in args.pes or counts(gpus) if 1 <= n <= gpus]
        if not numbers:
            print(f"run-gpu-tests: none of the numbers of --pes is from 1 to {gpus}, the GPUs here", file=sys.stderr)
            return 2
        checks = []
        for n in numbers:
            checks += correctness(n, FULL if n == numbers[-1] else SMALL)
        checks += python_part(numbers, land, args.python)
        checks += numba(min(2, numbers[-1]), args.python) + numba_mlir(min(2, numbers[-1]), args.python)
        nvcc = shutil.which("nvcc")
        if nvcc:
            checks += kernels(numbers[-1], nvcc, folder.name) + nvshmem_names(numbers[-1], nvcc, folder.name)
        else:
            print("not run: kernels that communicate: nvcc is not on PATH")
        no_cuda = lacks(args.python, "numpy", "cupy", "cuda.core", "cuda.bindings.nvrtc")
        if no_cuda:
            print(f"not run: kernels of CuTe, and those that Python starts: {args.python}: {no_cuda}")
        else:
            checks += python_kernels(numbers[-1], args.python)
            no_cubins = other_than_cubins(args.python, CUTE)
            if no_cubins:
                print(f"not run: kernels of CuTe: {no_cubins}")
            else:
                checks += cute(min(numbers[-1], 8), args.python)
        checks += many_hosts(visible) + shared(2) + killed(max(2, numbers[-1])) + bad_input(gpus) + on_host()
    if args.only:
        checks = [
            check for check in checks if any(word in check.name or fnmatch.fnmatch(check.name, word) for word in args.only)
        ]
    if args.list:
        print("\n".join(check.name for check in checks))
        return 0
    if not checks:
        print("run-gpu-tests: no check has such a name; --list shows them", file=sys.stderr)
        return 2

    print(f"{gpus} GPU{'s' if gpus > 1 else ''}, {len(checks)} checks, each at most {args.limit:g} s", flush=True)
    start = time.monotonic()
    try:
        failed = perform_all(checks, visible, Runs(args.limit), args)
    except KeyboardInterrupt:
        print("run-gpu-tests: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    took = time.monotonic() - start
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed of {len(checks)} checks in {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
