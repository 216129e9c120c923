"""Checks of several hosts, played by this machine."""

from __future__ import annotations

import shlex
import shutil

from .common import DIST, Check, program
from .programs import SMALL, SUITE

MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe"]


def hosts(*command: str, options: tuple[str, ...] = (), pes: str = "abb") -> list[str]:
    """A PE for each letter, which names its host; this machine plays all hosts."""
    words = [*MPIRUN, *options]
    for at, name in enumerate(pes):
        words += [":"] * (at > 0) + ["-n", "1", "-x", f"NVSHMEMRS_HOST_ID={name}", *command]
    return words


# Each host sees its half of the GPUs, of which each of its PEs takes one.
OWN_GPUS = """
gpus="${CUDA_VISIBLE_DEVICES:-$GPUS}"
half=$(($(echo "$gpus" | tr , '\\n' | wc -l) / 2))
case $NVSHMEMRS_HOST_ID in a) of=1-$half;; *) of=$((half + 1))-$((2 * half));; esac
export CUDA_VISIBLE_DEVICES="$(echo "$gpus" | cut -d, -f$of)"
exec "$@"
"""


def hosts_with_gpus(pes: int, *command: str) -> list[str]:
    """Half of the PEs on each of two hosts, each with a GPU of its own."""
    half = pes // 2
    return hosts("sh", "-c", OWN_GPUS, "sh", *command, pes="a" * half + "b" * half)


def many_hosts(visible: list[str]) -> list[Check]:
    """The heap on GPUs of several hosts."""
    if not shutil.which("mpirun") or not (DIST / "lib/libnvshmemrs_mpi.so").is_file():
        print("not run: PEs of other hosts: mpirun is not on PATH, or the bundle was made without the plugin for MPI")
        return []
    device = hosts(program("device"))
    checks = [Check("3 processes, 2 hosts: transfers", device, r"device ok PE \d+", 6, gpus=3, env={"DEVICE_MOST": SMALL}, limit=180)]
    for scenario in ("ring", "model", "misuse"):
        says = rf"{scenario} ok PE \d+ of 3 \(Rust\)"
        checks.append(Check(f"3 processes, 2 hosts: {scenario}, Rust", hosts(program("conformance"), scenario), says, 3, gpus=3, limit=180))
    if len(visible) < 2:
        print("not run: the suite on 2 hosts: it takes 2 GPUs")
    for pes in (pes for pes in (2, 4, 8) if pes <= len(visible)):
        suite = hosts_with_gpus(pes, program("suite"), "few")
        env = {"GPUS": ",".join(visible[:pes])}
        checks.append(Check(f"{pes} processes, 2 hosts: suite", suite, rf"suite ok PE \d+ of {pes}", pes, gpus=pes, env=env, limit=SUITE))
    for part in ("buffers", "streams", "registered", "far"):
        command = hosts(program("device_hosts-c"), part)
        checks.append(Check(f"3 processes, 2 hosts: {part}, C", command, f"device hosts ok: {part}$", 3, gpus=3, limit=120))
    # mpirun would end the other PEs before they have printed anything; its status is the dead PE's.
    dies = shlex.join(hosts(program("device_hosts-c"), "killed", options=("--enable-recovery",)))
    says = r"^(barrier|stream) on PE \d: status 15: PE 1 \("
    checks.append(Check("3 processes, 2 hosts: killed, C", ["sh", "-c", f"{dies}; true"], says, 4, gpus=3, limit=120))
    return checks
