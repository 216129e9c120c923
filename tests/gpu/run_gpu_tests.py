#!/usr/bin/env python3
"""Runs the tests of this bundle on the GPUs of this machine, on 1, 2, 4, ... of them as far as they go.

Every check is a process with a time limit of its own. Printed are, when it has ended, its name, ok or FAILED,
its seconds, and the end of what a failing one said; the last line counts. Exit status: 0 if all passed, 1 if any
failed, 2 if there is nothing to run on.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from pathlib import Path

# In a bundle the checks lie below `share`.
sys.path.insert(0, str(Path(__file__).resolve().parent / "share/nvshmemrs/gpu-tests"))

from gpu_checks.common import Check, counts, lacks, program
from gpu_checks.hosts import many_hosts
from gpu_checks.kernels import kernels, nvshmem_names, sanitizer, watched, watched_host
from gpu_checks.libraries import fused, jax, pools, python_checks, torch_ops
from gpu_checks.programs import FULL, SMALL, bad_input, correctness, examples, killed, on_host, shared, write_land
from gpu_checks.python_kernels import CUTE, bitcode, cute, numba, numba_mlir, other_than_cubins, python_kernels, triton

# Asks the driver; not nvidia-smi, which does not know CUDA_VISIBLE_DEVICES. A process of its own, so that ours has no context.
COUNT = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
n = ctypes.c_int()
for status in (cuda.cuInit(0), cuda.cuDeviceGetCount(ctypes.byref(n))):
    if status: raise SystemExit(f"libcuda.so.1 answers {status}")
print(n.value)
"""


def gpus_here() -> tuple[list[str], str]:
    """The GPUs that are visible, as CUDA_VISIBLE_DEVICES names them, and why none."""
    try:
        found = subprocess.run([sys.executable, "-c", COUNT], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return [], "libcuda.so.1 does not answer within 60 s"
    if found.returncode:
        lines = found.stderr.strip().splitlines()
        return [], lines[-1] if lines else f"status {found.returncode}"
    count = int(found.stdout)
    named = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return (named if len(named) >= count > 0 and all(named) else [str(gpu) for gpu in range(count)])[:count], "no GPU is visible"


def wrong(check: Check, status: int, text: str) -> str | None:
    """Why a check that has ended has failed; None if it has not."""
    found = {says: len(re.findall(says, text, re.MULTILINE)) if says else 0 for says in expected(check)}
    if check.refused:
        if status == 0:
            return "was not refused"
        if status < 0 or status > 128:
            return f"ended by signal {-status if status < 0 else status - 128}, not by an error"
        return None if found[check.says] else f"does not say {check.says!r}"
    if status != check.status:
        return f"status {status}, not {check.status}"
    for says, times in found.items():
        if times != check.times:
            return f"says {says!r} {times} times, not {check.times}"
    return None


def expected(check: Check) -> list[str]:
    """The regular expressions of the lines that a check must print."""
    return [check.says.replace("PART", part) for part in check.parts] or [check.says]


class Runs:
    """Runs checks, and ends the running processes when it is told to."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.ended = False

    def perform(self, check: Check, visible: str | None) -> tuple[str | None, float, str]:
        """Runs a check on these GPUs, or on all: the reason of a failure, its seconds, its output."""
        of_part = check.limit or self.limit
        limit = of_part * max(1, len(check.parts))
        env = {
            **os.environ,
            "NVSHMEMRS_MEMORY": "device",
            # An error of the library's own says more than our limit, so that comes first.
            "NVSHMEMRS_TIMEOUT": str(max(of_part - 15, of_part / 2)),
            "NVSHMEM_SYMMETRIC_SIZE": "256m",
            "PYTHONUNBUFFERED": "1",
            **({"CUDA_VISIBLE_DEVICES": visible} if visible else {}),
            **check.env,
        }
        if program("device") in check.command:
            # This program requests the heap size that it needs.
            env.pop("NVSHMEM_SYMMETRIC_SIZE")
        start = time.monotonic()
        with tempfile.TemporaryFile() as said:
            with self.lock:
                if self.ended:
                    return "was not begun", 0.0, ""
                process = subprocess.Popen(
                    check.command, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
                )
                self.running.add(process.pid)
            reason, status = None, 0
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                reason = f"not done after {limit:g} s"
            with self.lock:
                self.running.remove(process.pid)
                kill_group(process.pid)
            process.wait()
            took = time.monotonic() - start
            said.seek(0)
            text = said.read().decode(errors="replace")
        return reason or wrong(check, status, text), took, text

    def end(self) -> None:
        with self.lock:
            self.ended = True
            for group in self.running:
                kill_group(group)


def kill_group(group: int) -> None:
    """The check's own process and its process group. PEs are in other groups: they are ended when nvshmemrs-run is gone."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def report(check: Check, result: tuple[str | None, float, str], tail: int) -> bool:
    """Prints how a check ended; whether it passed."""
    reason, took, text = result
    print(f"{check.name} ... {'ok' if reason is None else 'FAILED'} {took:.1f} s", flush=True)
    if reason is not None:
        print(f"  {reason}; the command: {' '.join(check.command)}")
        lines = text.rstrip().splitlines()[-tail:]
        print("\n".join(f"  | {line}" for line in lines), flush=True)
    return reason is None


def perform_all(checks: list[Check], gpus: list[str], runs: Runs, args: argparse.Namespace) -> list[str]:
    """Runs checks, one after another or side by side on GPUs of their own; the names of those that failed."""
    waiting, free, failed = list(checks), list(gpus), []
    if args.side_by_side:
        # The checks that take most GPUs come first: smaller checks then fill the remaining GPUs.
        waiting.sort(key=lambda check: check.gpus or len(gpus), reverse=True)
    begun: dict[futures.Future, tuple[Check, list[str]]] = {}
    with futures.ThreadPoolExecutor(len(gpus)) as threads:
        try:
            while waiting or begun:
                for check in list(waiting):
                    uses = min(check.gpus, len(gpus)) or len(gpus)
                    takes = uses if args.side_by_side else len(gpus)
                    if takes > len(free):
                        continue
                    waiting.remove(check)
                    taken, free = free[:takes], free[takes:]
                    sees = taken[:uses] if check.only_those else taken
                    visible = None if len(sees) == len(gpus) else ",".join(sees)
                    begun[threads.submit(runs.perform, check, visible)] = check, taken
                for ended in futures.wait(begun, return_when=futures.FIRST_COMPLETED).done:
                    check, taken = begun.pop(ended)
                    free += taken
                    if not report(check, ended.result(), args.tail):
                        failed.append(check.name)
        finally:
            # An interrupt: the running checks are not waited for.
            runs.end()
    return failed


def python_part(numbers: list[int], land: Path, python: str) -> list[Check]:
    """The examples and Python's tests; prints those that cannot run here."""
    no_cupy = lacks(python, "numpy", "cupy")
    if no_cupy:
        print(f"not run: the examples in Python: {python}: {no_cupy}")
    checks = [check for n in numbers for check in examples(n, land, python, not no_cupy)]
    no_torch = lacks(python, "numpy", "torch")
    if no_torch:
        print(f"not run: the memory pools of torch: {python}: {no_torch}")
    else:
        checks += [pools(n, python) for n in numbers] + torch_ops(numbers, python)
        no_triton = lacks(python, "triton", "ml_dtypes")
        if no_triton:
            print(f"not run: kernels in Triton: {python}: {no_triton}")
        else:
            checks += triton(numbers, python) + bitcode(numbers, python) + fused(numbers, python)
    no_jax = lacks(python, "jax", "jax_plugins.xla_cuda13")
    if no_jax:
        print(f"not run: operations inside of JAX programs: {python}: {no_jax}")
    else:
        checks += jax(numbers, python)
    no_pytest = no_cupy or lacks(python, "pytest", "torch", "cuda.core")
    if no_pytest:
        print(f"not run: the tests in Python: {python}: {no_pytest}")
        return checks
    return checks + python_checks(python)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="seconds that one check, or a part of it, may take (60; the suite, 180)")
    parser.add_argument("--only", action="append", metavar="PATTERN", help="checks whose names contain or match this; may be repeated")
    parser.add_argument("--pes", type=int, action="append", metavar="N", help="numbers of GPUs (1, 2, 4, ... and all)")
    parser.add_argument("--side-by-side", action="store_true", help="run checks that use different GPUs at the same time")
    parser.add_argument("--sanitizer", action="store_true", help="small cases under compute-sanitizer instead")
    parser.add_argument("--list", action="store_true", help="only print the names")
    parser.add_argument("--python", default=shutil.which("python3") or sys.executable, help="the Python with CuPy, torch, pytest (python3)")
    parser.add_argument("--tail", type=int, default=25, metavar="LINES", help="of what a failing check said (25)")
    args = parser.parse_args()

    # A shell may have set SIGINT to be ignored for its background processes.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    visible, why = gpus_here()
    gpus = len(visible)
    if gpus == 0:
        print(f"run-gpu-tests: no GPU to run on: {why}", file=sys.stderr)
        return 2
    folder = tempfile.TemporaryDirectory()
    land = Path(folder.name) / "hills.raw"
    write_land(land)
    if args.sanitizer:
        tool = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
        if not Path(tool).exists():
            print("run-gpu-tests: compute-sanitizer is not on PATH, nor in /usr/local/cuda/bin", file=sys.stderr)
            return 2
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            print("not run: kernels that communicate: nvcc is not on PATH")
        checks = sanitizer(gpus, tool, nvcc, folder.name)
    else:
        numbers = [n for n in args.pes or counts(gpus) if 1 <= n <= gpus]
        if not numbers:
            print(f"run-gpu-tests: none of the numbers of --pes is from 1 to {gpus}, the GPUs here", file=sys.stderr)
            return 2
        checks = []
        for n in numbers:
            checks += correctness(n, FULL if n == numbers[-1] else SMALL)
        checks += python_part(numbers, land, args.python)
        checks += numba(min(2, numbers[-1]), args.python) + numba_mlir(min(2, numbers[-1]), args.python)
        nvcc = shutil.which("nvcc")
        if nvcc:
            checks += kernels(numbers[-1], nvcc, folder.name) + nvshmem_names(numbers[-1], nvcc, folder.name)
            checks += watched(numbers[-1], nvcc, folder.name) + watched_host(numbers[-1], nvcc, folder.name)
        else:
            print("not run: kernels that communicate: nvcc is not on PATH")
        no_cuda = lacks(args.python, "numpy", "cupy", "cuda.core", "cuda.bindings.nvrtc")
        if no_cuda:
            print(f"not run: kernels of CuTe, and those that Python starts: {args.python}: {no_cuda}")
        else:
            checks += python_kernels(numbers[-1], args.python)
            no_cubins = other_than_cubins(args.python, CUTE)
            if no_cubins:
                print(f"not run: kernels of CuTe: {no_cubins}")
            else:
                checks += cute(min(numbers[-1], 8), args.python)
        checks += many_hosts(visible) + shared(2) + killed(max(2, numbers[-1])) + bad_input(gpus) + on_host()
    if args.only:
        checks = [
            check for check in checks if any(word in check.name or fnmatch.fnmatch(check.name, word) for word in args.only)
        ]
    if args.list:
        print("\n".join(check.name for check in checks))
        return 0
    if not checks:
        print("run-gpu-tests: no check has such a name; --list shows them", file=sys.stderr)
        return 2

    print(f"{gpus} GPU{'s' if gpus > 1 else ''}, {len(checks)} checks, each at most {args.limit:g} s", flush=True)
    start = time.monotonic()
    try:
        failed = perform_all(checks, visible, Runs(args.limit), args)
    except KeyboardInterrupt:
        print("run-gpu-tests: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    took = time.monotonic() - start
    for name in failed:
        print(f"FAILED: {name}")
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed of {len(checks)} checks in {took:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
