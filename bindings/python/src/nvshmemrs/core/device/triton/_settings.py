# mypy: ignore-errors
"""Constants that are fixed when the module is imported. Triton includes them in the keys of its
cache, so a kernel that was compiled with other values is not used.
"""

import inspect
import os

import numpy as np
import triton
import triton.language as tl

from ...nvshmem_types import NvshmemInvalid
from .._findings import sentence

# Whether kernels run in Triton's interpreter (TRITON_INTERPRET=1).
INTERPRETED = tl.constexpr(bool(triton.knobs.runtime.interpret))
# Whether the job is checked, so the interpreter's accesses are to be shown to the checker.
WATCHED = INTERPRETED.value and os.environ.get("NVSHMEMRS_CHECK", "").strip() == "1"
# Whether functions check their arguments (NVSHMEMRS_DEVICE_CHECK). In the interpreter, an unchecked
# error would end the process by a signal.
CHECK = tl.constexpr(
    os.environ.get("NVSHMEMRS_DEVICE_CHECK", "1" if INTERPRETED.value else "0") == "1"
)
# Loads and stores with order came with Triton 3.9; before it, atomics take their place.
ORDERED = tl.constexpr(hasattr(tl, "atomic_load"))
# So did a wait for one value. The interpreter's never lets another process have the processor, so
# it is for compiled kernels only.
POLLED = tl.constexpr(hasattr(tl, "atomic_poll") and not INTERPRETED.value)


def pause():
    """Lets another process have the processor, while the interpreter waits."""
    os.sched_yield()


def _number(value):
    """An argument in the interpreter, as a number of Python's."""
    return int(value.handle.data.item()) if isinstance(value, tl.tensor) else int(getattr(value, "value", value))


def give_up(names, kind, operation, pe, n_pes, address, size):
    """Raises the error of a call, in the interpreter, where kernels have no trap. `names` are
    those of operations, by number.
    """
    kind, operation, pe, n_pes, address, size = map(_number, (kind, operation, pe, n_pes, address, size))
    raise NvshmemInvalid(sentence(kind, names[operation], pe, n_pes, address, size))


# So that the compiler passes over their names, in branches that it leaves out.
pause.__triton_builtin__ = True
give_up.__triton_builtin__ = True


def check_interpreter():
    """Raises ImportError if Triton's interpreter cannot work with this NumPy: before Triton 3.7 it makes
    numbers of arrays with one element, which NumPy has given up.
    """
    from triton.runtime import interpreter

    if "squeeze" in inspect.getsource(interpreter._patch_lang_tensor):
        return
    try:
        int(np.ones(1))
    except TypeError:
        raise ImportError(
            f"the interpreter of Triton {triton.__version__} does not work with NumPy {np.__version__}: "
            "pip install 'numpy<2.4', or Triton 3.7 or later"
        ) from None
