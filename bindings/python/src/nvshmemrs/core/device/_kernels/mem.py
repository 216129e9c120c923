"""Other PEs' copies of symmetric arrays, for loads and stores."""

# mypy: ignore-errors

from __future__ import annotations

from ._backend import address, contiguous_bytes, inlined, integer, moved, no_multicast, public
from ._record import RECORD_POINTER, RECORDS, record
from ._state import GET, on

__all__ = ["get_multicast_array", "get_peer_array"]


@inlined
def get_peer_array(arr, pe):
    """PE `pe`'s copy of a symmetric array or view: same shape, dtype and strides, for plain loads
    and stores. Other threads of other PEs see stores after ``fence`` and a signal. One-sided.
    """
    of = integer(pe)
    at = on(GET, of, address(arr), contiguous_bytes(arr), 1)
    if RECORDS:
        record(RECORD_POINTER, GET, of)
    return moved(arr, at)


@public
def get_multicast_array(team, array):
    """An error: this version offers no multicast memory."""
    return no_multicast(array)
