"""Under the checker: which elements of a symmetric array each use by NumPy announces as read and
as written, and that the result is NumPy's.
"""

from __future__ import annotations

import copy
import io
import os
import pickle
import sys
from typing import Any, Callable, List, Set, Tuple

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import _watch
from nvshmemrs.core.interop.numpy import SymmetricArray

SHAPE = (4, 6)
ALL = set(range(24))
NONE: Set[int] = set()
NUMBERS = np.ndarray.view(np.arange(24).reshape(SHAPE), np.ndarray)
MASK = NUMBERS % 5 == 0
Seen = Tuple[Set[int], Set[int]]

nvshmem.init(heap_bytes=1 << 22)
array = nvshmem.array(SHAPE, "i8")
start = array.ctypes.data
heard: List[Tuple[int, int, int]] = []
handed_out: List[int] = []


def listen(address: int, nbytes: int, access: int, place: object) -> int:
    if access == _watch._UNSEEN:
        handed_out.append(address)
    else:
        heard.append((address, nbytes, access))
    return 0


_watch._announce = listen


def elements(access: int) -> Set[int]:
    found: Set[int] = set()
    for address, nbytes, kind in heard:
        if kind == access and start <= address < start + array.nbytes:
            first, last = address - start, address - start + nbytes
            assert first % 8 == 0 and last % 8 == 0 and last <= array.nbytes
            found |= set(range(first // 8, last // 8))
    return found


def at(key: Any) -> Set[int]:
    return set(np.ravel(NUMBERS[key]).tolist())


def assign(key: Any, value: Any) -> Callable[[Any], Any]:
    def body(x: Any) -> None:
        x[key] = value

    return body


def plain_is_filled(x: Any) -> Any:
    mine = np.zeros(6, "i8")
    mine[:] = x[1]
    return mine


def doubled_in_place(x: Any) -> None:
    x *= 2


def part_in_place(x: Any) -> None:
    x[1:3, ::2] += 5


def selected_in_place(x: Any) -> None:
    x[x > 20] += 1


def added_at(x: Any) -> None:
    np.add.at(x, ([0, 1], [2, 2]), 7)


def saved(x: Any) -> Any:
    file = io.BytesIO()
    np.save(file, x)
    return file.getvalue()


def real_part(x: Any) -> None:
    x.real = 3


CASES: List[Tuple[str, Callable[[Any], Any], Set[int], Set[int]]] = [
    ("print", str, ALL, NONE),
    ("repr", repr, ALL, NONE),
    ("format", lambda x: f"{x}", ALL, NONE),
    ("element", lambda x: x[2, 3], at((2, 3)), NONE),
    ("element by item", lambda x: x.item(2, 3), at((2, 3)), NONE),
    ("element by flat item", lambda x: x.item(-2), {22}, NONE),
    ("element of a numpy integer", lambda x: x[np.int64(1)][np.int8(2)], at((1, 2)), NONE),
    ("a view is not read", lambda x: x[3:5].shape, NONE, NONE),
    ("slice", lambda x: x[1:3, 2:4].sum(), at(np.s_[1:3, 2:4]), NONE),
    ("column", lambda x: x[:, 2] + 1, at(np.s_[:, 2]), NONE),
    ("strided", lambda x: x[::2, ::3].copy(), at(np.s_[::2, ::3]), NONE),
    ("backwards", lambda x: x[::-1, ::-2].tolist(), at(np.s_[::-1, ::-2]), NONE),
    ("transposed", lambda x: x.T[1:3].tobytes(), at(np.s_[:, 1:3]), NONE),
    ("other type", lambda x: x.view("i4")[1].sum(), at(1), NONE),
    ("reshaped", lambda x: x.reshape(2, 12)[1].max(), set(range(12, 24)), NONE),
    ("reshaped with a copy", lambda x: x[:, 1:].reshape(-1).size, at(np.s_[:, 1:]), NONE),
    ("ravel of all", lambda x: x.ravel()[3:5].tolist(), {3, 4}, NONE),
    ("flatten", lambda x: x.flatten(), ALL, NONE),
    ("mask", lambda x: x[MASK], at(MASK), NONE),
    ("indices", lambda x: x[[0, 3], [1, 2]], {1, 20}, NONE),
    ("rows", lambda x: x[[0, 3]], at([0, 3]), NONE),
    ("indices of all", lambda x: x[np.ix_([0, 1], [2, 5])], {2, 5, 8, 11}, NONE),
    ("new axis", lambda x: x[1, None, :2] + 1, {6, 7}, NONE),
    ("take", lambda x: np.take(x, [3, 5]), {3, 5}, NONE),
    ("take along an axis", lambda x: x.take([1], axis=1), at(np.s_[:, 1]), NONE),
    ("compress", lambda x: x.compress([True, False, True], axis=0), at([0, 2]), NONE),
    ("extract", lambda x: np.extract(MASK, x), at(MASK), NONE),
    ("where", lambda x: np.where(MASK, x, -1), at(MASK), NONE),
    ("where not", lambda x: np.where(MASK, -1, x), ALL - at(MASK), NONE),
    ("where of a row", lambda x: np.where([[True], [False]], x[1], 0), at(1), NONE),
    ("nonzero", lambda x: np.where(x), ALL, NONE),
    ("sum", lambda x: x.sum(), ALL, NONE),
    ("np.sum", np.sum, ALL, NONE),
    ("sum of an axis", lambda x: np.sum(x[2:], axis=1), at(np.s_[2:]), NONE),
    ("sum under a mask", lambda x: np.sum(x, where=MASK), at(MASK), NONE),
    ("mean", np.mean, ALL, NONE),
    ("std", lambda x: x.std(), ALL, NONE),
    ("median", np.median, ALL, NONE),
    ("any", lambda x: x.any(), ALL, NONE),
    ("np.all", np.all, ALL, NONE),
    ("ptp", np.ptp, ALL, NONE),
    ("cumsum", lambda x: x[0].cumsum(), at(0), NONE),
    ("argmax", lambda x: x[1].argmax(), at(1), NONE),
    ("clip", lambda x: x[1].clip(7, 9), at(1), NONE),
    ("round", lambda x: x[1].round(), at(1), NONE),
    ("trace", lambda x: x.trace(), {0, 7, 14, 21}, NONE),
    ("diagonal", lambda x: x.diagonal().tolist(), {0, 7, 14, 21}, NONE),
    ("diag", lambda x: np.diag(x) + 0, {0, 7, 14, 21}, NONE),
    ("tril", np.tril, set(np.tril(NUMBERS + 1)[np.tril(NUMBERS + 1) > 0] - 1), NONE),
    ("ufunc", lambda x: np.sqrt(x[1]), at(1), NONE),
    ("operators", lambda x: 2 * x[1] - x[2], at(np.s_[1:3]), NONE),
    ("comparison", lambda x: (x[1] == x[2]).all(), at(np.s_[1:3]), NONE),
    ("ufunc under a mask", lambda x: np.add(x, 1, where=MASK, out=NUMBERS * 0), at(MASK), NONE),
    ("outer", lambda x: np.multiply.outer(x[0], x[1]), at(np.s_[:2]), NONE),
    ("reduceat", lambda x: np.add.reduceat(x[1], [2, 4]), {8, 9, 10, 11}, NONE),
    ("reduceat backwards", lambda x: np.add.reduceat(x[1], [4, 2, 3]), {8, 9, 10, 11}, NONE),
    ("matmul", lambda x: x[:2] @ x.T, ALL, NONE),
    ("dot", lambda x: np.dot(x[1], x[2]), at(np.s_[1:3]), NONE),
    ("einsum", lambda x: np.einsum("ij,ij->", x, x), ALL, NONE),
    ("norm", lambda x: np.linalg.norm(x[1]), at(1), NONE),
    ("concatenate", lambda x: np.concatenate([x[0], [1], x[2]]), at([0, 2]), NONE),
    ("stack", lambda x: np.stack([x[0], x[2]]), at([0, 2]), NONE),
    ("roll", lambda x: np.roll(x[1], 1), at(1), NONE),
    ("sort", lambda x: np.sort(x[1]), at(1), NONE),
    ("unique", lambda x: np.unique(x[1]), at(1), NONE),
    ("histogram", lambda x: np.histogram(x[1], 3)[0], at(1), NONE),
    ("bincount", lambda x: np.bincount(x[1]), at(1), NONE),
    ("interp", lambda x: np.interp(2.5, x[0], x[1]), at(np.s_[:2]), NONE),
    ("fft", lambda x: np.fft.fft(x[1]), at(1), NONE),
    ("array_equal", lambda x: np.array_equal(x[1], x[2]), at(np.s_[1:3]), NONE),
    ("allclose", lambda x: np.allclose(x[1], x[1]), at(1), NONE),
    ("shape and type", lambda x: (np.shape(x), np.result_type(x), np.ndim(x)), NONE, NONE),
    ("zeros_like", lambda x: np.zeros_like(x), NONE, NONE),
    ("full_like", lambda x: np.full_like(x, x[0, 1]), {1}, NONE),
    ("broadcast", lambda x: np.broadcast_to(x[1], (3, 6))[2].tolist(), at(1), NONE),
    ("split", lambda x: np.split(x, 2)[1].sum(), at(np.s_[2:]), NONE),
    ("swapaxes", lambda x: np.swapaxes(x, 0, 1)[2].sum(), at(np.s_[:, 2]), NONE),
    ("array", lambda x: np.array(x[1]), at(1), NONE),
    ("array of rows", lambda x: np.array([x[1], x[2]]), at(np.s_[1:3]), NONE),
    ("asarray is read later", lambda x: np.asarray(x).shape, NONE, NONE),
    ("asarray", lambda x: np.asarray(x)[1].sum(), at(1), NONE),
    ("asarray of another type", lambda x: np.asarray(x[1], "f4"), at(1), NONE),
    ("ascontiguousarray", lambda x: np.ascontiguousarray(x[:, 1]), at(np.s_[:, 1]), NONE),
    ("astype", lambda x: x[1].astype("f4"), at(1), NONE),
    ("view as ndarray", lambda x: x.view(np.ndarray)[1].sum(), at(1), NONE),
    ("copy", lambda x: copy.copy(x[1]), at(1), NONE),
    ("deepcopy", lambda x: copy.deepcopy(x[1]), at(1), NONE),
    ("pickle", lambda x: pickle.loads(pickle.dumps(x[1])), at(1), NONE),
    ("pickle of protocol 5", lambda x: pickle.loads(pickle.dumps(x[1], 5)), at(1), NONE),
    ("save", saved, ALL, NONE),
    ("iteration", lambda x: [row[2] for row in x], at(np.s_[:, 2]), NONE),
    ("sum of Python", lambda x: sum(x[1]), at(1), NONE),
    ("list", lambda x: list(x[1]), at(1), NONE),
    ("in", lambda x: 8 in x[1], at(1), NONE),
    ("int", lambda x: int(x[1, 2:3][0]), {8}, NONE),
    ("bool", lambda x: bool(x[1, 2:3]), {8}, NONE),
    ("float", lambda x: float(x[1, 2:3].reshape(())), {8}, NONE),
    ("index", lambda x: "abcdefghij"[x[1, 2:3].reshape(())], {8}, NONE),
    ("as an index", lambda x: np.arange(24)[x[1]], at(1), NONE),
    ("a plain array is filled", plain_is_filled, at(1), NONE),
    ("fill", lambda x: x[1].fill(3), NONE, at(1)),
    ("assign", assign(np.s_[1, 2], 7), NONE, {8}),
    ("assign a slice", assign(np.s_[1:3, ::2], 7), NONE, at(np.s_[1:3, ::2])),
    ("assign all", assign(Ellipsis, 7), NONE, ALL),
    ("assign under a mask", assign(MASK, 7), NONE, at(MASK)),
    ("assign by indices", assign(([0, 3], [1, 2]), 7), NONE, {1, 20}),
    ("in place", doubled_in_place, ALL, ALL),
    ("part in place", part_in_place, at(np.s_[1:3, ::2]), at(np.s_[1:3, ::2])),
    ("selected in place", selected_in_place, ALL, at(NUMBERS > 20)),
    ("at", added_at, {2, 8}, {2, 8}),
    ("out", lambda x: np.add(x[0], 1, out=x[1]), at(0), at(1)),
    ("out under a mask", lambda x: np.add(1, 1, out=x, where=MASK) is x, NONE, at(MASK)),
    ("out of a sum", lambda x: np.sum(x[0:2], axis=0, out=x[3]), at(np.s_[:2]), at(3)),
    ("out of dot", lambda x: np.dot(x[:2], x[:2].T, out=np.zeros((2, 2), "i8")), at([0, 1]), NONE),
    ("copyto", lambda x: np.copyto(x[0], x[1]), at(1), at(0)),
    ("copyto under a mask", lambda x: np.copyto(x, 7, where=MASK), NONE, at(MASK)),
    ("put", lambda x: np.put(x, [3, 5], 7), NONE, {3, 5}),
    ("putmask", lambda x: np.putmask(x, MASK, 7), NONE, at(MASK)),
    ("place", lambda x: np.place(x, MASK, [7]), NONE, at(MASK)),
    ("fill_diagonal", lambda x: np.fill_diagonal(x, 7), NONE, {0, 7, 14, 21}),
    ("sort in place", lambda x: x[1].sort(), at(1), at(1)),
    ("real part", real_part, NONE, ALL),
]


def fresh() -> Any:
    array[...] = NUMBERS
    heard.clear()
    handed_out.clear()
    return array


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and np.array_equal(one, other) or bool(np.all(one == other))


for name, body, reads, writes in CASES:
    result = body(fresh())
    got = elements(_watch.LOAD), elements(_watch.STORE)
    assert got == (reads, writes), f"{name}: {got} and not {(reads, writes)}"
    assert not handed_out, f"{name}: handed out"
    after = array.tolist()
    twin = np.ndarray.view(NUMBERS.copy(), SymmetricArray)
    expected = body(twin)
    assert after == twin.tolist(), name
    assert same(result, expected), f"{name}: {result!r} and not {expected!r}"

# A long array is printed without its middle.
long = nvshmem.array(5000, "i8")
heard.clear()
assert "..." in str(long)
assert [(nbytes // 8, access) for _, nbytes, access in heard] == [(3, 0), (3, 0)], heard

for name, body, noted in (
    ("memory of data", lambda x: x.data, True),
    ("ctypes", lambda x: x.ctypes, True),
    ("array interface", lambda x: x.__array_interface__, True),
    ("DLPack", np.from_dlpack, True),
    ("flat", lambda x: x.flat, True),
    ("a masked array", np.ma.array, True),
    ("the base of a view", lambda x: x.base, False),
    ("put", lambda x: nvshmem.put(x, x, 0), False),
    ("asarray", np.asarray, False),
):
    body(fresh())
    assert bool(handed_out) == noted, name
if sys.version_info >= (3, 12):
    memoryview(fresh())
    assert handed_out

block = nvshmem.buffer(64)
for name, use, noted in (
    ("memoryview", memoryview, True),
    ("bytes", bytes, True),
    ("its memoryview", lambda b: b.memoryview, True),
    ("DLPack", np.from_dlpack, True),
    ("asarray", np.asarray, False),
    ("frombuffer", np.frombuffer, False),
    ("put", lambda b: nvshmem.put(b, b, 0), False),
    ("get_peer_buffer", lambda b: nvshmem.get_peer_buffer(b, 0), False),
):
    fresh()
    use(block)
    assert bool(handed_out) == noted, f"{name} of a Buffer"
nvshmem.free(block)

assert type(array) is not SymmetricArray and isinstance(array[1:], SymmetricArray)
assert repr(array[0, :2]) == "SymmetricArray([0, 1])" and repr(array[0, :2] + 1) == "array([1, 2])"
assert type(np.zeros(3)).__name__ == "ndarray" and os.environ["NVSHMEMRS_CHECK"] == "1"
same_one = np.zeros(3)
assert np.asarray(same_one) is same_one and np.asanyarray(array) is array
del _watch._announce
_watch._announce = _watch._job.lib.nvshmemrs_check_access
nvshmem.free_array(long)
nvshmem.free_array(array)
nvshmem.finalize()
print("ok")
