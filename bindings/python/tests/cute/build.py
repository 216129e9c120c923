"""Compiles the kernels of ``kernels.py`` to cubins, which a machine without CuTe can launch.

    python build.py FOLDER [--arch sm_90a] [--only NAME]

In the folder are then a file for each kernel, and ``kernels.json``: for each name its file, the
kernel's name in it, and the threads of a block. It needs no GPU.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dumps import keeping


def fakes():
    """The kernels by name, each with placeholders for its arguments."""
    import nvshmemrs.core.device.cute as nv  # isort: skip; the next imports need it
    import cutlass
    import cutlass.cute as cute
    import kernels as k
    from cutlass.cute.runtime import make_fake_compact_tensor

    def tensor(kind, size, align=None):
        return make_fake_compact_tensor(kind, (size,), assumed_align=align or kind.width // 8)

    state, number = nv.fake_state(), cutlass.Int32(0)
    handle, address = cutlass.Uint64(0), cutlass.Int64(0)
    signals = tensor(cutlass.Uint64, k.SIGNALS)
    made = {}

    def add(name, kernel, *arguments):
        made[name] = (kernel, arguments)

    for kind in (cutlass.Int8, cutlass.BFloat16, cutlass.Float32, cutlass.Int64):
        rows = [tensor(kind, count * k.STEP) for count in (k.PUT_ROWS, k.GET_ROWS, 2)]
        add(f"moves {kind.__name__}", k.moves, state, *rows, signals)
    for kind in (*k.INTEGERS, cutlass.Float32, cutlass.Float64, cutlass.Float16):
        cells = tensor(kind, k.CELLS)
        add(f"atomics {kind.__name__}", k.atomics, state, cells, cells)
    data = tensor(cutlass.Int32, k.ROUNDS * (2 + k.THREADS))
    src, wrong = tensor(cutlass.Int32, k.ROUNDS + k.THREADS), tensor(cutlass.Int32, 3)
    add("ordered", k.ordered, state, data, src, signals, wrong)
    status = tensor(cutlass.Int32, 32)
    for kind, scopes, align in (
        (cutlass.Int32, k.SCOPES, 16),
        (cutlass.Float16, ("_block",), 16),
        (cutlass.BFloat16, ("_warp",), 16),
        (cutlass.Float32, ("_block",), 16),
        (cutlass.Uint8, ("_block",), 16),
        (cutlass.Float8E4M3FN, ("_block",), 16),
        (cutlass.Float8E5M2, ("_warp",), 8),
        (cutlass.Float64, ("_warp",), 8),
    ):
        for scope in scopes:
            out, src = tensor(kind, 22 * k.PLACE, align), tensor(kind, k.C * k.PES, align)
            name = f"collectives{scope} {kind.__name__}"
            arguments = (handle, number, number, out, src, src, status, scope)
            add(name, k.collectives, state, *arguments)
    eight = tensor(cutlass.Int32, 8)
    add("queries", k.queries, address, handle, eight, eight)
    add("wrong_pe", k.wrong_pe, state, eight)
    many = tensor(cutlass.Float32, 1000)
    add("met", k.met, state, handle, many, many, eight)
    signal, one = tensor(cutlass.Uint64, 1), tensor(cutlass.Int64, 1)
    add("waits", k.waits, state, signal, eight)
    add("ping_pong", k.ping_pong, state, signal, number)
    add("put_ping_pong", k.put_ping_pong, state, one, one, signal, number)
    given = tensor(cutlass.Int32, 1)
    for kind in (cutlass.Int8, cutlass.Float64):
        rows, numbers = tensor(kind, 1 << 20), [number] * 4
        for lent in k.LENT:
            add(f"lends_{lent} {kind.__name__}", k.lends, state, rows, rows, signals, given, *numbers, lent)
    large = tensor(cutlass.Float32, 1 << 24, 16)
    add("spread", k.spread, state, large, large, number)
    return made, cute


def compiled(name, kernel, arguments, cute, arch):
    """A kernel's cubin, and its name there."""

    # A number unknown at compile time: otherwise the kernel would run with blocks of this size only.
    @cute.jit
    def launch(threads, *given):
        kernel(*given).launch(grid=[1, 1, 1], block=[threads, 1, 1])

    done = cute.compile(launch, cute.Int32(128), *arguments, options=keeping(arch, "cubin"))
    (symbol,) = done.kernel_info
    return done.__cubin__, symbol


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--arch", default="sm_90a", help="such as sm_80 (sm_90a)")
    parser.add_argument("--only", default="", help="kernels whose names begin so")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    made, cute = fakes()
    listed = {}
    for name, (kernel, arguments) in made.items():
        if name.startswith(args.only):
            cubin, symbol = compiled(name, kernel, arguments, cute, args.arch)
            file = name.replace(" ", "-") + ".cubin"
            (args.folder / file).write_bytes(cubin)
            listed[name] = {"file": file, "kernel": symbol, "arch": args.arch}
    (args.folder / "kernels.json").write_text(json.dumps(listed, indent=1) + "\n")
    print(f"{len(listed)} kernels for {args.arch} in {args.folder}")


if __name__ == "__main__":
    main()
