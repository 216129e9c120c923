"""run-gpu-bench --device: times of the functions that kernels call, with 2 PEs on a GPU each; of exchanges of all PEs, by a program that uses
NVSHMEM's names and is compiled against each library; and of NVIDIA's perftests with each library.

The programs are compiled here by nvcc. NVSHMEM is the library that Python's packages hold; mpirun starts its programs. A side that cannot be
built or run is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import perftests
from perftests import BARRIER, PUT_BANDWIDTH, PUT_LATENCY, PUT_SIGNAL, SIGNAL, last_words, run

# A row of the table: its label; nvshmemrs (operation, bytes); NVSHMEM (program, arguments, a pattern of the figure's name, bytes); the
# target: the largest ratio of the two times, or, for GB/s, the smallest ratio of the two bandwidths.
BLOCKS, MI = "put by 32 blocks of 256", 1 << 20
BLOCK_RATES = f"{PUT_BANDWIDTH} -n 100 -w 10 -c 32 -t 256 -b 1M -e 64M -f 4"
RATES_32, RATES_16 = (f"{PUT_BANDWIDTH} -n 50 -w 5 -c {blocks} -t 1024 -b 64M -e 64M" for blocks in (32, 16))
COMPLETE = f"{PUT_LATENCY} -n 10 -w 2 -b 1M -e 1M"
ROWS = [
    ("put_signal ping-pong, 8 B, round trip", ("put_signal ping-pong", 8), (PUT_SIGNAL, "", 8), 0.55),
    ("signal_op ping-pong, round trip", ("signal_op ping-pong", 8), (SIGNAL, "", None), 0.65),
    ("put 1 MiB, 32 blocks of 256, GB/s", (BLOCKS, MI), (BLOCK_RATES, "", MI), 0.0),
    ("put 4 MiB, 32 blocks of 256, GB/s", (BLOCKS, 4 * MI), (BLOCK_RATES, "", 4 * MI), 1.2),
    ("put 64 MiB, 32 blocks of 1024, GB/s", ("put by 32 blocks of 1024", 64 * MI), (RATES_32, "", 64 * MI), 0.0),
    ("put 64 MiB, 132 blocks of 256, GB/s", ("put by 132 blocks of 256", 64 * MI), (RATES_32, "", 64 * MI), 0.0),
    ("put 64 MiB, 16 blocks of 1024, GB/s", ("put by 16 blocks of 1024", 64 * MI), (RATES_16, "", 64 * MI), 0.0),
    ("put 64 MiB, 16 blocks of a warp, lent shared memory, GB/s", ("put by 16 blocks of 32, lent", 64 * MI), (RATES_16, "", 64 * MI), 0.0),
    ("put and quiet, 1 MiB, thread", ("put and quiet, thread", MI), (COMPLETE, "Thread", MI), 0.3),
    ("put and quiet, 1 MiB, warp", ("put and quiet, warp", MI), (COMPLETE, "Warp", MI), 0.5),
    ("the same, lent shared memory, thread", ("put and quiet, thread, lent", MI), (COMPLETE, "Thread", MI), 0.02),
    ("the same, lent shared memory, warp", ("put and quiet, warp, lent", MI), (COMPLETE, "Warp", MI), 0.1),
    ("barrier_all, block", ("barrier_all, block", 0), (BARRIER, "barrier_all_device block", None), 0.7),
]
# The least bandwidth of nvshmemrs in GB/s, independent of NVSHMEM's.
LEAST = {"put 64 MiB, 132 blocks of 256, GB/s": 365.0, "put 64 MiB, 16 blocks of a warp, lent shared memory, GB/s": 340.0}
NVSHMEM = "import nvidia.nvshmem; print(list(nvidia.nvshmem.__path__)[0])"
# The largest ratios of the times of exchanges of all PEs, by operation, and by bytes where they differ.
EXCHANGE_LIMITS = {"ring of put_signal": 0.6, "all-to-all of put_signal": 0.6, "barrier_all, block": 0.7, "int64 sum, block": 0.5}
LARGE_SUMS = {65536: 0.25, MI: 0.15}


def ours(dist: Path, nvcc: str, work: Path, turns: int, limit: float) -> tuple[dict[tuple[str, int], float], str]:
    """Our medians by operation and bytes, in us, and why there are none."""
    program = str(work / "device-bench")
    source = dist / "share/nvshmemrs/bench/device_bench.cu"
    libraries = [f"-L{dist}/lib", "-lnvshmemrs", "-Xlinker", f"-rpath={dist}/lib"]
    made = run([nvcc, "-std=c++17", "-O3", "-arch=native", f"-I{dist}/include", str(source), *libraries, "-o", program], limit, dict(os.environ))
    if made.returncode:
        return {}, last_words(made)
    return medians(dist, 2, program, limit, "nvshmemrs", [{}] * turns)


def medians(dist: Path, n: int, program: str, limit: float, side: str, turns: list[dict[str, str]]) -> tuple[dict[tuple[str, int], float], str]:
    """The medians that a program of `n` PEs printed by operation and bytes, in us, and why there are none. Each turn has its own environment."""
    times: dict[tuple[str, int], list[float]] = {}
    why = ""
    for own in turns:
        env = {**os.environ, "NVSHMEMRS_TIMEOUT": "60", "CUDA_MODULE_LOADING": "EAGER", **own}
        began = time.monotonic()
        done = run([str(dist / "bin/nvshmemrs-run"), "--stall-after", "0", "-n", str(n), "--", program], limit, env)
        print(f"{n} PEs, {side}: {time.monotonic() - began:.1f} s", flush=True)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                case = json.loads(line)
                times.setdefault((case["op"], case["bytes"]), []).extend(case["us"])
        if done.returncode:
            why = last_words(done)
            break
    return {case: statistics.median(us) for case, us in times.items()}, why


def our_options(dist: Path) -> list[str]:
    """The compiler's options for a program of NVSHMEM's names that uses nvshmemrs."""
    folders = [f"-I{dist}/include", f"-I{dist}/include/nvshmemrs-compat", f"-L{dist}/lib"]
    return [*folders, "-lnvshmemrs_nvshmem", "-lnvshmemrs", "-lcuda", "-Xlinker", f"-rpath={dist}/lib"]


def nvshmem_options(package: str) -> list[str] | None:
    """What nvcc takes to compile and link a program for the NVSHMEM in a folder; None: the folder has no library."""
    library = next(iter(sorted(Path(package, "lib").glob("libnvshmem_host.so*"))), None)
    if library is None:
        return None
    options = ["-rdc=true", f"-I{package}/include", f"-L{package}/lib", "-lnvshmem_device"]
    return [*options, "-Xlinker", str(library), "-lcuda", "-lnvidia-ml", "-Xlinker", f"-rpath={package}/lib"]


def exchange_programs(dist: Path, nvcc: str, package: str, work: Path, limit: float) -> dict[str, str]:
    """The program of all PEs' exchanges by its library; prints why a library has none."""
    source = str(dist / "share/nvshmemrs/bench/device_exchange.cu")
    theirs = nvshmem_options(package) if package else None
    options = {"nvshmemrs": our_options(dist)}
    if theirs is None:
        print("NVSHMEM: exchanges not measured: Python has no nvidia.nvshmem, or its folder has no libnvshmem_host.so")
    else:
        options["NVSHMEM"] = theirs
    programs = {}
    for side, words in options.items():
        file = str(work / f"exchange-{side}")
        made = run([nvcc, "-std=c++17", "-O3", "-arch=native", source, *words, "-o", file], limit, dict(os.environ))
        if made.returncode:
            print(f"{side}: exchanges not measured: {last_words(made)}")
        else:
            programs[side] = file
    return programs


def exchanges(dist: Path, programs: dict[str, str], n: int, turns: int, limit: float, work: Path, table) -> tuple[list[dict], bool]:
    """Measures the exchanges of `n` PEs, and prints their table: the figures, and whether each program ended well."""
    found, whole = {}, "nvshmemrs" in programs
    for side, program in programs.items():
        env = [
            {
                "BENCH_UNIQUE_ID": str(work / f"id-{side}-{n}-{turn}"),
                "NVSHMEMRS_MEMORY": "device",
                "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": os.environ.get("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo"),
                "NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY": "AF_INET",
                "NVSHMEM_REMOTE_TRANSPORT": "none",
                "NVSHMEM_DISABLE_NVLS": "1",
                "NVSHMEM_SYMMETRIC_SIZE": "256M",
            }
            for turn in range(turns)
        ]
        found[side], why = medians(dist, n, program, limit, side, env)
        if why:
            print(f"{side}, exchanges of {n} PEs: FAILED: {why}")
            whole = whole and side != "nvshmemrs"
    mine, theirs = found.get("nvshmemrs", {}), found.get("NVSHMEM", {})
    rows, figures = [], []
    for case in sorted(mine | theirs):
        us, peer = mine.get(case), theirs.get(case)
        cells = [f"{time_:.2f}" if time_ else "" for time_ in (us, peer)] + [f"{us / peer:.3f}" if us and peer else ""]
        title = f"{case[0]}, {case[1]} bytes"
        limit_ = LARGE_SUMS.get(case[1]) if "sum" in case[0] else None
        rows.append([title, *cells, *judge(title, us, peer, limit_ or EXCHANGE_LIMITS[case[0]])])
        figures.append({"n": n, "op": case[0], "bytes": case[1], "nvshmemrs": us, "NVSHMEM": peer})
    table(f"exchanges of all PEs by kernels, {n} PEs, us of a loop", ["", "nvshmemrs", "NVSHMEM", "ratio", "wanted", ""], rows)
    return figures, whole


def compare_perftests(dist: Path, nvcc: str, package: str, source: Path, work: Path, turns: int, limit: float) -> dict[str, dict[str, perftests.Figures]]:
    """The figures of NVIDIA's perftests by side and command line; prints what could not be built or did not run."""
    options, commands, environment = {"nvshmemrs": [*our_options(dist), "-lnvidia-ml"]}, {}, {}
    commands["nvshmemrs"] = [str(dist / "bin/nvshmemrs-run"), "--stall-after", "0", "-n", "2", "--"]
    environment["nvshmemrs"] = {"NVSHMEMRS_TIMEOUT": "60", "NVSHMEMRS_MEMORY": "device", "NVSHMEM_SYMMETRIC_SIZE": "1G"}
    theirs = nvshmem_options(package) if package else None
    if theirs is None:
        print("NVSHMEM: not measured: Python has no nvidia.nvshmem, or its folder has no libnvshmem_host.so")
    else:
        options["NVSHMEM"] = theirs
        commands["NVSHMEM"] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        libraries = os.pathsep.join(filter(None, [f"{package}/lib", os.environ.get("LD_LIBRARY_PATH")]))
        environment["NVSHMEM"] = {"NVSHMEM_BOOTSTRAP": "MPI", "NVSHMEM_REMOTE_TRANSPORT": "none", "NVSHMEM_DISABLE_NVLS": "1"}
        environment["NVSHMEM"] |= {"LD_LIBRARY_PATH": libraries, "NVSHMEM_SYMMETRIC_SIZE": "1G"}
    programs, wrong = perftests.build(source, nvcc, options, work)
    found, broken = perftests.measure(programs, commands, environment, turns, limit)
    for words in wrong + broken:
        print(words)
    return found


def figure(found: dict[str, perftests.Figures], line: str, pattern: str, size: int | None) -> float | None:
    """The median of a command line's figures whose names match the pattern, of that size."""
    figures = perftests.medians(found.get(line, {}))
    values = [value for (job, case, of, _, _), value in figures.items() if re.search(pattern, f"{job} {case}") and size in (None, of)]
    return statistics.median(values) if values else None


def judge(title: str, value: float | None, peer: float | None, limit: float) -> tuple[str, str]:
    """The target of a row, and whether its figure meets the target; empty where there is no figure."""
    bandwidth, least = title.endswith("GB/s"), LEAST.get(title, 0.0)
    if least:
        return f"at least {least:g} GB/s", "" if not value else "met" if value >= least else "MISSED"
    if not limit:
        return "", ""
    wanted = f"at least {limit}" if bandwidth else f"at most {limit}"
    if not value or not peer:
        return wanted, ""
    good = value / peer >= limit if bandwidth else value / peer <= limit
    return wanted, "met" if good else "MISSED"


# A kernel that puts, and a kernel with the same stores without the header.
WITH_HEADER = """#include <nvshmemrs_device.cuh>
__global__ void k(nvshmemrs_device_state_t s, float *d, const float *x, unsigned long n) { nvshmemrs_float_put_block(s, d, x, n, 1); }
"""
WITHOUT_HEADER = """__global__ void k(float *d, const float *x, unsigned long n) {
    for (unsigned long i = threadIdx.x; i < n; i += blockDim.x) d[i] = x[i];
}
"""
# How much longer nvcc may take with the header, in s.
MOST_LONGER = 0.3


def compile_times(dist: Path, nvcc: str, work: Path, limit: float) -> list[str]:
    """A row: the least times of both, in s, as a compiler alone on the machine would take."""
    least: dict[str, float] = {}
    for _ in range(5):
        for name, text in (("with", WITH_HEADER), ("without", WITHOUT_HEADER)):
            file = work / f"{name}.cu"
            file.write_text(text)
            began = time.monotonic()
            made = run([nvcc, "-std=c++17", "-arch=native", f"-I{dist}/include", "-c", str(file), "-o", str(work / "k.o")], limit, dict(os.environ))
            if made.returncode:
                return [last_words(made), "", "", "", ""]
            least[name] = min(time.monotonic() - began, least.get(name, limit))
    longer = least["with"] - least["without"]
    cells = [f"{least['with']:.2f}", f"{least['without']:.2f}", f"{longer:.2f}"]
    return [*cells, f"at most {MOST_LONGER}", "met" if longer <= MOST_LONGER else "MISSED"]


def device(dist: Path, python: str, source: Path | None, numbers: list[int], turns: int, limit: float, out: Path, table) -> int:
    """Measures exchanges with each of these numbers of PEs, and the functions with 2 PEs if 2 is among them; prints tables. Exit status as
    run-gpu-bench's."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        print("run-gpu-bench --device: nvcc is not on PATH")
        return 2
    package = run([python, "-c", NVSHMEM], 60, dict(os.environ)).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        programs = exchange_programs(dist, nvcc, package, Path(folder), limit)
        measured = [exchanges(dist, programs, n, turns, limit, Path(folder), table) for n in numbers]
    document = [row for rows, _ in measured for row in rows]
    (out / "gpu-bench-exchange.json").write_text(json.dumps(document, indent=1) + "\n")
    status = 0 if all(whole for _, whole in measured) else 1
    if 2 not in numbers:
        print("functions that kernels call: not measured: 2 is not among the numbers of --pes")
        return status
    return max(status, functions(dist, nvcc, package, source, turns, limit, out, table))


def functions(dist: Path, nvcc: str, package: str, source: Path | None, turns: int, limit: float, out: Path, table) -> int:
    """Measures the functions with 2 PEs, and prints their table. Exit status as run-gpu-bench's."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        compiled = compile_times(dist, nvcc, work, limit)
        mine, why = ours(dist, nvcc, work, turns, limit)
        if why:
            print(f"nvshmemrs: FAILED: {why}")
        (out / "gpu-bench-device.json").write_text(json.dumps([[*case, us] for case, us in mine.items()]) + "\n")
        found: dict[str, dict[str, perftests.Figures]] = {}
        if source is None:
            print("perftests: not measured: --perftest names no checkout of NVIDIA/nvshmem")
        else:
            found = compare_perftests(dist, nvcc, package, source, work, turns, limit)
            perftests.tables(found, "nvshmemrs", "NVSHMEM", table)
    theirs = found.get("NVSHMEM", {})
    rows = []
    for title, case, (line, pattern, size), limit_ in ROWS:
        us, peer = mine.get(case), figure(theirs, line, pattern, size)
        bandwidth = title.endswith("GB/s")
        value = case[1] / us / 1e3 if us and bandwidth else us
        cells = [f"{value:.2f}" if value else "", f"{peer:.2f}" if peer else "", f"{value / peer:.3f}" if value and peer else ""]
        rows.append([title, *cells, *judge(title, value, peer, limit_)])
    table("functions that kernels call, 2 PEs, us where nothing else is said", ["", "nvshmemrs", "NVSHMEM", "ratio", "wanted", ""], rows)
    table("nvcc -c of a kernel with one put, s", ["with the header", "without", "longer", "wanted", ""], [compiled])
    rest = sorted(set(mine) - {row[1] for row in ROWS})
    table("others", ["", "bytes", "us", "GB/s"], [[op, str(size), f"{mine[op, size]:.2f}", f"{size / mine[op, size] / 1e3:.1f}"] for op, size in rest])
    document = {"ours": [{"op": op, "bytes": size, "us": us} for (op, size), us in mine.items()], "perftests": [[side, line, *key, values] for side, lines in found.items() for line, figures in lines.items() for key, values in figures.items()]}
    (out / "gpu-bench-device.json").write_text(json.dumps(document, indent=1) + "\n")
    return 1 if why else 0
