"""Compiles functions for kernels with numba-cuda-mlir, without a GPU:
`numba_mlir_compile.py 80,90,100 NAME..`, for these architectures (90). If no function is named, it
compiles every one, which takes an hour of processor time. Prints a line for each; what does not
compile ends the program.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from typing import Any, Dict

os.environ["NVSHMEMRS_MEMORY"] = "host"

from numba_calls import MEMBERS, WRONG, call, refuses_members_at_wrong_places
from numba_cuda_mlir import cuda
from numba_mlir_alone import compiled, named

import nvshmemrs.core.device.numba_cuda_mlir as shmem
from nvshmemrs.core.device._symbol import SYMBOL

ARGUMENTS = {
    "d": "int32[]",
    "s": "int32[]",
    "sig": "uint64[]",
    "st": "int32[]",
    "idx": "int64[]",
    "team": "int64",
    "pe": "int64",
}
warnings.simplefilter("ignore")


def kernel(line: str) -> Any:
    made: Dict[str, Any] = {"shmem": shmem, **MEMBERS}
    exec(f"def kernel({', '.join(ARGUMENTS)}):\n {line}", made)
    return cuda.jit(made["kernel"])


def compile(name: str, archs: Any) -> None:
    start = time.monotonic()
    for arch in archs:
        _, ptx, _ = compiled(kernel(call(name)), map(named, ARGUMENTS.values()), arch)
        refers = not name.startswith(("fence", "quiet", "flush", "ask_", "give_", "release_"))
        assert (SYMBOL in ptx) == refers, name
    print(f"compiled: {name}, {time.monotonic() - start:.1f} s", flush=True)


def main() -> None:
    names = [name for name in shmem.__all__ if name not in ("SmemAmount", "get_multicast_array")]
    given = sys.argv[1].split(",") if len(sys.argv) > 1 else ["90"]
    kinds = [named(kind) for kind in ARGUMENTS.values()]
    refuses_members_at_wrong_places(lambda line: compiled(kernel(line), kinds, 90), WRONG)
    for name in sys.argv[2:] or names:
        compile(name, [int(arch) for arch in given])
    print(f"numba-cuda-mlir ok: {len(names)} functions are there", flush=True)


if __name__ == "__main__":
    main()
