"""run-gpu-bench --device --perftest FOLDER: NVIDIA's performance tests of NVSHMEM, compiled against nvshmemrs and against NVSHMEM without a change,
and run with 2 PEs on a GPU each.

The sources are those of a checkout of NVIDIA/nvshmem that the caller names; NVSHMEM is the library that Python's packages hold.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import time
from concurrent import futures
from pathlib import Path

# Command lines: the programs of perftest/, and their arguments. With more than 256 threads NVSHMEM's collectives of a block do not run, and its
# programs print the time of an empty loop. These programs are left out: shmem_p_ping_pong_latency, which resets its flags without a barrier, so
# that it waits for ever where a PE is early; shmem_g_latency, where NVSHMEM's plain loads take less time than an exchange; reduction_latency, with which compiling takes minutes; and those of tiles.
SMALL = "-n 100 -w 10 -t 256 -b 8 -e 64K -f 8"
COLLECTIVE = "-n 20 -w 2 -t 256 -b 8 -e 2M -f 16"
ON_STREAM = "-n 200 -w 20 -b 8 -e 4M -f 8"
PUT_BANDWIDTH = "device/pt-to-pt/shmem_put_bw"
PUT_LATENCY = "device/pt-to-pt/shmem_put_latency"
PUT_SIGNAL = "device/pt-to-pt/shmem_put_signal_ping_pong_latency -n 500 -w 50 -b 8 -e 1M -f 8"
SIGNAL = "device/pt-to-pt/shmem_signal_ping_pong_latency -n 500 -w 50"
BARRIER = "device/coll/barrier_latency -n 500 -w 50"
LINES = [
    f"{PUT_LATENCY} {SMALL}",
    f"{PUT_LATENCY} -n 10 -w 2 -b 1M -e 1M",
    f"device/pt-to-pt/shmem_get_latency {SMALL}",
    f"device/pt-to-pt/shmem_p_latency {SMALL}",
    f"{PUT_BANDWIDTH} -n 100 -w 10 -c 32 -t 256 -b 1M -e 64M -f 4",
    f"{PUT_BANDWIDTH} -n 50 -w 5 -c 32 -t 1024 -b 64M -e 64M",
    f"{PUT_BANDWIDTH} -n 50 -w 5 -c 16 -t 1024 -b 64M -e 64M",
    f"{PUT_BANDWIDTH} --bidir -n 50 -w 5 -c 32 -t 256 -b 1M -e 64M -f 4",
    "device/pt-to-pt/shmem_get_bw -n 50 -w 5 -c 32 -t 256 -b 1M -e 64M -f 4",
    "device/pt-to-pt/shmem_p_bw -d double -n 20 -w 5 -c 32 -t 256 -b 64K -e 4M -f 8",
    "device/pt-to-pt/shmem_g_bw -d double -n 20 -w 5 -c 32 -t 256 -b 64K -e 4M -f 8",
    "device/pt-to-pt/shmem_st_bw -n 20 -w 5 -c 32 -t 256 -b 64K -e 4M -f 8",
    "device/pt-to-pt/shmem_atomic_bw -n 10 -w 5 -c 4 -t 256 -b 8 -e 64K -f 8 -a add",
    "device/pt-to-pt/shmem_atomic_latency",
    "device/pt-to-pt/shmem_atomic_ping_pong_latency -n 500 -w 50 -a add",
    "device/pt-to-pt/shmem_put_ping_pong_latency -n 500 -w 50 -b 8 -e 1M -f 8",
    "device/pt-to-pt/shmem_put_atomic_ping_pong_latency -n 500 -w 50 -b 8 -e 1M -f 8",
    PUT_SIGNAL,
    SIGNAL,
    BARRIER,
    "device/coll/sync_latency -n 500 -w 50",
    f"device/coll/reducescatter_latency {COLLECTIVE}",
    f"device/coll/bcast_latency {COLLECTIVE}",
    f"device/coll/fcollect_latency {COLLECTIVE}",
    f"device/coll/alltoall_latency {COLLECTIVE}",
    *[
        f"host/coll/{name}_on_stream {ON_STREAM}{graph}"
        for name in ("reduction", "reducescatter", "broadcast", "fcollect", "alltoall")
        for graph in ("", " --cudagraph")
    ],
    *[f"host/coll/{name}_on_stream -n 500 -w 50{graph}" for name in ("barrier", "sync") for graph in ("", " --cudagraph")],
    "host/coll/barrier_all_on_stream -n 500",
    "host/coll/sync_all_on_stream -n 500",
    "host/pt-to-pt/bw -n 50 -w 5 -b 8 -e 64M -f 64 --dir write --issue on_stream",
    "host/pt-to-pt/bw -n 50 -w 5 -b 8 -e 64M -f 64 --dir read --issue on_stream",
    "host/pt-to-pt/latency -n 50 -w 5 -b 8 -e 1M -f 16 --dir write --issue host",
    "host/pt-to-pt/latency -n 50 -w 5 -b 8 -e 1M -f 16 --dir read --issue host",
]
# Of a figure: the test, the case, the bytes, the value, "-" where less is better, and its unit.
PERF = re.compile(r"&&&& PERF (\S+?)___(.*?)___size__(\d+)___\S+ ([\d.]+) ([-+])(\S+)")
# A round trip over NVLink takes longer than this, in microseconds: a shorter time means that nothing was exchanged.
LEAST_EXCHANGE = 0.7

Figures = dict[tuple[str, str, int, str, str], list[float]]


def last_words(done: subprocess.CompletedProcess) -> str:
    words = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return f"status {done.returncode}" + "".join(f"\n    {word}" for word in words[-8:])


def run(command: list[str], limit: float, env: dict[str, str]) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done after {limit:g} s")


def build(source: Path, nvcc: str, options: dict[str, list[str]], work: Path) -> tuple[dict[str, dict[str, Path]], list[str]]:
    """By side, the programs by name, and which programs a side lacks. `options` are the compiler's for each side."""
    tests = source / "perftest"
    names = sorted({line.split()[0] for line in LINES})
    wrong = []

    def compiled(side: str, words: list[str], file: Path) -> str:
        made = run([nvcc, "-std=c++17", "-O3", "-arch=native", f"-I{tests}/common", f"-I{tests}/device/coll", *words, str(file), *options[side]], 300, dict(os.environ))
        return last_words(made) if made.returncode else ""

    def program(side: str, name: str) -> tuple[str, str, Path]:
        file = next(tests.glob(f"{name}.c*"), tests / name)
        target = work / side / name
        target.parent.mkdir(parents=True, exist_ok=True)
        why = compiled(side, ["-o", str(target), str(work / f"{side}.o")], file)
        if why:
            wrong.append(f"{side}: {name}: {why}")
        return side, name, target

    programs: dict[str, dict[str, Path]] = {side: {} for side in options}
    with futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        common = {side: pool.submit(compiled, side, ["-dc" if "-rdc=true" in options[side] else "-c", "-o", str(work / f"{side}.o")], tests / "common/utils.cu") for side in options}
        usable = []
        for side, why in common.items():
            if why.result():
                wrong.append(f"{side}: common/utils.cu: {why.result()}")
            else:
                usable.append(side)
        for side, name, target in pool.map(lambda pair: program(*pair), [(side, name) for side in usable for name in names]):
            if target.exists():
                programs[side][name] = target
    return programs, wrong


def measure(programs: dict[str, dict[str, Path]], commands: dict[str, list[str]], environment: dict[str, dict[str, str]], turns: int, limit: float) -> tuple[dict[str, dict[str, Figures]], list[str]]:
    """By side and command line, the figures that the program printed, and which command lines failed. `commands` start 2 PEs."""
    found: dict[str, dict[str, Figures]] = {side: {} for side in programs}
    broken = []
    for _ in range(turns):
        for line in LINES:
            name, *arguments = line.split()
            spent = []
            for side, built in programs.items():
                if name not in built:
                    continue
                began = time.monotonic()
                done = run([*commands[side], str(built[name]), *arguments], limit, {**os.environ, "NVSHMEM_MACHINE_READABLE_OUTPUT": "1", **environment[side]})
                spent.append(f"{side} {time.monotonic() - began:.1f} s")
                printed = PERF.findall(done.stdout)
                figures = found[side].setdefault(line, {})
                for job, case, size, value, sign, unit in printed:
                    figures.setdefault((job, case, int(size), sign, unit), []).append(float(value))
                if done.returncode or not printed:
                    broken.append(f"{side}: {line}: {last_words(done)}")
            print(f"{line}: {', '.join(spent)}", flush=True)
    return found, broken


def medians(figures: Figures) -> dict[tuple[str, str, int, str, str], float]:
    """Without rates that were printed as 0, and times that no exchange between two GPUs can have."""
    all_ = {key: statistics.median(values) for key, values in figures.items()}
    return {key: value for key, value in all_.items() if value > 0 and not (key[4] == "us" and value < LEAST_EXCHANGE)}


def pairs(found: dict[str, dict[str, Figures]], line: str, mine: str, theirs: str) -> list[tuple[tuple[str, str, int, str, str], float, float, float]]:
    """The figures that both sides have: key, ours, theirs, and how long ours takes in relation to theirs."""
    ours, peer = (medians(found.get(side, {}).get(line, {})) for side in (mine, theirs))
    return [(key, us, peer[key], us / peer[key] if key[3] == "-" else peer[key] / us) for key, us in ours.items() if key in peer]


def tables(found: dict[str, dict[str, Figures]], mine: str, theirs: str, table) -> None:
    """Prints a row for each command line and case, and the figures in which ours takes longest in relation to theirs."""
    rows, all_pairs = [], []
    for line in LINES:
        compared = pairs(found, line, mine, theirs)
        all_pairs += [(line, *pair) for pair in compared]
        groups: dict[str, list[float]] = {}
        for key, _, _, ratio in compared:
            groups.setdefault(re.sub(r"-(sum|prod|and|or|xor|min|max)-", "-", f"{key[0]} {key[1]}"), []).append(ratio)
        for case, ratios in groups.items():
            cells = [f"{value:.2f}" for value in (min(ratios), statistics.median(ratios), max(ratios))]
            rows.append([line.removeprefix("device/"), case, str(len(ratios)), *cells])
    table("NVIDIA's perftests, 2 PEs: time with nvshmemrs, of the time with NVSHMEM", ["program", "case", "figures", "least", "median", "most"], rows)
    worst = sorted(all_pairs, key=lambda pair: -pair[4])[:30]
    table(
        "the figures in which nvshmemrs takes longest in relation to NVSHMEM",
        ["program", "case", "bytes", "nvshmemrs", "NVSHMEM", "ratio"],
        [[line.removeprefix("device/"), f"{key[0]} {key[1]}", str(key[2]), f"{us:.2f} {key[4]}", f"{peer:.2f} {key[4]}", f"{ratio:.2f}"] for line, key, us, peer, ratio in worst],
    )
