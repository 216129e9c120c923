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


# The first PE of every host takes the first GPU that it sees. Processes that share a GPU take turns there.
OWN_GPU = """
case $NVSHMEMRS_HOST_ID in a) at=1;; *) at=2;; esac
gpus="${CUDA_VISIBLE_DEVICES:-$GPUS}"
export CUDA_VISIBLE_DEVICES="$(echo "$gpus" | cut -d, -f$at)"
exec "$@"
"""


def hosts_with_a_gpu(*command: str) -> list[str]:
    """A PE on each of two hosts, with a GPU of its own."""
    return hosts("sh", "-c", OWN_GPU, "sh", *command, pes="ab")


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
    else:
        suite = hosts_with_a_gpu(program("suite"), "few")
        env = {"GPUS": ",".join(visible[:2])}
        checks.append(Check("2 processes, 2 hosts: suite", suite, r"suite ok PE \d+ of 2", 2, gpus=2, env=env, limit=SUITE))
    for part in ("buffers", "streams", "registered", "far"):
        command = hosts(program("device_hosts-c"), part)
        checks.append(Check(f"3 processes, 2 hosts: {part}, C", command, f"device hosts ok: {part}$", 3, gpus=3, limit=120))
    # mpirun would end the others before they have said anything, and its status is that of the PE that died.
    dies = shlex.join(hosts(program("device_hosts-c"), "killed", options=("--enable-recovery",)))
    says = r"^(barrier|stream) on PE \d: status 15: PE 1 \("
    checks.append(Check("3 processes, 2 hosts: killed, C", ["sh", "-c", f"{dies}; true"], says, 4, gpus=3, limit=120))
    return checks
