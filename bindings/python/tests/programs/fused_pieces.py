"""Products in pieces without a GPU: a stand-in for torch runs each stream's work at once, on host
memory, and Triton's interpreter runs the kernels that meet and wait. It tests which rows go where, and that
no PE waits for what another one sends later. Elements are small integers, so sums are exact.
"""

import contextlib
import ctypes
import sys
import types
from typing import Any

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core._job import job


class Tensor(np.ndarray):
    """The methods of a torch tensor that `_pieces` calls."""

    def addmm_(self, a: Any, b: Any) -> "Tensor":
        self[...] += a @ b
        return self

    def add_(self, other: Any) -> "Tensor":
        self[...] += other
        return self

    def data_ptr(self) -> int:
        return self.ctypes.data


class Stream:
    def wait_event(self, event: Any) -> None:
        pass


class Event:
    def record(self, stream: Any) -> None:
        pass


def matmul(a: Any, b: Any, out: Any) -> None:
    out[...] = a @ b


stream = Stream()
torch: Any = types.ModuleType("torch")
torch.cuda = types.SimpleNamespace(
    current_stream=lambda: stream, stream=lambda _: contextlib.nullcontext(), Stream=lambda *_, **__: stream, Event=Event
)
torch.matmul = matmul
# Arrays of NumPy's are none.
torch.Tensor = type("NoTensor", (), {})


def tensor(address: int, shape: Any, kind: str, keeper: Any = None) -> Any:
    nbytes = int(np.prod(shape)) * np.dtype(kind).itemsize
    return np.frombuffer((ctypes.c_char * nbytes).from_address(address), kind).reshape(shape).view(Tensor)


def main() -> None:
    nvshmem.init(timeout=60)
    from nvshmemrs.core import fused
    from nvshmemrs.core.fused import _arguments as args
    from nvshmemrs.core.fused import _kernels, _pieces
    from nvshmemrs.core.fused._product import Factors

    sys.modules["torch"] = torch
    _pieces._tensor, _pieces.handle_of = tensor, lambda _: job.handle
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    M, N, K = 6 * n, 16, 8
    out = nvshmem.array((M, N), "float32")
    rows, gathered = np.zeros((M // n, N), "float32"), np.zeros((M * n, N), "float32")
    with fused.Workspace(product_bytes=1 << 14) as ws:
        for turn in range(4):
            random = np.random.default_rng(turn)
            lefts = [random.integers(0, 9, (M, K)).astype("float32") for _ in range(n)]
            rights = [random.integers(0, 9, (K, N)).astype("float32") for _ in range(n)]
            total = sum(left @ right for left, right in zip(lefts, rights))
            # A transpose of a contiguous matrix in every other turn.
            b = np.ascontiguousarray(rights[me].T).T if turn % 2 else rights[me]
            f = Factors(lefts[me], b, "product")

            def run(operation: Any, array: Any, count: int, symmetric: bool) -> None:
                found = args.array(array, "out", "product", dims=2, kinds=args.FLOATS, symmetric=symmetric)
                operation(_pieces.Pieces(_kernels, ws, f, count), found)

            for count in (1, 2, 4):
                if n == 2:
                    run(_pieces.all_reduce, out, count, True)
                    assert (out == total).all(), ("all-reduce", turn, count)
                    run(_pieces.reduce_scatter, rows, count, False)
                    assert (rows == total[me * M // n :][: M // n]).all(), ("reduce-scatter", turn, count)
                run(_pieces.all_gather, gathered, count, False)
                assert (gathered == np.concatenate(lefts) @ rights[me]).all(), ("all-gather", turn, count)
                # The kernel with tiles uses the same workspace in between.
                fused.matmul_all_reduce(out, lefts[me], b, ws)
                assert (out == total).all(), ("tiles", turn, count)
    print("ok", flush=True)
    nvshmem.finalize()


if __name__ == "__main__":
    main()
