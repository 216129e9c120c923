"""Name and version of this module, by the C library's functions. Local to this package."""

# mypy: ignore-errors

from __future__ import annotations

import re

from .... import __version__
from ._backend import address, jitable, public, st_weak_u8, st_weak_u32

_NAME = tuple(f"nvshmemrs {__version__}".encode()) + (0,)
_VERSION = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])


@jitable
def _store_int(to, value):
    """Stores a number in an array of int32, unless that is None."""
    at = address(to)
    if at != 0:
        st_weak_u32(at, value)


@public
def info_get_name(name):
    """Writes the name of this module, such as ``nvshmemrs 0.1.0``, and a byte 0. `name` has room for 256
    bytes.
    """
    at = address(name)
    for i in range(len(_NAME)):
        st_weak_u8(at + i, _NAME[i])


@public
def info_get_version(major, minor):
    """The version of OpenSHMEM that is followed, as int32; each may be None."""
    _store_int(major, 1)
    _store_int(minor, 5)


@public
def vendor_get_version_info(major, minor, patch):
    """The version of this module, as int32; each may be None."""
    _store_int(major, _VERSION[0])
    _store_int(minor, _VERSION[1])
    _store_int(patch, _VERSION[2])
