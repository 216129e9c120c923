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

from .._members import guard as _guard
from . import amo, collective, direct, mem, rma
from ._frontend import TESTED
from ._state import State, fake_state, use

for _module in (amo, collective, direct, mem, rma):
    _guard(vars(_module))

from .amo import *  # noqa: E402, F403
from .collective import *  # noqa: E402, F403
from .direct import *  # noqa: E402, F403
from .mem import *  # noqa: E402, F403
from .rma import *  # noqa: E402, F403

__all__ = ["State", "TESTED", "fake_state", "use"]
__all__ += amo.__all__
__all__ += collective.__all__
__all__ += direct.__all__
__all__ += mem.__all__
__all__ += rma.__all__
