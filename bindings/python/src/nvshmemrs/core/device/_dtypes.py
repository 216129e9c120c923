"""Types of elements by name, as functions of frontends for kernels know them."""

from __future__ import annotations

BITWISE = ("int32", "int64", "uint32", "uint64")
"""Those of all atomic operations."""
FLOATING = ("float16", "float32", "float64")
"""Those of atomic operations that are not bitwise."""
WAITED = ("int16", "int32", "int64", "uint16", "uint32", "uint64")
"""Those of waits and tests."""
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
KINDS = {"float16": 1, "float32": 2, "float64": 3, "bfloat16": 4}
"""Numbers of types other than integers, for kernels."""
