"""NVSHMEM4Py's package name, answered by nvshmemrs; see ``nvshmemrs.compat``."""

from __future__ import annotations

import re
from typing import Any

import nvshmemrs as _nvshmemrs
from nvshmemrs import compat as _compat

_compat.answer()

__package_name__ = "nvshmemrs"
__version__ = version = _nvshmemrs.__version__
__version_tuple__ = tuple(int(part) for part in re.findall(r"\d+", __version__)[:3])


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        from nvshmemrs import core

        if hasattr(core, name):  # as NVSHMEM4Py's documentation writes nvshmem.init
            return getattr(core, name)
    raise AttributeError(f"nvshmemrs, which is nvshmem here, has no nvshmem.{name}")
