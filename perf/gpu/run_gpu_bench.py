#!/usr/bin/env python3
"""Measures nvshmemrs on the GPUs of this machine, and the peers that are found here in turn: NVSHMEM, NCCL, torch's symmetric memory.

Tables come on standard output; the figures and a picture go to --out. A side that fails or hangs is named, and the others go on. NVLink
multicast stays off for all. Exit status: 0 if our side came through, 1 if not, 2 if there is nothing to run on.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DIST = Path(__file__).resolve().parent
sys.path.insert(0, str(DIST / "share/nvshmemrs/bench"))
import python_kernels  # noqa: E402

LAUNCHER, BENCH = str(DIST / "bin/nvshmemrs-run"), str(DIST / "bin/gpu-bench")
TORCH = str(DIST / "share/nvshmemrs/bench/torch_peer.py")
COST = str(DIST / "share/nvshmemrs/bench/python_cost.py")
# Multicast off, in the words of each: a program that uses it can put the GPUs of a shared host out of service.
OFF = {"NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1", "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1"}
NAMES = {
    "ours": "nvshmemrs",
    "ours-graph": "nvshmemrs, graph",
    "nvshmem": "NVSHMEM",
    "nvshmem-graph": "NVSHMEM, graph",
    "nccl": "NCCL",
    "nccl-graph": "NCCL, graph",
    "nccl-windows": "NCCL windows",
    "nccl-windows-graph": "NCCL windows, graph",
    "symm-one-shot": "torch one-shot, graph",
    "symm-two-shot": "torch two-shot, graph",
    "ours-python": "nvshmemrs, Python",
    "nvshmem-python": "NVSHMEM4Py",
}
COLLECTIVES = ["reduce", "reducescatter", "fcollect", "alltoall", "broadcast"]
PYTHON_BYTES = 4096  # as python_cost.py has it
COUNT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
n = ctypes.c_int()
for status in (cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(n))):
    if status: raise SystemExit(f"libcuda.so.1 answers {status}")
print(n.value)
"""


def python_finds(code: str, python: str) -> str:
    """The output of a line of Python; empty if the line fails."""
    found = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else ""


def nvshmem_library(python: str) -> str:
    """NVSHMEM's host library: in a Python package, or where the dynamic linker looks."""
    named = os.environ.get("NVSHMEM_HOST_LIBRARY")
    if named:
        return named
    code = "import nvidia.nvshmem, os; print(os.path.join(list(nvidia.nvshmem.__path__)[0], 'lib', 'libnvshmem_host.so.3'))"
    path = python_finds(code, python)
    if path and Path(path).exists():
        return path
    code = "import ctypes; ctypes.CDLL('libnvshmem_host.so.3'); print('libnvshmem_host.so.3')"
    return python_finds(code, python)


def command_of(side: str, python: str, most: int) -> list[str]:
    if side in python_kernels.PROGRAMS:
        words = python_kernels.PROGRAMS[side][0]
        return [python, *(word if word.startswith("--") else str(DIST / word) for word in words)]
    if side.endswith("-python"):
        return [python, COST, side.split("-")[0]]
    if side.split("-")[0] in ("ours", "nvshmem"):
        return [BENCH, side.split("-")[0], "graph" if side.endswith("graph") else "stream", str(most)]
    return [python, TORCH, side, str(most)]


def with_package() -> str:
    """PYTHONPATH with the bundle's package."""
    return os.pathsep.join(filter(None, [str(DIST / "python"), os.environ.get("PYTHONPATH")]))


def run(side: str, n: int, args: argparse.Namespace, library: str, work: Path, words: list[str] | None = None) -> tuple[list[dict], str]:
    """The lines of a side with `n` PEs, and the reason of a failure. `words` receives the rest of the side's output."""
    env = {
        **os.environ,
        **OFF,
        # A file, because another process can take a port before the job listens on it.
        "BENCH_INIT": f"file://{work / f'init-{side}-{n}'}",
        "BENCH_ROWS": "1",
        "BENCH_SIDE": side,
        "BENCH_UNIQUE_ID": str(work / f"id-{side}-{n}"),
        "NVSHMEM_HOST_LIBRARY": library,
        "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": os.environ.get("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"),
        "NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY": "AF_INET",
        "NVSHMEM_REMOTE_TRANSPORT": "none",
    }
    if side.startswith("ours"):
        env["NVSHMEMRS_MEMORY"] = "device"
        env["NVSHMEMRS_TIMEOUT"] = "60"
        env["PYTHONPATH"] = with_package()
    if Path(library).parent.is_dir() and "/" in library:
        env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(Path(library).parent), env.get("LD_LIBRARY_PATH")]))
    command = [LAUNCHER, "--stall-after", "0", "-n", str(n), "--", *command_of(side, args.python, args.most)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True)
        why = ""
        try:
            status = process.wait(args.limit)
            why = f"status {status}" if status else ""
        except subprocess.TimeoutExpired:
            why = f"not done after {args.limit:g} s"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        out.seek(0)
        err.seek(0)
        lines = []
        for text in out.read().decode(errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                line = None
            if isinstance(line, dict):
                lines.append(line)
            elif words is not None:
                words.append(text)
        if why:
            last = err.read().decode(errors="replace").strip().splitlines()[-30:]
            why += "".join(f"\n    {word}" for word in last)
    return lines, why


def figures(lines: list[dict]) -> dict[tuple[str, str, int], dict]:
    """Per case: a round takes as long as on its slowest PE; of the rounds the median and the least."""
    cases: dict[tuple[str, str, int], list[list[float]]] = {}
    for line in lines:
        if "us" in line:
            cases.setdefault((line["how"], line["op"], line["bytes"]), []).append(line["us"])
    found = {}
    for case, per_pe in cases.items():
        rounds = [max(times) for times in zip(*per_pe)]
        found[case] = {"median": statistics.median(rounds), "least": min(rounds), "rounds": len(rounds)}
    return found


def size_name(size: int) -> str:
    for unit, name in ((1 << 20, "Mi"), (1 << 10, "Ki")):
        if size >= unit:
            return f"{size // unit} {name}"
    return str(size) if size else "-"


def table(title: str, head: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}")
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        print("  " + "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))


def one_call(results: dict[str, dict], n: int) -> None:
    """A table for each operation: a row for each size, a column for each side, and ours beside the best peer."""
    for op in ["put", "get", "put_signal", "barrier_all", "sync_all", *COLLECTIVES]:
        sizes = sorted({size for found in results.values() for how, name, size in found if name == op and how in ("stream", "graph")})
        sides = [side for side in NAMES if any((how, op, size) in results.get(side, {}) for how in ("stream", "graph") for size in sizes)]
        if not sizes or not sides:
            continue
        rows = []
        for size in sizes:
            times = {}
            for side in sides:
                how = "graph" if side not in ("ours", "nvshmem", "nccl", "nccl-windows") else "stream"
                case = results[side].get((how, op, size))
                if case:
                    times[side] = case["median"]
            mine = {side: times[side] for side in times if side.startswith("ours")}
            peers = {side: times[side] for side in times if not side.startswith("ours")}
            ratios = []
            for peer in ("nvshmem", None):
                chosen = times.get(peer) if peer else min(peers.values(), default=None)
                ratios.append(f"{times['ours'] / chosen:.2f}" if chosen and "ours" in times else "")
            best = f"{min(mine.values()) / min(peers.values()):.2f}" if mine and peers else ""
            rows.append([size_name(size), *(f"{times[side]:.1f}" if side in times else "" for side in sides), *ratios, best])
        head = ["bytes", *(NAMES[side] for side in sides), "ours/NVSHMEM", "ours/best peer", "best/best"]
        table(f"{op}, {n} PEs, us per call on a stream", head, rows)


def others(results: dict[str, dict], n: int) -> None:
    sides = [side for side in ("ours", "nvshmem", "ours-python", "nvshmem-python") if results.get(side)]
    for how, title in (("cpu", "what putting one call on a stream costs the CPU, us"), ("host", "blocking calls, us")):
        cases = sorted({(op, size) for side in sides for h, op, size in results[side] if h == how})
        rows = []
        for op, size in cases:
            found = [results[side].get((how, op, size)) for side in sides]
            rows.append([f"{op} {size_name(size)}", *(f"{case['median']:.2f}" if case else "" for case in found)])
        if rows:
            table(f"{n} PEs: {title}", ["", *(NAMES[side] for side in sides)], rows)


def targets(results: dict[str, dict], n: int) -> list[dict]:
    """The targets, and the results that are compared with them."""

    def us(side: str, op: str, size: int, how: str = "stream") -> float | None:
        case = results.get(side, {}).get((how, op, size))
        return case["median"] if case else None

    found = []

    def at_most(what: str, mine: float | None, factor: float, peer: float | None) -> None:
        if mine and peer:
            found.append({"what": what, "limit": factor, "is": mine / peer, "met": mine / peer <= factor, "n": n})

    at_most("put 8 B / NVSHMEM", us("ours", "put", 8), 1.0, us("nvshmem", "put", 8))
    large = us("ours", "put", 64 << 20)
    if large and n > 1:
        at_most("385 GB/s / put 64 MiB's", 385.0, 1.0, (64 << 20) / large / 1e3)
    at_most("barrier_all / NVSHMEM", us("ours", "barrier_all", 0), 0.6, us("nvshmem", "barrier_all", 0))
    reduce_peers = [side for side in NAMES if not side.startswith("ours")]
    for size in (8, 64, 1024, 8192, 65536):
        times = [us(side, "reduce", size, how) for side in reduce_peers for how in ("stream", "graph")]
        at_most(f"reduce {size_name(size)}B / best peer", us("ours", "reduce", size), 0.6, min((t for t in times if t), default=None))
        graph = us("ours-graph", "reduce", size, "graph")
        at_most(f"reduce {size_name(size)}B in a graph / best peer", graph, 0.6, min((t for t in times if t), default=None))
    at_most("reduce 64 MiB / NCCL", us("ours", "reduce", 64 << 20), 1.05, us("nccl", "reduce", 64 << 20))
    for op in ("alltoall", "fcollect", "reducescatter"):
        at_most(f"{op} 64 MiB / NVSHMEM", us("ours", op, 64 << 20), 0.9, us("nvshmem", op, 64 << 20))
    for what, limit in (("init to first put", 1.5e6), ("finalize", 0.2e6)):
        at_most(f"{what} / {limit / 1e6:g} s", us("ours", what, 0, "host"), 1.0, limit)
    for op, limit in (("put", 5.0), ("reduce", 8.0)):
        at_most(f"CPU's us of a {op} on a stream from Python / {limit:g}", us("ours-python", op, PYTHON_BYTES, "cpu"), 1.0, limit)
    if found:
        rows = [[row["what"], f"{row['is']:.2f}", f"{row['limit']:.2f}", "met" if row["met"] else "MISSED"] for row in found]
        table(f"targets, {n} PEs", ["", "is", "at most", ""], rows)
    return found


def picture(all_results: dict[int, dict[str, dict]], file: Path) -> str:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return "no picture: matplotlib is not there"
    ops = ["put", *COLLECTIVES]
    figure, axes = pyplot.subplots(len(all_results), len(ops), figsize=(4 * len(ops), 3.6 * len(all_results)), squeeze=False)
    for row, (n, results) in zip(axes, all_results.items()):
        for axis, op in zip(row, ops):
            for side, name in NAMES.items():
                cases = sorted((size, case["median"]) for (how, of, size), case in results.get(side, {}).items() if of == op and how in ("stream", "graph"))
                if cases:
                    style = {"linewidth": 2.5, "color": "black"} if side == "ours" else {}
                    axis.plot(*zip(*cases), marker="o", markersize=3, linestyle="--" if "graph" in side else "-", label=name, **style)
            axis.set(xscale="log", yscale="log", title=f"{op}, {n} PEs", xlabel="bytes", ylabel="us")
            axis.grid(alpha=0.3)
    axes[0][1 if len(ops) > 1 else 0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(file, dpi=110)
    return f"the picture is {file}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pes", type=int, action="append", metavar="N", help="numbers of GPUs (2, 4, ... as far as they go; 1 where there is one)")
    parser.add_argument("--sides", help=f"which, separated by commas ({','.join(NAMES)}; with --python-kernels {','.join(python_kernels.SIDES)}; with --frameworks {','.join(python_kernels.FRAMEWORKS)})")
    parser.add_argument("--most", type=int, default=64 << 20, metavar="BYTES", help="the largest buffer (64 MiB)")
    parser.add_argument("--turns", type=int, default=1, help="how often all sides take their turn (1)")
    parser.add_argument("--limit", type=float, metavar="S", help=f"seconds that one side may take (90; with --python-kernels and --frameworks {python_kernels.LIMIT})")
    parser.add_argument("--out", type=Path, help="folder of the figures and the picture ($OUT, else bench-out)")
    measured = parser.add_mutually_exclusive_group()
    measured.add_argument("--device", action="store_true", help="measure exchanges of all PEs by kernels and, with 2 PEs, the functions that kernels call instead; it needs nvcc and 2 GPUs")
    measured.add_argument("--python-kernels", action="store_true", help="measure kernels of Numba, Triton and CuTe, and the examples with them, instead")
    measured.add_argument("--frameworks", action="store_true", help="measure operations of torch and JAX, and fused operations, instead")
    parser.add_argument("--perftest", type=Path, metavar="FOLDER", help="with --device and 2 PEs: a checkout of NVIDIA/nvshmem, whose perftests are compiled against both libraries and run")
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="the Python that has torch (python3)")
    args = parser.parse_args()
    in_python = args.python_kernels or args.frameworks
    names = python_kernels.FRAMEWORKS if args.frameworks else python_kernels.SIDES if in_python else tuple(NAMES)
    args.sides = args.sides or ",".join(names)
    args.limit = args.limit or (python_kernels.LIMIT if in_python else 90)
    unknown = set(args.sides.split(",")) - set(names)
    if unknown:
        parser.error(f"no side is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    out = args.out or Path(os.environ.get("OUT") or "bench-out")
    out.mkdir(parents=True, exist_ok=True)

    counted = python_finds(COUNT, sys.executable)
    gpus = int(counted or 0)
    if gpus == 0:
        print("run-gpu-bench: no GPU to run on: libcuda.so.1 is missing or sees none", file=sys.stderr)
        return 2
    numbers = [n for n in args.pes or ([1] if gpus == 1 else [n for n in (2, 4, 8) if n <= gpus]) if 1 <= n <= gpus]
    if args.device:
        numbers = [n for n in numbers if n > 1]
        if not numbers:
            print(f"run-gpu-bench --device: it needs 2 GPUs or more, and numbers of --pes from 2 to {gpus}, the GPUs here", file=sys.stderr)
            return 2
        from device_bench import device

        return device(DIST, args.python, args.perftest, numbers, args.turns, args.limit, out, table)
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[:1] if shutil.which("nvidia-smi") else []
    machine = {"gpus": gpus, "gpu": gpu, "host": platform.node(), "date": time.strftime("%Y-%m-%d %H:%M"), "command": sys.argv}
    print(f"{gpus} GPUs: {gpu[0] if gpu else 'nvidia-smi is missing'}; {machine['date']}", flush=True)
    if in_python:
        env = {**os.environ, **OFF, "PYTHONPATH": with_package()}
        return python_kernels.python_kernels(args, gpus, machine, out, env, run, figures, table)
    sides = args.sides.split(",")
    library = nvshmem_library(args.python)
    absent = {}
    if not library:
        absent["nvshmem"] = "no libnvshmem_host.so.3 in Python's packages, nor where the linker looks (NVSHMEM_HOST_LIBRARY names one)"
    if not python_finds("import torch; print(torch.cuda.is_available())", args.python) == "True":
        absent["nccl"] = absent["symm"] = f"{args.python} has no torch with CUDA"
    if not python_finds("import numpy; print(True)", args.python):
        absent["ours-python"] = f"{args.python} has no NumPy"
    if not python_finds("import cupy, nvshmem.core; print(True)", args.python):
        absent["nvshmem-python"] = f"{args.python} has no NVSHMEM4Py (nvshmem.core) with CuPy"
    for peer, why in absent.items():
        if any(side == peer or side.split("-")[0] == peer for side in sides):
            print(f"{peer}: not measured: {why}")
    sides = [side for side in sides if side not in absent and side.split("-")[0] not in absent]

    all_results: dict[int, dict[str, dict]] = {}
    versions, reached, broken, interrupted = {}, [], [], False
    with tempfile.TemporaryDirectory() as work:
        for n in numbers:
            lines: dict[str, list[dict]] = {side: [] for side in sides}
            try:
                for turn, side in itertools.product(range(args.turns), sides):
                    start = time.monotonic()
                    folder = Path(work) / str(turn)
                    folder.mkdir(exist_ok=True)
                    found, why = run(side, n, args, library, folder)
                    lines[side] += found
                    versions.update({line["side"]: line["version"] for line in found if "version" in line})
                    if why:
                        broken.append(side)
                    print(f"{n} PEs, {NAMES[side]}: {time.monotonic() - start:.1f} s{'; FAILED: ' + why if why else ''}", flush=True)
            except KeyboardInterrupt:
                print("run-gpu-bench: interrupted; the tables have the measurements so far", file=sys.stderr)
                interrupted = True
            all_results[n] = {side: figures(found) for side, found in lines.items() if found}
            one_call(all_results[n], n)
            others(all_results[n], n)
            reached += targets(all_results[n], n)
            if interrupted:
                break
    print("\nversions: " + ", ".join(f"{name} {version}" for name, version in versions.items()))
    document = {
        "machine": machine,
        "versions": versions,
        "targets": reached,
        "cases": [
            {"n": n, "side": side, "how": how, "op": op, "bytes": size, **case}
            for n, results in all_results.items()
            for side, found in results.items()
            for (how, op, size), case in found.items()
        ],
    }
    file = out / "gpu-bench.json"
    file.write_text(json.dumps(document, indent=1) + "\n")
    print(f"the figures are {file}; {picture(all_results, out / 'gpu-bench.png')}")
    if interrupted:
        return 128 + signal.SIGINT
    return 1 if any(side.startswith("ours") for side in broken) else 0


if __name__ == "__main__":
    sys.exit(main())
