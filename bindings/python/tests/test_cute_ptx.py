"""Kernels of CuTe without a GPU: their PTX runs in Python, beside the CUDA header."""

from __future__ import annotations

import ctypes
import importlib.util
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, Tuple

import numpy as np
import pytest

import nvshmemrs

if importlib.util.find_spec("nvidia_cutlass_dsl") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

import nvshmemrs.core.device.cute as nv  # isort: skip; the next imports need it
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "cute"))
import ptx  # noqa: E402
from dumps import keeping  # noqa: E402
from world import World  # noqa: E402

del sys.path[0]

pytestmark = pytest.mark.filterwarnings("ignore:Dynamic variable in block size")

KINDS = {"i1": cutlass.Int8, "i2": cutlass.Int16, "f4": cutlass.Float32, "f8": cutlass.Float64}
FLOAT8 = {"float8_e4m3fn": cutlass.Float8E4M3FN, "float8_e5m2": cutlass.Float8E5M2}


def part(tensor: Any, start: Any, count: Any) -> Any:
    return cute.make_tensor(tensor.iterator + start, cute.make_layout(count))


@cute.kernel
def in_place(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    nv.use(state)
    nv.reduce_block(0, part(x, to, count), part(x, start, count), "sum")


@cute.kernel
def moved_block(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    nv.use(state)
    nv.put_block(part(x, to, count), part(x, start, count), 1)


@cute.kernel
def moved_warp(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    nv.use(state)
    if cute.arch.thread_idx()[0] < 32:
        nv.put_warp(part(x, to, count), part(x, start, count), 1)


@cute.kernel
def moved(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    nv.use(state)
    if cute.arch.thread_idx()[0] == 0:
        nv.put(part(x, to, count), part(x, start, count), 1)


@cute.kernel
def one_comes_before(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    """A thread meets alone in a slot, in which its whole block meets afterwards."""
    nv.use(state)
    if cute.arch.thread_idx()[0] == 0:
        nv.barrier_all()
    nv.barrier_all_block()
    if cute.arch.thread_idx()[0] == 0:
        nv.barrier_all()
    nv.fcollect_block(0, part(x, to, count * nv.n_pes()), part(x, start, count))
    if cute.arch.thread_idx()[0] < 32:
        if cute.arch.thread_idx()[0] == 0:
            nv.barrier_all()
        nv.broadcast_warp(0, part(x, to, count), part(x, start, count))
    nv.reduce_block(0, part(x, to, count), part(x, start, count), "sum")


def give(nbytes: int) -> Any:
    memory = cute.arch.get_dyn_smem(cutlass.Uint8, alignment=16)
    given = nv.give_smem(cute.make_tensor(memory, cute.make_layout(nbytes)))
    cute.arch.sync_threads()
    return given


@cute.kernel
def lent(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    """A thread of each warp puts at once; then a warp gets the elements that it has put."""
    nv.use(state)
    give(LENT)
    thread = cute.arch.thread_idx()[0]
    if thread % 32 == 0:
        nv.put(part(x, to + thread // 32 * STEP, count), part(x, start, count), 1)
    cute.arch.sync_threads()
    if thread < 32:
        nv.get_warp(part(x, start + 2 * STEP, count), part(x, to, count), 1)


@cute.kernel
def not_lent(state: nv.State, x: cute.Tensor, to: cutlass.Int32, start: cutlass.Int32, count: cutlass.Int32):  # type: ignore
    """Too little memory is lent, then enough, which is released; a block's put uses none."""
    nv.use(state)
    x[0] = x.element_type(give(8319))
    if cute.arch.thread_idx()[0] == 0:
        nv.put(part(x, to, count), part(x, start, count), 1)
    give(LENT)
    nv.put_block(part(x, to + STEP, count), part(x, start, count), 1)
    nv.release_smem()
    if cute.arch.thread_idx()[0] == 0:
        nv.put(part(x, to + 2 * STEP, count), part(x, start, count), 1)


LENT, STEP = 8320 + 1024, 8192
_made: Dict[Tuple[Any, str], Any] = {}


def compiled(kernel: Any, kind: str) -> Any:
    """A kernel for elements of a type, loaded from its PTX."""

    @cute.jit
    def launch(threads: Any, state: nv.State, x: Any, to: Any, start: Any, count: Any) -> None:
        kernel(state, x, to, start, count).launch(grid=[1, 1, 1], block=[threads, 1, 1])

    if (kernel, kind) not in _made:
        element = {**KINDS, **FLOAT8}[kind]
        x = make_fake_compact_tensor(element, (1 << 16,), assumed_align=element.width // 8)
        numbers = [cutlass.Int32(1)] * 3
        given = (cute.Int32(32), nv.fake_state(), x, *numbers)
        done = cute.compile(launch, *given, options=keeping("sm_90a", "ptx"))
        _made[kernel, kind] = ptx.Kernel(done.__ptx__)
    return _made[kernel, kind]


def block(
    kernel: Any, kind: str, threads: int, world: World, pe: int, *numbers: int, shared: int = 0
) -> Any:
    """The block of a launch: `numbers` are places in the heap and how many elements."""
    words = [struct.pack("<i", number) for number in numbers]
    at = struct.pack("<Q", world.address(pe))
    made = compiled(kernel, kind)
    return ptx.Block(made, threads, world.states[pe], at, *words, shared=shared)


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The CUDA header's reductions, compiled for the CPU."""
    library = tmp_path_factory.mktemp("header") / "rounds.so"
    options = ["-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-fno-strict-aliasing"]
    source, include = str(HERE / "cute/rounds.cpp"), f"-I{nvshmemrs.include_dir()}"
    command = ["c++", *options, include, source, "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(library))


def by_header(
    header: ctypes.CDLL, world: World, pe: int, kind: str, threads: int, to: int, count: int
) -> None:
    """A sum of elements where the heap begins, by the header."""
    size, at = np.dtype(kind).itemsize, world.address(pe)
    places = ctypes.c_void_p(at + to * size), ctypes.c_void_p(at)
    header.reduce(world.states[pe], size, *places, ctypes.c_ulong(count), threads)


def test_rounds_in_place_are_those_of_the_cuda_header(header: ctypes.CDLL) -> None:
    met = set()
    for kind in KINDS:
        size = np.dtype(kind).itemsize
        # Packs and a rest, only a rest, and places that are not aligned to sixteen bytes.
        for threads, count, to in ((32, 16000 // size + 3, 0), (40, 7, 0), (32, 100, 1)):
            values = (np.arange(count) % 5 + 1).astype(kind)
            worlds = World(1), World(1)
            for world in worlds:
                world.view(0, kind, count)[:] = values
            ptx.run([block(in_place, kind, threads, worlds[0], 0, to, 0, count)])
            by_header(header, worlds[1], 0, kind, threads, to, count)
            case = (kind, threads, count, to)
            assert worlds[0].meetings(0) == worlds[1].meetings(0) > 1, case
            met.add(worlds[0].meetings(0))
            # The result for memory that overlaps otherwise is not specified, but the rounds are as many.
            for world in worlds if to == 0 else ():
                assert (world.view(0, kind, count) == values).all(), case
    assert len(met) > 3, met


@pytest.mark.parametrize("kind", list(KINDS))
def test_both_languages_meet_in_one_reduction_in_place(header: ctypes.CDLL, kind: str) -> None:
    count, world = 1500, World(2)
    values = [((np.arange(count) * (pe + 3)) % 11).astype(kind) for pe in range(2)]
    for pe in range(2):
        world.view(pe, kind, count)[:] = values[pe]
    ours = block(in_place, kind, 32, world, 0, 0, 0, count)
    arguments = (header, world, 1, kind, 32, 0, count)
    theirs = threading.Thread(target=by_header, args=arguments, daemon=True)
    theirs.start()
    ptx.run([ours])
    theirs.join(60)
    assert not theirs.is_alive() and world.meetings(0) == world.meetings(1)
    for pe in range(2):
        assert (world.view(pe, kind, count) == values[0] + values[1]).all(), pe


@pytest.mark.parametrize("kind", ["i1", "f4"])
def test_in_place_with_two_pes(kind: str) -> None:
    for count in (3, 700):
        world = World(2)
        values = [((np.arange(count) * (pe + 3)) % 11).astype(kind) for pe in range(2)]
        for pe in range(2):
            world.view(pe, kind, count + 1)[:] = [*values[pe], 77]
        ptx.run([block(in_place, kind, 32, world, pe, 0, 0, count) for pe in range(2)], seed=count)
        for pe in range(2):
            assert (world.view(pe, kind, count) == values[0] + values[1]).all(), (count, pe)
            assert world.view(pe, kind, count + 1)[-1] == 77


@pytest.mark.parametrize("kind", list(FLOAT8))
def test_float8_is_rounded_once_and_saturates(kind: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, kind))
    largest = float(ml_dtypes.finfo(dtype).max)
    # Packs and a rest; every code, beside others.
    count, world = 1024 + 3, World(3)
    codes = [((np.arange(count) * step >> pe) & 0xFF).astype("u1") for pe, step in enumerate((1, 77, 181))]
    for pe in range(3):
        world.view(pe, "u1", count + 1)[:] = [*codes[pe], 77]
    ptx.run([block(in_place, kind, 32, world, pe, 0, 0, count) for pe in range(3)], limit=10_000_000)
    with np.errstate(all="ignore"):
        first, *others = (code.view(dtype).astype("f4") for code in codes)
        total = first + others[0] + others[1]
        wanted = np.clip(total, -largest, largest).astype(dtype).view("u1")
    wanted = np.where(np.isnan(total), 0x7F, wanted)
    for pe in range(3):
        assert world.view(pe, "u1", count + 1).tolist() == [*wanted, 77], pe


def test_a_group_meets_before_it_reads_how_often_the_slot_has_met() -> None:
    for seed in range(4):
        world = World(2)
        for pe in range(2):
            world.view(pe, "f4", 4)[:] = 10 * pe + np.arange(4)
        blocks = [block(one_comes_before, "f4", 64, world, pe, 8, 0, 4) for pe in range(2)]
        ptx.run(blocks, seed, limit=1_000_000)
        for pe in range(2):
            assert world.view(pe, "f4", 4, 32).tolist() == [10, 12, 14, 16], (seed, pe)
            assert world.view(pe, "f4", 4, 48).tolist() == [10, 11, 12, 13], (seed, pe)


@pytest.mark.parametrize(
    "kind, kernel", [("i1", moved_block), ("i2", moved_warp), ("f4", moved), ("f8", moved_block)]
)
def test_copies_take_the_largest_units_that_both_sides_can_be_aligned_to(
    kind: str, kernel: Any
) -> None:
    size, count, threads = np.dtype(kind).itemsize, 1003, 40
    for to, start, unit in ((4, 4, 16), (3, 3, 16), (2, 10, 8), (5, 1, 4), (3, 1, 2), (4, 1, 1)):
        world = World(2)
        values = np.arange(start + count).astype(kind)
        world.view(0, kind, start + count)[:] = values
        world.view(1, kind, to + count + 1)[:] = 99
        putting = block(kernel, kind, threads, world, 0, to, start, count)
        ptx.run([putting])
        found = world.view(1, kind, to + count + 1)
        assert (found[to : to + count] == values[start:]).all(), (to, start)
        assert (found[:to] == 99).all() and found[-1] == 99, (to, start)
        # `unit` is of elements; units are of sixteen bytes at most.
        most = count // min(unit, 16 // size) + 32
        assert putting.stores <= most, (to, start, putting.stores, most)


@pytest.mark.parametrize("kind", ["i1", "f4"])
def test_large_copies_go_through_lent_memory(kind: str) -> None:
    size = np.dtype(kind).itemsize
    for to, start, count, bulks in (
        (16, 16, 7003, True),
        (20, 20, 7000, True),
        (17, 18, 3001, False),
        (16, 16, 2048 // size - 1, False),
        (16, 16, 2048 // size, True),
    ):
        world = World(2)
        values = (np.arange(start + count) % 97).astype(kind)
        world.view(0, kind, start + count)[:] = values
        places = [to, to + STEP, start + 2 * STEP]
        rows = [
            world.view(k < 2, kind, count + 2, (place - 1) * size) for k, place in enumerate(places)
        ]
        for row in rows:
            row[:] = 99
        lending = block(lent, kind, 64, world, 0, to, start, count, shared=LENT)
        ptx.run([lending], limit=20_000_000)
        assert (lending.bulks > 0) == bulks and not lending.barriers, (to, start, count)
        for row in rows:
            assert (row[1:-1] == values[start:]).all(), (to, start, count)
            assert row[0] == row[-1] == 99, (to, start, count)


def test_copies_store_where_nothing_is_lent() -> None:
    count, world = 3000, World(2)
    values = np.arange(16 + count).astype("f4")
    world.view(0, "f4", 16 + count)[:] = values
    storing = block(not_lent, "f4", 32, world, 0, 16, 16, count, shared=LENT)
    ptx.run([storing], limit=20_000_000)
    assert storing.bulks == 0 and world.view(0, "f4", 1)[0] == 0
    for row in range(3):
        assert (world.view(1, "f4", count, (16 + row * STEP) * 4) == values[16:]).all(), row


def test_only_kernels_that_lend_have_bulk_copies() -> None:
    names = [step[1] for step in compiled(lent, "f4").steps]
    assert any(name.startswith("cp.async.bulk.global") for name in names)
    for kernel in (moved, moved_warp, moved_block):
        names = [step[1] for step in compiled(kernel, "f4").steps]
        assert not any(name.startswith("cp.") for name in names), kernel
