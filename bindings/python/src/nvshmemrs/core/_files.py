"""Files that lie beside the library, in the wheel, in ``dist`` and in an installation."""

from __future__ import annotations

import os
from pathlib import Path

from .. import _ffi
from .nvshmem_types import NotSupportedError

_BITCODE = "libnvshmemrs_device.bc"


def bitcode() -> str:
    """NVSHMEM's names for kernels as LLVM bitcode."""
    folder = Path(_ffi.library_path()).resolve().parent
    places = [folder / "nvshmemrs-images", folder.parent / "share/nvshmemrs/images"]
    for place in places:
        if (place / _BITCODE).is_file():
            return os.fspath(place / _BITCODE)
    raise NotSupportedError(
        f"find_device_bitcode_library: there is no {_BITCODE} in {' or '.join(map(str, places))}: "
        "`cargo xtask images` makes it, and wheels have it"
    )


def names_library() -> str:
    """The library with NVSHMEM's names for the host."""
    folder = Path(_ffi.library_path()).resolve().parent
    for name in ("libnvshmemrs_nvshmem.so.0", "libnvshmemrs_nvshmem.so"):
        if (folder / name).is_file():
            return os.fspath(folder / name)
    raise NotSupportedError(f"there is no libnvshmemrs_nvshmem.so.0 in {folder}")
