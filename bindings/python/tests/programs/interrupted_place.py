"""A signal handler raises an exception while the checker asks Python for the line of a put."""

import signal

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import _sites

text_of = _sites._text


def interrupting(*key: object) -> bytes:
    _sites._text = text_of
    signal.raise_signal(signal.SIGINT)
    return text_of(*key)


nvshmem.init()
flag = nvshmem.array((1,), dtype="uint64")
data = nvshmem.array((1,), dtype="float64")
_sites._text = interrupting
nvshmem.put(data, np.ones(1), 0)
assert _sites._text is text_of, "nobody asked for the place"
try:
    nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ)
    print("the wait ended")
except KeyboardInterrupt as error:
    print(f"KeyboardInterrupt: {error}")
nvshmem.barrier_all()
nvshmem.free_array(data)
nvshmem.free_array(flag)
nvshmem.finalize()
print("ok")
