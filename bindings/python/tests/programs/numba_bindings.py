"""Calls the functions of ``bindings.device.numba`` in Numba's simulator, each once: one PE.

The names are those of NVSHMEM's device functions (OpenSHMEM's types, sizes and scopes). Prints how
many were called, and which of NVSHMEM's are not there.
"""

from __future__ import annotations

import os

os.environ.update(NUMBA_ENABLE_CUDASIM="1", NVSHMEMRS_MEMORY="host")

import numpy as np
from numba import cuda

import nvshmemrs
import nvshmemrs.core as nvshmem
from nvshmemrs.core.device.numba import bindings

SCOPES = ("", "_warp", "_block")
SIZES = (8, 16, 32, 64, 128)
SIGNED = {
    **dict.fromkeys(("char", "schar", "int8"), "int8"),
    **dict.fromkeys(("short", "int16"), "int16"),
    **dict.fromkeys(("int", "int32"), "int32"),
    **dict.fromkeys(("long", "longlong", "int64", "ptrdiff"), "int64"),
}
UNSIGNED = {
    **dict.fromkeys(("uchar", "uint8"), "uint8"),
    **dict.fromkeys(("ushort", "uint16"), "uint16"),
    **dict.fromkeys(("uint", "uint32"), "uint32"),
    **dict.fromkeys(("ulong", "ulonglong", "uint64", "size"), "uint64"),
}
REALS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16"}
RMA = {**REALS, **SIGNED, **UNSIGNED}
WAITED = (
    "short ushort int int32 uint uint32 long longlong int64 ulong ulonglong uint64 size ptrdiff"
)
AMO = [name for name in WAITED.split() if "short" not in name]
AMO_BITS = "uint ulong ulonglong int32 uint32 int64 uint64".split()
BITS = (
    "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size"
).split()
# Not offered: no thread of the host waits for kernels to ask for the end of the job.
LEFT_OUT = ["global_exit"]
EQ, GE, SET = 0, 5, 9
N = 4


def moves(prefix, count, arrays, scoped=SCOPES):
    """Puts and gets of one kind, and those with a queue pair."""
    dest, source, sig = arrays
    for scope in scoped:
        for nbi in ("", "_nbi"):
            for what in ("put", "get"):
                named = prefix.format(what)
                for queue, more in (("", ()), ("qp_", (0,))):
                    yield f"{queue}{named}{nbi}{scope}", (dest, source, count, 0, *more), source
            named = prefix.format("put")
            for queue, more in (("", ()), ("qp_", (0,))):
                name = f"{queue}{named}_signal{nbi}{scope}"
                yield name, (dest, source, count, sig, 7, SET, 0, *more), source


def typed(kind, dtype, arrays):
    dest, source, sig = arrays
    one = source[:1]
    yield f"{kind}_p", (dest, source[1], 0), None
    yield f"{kind}_g", (source, 0), None
    yield f"qp_{kind}_p", (dest, source[1], 0, 0), None
    yield f"qp_{kind}_g", (source, 0, 0), None
    yield from moves(kind + "_{}", N, arrays)
    for scope in SCOPES:
        for what in ("iput", "iget"):
            yield f"{kind}_{what}{scope}", (dest, source, 1, 1, N, 0), source
        yield f"{kind}_broadcast{scope}", (0, dest, source, N, 0), source
        for what in ("fcollect", "alltoall"):
            yield f"{kind}_{what}{scope}", (0, dest, source, N), source
        ops = ["sum", "prod", "min", "max"] + ["and", "or", "xor"] * (kind in BITS)
        for op in ops:
            for what in ("reduce", "reducescatter"):
                yield f"{kind}_{op}_{what}{scope}", (0, dest, source, N), source
    if kind in WAITED.split():
        values, status, indices = source, np.zeros(N, "int32"), np.zeros(N, "uint64")
        yield f"{kind}_wait_until", (source, EQ, source[0]), None
        yield f"{kind}_test", (source, EQ, source[0]), None
        for vector, value in (("", 1), ("_vector", values)):
            for what in ("wait_until", "test"):
                yield f"{kind}_{what}_all{vector}", (source, N, status, GE, value), None
                yield f"{kind}_{what}_any{vector}", (source, N, None, GE, value), None
                some = (source, N, indices, status, GE, value)
                yield f"{kind}_{what}_some{vector}", some, None
    if kind in AMO or kind in ("half", "float", "double"):
        yield f"{kind}_atomic_fetch", (one, 0), None
        for what in ("set", "swap", "add", "fetch_add"):
            yield f"{kind}_atomic_{what}", (dest, 1, 0), None
    if kind in AMO:
        for what in ("inc", "fetch_inc"):
            yield f"{kind}_atomic_{what}", (dest, 0), None
        yield f"{kind}_atomic_compare_swap", (dest, 1, 2, 0), None
    if kind in AMO_BITS:
        for what in ("and", "or", "xor"):
            yield f"{kind}_atomic_{what}", (dest, 1, 0), None
            yield f"{kind}_atomic_fetch_{what}", (dest, 1, 0), None


def others(arrays):
    dest, source, sig = arrays
    for size in SIZES:
        yield from moves("{}%d" % size, 8 * dest.itemsize * N // size, arrays)
        for scope in SCOPES:
            for what in ("iput", "iget"):
                n = 8 * dest.itemsize * N // size
                yield f"{what}{size}{scope}", (dest, source, 1, 1, n, 0), source
    yield from moves("{}mem", dest.nbytes, arrays)
    for scope in SCOPES:
        yield f"broadcastmem{scope}", (0, dest, source, dest.nbytes, 0), source
        for what in ("fcollect", "alltoall"):
            yield f"{what}mem{scope}", (0, dest, source, dest.nbytes), source
        for what in ("barrier", "team_sync"):
            yield f"{what}{scope}", (0,), None
        for what in ("barrier_all", "sync_all", "flush"):
            yield f"{what}{scope}", (), None
        for what in ("qp_quiet", "qp_fence"):
            yield f"{what}{scope}", (0, 0, 1), None
    for name in ("my_pe", "n_pes", "fence", "quiet", "release_smem"):
        yield name, (), None
    yield "team_my_pe", (0,), 0
    yield "team_n_pes", (0,), 1
    yield "team_translate_pe", (0, 0, 0), 0
    yield "signal_op", (sig, 7, SET, 0), None
    yield "qp_signal_op", (sig, 7, SET, 0, 0), None
    yield "signal_fetch", (sig,), 7
    yield "signal_wait_until", (sig, EQ, 7), 7
    yield "ptr", (dest, 0), dest.ctypes.data
    yield "ptr", (np.zeros(2), 0), 0
    yield "mc_ptr", (0, dest), 0
    yield "ask_smem", (0,), 65536
    yield "give_smem", (np.zeros(8336, "uint8"), 8319), 0
    yield "signal_counted_reset", (sig,), None
    yield "signal_fetch", (sig,), 0
    name, numbers = np.zeros(256, "uint8"), np.full(3, -1, "int32")
    yield "info_get_name", (name,), None
    yield "info_get_version", (numbers[:1], None), None
    yield "vendor_get_version_info", (numbers[1:2], numbers[2:], None), None
    told.update(name=name, numbers=numbers)
    region = np.full(1, 7, "uint64")
    yield "region_start_block", (region, None), 0
    yield "region_is_active", (1, numbers[:1].copy()), 0
    yield "region_stop_block", (0,), 0
    told.update(region=region)


@cuda.jit
def every(calls):
    for name, arguments, expected in calls:
        found = getattr(bindings, name)(*arguments)
        answers.append((name, found))
        if isinstance(expected, np.ndarray):
            dest = arguments[0] if isinstance(arguments[0], np.ndarray) else arguments[1]
            assert dest.tobytes() == expected.tobytes(), (name, dest, expected)
            dest[...] = 0
        elif expected is not None:
            assert found == expected, (name, found, expected)


@cuda.jit
def warpgroups(dest, source, results):
    """Two warpgroups, each with a slot of its own; then the block."""
    group = cuda.threadIdx.x // 128
    results[cuda.threadIdx.x] = bindings.barrier_warpgroup(0, group)
    results[256] = bindings.double2_maxloc_reduce_block(0, dest, source, 3)
    results[257] = bindings.double2_maxloc_reduce_block(0, source, source, 3)


class Calls:
    """A list, which the simulator passes to kernels as it is."""

    def __init__(self, calls):
        self.calls = calls

    def __iter__(self):
        return iter(self.calls)


if __name__ == "__main__":
    nvshmem.init()
    answers, told = [], {}
    sig = nvshmem.array(1, "uint64")
    calls = []
    for kind, dtype in RMA.items():
        dest, source = nvshmem.array(N, dtype), nvshmem.array(N, dtype)
        source[...] = [3, 1, 2, 5]
        calls += typed(kind, dtype, (dest, source, sig))
    dest, source = nvshmem.array(N, "int64"), nvshmem.array(N, "int64")
    source[...] = [3, 1, 2, 5]
    calls += others((dest, source, sig))
    every[1, 1](Calls(calls))
    found = dict(answers)
    assert found["int_test_any"] != 2**64 - 1 and found["int_test_some"] == N
    assert bytes(told["name"]).rstrip(b"\0").decode() == f"nvshmemrs {nvshmemrs.__version__}"
    version = [int(part) for part in nvshmemrs.__version__.split(".")[:2]]
    assert list(told["numbers"]) == [1, *version] and told["region"][0] == 0
    dest, source = nvshmem.array(6, "float64"), nvshmem.array(6, "float64")
    pairs = source[...] = np.arange(6) + 0.5
    results = np.full(258, 7)
    warpgroups[1, 256](dest, source, results)
    assert not results.any() and (dest == pairs).all() and (source == pairs).all()
    missing = [name for name in LEFT_OUT if hasattr(bindings, name)]
    assert not missing, missing
    names = {name for name, *_ in calls} | {"barrier_warpgroup", "double2_maxloc_reduce_block"}
    assert not hasattr(bindings, "no_such_name") and not hasattr(bindings, "char_test_all")
    print(f"numba ok: {len(names)} functions called, {len(LEFT_OUT)} left out")
    nvshmem.finalize()
