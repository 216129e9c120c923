"""Compiles every function of ``nvshmemrs.core.device.cute`` with every type of elements, in three
architectures: a third of the types in each. One type of each architecture is compiled in all three
scopes, the others in one by turns. Prints, for each type, how often the PTX has what a kernel that
does its work must have, and last the functions that were called.

    python every.py PART PARTS sm_80 sm_90a sm_100a

PART of PARTS is what this process does of the types.
"""

from __future__ import annotations

import sys

import nvshmemrs.core.device.cute as nv  # isort: skip; the next imports need it
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor
from dumps import keeping

INTEGERS = (cutlass.Int32, cutlass.Int64, cutlass.Uint32, cutlass.Uint64)
TYPES = (
    cutlass.Int8,
    cutlass.Uint16,
    cutlass.Int32,
    cutlass.Float64,
    cutlass.Uint8,
    cutlass.Float16,
    cutlass.Uint32,
    cutlass.Int64,
    cutlass.Int16,
    cutlass.BFloat16,
    cutlass.Float32,
    cutlass.Uint64,
    cutlass.Float8E4M3FN,
    cutlass.Float8E5M2,
)
SCOPES = ("", "_warp", "_block")
NUMBERS = ("min", "max", "sum", "prod")
BITS = ("and", "or", "xor")
called = set()


def call(name, *arguments):
    called.add(name)
    return getattr(nv, name)(*arguments)


def puts(scope, x, y, signal, pe):
    for kind in ("", "_nbi"):
        call("put" + kind + scope, x, y, pe)
        call("get" + kind + scope, x, y, pe)
        call("put_signal" + kind + scope, x, y, signal, 1, 9, pe)


def meetings(scope, team, x, y, ops, kept):
    kept[0] = call("sync" + scope, team)
    kept[0] = call("sync_all" + scope, 1)
    kept[0] = call("barrier" + scope, team)
    kept[0] = call("barrier_all" + scope)
    kept[0] = call("broadcast" + scope, team, x, y, 1)
    kept[0] = call("fcollect" + scope, team, x, y)
    kept[0] = call("alltoall" + scope, team, x, y)
    kept[0] = call("reduce" + scope, team, x, y, ops[0])
    kept[0] = call("reducescatter" + scope, team, x, y, ops[1])


def atomics(x, y, pe):
    y[0] = call("atomic_fetch", x, pe)
    call("atomic_set", x, y[1], pe)
    y[2] = call("atomic_swap", x, y[2], pe)
    call("atomic_add", x, y[3], pe)
    y[4] = call("atomic_fetch_add", x, y[4], pe)
    if cutlass.const_expr(x.element_type in INTEGERS):
        call("atomic_inc", x, pe)
        y[5] = call("atomic_fetch_inc", x, pe)
        y[6] = call("atomic_compare_swap", x, y[6], y[7], pe)
        for op in ("and", "or", "xor"):
            call("atomic_" + op, x, y[8], pe)
            y[9] = call("atomic_fetch_" + op, x, y[9], pe)


def others(signal, peer, team, pe, kept):
    call("signal_op", signal, 1, kept[1], pe)
    kept[2] = cutlass.Int32(call("signal_wait", signal, kept[2], 5))
    call("fence")
    call("quiet")
    kept[3] = call("my_pe") + call("n_pes") + call("team_my_pe", team) + call("team_n_pes", team)
    kept[4] = call("ask_smem", call("SmemAmount", 0)) + call("aborted")
    memory = cute.arch.get_dyn_smem(cutlass.Uint8, alignment=16)
    kept[4] = call("give_smem", cute.make_tensor(memory, cute.make_layout(8320)))
    call("release_smem")
    call("get_peer_tensor", peer, pe)[0] = call("g", peer, pe)
    call("p", peer, peer[1], pe)


@cute.kernel
def kernel(
    state: nv.State,
    x: cute.Tensor,
    y: cute.Tensor,
    signal: cute.Tensor,
    kept: cute.Tensor,
    team: cutlass.Uint64,
    pe: cutlass.Int32,
    number: cutlass.Constexpr,
):
    nv.use(state)
    for scope in cutlass.range_constexpr(3):
        if cutlass.const_expr(number % 5 == 0 or number % 3 == scope):
            puts(SCOPES[scope], x, y, signal, pe)
            ops = NUMBERS if x.element_type.is_float else NUMBERS + BITS
            first = (number + 2 * scope) % len(ops)
            meetings(SCOPES[scope], team, x, y, (ops + ops)[first : first + 2], kept)
    if cutlass.const_expr(x.element_type in (*INTEGERS, *nv.amo.NUMBERS)):
        atomics(x, y, pe)
    others(signal, x, team, pe, kept)


def launcher(number):
    @cute.jit
    def launch(state, x, y, signal, kept, team, pe):
        kernel(state, x, y, signal, kept, team, pe, number).launch(grid=[1, 1, 1], block=[1, 1, 1])

    return launch


def compiled(number, kind, arch):
    # Every other type as sixteen-byte packs, the others in any place and number.
    size, align = ((64, 16), (61, kind.width // 8))[number % 2]
    x = make_fake_compact_tensor(kind, (size,), assumed_align=align)
    signal = make_fake_compact_tensor(cutlass.Uint64, (1,), assumed_align=8)
    kept = make_fake_compact_tensor(cutlass.Int32, (8,), assumed_align=4)
    numbers = cutlass.Uint64(0), cutlass.Int32(0)
    given = nv.fake_state(), x, x, signal, kept, *numbers
    made = cute.compile(launcher(number), *given, options=keeping(arch, "ptx", "cubin"))
    ptx = made.__ptx__
    assert f".target {arch}" in ptx and made.__cubin__[:4] == b"\x7fELF", ptx[:300]
    return ptx


def main() -> None:
    part, parts, archs = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    for number, kind in list(enumerate(TYPES))[part::parts]:
        arch = archs[number * len(archs) // len(TYPES)]
        called.clear()
        ptx = compiled(number, kind, arch)
        print("functions", arch, *sorted(called))
        words = ("st.release.sys", "ld.acquire.sys", "fence.acq_rel.sys", "fence.sc.sys", "trap")
        found = " ".join(f"{word}={ptx.count(word)}" for word in words)
        print(f"{arch} {kind.__name__} {found}", flush=True)


if __name__ == "__main__":
    main()
