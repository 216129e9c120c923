"""Communication in kernels written in Triton: see ``docs/triton.md``.

A ring, in which each PE stores its number on the PE to the right::

    import nvshmemrs.core as nvshmem
    from nvshmemrs.core.device import triton as nvt

    @triton.jit
    def pass_on(state, box, signal):
        ctx = nvt.context(state)
        right = (ctx.my_pe + 1) % ctx.n_pes
        nvt.store_signal(ctx, box, ctx.my_pe, signal, 1, right)
        nvt.signal_wait_until(ctx, signal, nvt.CMP_EQ, 1)

    pass_on[(1,)](nvt.state(), nvt.wrap(box), nvt.wrap(signal))

``state``, ``wrap`` and ``Workspace`` are for the host; all else is for kernels, and takes the context
first. On a heap in host memory, kernels run in Triton's interpreter (TRITON_INTERPRET=1).
"""

import warnings

from ...nvshmem_types import NvshmemWarning

try:
    import triton  # type: ignore[import-not-found, import-untyped, unused-ignore]
    import triton.language  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"nvshmemrs.core.device.triton needs Triton 3.6 to 3.9, and it cannot be imported ({error}): "
        "pip install 'triton>=3.6,<3.10'"
    ) from error

_FIRST, _LAST = (3, 6), (3, 9)
_HAVE = tuple(int(part) for part in triton.__version__.split(".")[:2])
if _HAVE < _FIRST:
    raise ImportError(
        f"nvshmemrs.core.device.triton needs Triton 3.6 to 3.9, and this is {triton.__version__}: "
        "pip install 'triton>=3.6,<3.10'"
    )
if _HAVE > _LAST:
    warnings.warn(
        f"nvshmemrs.core.device.triton was tested with Triton 3.6 to 3.9; this is {triton.__version__}",
        NvshmemWarning,
        stacklevel=2,
    )

from triton import knobs  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: E402

if knobs.runtime.interpret:
    from ._settings import check_interpreter

    check_interpreter()  # type: ignore[no-untyped-call, unused-ignore]
    from ._settings import WATCHED

    if WATCHED:
        from ._checked import install

        install()  # type: ignore[no-untyped-call, unused-ignore]

from . import _atomics, _collectives, _context, _rma, _waits  # noqa: E402
from ._atomics import *  # noqa: E402, F403
from ._collectives import *  # noqa: E402, F403
from ._context import *  # noqa: E402, F403
from ._fast import reduce_fast  # noqa: E402
from ._host import Pointer, Workspace, state, wrap  # noqa: E402
from ._order import fence, quiet  # noqa: E402
from ._rma import *  # noqa: E402, F403
from ._waits import *  # noqa: E402, F403

__all__ = ["Pointer", "Workspace", "fence", "quiet", "reduce_fast", "state", "wrap"]
__all__ += _atomics.__all__
__all__ += _collectives.__all__
__all__ += _context.__all__
__all__ += _rma.__all__
__all__ += _waits.__all__
