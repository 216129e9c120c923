"""run-gpu-bench --python-kernels: kernels of Numba, Triton and CuTe, and the examples with them, beside NCCL and torch's symmetric memory.
With --frameworks only operations of torch and JAX, and fused operations.

Each program is started here in turn, with a GPU for each of 2 PEs; with one GPU, one PE runs the measurements that need no other PE. A peer that an example or a
bench has in its own process is measured there, NCCL's send and recv by torch_peer.py.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Callable

from rows import met, wanted_words

BENCH, EXAMPLES = "share/nvshmemrs/bench", "examples/python"
NUMBA, TRITON = ("numba_cuda", "cupy"), ("torch", "triton")
# The program of each side, the folder that it is given, and the packages that it imports. NVSHMEM4Py's side runs the kernels of
# nvshmemrs.
PROGRAMS = {
    "nvshmem-numba": ([f"{BENCH}/numba_kernels.py"], (*NUMBA, "nvshmem.core.device.numba", "nvshmem.bindings.device.numba")),
    "ours-numba": ([f"{BENCH}/numba_kernels.py"], NUMBA),
    "ours-triton": ([f"{BENCH}/triton_bench.py"], TRITON),
    "ours-fused": ([f"{BENCH}/fused_bench.py"], TRITON),
    "ours-torch": ([f"{BENCH}/torch_ops_bench.py"], TRITON),
    "ours-ring": ([f"{EXAMPLES}/numba_ring.py"], NUMBA),
    "ours-heat": ([f"{EXAMPLES}/numba_heat.py"], NUMBA),
    "ours-gemm": ([f"{EXAMPLES}/triton_gemm_all_reduce.py"], TRITON),
    "ours-moe": ([f"{EXAMPLES}/triton_moe.py"], TRITON),
    "ours-attention": ([f"{EXAMPLES}/triton_attention.py"], TRITON),
    "ours-all-reduce": ([f"{EXAMPLES}/triton_all_reduce.py"], TRITON),
    "ours-mlp": ([f"{EXAMPLES}/torch_mlp.py"], TRITON),
    "ours-experts": ([f"{EXAMPLES}/torch_experts.py"], TRITON),
    "ours-jax": ([f"{BENCH}/jax_bench.py"], ("jax", "jax_plugins.xla_cuda13")),
    "ours-jax-ring": ([f"{EXAMPLES}/jax_ring.py", "--pallas"], ("torch", "jax", "jax_plugins.xla_cuda13")),
    "ours-cute": (["examples/cute/ring_launch.py", "share/nvshmemrs/cute"], ("cuda.core",)),
}
# The sides that --sides accepts.
SIDES = ("imports", "nccl-pairs", *PROGRAMS)
# The sides of --frameworks.
FRAMEWORKS = ("ours-torch", "ours-fused", "ours-mlp", "ours-experts", "ours-jax", "ours-jax-ring")
# The time limit of a side in seconds, compilation of its kernels included.
LIMIT = 300
# The reason that a run on one GPU gives for missing rows.
LEFT_OUT = "signals, barriers, puts to another PE and all-reduces, and the peers' sides of these: they take 2 GPUs"
# The line with which an example reports its time.
SAID = re.compile(r"^(?P<work>.+): nvshmemrs (?P<ours>[\d.]+) us, (?P<peer>.+) (?P<theirs>[\d.]+) us \([\d.]+x\)$")
# The largest ratio of an example's time to the peer's.
SHARES = {"ours-gemm": 0.9}


def rows_of(side: str, lines: list[dict], words: list[str]) -> list[dict]:
    """The rows that a program printed."""
    rows = [line for line in lines if "row" in line]
    for found in filter(None, map(SAID.match, words)):
        peer = [found["peer"], float(found["theirs"])]
        line = {"row": found["work"], "value": float(found["ours"]), "unit": "us", "peer": peer, "share": SHARES.get(side)}
        rows.append(line)
    return rows


def beside(lines: list[dict], theirs: dict[str, float]) -> list[dict]:
    """The same rows once more, beside NVSHMEM4Py's figures. The targets are left out: the first rows show them."""
    peers = {row: ["NVSHMEM4Py's kernel", value] for row, value in theirs.items()}
    found = [line for line in lines if line["row"] in peers]
    return [{**line, "peer": peers[line["row"]], "most": None, "least": None, "note": ""} for line in found]


def cells(line: dict, nccl: dict[str, float]) -> tuple[list[str], float | None]:
    """A row of the table, and our time as a share of the peer's."""
    value, unit, peer = line["value"], line["unit"], line.get("peer")
    key = line.get("against") or ""
    if not peer and key in nccl:
        us = nccl[key]
        peer = ["NCCL's send and recv", int(key.split()[1]) / us / 1e3 if unit == "GB/s" else us]
    wanted = {name: line.get(name) for name in ("most", "least", "share")}
    ratio = value / peer[1] if peer else None
    judged = met(value, peer[1] if peer else None, **wanted)
    found = [f"{line['row']}, {unit}", f"{value:.2f}", f"{peer[1]:.2f}" if peer else "", peer[0] if peer else "", f"{ratio:.2f}" if ratio else ""]
    found += [wanted_words(**wanted).replace("wanted: ", ""), judged]
    return found, ratio if unit != "GB/s" or not ratio else 1 / ratio


def picture(shares: list[tuple[str, str, float]], file: Path) -> str:
    """Draws our times as shares of the peers'."""
    if not shares:
        return "no picture: no peer was measured"
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        return "no picture: matplotlib is not there"
    figure, axis = pyplot.subplots(figsize=(9, 1 + 0.32 * len(shares)))
    names = [f"{work} / {peer}" for work, peer, _ in shares]
    bars = axis.barh(names, [share for *_, share in shares], color=["C0" if share <= 1 else "C3" for *_, share in shares])
    axis.bar_label(bars, fmt="%.2f", fontsize=7)
    axis.axvline(1, color="black", linewidth=1)
    axis.invert_yaxis()
    axis.tick_params(labelsize=7)
    axis.set(xscale="log", xlabel="our time as a share of the peer's; for rates, the peer's rate as a share of ours")
    axis.margins(y=0.01)
    figure.savefig(file, dpi=90, bbox_inches="tight")
    return f"the picture is {file}"


def imports(python: str, env: dict[str, str]) -> list[dict]:
    """The time that importing each module takes beyond importing its language."""
    import import_time

    rows = []
    for name in import_time.LANGUAGES:
        found = import_time.seconds(name, python, env)
        if isinstance(found, str):
            print(f"import of core.device.{name}: not measured: {found}")
        else:
            rows.append({"row": f"import of core.device.{name} over its language's", "value": found[1], "unit": "s", "most": import_time.MOST})
    return rows


@functools.cache
def lacks(python: str, *modules: str) -> str:
    """Why modules cannot be imported; nothing if they can."""
    shim = "import numpy; numpy.row_stack = getattr(numpy, 'row_stack', numpy.vstack)"  # as the programs have it
    code = f"import importlib, sys\nif 'numba_cuda' in sys.argv:\n {shim}\nfor name in sys.argv[1:]: importlib.import_module(name)"
    done = subprocess.run([python, "-c", code, *modules], capture_output=True, text=True)
    return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1] if done.returncode else ""


def python_kernels(
    args: argparse.Namespace, gpus: int, machine: dict, out: Path, env: dict[str, str], run: Callable, figures: Callable, table: Callable
) -> int:
    """Measures, and prints the table. Exit status as run-gpu-bench's."""
    n = min(2, gpus)
    if n == 1:
        print(f"1 GPU: left out are {LEFT_OUT}")
    sides = [side for side in args.sides.split(",") if side != "nccl-pairs" or n > 1]
    rows: list[dict] = imports(args.python, env) if "imports" in sides else []
    nccl: dict[str, float] = {}
    theirs: dict[str, float] = {}
    broken: list[str] = []
    stem = "gpu-bench-frameworks" if args.frameworks else "gpu-bench-python"
    file = out / f"{stem}.json"

    def keep() -> None:
        document = {"machine": machine, "n": n, "left out": LEFT_OUT if n == 1 else "", "nccl": nccl, "failed": broken, "rows": rows, "NVSHMEM4Py": theirs}
        file.write_text(json.dumps(document, indent=1) + "\n")

    with tempfile.TemporaryDirectory() as work:
        # The rows of a peer come before the rows that are compared with them.
        for side in (side for side in SIDES[1:] if side in sides):
            why = lacks(args.python, *(PROGRAMS[side][1] if side in PROGRAMS else ("torch",)))
            if why:
                print(f"{side}: not measured: {args.python}: {why}", flush=True)
                continue
            start = time.monotonic()
            words: list[str] = []
            lines, why = run(side, n, args, "", Path(work), words)
            told = rows_of(side, lines, words)
            if side == "nvshmem-numba":
                theirs = {line["row"]: line["value"] for line in told}
            else:
                rows += told + beside(told, theirs if side == "ours-numba" else {})
            if side == "nccl-pairs":
                nccl = {f"{op} {size}": case["median"] for (_, op, size), case in figures(lines).items()}
            if why:
                broken.append(side)
                said = out / f"{stem}-{side}.txt"
                said.write_text("\n".join([*words, why]) + "\n")
            print(f"{n} PEs, {side}: {time.monotonic() - start:.1f} s{'; FAILED: ' + why if why else ''}", flush=True)
            keep()  # saves the rows, in case this process is killed later
    told = [cells(line, nccl) for line in rows]
    head = ["work", "nvshmemrs", "peer", "which", "ratio", "wanted", ""]
    table(f"{'torch, JAX and fused operations' if args.frameworks else 'kernels in Python'}, {n} PE{'s' if n > 1 else ''}", head, [row for row, _ in told])
    print("\n| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row, _ in told:
        print("| " + " | ".join(row) + " |")
    for row in theirs.keys() - {line["row"] for line in rows}:
        print(f"{row}: {theirs[row]:.2f} by NVSHMEM4Py's kernel, and none by ours")
    for line in rows:
        if line.get("note"):
            print(f"{line['row']}: {line['note']}")
    keep()
    drawn = picture([(row[0], row[3], share) for row, share in told if share], out / f"{stem}.png")
    print(f"\nthe figures are {file}; {drawn}")
    return 1 if any(side.startswith("ours") for side in broken) else 0
