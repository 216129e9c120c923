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

from ._atomics import (  # noqa: E402
    atomic_add,
    atomic_and,
    atomic_compare_swap,
    atomic_fetch,
    atomic_fetch_add,
    atomic_fetch_and,
    atomic_fetch_inc,
    atomic_fetch_max,
    atomic_fetch_min,
    atomic_fetch_or,
    atomic_fetch_xor,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_set,
    atomic_swap,
    atomic_xor,
)
from ._collectives import (  # noqa: E402
    AND,
    MAX,
    MIN,
    OR,
    PROD,
    SUM,
    XOR,
    alltoall,
    barrier,
    broadcast,
    fcollect,
    reduce,
    reduce_two_shot,
    reducescatter,
    sync,
)
from ._context import (  # noqa: E402
    aborted,
    context,
    my_pe,
    n_pes,
    ptr,
    team_my_pe,
    team_n_pes,
    team_pe,
)
from ._fast import reduce_fast  # noqa: E402
from ._host import Pointer, Workspace, state, wrap  # noqa: E402
from ._order import fence, quiet  # noqa: E402
from ._rma import (  # noqa: E402
    SIGNAL_ADD,
    SIGNAL_SET,
    get,
    get_tile,
    load,
    put,
    put_signal,
    put_tile,
    signal_op,
    store,
    store_signal,
)
from ._waits import (  # noqa: E402
    CMP_EQ,
    CMP_GE,
    CMP_GT,
    CMP_LE,
    CMP_LT,
    CMP_NE,
    signal_fetch,
    signal_wait_until,
    test,
    test_all,
    test_any,
    wait_until,
    wait_until_all,
    wait_until_any,
)

__all__ = [
    "AND",
    "CMP_EQ",
    "CMP_GE",
    "CMP_GT",
    "CMP_LE",
    "CMP_LT",
    "CMP_NE",
    "MAX",
    "MIN",
    "OR",
    "PROD",
    "Pointer",
    "SIGNAL_ADD",
    "SIGNAL_SET",
    "SUM",
    "Workspace",
    "XOR",
    "aborted",
    "alltoall",
    "atomic_add",
    "atomic_and",
    "atomic_compare_swap",
    "atomic_fetch",
    "atomic_fetch_add",
    "atomic_fetch_and",
    "atomic_fetch_inc",
    "atomic_fetch_max",
    "atomic_fetch_min",
    "atomic_fetch_or",
    "atomic_fetch_xor",
    "atomic_inc",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_set",
    "atomic_swap",
    "atomic_xor",
    "barrier",
    "broadcast",
    "context",
    "fcollect",
    "fence",
    "get",
    "get_tile",
    "load",
    "my_pe",
    "n_pes",
    "ptr",
    "put",
    "put_signal",
    "put_tile",
    "quiet",
    "reduce",
    "reduce_fast",
    "reduce_two_shot",
    "reducescatter",
    "signal_fetch",
    "signal_op",
    "signal_wait_until",
    "state",
    "store",
    "store_signal",
    "sync",
    "team_my_pe",
    "team_n_pes",
    "team_pe",
    "test",
    "test_all",
    "test_any",
    "wait_until",
    "wait_until_all",
    "wait_until_any",
    "wrap",
]
