"""How kernels of numba-cuda-mlir get the state: it is written to their modules.

Once a kernel is compiled, ``MLIRDispatcher._compile_impl``, which is wrapped, asks to be told of the
loading of its module. ``_ArgMarshaller._launch``, through which each launch goes, writes the state of
another job to modules that are loaded already.
"""

# mypy: ignore-errors
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, List

from numba_cuda_mlir.descriptor import MLIRDispatcher, _ArgMarshaller
from numba_cuda_mlir.numba_cuda.cudadrv.driver import Driver
from numba_cuda_mlir.numba_cuda.cudadrv.error import CudaSupportError

from ..._job import job, live
from ...nvshmem_types import NotSupportedError
from .. import state
from .._frontend import explain_missing_gpu
from .._module import fill
from .._symbol import SYMBOL

_compile_impl = MLIRDispatcher._compile_impl
_launch = _ArgMarshaller._launch


class _Modules:
    """The modules of a kernel, one for each of its signatures, and the job whose state they have."""

    def __init__(self) -> None:
        self.of: Any = None
        self.libraries: List[Any] = []
        self.job = 0

    def loaded(self, library: Any) -> None:
        """After a new module, launches check again until all modules have the state."""
        self.libraries.append(library)
        self.job = 0
        self.job = fill(library)

    def compiled(self, dispatcher: Any) -> None:
        """A module compiled before ``recompile()`` may be unloaded."""
        if self.of is not dispatcher._c:
            self.of, self.libraries = dispatcher._c, []

    def bring(self, dispatcher: Any) -> None:
        """Sees to it that the modules have the state of the calling thread's job."""
        if not job.runtime:
            state()  # raises: this process is no PE
        if self.job == job.runtime:
            return
        if self.job in live:
            raise NotSupportedError(
                "this kernel has been launched by another PE of this process: PEs that are threads "
                "use kernels of their own"
            )
        self.compiled(dispatcher)
        for library in self.libraries:
            fill(library)
        self.job = job.runtime


def compile_impl(dispatcher: Any, *args: Any, **named: Any) -> Any:
    """Compiles a kernel. A kernel that refers to the state is told of the loading of its module."""
    found = _compile_impl(dispatcher, *args, **named)
    if SYMBOL.encode() in bytes(found[0]):
        if not hasattr(dispatcher, "_nvshmemrs"):
            modules = dispatcher._nvshmemrs = _Modules()
            tell = lambda module: modules.loaded(module.handle)  # noqa: E731
            dispatcher._module_setup_callbacks.append(tell)
        dispatcher._nvshmemrs.compiled(dispatcher)
    return found


def launch(marshaller: Any, *args: Any, **named: Any) -> Any:
    """Launches a kernel. NotInitializedError if it communicates and there is no job."""
    modules = getattr(marshaller._dispatcher, "_nvshmemrs", None)
    if modules:
        modules.bring(marshaller._dispatcher)
    return _launch(marshaller, *args, **named)


def install() -> None:
    """Makes launches write the state, and report a missing GPU with a remedy."""
    MLIRDispatcher._compile_impl = compile_impl
    _ArgMarshaller._launch = launch
    explain_missing_gpu(
        Driver,
        CudaSupportError,
        "numba-cuda-mlir has no simulator. Without a GPU, run the kernel by "
        "nvshmemrs.core.device.numba, with NUMBA_ENABLE_CUDASIM=1",
    )
