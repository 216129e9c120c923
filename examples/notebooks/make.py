"""Writes tutorial.ipynb from ../python/tutorial.py, with the output of four PEs.

python examples/notebooks/make.py    # in the environment of requirements-test.txt

The text and the code have one source, the program. A test compares the notebook with it.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbformat

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent / "python" / "tutorial.py"
NOTEBOOK = HERE / "tutorial.ipynb"


def from_source() -> Any:
    """The notebook without output."""
    notebook = jupytext.read(SOURCE, fmt="py:percent")
    del notebook.cells[0]  # the text above the first cell is for ruff
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.clear()
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def execute(notebook: Any, timeout: int = 120) -> None:
    """Runs all cells in a new kernel, each for at most `timeout` seconds. An error in a cell raises
    CellExecutionError with the text of the cell.
    """
    with tempfile.TemporaryDirectory() as folder:
        # ipyparallel keeps its files there. A PE that waits for a failed PE gets an error, too.
        environment = {"IPYTHONDIR": folder, "NVSHMEMRS_TIMEOUT": str(timeout / 2), **os.environ}
        client = nbclient.NotebookClient(notebook, timeout=timeout, record_timing=False)
        client.execute(env=environment, cwd=folder)


def main() -> None:
    notebook = from_source()
    execute(notebook)
    notebook.metadata = from_source().metadata  # the kernel has added its version
    nbformat.validate(notebook)
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
