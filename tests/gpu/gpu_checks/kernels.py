"""Checks of kernels in CUDA C++."""

from __future__ import annotations

import shlex

from .common import DIST, LAUNCHER, TESTS, Check, processes, program

LIBRARIES = f"-L{DIST}/lib -lnvshmemrs -Xlinker -rpath={DIST}/lib"
PARTS = ("RMA", "LENT", "TILES", "AMO", "WAITS", "MOVES_OF_TEAMS", "NUMBERS_OF_TEAMS", "BITS_OF_TEAMS", "OTHER_TEAMS", "GRAPHS", "ORDER")


def compiled(part: str, nvcc: str, folder: str) -> tuple[str, str]:
    """A part of the functions that kernels call: the program, and the command that compiles it."""
    file = f"{folder}{part}"
    options = "-std=c++17 -arch=native -DNVSHMEMRS_DEVICE_CALLS --Ofast-compile=max"
    return file, f"{nvcc} {options} -D{part} -I{DIST}/include {TESTS}/kernels/gpu.cu {LIBRARIES} -o {file}"


def kernels(n: int, nvcc: str, folder: str) -> list[Check]:
    """The functions that kernels call, and the examples in CUDA: compiled here, and run by 1 PE, 2 on one GPU, and `n` on one each."""
    checks = []
    counts = sorted({1, 2, n})
    for part in PARTS:
        file, made = compiled(part, nvcc, f"{folder}/")
        runs = "".join(f" && {LAUNCHER} -n {pes} -- {file}" for pes in counts)
        checks.append(Check(f"kernels: {part}", ["sh", "-c", made + runs], "^gpu ok: ", sum(counts), gpus=n, limit=400))
    # The job's status is the dead PE's; the other PEs' output decides.
    for part, pes, env in (("CHECKED", 1, {"NVSHMEMRS_DEVICE_CHECK": "1"}), ("KILLED", 2, {})):
        file, made = compiled(part, nvcc, f"{folder}/")
        run = f" && {{ {LAUNCHER} -n {pes} -- {file}; true; }}"
        checks.append(Check(f"kernels: {part}", ["sh", "-c", made + run], f"^gpu ok: {part.lower()}, PE 0", env=env, limit=100))
    for source in sorted((DIST / "examples/cuda").glob("*.cu")):
        file = f"{folder}/{source.stem}"
        made = f"{nvcc} -std=c++17 -arch=native -I{DIST}/include {source} {LIBRARIES} -o {file}"
        runs = "".join(f" && {LAUNCHER} -n {pes} -- {file}" for pes in counts)
        says = f"^{source.stem} ok PE "
        checks.append(Check(f"kernels: {source.name}", ["sh", "-c", made + runs], says, sum(counts), gpus=n, limit=200))
    return checks


# Planted bugs in programs that use symmetric memory by calls of the library only, as in tests/checker/gpus.rs.
HOST_CALLS = ("broadcast_early", "forwarded", "gather_source", "lapped", "lock", "mixed", "stream_late", "two_writers")


def watched_host(n: int, nvcc: str, folder: str) -> list[Check]:
    """The checker on the host's calls and streams, with the heap on GPUs: it finds the bug of each program, and nothing without it."""
    checks = []
    for name, option, status, says in (
        ("calls of the host", "", 1, "the checker found 1 problem"),
        ("calls of the host, mended", "-DMENDED", 0, "the checker found nothing"),
    ):
        commands = []
        for source in HOST_CALLS:
            file = f"{folder}/watched-{source}{option}"
            made = f"{nvcc} -g {option} -I{DIST}/include -x c {TESTS}/checker/planted/{source}.c {LIBRARIES} -o {file}"
            commands.append(f"{made} && {{ {LAUNCHER} --check -n 2 -- {file}; test $? -eq {status}; }}")
        env = {"NVSHMEMRS_MEMORY": "device", "NVSHMEMRS_CHECK_SEED": "1"}
        command = ["sh", "-c", " && ".join(commands)]
        checks.append(Check(f"checker: {name}", command, says, len(HOST_CALLS), gpus=min(n, 2), env=env, limit=400))
    return checks


def watched(n: int, nvcc: str, folder: str) -> list[Check]:
    """The checker on kernels: it finds the bugs of six of them, and nothing in correct ones. Two PEs on one GPU, and `n` on one each."""
    checks = []
    counts = sorted({2, max(2, n)})
    for name, source, option, status, says in (
        ("six bugs", "planted", "", 1, "the checker found 6 problems"),
        ("without the bugs", "planted", "-DMENDED", 0, "the checker found nothing"),
        ("correct kernels", "correct", "", 0, "the checker found nothing"),
    ):
        file = f"{folder}/watched-{source}{option}"
        made = f"{nvcc} -std=c++17 -arch=native {option} -I{DIST}/include -x cu {TESTS}/checker/{source}/kernels.cpp {LIBRARIES} -o {file}"
        runs = "".join(f" && {{ {LAUNCHER} --check -n {pes} -- {file}; test $? -eq {status}; }}" for pes in counts)
        checks.append(Check(f"checker: {name}", ["sh", "-c", made + runs], says, len(counts), gpus=n, limit=300))
    return checks


def nvshmem_names(n: int, nvcc: str, folder: str) -> list[Check]:
    """A program of NVSHMEM's names in two units, with a library that it opens after init and a cubin that the driver loads: compiled here with
    and without relocatable device code, and run by 1 PE, 2 on one GPU, and `n` on one each."""
    checks = []
    counts = sorted({1, 2, n})
    source = TESTS / "nvshmem/units.cpp"
    libraries = f"-L{DIST}/lib -lnvshmemrs_nvshmem -lnvshmemrs -lcuda -Xlinker -rpath={DIST}/lib"
    cubin = f"{folder}/nvshmem.cubin"
    for rdc in ("false", "true"):
        file, library = f"{folder}/nvshmem-{rdc}", f"{folder}/libnvshmem-{rdc}.so"
        compile_ = f"{nvcc} -std=c++17 -arch=native -Xcompiler -fPIC -I{DIST}/include -I{DIST}/include/nvshmemrs-compat"
        steps = [f"{compile_} -rdc={rdc} -x cu -c -DUNIT={unit} {source} -o {file}-{unit}.o" for unit in range(3)]
        steps += [
            f"{compile_} -rdc={rdc} {file}-0.o {file}-1.o {libraries} -o {file}",
            f"{compile_} -rdc={rdc} -shared {file}-2.o {libraries} -o {library}",
            f"{compile_} -x cu -cubin -DUNIT=3 {source} -o {cubin}",
        ]
        made = " && ".join(steps)
        modes = [("run", library), ("capture", library), ("launch", ""), ("module", cubin)]
        for pes in counts:
            for mode, argument in modes:
                made += f" && {LAUNCHER} -n {pes} -- {file} {mode} {argument}"
        name = "with" if rdc == "true" else "without"
        says = "^units (run|capture|launch|module) ok PE "
        times = sum(counts) * len(modes)
        checks.append(Check(f"NVSHMEM's names {name} -rdc", ["sh", "-c", made], says, times, gpus=n, limit=600))
        ends = " && ".join(steps) + f" && {{ {LAUNCHER} -n {max(2, n)} -- {file} exit; echo status $?; }}"
        checks.append(Check(f"NVSHMEM's global_exit in a kernel {name} -rdc", ["sh", "-c", ends], "^status 7$", gpus=n, limit=300))
    return checks


# Parts of the functions that kernels call, small enough for compute-sanitizer. Only racecheck's is about shared memory.
SANITIZED = {"memcheck": ("OTHER_TEAMS", "TILES", "ORDER"), "racecheck": ("GRAPHS",)}


def sanitizer(gpus: int, tool: str, nvcc: str | None, folder: str) -> list[Check]:
    """Small cases under compute-sanitizer."""
    checks = []
    small = {"DEVICE_MOST": "4096", "NVSHMEMRS_TIMEOUT": "250"}
    for kind in ("memcheck", "racecheck"):
        under = [tool, "--tool", kind, "--error-exitcode", "99"]
        cases = [("ring", 1, [*under, program("conformance"), "ring"])]
        for n in (1, 2):
            if n <= gpus:
                cases.append((f"transfers, {n} threads", n, [*under, program("device"), "threads", str(n)]))
        if gpus > 1:
            cases.append(("ring, 2 processes", 2, processes(2, *under, program("conformance"), "ring")))
        for name, n, command in cases:
            times = 2 if "2 processes" in name else 1
            words = "ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards"
            checks.append(Check(f"{kind}: {name}", command, words, times, gpus=n, env=small, limit=300))
        for part in SANITIZED[kind] if nvcc else ():
            file, made = compiled(part, nvcc, f"{folder}/{kind}-")
            n = min(2, gpus)
            command = ["sh", "-c", f"{made} && {shlex.join(processes(n, *under, file))}"]
            checks.append(Check(f"{kind}: kernels, {part}, {n} PEs", command, words, n, gpus=n, env={"NVSHMEMRS_TIMEOUT": "500"}, limit=600))
    return checks
