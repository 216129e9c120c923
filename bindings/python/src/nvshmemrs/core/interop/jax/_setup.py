"""The handlers of XLA's foreign functions, and their preconditions."""

from __future__ import annotations

import ctypes
import os
import re
import warnings
from pathlib import Path
from typing import Any, List, NamedTuple, Optional

import numpy as np

from .... import _ffi
from ... import _job
from ..._arguments import integer
from ..._job import check, job, lib
from ...memory import Buffer, allocate, end, fail_allocation
from ...nvshmem_types import NotSupportedError, NvshmemInvalid, NvshmemWarning

TARGET = "nvshmemrs"
"""The name under which XLA knows the handlers."""
_HANDLERS = {"cpu": "nvshmemrs_jax_host", "CUDA": "nvshmemrs_jax_cuda"}
_TESTED = ("0.10", "0.11")
_DEFAULT_STAGING = 64 << 20


class Started(NamedTuple):
    """The state of ``start``, for the job with this runtime."""

    runtime: int
    staging: Buffer


_started: Optional[Started] = None
_handlers: Optional[ctypes.CDLL] = None
_warned = False


# The number of this process among those of its host, as launchers give it.
_LOCAL_RANKS = (
    "NVSHMEMRS_PE",  # nvshmemrs-run, which other launchers may start
    "LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "SLURM_LOCALID",
)


def select_gpu() -> None:
    """Sets CUDA_VISIBLE_DEVICES, so that this process has one GPU, which JAX and the heap share. The
    process takes the GPU of its number on the host, as torchrun, mpirun, srun or nvshmemrs-run
    sets it; further processes start with the first GPU again.

    Local; before ``init``, and before JAX or another package uses CUDA. Without effect if the
    process has one GPU or none, or NVSHMEMRS_MEMORY is host. NvshmemInvalid if CUDA was used already, or if there are several
    GPUs and no launcher gave a number.
    """
    gpus = _visible_gpus()
    if len(gpus) < 2 or os.environ.get("NVSHMEMRS_MEMORY", "").lower() == "host":
        return
    try:
        driver = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        pass  # nothing in this process has loaded it
    else:
        not_initialized = 3
        if driver.cuCtxGetCurrent(ctypes.byref(ctypes.c_void_p())) != not_initialized:
            raise NvshmemInvalid(
                "select_gpu: this process has used CUDA already, which therefore ignores "
                "CUDA_VISIBLE_DEVICES: call select_gpu before init, and before JAX, torch or CuPy"
            )
    found = [os.environ[name] for name in _LOCAL_RANKS if os.environ.get(name, "").isdigit()]
    if not found:
        raise NvshmemInvalid(
            f"select_gpu: this process has {len(gpus)} GPUs, and no launcher gave its number among the "
            "processes of its host: set LOCAL_RANK or CUDA_VISIBLE_DEVICES"
        )
    os.environ["CUDA_VISIBLE_DEVICES"] = gpus[int(found[0]) % len(gpus)]


def _visible_gpus() -> List[str]:
    """The GPUs that CUDA would show this process, in the format of CUDA_VISIBLE_DEVICES. The driver is
    not queried, because it reads the variable only once.
    """
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [word for word in named.split(",") if word]
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return []
    count = ctypes.c_uint(0)
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return []
    nvml.nvmlShutdown()
    return [str(number) for number in range(count.value)]


def start(staging: int = _DEFAULT_STAGING) -> None:
    """Makes the operations of this module work: registers their handlers with JAX, and allocates
    `staging` bytes of symmetric memory, through which collectives move their arrays. A collective
    needs room for its operand and its result; one of few bytes on a GPU needs none.

    Collective over all PEs with the same `staging`; includes a barrier. Again after ``stop`` or
    after another ``init``. JAX has one local device, which is the heap's GPU (see ``select_gpu``),
    or the CPU if the heap is host memory. NotSupportedError without JAX, with several local
    devices, and in a job whose PEs are threads.
    """
    global _started
    try:
        size = integer(staging, "staging")
        if size < 1024:
            raise NvshmemInvalid(f"staging={staging}: give at least 1024 bytes")
        if _started is not None and _started.runtime == job.runtime:
            raise NvshmemInvalid("start was called already: call stop first")
        jax = _checked_jax()
        handlers = _load(jax)
    except (NvshmemInvalid, NotSupportedError) as error:
        fail_allocation(error)
    memory = allocate(lib.nvshmemrs_malloc, size)
    check(handlers.nvshmemrs_jax_use(job.runtime, memory.live_address(), size))
    _forget_graphs(jax)
    _started = Started(job.runtime, memory)


def stop() -> None:
    """Undoes ``start``; operations raise from then on.

    Collective over all PEs; a barrier comes first. Call ``jax.block_until_ready`` with the last
    token before. ``finalize`` ends it, too.
    """
    global _started
    memory = started().staging
    assert _handlers is not None
    check(_handlers.nvshmemrs_jax_use(0, None, 0))
    _forget_graphs(import_jax())
    _started = None
    end(memory)


def _forget_graphs(jax: Any) -> None:
    """Makes JAX compile programs anew: a CUDA graph that it has recorded does not call the handlers, and
    has addresses in the staging area.
    """
    if job.device >= 0:
        jax.clear_caches()


def started() -> Started:
    """The state of ``start``; NvshmemInvalid before it."""
    if _started is None or _started.runtime != job.runtime or not job.runtime:
        raise NvshmemInvalid("call interop.jax.start() first, on all PEs, after init")
    return _started


def import_jax() -> Any:
    """The module jax."""
    try:
        import jax  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotSupportedError(
            f"jax cannot be imported ({error}): install it, as in `pip install jax`"
        ) from None
    return jax


def local_device(jax: Any) -> Any:
    """The device of JAX that this PE uses."""
    return jax.local_devices()[0]


def _checked_jax() -> Any:
    """JAX, if it and this PE fit to each other."""
    if _job.is_thread():
        raise NotSupportedError(
            "start: this PE is a thread of a local job, and JAX has one set of devices for all "
            "threads of a process: start the PEs as processes, with nvshmemrs-run"
        )
    jax = import_jax()
    _warn_if_untested(jax.__version__)
    devices = jax.local_devices()
    if len(devices) != 1:
        raise NotSupportedError(
            f"start: JAX has {len(devices)} local devices ({devices[0]} to {devices[-1]}), and a PE "
            "has one: call interop.jax.select_gpu() before init, or set CUDA_VISIBLE_DEVICES for each "
            "PE; on CPUs leave out --xla_force_host_platform_device_count"
        )
    device = devices[0]
    heap = f"memory of GPU {job.device}" if job.device >= 0 else "host memory"
    if (device.platform == "cpu") != (job.device < 0):
        raise NotSupportedError(
            f"start: JAX's device is {device}, and the symmetric heap is {heap}: set JAX_PLATFORMS "
            "to cpu or cuda, or NVSHMEMRS_MEMORY to host or device"
        )
    number = _gpu_of(jax, device) if job.device >= 0 else -1
    if number != job.device:
        raise NvshmemInvalid(
            f"start: JAX's device is GPU {number}, and the symmetric heap is {heap}: call "
            "interop.jax.select_gpu() before init, or set CUDA_VISIBLE_DEVICES for each PE"
        )
    if jax.process_count() > 1 and jax.process_index() != job.my_pe:
        raise NvshmemInvalid(
            f"start: PE {job.my_pe} is process {jax.process_index()} of jax.distributed: pass "
            "process_id=my_pe() to jax.distributed.initialize"
        )
    return jax


def _gpu_of(jax: Any, device: Any) -> int:
    """The number of a device's GPU in this process, as the driver has it for memory there."""
    there = jax.block_until_ready(jax.device_put(np.zeros(1, np.float32), device))
    number, ordinal = ctypes.c_int(-1), 9
    driver = ctypes.CDLL("libcuda.so.1")
    address = ctypes.c_uint64(there.unsafe_buffer_pointer())
    status = driver.cuPointerGetAttribute(ctypes.byref(number), ordinal, address)
    if status:
        raise NvshmemInvalid(f"start: the driver does not know JAX's memory: error {status}")
    return number.value


def _warn_if_untested(version: str) -> None:
    global _warned
    if not _warned and not version.startswith(tuple(f"{tested}." for tested in _TESTED)):
        _warned = True
        warnings.warn(
            f"nvshmemrs was tested with JAX {' and '.join(_TESTED)}, and this is {version}",
            NvshmemWarning,
            stacklevel=4,
        )


def _load(jax: Any) -> ctypes.CDLL:
    """The library with the handlers, which JAX knows afterwards."""
    global _handlers
    if _handlers is None:
        path = Path(_ffi.library_path()).with_name("libnvshmemrs_jax.so")
        try:
            loaded = ctypes.CDLL(os.fspath(path))
        except OSError as error:
            raise NotSupportedError(f"cannot load JAX's handlers, {path}: {error}") from None
        loaded.nvshmemrs_jax_use.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        check_version(Path(jax.ffi.include_dir()), loaded)
        for platform, name in _HANDLERS.items():
            capsule = jax.ffi.pycapsule(loaded[name])
            jax.ffi.register_ffi_target(TARGET, capsule, platform=platform)
        _handlers = loaded
    return _handlers


def check_version(include: Path, handlers: Any) -> None:
    """Raises unless JAX takes handlers of the version that ours have."""
    header = include / "xla/ffi/api/c_api.h"
    text = header.read_text(encoding="utf-8") if header.is_file() else ""
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    ours = ctypes.c_int32(), ctypes.c_int32()
    handlers.nvshmemrs_jax_version(ctypes.byref(ours[0]), ctypes.byref(ours[1]))
    major, minor = ours[0].value, ours[1].value
    if found[0] is None or found[1] is None:
        raise NotSupportedError(
            f"start: {header} does not say the version of JAX's foreign function interface, which "
            f"must be {major}.{minor} or newer"
        )
    theirs = int(found[0][1]), int(found[1][1])
    if theirs[0] != major or theirs[1] < minor:
        raise NotSupportedError(
            f"start: the handlers are made for version {major}.{minor} of XLA's foreign function "
            f"interface, and this JAX has version {theirs[0]}.{theirs[1]}: use a newer JAX"
        )
