"""Tensors of other PEs, for loads and stores of kernels."""

from __future__ import annotations

from typing import Any

from ...nvshmem_types import NotSupportedError
from ._access import address_of, pointer
from ._arguments import target, tensor
from ._frontend import cute, cutlass
from ._state import current, on

__all__ = ["get_multicast_tensor", "get_peer_tensor"]

Uint64 = cutlass.Uint64


def get_peer_tensor(tensor_: Any, pe: Any) -> Any:
    """A PE's copy of a symmetric tensor, for loads and stores: same type and layout. Local."""
    job = current("get_peer_tensor")
    kind = tensor(tensor_, "tensor", "get_peer_tensor", strided=True).element_type
    size = kind.width // 8
    nbytes = Uint64(cute.cosize(tensor_.layout)) * Uint64(size)
    at = on(job, "get", target(pe, "get_peer_tensor"), address_of(tensor_), nbytes, size)
    # The heaps of two PEs lie a multiple of 2 MiB apart.
    alignment = min(tensor_.iterator.alignment, 1 << 21)
    return cute.make_tensor(pointer(kind, at, alignment), tensor_.layout)


def get_multicast_tensor(team: Any, tensor: Any) -> Any:
    """NotSupportedError: multicast memory is not used."""
    raise NotSupportedError(
        "get_multicast_tensor: multicast memory is not used; get_peer_tensor has one PE's copy"
    )
