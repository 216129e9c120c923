# The bugs of several of the programs in C of this folder, as one writes them with NumPy.
#
# Expect: read early or write early: put at A, load at B
# Expect: missing fence: put at C, load at D
# Expect: read early or write early: store at E, get at F
# Expect: two writers: store at G, put at H
# Expect: dest used: get_nbi at I, load at J
# Expect: dest used: get_nbi at K, store at L
# Expect: source reused: put_nbi at M, store at N
# Expect: read back: put at O, load at P
# Expect: mixed or read early or write early: atomic_add at Q, load at R
# Expect: read early or write early: put at S, load at T
# Expect: write early or read early: put_signal at U, load at V
# May: two puts: put_signal at U, put_signal at U
# Problems: 11
import time

import numpy as np

import nvshmemrs.core as nvshmem
from job import MENDED, expect, join, leave
from nvshmemrs.core import ComparisonType, SignalOp

me, n = join()
left, right = (me - 1) % n, (me + 1) % n


def mend(step):
    if MENDED:
        step()


def scenario(body):
    """Runs it with nothing left of the one before."""
    nvshmem.barrier_all()
    body()
    nvshmem.barrier_all()


@scenario
def not_arrived():
    inbox = nvshmem.array((3, 5), "float64")
    nvshmem.put(inbox[1], np.full(5, me + 1.0), right)  # A
    mend(nvshmem.barrier_all)
    total = inbox[1:].sum()  # B
    expect(total == 5 * (left + 1))
    nvshmem.barrier_all()
    nvshmem.free_array(inbox)


@scenario
def flag_without_fence():
    cells, flag = nvshmem.array(65, "float64"), nvshmem.array(1, "int64")
    cells[1:] = 100.0 * me + np.arange(1, 65)
    nvshmem.put(cells[:1], cells[64:], right)  # C
    mend(nvshmem.fence)
    nvshmem.p(flag, 1, right)
    nvshmem.wait_until(flag, ComparisonType.CMP_EQ, 1)
    edge = cells[0]  # D
    expect(edge == 100.0 * left + 64)
    nvshmem.barrier_all()
    nvshmem.free_array(flag)
    nvshmem.free_array(cells)


@scenario
def filled_late():
    table = nvshmem.array((4, 4), "int32")
    table.T[1:3] += me  # E
    mend(nvshmem.barrier_all)
    theirs = np.zeros((4, 4), "int32")
    nvshmem.get(theirs, table, right)  # F
    expect(theirs[0].tolist() == [0, right, right, 0])
    nvshmem.barrier_all()
    nvshmem.free_array(table)


@scenario
def two_writers():
    row = nvshmem.array(8, "int64")
    row[::2] = -1  # G
    mend(nvshmem.barrier_all)
    nvshmem.put(row, np.arange(8), right)  # H
    nvshmem.barrier_all()
    expect(row.tolist() == list(range(8)))
    nvshmem.free_array(row)


@scenario
def fetched_late():
    block, fetched = nvshmem.array(8, "int64"), np.empty(8, "int64")
    block[:] = me + np.arange(8)
    nvshmem.barrier_all()
    nvshmem.get_nbi(fetched, block, right)  # I
    mend(nvshmem.quiet)
    last = fetched.max()  # J
    expect(last == right + 7)
    nvshmem.barrier_all()
    nvshmem.free_array(block)


@scenario
def filled_while_fetched():
    block, fetched = nvshmem.array(8, "int64"), np.zeros(8, "int64")
    nvshmem.get_nbi(fetched, block, right)  # K
    mend(nvshmem.quiet)
    fetched.fill(7)  # L
    nvshmem.barrier_all()
    nvshmem.free_array(block)


@scenario
def source_changed():
    inbox, outbox = nvshmem.array((16, 2), "float32"), nvshmem.array((2, 16), "float32")
    outbox[0] = me
    nvshmem.put_nbi(inbox.reshape(2, 16)[0], outbox[0], right)  # M
    mend(nvshmem.quiet)
    np.multiply(outbox, -1, out=outbox, where=[[True], [False]])  # N
    nvshmem.barrier_all()
    expect(inbox[0, 0] == left)
    nvshmem.free_array(outbox)
    nvshmem.free_array(inbox)


@scenario
def read_back():
    record = nvshmem.array(6, "uint8")
    nvshmem.put(record, np.frombuffer(b"abcdef", "uint8"), me)  # O
    mend(nvshmem.quiet)
    text = bytes(record.tolist())  # P
    expect(text == b"abcdef")
    nvshmem.barrier_all()
    nvshmem.free_array(record)


@scenario
def counted_plainly():
    count = nvshmem.array(1, "int64")
    nvshmem.atomic_add(count, 1, right)  # Q
    mend(nvshmem.barrier_all)
    if count[0] > 5:  # R
        raise AssertionError
    nvshmem.barrier_all()
    nvshmem.free_array(count)


@scenario
def assigned_to_another_array():
    inbox, mine = nvshmem.array(4, "float64"), np.zeros(4)
    nvshmem.put(inbox, np.full(4, me + 1.0), right)  # S
    mend(nvshmem.barrier_all)
    mine[:] = inbox  # T
    expect(mine[3] == left + 1)
    nvshmem.barrier_all()
    nvshmem.free_array(inbox)


@scenario
def room_for_two():
    room = nvshmem.array((2, 16), "int64")
    full, empty = nvshmem.array(1, "uint64"), nvshmem.array(1, "uint64")
    for block in range(4 if me < 2 else 0):
        if me == 0:
            time.sleep(0.01)
            text = 100 * block + np.arange(16)
            if MENDED and block >= 2:
                nvshmem.signal_wait(empty, block - 1, ComparisonType.CMP_GE)
            nvshmem.put_signal(room[block % 2], text, full, 1, SignalOp.SIGNAL_ADD, 1)  # U
        else:
            nvshmem.signal_wait(full, block + 1, ComparisonType.CMP_GE)
            last = room[block % 2, -1]  # V
            expect(last == 100 * block + 15)
            nvshmem.signal_op(empty, 1, SignalOp.SIGNAL_ADD, 0)
    nvshmem.barrier_all()
    for array in (empty, full, room):
        nvshmem.free_array(array)


leave()
