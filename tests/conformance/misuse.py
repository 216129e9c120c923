"""Misuse: wrong arguments give an error, on every member of a collective, and nothing is written.

The same scenario runs in every language. Start it with `nvshmemrs-run -n 4 -- python misuse.py`.
"""

import sys
from typing import Callable, Tuple, Type

import numpy as np
from numpy.lib.stride_tricks import as_strided

import nvshmemrs.core as nvshmem
from nvshmemrs.core import NvshmemError, NvshmemInvalid, Teams


def raises(kinds: Tuple[Type[Exception], ...], words: str, call: Callable[[], object]) -> None:
    """`call` must raise one of `kinds`, with a message that holds one of the words."""
    try:
        call()
    except kinds as error:
        assert any(word in str(error) for word in words.split("|")), str(error)
    else:
        raise AssertionError(f"no error where one about {words} was due")


INVALID = (NvshmemInvalid,)
raises(INVALID, "init", nvshmem.barrier_all)  # before init

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
data, source = nvshmem.array(8, "float64"), nvshmem.array(8, "float64")
signal = nvshmem.array(1, "uint64")
data[:], source[:] = -1, me
local = np.zeros(8)
nvshmem.barrier_all()

for pe in (n, -1):
    raises(INVALID, f"`remote_pe` is PE {pe}", lambda: nvshmem.put(data, source, pe))
    raises(INVALID, f"PE {pe}", lambda: nvshmem.get(local, data, pe))
    raises(
        INVALID,
        f"PE {pe}",
        lambda: nvshmem.put_signal(data, source, signal, 1, nvshmem.SignalOp.SIGNAL_SET, pe),
    )
# A slice stays inside its array, so strides make an array that is too long.
past = as_strided(data, shape=(9,), strides=(8,))
raises(INVALID, "72 bytes", lambda: nvshmem.put(past, np.zeros(9), (me + 1) % n))
raises(INVALID, "72 bytes", lambda: nvshmem.get(np.zeros(9), past, (me + 1) % n))
raises(INVALID, "elements", lambda: nvshmem.put(data, np.zeros(9), (me + 1) % n))
raises(INVALID, "symmetric", lambda: nvshmem.put(local, source, (me + 1) % n))
raises(INVALID, "symmetric", lambda: nvshmem.get(local, local, (me + 1) % n))
nvshmem.barrier_all()
assert (data == -1).all() and (local == 0).all() and signal[0] == 0

# Every PE gives the same wrong argument, then one PE alone; every PE raises each time.
COLLECTIVE = (NvshmemInvalid, nvshmem.PeerArgumentError, nvshmem.MismatchError)
pairs = nvshmem.array(8, "complex128")
for wrong in (True, me == n - 1):
    either = pairs if wrong else source
    raises(
        COLLECTIVE, "`float64`|PE", lambda: nvshmem.reduce(0, data, source, "xor" if wrong else "sum")
    )
    raises(COLLECTIVE, "99|PE", lambda: nvshmem.reduce(0, data, source, 99 if wrong else "sum"))
    raises(
        COLLECTIVE, "max|PE", lambda: nvshmem.reduce(0, pairs if wrong else data, either, "max")
    )
    raises(
        COLLECTIVE, "root|PE", lambda: nvshmem.broadcast(0, data, source, root=n if wrong else 0)
    )
if n > 1:
    count = 7 if me == n - 1 else 8
    raises(COLLECTIVE, "PE", lambda: nvshmem.reduce(0, data[:count], source[:count], "sum"))
    raises(COLLECTIVE, "in `array`: PE", lambda: nvshmem.array(count, "float64"))
assert (data == -1).all() and (source == me).all()
raises(INVALID, "`team` is team 12345", lambda: nvshmem.barrier(12345))

raises(INVALID, "clear of `src`", lambda: nvshmem.reduce(0, data[1:5], data[:4], "sum"))
raises(INVALID, "-1", lambda: nvshmem.team_split_strided(Teams.TEAM_WORLD, 0, 1, -1))
team = nvshmem.team_split_strided(Teams.TEAM_WORLD, 0, 1, n)
nvshmem.team_destroy(team)
raises(INVALID, "team", lambda: nvshmem.barrier(team))
event = nvshmem.Event()
raises(INVALID, "recorded", lambda: event.elapsed(event))
assert (data == -1).all()

nvshmem.free_array(pairs)
raises(INVALID, "freed", lambda: nvshmem.free_array(pairs))
raises(INVALID, "freed", lambda: nvshmem.put(pairs, np.zeros(8, "complex128"), 0))

# After all this the job is whole.
nvshmem.barrier(Teams.TEAM_WORLD)
nvshmem.reduce(0, data, source, "sum")
assert (data == n * (n - 1) / 2).all()
for array in (data, source, signal):
    nvshmem.free_array(array)
nvshmem.finalize()

raises((NvshmemError,), "finalize", nvshmem.my_pe)
raises((NvshmemError,), "finalize", nvshmem.barrier_all)
raises((NvshmemError,), "finalize", lambda: nvshmem.array(4))
raises((NvshmemError,), "finalize|freed", lambda: nvshmem.put(data, np.zeros(8), 0))
sys.stdout.write(f"misuse ok PE {me} of {n} (Python)\n")  # one write, so that PEs do not mix
