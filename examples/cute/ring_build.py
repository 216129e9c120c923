"""Compiles a kernel of CuTe to a cubin, for a machine that has a GPU and no CuTe.

    python ring_build.py FOLDER [ARCH]

The folder then has ``ring.cubin`` and ``ring.json``, which ``ring_launch.py`` takes. ARCH is sm_90a
unless another one is given. It needs no GPU.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

# The folder in which CuTe keeps its files; CuTe asks for it when the first function is declared.
KEPT = tempfile.TemporaryDirectory()
os.environ["CUTE_DSL_DUMP_DIR"] = KEPT.name

import nvshmemrs.core.device.cute as nv  # isort: skip; it finds the next ones
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

from nvshmemrs.core import ComparisonType, SignalOp

N = 1000


@cute.kernel
def ring(
    state: cutlass.Int64,
    dst: cute.Tensor,
    src: cute.Tensor,
    signal: cute.Tensor,
    turn: cutlass.Int64,
):
    """Puts a tensor on the PE to the right, and waits for the one from the left: the signal is then
    `turn`, which is one more with each launch.
    """
    # The address of the state, because cuda.core launches kernels with numbers only.
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    nv.put_signal_block(dst, src, signal, turn, SignalOp.SIGNAL_SET, right)
    if cute.arch.thread_idx()[0] == 0:
        nv.signal_wait(signal, ComparisonType.CMP_GE, turn)


@cute.jit
def launch(
    state: cutlass.Int64,
    dst: cute.Tensor,
    src: cute.Tensor,
    signal: cute.Tensor,
    turn: cutlass.Int64,
):
    ring(state, dst, src, signal, turn).launch(grid=[1, 1, 1], block=[128, 1, 1])


def main() -> None:
    folder, arch = Path(sys.argv[1]), (sys.argv[2:] or ["sm_90a"])[0]
    folder.mkdir(parents=True, exist_ok=True)
    # A static layout: the kernel then gets a tensor's address and nothing else.
    numbers = make_fake_compact_tensor(cutlass.Float32, (N,), assumed_align=16)
    signal = make_fake_compact_tensor(cutlass.Uint64, (1,))
    given = cutlass.Int64(0), numbers, numbers, signal, cutlass.Int64(1)
    made = cute.compile(launch, *given, options=f"--gpu-arch {arch} --keep-cubin")
    (kernel,) = made.kernel_info
    (folder / "ring.cubin").write_bytes(made.__cubin__)
    (folder / "ring.json").write_text(json.dumps({"kernel": kernel, "elements": N, "block": 128}))
    print(f"ring.cubin for {arch} in {folder}")


if __name__ == "__main__":
    main()
