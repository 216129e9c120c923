"""Build hook: one wheel holds the Python package, the native libraries, the headers, what build
systems look for, and the programs, as `packaging/files.json` lists them.

The library comes from the file that ``NVSHMEMRS_BUILD_LIBRARY`` names, with the programs beside it;
else from ``cargo build --release`` in the workspace that this directory belongs to.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import IO, Any, Iterator

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY = "libnvshmemrs.so"
# The stable ABI's suffix: one file serves CPython 3.11 and all later versions with a GIL.
EXTENSION = "_fast.abi3.so"
IMAGES = "nvshmemrs-images"
PACKAGES = (
    "nvshmemrs-capi",
    "nvshmemrs-openshmem",
    "nvshmemrs-nvshmem",
    "nvshmemrs-jax",
    "nvshmemrs-inspect",
    "nvshmemrs-cli",
    "nvshmemrs-perf",
    "nvshmemrs-generator",
)
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
        workspace = find_workspace(Path(self.root))
        layout = json.loads((workspace / "packaging/files.json").read_text(encoding="utf-8"))
        files = self.files(library, workspace, layout)
        extension = Path(self.scratch.name) / EXTENSION
        if compile_extension(Path(self.root) / "extension", workspace / "include", extension):
            files[f"nvshmemrs/{EXTENSION}"] = extension
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
        for program in layout["programs"]:
            path = library.parent / program
            if path.is_file():
                build_data["shared_scripts"][str(path)] = program
            elif not given:
                raise BuildError(f"cargo built no {program} in {library.parent}")
        for name in layout["compilers"]:
            script = Path(self.scratch.name) / name
            shutil.copyfile(workspace / layout["compiler"], script)
            script.chmod(0o755)
            build_data["shared_scripts"][str(script)] = name
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def files(self, library: Path, workspace: Path, layout: dict[str, Any]) -> dict[str, Path]:
        """The files that the package gets, by their places in it."""
        natives = library.parent
        files: dict[str, Path] = {}

        def write(place: str, text: str) -> None:
            made = Path(self.scratch.name) / place
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(text, encoding="utf-8")
            files[f"nvshmemrs/{place}"] = made

        for file, name in layout["libraries"].items():
            path = library if file == LIBRARY else natives / file
            if not path.is_file():
                raise BuildError(f"there is no {path}")
            files[f"nvshmemrs/lib/{name}"] = path
            if file != name:  # a wheel has no symbolic links, so the linker is told
                write(f"lib/{file}", f"INPUT({name})\n")
        for place, text in layout["texts"].items():
            template = (workspace / text).read_text(encoding="utf-8")
            write(place, template.replace("@VERSION@", self.metadata.version))
        taken = set()
        for rule in layout["headers"]:
            folder = workspace / rule["from"]
            for header in sorted(folder.rglob("*")):
                path = header.relative_to(folder)
                fits = header.is_file() and str(path).startswith(rule["beginning"])
                if fits and header not in taken:
                    taken.add(header)
                    files[f"nvshmemrs/{rule['to']}/{path}"] = header
        files.update(fortran(natives, workspace))
        return files

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called by hatchling when it has written the wheel."""
        self.scratch.cleanup()


def fortran(natives: Path, workspace: Path) -> dict[str, Path]:
    """The sources of Fortran's modules, which ``nvshmemrs-fc`` compiles for the user's compiler.
    None without the generator, which writes most of them; ``nvshmemrs-fc`` says so then.
    """
    generator = natives / "nvshmemrs-generator"
    if generator.is_file():
        subprocess.run([generator, "fortran"], cwd=workspace, check=True)
    folder = workspace / "bindings/fortran"
    if not (folder / "src/nvshmemrs_ffi.f90").is_file():
        return {}
    sources = [folder / "Makefile", *sorted(folder.glob("src/*.f90"))]
    there = "nvshmemrs/share/nvshmemrs/fortran"
    return {f"{there}/{source.relative_to(folder)}": source for source in sources}


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
        if shown is not None:
            print("\nnvshmemrs: cargo builds the library and the programs", file=shown, flush=True)
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


def compile_extension(source: Path, include: Path, out: Path) -> bool:
    """Compiles the C extension, with which calls are faster. It is optional: without a C compiler,
    or the headers of CPython 3.11 or later, the wheel has none, and the build says so.
    """
    headers = Path(sysconfig.get_path("include"))
    compiler = shlex.split(os.environ.get("CC", "cc"))
    missing = ""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11):
        missing = "it is built with CPython 3.11 or later"
    elif sysconfig.get_config_var("Py_GIL_DISABLED"):
        missing = "it is built with a Python that has a GIL"
    elif not (headers / "Python.h").is_file():
        missing = f"there is no {headers / 'Python.h'}"
    elif shutil.which(compiler[0]) is None:
        missing = f"there is no C compiler `{compiler[0]}`"
    if missing:
        with terminal() as shown:
            print(f"nvshmemrs: no {EXTENSION}, so calls take ctypes: {missing}", file=shown)
        return False
    options = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-Wl,-s"]
    folders = [f"-I{headers}", f"-I{include}"]
    command = [*compiler, *options, *folders, str(source / "fast.c"), "-o", str(out)]
    subprocess.run(command, check=True)
    return True


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
