"""CUTLASS's CuTe DSL, or an error that says which package is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import sys
import warnings
from typing import Any, Callable, Tuple, TypeVar, cast

from ...nvshmem_types import NvshmemWarning

PACKAGE = "nvidia-cutlass-dsl"
TESTED = ("4.8.1",)
"""Versions that this package is tested with."""
_PARTS = ("nvidia-cutlass-dsl-libs-core", PACKAGE)
_LOWEST = (4, 8)


def installed() -> str:
    """The version that is installed; nothing if there is none."""
    for part in _PARTS:
        try:
            return importlib.metadata.version(part)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def numbers(version: str) -> Tuple[int, ...]:
    """The first two numbers of a version."""
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdigit() else 0 for part in parts)


def check_version() -> None:
    """Raises ImportError if there is no CuTe DSL, or one that is too old. Warns once of one that
    this package is not tested with.
    """
    found, tested = installed(), ", ".join(TESTED)
    if not found:
        raise ImportError(
            f"nvshmemrs.core.device.cute needs the package {PACKAGE}, which is not installed "
            f"(tested: {tested}): pip install {PACKAGE}[cu13]"
        )
    if numbers(found) < _LOWEST:
        raise ImportError(
            f"nvshmemrs.core.device.cute needs {PACKAGE} 4.8 or later (tested: {tested}), and "
            f"{found} is installed: pip install --upgrade {PACKAGE}[cu13]"
        )
    if found not in TESTED:
        warnings.warn(
            f"nvshmemrs.core.device.cute is not tested with {PACKAGE} {found} (tested: {tested})",
            NvshmemWarning,
            stacklevel=2,
        )


def add_packages() -> None:
    """Makes CuTe's modules found where its libraries are installed without the package that only
    adds their folder to Python's path.
    """
    spec = importlib.util.find_spec("nvidia_cutlass_dsl")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        packages = os.path.join(folder, "dsl_packages")
        if os.path.isdir(packages) and packages not in sys.path:
            sys.path.append(packages)


check_version()
add_packages()
try:
    import cutlass as _cutlass  # type: ignore[import-not-found, unused-ignore]
    import cutlass._mlir.dialects.arith as _arith  # type: ignore[import-not-found, unused-ignore]
    import cutlass._mlir.dialects.llvm as _llvm  # type: ignore[import-not-found, unused-ignore]
    import cutlass.cute as _cute  # type: ignore[import-not-found, unused-ignore]
    from cutlass._mlir import ir as _ir  # type: ignore[import-not-found, unused-ignore]
    from cutlass.base_dsl import (  # type: ignore[import-not-found, unused-ignore]
        BaseDSL as _BaseDSL,
    )
    from cutlass.cutlass_dsl import (  # type: ignore[import-not-found, unused-ignore]
        dsl_user_op as _dsl_user_op,
    )
except (ImportError, RuntimeError) as error:  # CuTe raises the latter for an older driver
    raise ImportError(
        f"nvshmemrs.core.device.cute: {PACKAGE} {installed()} is installed and cannot be imported "
        f"({error}): pip install --force-reinstall {PACKAGE}[cu13]"
    ) from error

def base_dsl() -> Any:
    """The object with the target architecture."""
    return _BaseDSL


# Modules without types of their own.
cutlass: Any = _cutlass
cute: Any = _cute
ir: Any = _ir
arith: Any = _arith
llvm: Any = _llvm

_F = TypeVar("_F", bound=Callable[..., Any])


class dsl:
    """CuTe's decorators with types. CuTe rewrites functions with a decorator that ends with ``.jit``."""

    @staticmethod
    def jit(function: _F) -> _F:
        """Of functions with ``if`` and ``while`` that kernels execute."""
        return cast(_F, cute.jit(function))

    @staticmethod
    def operation(function: _F) -> _F:
        """Of functions that make one operation."""
        return cast(_F, _dsl_user_op(function))
