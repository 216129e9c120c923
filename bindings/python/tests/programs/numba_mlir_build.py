"""Compiles the kernels of `numba_kernels.py` and `numba_lent.py` with numba-cuda-mlir to cubins, without a GPU, for few types
of elements: `numba_mlir_build.py FOLDER [--arch 90] [--only NAMES] [--jobs N]`. `numba_cubins.py` launches them
on machines that lack the compiler.

A kernel takes up to minutes of processor time, all of them over 20 minutes. So what is in FOLDER
already stays if it was compiled from the same sources, by the same versions.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import re
import sys
import time
from concurrent import futures
from importlib import metadata
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

os.environ["NUMBA_KERNELS"] = "numba-cuda-mlir"
sys.argv.insert(1, "few")

import numba_kernels as k
import numba_lent as lent
import numba_mlir_alone as alone

from nvshmemrs.core import device

del sys.argv[1]


def wanted() -> Iterator[Tuple[Any, List[str]]]:
    """The kernels, and the types of their arguments as `numba_cubins.py` names them."""
    words, numbers, scalar = "uint64[]", "int64[]", "int64"
    for kind in k.NUMBERS:
        t = f"{kind}[]"
        yield k.puts, [t, t, words, scalar, scalar]
        yield k.gets, [t, t, scalar, scalar]
        yield k.numbers, [scalar, t, t, t, scalar]
        if not kind.startswith("float"):
            yield k.bits, [scalar, t, t, scalar]
    for kind in k.AMO:
        t = f"{kind}[]"
        yield k.atomics, [t, t, scalar]
        yield k.count_up, [t, scalar]
        if not kind.startswith("float"):
            yield k.bitwise, [t, t, scalar]
    for kind in k.WAITED:
        t = f"{kind}[]"
        yield k.waiting, [t, f"{k.status_kind(kind)}[]", t, numbers, words, scalar]
    for kind in k.MOVED:
        t = f"{kind}[]"
        yield k.moves, [scalar, t, t, numbers, scalar, scalar]
    yield k.everybody, [scalar, numbers]
    yield k.located, ["float64[]", "float64[]", scalar, numbers]
    yield k.pass_on, ["int32[]", words, numbers, scalar, scalar, scalar]
    yield k.store_buffering, ["int32[]", "int32[]", "int32[]", scalar, "bool"]
    t, heap = "int8[]", "uint8[]"
    yield lent.lent_moves, [t, t, words, numbers, *[scalar] * 5, "bool"]
    yield lent.crowd, [t, t, *[scalar] * 6]
    yield lent.one_of_a_warp, [t, t, *[scalar] * 6]
    yield lent.answers, [numbers, heap]
    yield lent.dynamic, [numbers]


# The suffixes of a kernel's files.
ENDS = (".json", ".cubin", ".ptx", ".half")
COMPILERS = ("numba-cuda-mlir", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc", "nvidia-nvjitlink")


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def sources(kernel: Any) -> str:
    """A hash of the sources and the compilers of a kernel."""
    made = hashlib.sha256(inspect.getsource(kernel.py_func).encode())
    for package in COMPILERS:
        made.update(f"{package} {version(package)}".encode())
    folder = Path(device.__file__).parent
    parts = "_typed.py primitives.py _constants.py _dtypes.py _operations.py _symbol.py ../nvshmem_types.py"
    files = [folder / part for part in [*parts.split(), "numba_cuda_mlir/_backend.py"]]
    files += [*sorted((folder / "_kernels").glob("*.py")), Path(alone.__file__)]
    for file in files:
        made.update(file.read_bytes())
    return made.hexdigest()[:16]


def sizes(ptx: str, kernel: str) -> List[int]:
    """The bytes of each parameter of a kernel, by its PTX."""
    head = re.search(rf"\.entry {re.escape(kernel)}\((.*?)\)", ptx, re.DOTALL)
    assert head, kernel
    kinds = re.findall(r"\.param \.[a-z](\d+) \S+", head[1])
    assert len(kinds) == head[1].count(".param"), head[1]
    return [int(bits) // 8 for bits in kinds]


def make(name: str, entry: Path, arch: int) -> None:
    """Compiles a kernel, and writes its files."""
    kernel = getattr(k, name.split()[0], None) or getattr(lent, name.split()[0])
    print(f"compiling: {name}", flush=True)
    start = time.process_time()
    cubin, ptx, symbol = alone.compiled(kernel, map(alone.named, name.split()[1:]), arch)
    entry.with_suffix(".cubin").write_bytes(cubin)
    entry.with_suffix(".ptx").write_text(ptx)
    text = {"file": entry.with_suffix(".cubin").name, "kernel": symbol, "arch": f"sm_{arch}"}
    # The file is complete or absent, also after an interrupt.
    half = entry.with_suffix(".half")
    half.write_text(json.dumps({**text, "sizes": sizes(ptx, symbol), "of": sources(kernel)}))
    half.replace(entry)
    print(f"compiled: {name}, {time.process_time() - start:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", type=int, default=90, help="such as 80 (90)")
    parser.add_argument(
        "--only", default="", help="kernels whose signatures begin so, with commas between them"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile (1)")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compile nothing; say which kernels are of other sources",
    )
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    others = [file for file in args.folder.iterdir() if file.suffix not in ENDS]
    if others:
        parser.error(f"{others[0]} is no file of kernels: give a folder of their own")
    entries: Dict[str, Path] = {}
    missing: List[str] = []
    for kernel, kinds in wanted():
        name = " ".join([kernel.py_func.__name__, *kinds])
        if not name.startswith(tuple(args.only.split(","))):
            continue
        stem = re.sub(r"\W+", "-", name.replace("[]", "s"))
        entries[name] = args.folder / f"{stem}-{args.arch}.json"
        kept = json.loads(entries[name].read_text()) if entries[name].is_file() else {}
        if kept.get("of") != sources(kernel):
            missing.append(name)
    if args.check:
        print("".join(f"other sources: {name}\n" for name in missing), end="")
        return
    with futures.ProcessPoolExecutor(args.jobs) as processes:
        places = [entries[name] for name in missing]
        for _ in processes.map(make, missing, places, [args.arch] * len(missing)):
            pass
    listed = {name: json.loads(entry.read_text()) for name, entry in entries.items()}
    if not args.only:
        kept = {Path(entry["file"]).stem for entry in listed.values()}
        for old in args.folder.glob(f"*-{args.arch}.json"):
            for end in ENDS if old.stem not in kept else ():
                old.with_suffix(end).unlink(missing_ok=True)
    (args.folder / "kernels.json").write_text(json.dumps(listed, indent=1) + "\n")
    print(f"{len(listed)} kernels of numba-cuda-mlir in {args.folder}")


if __name__ == "__main__":
    main()
