"""Fused operations with torch's tensors on host memory."""

import numpy as np
import torch

import nvshmemrs.core as nvshmem
from nvshmemrs.core import fused

nvshmem.init(timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
symmetric = torch.from_numpy(np.asarray(nvshmem.array((8, 16), "float32")))

with fused.Workspace(reduce_bytes=1 << 10, product_bytes=1 << 14, choices=16) as ws:
    for dtype in (torch.float32, torch.float16):
        x = (torch.arange(32).reshape(2, 16) + me).to(dtype)
        out, weight = torch.empty_like(x), torch.full((16,), 2.0, dtype=dtype)
        fused.all_reduce_rms_norm(out, x, weight, ws)
        row = n * torch.arange(32).reshape(2, 16).double() + n * (n - 1) / 2
        expected = row / (row * row).mean(1, keepdim=True).sqrt() * 2
        assert torch.allclose(out.double(), expected, rtol=2e-3), (out, expected)
    a, b = torch.eye(8, 16) * (me + 1), torch.arange(256.0).reshape(16, 16)
    for right in (b, b.T):
        fused.matmul_all_reduce(symmetric, a, right, ws)
        assert torch.equal(symmetric, n * (n + 1) / 2 * right[:8]), symmetric
    try:
        fused.matmul_all_reduce(symmetric, a.requires_grad_(), b, ws)
    except nvshmem.NvshmemInvalid as error:
        assert "a requires grad" in str(error) and "a.detach()" in str(error), error
    else:
        raise AssertionError("a tensor that requires grad was taken")
    for tensor, words in ((torch.ones(8, 16, device="meta"), "a is a tensor on meta"), (torch.ones(16, 8).t(), "a is not contiguous")):
        try:
            fused.matmul_all_reduce(symmetric, tensor, b, ws)
        except nvshmem.NvshmemInvalid as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)
    x, experts = torch.full((4, 16), me + 1.0), torch.full((4, 1), (me + 1) % n)
    route = fused.dispatch(symmetric, x, experts, ws, n_experts=n)
    assert route.counts.tolist() == [4] and (symmetric[:4] == (me - 1) % n + 1.0).all()
    fused.combine(x, symmetric, experts, torch.full((4, 1), 3.0), route)
    assert (x == 3 * (me + 1.0)).all(), x
print("ok", flush=True)
nvshmem.finalize()
