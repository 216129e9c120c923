# mypy: ignore-errors
"""A tensor-parallel MLP under torch.compile, with gradients.

Each PE has some columns of the first matrix and the same rows of the second. So each PE computes a
summand of the result, and one all-reduce adds them up inside of the compiled function.

    nvshmemrs-run -n 2 -- python3 torch_mlp.py
"""

import beside
import torch
from torch_examples import BACKEND, DTYPE, GPUS, expect_close, finish, measure, start

import nvshmemrs.core.interop.torch as nt


class Mlp(torch.nn.Module):
    """One PE's part of the matrices; with whole matrices and without the sum, the plain MLP."""

    def __init__(self, up, down):
        super().__init__()
        self.up, self.down = (torch.nn.Parameter(part.contiguous()) for part in (up, down))

    def inner(self, x):
        return torch.nn.functional.gelu(x @ self.up)

    def summand(self, x):
        return self.inner(x) @ self.down

    def forward(self, x):
        return nt.all_reduce(self.summand(x))


def main():
    me, n, device = start(reserve=1 << 20)
    rows, width, each = (64, 4096, 4096) if GPUS else (4, 16, 8)
    hidden = n * each
    torch.manual_seed(7)  # the same numbers on every PE
    x = torch.randn(rows, width).to(device, DTYPE)
    up = (torch.randn(width, hidden) / width**0.5).to(device, DTYPE)
    down = (torch.randn(hidden, width) / hidden**0.5).to(device, DTYPE)
    mine = slice(me * each, (me + 1) * each)
    mlp = Mlp(up[:, mine], down[mine])
    layer = torch.compile(mlp, fullgraph=True, backend=BACKEND)

    y = layer(x)
    # Each PE computes the whole loss. The all-reduce adds up the gradients of all, so it is divided.
    (y.float().square().sum() / n).backward()
    whole = Mlp(up, down)
    plain = whole.summand(x)
    plain.float().square().sum().backward()
    expect_close(y, plain, "result")
    expect_close(mlp.up.grad, whole.up.grad[:, mine], "gradient of the first matrix")
    expect_close(mlp.down.grad, whole.down.grad[mine], "gradient of the second matrix")

    def peers_of(peer):
        inner = torch.compile(mlp.inner, fullgraph=True, backend=BACKEND)

        def nccl(memory):
            torch.mm(inner(x), mlp.down, out=memory)
            peer.dist.all_reduce(memory)

        made, window = torch.empty_like(y), beside.windows(peer, y.shape, DTYPE)
        peers = {"torch and NCCL": lambda: nccl(made)}
        if window is not None:
            peers["torch and NCCL with windows"] = lambda: nccl(window)
        return peers

    with torch.no_grad():
        work = f"MLP of {rows} x {width}, {hidden} inner columns, bfloat16, {n} PEs"
        measure(work, lambda: layer(x), peers_of, peers_in_graph=True)
    finish("torch_mlp")


if __name__ == "__main__":
    main()
