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
OPS = "sum prod min max and or xor".split()
ATOMIC = "int32 int64 uint32 uint64 float32 float64 float16".split()


# Functions by the C library's names: one of each form.
LOW = [
    "low.int_put_nbi_warp(d, s, 4, pe)",
    "low.qp_put32_signal_block(d, s, 4, sig, 1, 9, pe, 0)",
    "low.qp_int_p(d, 1, pe, 0)",
    "d[0] = low.qp_int_g(at, pe, 0)",
    "low.int_iput_block(d, s, 2, 3, 4, pe)",
    "low.iget64_warp(d, s, 2, 3, 4, pe)",
    "low.int_wait_until(at, 0, 1)",
    "st[0] = low.int_test_all(d, 4, st, 0, 1)",
    "low.int_wait_until_all_vector(d, 4, None, 0, s)",
    "idx[0] = low.int_test_any(at, 4, None, 0, 1)",
    "idx[0] = low.int_wait_until_any_vector(d, 4, st, 0, s)",
    "idx[0] = low.int_test_some(d, 4, idx, st, 0, 1)",
    "idx[0] = low.int_wait_until_some_vector(d, 4, idx, None, 0, at)",
    "low.int_broadcast_warp(team, d, s, 4, 0)",
    "low.int_sum_reduce(team, d, s, 4)",
    "idx[0] = low.ptr(d, pe)",
    "idx[0] = low.mc_ptr(team, d)",
    "low.qp_quiet_block(pe, st, 1)",
    "low.qp_fence(pe, st, 1)",
    "low.qp_signal_op(sig, 1, 9, pe, 0)",
    "d[0] = low.int_atomic_fetch_add(at, 1, pe)",
    "low.info_get_name(st)",
    "low.info_get_version(st, None)",
    "low.vendor_get_version_info(st, d, s)",
    "idx[0] = low.region_start_block(idx, None) + low.region_stop_block(0)",
    "idx[0] = low.region_is_active(1, st)",
    "low.signal_counted_reset(sig)",
    "idx[0] = low.barrier_warpgroup(team, 1)",
    "idx[0] = low.double2_maxloc_reduce_block(team, f, f, 4)",
]


class Device:
    """What Numba asks for where there is no GPU: functions that a kernel calls are compiled for
    "the current device"."""

    compute_capability = (9, 0)


import numba.cuda.dispatcher
from numba.cuda import types
from numba.cuda.compiler import compile_cuda

numba.cuda.dispatcher.get_current_device = lambda: Device

from numba_calls import MEMBERS, WRONG, call, refuses_members_at_wrong_places

import nvshmemrs.core.device.numba as shmem
from nvshmemrs.core import NotInitializedError
from nvshmemrs.core.device.numba import bindings

warnings.simplefilter("ignore")


def array(dtype: str) -> Any:
    return types.Array(getattr(types, dtype), 1, "C")


def ptx(lines: List[str], arguments: Dict[str, Any], ccs: Any = CCS) -> str:
    """The last PTX of a kernel that calls what `lines` say."""
    made: Dict[str, Any] = {"shmem": shmem, "low": bindings, **MEMBERS}
    exec("\n ".join([f"def kernel({', '.join(arguments)}):", *lines]), made)
    given = tuple(arguments.values())
    compiled = compile_cuda(made["kernel"], types.void, given, cc=(9, 0), nvvm_options={"opt": 0})
    texts = [compiled.library.get_asm_strs(cc=cc)[0] for cc in ccs]
    for cc, text in zip(ccs, texts):
        assert f".target sm_{cc[0]}{cc[1]}" in text, text[:400]
        assert "nvshmemrs_device_state" in text
    return texts[-1]


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

    # A name of the C library's is made while the first kernel is compiled, which calls nothing else.
    ptx(["low.int_p(d, 1, pe)"], arguments("int32"), ((9, 0),))
    waits = names(lambda name: name.startswith(("wait_until", "test")))
    atomics = names(lambda name: name.startswith("atomic_"))
    numbers = names(lambda name: name.startswith("reduce"))
    moves = names(lambda name: name not in waits + atomics + numbers)
    # Every function for the three architectures.
    for what, wanted in (("moves", moves), ("waits", waits), ("atomics", atomics)):
        compile(what, wanted, "int32")
    compile("reductions", numbers, "float32")
    # Every type for what depends on it: p and g convert numbers, reductions fold them.
    # One module for each: larger ones take more than their share of the time.
    for number, dtype in enumerate(INTEGERS + FLOATS):
        # Operations go round, so that each is compiled for an integer and, if it can be, a float.
        ops = OPS if dtype in INTEGERS else OPS[:4]
        op = ops[number % len(ops)]
        lines = [call("p"), call("g"), f"shmem.reduce(team, d, s, {op!r})"]
        if dtype in WAITED:
            lines.append(call("test"))
        if dtype in ATOMIC:
            lines += [call("atomic_fetch_add"), call("atomic_compare_swap")]
            if dtype not in FLOATS:
                lines += [call(f"atomic_{name}") for name in ("and", "fetch_or", "xor")]
        ptx(lines, arguments(dtype), ((9, 0),))
        print(f"compiled: {dtype}, {len(lines)} calls", flush=True)
    text = ptx(
        LOW,
        {**arguments("int32"), "at": types.CPointer(types.int32), "f": array("float64")},
        ((9, 0),),
    )
    print(f"compiled: bindings, {len(LOW)} calls, {len(text)} bytes", flush=True)
    refuses_without_a_job()
    wrong = {**WRONG, "low.qp_signal_op(sig, ADD, 1, pe, 0)": "signal is a SignalOp"}
    refuses_members_at_wrong_places(lambda line: ptx([line], arguments("int32")), wrong)
    ptx(["shmem.signal_wait(sig, GE, 1)"], arguments("int32"))
    missing = set(names(lambda name: True)) - counted
    assert not missing, missing
    print(f"numba ok: {len(counted)} functions")


if __name__ == "__main__":
    main()
