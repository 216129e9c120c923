"""Programs of NVSHMEM4Py, unchanged: ``import nvshmem.core`` gives ``nvshmemrs.core``.

``python -m nvshmemrs SCRIPT ARGS`` does it for a program and for programs that it starts;
``install()`` does it inside a program. Either way `nvshmem` is this package also where NVSHMEM4Py
is installed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import os
import re
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Optional

__all__ = ["install"]

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_nvshmem4py")
"""The folder in which Python finds our `nvshmem`, once it is in `sys.path`."""

# Names that NVSHMEM4Py has in other submodules than nvshmemrs.
_ELSEWHERE = {
    "nvshmemrs.core.direct": ("SignalOp",),
    "nvshmemrs.core.init_fini": (
        "DeviceLibLanguage",
        "find_device_bitcode_library",
        "library_finalize",
        "library_init",
        "module_finalize",
        "module_init",
    ),
    "nvshmemrs.core.nvshmem_types": (
        "NvshmemKernelObject",
        "NvshmemResource",
        "NvshmemStreamsType",
    ),
}
# Names of its module _internal_tracking that NVSHMEM4Py has in these, too.
_TRACKING = ("InternalInitStatus", "_is_initialized", "_mr_references")
_TRACKERS = ("collective", "init_fini", "interop.cupy", "interop._tensors", "memory", "rma")


def install() -> None:
    """Makes ``import nvshmem`` and its submodules give nvshmemrs, in this process and in processes that
    multiprocessing starts from it. May be called again.

    ImportError if `nvshmem` was imported before and is another package: call ``install`` first.
    """
    found = sys.modules.get("nvshmem")
    if found is None:
        if FOLDER not in sys.path:
            sys.path.insert(0, FOLDER)  # which multiprocessing hands to its children
        found = importlib.import_module("nvshmem")
    if not is_ours(found):
        raise ImportError(
            f"nvshmemrs.compat.install: nvshmem is imported already, from {place_of(found)}. "
            "Call install before the first import of nvshmem",
            name="nvshmem",
        )


def is_ours(module: ModuleType) -> bool:
    """Whether a module `nvshmem` is the one of this package."""
    return place_of(module).startswith(FOLDER + os.sep)


def place_of(module: ModuleType) -> str:
    """Where a module comes from, for messages."""
    return getattr(module, "__file__", None) or "a module without a file"


def answer() -> None:
    """Makes submodules of `nvshmem` those of nvshmemrs. Our `nvshmem` calls it."""
    if any(isinstance(finder, _Aliases) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Aliases())
    core = importlib.import_module("nvshmemrs.core")
    for module, names in _ELSEWHERE.items():
        for name in names:
            setattr(sys.modules[module], name, getattr(core, name))
    tracking = importlib.import_module("nvshmemrs._internal_tracking")
    for name in _TRACKING:
        for module in _TRACKERS:
            setattr(sys.modules[f"nvshmemrs.core.{module}"], name, getattr(tracking, name))


def _original(name: str) -> str:
    """The module of nvshmemrs that `nvshmem.` something is."""
    if name in ("nvshmem.bindings", "nvshmem.bindings.nvshmem"):
        return "nvshmemrs._bindings"
    if name == "nvshmem.core._internal_tracking":
        return "nvshmemrs._internal_tracking"
    found = re.fullmatch(r"nvshmem\.(?:bindings\.device|device\.bindings)(\.\w+)?(?:\._cuteast)?", name)
    if found:  # programs write it both ways
        kind = found[1]
        return f"nvshmemrs.core.device{kind}.bindings" if kind else "nvshmemrs._device_bindings"
    if name.startswith("nvshmem.device"):
        return "nvshmemrs.core" + name[len("nvshmem") :]
    return "nvshmemrs" + name[len("nvshmem") :]


class _Aliases(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives modules of nvshmemrs, the same objects, under the names of NVSHMEM4Py."""

    def find_spec(
        self, fullname: str, path: Any = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        """The module's spec; ModuleNotFoundError for modules that nvshmemrs does not have."""
        if not fullname.startswith("nvshmem."):
            return None
        try:
            found = importlib.util.find_spec(_original(fullname))
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: nvshmemrs, which is nvshmem here, does not have it",
                name=fullname,
            )
        return ModuleSpec(fullname, self, origin=found.origin)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module of nvshmemrs, imported under its own name."""
        module = importlib.import_module(_original(spec.name))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module has run already; only attributes that were replaced are restored."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state
