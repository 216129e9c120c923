"""Random views of random arrays go to the right neighbour and come from it, with NumPy as the
model: what lies beside the elements must not change.
"""

import numpy as np

import nvshmemrs.core as nvshmem

CASES = 150
nvshmem.init()
me, n = nvshmem.my_pe(), nvshmem.n_pes()
right, left = (me + 1) % n, (me - 1) % n
DTYPES = ["i1", "u2", "f4", "f8", "c16", "i4,f8", "?"]


def view_of(array: np.ndarray, shape: tuple, choose: np.random.Generator) -> np.ndarray:
    """A random view of `shape`; the array has room for steps of up to 2 in each direction."""
    slices = []
    for length, room in zip(shape, array.shape):
        step = int(choose.choice([1, 1, 2, -1, -2]))
        span = (length - 1) * abs(step) + 1
        start = int(choose.integers(0, room - span + 1))
        indices = slice(start, start + span, step)
        if step < 0:
            indices = slice(start + span - 1, start - 1 if start else None, step)
        slices.append(indices)
    return array[tuple(slices)]


def content(pe: int, case: int, shape: tuple, dtype: str) -> np.ndarray:
    numbers = np.random.default_rng([pe, case]).integers(0, 100, shape)
    return numbers.astype(dtype)


for case in range(CASES):
    choose = np.random.default_rng(case)  # the same on every PE
    rank = int(choose.integers(1, 4))
    shape = tuple(int(length) for length in choose.integers(1, 6, rank))
    room = tuple(2 * length + 3 for length in shape)
    dtype = DTYPES[case % len(DTYPES)]
    orders = choose.choice(["C", "F"], 2)
    turned = bool(choose.integers(2))
    seed = int(choose.integers(2**32))

    def turn(array: np.ndarray) -> np.ndarray:
        return array.T if turned else array

    def pick(array: np.ndarray, salt: int) -> np.ndarray:
        """The same random view of every array of this shape; another for another `salt`."""
        wanted = shape[::-1] if turned else shape
        return view_of(array, wanted, np.random.default_rng([seed, salt]))

    whole = nvshmem.array(room, dtype, morder=str(orders[0]))
    symmetric = turn(whole)
    local = turn(np.array(content(me, case, room, dtype), order=str(orders[1])))
    model = turn(np.zeros(room, dtype))
    sent = pick(turn(content(left, case, room, dtype)), 1)
    pick(model, 0)[...] = sent
    nvshmem.put(pick(symmetric, 0), pick(local, 1), right)
    nvshmem.barrier_all()
    assert np.array_equal(symmetric, model), (case, dtype, shape, symmetric, model)
    # Back again, from the right neighbour: what this PE sent.
    back = np.zeros_like(local)
    nvshmem.get(pick(back, 2), pick(symmetric, 0), pe=right)
    wanted = np.zeros_like(local)
    pick(wanted, 2)[...] = pick(local, 1)
    assert np.array_equal(back, wanted), (case, dtype, shape)
    nvshmem.barrier_all()
    # The first few elements in C order.
    count = int(choose.integers(0, sent.size + 1))
    back[...] = np.zeros(1, dtype)
    wanted[...] = np.zeros(1, dtype)
    flat = pick(local, 1).reshape(-1)[:count]
    target = pick(wanted, 3)
    for index, value in zip(np.ndindex(target.shape), flat):
        target[index] = value
    nvshmem.get(pick(back, 3), pick(symmetric, 0), pe=right, count=count)
    assert np.array_equal(back, wanted), (case, dtype, shape, count)
    nvshmem.barrier_all()
    nvshmem.free_array(whole)
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
