"""Build hook: one wheel holds the Python package, the native library, its header and the programs.

The library comes from the file that ``NVSHMEMRS_BUILD_LIBRARY`` names, with the programs beside it;
else from ``cargo build --release`` in the workspace that this directory belongs to.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import IO, Any, Iterator

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY_IN_PACKAGE = "nvshmemrs/lib/libnvshmemrs.so.0"
INSPECT = "libnvshmemrs_inspect.so"
IMAGES = "nvshmemrs-images"
PROGRAMS = ("nvshmemrs-run", "nvshmemrs-info", "nvshmemrs-perf")
PACKAGES = ("nvshmemrs-capi", "nvshmemrs-inspect", "nvshmemrs-cli", "nvshmemrs-perf")
INCLUDES = (
    "nvshmemrs.h",
    "nvshmemrs_plain_access.c",
    "nvshmemrs_device.cuh",
    "nvshmemrs_device_host.hpp",
    "nvshmemrs_launch.cuh",
    "nvshmemrs_tile.cuh",
    "nvshmemrs_qp.cuh",
)
PKG_CONFIG = """\
prefix=${{pcfiledir}}/../..
includedir=${{prefix}}/include
libdir=${{prefix}}/lib

Name: nvshmemrs
Description: One-sided communication in the NVSHMEM/OpenSHMEM model
Version: {version}
Cflags: -I${{includedir}}
Libs: -L${{libdir}} -l:libnvshmemrs.so.0 -Wl,-rpath,${{libdir}}
"""


class BuildError(RuntimeError):
    """The native part could not be built or found."""


class CustomBuildHook(BuildHookInterface):
    """Adds the native files to the wheel and names the platform in its tag."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel."""
        given = os.environ.get("NVSHMEMRS_BUILD_LIBRARY")
        library = Path(given) if given else build(Path(self.root))
        if not library.is_file():
            named = ", which NVSHMEMRS_BUILD_LIBRARY names" if given else ""
            raise BuildError(f"no library at {library}{named}")
        self.scratch = tempfile.TemporaryDirectory()
        files = self.files(library)
        if version == "editable":  # the source tree is the package then
            for place, file in files.items():
                copy = Path(self.root) / "src" / place
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        else:
            build_data["force_include"].update({str(file): place for place, file in files.items()})
            images = library.parent / IMAGES
            if images.is_dir():  # without them, NVRTC compiles the kernels when they are needed
                build_data["force_include"][str(images)] = f"nvshmemrs/lib/{IMAGES}"
        for program in PROGRAMS:
            path = library.parent / program
            if path.is_file():
                build_data["shared_scripts"][str(path)] = program
            elif not given:
                raise BuildError(f"cargo built no {program} in {library.parent}")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def files(self, library: Path) -> dict[str, Path]:
        """The files that the package gets, by their places in it."""
        include = find_workspace(Path(self.root)) / "include"
        pkg_config = Path(self.scratch.name) / "nvshmemrs.pc"
        pkg_config.write_text(PKG_CONFIG.format(version=self.metadata.version), encoding="utf-8")
        inspect = library.parent / INSPECT
        if not inspect.is_file():
            raise BuildError(f"no library of nvshmemrs.inspect at {inspect}")
        return {
            LIBRARY_IN_PACKAGE: library,
            f"nvshmemrs/lib/{INSPECT}": inspect,
            "nvshmemrs/lib/pkgconfig/nvshmemrs.pc": pkg_config,
            **{f"nvshmemrs/include/{name}": include / name for name in INCLUDES},
        }

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when it has written the wheel."""
        self.scratch.cleanup()


def build(root: Path) -> Path:
    """Builds the library and the programs; returns the library."""
    workspace = find_workspace(root)
    cargo = shutil.which("cargo")
    if cargo is None:
        raise BuildError(
            "cargo is not on PATH: install Rust (https://rustup.rs), or set "
            "NVSHMEMRS_BUILD_LIBRARY to a built libnvshmemrs.so"
        )
    packages = [word for package in PACKAGES for word in ("-p", package)]
    with terminal() as shown:
        command = [cargo, "build", "--release", *packages]
        subprocess.run(command, cwd=workspace, check=True, stderr=shown)
    described = subprocess.run(
        [cargo, "metadata", "--no-deps", "--format-version", "1"],
        cwd=workspace,
        check=True,
        stdout=subprocess.PIPE,
    )
    target = Path(json.loads(described.stdout)["target_directory"])
    return target / "release" / "libnvshmemrs.so"


@contextlib.contextmanager
def terminal() -> Iterator[IO[str] | None]:
    """The terminal that the build was started from, for what cargo says while it builds: pip shows
    nothing of a build that takes minutes. None without one; ``pip install -v`` shows it then.
    """
    try:
        tty = open("/dev/tty", "w")
    except OSError:
        yield None
        return
    with tty:
        print("\nnvshmemrs: cargo builds the library and the programs", file=tty, flush=True)
        yield tty


def find_workspace(root: Path) -> Path:
    """The nearest directory above that holds the Cargo workspace."""
    for directory in root.resolve().parents:
        manifest = directory / "Cargo.toml"
        if manifest.is_file() and "[workspace]" in manifest.read_text(encoding="utf-8"):
            return directory
    raise BuildError(
        f"no Cargo workspace above {root}: build from a checkout of nvshmemrs, or set "
        "NVSHMEMRS_BUILD_LIBRARY to a built libnvshmemrs.so"
    )
