"""The wheel, as people without Rust get it: installed into an empty virtual environment, with
nothing else in PATH; C programs compiled against it; the wheels with the MPI plugins; and what a
build from source shows.

NVSHMEMRS_WHEEL names the wheel; `cargo xtask test` and `cargo xtask wheel` set it. `cargo xtask plugins
--wheels` names a plugin's wheel (NVSHMEMRS_PLUGIN_WHEEL), and an MPI's (NVSHMEMRS_MPI_WHEEL). Without
them, the plugin that is built is packed, for the machine's MPI.
"""

from __future__ import annotations

import os
import platform
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path
from typing import Dict, List

import numpy as np
import pytest
from conftest import finished, repository

REPOSITORY = Path(__file__).parents[3]
HELLO = REPOSITORY / "examples/python/hello.py"
RING = REPOSITORY / "tests/conformance/ring.c"


class Installed:
    """An environment that holds the wheel and NumPy."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.python = str(self.bin / "python")
        self.environment = {"PATH": str(self.bin), "HOME": str(folder), "LC_ALL": "C.UTF-8"}

    def run(self, *command: str, **more: str) -> str:
        """The output of a command that must end well."""
        done = self.call(*command, **more)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def call(self, *command: str, **more: str) -> "subprocess.CompletedProcess[str]":
        """Runs a command to its end."""
        return finished(*command, base=self.environment, cwd=self.environment["HOME"], **more)

    def install(self, *wheels: str) -> "subprocess.CompletedProcess[str]":
        """Installs wheels without the network."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check"]
        return self.call(*pip, "install", "--no-index", *wheels)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, installed without the network."""
    wheel = os.environ.get("NVSHMEMRS_WHEEL")
    if not wheel:
        pytest.skip("NVSHMEMRS_WHEEL names no wheel: `cargo xtask test` makes one")
    folder = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    made = Installed(folder)
    # NumPy, which the wheel depends on, is the NumPy of the tests.
    inside = made.run(made.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    for part in Path(np.__file__).parents[1].glob("numpy*"):
        (Path(inside.strip()) / part.name).symlink_to(part)
    done = made.install(wheel)
    assert done.returncode == 0, done.stdout
    return made


def test_the_first_program_of_the_readme(installed: Installed) -> None:
    for tool in ("cargo", "cc"):
        assert shutil.which(tool, path=installed.environment["PATH"]) is None
    said = installed.run("nvshmemrs-run", "-n", "2", "--", "python", str(HELLO))
    for pe, sent in ((0, 2), (1, 1)):
        assert f"PE {pe} of 2: my neighbour sent {sent}, the sum over all PEs is 3" in said, said


def test_its_own_library_is_the_one_that_is_used(installed: Installed) -> None:
    code = "import nvshmemrs._ffi as f; print(f.library_path())"
    place = Path(installed.run("python", "-c", code).strip())
    assert place.is_relative_to(installed.bin.parent) and place.is_file()


def test_programs(installed: Installed) -> None:
    assert "host" in installed.run("nvshmemrs-info")
    assert "--ops" in installed.run("nvshmemrs-perf", "--help")
    version = installed.run("python", "-m", "nvshmemrs", "--version").strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert version in installed.run("nvshmemrs-run", "--version")
    code = "import nvshmemrs.core as nvshmem; print(nvshmem._extension.is_used())"
    assert installed.run("python", "-c", code, NVSHMEMRS_PYTHON_EXTENSION="1").strip() == "True"
    code = "from nvshmemrs import inspect; print(inspect.library_version())"
    assert installed.run("python", "-c", code).strip() == version


def test_a_machine_that_is_too_old(tmp_path: Path) -> None:
    # pip decides by the name, which `auditwheel` gives to the wheels for others.
    wheel = Path(os.environ.get("NVSHMEMRS_WHEEL") or pytest.skip("NVSHMEMRS_WHEEL names no wheel"))
    machine = platform.machine()
    fitting = f"manylinux_2_28_{machine}"
    name, _, named = wheel.stem.rpartition("-")
    if "manylinux" in named:
        assert fitting in named.split("."), named
    else:
        # The tests' own wheel is for this machine only.
        wheel = Path(shutil.copy(wheel, tmp_path / f"{name}-{fitting}.whl"))
    other = "x86_64" if machine == "aarch64" else "aarch64"
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--no-index", "--only-binary=:all:"]
    for asked, fits in ((fitting, True), (f"manylinux_2_17_{machine}", False), (f"manylinux_2_28_{other}", False)):
        command = [*pip, "--target", str(tmp_path), "--platform", asked, str(wheel)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert (done.returncode == 0) == fits, done.stdout
        assert ("is not a supported wheel on this platform" in done.stdout) != fits, done.stdout


def test_a_program_of_nvshmem4py(installed: Installed) -> None:
    code = "import nvshmem.core as c; c.init(); print('PE', c.my_pe()); c.finalize()"
    command = ["nvshmemrs-run", "-n", "2", "--", "python", "-m", "nvshmemrs", "-c", code]
    assert sorted(installed.run(*command).split()) == ["0", "1", "PE", "PE"]


def compiled(installed: Installed, flags: str, program: Path) -> str:
    """The output of the ring in C, compiled with `flags` and run on 2 PEs."""
    source = ["cc", "-std=c11", "-D_GNU_SOURCE", str(RING), "-o", str(program)]
    path = os.environ["PATH"]
    installed.run(*source, *shlex.split(flags), PATH=path)
    return installed.run("nvshmemrs-run", "-n", "2", "--", str(program))


def test_a_c_program_links_and_finds_the_library(installed: Installed, tmp_path: Path) -> None:
    flags = installed.run("python", "-m", "nvshmemrs", "--cflags", "--libs")
    assert flags.count("\n") == 1
    said = compiled(installed, flags, tmp_path / "ring")
    assert said.count("ring ok") == 2, said


def test_pkg_config(installed: Installed, tmp_path: Path) -> None:
    if not shutil.which("pkg-config"):
        pytest.fail("pkg-config is missing: `cargo xtask setup` installs it")
    folder = installed.run("python", "-m", "nvshmemrs", "--pkgconfigdir").strip()
    ask = ["pkg-config", "--cflags", "--libs", "nvshmemrs"]
    flags = installed.run(*ask, PATH=os.environ["PATH"], PKG_CONFIG_PATH=folder)
    said = compiled(installed, flags, tmp_path / "ring")
    assert said.count("ring ok") == 2, said


def test_the_benchmark_finds_what_it_measures(installed: Installed) -> None:
    path = os.pathsep.join([installed.environment["PATH"], os.environ["PATH"]])
    measured = ["nvshmemrs-perf", "--ops", "put", "--sizes", "8", "--rounds", "1", "--quick"]
    assert re.search(r"^ put +8 +2 ", installed.run(*measured, PATH=path), re.MULTILINE)


# --- several hosts --------------------------------------------------------------------------------

# Lets root start jobs, with more PEs than cores: names of Open MPI 4 and of Open MPI 5.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# The environment of a PE that mpirun has started on one of two hosts.
ONE_OF_TWO = {
    "OMPI_COMM_WORLD_RANK": "0",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
}


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with a plugin."""
    named = os.environ.get("NVSHMEMRS_PLUGIN_WHEEL")
    if named:
        return Path(named)
    built = Path(os.environ.get("NVSHMEMRS_BIN_DIR", "")) / "libnvshmemrs_mpi.so"
    if not built.is_file():
        pytest.skip(f"there is no {built}: `cargo xtask plugins` builds it")
    script = [sys.executable, str(REPOSITORY / "packaging/plugin/wheel.py"), str(built)]
    made = []
    for mask in (0o022, 0o077):
        out = tmp_path_factory.mktemp("plugin")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        subprocess.run([*script, str(out)], env=environment, umask=mask, check=True)
        made += out.glob("*.whl")
    assert made[0].read_bytes() == made[1].read_bytes()
    return made[0]


def refused(installed: Installed) -> str:
    """The error of a PE on one of two hosts that cannot start."""
    code = "import nvshmemrs.core as nvshmem; nvshmem.init()"
    done = installed.call(installed.python, "-c", code, **ONE_OF_TWO)
    assert done.returncode != 0 and "BootstrapError" in done.stdout, done.stdout
    return done.stdout.splitlines()[-1]


def test_a_plugin_is_installed_by_an_extra(installed: Installed, plugin: Path) -> None:
    brought = os.environ.get("NVSHMEMRS_MPI_WHEEL")
    path = os.pathsep.join([installed.environment["PATH"], os.environ["PATH"]])
    if brought:
        done = installed.install(brought)
        assert done.returncode == 0, done.stdout
    elif not shutil.which("mpirun"):
        pytest.skip("no mpirun here")
    assert "takes a plugin for MPI, but none of libnvshmemrs_mpi.so" in refused(installed)

    extras = "openmpi4,openmpi5" if "openmpi" in plugin.name else "mpich"
    done = installed.install("--find-links", str(plugin.parent), f"nvshmemrs[{extras}]")
    assert done.returncode == 0, done.stdout
    job: List[str] = ["mpirun"]
    for host in ("a", "b"):
        job += ["-n", "1", "env", f"NVSHMEMRS_HOST_ID={host}", "python", str(HELLO), ":"]
    said = installed.run(*job[:-1], PATH=path, **OPEN_MPI)
    for pe, sent in ((0, 2), (1, 1)):
        assert f"PE {pe} of 2: my neighbour sent {sent}, the sum over all PEs is 3" in said, said

    code = "import nvshmemrs._ffi as f; print(f.library_path())"
    folder = Path(installed.run("python", "-c", code).strip()).parent
    (first,) = (file for file in folder.iterdir() if re.search("_(openmpi|mpich)[.]so$", file.name))
    second = folder / "libnvshmemrs_mpi.so"
    second.write_text("another plugin")
    said = refused(installed)
    second.unlink()
    assert f"{second} and {first} are both plugins for MPI" in said, said


def test_a_plugin_of_another_version_is_not_installed(
    installed: Installed, plugin: Path, tmp_path: Path
) -> None:
    version = installed.run("python", "-m", "nvshmemrs", "--version").strip()
    other = tmp_path / plugin.name.replace(version, "9.9.9")
    with zipfile.ZipFile(plugin) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name.endswith("/METADATA"):
                text = text.replace(version.encode(), b"9.9.9")
            new.writestr(name.replace(version, "9.9.9"), text)
    done = installed.install(str(other))
    package = plugin.name.split("-")[0].replace("_", "-")
    assert done.returncode != 0, done.stdout
    assert f"requirement nvshmemrs==9.9.9 (from {package})" in done.stdout, done.stdout


def test_only_a_plugin_becomes_its_wheel(tmp_path: Path) -> None:
    script = [sys.executable, str(REPOSITORY / "packaging/plugin/wheel.py")]
    missing, other = tmp_path / "none.so", shutil.which("readelf") or "/bin/sh"
    for arguments, said in (
        ([], "usage: wheel.py PLUGIN OUT"),
        ([missing, tmp_path], f"there is no {missing}: `cargo xtask plugins` builds"),
        ([other, tmp_path], "a wheel is for a plugin that needs libmpi.so.40 or libmpi.so.12"),
        ([HELLO, tmp_path], f"{HELLO} needs no library: a wheel is for a plugin"),
    ):
        done = subprocess.run([*script, *arguments], stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and said in done.stderr, done.stderr


# --- building from source -------------------------------------------------------------------------

CARGO = """#!/bin/sh
case "$1" in
build) echo "   Compiling many-crates v1.2.3" >&2 ;;
metadata) echo '{{"target_directory": "{target}"}}' ;;
esac
"""


def in_terminal(command: List[str], environment: Dict[str, str]) -> str:
    """The output of a command on a terminal of its own; it must end well."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    shown, end = b"", time.monotonic() + 120
    while time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            try:
                shown += os.read(terminal, 1 << 16)
            except OSError:  # no process has it open any more
                break
    os.close(terminal)
    text = shown.decode(errors="replace")
    assert os.waitpid(pid, 0)[1] == 0, text
    return text


def test_a_build_from_source_shows_what_cargo_does(tmp_path: Path) -> None:
    package = repository("bindings/python/hatch_build.py").parent
    release = tmp_path / "target/release"
    release.mkdir(parents=True)
    ends = ("", "_shmem", "_nvshmem", "_inspect", "_jax")
    libraries = [f"libnvshmemrs{end}.so" for end in ends]
    tools = [f"nvshmemrs-{tool}" for tool in ("run", "info", "top", "perf")]
    for name in (*libraries, *tools):
        (release / name).write_text("as cargo would leave it")
    cargo = tmp_path / "cargo"
    cargo.write_text(CARGO.format(target=release.parent))
    cargo.chmod(0o755)
    environment = dict(os.environ, PATH=os.pathsep.join([str(tmp_path), os.environ["PATH"]]))
    environment.pop("NVSHMEMRS_BUILD_LIBRARY", None)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index"]
    command = [*pip, "--wheel-dir", str(tmp_path / "out"), str(package)]
    shown = in_terminal(command, environment)
    assert "nvshmemrs: cargo builds the library" in shown, shown
    assert "Compiling many-crates v1.2.3" in shown, shown
    here = re.sub("[-.]", "_", sysconfig.get_platform())
    (made,) = (tmp_path / "out").glob(f"*-py3-none-{here}.whl")
    assert "nvshmemrs/_fast.abi3.so" in zipfile.ZipFile(made).namelist(), shown

    # Without a terminal the build is silent, but not with -v; and there is no C compiler.
    environment["CC"] = "no-such-compiler -O2"
    quiet = subprocess.run(
        [*command, "-v"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        text=True,
        timeout=120,
    )
    assert quiet.returncode == 0 and "Compiling many-crates v1.2.3" in quiet.stdout, quiet.stdout
    why = "no _fast.abi3.so, so calls take ctypes: there is no C compiler `no-such-compiler`"
    assert why in quiet.stdout, quiet.stdout
    assert "nvshmemrs/_fast.abi3.so" not in zipfile.ZipFile(made).namelist()
