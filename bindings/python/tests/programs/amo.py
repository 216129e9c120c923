"""Atomics on the right neighbour: each operation, dtype and form; then all PEs on one element."""

import numpy as np

import nvshmemrs.core as nvshmem

nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right = (me + 1) % n
INTEGERS = ["i4", "i8", "u4", "u8"]
# What an operation makes of an old value and its arguments.
OPERATIONS = {
    "atomic_fetch": lambda old: old,
    "atomic_set": lambda old, value: value,
    "atomic_swap": lambda old, value: value,
    "atomic_add": lambda old, value: old + value,
    "atomic_fetch_add": lambda old, value: old + value,
    "atomic_inc": lambda old: old + 1,
    "atomic_fetch_inc": lambda old: old + 1,
    "atomic_and": lambda old, value: old & value,
    "atomic_fetch_and": lambda old, value: old & value,
    "atomic_or": lambda old, value: old | value,
    "atomic_fetch_or": lambda old, value: old | value,
    "atomic_xor": lambda old, value: old ^ value,
    "atomic_fetch_xor": lambda old, value: old ^ value,
}
FLOATING = ["atomic_fetch", "atomic_set", "atomic_swap", "atomic_add", "atomic_fetch_add"]
RETURNING = ("fetch", "swap")

stream = nvshmem.Stream()
for dtype in INTEGERS + ["f4", "f8"]:
    info = np.iinfo(dtype) if dtype in INTEGERS else None
    start = info.min + 2 if info else 1.5
    value = 5 if info else -0.25
    cells = nvshmem.array(7, dtype)
    fetch = np.zeros(1, dtype)
    for name, effect in OPERATIONS.items():
        if info is None and name not in FLOATING:
            continue
        values = () if effect.__code__.co_argcount == 1 else (value,)
        forms = ["", "stream"] + (["_nbi"] if any(word in name for word in RETURNING) else [])
        for form in forms:
            cells[:] = start
            nvshmem.barrier_all()
            expected = effect(start, *values)
            # A view of every other element: number 1 of it is element 3 of the array.
            view = cells[1::2]
            if form == "_nbi":
                function = getattr(nvshmem, name + "_nbi")
                fetch[0] = 0
                assert function(fetch, view, *values, right, offset=1) is None
                nvshmem.quiet()
                old = fetch[0]
            else:
                on = {"stream": stream} if form else {}
                old = getattr(nvshmem, name)(view, *values, pe=right, offset=1, **on)
                stream.synchronize()
            if any(word in name for word in RETURNING):
                assert old == start, (dtype, name, form, old)
                assert form == "_nbi" or type(old) is (int if info else float)
            else:
                assert old is None
            nvshmem.barrier_all()
            wanted = np.full(7, start, dtype)
            wanted[3] = expected
            assert np.array_equal(cells, wanted), (dtype, name, form, cells, wanted)
            nvshmem.barrier_all()
    nvshmem.free_array(cells)

for dtype in INTEGERS:
    with nvshmem.array(3, dtype) as cells:
        low = int(np.iinfo(dtype).min)
        cells[:] = low
        nvshmem.barrier_all()
        assert nvshmem.atomic_compare_swap(cells, low + 1, 9, right, offset=1) == low
        assert nvshmem.atomic_compare_swap(cells, low, 8, right, offset=1) == low
        fetch = np.zeros(1, dtype)
        nvshmem.atomic_compare_swap_nbi(fetch, cells, 8, 7, right, offset=1)
        nvshmem.quiet()
        assert fetch[0] == 8
        nvshmem.barrier_all()
        assert cells.tolist() == [low, 7, low]
        nvshmem.barrier_all()

# All on PE 0: nothing is lost, and nobody gets the same number.
with nvshmem.array(4, "i4") as cells, nvshmem.array((n, 200), "i4") as all_drawn:
    drawn = nvshmem.array(200, "i4")
    drawn[:] = [nvshmem.atomic_fetch_inc(cells, 0, offset=2) for _ in range(200)]
    for _ in range(200):
        nvshmem.atomic_add(cells, -1, 0, offset=1)
    nvshmem.fcollect(0, all_drawn, drawn)
    assert sorted(all_drawn.ravel().tolist()) == list(range(200 * n))
    nvshmem.barrier_all()
    if me == 0:
        assert cells.tolist() == [0, -200 * n, 200 * n, 0]
    nvshmem.barrier_all()
    nvshmem.free_array(drawn)

# Buffers, by NVSHMEM's names and NumPy's.
with nvshmem.buffer(16) as b:
    np.asarray(b)[:] = 0
    nvshmem.barrier_all()
    nvshmem.atomic_add(b, 0.5, right, offset=3, dtype="float")
    nvshmem.atomic_or(b, 6, right, dtype="ulonglong")
    nvshmem.barrier_all()
    assert np.asarray(b).view("f4")[3] == 0.5
    assert nvshmem.atomic_fetch(b, me, dtype=np.uint64) == 6
    nvshmem.barrier_all()
stream.close()
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
