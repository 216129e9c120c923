"""Communication in kernels of CUTLASS's CuTe DSL: see ``docs/cute.md``.

Names and arguments are those of nvshmem4py's module. A kernel gets the job as an argument and says
so first; collectives have one argument more, the slot::

    import nvshmemrs.core.device.cute as nv

    @cute.kernel
    def ring(state: nv.State, dst: cute.Tensor, src: cute.Tensor):
        nv.use(state)
        nv.put_block(dst, src, (nv.my_pe() + 1) % nv.n_pes())
        nv.barrier_all_block()

The host passes ``nvshmem.device.state()`` for it. Importing this module imports CuTe; ImportError
where that is not installed.
"""

from ._frontend import TESTED
from ._state import State, fake_state, use
from .amo import *  # noqa: F403
from .amo import __all__ as _amo
from .collective import *  # noqa: F403
from .collective import __all__ as _collective
from .direct import *  # noqa: F403
from .direct import __all__ as _direct
from .mem import *  # noqa: F403
from .mem import __all__ as _mem
from .rma import *  # noqa: F403
from .rma import __all__ as _rma

__all__ = ["State", "TESTED", "fake_state", "use"]
__all__ += sorted({*_amo, *_collective, *_direct, *_mem, *_rma})
