"""Fixtures: a job of one PE in this process, and jobs of several PEs in processes of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Type

import pytest

import nvshmemrs.core as nvshmem

# A program then writes each line at once, so the lines of several PEs do not mix.
os.environ["PYTHONUNBUFFERED"] = ""

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
FAKES = HERE / "fakes"
DRIVER = HERE.parents[2] / "tests" / "programs"
LAUNCHED = ("NVSHMEMRS_PE", "NVSHMEMRS_N_PES", "NVSHMEMRS_UNIQUE_ID")


@pytest.fixture(autouse=True)
def alone() -> Iterator[None]:
    """Ends the job of a test that fails between init and finalize, so that other tests do not fail."""
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


def fails(
    call: Callable[[], object],
    match: Optional[str] = None,
    error: Type[BaseException] = nvshmem.NvshmemInvalid,
) -> None:
    """The call raises this error, and its message matches a regular expression."""
    with pytest.raises(error, match=match):
        call()


def program(name: str) -> str:
    """The path of a program for several PEs."""
    path = PROGRAMS / name
    assert path.is_file(), f"no program {path}"
    return str(path)


def repository(name: str) -> Path:
    """A file of the repository, which these tests may be without."""
    path = HERE.parents[2] / name
    if not path.is_file():
        pytest.skip(f"{name} is in the repository only")
    return path


def prefix() -> Path:
    """The folder of an installation by `cargo xtask install`."""
    named = os.environ.get("NVSHMEMRS_PREFIX")
    if not named:
        pytest.skip("NVSHMEMRS_PREFIX names no installation: `cargo xtask test` makes one")
    return Path(named)


def finished(
    *command: str,
    base: Optional[Mapping[str, str]] = None,
    apart: bool = False,
    limit: float = 120,
    cwd: Optional[str] = None,
    given: Optional[str] = None,
    **environment: str,
) -> "subprocess.CompletedProcess[str]":
    """Runs a command to its end, in an environment that begins with `base` or with ours, with the input
    `given`. Its output has both streams, unless they are kept `apart`. A command that takes more than
    `limit` seconds is hung.
    """
    return subprocess.run(
        command,
        env={**(os.environ if base is None else base), **environment},
        cwd=cwd,
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        text=True,
        timeout=limit,
    )


def run(*command: str, expected: int = 0, **named: Any) -> str:
    """The output of a command that ends with status `expected`; `named` is passed to `finished`."""
    done = finished(*command, **named)
    assert done.returncode == expected, done.stdout
    return done.stdout


def tool(name: str = "nvshmemrs-run") -> str:
    """The path of a program that the tests need."""
    found = shutil.which(name)
    assert found, f"{name} is not on PATH: run `cargo xtask test`"
    return found


def run_job(n: int, *command: str, check: bool = False, **named: Any) -> str:
    """The output of a job's PEs; `named` is passed to `run`, and `check` turns the checker on."""
    return run(tool(), *["--check"] * check, "-n", str(n), "--", *command, **named)


def ready(pes: List["subprocess.Popen[str]"]) -> None:
    """Returns once each PE has printed its first line."""
    for pe in pes:
        assert pe.stdout is not None and pe.stderr is not None
        # Byte by byte: readline() may take more from the pipe, which communicate() does not see.
        line = b""
        while not line.endswith(b"\n") and (byte := os.read(pe.stdout.fileno(), 1)):
            line += byte
        assert line == b"ready\n", line.decode() + pe.stderr.read()


def waits_in(operation: str, pe: "subprocess.Popen[str]") -> None:
    """Returns once the job's wait board shows the PE in an operation."""
    info = shutil.which("nvshmemrs-info")
    assert info, "nvshmemrs-info is not on PATH: run `cargo xtask test`"
    end = time.monotonic() + 60
    while True:
        shown = finished(info, "--job", str(pe.pid)).stdout
        if re.search(rf"^  PE \d+ \(pid {pe.pid}\b.*\bin {operation} ", shown, re.MULTILINE):
            return
        assert pe.poll() is None and time.monotonic() < end, shown
        time.sleep(0.01)


@pytest.fixture
def launch() -> Callable[..., str]:
    """Runs a program with nvshmemrs-run; every PE must end well and print `ok`. Returns what was
    printed.
    """

    def start(n: int, name: str, *arguments: str) -> str:
        said = run_job(n, sys.executable, program(name), *arguments)
        assert said.count("ok\n") == n, said
        return said

    return start


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


def compiled(folder: Path, launches: bool = False) -> None:
    """The stand-in for the driver, with the real kernels compiled for the host. With `launches` it takes
    kernels of other compilers too.
    """
    common = ["-O1", "-shared", "-fPIC", "-pthread"]
    kernels = ["c++", "-std=c++17", *common, "-fvisibility=hidden", "-fno-strict-aliasing"]
    kernels += ["-ffp-contract=off", "-Wno-unknown-pragmas", str(DRIVER / "kernels/library.cpp")]
    linked = [f"-L{folder}", "-lfakekernels", "-Wl,-rpath,$ORIGIN"]
    driver, source = ["cc", "-std=gnu11", *common], [str(DRIVER / "fake_cuda.c")]
    commands = []
    if launches:
        # The second file's function for launches calls the first file's.
        renamed = ["-DcuLaunchKernel=fake_cuLaunchKernel", "-DcuLaunchKernelEx=fake_cuLaunchKernelEx", "-c", *source, "-o", f"{folder}/cuda.o"]
        commands = [["cc", "-std=gnu11", "-O1", "-fPIC", "-pthread", *renamed]]
        source = [f"{folder}/cuda.o", str(DRIVER / "fake_launches.c")]
    for command in (
        *commands,
        [*kernels, "-o", str(folder / "libfakekernels.so")],
        [*driver, *source, "-o", str(folder / "libcuda.so.1"), *linked],
        ["cc", "-std=gnu11", *common, str(DRIVER / "fake_nvrtc.c"), "-o"]
        + [str(folder / "libnvrtc.so.12")],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    (folder / "libcuda.so").symlink_to("libcuda.so.1")


def environment_of(folder: Path) -> Dict[str, str]:
    """The environment in which a stand-in for the driver is found, and nothing of the user's."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(folder), XDG_CACHE_HOME=str(folder))
    for name in ("CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV", "NVSHMEMRS_MEMORY"):
        environment.pop(name, None)
    return environment


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """The environment in which the stand-ins are found, and nothing of the user's."""
    if not (DRIVER / "fake_cuda.c").is_file():
        pytest.skip("the stand-in for the driver is in the repository only")
    folder = tmp_path_factory.mktemp("cuda")
    compiled(folder)
    path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH"), str(FAKES)) if p)
    return dict(environment_of(folder), PYTHONPATH=path)


@pytest.fixture(scope="session")
def launches(tmp_path_factory: pytest.TempPathFactory) -> Dict[str, str]:
    """The environment of a stand-in for the driver which takes kernels of other compilers."""
    if not (DRIVER / "fake_launches.c").is_file():
        pytest.skip("the stand-in for the driver is in the repository only")
    folder = tmp_path_factory.mktemp("launches")
    compiled(folder, launches=True)
    return dict(environment_of(folder), FAKE_CUDA_VERSION="13000")
