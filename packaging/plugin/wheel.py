"""Makes the wheel with an MPI plugin: ``python packaging/plugin/wheel.py PLUGIN OUT``.

PLUGIN is a built ``libnvshmemrs_mpi.so``. Which MPI the wheel is for follows from the library that the
plugin needs. Needs hatchling and readelf. ``SOURCE_DATE_EPOCH`` is the time of the files in the wheel.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
# The library of an MPI, the end of the wheel's name, and the MPIs that have the library.
MPIS = {
    "libmpi.so.40": ("openmpi", "Open MPI 4 and 5"),
    "libmpi.so.12": ("mpich", "MPICH 4 and 5"),
}


def mpi_of(plugin: Path) -> tuple[str, str]:
    """The MPI that a plugin is for."""
    command = ["readelf", "--dynamic", "--wide", str(plugin)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", done.stdout)
    for library in needed:
        if library in MPIS:
            return MPIS[library]
    found = ", ".join(needed) or "no library"
    sys.exit(f"{plugin} needs {found}: a wheel is for a plugin that needs {' or '.join(MPIS)}")


def main() -> None:
    """Makes the wheel."""
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py PLUGIN OUT")
    plugin, out = map(Path, sys.argv[1:])
    if not plugin.is_file():
        sys.exit(f"there is no {plugin}: `cargo xtask plugins` builds libnvshmemrs_mpi.so")
    mpi, name = mpi_of(plugin)
    cargo = (HERE / "../../Cargo.toml").read_text(encoding="utf-8")
    version = re.search(r'(?m)^version = "([^"]+)"', cargo)[1]
    project = (HERE / "pyproject.toml").read_text(encoding="utf-8")
    for word, text in (("@MPI@", mpi), ("@NAME@", name), ("@VERSION@", version)):
        project = project.replace(word, text)
    with tempfile.TemporaryDirectory() as stage:
        Path(stage, "pyproject.toml").write_text(project, encoding="utf-8")
        shutil.copyfile(HERE / "hatch_build.py", Path(stage, "hatch_build.py"))
        library = Path(stage, f"libnvshmemrs_{mpi}.so")
        shutil.copyfile(plugin, library)
        library.chmod(0o755)
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out.resolve())]
        done = subprocess.run(build, cwd=stage)
    sys.exit(done.returncode)


main()
