"""Shared by all checks of ``run-gpu-tests``: the bundle, and the class of a check."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

# In a bundle this file is share/nvshmemrs/gpu-tests/gpu_checks/common.py.
DIST = Path(__file__).absolute().parents[4]
TESTS = DIST / "tests"
LAUNCHER = str(DIST / "bin/nvshmemrs-run")
LANGUAGES = ("Python", "Rust", "C")
EXAMPLES = DIST / "examples/python"
PYTEST = DIST / "share/nvshmemrs/python-tests/test_cuda.py"
PROGRAMS = PYTEST.parent / "programs"


@dataclass
class Check:
    """A process, and its expected result."""

    name: str
    command: list[str]
    # The number of GPUs that the check uses; 0: all of them.
    gpus: int = field(default=1, kw_only=True)
    # Whether the other GPUs must be hidden from it.
    only_those: bool = field(default=False, kw_only=True)
    # How often a line that matches a regular expression must be printed: for each of the parts, if there are any, with its name for PART.
    says: str = ""
    times: int = 1
    # Parts of the program that the process runs one after another, each within the limit.
    parts: tuple[str, ...] = field(default=(), kw_only=True)
    # Whether it must soon fail, by its own error and not by a signal.
    refused: bool = False
    # The expected exit status otherwise.
    status: int = 0
    env: dict[str, str] = field(default_factory=dict)
    limit: float | None = None


def program(name: str) -> str:
    return str(TESTS / name)


def processes(n: int, *command: str) -> list[str]:
    return [LAUNCHER, "-n", str(n), "--", *command]


def together(n: int, parts: Iterable[str]) -> list[tuple[str, ...]]:
    """The parts of a program that run in one process: all of them with more than 2 PEs, because the driver of 8 GPUs takes 10 s to start."""
    parts = tuple(parts)
    return [parts] if n > 2 else [(part,) for part in parts]


def pes_of(n: int) -> str:
    """A number of PEs in words."""
    return f"{n} PE{'s' if n > 1 else ''}"


def counts(gpus: int) -> list[int]:
    """1, 2, 4, ... and all."""
    powers = [1 << shift for shift in range(gpus.bit_length()) if 1 << shift <= gpus]
    return powers if gpus in powers else [*powers, gpus]


def lacks(python: str, *modules: str) -> str:
    """Why modules cannot be imported; nothing if they can."""
    code = "import importlib, sys\nfor name in sys.argv[1:]: importlib.import_module(name)"
    try:
        done = subprocess.run([python, "-c", code, *modules], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    return (lines or [f"status {done.returncode}"])[-1] if done.returncode else ""


def python_env() -> dict[str, str]:
    """The environment in which Python finds the bundle's package."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))}
