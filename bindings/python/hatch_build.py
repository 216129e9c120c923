"""Build hook: one wheel holds the Python package, the native library and the launcher.

The library comes from the file that ``NVSHMEMRS_BUILD_LIBRARY`` names, else from ``cargo build
--release`` in the workspace that this directory belongs to.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY_IN_PACKAGE = "nvshmemrs/lib/libnvshmemrs.so.0"
IMAGES = "nvshmemrs-images"
PROGRAMS = ("nvshmemrs-run", "nvshmemrs-info")
INCLUDES = ("nvshmemrs.h", "nvshmemrs_plain_access.c")


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
        if version == "editable":  # the source tree is the package then
            copy = Path(self.root) / "src" / LIBRARY_IN_PACKAGE
            copy.parent.mkdir(exist_ok=True)
            shutil.copyfile(library, copy)
        else:
            build_data["force_include"][str(library)] = LIBRARY_IN_PACKAGE
            for include in INCLUDES:
                path = find_workspace(Path(self.root)) / "include" / include
                build_data["force_include"][str(path)] = f"nvshmemrs/include/{include}"
            images = library.parent / IMAGES
            if images.is_dir():  # without them, NVRTC compiles the GPU's kernels when they are needed
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


def build(root: Path) -> Path:
    """Builds the library and the programs; returns the library."""
    workspace = find_workspace(root)
    cargo = shutil.which("cargo")
    if cargo is None:
        raise BuildError(
            "cargo is not on PATH: install Rust (https://rustup.rs), or set "
            "NVSHMEMRS_BUILD_LIBRARY to a built libnvshmemrs.so"
        )
    packages = ["-p", "nvshmemrs-capi", "-p", "nvshmemrs-cli"]
    subprocess.run([cargo, "build", "--release", *packages], cwd=workspace, check=True)
    described = subprocess.run(
        [cargo, "metadata", "--no-deps", "--format-version", "1"],
        cwd=workspace,
        check=True,
        stdout=subprocess.PIPE,
    )
    target = Path(json.loads(described.stdout)["target_directory"])
    return target / "release" / "libnvshmemrs.so"


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
