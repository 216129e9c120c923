"""Kernels of Pallas for GPUs (Mosaic) that reach other PEs' memory, by NVSHMEM's names.

From JAX 0.11 on, XLA refuses to run such a kernel itself, though Mosaic compiles it. So the kernel is
compiled here, as Pallas does for torch, and a call of XLA's launches it in the order of tokens.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from ... import _device, _foreign
from ..._files import bitcode, names_library
from ..._job import job
from ...direct import n_pes
from ...memory import fail_allocation
from ...nvshmem_types import NotSupportedError, NvshmemInvalid
from . import _calls, _setup
from ._array import SymmetricArray, array

_FLAG = "--xla_gpu_experimental_enable_nvshmem=false"
_TARGETS = ("mosaic_gpu_v2", "mosaic_gpu")
AXIS = "pe"
"""The axis of the mesh in which a kernel is traced: its index is the number of a PE."""


def mosaic_environment() -> Dict[str, str]:
    """Sets, for this process, the variables by which Mosaic finds this library in place of NVIDIA's
    NVSHMEM, and returns them. Local; before JAX is imported, which reads them.
    """
    if "jax" in sys.modules:
        raise NvshmemInvalid(
            "mosaic_environment: JAX is imported already, and has read the variables: call it before "
            "`import jax`"
        )
    found = {
        "MOSAIC_GPU_NVSHMEM_SO_PATH": names_library(),
        "MOSAIC_GPU_NVSHMEM_BC_PATH": bitcode(),
    }
    os.environ.update(found)
    return found


class Buffers(NamedTuple):
    """The arguments of Mosaic's call: for each buffer the argument's number, or the shape and the dtype
    of memory that is not an argument; and which buffers are the function's results.
    """

    module: bytes
    arguments: List[Optional[int]]
    shapes: List[Tuple[Tuple[int, ...], "np.dtype[Any]"]]
    same: Dict[int, int]
    results: List[int]


class Kernel:
    """A function with one kernel of Pallas's, compiled by ``kernel``.

    ``outputs`` are the function's results, as symmetric arrays that each call overwrites.
    """

    def __init__(self, function: Any, shapes: Tuple[Any, ...]) -> None:
        found = lowered(function, shapes)
        self._function, self._launch = _compiled(found.module)
        self._arguments, self._shapes = found.arguments, found.shapes
        places: List[Optional[SymmetricArray]] = []
        for at, given in enumerate(found.arguments):
            if given is not None:
                places.append(None)
            elif at in found.same:
                places.append(places[found.same[at]])
            else:
                places.append(array(*found.shapes[at]))
        self._places = places
        self._same = found.same
        self._count = len(shapes)
        self.outputs: Tuple[SymmetricArray, ...] = tuple(
            place for place in (places[at] for at in found.results) if place is not None
        )

    def __call__(self, *arguments: Any, token: Any) -> Any:
        """Launches the kernel after the operations of the token; returns the next token.

        An argument is an array, or a SymmetricArray where other PEs read or write it. All PEs whose
        kernels wait for each other call.
        """
        if len(arguments) != self._count:
            raise NvshmemInvalid(f"{len(arguments)} arguments for a kernel of {self._count}")
        operands: List[Any] = []
        numbers: Dict[str, int] = {}
        for at, given in enumerate(self._arguments):
            source = at if given is not None or at not in self._same else self._same[at]
            place: Any = self._places[source]
            number = self._arguments[source]
            if number is not None:
                place, name = arguments[number], f"arguments[{number}]"
                if not isinstance(place, SymmetricArray):
                    _calls.check_operand(place, name)
                shape, dtype = self._shapes[source]
                if tuple(place.shape) != shape or np.dtype(place.dtype) != dtype:
                    raise NvshmemInvalid(
                        f"{name} is {place.dtype}{list(place.shape)}, and the kernel was "
                        f"made for {dtype}{list(shape)}"
                    )
            if isinstance(place, SymmetricArray):
                numbers[f"offset_{at}"] = _calls.offset(place)
            else:
                operands.append(place)
                numbers[f"operand_{at}"] = len(operands)
        numbers.update(count=len(self._arguments), function=self._function, launch=self._launch)
        return _calls.call("kernel", token, *operands, **numbers)[0]


def kernel(function: Any, *shapes: Any) -> Kernel:
    """Compiles a function that calls one kernel of ``pallas.mosaic_gpu`` and nothing else. `shapes`
    are its arguments, or objects with their shapes and dtypes.

    Collective over all PEs: the kernel's results and its semaphores are symmetric memory, which is
    allocated here. In the kernel ``axis_index("pe")`` is this PE's number, and ``device_id`` and
    ``remote_ref`` take the number of another one. ``mosaic_environment`` comes first.
    NotSupportedError on host memory, before sm_90, and where PEs share a GPU.
    """
    try:
        _setup.started()
        if job.device < 0:
            raise NotSupportedError(
                "kernel: Mosaic's kernels run on GPUs, and the heap is host memory"
            )
        _check_environment()
        return Kernel(function, shapes)
    except NvshmemInvalid as error:
        fail_allocation(error)


def _check_environment() -> None:
    so, bc = (os.environ.get(f"MOSAIC_GPU_NVSHMEM_{name}_PATH") for name in ("SO", "BC"))
    ours = (names_library(), bitcode())
    if (so, bc) != ours:
        raise NvshmemInvalid(
            "kernel: Mosaic would not find this library: call interop.jax.mosaic_environment() before "
            f"JAX is imported (MOSAIC_GPU_NVSHMEM_SO_PATH is {so}, MOSAIC_GPU_NVSHMEM_BC_PATH {bc})"
        )


def lowered(function: Any, shapes: Tuple[Any, ...], pes: int = 0) -> Buffers:
    """JAX's form of a function with a kernel, for a mesh of all PEs."""
    jax = _setup.import_jax()
    kinds = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.AbstractMesh((pes or n_pes(),), (AXIS,), axis_types=kinds)
    every = jax.sharding.PartitionSpec()
    mapped = jax.shard_map(function, mesh=mesh, in_specs=every, out_specs=every, check_vma=False)
    structs = [jax.ShapeDtypeStruct(tuple(one.shape), np.dtype(one.dtype)) for one in shapes]
    _setup.local_device(jax)  # XLA has read its flags then
    with _flag():
        module = jax.jit(mapped).trace(*structs).lower(lowering_platforms=("cuda",)).compiler_ir()
    with module.context:
        return _of_module(module.operation)


@contextlib.contextmanager
def _flag() -> Iterator[None]:
    """Mosaic uses NVSHMEM's names only if XLA_FLAGS has this flag, which XLA of JAX 0.11 refuses when it
    reads the variable. So the flag is there only while a kernel is lowered.
    """
    before = os.environ.get("XLA_FLAGS")
    os.environ["XLA_FLAGS"] = f"{before or ''} {_FLAG}".strip()
    try:
        yield
    finally:
        del os.environ["XLA_FLAGS"]
        if before is not None:
            os.environ["XLA_FLAGS"] = before


def _of_module(module: Any) -> Buffers:
    calls = [op for op in _walk(module) if _is_kernel(op)]
    if len(calls) != 1:
        raise NvshmemInvalid(f"the function has {len(calls)} kernels of Mosaic's: it must have one")
    call = calls[0]
    operands, results = list(call.operands), list(call.results)
    arguments: List[Optional[int]] = [_argument(module, value) for value in operands]
    same = {}
    aliases = "output_operand_aliases"
    for alias in call.attributes[aliases] if aliases in call.attributes else ():
        which = _indices(str(alias))
        same[len(operands) + which[0]] = which[1]
    ends = [op for op in _walk(module) if op.name in ("sdy.return", "func.return")]
    inner = next((op for op in ends if list(op.operands) and _in(op.operands[0], results)), None)
    if inner is None or not all(_in(value, results) for value in inner.operands):
        raise NvshmemInvalid("the function must return what the kernel returns, and nothing else")
    returned = [len(operands) + results.index(value) for value in inner.operands]
    shapes = [_shape(value.type) for value in (*operands, *results)]
    config = call.attributes["mhlo.backend_config"]
    return Buffers(
        bytes(config["module"].value_bytes),
        [*arguments, *(None for _ in results)],
        shapes,
        same,
        returned,
    )


def _walk(operation: Any) -> Any:
    yield operation
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _walk(inner.operation)


def _is_kernel(operation: Any) -> bool:
    if operation.name != "stablehlo.custom_call":
        return False
    return operation.attributes["call_target_name"].value in _TARGETS


def _argument(module: Any, value: Any) -> Optional[int]:
    """The number of the function's argument that a value is; None for memory that is made for the
    call: zeros, or what may hold anything.
    """
    if hasattr(value, "arg_number"):
        return int(value.arg_number)
    owner = value.owner
    made, text = owner.name, str(owner)
    if made == "stablehlo.broadcast_in_dim":
        text = str(owner.operands[0].owner)
    elif made == "func.call" and not list(owner.operands):
        name = str(owner.attributes["callee"]).lstrip("@")
        functions = (op for op in _walk(module) if op.name == "func.func")
        text = next(str(op) for op in functions if op.attributes["sym_name"].value == name)
    elif made == "stablehlo.custom_call":
        target = owner.attributes["call_target_name"].value
        text = "dense<0" if target == "AllocateBuffer" else ""
    elif made != "stablehlo.constant":
        text = ""
    if "dense<0" not in text:
        raise NvshmemInvalid(f"the function does more than call the kernel: {str(owner)[:200]}")
    return None


def _indices(alias: str) -> Tuple[int, int]:
    """The result and the operand that an alias joins."""
    result = re.search(r"output_tuple_indices = \[(\d*)\]", alias)
    operand = re.search(r"operand_index = (\d+)", alias)
    assert result is not None and operand is not None, alias
    return int(result[1] or 0), int(operand[1])


def _in(value: Any, values: List[Any]) -> bool:
    return any(value == other for other in values)


_TYPES = {
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f64": "float64",
    "i1": "bool",
}


def _shape(kind: Any) -> Tuple[Tuple[int, ...], "np.dtype[Any]"]:
    """The shape and the dtype of a tensor's type, such as tensor<8x128xf32>."""
    *dims, element = str(kind)[len("tensor<") : -1].split("x")
    unsigned = element.startswith("ui")
    name = _TYPES.get(element) or f"{'u' if unsigned else ''}int{element.lstrip('ui')}"
    return tuple(int(length) for length in dims), _foreign.torch_dtype(f"torch.{name}")


def _compiled(module: bytes) -> Tuple[int, int]:
    """Mosaic's function for a module, and its launcher. The module stays loaded."""
    path = _plugin()
    library = ctypes.CDLL(path)
    if not hasattr(library, "MosaicGpuCompile"):
        raise NotSupportedError(f"kernel: {path} has no MosaicGpuCompile: use JAX 0.11")
    library.MosaicGpuCompile.argtypes = [ctypes.c_char_p, ctypes.c_int]
    library.MosaicGpuCompile.restype = ctypes.POINTER(ctypes.c_void_p)
    _device.use(job.device)
    made = library.MosaicGpuCompile(module, len(module))
    if not made:
        raise NotSupportedError(
            "kernel: Mosaic could not compile or load the kernel: it needs a GPU of sm_90 or later, "
            "and one PE on each GPU; with NVSHMEM_DEBUG=WARN this library says what it refused"
        )
    return int(made[0] or 0), int(made[1] or 0)


def _plugin() -> str:
    for name in ("xla_cuda13", "xla_cuda12"):
        try:
            plugin = __import__(f"jax_plugins.{name}", fromlist=["_get_library_path"])
        except ImportError:
            continue
        return str(plugin._get_library_path())
    raise NotSupportedError("kernel: JAX has no plugin for CUDA: install jax[cuda13]")
