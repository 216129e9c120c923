"""Measures the examples in two languages on 1, 2, 4 and so on PEs, and prints a table.

    python examples/measure.py [--runs N] [--pes N ...] [--programs DIR]

It needs the compiled programs, `nvshmemrs-run` and `julia` in PATH. `--programs` is a folder that
has all compiled programs. A time is the shortest of N runs, in which each program takes its turn.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = "examples/c", "examples/cpp", "examples/fortran", "target/release/examples"


def programs(folders: list[Path], graph: str) -> list[tuple[str, str, list[str]]]:
    """Title, language and command of each program."""

    def compiled(name: str) -> str:
        found = [folder / name for folder in folders if (folder / name).exists()]
        return str(found[0]) if found else sys.exit(f"measure: {name} is not built in any of {folders}")

    def python(name: str, *arguments: str) -> list[str]:
        return [sys.executable, f"examples/python/{name}.py", *arguments]

    julia = ["julia", "--startup-file=no", "--project=bindings/julia"]
    return [
        ("Sample sort, 2 million keys", "Python", python("sample_sort")),
        ("", "C", [compiled("sample_sort")]),
        ("PageRank, 313 thousand edges", "Python", python("pagerank", "--graph", graph)),
        ("", "Rust", [compiled("pagerank"), graph]),
        ("FFT, 1024 x 1024 points", "Python", python("fft")),
        ("", "Fortran", [compiled("fft")]),
        ("Mandelbrot set, 300 x 450 points", "Python", python("mandelbrot")),
        ("the same without stealing", "Python", python("mandelbrot", "--no-steal")),
        ("", "C++", [compiled("mandelbrot")]),
        ("the same without stealing", "C++", [compiled("mandelbrot"), "--no-steal"]),
        ("Conjugate gradient, 256 x 256 points", "Python", python("conjugate_gradient")),
        ("", "Julia", [*julia, "examples/julia/conjugate_gradient.jl"]),
    ]


def seconds(command: list[str], pes: int) -> float:
    """The time that the program prints."""
    run = subprocess.run(
        ["nvshmemrs-run", "-n", str(pes), "--", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    found = re.search(r"^time: (\S+) s$", run.stdout, re.MULTILINE)
    if run.returncode or not found:
        sys.exit(f"measure: {command} on {pes} PEs exited with status {run.returncode}:\n{run.stdout}")
    return float(found[1])


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    powers = [2**i for i in range(cores.bit_length())]
    parser = argparse.ArgumentParser(description="Measures the examples in two languages.")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--pes", type=int, nargs="+", default=powers, help="numbers of PEs (up to one for each core)")
    parser.add_argument("--programs", type=Path, help="folder of the compiled programs")
    options = parser.parse_args()
    folders = [options.programs] if options.programs else [ROOT / folder for folder in FOLDERS]
    with tempfile.TemporaryDirectory() as scratch:
        graph = f"{scratch}/graph"
        export = [sys.executable, "examples/python/pagerank.py", "--export", graph]
        subprocess.run(export, cwd=ROOT, check=True)
        chosen = programs(folders, graph)
        best: dict[tuple[int, int], float] = {}
        for _ in range(options.runs):
            for at, (_, _, command) in enumerate(chosen):
                for pes in options.pes:
                    best[at, pes] = min(seconds(command, pes), best.get((at, pes), float("inf")))
    print("| example | language |" + "".join(f" {pes} PE{'s'[: pes > 1]} |" for pes in options.pes))
    print("|---|---|" + "---:|" * len(options.pes))
    for at, (title, language, _) in enumerate(chosen):
        times = [best[at, pes] for pes in options.pes]
        cells = [f" {1000 * times[0]:.0f} ms |"]
        cells += [f" {1000 * time:.0f} ms ({times[0] / time:.2f}x) |" for time in times[1:]]
        print(f"| {title} | {language} |" + "".join(cells))


if __name__ == "__main__":
    main()
