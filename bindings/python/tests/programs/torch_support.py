"""What the programs of torch.ops.nvshmemrs share: where they run, what they compare, and how parts are chosen."""

import os
import sys

import expect
import torch

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.torch as nt

GPU = os.environ.get("NVSHMEMRS_MEMORY") == "device"
if GPU:
    number = int(os.environ.get("NVSHMEMRS_PE", "0")) % torch.cuda.device_count()
    torch.cuda.set_device(number)
    HERE = torch.device("cuda", number)
    nvshmem.init(device=HERE, timeout=60)
else:
    HERE = torch.device("cpu")
    nvshmem.init(timeout=60)
ME, N = nvshmem.my_pe(), nvshmem.n_pes()
RIGHT, LEFT = (ME + 1) % N, (ME - 1) % N
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])
OPS = torch.ops.nvshmemrs
BACKEND = "inductor" if GPU else "aot_eager"


def done():
    """What was put on the current stream has run."""
    if GPU:
        torch.cuda.synchronize()


def said(part, check):
    print(f"torch ops ok: {part}: {check}, PE {ME}\n", end="", flush=True)


def same(found, expected):
    done()
    found, expected = found.detach().cpu(), expected.detach().cpu()
    assert found.dtype == expected.dtype and found.shape == expected.shape, (found, expected)
    if found.element_size() == 1 or "uint" in str(found.dtype):
        found, expected = (value.contiguous().view(torch.uint8) for value in (found, expected))
    assert torch.equal(found, expected), (found, expected)


def raises(words, call, *arguments, kind=(nvshmem.NvshmemError, RuntimeError), **named):
    expect.raises(kind, words, call, *arguments, **named)


def run(*parts):
    """Runs the parts that the arguments name."""
    known = {part.__name__: part for part in parts}
    nt.reserve(1 << 19)
    for name in sys.argv[1:]:
        known[name]()
        print(f"torch ok: {name}\n", end="", flush=True)
    if nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED:
        nvshmem.finalize()
    print("ok\n", end="", flush=True)
