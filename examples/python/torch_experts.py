# mypy: ignore-errors
"""An expert-parallel layer: rows of tokens go to the PEs of their experts, and the results return.

Every PE has some of the experts. The numbers of rows stay on the device: no PE tells its host, or
another PE, how many rows it sends, so the layer is one compiled function and one CUDA graph.

    nvshmemrs-run -n 2 -- python3 torch_experts.py
"""

import torch
from torch_examples import BACKEND, DTYPE, GPUS, expect_close, finish, measure, start

import nvshmemrs.core.interop.torch as nt

TOP, ALIGN = 2, 16


class Experts:
    """This PE's experts: `weight` has a matrix of each. `room` is the most rows that may arrive."""

    def __init__(self, weight, n, room):
        self.weight, self.n, self.room = weight, n, room

    def products(self, rows, received):
        """Each expert's matrix times its rows, which begin at its first offset."""
        counts, begins = received.view(2, len(self.weight), self.n)
        # An expert's rows end where those of its last member end.
        ends = begins[:, -1] + counts[:, -1]
        if GPUS:  # up to the next expert's beginning; the rows in between are not used
            ends = torch.cat([begins[1:, 0], ends[-1:]]).to(torch.int32)
            return torch.nn.functional.grouped_mm(rows, self.weight, offs=ends)
        place = torch.arange(len(rows))[:, None]
        made = torch.zeros_like(rows)
        for begin, end, matrix in zip(begins[:, 0], ends, self.weight):
            made = torch.where((begin <= place) & (place < end), rows @ matrix, made)
        return made

    def __call__(self, x, experts, gates):
        flat = experts.reshape(-1)
        order = torch.argsort(flat, stable=True)
        splits = torch.zeros(self.n * len(self.weight), dtype=torch.int64, device=x.device)
        splits = splits.scatter_add(0, flat, torch.ones_like(flat))
        rows, received = nt.all_to_all_v_2d(x[order // TOP], splits, self.room, ALIGN)
        made = self.products(rows, received)
        back, _ = nt.all_to_all_v_2d_back(made, received, len(flat))
        home = torch.zeros_like(back).index_copy(0, order, back)
        return (home.view(*experts.shape, -1) * gates[..., None]).sum(1)


def main():
    tokens, width, each = (4096, 2048, 4) if GPUS else (6, 16, 2)
    me, n, device = start(reserve=96 << 20 if GPUS else 1 << 18)
    torch.manual_seed(7)  # the same numbers on every PE
    x = torch.randn(n, tokens, width)[me].to(device, DTYPE)
    weights = (torch.randn(n * each, width, width) / width**0.5).to(device, DTYPE)
    scores = torch.randn(n, tokens, n * each)[me].softmax(-1)
    gates, experts = (part.to(device) for part in scores.topk(TOP))
    gates = gates.to(DTYPE)
    # With random tokens no PE gets twice its share; on hosts there is room for all.
    room = (2 if GPUS else n) * TOP * tokens + each * ALIGN
    layer = Experts(weights[me * each : (me + 1) * each], n, room)
    compiled = torch.compile(layer.__call__, fullgraph=True, backend=BACKEND)

    y = compiled(x, experts, gates)
    plain = [(x @ matrix).float() for matrix in weights]
    chosen = torch.stack(plain)[experts, torch.arange(tokens, device=device)[:, None]]
    expect_close(y, (chosen * gates[..., None].float()).sum(1), "result")

    def peers_of(peer):
        def nccl():
            flat = experts.reshape(-1)
            order = torch.argsort(flat, stable=True)
            sent = torch.bincount(flat, minlength=n * each)
            came = torch.empty_like(sent)
            peer.dist.all_to_all_single(came, sent)
            outgoing = sent.view(n, each).sum(1).tolist()
            incoming = came.view(n, each).sum(1).tolist()
            rows = x.new_empty(sum(incoming), width)
            peer.dist.all_to_all_single(rows, x[order // TOP], incoming, outgoing)
            # Rows come by member, and their products are made by expert.
            kinds = torch.arange(each, device=device).repeat(n).repeat_interleave(came)
            by_expert = torch.argsort(kinds, stable=True)
            ends = came.view(n, each).sum(0).cumsum(0).to(torch.int32)
            made = torch.nn.functional.grouped_mm(rows[by_expert], layer.weight, offs=ends)
            results = torch.empty_like(made).index_copy(0, by_expert, made)
            back = x.new_empty(len(flat), width)
            peer.dist.all_to_all_single(back, results, outgoing, incoming)
            home = torch.empty_like(back).index_copy(0, order, back)
            return (home.view(*experts.shape, -1) * gates[..., None]).sum(1)

        expect_close(nccl(), y, "result of NCCL")
        # NCCL's kernels for windows are of reductions and all-gathers only.
        return {"torch and NCCL": nccl}

    work = f"{tokens} tokens a PE of {width} bfloat16 to {n * each} experts, top {TOP}, {n} PEs"
    measure(work, lambda: compiled(x, experts, gates), peers_of, peers_in_graph=False)
    finish("torch_experts")


if __name__ == "__main__":
    main()
