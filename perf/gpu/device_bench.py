"""run-gpu-bench --device: times of the functions that kernels call, with 2 PEs on a GPU each, beside NVSHMEM's own device perftests; and of
exchanges of all PEs, by a program that uses NVSHMEM's names and is compiled against each library.

The programs are compiled here by nvcc. The perftests are compiled here, too, from a checkout of NVSHMEM's source that the caller names, against
the NVSHMEM that Python's packages hold, unless the folder has the programs themselves; mpirun starts them. A side that cannot be built or
run is named.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from concurrent import futures
from pathlib import Path

# A row of the table: its label; nvshmemrs (operation, bytes); NVSHMEM (program, arguments, a pattern of the figure's name, bytes); the
# target: the largest ratio of the two times, or, for GB/s, the smallest ratio of the two bandwidths.
BLOCKS, MI = "put by 32 blocks of 256", 1 << 20
PING, BW, LATENCY = "shmem_put_signal_ping_pong_latency", "shmem_put_bw", "shmem_put_latency"
# With more than 256 threads NVSHMEM's kernels do not run, and its program prints the time of an empty loop.
REDUCE = "reduction_latency -n 20 -w 2 -b 8 -e 2M"
# A round trip over NVLink takes longer than this, in microseconds: a shorter time means that nothing was exchanged.
LEAST_EXCHANGE = 0.7
ROWS = [
    ("put_signal ping-pong, 8 B, round trip", ("put_signal ping-pong", 8), (f"{PING} -n 500 -w 50 -b 8 -e 8", "", 8), 0.55),
    ("signal_op ping-pong, round trip", ("signal_op ping-pong", 8), ("shmem_signal_ping_pong_latency -n 500 -w 50", "", None), 0.65),
    ("put 1 MiB, 32 blocks of 256, GB/s", (BLOCKS, MI), (f"{BW} -n 200 -w 20 -c 32 -t 256 -b 1M -e 64M -f 4", "", MI), 0.0),
    ("put 4 MiB, 32 blocks of 256, GB/s", (BLOCKS, 4 * MI), (f"{BW} -n 200 -w 20 -c 32 -t 256 -b 1M -e 64M -f 4", "", 4 * MI), 1.2),
    ("put 64 MiB, 32 blocks of 1024, GB/s", ("put by 32 blocks of 1024", 64 * MI), (f"{BW} -n 50 -w 5 -c 32 -t 1024 -b 64M -e 64M", "", 64 * MI), 0.0),
    ("put 64 MiB, 132 blocks of 256, GB/s", ("put by 132 blocks of 256", 64 * MI), (f"{BW} -n 50 -w 5 -c 32 -t 1024 -b 64M -e 64M", "", 64 * MI), 0.0),
    ("put 64 MiB, 16 blocks of 1024, GB/s", ("put by 16 blocks of 1024", 64 * MI), (f"{BW} -n 50 -w 5 -c 16 -t 1024 -b 64M -e 64M", "", 64 * MI), 0.0),
    ("put 64 MiB, 16 blocks of a warp, lent shared memory, GB/s", ("put by 16 blocks of 32, lent", 64 * MI), (f"{BW} -n 50 -w 5 -c 16 -t 1024 -b 64M -e 64M", "", 64 * MI), 0.0),
    ("put and quiet, 1 MiB, thread", ("put and quiet, thread", MI), (f"{LATENCY} -n 10 -w 2 -b 1M -e 1M", "Thread", MI), 0.3),
    ("put and quiet, 1 MiB, warp", ("put and quiet, warp", MI), (f"{LATENCY} -n 10 -w 2 -b 1M -e 1M", "Warp", MI), 0.5),
    ("the same, lent shared memory, thread", ("put and quiet, thread, lent", MI), (f"{LATENCY} -n 10 -w 2 -b 1M -e 1M", "Thread", MI), 0.02),
    ("the same, lent shared memory, warp", ("put and quiet, warp, lent", MI), (f"{LATENCY} -n 10 -w 2 -b 1M -e 1M", "Warp", MI), 0.1),
    ("barrier_all, block", ("barrier_all, block", 0), ("barrier_latency -n 500 -w 50", "barrier_all_device block", None), 0.7),
    ("int64 sum, one block, 8 B", ("int64 sum, block of 1024", 8), (f"{REDUCE} -t 256", "int64-sum-b", 8), 0.5),
    ("int64 sum, one block, 64 KiB", ("int64 sum, block of 1024", 64 << 10), (f"{REDUCE} -t 256", "int64-sum-b", 64 << 10), 0.25),
    ("int64 sum, one block, 1 MiB", ("int64 sum, block of 1024", MI), (f"{REDUCE} -t 256", "int64-sum-b", MI), 0.15),
]
# The least bandwidth of nvshmemrs in GB/s, independent of NVSHMEM's.
LEAST = {"put 64 MiB, 132 blocks of 256, GB/s": 365.0, "put 64 MiB, 16 blocks of a warp, lent shared memory, GB/s": 340.0}
PERF = re.compile(r"&&&& PERF (\S+?)___(\S*?)___size__(\d+)___(\S+) ([\d.]+)")
NVSHMEM = "import nvidia.nvshmem; print(list(nvidia.nvshmem.__path__)[0])"
# The largest ratios of the times of exchanges of all PEs, by operation, and by bytes where they differ.
EXCHANGE_LIMITS = {"ring of put_signal": 0.6, "all-to-all of put_signal": 0.6, "barrier_all, block": 0.7, "int64 sum, block": 0.5}
LARGE_SUMS = {65536: 0.25, MI: 0.15}


def last_words(done: subprocess.CompletedProcess) -> str:
    words = (done.stderr + done.stdout).strip().splitlines()
    return f"status {done.returncode}" + "".join(f"\n    {word}" for word in words[-8:])


def run(command: list[str], limit: float, env: dict[str, str]) -> subprocess.CompletedProcess:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"not done after {limit:g} s")


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
    ours = ["-I" + str(dist / "include"), "-I" + str(dist / "include/nvshmemrs-compat"), f"-L{dist}/lib", "-lnvshmemrs_nvshmem", "-lnvshmemrs"]
    options = {"nvshmemrs": [*ours, "-lcuda", "-Xlinker", f"-rpath={dist}/lib"]}
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


def build_perftests(source: Path, nvcc: str, package: Path, work: Path) -> dict[str, Path] | str:
    """NVSHMEM's programs by their names, or why there are none."""
    libraries = nvshmem_options(str(package))
    if libraries is None:
        return f"{package}/lib has no libnvshmem_host.so"
    options = ["-std=c++17", "-O3", "-rdc=true", "-arch=native", f"-I{package}/include", f"-I{source}/perftest/common", f"-I{source}/perftest/device/coll"]
    common = work / "utils.o"
    made = run([nvcc, *options, "-c", str(source / "perftest/common/utils.cu"), "-o", str(common)], 300, dict(os.environ))
    if made.returncode:
        return last_words(made)

    def build(name: str) -> tuple[str, Path | str]:
        file = next(source.glob(f"perftest/device/*/{name}.cu"))
        made = run([nvcc, *options, str(file), str(common), *libraries, "-o", str(work / name)], 300, dict(os.environ))
        return name, work / name if made.returncode == 0 else last_words(made)

    names = sorted({row[2][0].split()[0] for row in ROWS})
    with futures.ThreadPoolExecutor(8) as pool:
        found = dict(pool.map(build, names))
    wrong = [f"{name}: {why}" for name, why in found.items() if isinstance(why, str)]
    return "\n".join(wrong) if wrong else found


def peers(programs: dict[str, Path], package: Path, turns: int, limit: float) -> tuple[dict[str, list[tuple[str, int, float]]], list[str]]:
    """The names and figures that each of NVSHMEM's command lines printed, and the command lines that failed."""
    env = {**os.environ, "NVSHMEM_MACHINE_READABLE_OUTPUT": "1", "NVSHMEM_BOOTSTRAP": "MPI", "NVSHMEM_REMOTE_TRANSPORT": "none", "NVSHMEM_DISABLE_NVLS": "1"}
    env["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(package / "lib"), env.get("LD_LIBRARY_PATH")]))
    env["NVSHMEM_SYMMETRIC_SIZE"] = "1G"
    start = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    found: dict[str, list[tuple[str, int, float]]] = {}
    broken = []
    for _ in range(turns):
        for line in dict.fromkeys(row[2][0] for row in ROWS):
            name, *arguments = line.split()
            if name not in programs:
                broken.append(f"{line}: there is no such program")
                continue
            began = time.monotonic()
            done = run([*start, str(programs[name]), *arguments], limit, env)
            print(f"NVSHMEM, {line}: {time.monotonic() - began:.1f} s", flush=True)
            figures = [(f"{job} {sub} {of}", int(size), float(value)) for job, sub, size, of, value in PERF.findall(done.stdout)]
            found.setdefault(line, []).extend(figures)
            if done.returncode or not figures:
                broken.append(f"{line}: {last_words(done)}")
    return found, broken


def figure(found: dict[str, list[tuple[str, int, float]]], line: str, pattern: str, size: int | None) -> float | None:
    values = [value for name, of, value in found.get(line, []) if re.search(pattern, name) and size in (None, of) and value >= LEAST_EXCHANGE]
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
        theirs: dict[str, list[tuple[str, int, float]]] = {}
        if source is None or not package:
            print("NVSHMEM: not measured: " + ("--perftest names no checkout of its source" if source is None else "Python has no nvidia.nvshmem"))
        else:
            built = {row[2][0].split()[0]: source / row[2][0].split()[0] for row in ROWS}
            built = {name: file for name, file in built.items() if file.exists()}
            programs = built or build_perftests(source, nvcc, Path(package), work)
            if isinstance(programs, str):
                print(f"NVSHMEM: not measured: its perftests were not built: {programs}")
            else:
                theirs, broken = peers(programs, Path(package), turns, limit)
                for words in broken:
                    print(f"NVSHMEM: {words}")
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
    document = {"ours": [{"op": op, "bytes": size, "us": us} for (op, size), us in mine.items()], "nvshmem": theirs}
    (out / "gpu-bench-device.json").write_text(json.dumps(document, indent=1) + "\n")
    return 1 if why else 0
