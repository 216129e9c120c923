"""Compiles a kernel of CuTe that calls NVSHMEM's names, which CuTe links from the bitcode:

    python names_build.py FOLDER [ARCH]

writes ``names.cubin`` and ``names.json``; ``programs/cute_names.py`` runs them on GPUs. Prints the
functions that the module of the names has.
"""

# ruff: noqa: E402, I001
import json
import sys
from pathlib import Path

from dumps import keeping

import nvshmemrs.compat

nvshmemrs.compat.install()

import nvshmem.bindings.device.cute as names  # which makes the next modules importable
import cutlass
import cutlass.cute as cute
import nvshmem.core
from cutlass.cute.runtime import make_fake_compact_tensor
from nvshmem.bindings.device.cute import int_p as put
from nvshmem.bindings.device.cute import my_pe, n_pes
from nvshmem.bindings.device.cute._cuteast import (
    _CutePtrType,
    barrier_all,
    int_atomic_fetch_add,
    int_iput,
)

# Declared as programs declare functions that this package lacks.
int_g = cute.ffi(
    name="nvshmem_int_g",
    params_types=[_CutePtrType(cutlass.Int32), cutlass.Int32],
    return_type=cutlass.Int32,
)


@cute.kernel
def kernel(x: cute.Tensor):
    me = my_pe()
    # Side by side: the word written by the left neighbour, a sum on PE 0, the word read from the right one.
    put(x.iterator, me + 100, (me + 1) % n_pes())
    int_atomic_fetch_add(x.iterator + 1, me + 1, 0)
    barrier_all()
    x[2] = int_g(x.iterator, (me + 1) % n_pes())
    # Both to the right neighbour's places 3 and 5.
    one, two = cutlass.Int64(1), cutlass.Int64(2)
    int_iput(x.iterator + 3, x.iterator, two, one, cutlass.Uint64(2), (me + 1) % n_pes())


@cute.jit
def launch(x: cute.Tensor):
    kernel(x).launch(grid=[1, 1, 1], block=[1, 1, 1])


def main() -> None:
    folder, arch = Path(sys.argv[1]), (sys.argv[2:] or ["sm_90a"])[0]
    folder.mkdir(parents=True, exist_ok=True)
    bitcode = nvshmem.core.find_device_bitcode_library()
    options = f"{keeping(arch, 'cubin', 'ptx')} --link-libraries={bitcode}"
    # A static layout: the kernel gets the tensor's address and nothing else.
    made = cute.compile(launch, make_fake_compact_tensor(cutlass.Int32, (8,)), options=options)
    (name,) = made.kernel_info
    (folder / "names.cubin").write_bytes(made.__cubin__)
    (folder / "names.ptx").write_text(made.__ptx__)
    (folder / "names.json").write_text(json.dumps({"kernel": name, "arch": arch}))
    print("functions:", *(getattr(names, name).name for name in names.__all__))
    print(f"names.cubin for {arch} in {folder}")
    try:
        names.bfloat16_fly
    except AttributeError as error:
        print(error)


if __name__ == "__main__":
    main()
