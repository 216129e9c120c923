"""Types: mypy --strict and pyright accept the package, the examples and what is right, and find
what is wrong. pyright is that of basedpyright, whose wheel brings its Node.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Dict, Iterator, List, Set, Tuple

import conftest
import pytest

import nvshmemrs
import nvshmemrs.core as nvshmem

PYTHON = Path(__file__).parent.parent
TYPING = PYTHON / "tests" / "typing"
WRONG = TYPING / "wrong.py"
EXAMPLES = PYTHON.parent.parent / "examples" / "python"
FILES = [
    PYTHON / "src" / "nvshmemrs",
    TYPING / "right.py",
    WRONG,
    # Kernels in Triton are not type-checked as Python: Triton's compiler checks them. torch is not
    # here, and JAX's types are large.
    *sorted(
        path for path in EXAMPLES.glob("*.py") if not path.name.startswith(("jax_", "torch_", "triton_"))
    ),
    EXAMPLES.parent / "measure.py",
]
KERNELS = [
    str(path)
    for path in sorted((PYTHON / "src/nvshmemrs/core/device/triton").glob("_[a-z]*.py"))
    if path.name != "_host.py"
] + [str(path) for path in sorted((PYTHON / "src/nvshmemrs/core/fused/_kernels").glob("*.py"))]
KERNELS += [str(PYTHON / "src/nvshmemrs/core/interop/_torch_alltoallv_kernels.py")]

# Modules that need not be installed here, and that the type checkers cannot read: each attribute
# has any type.
ABSENT = """
    IPython.display cuda.core cupy ipyparallel mpi4py
    numba.cuda.codegen numba.cuda.config numba.cuda.core.errors numba.cuda.cudadrv.driver
    numba.cuda.extending numba.cuda.simulator.args numba.cuda.simulator.cudadrv.devicearray
    numba.cuda.simulator.kernel numba.cuda.types
    numba_cuda_mlir._mlir.dialects numba_cuda_mlir._mlir.extras.types numba_cuda_mlir._mlir.ir
    numba_cuda_mlir.cuda numba_cuda_mlir.descriptor numba_cuda_mlir.extending
    numba_cuda_mlir.lowering_utilities numba_cuda_mlir.numba_cuda.core.errors
    numba_cuda_mlir.numba_cuda.types
""".split()


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the types of absent modules."""
    folder = tmp_path_factory.mktemp("stubs")
    for name in ABSENT:
        module = folder
        for part in name.split("."):
            module = module / part
            module.mkdir(exist_ok=True)
            text = "from typing import Any\n\ndef __getattr__(name: str) -> Any: ...\n"
            (module / "__init__.pyi").write_text(text)
    # The package `cuda` has only modules.
    (folder / "cuda/__init__.pyi").write_text("")
    (folder / "tqdm.pyi").write_text(
        "from typing import Any\n\ndef tqdm(*arguments: Any, **named: Any) -> Any: ...\n"
    )
    return folder


def run(*command: str, **environment: str) -> str:
    # The errors are those of wrong.py.
    return conftest.run(sys.executable, "-m", *command, expected=1, limit=600, **environment)


def check(found: List[Tuple[str, int, str]]) -> None:
    """`found` are all errors: path, line, message."""
    elsewhere = [error for error in found if not error[0].endswith("wrong.py")]
    assert not elsewhere
    marked = {
        number
        for number, line in enumerate(WRONG.read_text().splitlines(), 1)
        if line.endswith("  # error")
    }
    assert len(marked) > 20
    assert {line for _, line, _ in found} == marked, found


def test_mypy(tmp_path: Path, stubs: Path) -> None:
    pytest.importorskip("mypy")
    paths = os.pathsep.join(map(str, (PYTHON / "src", stubs)))
    out = run(
        "mypy", "--strict", "--hide-error-context", f"--cache-dir={tmp_path}",
        *map(str, FILES), MYPYPATH=paths, PYTHONPATH="",
    )  # fmt: skip
    errors = re.findall(r"^(.+?):(\d+): error: (.*)$", out, re.MULTILINE)
    check([(path, int(line), text) for path, line, text in errors])


def test_pyright(tmp_path: Path, stubs: Path) -> None:
    pytest.importorskip("basedpyright")
    settings = {
        "include": [str(path) for path in FILES],
        # The examples share a module that lies beside them.
        "extraPaths": [str(PYTHON / "src"), str(EXAMPLES)],
        "ignore": KERNELS,
        "stubPath": str(stubs),
        "typeCheckingMode": "standard",
        "reportMissingModuleSource": "none",
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    out = run(
        "basedpyright", "--outputjson", "--project", str(tmp_path), "--pythonpath", sys.executable
    )
    diagnostics = json.loads(out[out.index("{") :])["generalDiagnostics"]
    check([(d["file"], d["range"]["start"]["line"] + 1, d["message"]) for d in diagnostics])


def modules() -> Iterator[ModuleType]:
    """nvshmemrs.core and the modules in it that have no underscore."""
    yield nvshmem
    for name, value in sorted(vars(nvshmem).items()):
        public = isinstance(value, ModuleType) and not name.startswith("_")
        if public and value not in (nvshmem, sys):
            yield value
    yield from (nvshmem.interop.numpy, nvshmem.interop.cupy, nvshmem.interop.torch)


def test_every_public_name_is_in_all() -> None:
    # Imports that a module itself needs; all other names without an underscore are public.
    # `fused` is a package of its own, there once another test has imported it.
    imported = {"annotations", "sys", "Any", "TYPE_CHECKING", "fused"}
    public = {name for name in vars(nvshmem) if not name.startswith("_")} - imported
    assert public == set(nvshmem.__all__)
    for module in modules():
        own: Set[str] = {
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
            and (callable(value) or isinstance(value, type))
        }
        assert own <= set(module.__all__) | _INTERNAL.get(module.__name__, set()), module


# Functions of a module that only the other modules of the package use.
_INTERNAL: Dict[str, Set[str]] = {
    "nvshmemrs.core.device": {"fitting"},
    "nvshmemrs.core.memory": {
        "allocate", "as_numpy", "end", "fail_allocation", "fail_free", "leave_scope", "owner_of",
        "peer_address", "registered_at", "unregister",
    },
    "nvshmemrs.core.init_fini": {"attributes", "end_together"},
    "nvshmemrs.core.interop.numpy": {"announce_if_checked"},
    "nvshmemrs.core.streams": {
        "adopt_current", "completed", "handle_of", "hold", "hold_until_quiet", "queue",
        "release_all", "synchronize",
    },
    "nvshmemrs.core.collective": {"team_size"},
    "nvshmemrs.core.nvshmem_types": {
        "TeamsOfProcess", "TeamsOfThread", "error_of", "name_teams_of_thread",
    },
}  # fmt: skip


def test_a_star_import_brings_all_names() -> None:
    for module in (nvshmemrs, nvshmem):
        names: Dict[str, object] = {}
        exec(f"from {module.__name__} import *", names)
        assert set(nvshmem.__all__) <= set(names)
        assert names["bytearray"] is nvshmem.bytearray and names["put"] is nvshmem.put
    assert set(nvshmem.__all__) | {"__version__"} <= set(dir(nvshmemrs))
