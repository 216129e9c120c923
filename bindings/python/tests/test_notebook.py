"""The notebook of the tutorial: it has the cells of its program, and runs as one process, with
engines of ipyparallel, and with engines that MPI starts.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

for needed in ("ipykernel", "ipyparallel", "jupytext"):
    pytest.importorskip(needed)
nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")

HERE = Path(__file__).parents[3] / "examples" / "notebooks"
NOTEBOOK = HERE / "tutorial.ipynb"
if not NOTEBOOK.is_file():
    pytest.skip(f"the notebook is not beside these tests: no {NOTEBOOK}", allow_module_level=True)
spec = importlib.util.spec_from_file_location("make", HERE / "make.py")
assert spec and spec.loader
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)

FOUR = "it is shown with 4 PEs"


def with_settings(**settings: Any) -> Any:
    """The notebook of the repository, after a reader has changed settings in its first cell."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    for name, value in settings.items():
        line = rf"^{name} = [^ ]+"
        cell.source, times = re.subn(line, f"{name} = {value!r}", cell.source, flags=re.MULTILINE)
        assert times == 1, name
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    return notebook


def outputs(notebook: Any) -> Iterator[Any]:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            yield from cell.outputs


def said(notebook: Any) -> str:
    return "".join(out.text for out in outputs(notebook) if out.output_type == "stream")


def pictures(notebook: Any) -> int:
    return sum("image/png" in out.get("data", {}) for out in outputs(notebook))


def assert_complete(notebook: Any, n_pes: int) -> None:
    """Each PE came through, and PE 0 drew the pictures."""
    text = said(notebook)
    assert text.count("every check passed") == 1, text
    for pe in range(n_pes):
        assert f"[PE {pe}] {pe} of {n_pes}\n" in text, text
        assert f"[PE {pe}] the signal is 2\n" in text, text
    assert text.count(FOUR) == (2 * n_pes if n_pes < 4 else 0), text
    assert pictures(notebook) == 3
    assert not [out for out in outputs(notebook) if out.output_type == "error"]


def test_the_notebook_has_the_cells_of_the_program() -> None:
    stored, made = nbformat.read(NOTEBOOK, as_version=4), make.from_source()
    nbformat.validate(stored)
    again = "examples/python/tutorial.py has changed: run examples/notebooks/make.py"
    assert stored.metadata == made.metadata, again
    for mine, theirs in zip(stored.cells, made.cells):
        for key in ("cell_type", "id", "source"):
            assert mine[key] == theirs[key], again
    assert len(stored.cells) == len(made.cells), again


def test_a_reader_finds_the_output_of_four_pes() -> None:
    assert_complete(nbformat.read(NOTEBOOK, as_version=4), 4)
    assert NOTEBOOK.stat().st_size < 120_000, "the pictures have become large"


@pytest.mark.parametrize("installed", [True, False])
def test_one_process(installed: bool) -> None:
    notebook = with_settings(ENGINES=0 if installed else 4)
    if not installed:
        hidden = nbformat.v4.new_code_cell("import sys\nsys.modules['ipyparallel'] = None")
        notebook.cells.insert(0, hidden)
    make.execute(notebook)
    assert_complete(notebook, 1)
    assert ("ipyparallel is not installed" in said(notebook)) == (not installed)


def test_engines() -> None:
    notebook = with_settings(ENGINES=4)
    make.execute(notebook)
    assert_complete(notebook, 4)


def test_an_error_shows_the_cell() -> None:
    notebook = with_settings(ENGINES=0)
    cell = next(cell for cell in notebook.cells if "nvshmem.reduce(" in cell.source)
    cell.source = cell.source.replace('"sum", stream', '"nonsense", stream')
    with pytest.raises(nbclient.exceptions.CellExecutionError, match='"nonsense", stream=stream'):
        make.execute(notebook)


def test_engines_of_mpi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mpi4py")
    if not shutil.which("mpiexec"):
        pytest.skip("mpiexec is not on PATH")
    settings = {
        "IPYTHONDIR": str(tmp_path),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    ipcluster = [sys.executable, "-m", "ipyparallel.cluster"]
    options = ["-n", "2", "--profile=mpi", "--engines=mpi"]
    log = tmp_path / "log"
    with log.open("w") as file:
        cluster = subprocess.Popen([*ipcluster, "start", *options], stdout=file, stderr=file)
    try:
        client = tmp_path / "profile_mpi" / "security" / "ipcontroller-client.json"
        end = time.monotonic() + 120
        while not client.is_file():
            assert cluster.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        notebook = with_settings(ENGINES=2, PROFILE="mpi", JOIN="mpi")
        make.execute(notebook)
        assert_complete(notebook, 2)
    finally:
        cluster.terminate()
        cluster.wait(120)
