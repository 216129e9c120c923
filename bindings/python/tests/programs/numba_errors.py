"""Errors of kernels in Numba's simulator: `numba_errors.py`. Two PEs; prints `numba ok`."""

from __future__ import annotations

import os

os.environ.update(NUMBA_ENABLE_CUDASIM="1", NVSHMEMRS_MEMORY="host")

import numpy as np
from expect import raises
from numba import cuda

import nvshmemrs.core as nvshmem
import nvshmemrs.core.device.numba as shmem

# Kernels with one call.
puts = cuda.jit(lambda dst, src, pe: shmem.put(dst, src, pe))
adds = cuda.jit(lambda x, value, pe: shmem.atomic_add(x, value, pe))
ands = cuda.jit(lambda x, pe: shmem.atomic_and(x, 1, pe))
reduces = cuda.jit(lambda dst, src, op, team: shmem.reduce(team, dst, src, op))
barriers = cuda.jit(lambda team, slot: shmem.barrier(team, slot))
updates = cuda.jit(lambda signal, op: shmem.signal_op(signal, 1, op, 0))
multicasts = cuda.jit(lambda x: shmem.get_multicast_array(0, x))
waits_for_ever = cuda.jit(lambda signal: shmem.signal_wait(signal, 0, 1))
waits = cuda.jit(lambda words, status: shmem.test_all(words, 0, 1, status))
waits_for_many = cuda.jit(lambda words, values: shmem.test_any_vector(words, 0, values))
waits_for_some = cuda.jit(lambda words, indices: shmem.test_some(words, indices, 0, 0))


def refused(words, kernel, *arguments, kind=nvshmem.NvshmemInvalid):
    raises(kind, words, kernel[1, 1], *arguments)


GE, NE = nvshmem.ComparisonType.CMP_GE, nvshmem.ComparisonType.CMP_NE
SET, ADD = nvshmem.SignalOp.SIGNAL_SET, nvshmem.SignalOp.SIGNAL_ADD

waits_for_signal = cuda.jit(lambda signal, cmp, value: shmem.signal_wait(signal, cmp, value))
waits_for_word = cuda.jit(lambda word, cmp, value: shmem.wait_until(word, cmp, value))
waits_for_all = cuda.jit(
    lambda words, cmp, value: shmem.wait_until_all(words, value=value, cmp=cmp)
)
signals = cuda.jit(lambda signal, value, op, pe: shmem.signal_op(signal, value, op, pe))
puts_and_signals = cuda.jit(
    lambda x, signal, value, op, pe: shmem.put_signal(x, x, signal, value, op, pe)
)
broadcasts = cuda.jit(lambda team, x, root: shmem.broadcast(team, x, x, root))

private = np.zeros(4, "int32")
refused("call init first", puts, private, private, 0, kind=nvshmem.NotInitializedError)
nvshmem.init()
me = nvshmem.my_pe()
a, b = nvshmem.array(8, "int32"), nvshmem.array(8, "int32")
small, real, signal = (
    nvshmem.array(4, "int8"),
    nvshmem.array(4, "float32"),
    nvshmem.array(1, "uint64"),
)
refused("PE 2 is none: the job has 2 PEs", puts, a, b, 2)
refused("PE -1 is none", puts, a, b, -1)
refused("not symmetric", puts, private, a, 0)
refused("elements of int32, and src of float32", puts, a, real, 0)
refused("has gaps", puts, a[::2], b[::2], 0)
refused("not of int8", adds, small, 1, 0)
refused("not of float32", ands, real, 0)
refused("a number is needed", adds, a, "1", 0)
refused("op='mean'", reduces, a, b, "mean", 0)
refused("not of float32", reduces, real, real, "and", 0)
refused("no team", barriers, 12345, 0)
refused("slot 128", barriers, 0, 128)
refused("slot -1", barriers, 0, -1)
refused("signal_op is 3, and it must be a SignalOp", updates, signal, 3)
# Members of enums at wrong places, with the right call.
right = "Call signal_wait(signal_var, signal_op: ComparisonType, signal_val)"
refused(
    f"signal_val is ComparisonType.CMP_GE, and it must be a number. {right}",
    waits_for_signal,
    signal,
    1,
    GE,
)
refused(
    "signal_op is SignalOp.SIGNAL_ADD, and it must be a ComparisonType",
    waits_for_signal,
    signal,
    ADD,
    1,
)
refused("signal_op is 6, and it must be a ComparisonType", waits_for_signal, signal, 6, 1)
refused("signal_op is 32767", waits_for_signal, signal, 32767, 1)
refused("value is ComparisonType.CMP_NE", waits_for_word, a, 0, NE)
refused("value is ComparisonType.CMP_NE", waits_for_all, a, 0, NE)
refused("cmp is 9, and it must be a ComparisonType", waits_for_all, a, 9, 0)
refused("signal_val is SignalOp.SIGNAL_ADD", signals, signal, ADD, 1, 0)
refused("signal_op is ComparisonType.CMP_GE, and it must be a SignalOp", signals, signal, 1, GE, 0)
refused("pe is SignalOp.SIGNAL_SET, and it must be a number", signals, signal, 1, SET, SET)
refused("signal_val is SignalOp.SIGNAL_SET", puts_and_signals, a, signal, SET, 1, 0)
refused(
    "pe is SignalOp.SIGNAL_SET, and it must be a number. Call put(dst, src, pe)", puts, a, a, SET
)
refused("value is ComparisonType.CMP_GE", adds, a, GE, 0)
refused("root is ComparisonType.CMP_GE", broadcasts, 0, a, GE)
refused("team is SignalOp.SIGNAL_SET", reduces, a, a, "sum", SET)
refused("an integer is needed", puts, a, b, 0.5)
refused("a status knows elements of bool, int8", waits, a, real)
refused("has gaps", waits, a, b[::2])
refused("an argument is 7", waits, a, b[:7])
refused("values has elements of float32, and not of int32", waits_for_many, a, real)
refused("an argument is 7", waits_for_many, a, b[:7])
refused("indices knows elements of int8", waits_for_some, a, real)
refused("an argument is 7", waits_for_some, a, b[:7])
refused("multicast", multicasts, a, kind=nvshmem.NotSupportedError)
raises(nvshmem.NotSupportedError, "put is for kernels", shmem.put, a, b, 0)
puts[1, 1](a, b, 1 - me)  # no error so far
waits_for_signal[1, 1](signal, GE, 0)
waits_for_all[1, 1](signal, np.int64(NE), 1)
nvshmem.free_array(b)
refused("freed", puts, a, b, 0)
nvshmem.barrier_all()
if me == 1:
    os.kill(os.getpid(), 9)
refused("PE 1", waits_for_ever, signal, kind=nvshmem.PeDiedError)
nvshmem.leave()
refused("after finalize", puts, a, a, 0, kind=nvshmem.NotInitializedError)
print("numba ok: errors", flush=True)
