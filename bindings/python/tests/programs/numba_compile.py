"""Compiles the functions for kernels to PTX, without a GPU: `numba_compile.py`.

Every function for every size of elements, and every type for what depends on types. Prints a line
for each kernel; what does not compile ends the program.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List

import numpy as np

if not hasattr(np, "row_stack"):  # which numba-cuda 0.30 asks for, and NumPy 2.5 has no more
    np.row_stack = np.vstack

CCS = ((8, 0), (9, 0), (10, 0))
INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
FLOATS = "float16 bfloat16 float32 float64".split()
WAITED = INTEGERS[1:4] + INTEGERS[5:]
ATOMIC = "int32 int64 uint32 uint64 float32 float64 float16".split()


class Device:
    """What Numba asks for where there is no GPU: functions that a kernel calls are compiled for
    "the current device"."""

    compute_capability = (9, 0)


import numba.cuda.dispatcher
from numba.cuda import types
from numba.cuda.compiler import compile_cuda

numba.cuda.dispatcher.get_current_device = lambda: Device

import nvshmemrs.core.device.numba as shmem
from nvshmemrs.core import NotInitializedError

warnings.simplefilter("ignore")


def array(dtype: str) -> Any:
    return types.Array(getattr(types, dtype), 1, "C")


def ptx(lines: List[str], arguments: Dict[str, Any], ccs: Any = CCS) -> str:
    """The last PTX of a kernel that calls what `lines` say."""
    made: Dict[str, Any] = {"shmem": shmem}
    exec("\n ".join([f"def kernel({', '.join(arguments)}):", *lines]), made)
    given = tuple(arguments.values())
    compiled = compile_cuda(made["kernel"], types.void, given, cc=(9, 0), nvvm_options={"opt": 0})
    texts = [compiled.library.get_asm_strs(cc=cc)[0] for cc in ccs]
    for cc, text in zip(ccs, texts):
        assert f".target sm_{cc[0]}{cc[1]}" in text, text[:400]
        assert "nvshmemrs_device_state" in text
    return texts[-1]


def call(name: str) -> str:
    """A line that calls a function of `shmem` with arguments that it takes."""
    if name.startswith("atomic_"):
        if name == "atomic_compare_swap":
            return f"d[0] = shmem.{name}(d, 1, 2, pe)"
        result = "d[0] = " if "fetch" in name or name == "atomic_swap" else ""
        value = "" if name in ("atomic_fetch", "atomic_inc", "atomic_fetch_inc") else "1, "
        return f"{result}shmem.{name}(d, {value}pe)"
    if name.startswith(("reduce", "reducescatter")):
        return f"shmem.{name}(team, d, s, 'sum')"
    if name.startswith(("fcollect", "alltoall", "broadcast")):
        return f"shmem.{name}(team, d, s)"
    if name.startswith(("wait_until", "test")):
        indices = "idx, " if "some" in name else ""
        value = "d" if "vector" in name else "3"
        status = ", st" if "_a" in name or "some" in name else ""
        return f"shmem.{name}(d, {indices}5, {value}{status})"
    if name.startswith(("iput", "iget")):
        return f"shmem.{name}(d, s, 2, 3, 4, pe)"
    if name.startswith("put_signal"):
        return f"shmem.{name}(d, s, sig, 1, 9, pe)"
    if name.startswith(("put", "get_peer", "get")) and name != "get_multicast_array":
        if name == "get_peer_array":
            return f"shmem.{name}(d, pe)[0] = s[0]"
        return f"shmem.{name}(d, s, pe)"
    named = {
        "p": "shmem.p(d, s[1], pe)",
        "g": "d[0] = shmem.g(s, pe)",
        "signal_op": "shmem.signal_op(sig, 1, 10, pe)",
        "signal_fetch": "idx[0] = shmem.signal_fetch(sig)",
        "signal_wait": "shmem.signal_wait(sig, 5, 3)",
        "team_my_pe": "idx[0] = shmem.team_my_pe(team)",
        "team_n_pes": "idx[0] = shmem.team_n_pes(team)",
        "team_translate_pe": "idx[0] = shmem.team_translate_pe(team, 0, 0)",
        "my_pe": "idx[0] = shmem.my_pe()",
        "n_pes": "idx[0] = shmem.n_pes()",
        "ask_smem": "idx[0] = shmem.ask_smem(0)",
        "give_smem": "shmem.give_smem(st)",
        "aborted": "st[0] = shmem.aborted()",
    }
    if name in named:
        return named[name]
    team = "team" if name.startswith(("sync", "barrier")) and "_all" not in name else ""
    return f"shmem.{name}({team})"


def arguments(dtype: str) -> Dict[str, Any]:
    return {
        "d": array(dtype),
        "s": array(dtype),
        "sig": array("uint64"),
        "st": array("int32"),
        "idx": array("int64"),
        "team": types.int64,
        "pe": types.int64,
    }


def names(wanted: Callable[[str], bool]) -> List[str]:
    left_out = ("SmemAmount", "get_multicast_array")
    return [name for name in shmem.__all__ if name not in left_out and wanted(name)]


def refuses_without_a_job() -> None:
    """A launch asks for the kernel's function, which only a PE gets."""
    made: Dict[str, Any] = {"shmem": shmem}
    exec("def kernel(d, pe):\n shmem.p(d, 1, pe)", made)
    given = (array("int32"), types.int64)
    compiled = compile_cuda(made["kernel"], types.void, given, cc=(9, 0), nvvm_options={"opt": 0})
    try:
        compiled.library.get_cufunc()
    except NotInitializedError:
        return
    raise AssertionError("a kernel was launched before init")


def main() -> None:
    counted = set()

    def compile(what: str, wanted: List[str], dtype: str, ccs: Any = CCS) -> None:
        lines = [call(name) for name in wanted]
        text = ptx(lines, arguments(dtype), ccs)
        counted.update(wanted)
        print(f"compiled: {what}, {dtype}, {len(wanted)} functions, {len(text)} bytes", flush=True)

    waits = names(lambda name: name.startswith(("wait_until", "test")))
    atomics = names(lambda name: name.startswith("atomic_"))
    numbers = names(lambda name: name.startswith("reduce"))
    moves = names(lambda name: name not in waits + atomics + numbers)
    # Every function for the three architectures.
    for what, wanted in (("moves", moves), ("waits", waits), ("atomics", atomics)):
        compile(what, wanted, "int32")
    compile("reductions", numbers, "float32")
    # Every type for what depends on it: p and g convert numbers, reductions fold them.
    one = (9, 0)
    for dtype in INTEGERS + FLOATS:
        ops = ["max"]
        if dtype in ("int32", "bfloat16"):
            ops = ["sum", "prod", "min", "max"] + ["and", "or", "xor"] * (dtype in INTEGERS)
        lines = [call("p"), call("g")]
        lines += [f"shmem.reduce_block(team, d, s, {op!r})" for op in ops]
        ptx(lines, arguments(dtype), (one,))
        print(f"compiled: numbers, {dtype}", flush=True)
    for dtype in WAITED:
        compile("waits", ["test"], dtype, (one,))
    for dtype in ATOMIC:
        few = ["atomic_fetch_add", "atomic_compare_swap"]
        if dtype not in FLOATS:
            few += ["atomic_and", "atomic_fetch_or", "atomic_xor"]
        compile("atomics", few, dtype, (one,))
    refuses_without_a_job()
    missing = set(names(lambda name: True)) - counted
    assert not missing, missing
    print(f"numba ok: {len(counted)} functions")


if __name__ == "__main__":
    main()
