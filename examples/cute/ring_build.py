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

import nvshmemrs.core.device.cute as nv  # isort: skip; it finds the next ones
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

N = 1000


@cute.kernel
def ring(state: cutlass.Int64, dst: cute.Tensor, src: cute.Tensor, signal: cute.Tensor):
    """Puts a tensor on the PE to the right, and waits for the one from the left."""
    # The address of the state, because cuda.core launches kernels with numbers only.
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    nv.put_signal_block(dst, src, signal, 1, 9, right)
    if cute.arch.thread_idx()[0] == 0:
        nv.signal_wait(signal, 0, 1)


@cute.jit
def launch(state: cutlass.Int64, dst: cute.Tensor, src: cute.Tensor, signal: cute.Tensor):
    ring(state, dst, src, signal).launch(grid=[1, 1, 1], block=[128, 1, 1])


def main() -> None:
    folder, arch = Path(sys.argv[1]), (sys.argv[2:] or ["sm_90a"])[0]
    folder.mkdir(parents=True, exist_ok=True)
    # A static layout: the kernel then gets a tensor's address and nothing else.
    numbers = make_fake_compact_tensor(cutlass.Float32, (N,), assumed_align=16)
    signal = make_fake_compact_tensor(cutlass.Uint64, (1,))
    given = cutlass.Int64(0), numbers, numbers, signal
    with tempfile.TemporaryDirectory() as kept:  # where CuTe writes what it keeps
        os.environ["CUTE_DSL_DUMP_DIR"] = kept
        made = cute.compile(launch, *given, options=f"--gpu-arch {arch} --keep-cubin")
    (kernel,) = made.kernel_info
    (folder / "ring.cubin").write_bytes(made.__cubin__)
    (folder / "ring.json").write_text(json.dumps({"kernel": kernel, "elements": N, "block": 128}))
    print(f"ring.cubin for {arch} in {folder}")


if __name__ == "__main__":
    main()
