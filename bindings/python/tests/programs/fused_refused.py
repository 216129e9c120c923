"""Fused operations with wrong arguments, one at a time: the error names the argument. One PE; with
two, a member's mistake that all members are told.
"""

from functools import partial

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem
from nvshmemrs.core import fused

nvshmem.init(timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()


refused = partial(raises, nvshmem.NvshmemInvalid)

def made(*shape, dtype="float32"):
    return np.zeros(shape, dtype)


def alone():
    refused("reduce_bytes=-1: it must be 0", fused.Workspace, reduce_bytes=-1)
    refused("choices='a'", fused.Workspace, choices="a")
    refused("team='NONE'", fused.Workspace, "NONE")
    ws = fused.Workspace(reduce_bytes=1 << 10, product_bytes=1 << 14, choices=16)
    x, weight, out = made(4, 8), made(8), made(4, 8)
    norm = fused.all_reduce_rms_norm
    refused("workspace is None", norm, out, x, weight, None)
    refused("x is 5", norm, out, 5, weight, ws)
    refused("x has shape (4,): all_reduce_rms_norm takes 2 axes", norm, out, made(4), weight, ws)
    refused("x has dtype float64", norm, out, x.astype("float64"), weight, ws)
    refused("x is not contiguous", norm, out, made(8, 8)[:, :4], weight, ws)
    refused("x has shape (0, 8)", norm, out, made(0, 8), weight, ws)
    refused("x: all_reduce_rms_norm moves 16 bytes at once", norm, out, made(4, 7), weight, ws)
    refused("at most 65536 bytes", norm, out, made(1, 1 << 15), weight, ws)
    refused("out has shape (4, 4): it must be (4, 8)", norm, made(4, 4), x, weight, ws)
    refused("out has dtype float16, and x float32", norm, made(4, 8, dtype="float16"), x, weight, ws)
    refused("weight has shape (4,)", norm, out, x, made(4), ws)
    refused("residual_out was passed without residual", norm, out, x, weight, ws, residual_out=x)
    refused("residual has shape (4, 4)", norm, out, x, weight, ws, residual=made(4, 4))
    refused("out and residual_out overlap", norm, out, x, weight, ws, residual=out)
    refused("eps=-1", norm, out, x, weight, ws, eps=-1)
    refused("algorithm='ring'", norm, out, x, weight, ws, algorithm="ring")
    refused("programs=0: it must be 1 or more", norm, out, x, weight, ws, programs=0)
    refused("warps=3: it must be a power of 2", norm, out, x, weight, ws, warps=3)
    refused("stream: on host memory", norm, out, x, weight, ws, stream=5)
    refused("reduce_bytes=1024, and this all_reduce_rms_norm needs 2048", norm, made(64, 8), made(64, 8), weight, ws)

    a, b, c = made(16, 16), made(16, 16), nvshmem.array((16, 16), "float32")
    product = fused.matmul_all_reduce
    refused("out is not symmetric memory", product, a.copy(), a, b, ws)
    refused("b has shape (8, 16): a has shape (16, 16)", product, c, a, made(8, 16), ws)
    refused("b has dtype float16, and a float32", product, c, a, made(16, 16, dtype="float16"), ws)
    refused("out has shape", product, c, a[:8], b, ws)
    refused("out and a overlap", product, c, c, b, ws)
    refused("a has shape (16, 2)", product, c, made(16, 2), made(2, 16), ws)
    refused("b is not contiguous", product, c, a, made(32, 32)[::2, ::2], ws)
    refused("tiles=(1, 2)", product, c, a, b, ws, tiles=(1, 2))
    refused("warps a power of 2 up to 32", product, c, a, b, ws, tiles=(16, 16, 16, 3, 1, 2))
    refused("pieces=99", product, c, a, b, ws, pieces=99)
    refused("takes 2 members", product, c, a, b, ws, pieces=2)
    refused("product_bytes=16384", product, nvshmem.array((80, 80), "float32"), made(80, 16), made(16, 80), ws)
    scattered = made(16 // n, 16)
    refused("pass one of them", fused.all_gather_matmul, c, scattered, b, ws, pieces=1, tiles=(16, 16, 16, 4, 1, 2))
    refused("out has shape", fused.matmul_reduce_scatter, made(3, 16), a, b, ws)
    refused("out has shape", fused.all_gather_matmul, made(3, 16), scattered, b, ws)

    tokens, experts = made(4, 8), made(4, 2, dtype="int32")
    inbox = nvshmem.array((32, 8), "float32")
    send = fused.dispatch
    refused("out is not symmetric memory", send, made(32, 8), tokens, experts, ws, n_experts=4)
    refused("x has dtype float64", send, inbox, tokens.astype("float64"), experts, ws, n_experts=4)
    refused("experts has dtype float32", send, inbox, tokens, made(4, 2), ws, n_experts=4)
    refused("experts has shape (3, 2)", send, inbox, tokens, experts[:3], ws, n_experts=4)
    refused("n_experts=0", send, inbox, tokens, experts, ws, n_experts=0)
    refused("n_experts=9999", send, inbox, tokens, experts, ws, n_experts=9999)
    refused("align=0", send, inbox, tokens, experts, ws, n_experts=4, align=0)
    refused("pass both, or none", send, inbox, tokens, experts, ws, n_experts=4, scales=made(4, 1))
    refused("choices=256", send, inbox, made(200, 8), made(200, 2, dtype="int32"), ws, n_experts=4)
    route = send(inbox, tokens, experts, ws, n_experts=4)
    refused("route was made for 4 tokens", send, inbox, tokens[:2], experts[:2], ws, n_experts=4, route=route)
    refused("route is 7", send, inbox, tokens, experts, ws, n_experts=4, route=7)
    bring = fused.combine
    refused("route is None", bring, tokens, inbox, experts, made(4, 2), None)
    refused("y is not symmetric", bring, tokens, made(32, 8), experts, made(4, 2), route)
    refused("weights has shape (4, 3)", bring, tokens, inbox, experts, made(4, 3), route)
    refused("out has shape (3, 8)", bring, tokens[:3], inbox, experts, made(4, 2), route)
    wrong = nvshmem.array((32, 3), "float32")
    refused("must divide", bring, tokens, inbox, experts, made(4, 2), route, scales=wrong)
    kept, ws_kept = nvshmem.array((32, 8), "float32"), ws
    nvshmem.free_array(kept)
    refused("freed", bring, tokens, kept, experts, made(4, 2), route)
    ws_kept.free()
    refused("workspace was freed", norm, out, x, weight, ws)


def together():
    """Found on one member or by counts, told to all."""
    refused("reduce_bytes: the PEs passed", fused.Workspace, reduce_bytes=1024 * (1 + me))
    with fused.Workspace(choices=16) as ws:
        refused("x has 1 rows, fewer than the 2 members", fused.all_reduce_rms_norm, made(1, 4), made(1, 4), made(4), ws, algorithm="two_shot")
        tokens, inbox = made(4, 8), nvshmem.array((2, 8), "float32")
        experts = made(4, 1, dtype="int32")
        refused("too few rows", fused.dispatch, inbox, tokens, experts, ws, n_experts=n)
        nvshmem.barrier_all()
        # The kernel of the wrong PE alone finds it; in the plain form all members are told.
        experts[:] = -1
        if me == 0:
            experts[0] = n
        try:
            fused.dispatch(inbox, tokens, experts, ws, n_experts=n)
        except nvshmem.NvshmemInvalid as error:
            assert "experts has a number that is no expert" in str(error), error
        else:
            assert me != 0
        nvshmem.barrier_all()
    team = nvshmem.team_split_strided(0, 0, 1, 1)
    with fused.Workspace(team if me == 0 else None, reduce_bytes=64) as ws:
        x = made(1, 4)
        if me == 0:
            fused.all_reduce_rms_norm(x, x, made(4), ws)
        else:
            refused("this PE is no member", fused.all_reduce_rms_norm, x, x, made(4), ws)
            refused("no member", fused.Route, ws, 1, 1, 1)


(alone if n == 1 else together)()
print("ok", flush=True)
nvshmem.finalize()
