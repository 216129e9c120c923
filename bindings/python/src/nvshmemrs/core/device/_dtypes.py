"""Types of elements by name, as the functions of the kernel frontends accept them."""

from __future__ import annotations

BITWISE = ("int32", "int64", "uint32", "uint64")
"""Types of all atomic operations."""
FLOATING = ("float16", "float32", "float64")
"""Further types of atomic operations that are not bitwise."""
WAITED = ("int16", "int32", "int64", "uint16", "uint32", "uint64")
"""Types of waits and tests."""
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KINDS = {"float16": 1, "float32": 2, "float64": 3, "bfloat16": 4}
"""Numbers of types other than integers, for kernels."""
CHECKS = {
    "check_signal": (("uint64", "int64"), "a signal"),
    "check_atomic": ((*BITWISE, *FLOATING), "an atomic operation"),
    "check_bitwise": (BITWISE, "this atomic operation"),
    "check_wait": (WAITED, "a wait or a test"),
    "check_indices": (INTEGERS, "an array of indices"),
}
"""Functions of ``_backend`` that raise unless an array has one of the listed types; the text names the
operation in the error.
"""
