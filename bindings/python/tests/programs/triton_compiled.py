"""Compiles kernels with all functions of the Triton module for the GPUs named, such as 90, without one,
and prints of each what is in its PTX. The functions of a group are in one kernel, because compiling takes
time. Other arguments are names of kernels, if not all are to be compiled.
"""

import multiprocessing
import re
import sys
from typing import Any, Dict, List, Tuple

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton_kernels import (
    amo_kernel,
    bits_kernel,
    collectives_kernel,
    fast_kernel,
    ring_kernel,
    rma_kernel,
    wait_kernel,
)

from nvshmemrs.core.device import triton as nvt
from nvshmemrs.core.interop._torch_alltoallv_kernels import exchange


@triton.jit
def put_kernel(state, dest, source, n, pe):
    ctx = nvt.context(state)
    nvt.put(ctx, dest, source, n, pe, tl.program_id(0), tl.num_programs(0))


@triton.jit
def signal_kernel(state, signal, word, pe):
    ctx = nvt.context(state)
    nvt.store_signal(ctx, word, 1, signal, 1, pe)
    nvt.fence(ctx)
    nvt.signal_op(ctx, signal, 1, pe)
    nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, 1)
    nvt.quiet(ctx)


@triton.jit
def one_kernel(state, team, dest, source, n, OP: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce(ctx, team, dest, source, n, OP, BLOCK=1024)


@triton.jit
def two_kernel(state, team, dest, source, n, OP: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce_two_shot(ctx, team, dest, source, n, OP, BLOCK=2048)


@triton.jit
def scatter_kernel(state, team, dest, source, n, OP: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reducescatter(ctx, team, dest, source, n, OP, BLOCK=1024)


TYPES = {
    "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32", "int64": "i64",
    "uint64": "u64", "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip
FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
Case = Tuple[str, str, Any, Dict[str, str], Dict[str, Any]]


def cases() -> "List[Case]":
    """For each target all functions; for sm_90 all types, too."""
    found: "List[Case]" = []

    def add(sms: str, name: str, kernel: Any, dtype: str, words: str, **constants: Any) -> None:
        """`words`: the kernel's pointers to elements of this type."""
        signature = {word: f"*{TYPES[dtype]}" for word in words.split()}
        for sm in sms.split():
            found.append((sm, name, kernel, signature, constants))

    every = "80 90 100"
    for dtype in TYPES:
        add(every if dtype == "float32" else "90", f"put {dtype}", put_kernel, dtype, "dest source")
        if "float8" not in dtype:  # Triton makes none of integers
            add("90", f"rma {dtype}", rma_kernel, dtype, "dest source values got", N=32)
    for dtype in ("int32", "uint32", "int64", "uint64"):
        add("90", f"bits {dtype}", bits_kernel, dtype, "words old")
        add("90", f"wait {dtype}", wait_kernel, dtype, "words")
    for dtype in ("int32", "int64", "float32", "float64"):
        add("90", f"amo {dtype}", amo_kernel, dtype, "words old mine")
    for sm in ("80", "100"):
        add(sm, "rma float16", rma_kernel, "float16", "dest source values got", N=32)
        add(sm, "bits int32", bits_kernel, "int32", "words old")
        add(sm, "wait uint64", wait_kernel, "uint64", "words")
        add(sm, "amo int64", amo_kernel, "int64", "words old mine")
    add(every, "signal", signal_kernel, "uint64", "signal word")
    add(every, "ring", ring_kernel, "int32", "dest source")
    add(every, "collectives", collectives_kernel, "int32", "dest source gathered parts", BLOCK=256)
    add(every, "two_shot", two_kernel, "float32", "dest source", OP=1)
    add(every, "scatter", scatter_kernel, "float32", "dest source", OP=1)
    for dtype in TYPES:
        # Operations go round, so that each is compiled for several types.
        number = list(TYPES).index(dtype)
        op = 1 + number % (4 if dtype in FLOATS else 7)
        # Triton has no e4m3 before sm_89.
        sms = "80 90" if dtype == "float8_e5m2" else "90"
        add(sms, f"one {dtype}", one_kernel, dtype, "dest source", OP=op)
    for dtype in ("int32", "float32", "float16", "bfloat16"):
        add(every if dtype == "bfloat16" else "90", f"fast {dtype}", fast_kernel, dtype, "dest source", OP=1, BLOCK=512)
    for wide in (False, True):
        for back in (False, True):
            constants = dict(MEMBERS=2, EXPERTS=4, HAS_OFFSETS=back, BY_EXPERT_IN=back, BY_EXPERT_OUT=not back, WIDE=wide)
            name = f"alltoallv {'wide' if wide else 'narrow'}{' back' if back else ''}"
            add(every, name, exchange, "int64" if wide else "int16", "out", **constants)
    add("90", "fast", fast_kernel, "float32", "dest source", OP=1, BLOCK=512)
    return found


OTHERS = {
    "state": "*i64", "signal": "*u64", "trace": "*i64", "found": "*i32", "status": "*i32", "workspace": "*i64",
    "team": "i64", "table": "*i64", "counts": "*i64", "offsets": "*i64", "received": "*i64", "delta": "i64",
}  # fmt: skip
# Numbers that are multiples of 16, as arguments of this kind mostly are.
ALIGNED = ("hidden", "words", "capacity", "M", "N", "K", "b_row", "section", "half")


def compile_case(number: int) -> str:
    sm, name, kernel, types, constants = cases()[number]
    return compiled(sm, name, kernel, types, constants)


def compiled(
    sm: str, name: str, kernel: Any, types: "Dict[str, str]", constants: "Dict[str, Any]", **options: Any
) -> str:
    """What is in the PTX of a kernel; `types` are those of its arguments that are not in `OTHERS`."""
    names = kernel.arg_names
    signature = {
        word: types.get(word) or OTHERS.get(word, "i32") for word in names if word not in constants
    }
    aligned = {
        (names.index(word),): [["tt.divisibility", 16]]
        for word, kind in signature.items()
        if kind.startswith("*") or word in ALIGNED
    }
    values = {(names.index(word),): value for word, value in constants.items()}
    source = ASTSource(kernel, signature, constexprs=values, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("cuda", int(sm), 32), options=options or None)
    ptx = made.asm["ptx"]
    words = ("release", "acquire", "fence.acq_rel.sys", "fence.sc.sys", "globaltimer", "trap")
    orders = " ".join(word for word in words if word in ptx)
    wide = sum(ptx.count(f"st.global.{kind}") for kind in ("v4.b32", "v2.b64"))
    loads = sum(len(re.findall(rf"ld\.\S*global\S*\.{kind}", ptx)) for kind in ("v4.b32", "v2.b64"))
    return f"{name} sm_{sm}: cubin of {len(made.asm['cubin'])} bytes, wide stores {wide}, wide loads {loads}, {orders}"


if __name__ == "__main__":
    sms = [word for word in sys.argv[1:] if word.isdigit()]
    names = [word for word in sys.argv[1:] if not word.isdigit()]
    chosen = [k for k, case in enumerate(cases()) if case[0] in sms and (case[1] in names or not names)]
    with multiprocessing.Pool(2) as pool:
        for line in pool.imap_unordered(compile_case, chosen, chunksize=1):
            print(line, flush=True)
