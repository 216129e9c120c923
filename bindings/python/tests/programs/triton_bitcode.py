"""A kernel in Triton that NVSHMEM's names are linked to from bitcode: each PE puts a block of numbers and a
signal to its right neighbour, waits for its own, and reads what it got. With `compile FOLDER` it is only
compiled, for three architectures, and its PTX is left there.
"""

import os
import sys
from pathlib import Path

import numpy as np
import triton
import triton.language as tl
from triton.language import core

import nvshmemrs.core as nvshmem

COUNT, SOME = 1024, tl.constexpr(100)
BITCODE = {"nvshmemrs": nvshmem.find_device_bitcode_library()}
I32, I64 = core.dtype("int32"), core.dtype("int64")


def function(name, *types):
    """A function of the bitcode, by the types of its arguments; it returns an int, or nothing that counts."""

    @core.extern
    def call(*arguments, _semantic=None):
        known = {types: (name, I32)}
        return core.extern_elementwise(
            "nvshmemrs", "", list(arguments), known, is_pure=False, _semantic=_semantic
        )

    return call


my_pe = function("nvshmem_my_pe")
n_pes = function("nvshmem_n_pes")
put = function("nvshmemx_putmem_signal_nbi_block", I64, I64, I64, I64, I64, I32, I32)
wait = function("nvshmem_signal_wait_until", I64, I32, I64)
iput = function("nvshmemx_iput32_block", I64, I64, I64, I64, I64, I32)
iget = function("nvshmemx_int_iget_block", I64, I64, I64, I64, I64, I32)
fence = function("nvshmem_fence")
quiet = function("nvshmem_quiet")
barrier = function("nvshmemx_barrier_all_block")
signal_op = function("nvshmemx_signal_op", I64, I64, I32, I32)

SET, GE = tl.constexpr(9), tl.constexpr(5)


@triton.jit
def ring(inbox, source, signal, seen, count, COUNT: tl.constexpr):
    me = my_pe()
    right = (me + 1) % n_pes()
    nbytes = count.to(tl.int64) * 4
    put(
        inbox.to(tl.int64), source.to(tl.int64), nbytes, signal.to(tl.int64), tl.cast(7, tl.int64), SET, right
    )
    wait(signal.to(tl.int64), GE, tl.cast(7, tl.int64))
    at = tl.arange(0, COUNT)
    tl.store(seen + at, tl.load(inbox + at, volatile=True) + me * 0)
    quiet()
    barrier()
    signal_op((signal + 1).to(tl.int64), tl.cast(1, tl.int64), 10, 0)
    fence()
    # The first numbers go to every second place of the right neighbour's `spread`, and are got from there to every third one here.
    spread = inbox + COUNT
    two, three, some = tl.cast(2, tl.int64), tl.cast(3, tl.int64), tl.cast(SOME, tl.int64)
    iput(spread.to(tl.int64), source.to(tl.int64), two, tl.cast(1, tl.int64), some, right)
    quiet()
    iget((seen + COUNT).to(tl.int64), spread.to(tl.int64), three, two, some, right)


def compile_only(folder):
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"inbox": "*i32", "source": "*i32", "signal": "*i64", "seen": "*i32", "count": "i32", "COUNT": "constexpr"}
    source = ASTSource(ring, types, constexprs={"COUNT": COUNT})
    for capability in (80, 90, 100):
        target = GPUTarget("cuda", capability, 32)
        made = triton.compile(source, target=target, options={"extern_libs": BITCODE})
        Path(folder, f"sm_{capability}.ptx").write_text(made.asm["ptx"])
        print(f"bitcode ok: sm_{capability}, {len(made.asm['cubin'])} bytes", flush=True)


def main():
    import torch

    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    inbox = nvshmem.tensor(2 * COUNT, torch.int32)
    torch.cuda.set_device(inbox.device)
    inbox.zero_()
    signal = nvshmem.tensor(2, torch.int64)
    source = torch.arange(COUNT, dtype=torch.int32, device=inbox.device) + 10 * me
    seen = torch.zeros_like(inbox)
    grid = (inbox, source, signal, seen, COUNT, COUNT)
    kernel = ring.warmup(*grid, grid=(1,), extern_libs=BITCODE)
    state = nvshmem.NvshmemKernelObject.from_triton(kernel)
    nvshmem.module_init(state)
    torch.cuda.synchronize()
    nvshmem.barrier_all()
    ring[(1,)](*grid, extern_libs=BITCODE)
    torch.cuda.synchronize()
    nvshmem.barrier_all()
    left = (me - 1) % n
    found, spread = seen.cpu().numpy(), np.zeros((2, COUNT), np.int32)
    np.testing.assert_array_equal(found[:COUNT], np.arange(COUNT) + 10 * left)
    for row, step, pe in ((0, 2, left), (1, 3, me)):
        spread[row, : step * SOME.value : step] = np.arange(SOME.value) + 10 * pe
    np.testing.assert_array_equal(inbox[COUNT:].cpu().numpy(), spread[0])
    np.testing.assert_array_equal(found[COUNT:], spread[1])
    counted = int(signal[1].item())
    # Every thread of a block calls, and adds one.
    assert counted == (n * 32 * kernel.metadata.num_warps if me == 0 else 0), counted
    nvshmem.module_finalize(state)
    nvshmem.barrier_all()
    nvshmem.finalize()
    print(f"bitcode ok: ring, PE {me}", flush=True)


if sys.argv[1:2] == ["compile"]:
    compile_only(sys.argv[2])
else:
    os.environ.pop("TRITON_INTERPRET", None)
    main()
