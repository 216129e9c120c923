"""Compiles the kernels of fused operations for the GPUs named, such as 90, without one, and prints of
each what is in its PTX.
"""

import multiprocessing
import sys
from typing import Any, Dict, List, Tuple

from triton_compiled import compiled

from nvshmemrs.core.fused import _kernels as kernels

WORDS = dict.fromkeys("workspace calls used flags table entered left status flag".split(), "*i64")
Case = Tuple[str, Any, Dict[str, str], Dict[str, Any], int]


def cases() -> "List[Case]":
    """Names, kernels, types of arguments, constants, and numbers of warps."""
    found: "List[Case]" = []
    for kind in ("bf16", "fp32"):
        rows = dict.fromkeys("x residual weight out residual_out".split(), f"*{kind}")
        types = {**WORDS, **rows, "inbox": "*i8", "eps": "fp32", "capacity": "i64"}
        for name in ("one_shot", "two_shot"):
            found.append((f"{name} {kind}", getattr(kernels, f"{name}_kernel"), types, dict(RESIDUAL=True, BLOCK=4096), 8))
    whole = "experts counts ranks base starts here offsets places x inbox".split()
    types = {**WORDS, **dict.fromkeys(whole, "*i32"), **dict.fromkeys(("scales", "inbox_scales"), "*fp32")}
    found.append(("count", kernels.count_kernel, types, dict(BINS=256, CHUNK=128), 8))
    found.append(("plan", kernels.plan_kernel, types, dict(CHUNKS=64, BINS=256, TILE=64), 8))
    sizes = dict(BINS=16, CHUNK=128, BLOCK=1024, TOP=2)
    for scales in (0, 64):
        found.append((f"move {scales}", kernels.move_kernel, types, dict(sizes, SCALES=scales), 8))
    for kind, scaled in (("bf16", False), ("fp32", False), ("fp8e4nv", True)):
        more = {**types, "y": f"*{kind}", "weights": "*fp32", "out": "*bf16"}
        found.append((f"combine {kind}", kernels.combine_kernel, more, dict(TOP=2, BLOCK=2048, SCALED=scaled), 4))
    for kind, depth in (("bf16", 64), ("fp32", 32)):
        types = {**WORDS, **dict.fromkeys(("a", "b", "c", "inbox"), f"*{kind}"), "half": "i64", "flags_half": "i64"}
        tile = dict(BM=128, BN=128, BK=depth, GROUP=8, EVEN_N=True, EVEN_K=True, b_column=1)
        found.append((f"reduce_product {kind}", kernels.reduce_product_kernel, types, dict(tile, EVERYWHERE=True), 4))
        found.append((f"gather_product {kind}", kernels.gather_product_kernel, types, dict(tile, SENDERS=16), 4))
    for name in ("meet", "wait"):
        found.append((name, getattr(kernels, f"{name}_kernel"), WORDS, {}, 1))
    return found


def compile_case(asked: "Tuple[str, int]") -> str:
    sm, number = asked
    name, kernel, types, constants, warps = cases()[number]
    return compiled(sm, name, kernel, types, constants, num_warps=warps)


if __name__ == "__main__":
    # Triton has no e4m3 before sm_89.
    chosen = [
        (sm, k) for sm in sys.argv[1:] for k, case in enumerate(cases()) if int(sm) >= 89 or "fp8" not in case[0]
    ]
    with multiprocessing.Pool(2) as pool:
        for line in pool.imap_unordered(compile_case, chosen, chunksize=1):
            print(line, flush=True)
