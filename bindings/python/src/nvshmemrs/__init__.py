"""One-sided communication (PGAS, the NVSHMEM/OpenSHMEM model) that starts anywhere.

``import nvshmemrs.core as nvshmem`` gives the operations. ``import nvshmemrs as nvshmem`` does,
too: their names are looked up there.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any, List


def _version() -> str:
    from importlib import metadata

    try:
        return metadata.version("nvshmemrs")
    except metadata.PackageNotFoundError:
        # Run from a source tree: the library has the same version.
        from .core.init_fini import get_version

        return get_version().libnvshmem_version


# Modules that `__getattr__` finds, so that a misspelt name is an error. mypy needs each module.
if TYPE_CHECKING:
    from . import core as core
    from .core import *  # noqa: F403
    from .core.amo import *  # noqa: F403
    from .core.arrays import *  # noqa: F403
    from .core.checker import *  # noqa: F403
    from .core.collective import *  # noqa: F403
    from .core.direct import *  # noqa: F403
    from .core.kernels import *  # noqa: F403
    from .core.memory import *  # noqa: F403
    from .core.nvshmem_types import *  # noqa: F403
    from .core.rma import *  # noqa: F403
    from .core.streams import *  # noqa: F403
    from .core.teams import *  # noqa: F403
    from .core.waits import *  # noqa: F403

    __version__: str
else:

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            globals()[name] = found = _version()
            return found
        if name == "__all__" or not name.startswith("_"):
            core = importlib.import_module(".core", __name__)
            if name == "__all__":
                return ["__version__", *core.__all__]
            if hasattr(core, name):
                return getattr(core, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> List[str]:
        return sorted({*globals(), *__getattr__("__all__")})


# Silent unless the program configures logging.
logging.getLogger("nvshmemrs").addHandler(logging.NullHandler())
