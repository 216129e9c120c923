"""``nvshmem.bindings.device`` of NVSHMEM4Py: a package of one module for each frontend for kernels,
whose functions have the names of the C library's.
"""

from __future__ import annotations

from typing import List

__path__: List[str] = []  # as of a package; compat has its modules
