"""The programs of the pages that are written for the documentation site: each is run as a reader would run it.

A comment before a block says how it differs from a program that ends well on two PEs:

<!-- run: alone -->                  without the launcher
<!-- run: mpi -->, <!-- run: torch -->  under mpirun; with a Python that has torch
<!-- run: env=NAME=VALUE -->         with a setting
<!-- run: exit=1 timeout=1 stderr --> it ends with a status; waits have a limit; standard error has the lines

The block `text` behind a program holds lines that it must print. On all pages of the site, blocks of shell are parsed, and the
options of our programs in them must exist; YAML, JSON and Dockerfiles are parsed; parts of programs are compiled.
"""

from __future__ import annotations

import json
import operator
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import pytest
from test_libraries import _python_with_torch

import nvshmemrs.core as nvshmem
from nvshmemrs._ffi import Status
from nvshmemrs.core.nvshmem_types import error_of

ROOT = Path(__file__).resolve().parents[3]
PAGES = (
    "concepts start clusters debugger errors from-deepep from-iris from-mpi4py from-nccl from-nvshmem4py from-torch fused hangs jupyter performance profile support"
).split()
OTHERS = ("docs/site/index.md", "capi/README.md", "core/README.md")
PROGRAMS = ("nvshmemrs-run", "nvshmemrs-info", "nvshmemrs-top", "nvshmemrs-perf")
LANGUAGES = ("c", "cpp", "python", "julia", "fortran", "rust")
# `py` is a part of a program in Python. test_install.py uses CMake; inspect.rs runs Ruby. Kotlin and Swift are not run.
UNBUILT = ("py", "cmake", "kotlin", "swift", "ruby")
DATA = ("sh", "yaml", "json", "toml", "dockerfile")


class Block(NamedTuple):
    """A block of code: its page, its number there, its language, how to run it, itself, and what it prints."""

    page: Path
    number: int
    language: str
    how: List[str]
    text: str
    printed: List[str]


def blocks_of(page: Path) -> List[Block]:
    pattern = r"^(?:<!-- run:([^\n]*)-->\n)?```(\w+)\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?"
    found = re.finditer(pattern, page.read_text(), re.MULTILINE | re.DOTALL)
    return [
        Block(page, number, one[2], (one[1] or "").split(), one[3], (one[4] or "").splitlines())
        for number, one in enumerate(found)
    ]


FILES = [ROOT / f"docs/{name}.md" for name in PAGES] + [ROOT / name for name in OTHERS]
# All pages of the site. Programs of pages that are not listed above run in other tests, whose files name the page.
SITE = sorted({*FILES, *(page for pattern in (
    "README.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/perf/*.md", "examples/README.md", "bindings/*/README.md"
) for page in ROOT.glob(pattern))})  # fmt: skip
RUN_BY = {
    "README.md": "xtask/src/test/mod.rs",
    "bindings/cpp/README.md": "tests/conformance/cxx.rs",
    "bindings/fortran/README.md": "tests/conformance/fortran.rs",
    "bindings/julia/README.md": "bindings/julia/test/runtests.jl",
    "bindings/python/README.md": "bindings/python/tests/test_jobs.py",
    "docs/inspect.md": "tests/programs/inspect.rs",
    "docs/jax.md": "bindings/python/tests/test_jax.py",
    "docs/torch.md": "bindings/python/tests/test_torch_ops.py",
}
# Parts of programs, by the page and their number among its programs: the lines before and after them, with which they compile.
KERNEL = "#include <nvshmemrs.h>\n#include <nvshmemrs_device_host.hpp>\n"
NVSHMEM = "#include <nvshmem.h>\n#include <nvshmemx.h>\n#include <nvshmemrs.h>\nint cudaSetDevice(int);\n"
PARTS = {
    ("device", 0): (KERNEL, ""),
    ("device", 1): (KERNEL + "void pass(nvshmemrs_device_state_t, long *, unsigned long *);\nvoid f(nvshmemrs_runtime_t runtime, long *from, unsigned long *arrived) {", "}"),
    ("device", 3): (KERNEL + "void f(nvshmemrs_device_state_t state, float *dest, float *source, size_t n, int pe) {", "}"),
    ("device", 4): (KERNEL + "void ring(nvshmemrs_device_state_t, char *, char *);\nvoid f(nvshmemrs_device_state_t state, char *message, char *signal) {", "}"),
    ("nvshmem", 0): (NVSHMEM + "void f(size_t size) {", "(void)data; }"),
    ("nvshmem", 1): (NVSHMEM + "void f(void) {", "}"),
    ("nvshmem-kernels", 0): (NVSHMEM + "int cuModuleLoadData(CUmodule *, const void *);\nvoid f(CUmodule module, const void *cubin) {", "}"),
}  # fmt: skip
# Definitions that let a compiler for the CPU read CUDA's keywords.
CUDA = ((r"<<<.*?>>>", ""), (r"extern __shared__ (.*)\[\];", r"\1[1 << 14];"))
pytestmark = pytest.mark.skipif(
    not FILES[0].is_file(), reason="the pages are in the repository only"
)
BLOCKS = [block for page in SITE if page.is_file() for block in blocks_of(page)]


def named(block: Block) -> str:
    return f"{block.page.parent.name}/{block.page.stem}-{block.number}-{block.language}"


def of(languages: Tuple[str, ...], pages: Sequence[Path] = SITE) -> List[Block]:
    return [block for block in BLOCKS if block.language in languages and block.page in pages]


def prefix() -> Path:
    folder = os.environ.get("NVSHMEMRS_PREFIX")
    if not folder:
        pytest.skip("NVSHMEMRS_PREFIX names no installation: run `cargo xtask test`")
    return Path(folder)


def built(block: Block, folder: Path) -> List[str]:
    """The command that runs a program, which is compiled if need be."""
    ends = {"c": "c", "cpp": "cpp", "python": "py", "julia": "jl", "fortran": "f90"}
    source = folder / f"program.{ends.get(block.language, '')}"
    source.write_text(block.text)
    if block.language == "python":
        return [sys.executable, str(source)]
    if block.language == "julia":
        julia = os.environ.get("NVSHMEMRS_JULIA") or shutil.which("julia")
        if not julia:
            pytest.skip("there is no Julia")
        return [julia, "--startup-file=no", f"--project={ROOT / 'bindings/julia'}", str(source)]
    if block.language == "rust":
        # Cargo has compiled it as an example of the package.
        assert block.text == (ROOT / "core/examples/hello.rs").read_text()
        example = Path(os.environ.get("NVSHMEMRS_BIN_DIR", ROOT / "target/release")) / "examples/hello"
        if not example.is_file():
            pytest.skip(f"there is no {example}: run `cargo build --release --workspace --examples`")
        return [str(example)]
    wrapper = {"c": "cc", "cpp": "c++", "fortran": "fc"}[block.language]
    options = ["-std=c++17"] if block.language == "cpp" else []
    command = [str(prefix() / f"bin/nvshmemrs-{wrapper}"), *options, str(source), "-o", str(folder / "program")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [str(folder / "program")]


@pytest.mark.parametrize("block", of(LANGUAGES, FILES), ids=named)
def test_program(block: Block, tmp_path: Path) -> None:
    words = dict(word.partition("=")[::2] for word in block.how if "=" in word)
    command = built(block, tmp_path)
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    if "torch" in block.how:
        python = _python_with_torch()
        if python is None:
            pytest.skip("no Python here has torch: apt-get install python3-torch")
        command[:1] = python
        # The package alone, so that the other Python uses its own NumPy.
        (tmp_path / "nvshmemrs").symlink_to(Path(nvshmem.__file__).parent.parent)
        environment["PYTHONPATH"] = str(tmp_path)
    if "env" in words:
        environment.update([tuple(words["env"].split("=", 1))])  # type: ignore[list-item]
    start = ["nvshmemrs-run", "-n", "2"]
    if "timeout" in words:
        start += ["--timeout", words["timeout"], "--stall-after", "0.3"]
    start.append("--")
    if "mpi" in block.how:
        start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    elif "alone" in block.how:
        start = []
    done = subprocess.run([*start, *command], capture_output=True, text=True, timeout=120, env=environment, cwd=tmp_path)
    assert done.returncode == int(words.get("exit", 0)), done.stdout + done.stderr
    # Another language's program prints what the first one of the page prints.
    first = next((one.printed for one in BLOCKS if one.page == block.page and one.printed), [])
    lines = block.printed or (first if block.page.stem == "start" else [])
    shown = done.stderr if "stderr" in block.how else done.stdout
    missing = [line for line in lines if line not in shown.splitlines()]
    assert not missing, f"{missing} not in:\n{shown}"


def options_of(program: str, known: Dict[str, str] = {}) -> str:  # noqa: B006  (a cache)
    if program not in known:
        known[program] = subprocess.run([program, "--help"], capture_output=True, text=True).stdout
    return known[program]


def commands_of(text: str) -> Iterator[List[str]]:
    """The words of each command of a shell script: a line, or several that a quote or a backslash joins."""
    command = ""
    for line in text.replace("\\\n", "").splitlines(keepends=True):
        command += line
        try:
            yield shlex.split(command, comments=True)
        except ValueError:  # a quote is still open
            continue
        command = ""
    assert not command, command


@pytest.mark.parametrize("block", of(DATA), ids=named)
def test_what_is_parsed(block: Block) -> None:
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "yaml":
        yaml = pytest.importorskip("yaml")
        assert {"apiVersion", "kind", "spec"} <= set(yaml.safe_load(block.text))
    elif block.language == "dockerfile":
        words = [line.split()[0] for line in block.text.splitlines() if line]
        assert words[0] == "FROM" and set(words) <= {"FROM", "COPY", "RUN", "ENTRYPOINT", "ENV"}
        entry = block.text.split("ENTRYPOINT ")[1]
        assert json.loads(entry)[0] in PROGRAMS
    elif block.language == "sh":
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        for words in commands_of(block.text):
            programs = [word for word in words if Path(word).name in PROGRAMS]
            if not programs:
                continue
            rest = words[words.index(programs[0]) + 1 :]
            # Up to the command that the launcher starts, or to what a shell substitutes.
            ends = [at for at, word in enumerate(rest) if word == "--" or word.startswith("$(")]
            rest = rest[: ends[0]] if ends else rest
            for option in (word.partition("=")[0] for word in rest if word.startswith("-")):
                help_text = options_of(Path(programs[0]).name)
                assert re.search(rf"(^|[ ,]){re.escape(option)}\b", help_text), f"{programs[0]} has no {option}"


def test_pages_name_functions_that_exist() -> None:
    header = (ROOT / "include/nvshmemrs.h").read_text()
    for page in FILES:
        text = page.read_text()
        missing = [name for name in re.findall(r"\bnvshmemrs_[a-z0-9_]+\b(?!\.)", text) if not declared(name, header)]
        assert not missing, f"{page.name} names {missing}"
        for path in re.findall(r"\bnvshmem\.([A-Za-z_][\w.]*\w)", text):
            # The module's own name, a page, a header.
            if path.split(".")[0] not in ("core", "bindings", "md", "h"):
                operator.attrgetter(path)(nvshmem)
    # In the tables of porting pages Python's functions stand without the module.
    for name in ("from-mpi4py", "from-nccl", "from-torch", "from-nvshmem4py"):
        for row in re.findall(r"^\|.*\|$", (ROOT / f"docs/{name}.md").read_text(), re.MULTILINE):
            last = re.split(r"(?<!\\)\|", row)[-2]
            calls = [call for call in re.findall(r"`(\w+)[`(]", last) if not call.startswith("nvshmemrs_")]
            missing = [call for call in calls if not hasattr(nvshmem, call)]
            assert not missing, f"{name} names {missing}"


def declared(name: str, header: str) -> bool:
    """Whether C or Fortran has the name, or it is one of our files."""
    fortran = "\n".join(file.read_text() for file in (ROOT / "bindings/fortran/src").glob("*.f90"))
    return re.search(rf"\b{name}\b", header + fortran) is not None or name in ("nvshmemrs_mpi", "nvshmemrs_device")


def test_the_page_about_errors_names_pythons_exceptions() -> None:
    text = (ROOT / "docs/errors.md").read_text()
    said = re.findall(r"^## (\w+)\n\nStatus (\d+)\. Python: `(\w+)`", text, re.MULTILINE)
    numbers = {name: int(number) for name, number, _ in said}
    assert numbers == {status.name: status.value for status in Status if status.name != "SUCCESS"}
    for name, number, exception in said:
        expected = "KeyboardInterrupt" if name == "INTERRUPTED" else type(error_of(int(number), "")).__name__
        assert exception == expected, name


def elsewhere() -> List[Block]:
    """The programs of the pages whose programs `test_program` does not run."""
    return [block for block in of((*LANGUAGES, "py")) if block.page not in FILES or block.language == "py"]


@pytest.mark.parametrize("block", elsewhere(), ids=named)
def test_part_of_a_program(block: Block, tmp_path: Path) -> None:
    if block.language in ("python", "py"):
        compile(block.text, named(block), "exec")
        return
    other = RUN_BY.get(str(block.page.relative_to(ROOT)))
    if other:
        assert block.page.name in (ROOT / other).read_text()
        return
    before, after = PARTS[block.page.stem, [one for one in elsewhere() if one.page == block.page].index(block)]
    text = block.text
    for pattern, instead in CUDA:
        text = re.sub(pattern, instead, text)
    source = tmp_path / f"part.{block.language}"
    source.write_text(f"{before}\n{text}\n{after}\n")
    compiler = ["cc", "-std=c11"] if block.language == "c" else ["c++", "-std=c++17"]
    command = [*compiler, "-fsyntax-only", f"-I{ROOT / 'include'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_program_for_numba_runs_in_its_simulator(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    ring = of(("python",), [ROOT / "docs/numba.md"])[0].text
    assert "init(device=0)" in ring
    source = tmp_path / "program.py"
    source.write_text(ring.replace("init(device=0)", "init()") + "nvshmem.finalize()\n")
    environment = dict(os.environ, NUMBA_ENABLE_CUDASIM="1", PYTHONDONTWRITEBYTECODE="1")
    command = ["nvshmemrs-run", "-n", "2", "--", sys.executable, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_is_looked_at() -> None:
    seen = {block.language for block in BLOCKS}
    assert seen <= {*LANGUAGES, *UNBUILT, *DATA, "text"}, seen
    assert len(of(LANGUAGES)) >= 40 and len(of(DATA)) >= 80
    for page in SITE:
        fences = re.findall(r"^```([{}\w]*)$", page.read_text(), re.MULTILINE)
        assert all(fences[::2]) and not any(fences[1::2]), f"a block of {page} has no language"
    # The first program in C is as short as the page promises.
    first = next(block for block in of(("c",), FILES))
    assert len(first.text.splitlines()) <= 20
