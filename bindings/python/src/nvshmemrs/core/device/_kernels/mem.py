"""Other PEs' copies of symmetric arrays, for loads and stores."""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import address, contiguous_bytes, inlined, integer, moved, no_multicast, public
from ._state import GET, on

__all__ = ["get_multicast_array", "get_peer_array"]


@inlined
def get_peer_array(arr, pe):
    """PE `pe`'s copy of a symmetric array or view: same shape, dtype and strides, for plain loads
    and stores. Other threads of other PEs see stores after ``fence`` and a signal. One-sided.
    """
    return moved(arr, on(GET, integer(pe), address(arr), contiguous_bytes(arr), 1))


@public
def get_multicast_array(team, array):
    """An error: this version offers no multicast memory."""
    return no_multicast(array)
