"""Correct programs as one writes them with NumPy: nothing may be said of them. Each checks its own
result.
"""

import os
import sys

sys.path.insert(
    0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "planted")
)

import numpy as np
from job import leave

import nvshmemrs.core as nvshmem
from nvshmemrs.core import ComparisonType, SignalOp, Teams

ROUNDS = 5
GE, SET, ADD = ComparisonType.CMP_GE, SignalOp.SIGNAL_SET, SignalOp.SIGNAL_ADD

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
left, right = (me - 1) % n, (me + 1) % n


def scenario(body):
    """Runs the scenario; the arrays that it yields are freed at the end."""
    for arrays in body():
        nvshmem.barrier_all()
        for array in arrays:
            nvshmem.free_array(array)


def equal(got, expected):
    if not np.all(np.asarray(got) == expected):
        raise AssertionError(f"PE {me}: {got} and not {expected}")


@scenario
def stencil_with_halo():
    """Rows of a field, the halo put between barriers, everything in place."""
    field, new = nvshmem.array((6, 8)), nvshmem.array((6, 8))
    field[1:-1] = me
    expected = np.full(n, 0.0)
    for _ in range(ROUNDS):
        nvshmem.barrier_all()
        nvshmem.put(field[0], field[-2], right)
        nvshmem.put(field[-1], field[1], left)
        nvshmem.barrier_all()
        new[1:-1] = 0.5 * field[1:-1] + 0.25 * (field[:-2] + field[2:])
        field, new = new, field
    expected = nvshmem.array(1, "float64")
    expected[0] = field[1:-1].sum()
    nvshmem.reduce(Teams.TEAM_WORLD, expected, expected, "sum")
    equal(np.isclose(expected[0], 32 * n * (n - 1) / 2), True)
    yield field, new, expected


@scenario
def halo_by_signals():
    """The same with put_signal, in two buffers by turns, own cells written meanwhile."""
    rows = [nvshmem.array((2, 10), "float64") for _ in range(2)]
    came = nvshmem.array(2, "uint64")
    for step in range(1, ROUNDS + 1):
        old, new = rows[step % 2], rows[(step + 1) % 2]
        old[:, 1:-1] = 10 * step + me
        nvshmem.put_signal(old[0, :1], old[1, 8:9], came[:1], step, SET, right)
        nvshmem.put_signal(old[0, -1:], old[1, 1:2], came[1:], step, SET, left)
        nvshmem.signal_wait(came[:1], step, GE)
        nvshmem.signal_wait(came[1:], step, GE)
        new[1, 2:-2] = old[0, 1:-3] + old[0, 3:-1]
        equal(old[0, [0, -1]], [10 * step + left, 10 * step + right])
    yield rows[0], rows[1], came


@scenario
def columns():
    """A column to the right, by strided put; the others are the PE's own."""
    grid = nvshmem.array((5, 4), "int32")
    grid[:, 1:] = 10 * me + np.arange(1, 4)
    nvshmem.barrier_all()
    nvshmem.put(grid[:, 0], grid[:, -1], right)
    grid[:, 1] *= 2  # nobody else uses it
    grid.T[2] -= 1
    nvshmem.barrier_all()
    equal(grid[:, 0], 10 * left + 3)
    yield (grid,)


@scenario
def neighbours_in_one_word():
    """PEs put single bytes beside each other while the owner uses its own between them."""
    table = nvshmem.array((n, 3), "uint8")
    nvshmem.barrier_all()
    nvshmem.put(table[me, :1], np.array([me + 1], "uint8"), right)
    table[:, 1] = 7
    table[:, 1:] += 1
    nvshmem.barrier_all()
    equal(table[left], [left + 1, 8, 1])
    yield (table,)


@scenario
def histogram():
    """All count into bins on all PEs by atomic operations; read after a barrier."""
    bins = nvshmem.array(4, "int64")
    for value in np.random.default_rng(me).integers(0, 4 * n, 20):
        nvshmem.atomic_add(bins[value % 4 : value % 4 + 1], 1, int(value) // 4)
    nvshmem.barrier_all()
    everything = nvshmem.array(4 * n, "int64")
    nvshmem.fcollect(Teams.TEAM_WORLD, everything, bins)
    equal(everything.sum(), 20 * n)
    yield bins, everything


@scenario
def local_histogram():
    """Counted by NumPy, then reduced in place."""
    counts = nvshmem.array(8, "int64")
    values = np.random.default_rng(me).integers(0, 8, 50)
    np.add.at(counts, values, 1)
    counts[:] = np.maximum(counts, np.bincount(values, minlength=8))
    nvshmem.reduce(Teams.TEAM_WORLD, counts, counts, "sum")
    equal(counts.sum(), 50 * n)
    yield (counts,)


@scenario
def pipeline():
    """Each PE works on an item and hands it on; a credit comes back."""
    item, full, free = (
        nvshmem.array(6, "int64"),
        nvshmem.array(1, "uint64"),
        nvshmem.array(1, "uint64"),
    )
    work = np.zeros(6, "int64")
    for number in range(1, ROUNDS + 1):
        if me == 0:
            work[:] = number
        else:
            nvshmem.signal_wait(full, number, GE)
            work[:] = item
            nvshmem.signal_op(free, number, SET, left)
        work += 1
        if me < n - 1:
            nvshmem.signal_wait(free, number - 1, GE)
            nvshmem.put_signal(item, work, full, number, SET, right)
        else:
            equal(work, number + n)
    yield item, full, free


@scenario
def flag_behind_a_fence():
    box, flag = nvshmem.array((2, 3), "float32"), nvshmem.array(1, "int64")
    nvshmem.put(box[1], np.full(3, me, "float32"), right)
    nvshmem.fence()
    nvshmem.p(flag, 1, right)
    nvshmem.wait_until(flag, ComparisonType.CMP_EQ, 1)
    equal(box[1].tolist(), [left] * 3)
    box[0] = box[1]
    yield box, flag


@scenario
def only_what_has_come():
    """Rows come one by one; a mask, an index, and where= leave out those that have not."""
    rows, came = nvshmem.array((n, 4), "int64"), nvshmem.array(n, "uint64")
    for pe in range(n):
        values = np.arange(4) + 10 * me
        nvshmem.put_signal(rows[me], values, came[me : me + 1], 1, SET, pe)
    there = np.zeros(n, bool)
    for pe in range(n):
        nvshmem.signal_wait(came[pe : pe + 1], 1, GE)
        there[pe] = True
        expected = 10 * np.arange(n)[there] + 3
        equal(rows[there, 3], expected)
        equal(rows[np.flatnonzero(there)].max(axis=1), expected)
        equal(np.where(there[:, None], rows, -1)[pe, 3], expected[-1])
        equal(np.sum(rows, axis=1, where=there[:, None]).sum(), (4 * expected - 6).sum())
        equal(np.take(rows, [pe], axis=0)[0, 0], 10 * pe)
        equal(
            np.add(rows, 1, where=there[:, None], out=np.zeros((n, 4), "int64"))[pe, 0], 10 * pe + 1
        )
    yield rows, came


@scenario
def background_fetch():
    """get_nbi and put_nbi; other memory is used until quiet."""
    block = nvshmem.array((2, 16), "float64")
    block[0] = me + np.arange(16)
    nvshmem.barrier_all()
    theirs, other = np.empty(16), np.zeros(16)
    outgoing = np.full(16, float(me))
    nvshmem.get_nbi(theirs, block[0], right)
    nvshmem.put_nbi(block[1], outgoing, right)
    other += block[0] * 2 + outgoing
    nvshmem.quiet()
    equal(theirs, right + np.arange(16))
    outgoing[:] = theirs[::-1]
    nvshmem.barrier_all()
    equal(block[1], left)
    yield (block,)


@scenario
def part_of_a_scratch_array():
    """One half is fetched while the other is used."""
    block, scratch = nvshmem.array(8, "int32"), np.zeros(16, "int32")
    block[:] = me
    nvshmem.barrier_all()
    nvshmem.get_nbi(scratch[:8], block, right)
    scratch[8:] = np.arange(8)
    scratch[8:].sort()
    first = scratch[12]
    nvshmem.quiet()
    equal(scratch[:8] + first, right + 4)
    yield (block,)


@scenario
def teams():
    """Even and odd PEs reduce on their own, each in place."""
    team = (
        nvshmem.team_split_strided(Teams.TEAM_WORLD, me % 2, 2, (n + 1 - me % 2) // 2)
        if n < 2
        else None
    )
    other = None
    if n > 1:
        even = nvshmem.team_split_strided(Teams.TEAM_WORLD, 0, 2, (n + 1) // 2)
        other = nvshmem.team_split_strided(Teams.TEAM_WORLD, 1, 2, n // 2)
        team = even if me % 2 == 0 else other
    values = nvshmem.array(3, "int64")
    values[:] = [me, 1, -me]
    nvshmem.reduce(team, values, values, "sum")
    equal(values[1], nvshmem.team_n_pes(team))
    values *= 2
    equal(values[0], -values[2])
    nvshmem.barrier_all()
    nvshmem.team_destroy(team)
    yield (values,)


@scenario
def in_turns():
    """A token goes round; the PE that holds it changes a shared row on PE 0 by its peer array."""
    shared, token = nvshmem.array(4, "int64"), nvshmem.array(1, "uint64")
    on_zero = nvshmem.get_peer_array(shared, 0)
    for lap in range(1, 3):
        if me > 0 or lap > 1:
            nvshmem.signal_wait(token, lap - (me == 0), GE)
        on_zero += 1
        nvshmem.signal_op(token, lap, SET, right)
    nvshmem.barrier_all()
    equal(on_zero[[0, 3]], 2 * n)
    yield shared, token


@scenario
def transposed():
    """A matrix in blocks, transposed by alltoall."""
    mine, theirs = nvshmem.array((n, 2, 2), "float64"), nvshmem.array((n, 2, 2), "float64")
    for _ in range(ROUNDS):
        for pe in range(n):
            mine[pe] = [[me, pe], [pe, me]]
        nvshmem.alltoall(Teams.TEAM_WORLD, theirs, mine)
        equal(theirs.transpose(0, 2, 1)[right], [[right, me], [me, right]])
        mine[...] = theirs.swapaxes(1, 2)
    yield mine, theirs


@scenario
def dot_product():
    """Conjugate gradients without the gradients: dot products, norms, broadcasts."""
    x, sums = nvshmem.array(20, "float64"), nvshmem.array(2, "float64")
    x[:] = np.linspace(0, 1, 20) + me
    for _ in range(ROUNDS):
        sums[:] = np.dot(x, x), np.linalg.norm(x)
        nvshmem.reduce(Teams.TEAM_WORLD, sums, sums, "sum")
        x /= np.sqrt(sums[0])
    nvshmem.broadcast(Teams.TEAM_WORLD, x, x, 0)
    equal(x.argmax(), 19)
    yield x, sums


@scenario
def sorted_pairs():
    """Odd-even exchange of sorted blocks."""
    block, inbox = nvshmem.array(6, "int64"), nvshmem.array(6, "int64")
    block[:] = np.random.default_rng(me).integers(0, 1000, 6)
    block.sort()
    for turn in range(n):
        partner = me + 1 if (me + turn) % 2 == 0 else me - 1
        if 0 <= partner < n:
            nvshmem.put(inbox, block, partner)
        nvshmem.barrier_all()
        if 0 <= partner < n:
            both = np.sort(np.concatenate([block, inbox]))
            block[:] = both[:6] if me < partner else both[6:]
        nvshmem.barrier_all()
    everything = nvshmem.array(6 * n, "int64")
    nvshmem.fcollect(Teams.TEAM_WORLD, everything, block)
    equal(np.diff(everything) >= 0, True)
    yield block, inbox, everything


@scenario
def read_while_others_read():
    """Everybody reads PE 0's table, PE 0 prints and iterates over it."""
    table = nvshmem.array((3, 3), "float32")
    if me == 0:
        table[:] = np.eye(3)
    nvshmem.barrier_all()
    theirs = np.zeros((3, 3), "float32")
    nvshmem.get(theirs, table, 0)
    if me == 0:
        equal("1." in str(table) and sum(sum(row) for row in table), 3.0)
    equal(np.trace(theirs), 3)
    yield (table,)


@scenario
def copies_live_on():
    """Copies of an array's elements are used while the next block arrives."""
    inbox = nvshmem.array(5, "int64")
    copies = []
    for step in range(ROUNDS):
        nvshmem.barrier_all()
        nvshmem.put(inbox, np.full(5, step * n + me), right)
        for kept, value in copies:
            equal(kept, value)
        nvshmem.barrier_all()
        value = step * n + left
        copies = [
            (inbox.copy(), value),
            (np.array(inbox), value),
            (inbox[[0, 2]], value),
            (inbox.tolist(), value),
            (inbox + 0, value),
            (inbox[3], value),
        ]
    yield (inbox,)


@scenario
def views_without_a_look():
    """Shapes, slices and types may be asked for while the memory is put to."""
    room = nvshmem.array((4, 6), "int16")
    nvshmem.barrier_all()
    nvshmem.put(room, np.ones((4, 6), "int16"), right)
    views = [
        room[1:3], room.T, room.reshape(-1), room.view("uint8"), np.asarray(room), room.ravel(),
        np.split(room, 2)[0], room[:, None, 2], np.swapaxes(room, 0, 1), np.zeros_like(room),
    ]  # fmt: skip
    equal([view.ndim for view in views], [2, 2, 1, 2, 2, 1, 2, 2, 2, 2])
    equal((len(room), room.size, np.shape(room)[1], room.nbytes), (4, 24, 6, 48))
    nvshmem.barrier_all()
    equal([int(view.sum()) for view in views[:3]], [12, 24, 24])
    yield (room,)


@scenario
def streams_of_arrays():
    """Arrays on streams: temporaries are sent, and others used when synchronize or an event allows."""
    inbox, fetched = nvshmem.array((ROUNDS, 4), "int64"), nvshmem.array(4, "int64")
    stream, other = nvshmem.Stream(), nvshmem.Stream()
    for step in range(ROUNDS):
        nvshmem.put(inbox[step], np.full(4, step * n + me), right, stream=stream)
        block = np.zeros(4, "int64")
        block[:] = step
        nvshmem.put(inbox[step, :2], block[:2], me, stream=other) if n == 1 else None
    stream.synchronize()
    nvshmem.barrier_all()
    equal(inbox[:, 3], [step * n + left for step in range(ROUNDS)])
    for step in range(ROUNDS):
        nvshmem.get(fetched, inbox[step], right, stream=stream)
        other.wait(stream.record())
        nvshmem.get(fetched, inbox[step], right, stream=other)
        other.synchronize()
        equal(fetched, step * n + me)
        fetched[:] = 0
    nvshmem.barrier_all()
    other.close()
    stream.close()
    yield inbox, fetched


@scenario
def arrays_come_and_go():
    """Arrays are freed and allocated again, and copies of their contents live on."""
    kept = []
    for step in range(ROUNDS):
        rows = [nvshmem.array(size, "int64") for size in (3, 5000)]
        for row in rows:
            equal(row[-1], 0)
            row[:] = step
        kept.append([row[:3].copy() for row in rows])
        for row in rows:
            nvshmem.free_array(row)
    equal(np.array(kept)[:, 1, 2], np.arange(ROUNDS))
    yield ()


leave()
