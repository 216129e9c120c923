"""Compiles kernels with numba-cuda-mlir where there is no GPU."""

from __future__ import annotations

from typing import Any, Iterable, Tuple

from numba_cuda_mlir import tools
from numba_cuda_mlir.numba_cuda import dispatcher, types


class Device:
    """What the compiler asks for."""

    compute_capability = (9, 0)


dispatcher.get_current_device = lambda: Device
tools._cached_cc = Device.compute_capability


def named(kind: str) -> Any:
    """A type by a name such as int64, or int64[] for an array of one dimension."""
    name = kind.removesuffix("[]")
    found = types.boolean if name == "bool" else getattr(types, name)
    return types.Array(found, 1, "C") if kind.endswith("[]") else found


def compiled(kernel: Any, kinds: Iterable[Any], arch: int) -> Tuple[bytes, str, str]:
    """A kernel's cubin for an architecture such as 90, its PTX, and its name there."""
    tools._cached_cc = Device.compute_capability = divmod(arch, 10)
    result = kernel.compile(tuple(kinds))
    made = result.metadata
    ptx = made["ptx"]
    ptx = ptx.decode() if isinstance(ptx, bytes) else ptx
    assert f".target sm_{arch}" in ptx, ptx[:400]
    return bytes(made["cubin"]), ptx, made["func_name"]
