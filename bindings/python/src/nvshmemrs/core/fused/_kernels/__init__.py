"""The kernels of fused operations, in Triton. Imported when an operation first needs one."""

# mypy: ignore-errors

from .experts import combine_kernel, count_kernel, move_kernel, plan_kernel
from .norm import one_shot_kernel, two_shot_kernel
from .product import (
    gather_product_kernel,
    meet_kernel,
    reduce_product_kernel,
    wait_kernel,
)

__all__ = [
    "combine_kernel",
    "count_kernel",
    "gather_product_kernel",
    "meet_kernel",
    "move_kernel",
    "one_shot_kernel",
    "plan_kernel",
    "reduce_product_kernel",
    "two_shot_kernel",
    "wait_kernel",
]
