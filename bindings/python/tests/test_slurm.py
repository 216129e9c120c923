"""Jobs that Slurm starts, on two nodes that this machine plays; docs/clusters.md says the same."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import pytest

ROOT = Path(__file__).parents[3]
HELLO = ROOT / "examples/python/hello.py"
PAGE = ROOT / "docs/clusters.md"
LIMIT = 120  # seconds for anything that Slurm does here

CONFIGURATION = """
ClusterName=nvshmemrs
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge/socket
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool-%n
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd-%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
# PMIx makes a folder of the same name on each node.
TmpFS={home}/tmp-%n
TaskProlog={home}/prolog
NodeName=a NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4
NodeName=b NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4
PartitionName=all Nodes=a,b Default=YES
"""

# Tells the library that the two nodes are two hosts.
PROLOG = """#!/bin/sh
test "$SLURM_NNODES" = 1 || echo "export NVSHMEMRS_HOST_ID=$SLURMD_NODENAME"
"""


def free_ports(count: int) -> List[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def call(environment: Dict[str, str], *command: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command to its end. The output has both streams."""
    return subprocess.run(
        command,
        env=environment,
        cwd=environment["SLURM_TEST_HOME"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Dict[str, str]]:
    """The environment of Slurm's commands, with a controller and two nodes that are idle."""
    # Daemons are in a folder that not every PATH has.
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    for tool in ("munged", "slurmctld", "slurmd", "srun"):
        if not shutil.which(tool, path=path):
            pytest.skip(f"Slurm: no {tool} here; `cargo xtask setup` says why it went on without")
    if os.getuid() != 0:
        pytest.skip("Slurm: its slurmd takes root")
    prefix = os.environ.get("NVSHMEMRS_PREFIX")
    if not prefix:
        pytest.skip("Slurm: NVSHMEMRS_PREFIX names no installation: `cargo xtask test` makes one")
    # Below /tmp, since the path of a socket must be short.
    home = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    for folder in ("munge", "state", "tmp-a", "tmp-b"):
        (home / folder).mkdir(mode=0o711)
    (home / "munge.key").write_bytes(os.urandom(1024))
    (home / "munge.key").chmod(0o600)
    (home / "prolog").write_text(PROLOG)
    (home / "prolog").chmod(0o755)
    configuration = CONFIGURATION.format(host=socket.gethostname(), home=home, ports=free_ports(3))
    (home / "slurm.conf").write_text(configuration)
    shutil.copy(HELLO, home / "program.py")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("SLURM_")},
        "SLURM_CONF": str(home / "slurm.conf"),
        "SLURM_TEST_HOME": str(home),
        "NVSHMEMRS_MPI_PLUGIN": f"{prefix}/lib/libnvshmemrs_mpi.so",
        "PATH": path,
        # Open MPI names its shared memory by the machine, which these two nodes have in common.
        "OMPI_MCA_btl": "self,tcp",
        "OMPI_MCA_mpi_yield_when_idle": "1",  # the PEs of both nodes share the cores
        "PYTHONUNBUFFERED": "1",
    }
    ends = {"socket": "/socket", "key": ".key", "pid": ".pid", "log": ".log", "seed": ".seed"}
    munge = [
        f"--{name}{'' if name == 'socket' else '-file'}={home}/munge{end}" for name, end in ends.items()
    ]
    daemons = (
        ["munged", "--foreground", "--force", *munge],
        ["slurmctld", "-D"],
        ["slurmd", "-D", "-N", "a"],
        ["slurmd", "-D", "-N", "b"],
    )
    started = []
    log = (home / "log").open("w")
    try:
        for command in daemons:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            if command[0] == "munged":
                wait_until(lambda: (home / "munge/socket").exists(), home)
        wait_until(lambda: idle(environment) == 2, home)
        yield environment
    finally:
        for daemon in reversed(started):
            daemon.terminate()
            daemon.wait(timeout=LIMIT)
        log.close()
        shutil.rmtree(home)


def idle(environment: Dict[str, str]) -> int:
    """How many nodes wait for work."""
    done = call(environment, "sinfo", "--noheader", "--Node", "--format=%T")
    return done.stdout.split().count("idle")


def wait_until(condition: Callable[[], bool], home: Path) -> None:
    """Fails with what the daemons wrote if it takes too long."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, (home / "log").read_text()
        time.sleep(0.1)


def greetings(n: int) -> List[str]:
    total = n * (n + 1) // 2
    text = "PE {} of {}: my neighbour sent {}, the sum over all PEs is {}"
    return sorted(text.format(pe, n, (pe - 1) % n + 1, total) for pe in range(n))


def test_srun_on_one_node(cluster: Dict[str, str]) -> None:
    """Slurm's variables are enough: neither PMI nor MPI takes part."""
    without_mpi = {**cluster, "NVSHMEMRS_MPI_PLUGIN": "/none"}
    done = call(without_mpi, "srun", "-N1", "-n3", "python", "program.py")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, greetings(3)), done.stdout


def test_the_script_of_the_page_on_two_nodes(cluster: Dict[str, str]) -> None:
    home = Path(cluster["SLURM_TEST_HOME"])
    script = re.search(r"```sh\n(#!/bin/bash\n#SBATCH.*?)```", PAGE.read_text(), re.DOTALL)
    assert script, f"{PAGE} has no script for sbatch"
    (home / "job.sh").write_text(script[1])
    environment = {**cluster, "NVSHMEM_DEBUG": "info"}
    done = call(environment, "sbatch", "--wait", "--output=out", "job.sh")
    output = (home / "out").read_text()
    lines = sorted(line for line in output.splitlines() if line.startswith("PE "))
    assert (done.returncode, lines) == (0, greetings(4)), done.stdout + output
    assert "the PEs are on 2 hosts, over Open MPI" in output, output


def test_a_pe_that_ends_early_ends_the_step(cluster: Dict[str, str]) -> None:
    program = (
        "import os, nvshmemrs.core as nvshmem; nvshmem.init(heap_bytes=1 << 24)\n"
        "if nvshmem.my_pe() == 1: os._exit(3)\n"
        "nvshmem.barrier_all()"
    )
    done = call(cluster, "srun", "--mpi=pmix", "-N2", "-n2", sys.executable, "-c", program)
    assert done.returncode != 0, done.stdout
    said = r"PE 1 .* ended without finalize on host b, during `barrier` of PE 0"
    assert re.search(said, done.stdout), done.stdout


def test_several_nodes_without_pmix_are_an_error(cluster: Dict[str, str]) -> None:
    done = call(cluster, "srun", "--mpi=none", "-N2", "-n2", "python", "program.py")
    assert done.returncode != 0, done.stdout
    assert "PMI" in done.stdout, done.stdout
