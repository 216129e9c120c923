"""The primitives of ``_kernels`` for numba-cuda, or Python itself in Numba's simulator."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

from numba.cuda import config

from .._constants import *  # noqa: F403
from .._frontend import job_is_checked

if config.ENABLE_CUDASIM and job_is_checked():
    from . import _checked as _chosen
elif config.ENABLE_CUDASIM:
    from . import _simulated as _chosen  # type: ignore[no-redef]
else:
    from . import _compiled as _chosen  # type: ignore[no-redef]


def __getattr__(name: str) -> Any:
    return getattr(_chosen, name)


def install() -> None:
    """Makes launches prepare the state of kernels."""
    if config.ENABLE_CUDASIM:
        _chosen.install()
    else:
        from . import _launch

        _launch.install()
