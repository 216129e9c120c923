"""Shared parts of frontends for kernels: the check that one is installed in a tested version, and
the functions of ``_kernels`` under its name.
"""

from __future__ import annotations

import importlib
import os
import warnings
from importlib import metadata
from typing import Any, Dict, Set, Tuple

from ..nvshmem_types import NvshmemWarning

_warned: Set[str] = set()


def job_is_checked() -> bool:
    """Whether the environment asks for the checker."""
    return os.environ.get("NVSHMEMRS_CHECK", "").strip() == "1"


def expect(package: str, module: str, ours: str, tested: Tuple[str, ...]) -> None:
    """ImportError if `package`, which has `module`, cannot be imported; one warning if its version
    is not of those that were `tested`, given by their beginnings.
    """
    wanted = f"{package} ({', '.join(f'{version}.x' for version in tested)} were tested)"
    try:
        version = metadata.version(package)
        importlib.import_module(module)
    except (metadata.PackageNotFoundError, ImportError) as error:
        raise ImportError(f"{ours} needs {wanted}: {error}", name=module.split(".")[0]) from error
    if not any(version == one or version.startswith(one + ".") for one in tested):
        if package not in _warned:
            _warned.add(package)
            warnings.warn(
                f"{ours}: {package} {version} is installed, and nvshmemrs was not tested with it, "
                f"but with {', '.join(f'{one}.x' for one in tested)}",
                NvshmemWarning,
                stacklevel=3,
            )


def publish(package: Dict[str, Any]) -> None:
    """Adds the functions of ``_kernels``, built on its ``_backend``, to a frontend's package."""
    name = package["__name__"]
    # The modules whose functions are its own are in the folder that frontends share.
    package["__path__"].append(os.path.join(os.path.dirname(__file__), "_kernels"))
    public = package["__all__"] = []
    for part in ("rma", "amo", "collective", "mem", "waits", "direct"):
        module = importlib.import_module(f"{name}.{part}")
        package.update((one, getattr(module, one)) for one in module.__all__)
        public += [one for one in module.__all__ if one not in public]


def explain_missing_gpu(driver: Any, error: Any, hint: str) -> None:
    """Adds a remedy to the errors of Numba's class `driver` on a machine without a GPU."""
    find = driver.__getattr__  # for functions that are asked for the first time

    def found(self: Any, name: str) -> Any:
        try:
            return find(self, name)
        except error as missing:
            said = str(missing).rstrip(": \n")
            raise error(f"{said}\n{hint}") from None

    driver.__getattr__ = found
