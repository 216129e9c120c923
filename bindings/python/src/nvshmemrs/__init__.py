"""One-sided communication (PGAS, the NVSHMEM/OpenSHMEM model) that starts anywhere.

``import nvshmemrs.core as nvshmem`` gives the operations. ``import nvshmemrs as nvshmem`` does,
too: their names are looked up there.
"""

from __future__ import annotations

import importlib
import logging
from typing import Any

__all__ = ["__version__"]


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("nvshmemrs")
    except metadata.PackageNotFoundError:
        # Run from a source tree: the library has the same version.
        from .core.init_fini import get_version

        return get_version().libnvshmem_version


def __getattr__(name: str) -> Any:
    if name == "__version__":
        globals()[name] = found = _version()
        return found
    if not name.startswith("_"):
        core = importlib.import_module(".core", __name__)
        if hasattr(core, name):
            return getattr(core, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Silent unless the program configures logging.
logging.getLogger("nvshmemrs").addHandler(logging.NullHandler())
