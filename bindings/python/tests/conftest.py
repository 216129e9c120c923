"""Fixtures: a job of one PE in this process, and jobs of several PEs in processes of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, Iterator, List

import pytest

import nvshmemrs.core as nvshmem

# A program then writes each line at once, so the lines of several PEs do not mix.
os.environ["PYTHONUNBUFFERED"] = ""

PROGRAMS = Path(__file__).parent / "programs"
LAUNCHED = ("NVSHMEMRS_PE", "NVSHMEMRS_N_PES", "NVSHMEMRS_UNIQUE_ID")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """A test that fails between init and finalize does not make the others fail."""
    yield
    if nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED:
        nvshmem.leave()


@pytest.fixture
def job() -> Iterator[None]:
    """This process is the only PE of a job."""
    nvshmem.init(heap_bytes=1 << 24)
    yield
    if nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED:
        nvshmem.finalize()


def program(name: str) -> str:
    """The path of a program for several PEs."""
    path = PROGRAMS / name
    assert path.is_file(), f"no program {path}"
    return str(path)


def ready(pes: List["subprocess.Popen[str]"]) -> None:
    """Returns once each PE has printed that it is there."""
    for pe in pes:
        assert pe.stdout is not None and pe.stderr is not None
        line = pe.stdout.readline()
        assert line == "ready\n", line + pe.stderr.read()


def waits_in(operation: str, pe: "subprocess.Popen[str]") -> None:
    """Returns once the job's wait board shows the PE in an operation."""
    info = shutil.which("nvshmemrs-info")
    assert info, "nvshmemrs-info is not on PATH: run `cargo xtask test`"
    end = time.monotonic() + 60
    while True:
        shown = subprocess.run(
            [info, "--job", str(pe.pid)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        ).stdout
        if re.search(rf"^  PE \d+ \(pid {pe.pid}\b.*\bin {operation} ", shown, re.MULTILINE):
            return
        assert pe.poll() is None and time.monotonic() < end, shown
        time.sleep(0.01)


@pytest.fixture
def launch() -> Callable[..., str]:
    """Runs a program with nvshmemrs-run; every PE must end well and print `ok`. Returns what was
    printed.
    """
    launcher = shutil.which("nvshmemrs-run")
    assert launcher, (
        "nvshmemrs-run is not on PATH: run `cargo xtask test`, or pip install this package"
    )

    def run(n: int, name: str, *arguments: str) -> str:
        command = [launcher, "-n", str(n), "--", sys.executable, program(name), *arguments]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout
        assert done.stdout.count("ok\n") == n, done.stdout
        return done.stdout

    return run


@pytest.fixture
def spawn() -> Iterator[Callable[..., List["subprocess.Popen[str]"]]]:
    """Starts the PEs of a job without the launcher, which would end the job at the first PE that
    fails.
    """
    started: List["subprocess.Popen[str]"] = []

    def start(n: int, name: str, *arguments: str) -> List["subprocess.Popen[str]"]:
        uid = bytes(nvshmem.get_unique_id()).hex()
        for pe in range(n):
            environment = dict(os.environ, **dict(zip(LAUNCHED, (str(pe), str(n), uid))))
            started.append(
                subprocess.Popen(
                    [sys.executable, "-u", program(name), *arguments],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        return started

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
