"""Order in a stream, between streams through events, errors that wait for synchronize, and arrays
that live as long as the queue needs them.
"""

import gc

import numpy as np
from expect import raises

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp

nvshmem.init(timeout=30)
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n

with nvshmem.Stream() as stream, nvshmem.Stream() as other:
    # A ring in one queue: put with signal, wait, get, sum.
    box, inbox = nvshmem.array((4, 4), "f4"), nvshmem.array((4, 4), "f4")
    total = nvshmem.array((4, 4), "f4")
    signal = nvshmem.array(1, "u8")
    box[:] = me + 1
    back = np.zeros((4, 4), "f4")
    for step in range(1, 401):  # more than one batch of kept arrays
        data = np.full((4, 4), me + step, "f4")
        nvshmem.put_signal(inbox, data, signal, step, SignalOp.SIGNAL_SET, right, stream=stream)
        del data  # the queue has the only reference
        nvshmem.signal_wait(signal, step, ComparisonType.CMP_GE, stream=stream)
        nvshmem.barrier_all(stream)
    nvshmem.get(back, inbox, right, stream)
    nvshmem.reduce("WORLD", total, box, "sum", stream=stream)
    nvshmem.quiet(stream)
    nvshmem.fence(stream)
    nvshmem.flush(stream)
    stream.synchronize()
    assert stream.query() and (inbox == left + 400).all() and (back == me + 400).all()
    assert (total == n * (n + 1) / 2).all()

    # A strided put and a strided put with a signal, queued.
    nvshmem.barrier_all()
    inbox[:] = -1
    nvshmem.barrier_all()
    nvshmem.put(inbox[:, 1], box[0], right, stream)
    nvshmem.put_signal(
        inbox[::-1, 2], box[1], signal, 1000, SignalOp.SIGNAL_SET, right, stream=stream
    )
    nvshmem.signal_wait(signal, 1000, ComparisonType.CMP_EQ, stream=stream)
    stream.synchronize()
    assert (inbox[:, 1:3] == left + 1).all() and (inbox[:, [0, 3]] == -1).all()

    # `other` waits for an event of `stream`, which waits for a signal that this thread sends.
    gate, order = nvshmem.array(1, "u8"), nvshmem.array(2, "i4")
    start = stream.record()
    nvshmem.signal_wait(gate, 1, ComparisonType.CMP_EQ, stream=stream)
    nvshmem.p(order, 1, me, stream)
    passed = stream.record()
    other.wait(passed)
    value = np.zeros(1, "i4")
    nvshmem.get(value, order[:1], me, other)
    reached = other.record()
    assert not passed.query() and not stream.query() and not other.query()
    nvshmem.signal_op(gate, 1, SignalOp.SIGNAL_SET, me)
    reached.synchronize()
    assert value[0] == 1 and passed.is_done
    assert start.elapsed(reached) > 0 and reached - start == start.elapsed(reached)
    nvshmem.barrier_all()

    # An error in the queue comes out of synchronize, once; what is queued behind it runs.
    nvshmem.p(order, 7, me, stream)
    nvshmem.put(order, np.zeros(2, "i4"), n, stream)  # no such PE
    nvshmem.p(order[1:], 8, me, stream)
    raises(nvshmem.NvshmemInvalid, str(n), stream.synchronize)
    stream.synchronize()
    assert order.tolist() == [7, 8]

    # A wrong argument of one PE in a queued collective: all raise, and nothing is written.
    total[:] = -5
    nvshmem.barrier_all()
    try:
        wrong = nvshmem.array_get_buffer(total)[0] if me == n - 1 else total
        nvshmem.reduce(0, wrong, box, "sum", stream=stream)
        stream.synchronize()
    except nvshmem.NvshmemError:
        pass
    else:
        raise AssertionError(f"PE {me} does not know of the wrong argument")
    try:
        stream.synchronize()  # where it was found early, the queue reports it as well
    except nvshmem.NvshmemError:
        assert me == n - 1
    assert (total == -5).all()
    nvshmem.barrier_all()

    # Symmetric arrays of queued operations are not given back before they have run.
    gate[:] = 0
    for _ in range(20):
        dropped = nvshmem.array(1000, "f8")
        nvshmem.put(dropped, np.ones(1000), me, stream)
        del dropped
        gc.collect()
    stream.synchronize()
    nvshmem.barrier_all()

# A stream that is dropped goes on until it is idle.
nvshmem.wait_until(gate, ComparisonType.CMP_EQ, 0)
dropped_stream = nvshmem.Stream()
nvshmem.signal_wait(gate, 2, ComparisonType.CMP_EQ, stream=dropped_stream)
nvshmem.put(order, np.array([5, 6], "i4"), me, dropped_stream)
del dropped_stream
gc.collect()
nvshmem.signal_op(gate, 2, SignalOp.SIGNAL_SET, me)
nvshmem.wait_until(order, ComparisonType.CMP_EQ, 6, offset=1)
assert order.tolist() == [5, 6]
nvshmem.Stream().close()
# finalize waits for what is queued.
last = nvshmem.Stream()
nvshmem.barrier_all(last)
nvshmem.finalize()
assert last.handle == 0
print("ok\n", end="")  # one write, so that PEs do not mix
