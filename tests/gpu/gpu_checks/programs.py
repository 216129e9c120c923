"""Checks of the programs in Rust, C and Python that move data, and of their errors."""

from __future__ import annotations

import array
import math
import signal
import struct
import subprocess
from pathlib import Path

from .common import EXAMPLES, LANGUAGES, LAUNCHER, Check, processes, program, python_env, together

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
        # A mistake takes two PEs; the model expects the values of at most 4 PEs.
        if (scenario == "misuse" and n == 1) or (scenario == "model" and n > 4):
            continue
        command = processes(n, program("conformance"), scenario)
        checks.append(Check(f"{n} processes: {scenario}, Rust", command, rf"{scenario} ok PE \d+ of {n} \(Rust\)", n, gpus=n))
    command = processes(n, program("device_register-c"))
    checks.append(Check(f"{n} processes: registered memory, C", command, r"registered PE \d+", n, gpus=n))
    parts = "graph teams nbi let_go stuck function places result two_streams pageable overshoot repeated crowd backpressure"
    checks += by_part(n, "device_streams-c", parts.split(), "streams", "streams, ")
    return checks + engines(n) + private(n) + let_go(n) + beside(n) + held(n)


def by_part(n: int, name: str, parts: list[str], says: str, title: str = "") -> list[Check]:
    """Each part of a program in C."""
    checks = []
    for group in together(n, parts):
        command = processes(n, program(name), *group)
        checks.append(Check(f"{n} processes: {title}{' '.join(group)}, C", command, f"{says} ok: PART$", n, parts=group, gpus=n))
    return checks


def engines(n: int) -> list[Check]:
    """Collectives by copy engines, regardless of the tables' choice; teams whose members differ need two."""
    parts = ["values", "graph", "teams"] + (["operations", "algorithms"] if n > 1 else [])
    return by_part(n, "device_engines-c", parts, "engines", "engines, ")


def private(n: int) -> list[Check]:
    """Collectives on private memory of the GPUs."""
    parts = ["values", "teams", "graph", "refused", "unmapped"] + (["counts", "one_too_large"] if n > 1 else [])
    return by_part(n, "device_private-c", parts, "private", "private memory, ")


def let_go(n: int) -> list[Check]:
    """The library's knowledge of streams and teams that the program has released."""
    parts = ["captured", "implicit", "in_capture", "after_captured", "after_captured_stream", "after_let_go"]
    parts += ["after_let_go_stream", "given_up_behind", "full"] + (["given_up_alone"] if n > 1 else [])
    return by_part(n, "device_let_go-c", parts, "let go")


def held(n: int) -> list[Check]:
    """Calls end within their limits while waiting streams occupy all queues of the GPU."""
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
    """Operations must make progress while other work on the GPUs waits."""
    parts = ["beside", "beside_two", "waits", "freed", "replayed"] + (["notice", "notice_unheard"] if n > 1 else [])
    return by_part(n, "device_beside-c", parts, "beside")


def shared(n: int) -> list[Check]:
    """Several processes on one GPU."""
    transfers = processes(n, program("device"))
    suite = processes(n, program("suite"))
    ring = processes(n, program("conformance"), "ring")
    checked = [LAUNCHER, "--check", "-n", str(n), "--", program("conformance"), "ring"]
    return [
        Check(f"{n} processes on one GPU: transfers", transfers, r"device ok PE \d+", n, only_those=True, env={"DEVICE_MOST": SMALL}),
        Check(f"{n} processes on one GPU: ring, Rust", ring, rf"ring ok PE \d+ of {n} \(Rust\)", n, only_those=True),
        Check(f"{n} processes on one GPU: checked ring", checked, rf"ring ok PE \d+ of {n} \(Rust\)", n, only_those=True),
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
    same = r"^check: max \|difference\| = 0\.000e(\+00|0) "
    checks = [
        Check(f"{n} processes: landscape, {language}", landscape(language, land, python, n), same, gpus=n, env=python_env())
        for language in LANGUAGES
        if has_cupy or language != "Python"
    ]
    if has_cupy:
        shown = f"^every check passed\nnot shown here: {not_shown(n, python)}$"
        for name, words, times in (("tutorial", shown, 1), ("hello", r"PE \d+ of \d+: my neighbour", n)):
            command = processes(n, python, str(EXAMPLES / f"{name}.py"))
            checks.append(Check(f"{n} processes: {name}, Python", command, words, times, gpus=n, env=python_env()))
    return checks


def not_shown(n: int, python: str) -> str:
    """The cells that the tutorial leaves out with `n` PEs; its cells for cuda.core and Numba must run where these are installed."""
    cells = ["team_split_2d", "team_init"] if n < 4 else []
    for module, cell in (("cuda", "VirtualMemoryResource"), ("numba", "the kernel of Numba")):
        find = f"from importlib.util import find_spec; raise SystemExit(not find_spec({module!r}))"
        if subprocess.run([python, "-c", find], timeout=120).returncode:
            cells.append(cell)
    return "; ".join(cells) or "nothing"


def on_host() -> list[Check]:
    """The heap in host memory, which needs no GPU: that a node has GPUs changes nothing."""
    host = {"NVSHMEMRS_MEMORY": "host"}
    checks = []
    for scenario in ("ring", "model", "misuse"):
        command = processes(2, program(f"{scenario}-c"))
        checks.append(Check(f"2 processes, host memory: {scenario}, C", command, rf"{scenario} ok PE \d+ of 2 \(C\)", 2, env=host))
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
    """Impossible requests soon fail with an error that names the cause."""
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
