"""Checks of Python, and of arrays and operations of torch, JAX and Triton."""

from __future__ import annotations

import os

from .common import DIST, EXAMPLES, PROGRAMS, PYTEST, Check, pes_of, processes, python_env, together


def python_checks(python: str) -> list[Check]:
    """The tests of Python's arrays and streams, which use CuPy, torch and cuda.core."""
    env = {**python_env(), "PATH": os.pathsep.join([str(DIST / "bin"), os.environ.get("PATH", "")])}
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rs", "-k", "gpus", str(PYTEST)]
    return [Check("Python: CuPy, torch and cuda.core (pytest)", command, r"^\d+ passed(, \d+ deselected)? in ", gpus=4, env=env, limit=600)]


def pools(n: int, python: str) -> Check:
    """torch's memory pools over the symmetric heap."""
    command = processes(n, python, str(PROGRAMS / "cuda_pool.py"))
    return Check(f"{n} processes: torch.cuda.MemPool, Python", command, "^ok$", n, gpus=n, env=python_env())


TORCH_PARTS = (
    ("torch_ops.py", ("eager", "private", "onesided", "alltoallv", "refused", "groups")),
    # The job ends with its wrong splits.
    ("torch_ops.py", ("wrong_splits",)),
    ("torch_graphs.py", ("compiled", "gradients", "graphs", "streams", "pools")),
)


def torch_ops(numbers: list[int], python: str) -> list[Check]:
    """torch.ops.nvshmemrs: eager, compiled, in graphs, on streams, with gradients, in pools, with wrong arguments."""
    env = {**python_env(), "NVSHMEM_SYMMETRIC_SIZE": "512m"}
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for file, parts in TORCH_PARTS:
            for group in together(n, parts):
                command = processes(n, python, str(PROGRAMS / file), *group)
                name = f"torch: {' '.join(group)}, {pes_of(n)}"
                checks.append(Check(name, command, "^torch ok: PART$", n, parts=group, gpus=n, env=env, limit=300))
        for example in ("torch_mlp", "torch_experts"):
            command = processes(n, python, str(EXAMPLES / f"{example}.py"))
            words = rf"^{example} ok PE \d+ of {n}$"
            heap = {**env, "NVSHMEM_SYMMETRIC_SIZE": "1g"}
            checks.append(Check(f"torch: {example} example, {n}", command, words, n, gpus=n, env=heap, limit=300))
    return checks


JAX_PARTS = "reductions moves teams one_sided signals control shards views large private"


def jax(numbers: list[int], python: str) -> list[Check]:
    """Operations inside of JAX programs."""
    env = {**python_env(), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    program = str(PROGRAMS / "jax_calls.py")
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for group in together(n, JAX_PARTS.split()):
            command = processes(n, python, program, *group)
            words = r"^jax ok: PART, PE \d+$"
            checks.append(Check(f"jax: {' '.join(group)}, {pes_of(n)}", command, words, n, parts=group, gpus=n, env=env, limit=240))
    if max(numbers) > 1:
        command = processes(2, python, program, "shards", "distributed=47653")
        checks.append(Check("jax: shards of jax.distributed, 2 PEs", command, r"^jax ok: shards, PE \d+$", 2, gpus=2, env=env, limit=240))
    for n in numbers:  # each on a GPU of its own, as Mosaic needs it
        command = processes(n, python, str(PROGRAMS / "jax_pallas.py"))
        words = r"^pallas ok: (ring|in_place), PE \d+$"
        debug = {**env, "NVSHMEM_DEBUG": "WARN"}
        checks.append(Check(f"jax: Pallas, {pes_of(n)}", command, words, 2 * n, gpus=n, env=debug, limit=240))
        command = processes(n, python, str(EXAMPLES / "jax_ring.py"), "--pallas")
        checks.append(Check(f"jax: ring example, {n}", command, rf"^jax_ring ok PE \d+ of {n}$", n, gpus=n, env=debug, limit=240))
    return checks


def fused(numbers: list[int], python: str) -> list[Check]:
    """Fused operations beside the plain formulas, in graphs, too."""
    env = {**python_env(), "TRITON_INTERPRET": "0", "NVSHMEM_SYMMETRIC_SIZE": "1g"}
    checks = []
    # Two share a GPU where there is only one.
    for n in sorted({*numbers, 2}):
        for group in together(n, ("norm", "experts", "product", "teams")[: 4 if n > 2 else 3]):
            command = processes(n, python, str(PROGRAMS / "fused_operations.py"), *group)
            says = r"^fused ok: PART, PE \d+$"
            checks.append(Check(f"fused: {' '.join(group)}, {pes_of(n)}", command, says, n, parts=group, gpus=n, env=env, limit=300))
    return checks
