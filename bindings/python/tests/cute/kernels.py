"""Kernels of CuTe that use every function of ``nvshmemrs.core.device.cute``, which ``build.py``
compiles to cubins, and ``programs/cute_gpu.py`` launches where there is a GPU.

Tensors have static layouts, so that a kernel gets their addresses only.
"""

from __future__ import annotations

import nvshmemrs.core.device.cute as nv  # isort: skip; it finds the next two
import cutlass
import cutlass.cute as cute

SCOPES = ("", "_warp", "_block")
THREADS = 128
# A row of N elements begins one behind a multiple of STEP, so rows are aligned differently.
N, STEP = 37, 41
PUT_ROWS, GET_ROWS, SIGNALS = 13, 7, 6
CELLS = 17
ROUNDS = 256
# What collectives take of each member, and the places of their results.
C, PLACE, PES = 67, 8 * 67 + 13, 8
NUMBERS, BITS = ("min", "max", "sum", "prod"), ("and", "or", "xor")

INTEGERS = [cutlass.Int32, cutlass.Uint32, cutlass.Int64, cutlass.Uint64]
FLOATS = [cutlass.Float16, cutlass.BFloat16, cutlass.Float32, cutlass.Float64]
BYTES = [cutlass.Int8, cutlass.Uint8, cutlass.Int16, cutlass.Uint16]
TYPES = INTEGERS + FLOATS + BYTES


def part(tensor, start, count=N):
    """`count` elements of a flat tensor."""
    return cute.make_tensor(tensor.iterator + start, cute.make_layout(count))


def row(tensor, k):
    return part(tensor, k * STEP + 1)


def cell(tensor, k):
    return part(tensor, k, 1)


def called(name, scope, *arguments):
    return getattr(nv, name + scope)(*arguments)


def put_rows(scope, first, out, src, signals, right):
    """A row by each function that puts in a scope."""
    source = row(src, 0)
    called("put", scope, row(out, first), source, right)
    called("put_nbi", scope, row(out, first + 1), source, right)
    for k, name in enumerate(("put_signal", "put_signal_nbi")):
        signal = 2 * (first // 4) + k
        op = nv_signal_ops[k]
        to = row(out, first + 2 + k)
        called(name, scope, to, source, cell(signals, signal), 10 + signal, op, right)


def get_rows(scope, first, got, src, right):
    called("get", scope, row(got, first), row(src, 0), right)
    called("get_nbi", scope, row(got, first + 1), row(src, 0), right)


nv_signal_ops = (9, 10)


@cute.kernel
def moves(
    state: nv.State,
    out: cute.Tensor,
    got: cute.Tensor,
    src: cute.Tensor,
    signals: cute.Tensor,
):
    """Every function that puts or gets, in every scope, to and from the PE to the right."""
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    thread = cute.arch.thread_idx()[0]
    if thread == 0:
        put_rows("", 0, out, src, signals, right)
        get_rows("", 0, got, src, right)
        nv.p(row(out, 12), row(src, 0)[0], right)
        row(got, 6)[0] = nv.g(row(src, 0), right)
    if thread // 32 == 1:
        put_rows("_warp", 4, out, src, signals, right)
        get_rows("_warp", 2, got, src, right)
    put_rows("_block", 8, out, src, signals, right)
    get_rows("_block", 4, got, src, right)
    if thread < SIGNALS:
        nv.signal_wait(part(signals, thread, 1), 0, cutlass.Uint64(thread) + 10)
    nv.quiet()
    nv.barrier_all_block()


def number_operations(x, old, pe):
    old[0] = nv.atomic_fetch(cell(x, 0), pe)
    nv.atomic_set(cell(x, 1), 5, pe)
    old[2] = nv.atomic_swap(cell(x, 2), 7, pe)
    nv.atomic_add(cell(x, 3), 3, pe)
    old[4] = nv.atomic_fetch_add(cell(x, 4), 4, pe)


def integer_operations(x, old, pe):
    nv.atomic_inc(cell(x, 5), pe)
    old[6] = nv.atomic_fetch_inc(cell(x, 6), pe)
    old[7] = nv.atomic_compare_swap(cell(x, 7), 17, 9, pe)
    old[8] = nv.atomic_compare_swap(cell(x, 8), 99, 9, pe)
    nv.atomic_and(cell(x, 9), 12, pe)
    old[10] = nv.atomic_fetch_and(cell(x, 10), 12, pe)
    nv.atomic_or(cell(x, 11), 12, pe)
    old[12] = nv.atomic_fetch_or(cell(x, 12), 12, pe)
    nv.atomic_xor(cell(x, 13), 12, pe)
    old[14] = nv.atomic_fetch_xor(cell(x, 14), 12, pe)


@cute.kernel
def atomics(state: nv.State, x: cute.Tensor, old: cute.Tensor):
    """Every atomic operation on the PE to the right; all threads of all PEs count on PE 0."""
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    if cute.arch.thread_idx()[0] == 0:
        number_operations(x, old, right)
        if cutlass.const_expr(not x.element_type.is_float):
            integer_operations(x, old, right)
    nv.atomic_add(cell(x, 15), 1, 0)
    nv.barrier_all_block()


@cute.kernel
def ordered(
    state: nv.State,
    data: cute.Tensor,
    src: cute.Tensor,
    signals: cute.Tensor,
    wrong: cute.Tensor,
):
    """Data and signals in three ways, and how often a signal came before its data."""
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    thread = cute.arch.thread_idx()[0]
    i = cutlass.Int32(0)
    while i < ROUNDS:
        at = i * (2 + THREADS)
        if thread == 0:
            nv.p(part(data, at, 1), i + 1, right)
            nv.fence()
            nv.signal_op(cell(signals, 0), 1, 10, right)
            nv.put_signal(
                part(data, at + 1, 1), part(src, i, 1), cell(signals, 1), i + 1, 9, right
            )
        to = part(data, at + 2, THREADS)
        nv.put_signal_block(to, part(src, i, THREADS), cell(signals, 2), i + 1, 9, right)
        if thread < 3:
            nv.signal_wait(part(signals, thread, 1), 5, cutlass.Uint64(i + 1))
        cute.arch.sync_threads()
        if thread == 0:
            if data[at] != i + 1:
                wrong[0] = wrong[0] + 1
            if data[at + 1] != i:
                wrong[1] = wrong[1] + 1
        if data[at + 2 + thread] != i + thread:
            wrong[2] = wrong[2] + 1
        i += 1


def reductions(scope, at, team, slot, out, src, same, status, kind):
    ops = NUMBERS if kind.is_float else NUMBERS + BITS
    for op in ops:
        to = part(out, at * PLACE, C)
        status[at] = called("reduce", scope, team, to, part(src, 0, C), op, slot)
        at += 1
        to = part(out, at * PLACE, C)
        whole = part(src, 0, C * PES)
        status[at] = called("reducescatter", scope, team, to, whole, op, slot)
        at += 1
    whole = part(same, 0, C)
    status[at] = called("reduce", scope, team, whole, whole, "sum", slot)


def collected(scope, team, root, slot, out, src, same, status):
    status[0] = called("sync", scope, team, slot)
    status[1] = called("barrier", scope, team, slot)
    to = part(out, 2 * PLACE, C)
    status[2] = called("broadcast", scope, team, to, part(src, 0, C), root, slot)
    to = part(out, 3 * PLACE, C * PES)
    status[3] = called("fcollect", scope, team, to, part(src, 0, C), slot)
    to = part(out, 4 * PLACE, C * PES)
    status[4] = called("alltoall", scope, team, to, part(src, 0, C * PES), slot)
    status[5] = called("sync_all", scope, slot)
    status[6] = called("barrier_all", scope, slot)
    reductions(scope, 7, team, slot, out, src, same, status, out.element_type)


@cute.kernel
def collectives(
    state: nv.State,
    team: cutlass.Uint64,
    root: cutlass.Int32,
    slot: cutlass.Int32,
    out: cute.Tensor,
    src: cute.Tensor,
    same: cute.Tensor,
    status: cute.Tensor,
    scope: cutlass.Constexpr,
):
    """Every collective in a scope; what each returned."""
    nv.use(state)
    thread = cute.arch.thread_idx()[0]
    if cutlass.const_expr(scope == ""):
        if thread == 0:
            collected(scope, team, root, slot, out, src, same, status)
    elif cutlass.const_expr(scope == "_warp"):
        if thread < 32:
            collected(scope, team, root, slot, out, src, same, status)
    else:
        collected(scope, team, root, slot, out, src, same, status)


@cute.kernel
def queries(state: cutlass.Int64, team: cutlass.Uint64, x: cute.Tensor, found: cute.Tensor):
    """What a kernel knows of the job, by a state that is an address; loads and stores of a peer."""
    nv.use(state)
    found[0] = nv.my_pe()
    found[1] = nv.n_pes()
    found[2] = nv.team_my_pe(team)
    found[3] = nv.team_n_pes(team)
    found[4] = nv.team_n_pes(12345)
    found[5] = nv.ask_smem(nv.SmemAmount.SMEM_RECOMMENDED)
    found[6] = nv.aborted()
    right = (nv.my_pe() + 1) % nv.n_pes()
    peer = nv.get_peer_tensor(x, right)
    peer[1] = nv.my_pe() + 100
    nv.barrier_all()
    found[7] = x[1]


# Bytes that kernels lend, by a word that CuTe takes as a constant.
LENT = {"enough": 12288, "little": 8192}


@cute.kernel
def lends(
    state: nv.State,
    dst: cute.Tensor,
    src: cute.Tensor,
    signals: cute.Tensor,
    given: cute.Tensor,
    first: cutlass.Int32,
    start: cutlass.Int32,
    count: cutlass.Int32,
    step: cutlass.Int32,
    lent: cutlass.Constexpr,
):
    """Rows of `dst` by a thread and a warp that have lent memory, and by one of each warp at
    once; the last two after the release.
    """
    nv.use(state)
    right = (nv.my_pe() + 1) % nv.n_pes()
    memory = cute.arch.get_dyn_smem(cutlass.Uint8, alignment=16)
    bytes_lent = nv.give_smem(cute.make_tensor(memory, cute.make_layout(LENT[lent])))
    cute.arch.sync_threads()
    thread = cute.arch.thread_idx()[0]
    if thread == 0:
        given[0] = bytes_lent
        nv.put(part(dst, first, count), part(src, start, count), right)
        to = part(dst, step + first, count)
        nv.put_signal(to, part(src, start, count), cell(signals, 0), 5, nv_signal_ops[0], right)
        nv.get(part(dst, 2 * step + first, count), part(src, start, count), right)
    cute.arch.sync_threads()
    if thread < 32:
        nv.put_warp(part(dst, 3 * step + first, count), part(src, start, count), right)
        nv.get_nbi_warp(part(dst, 4 * step + first, count), part(src, start, count), right)
    cute.arch.sync_threads()
    if thread % 32 == 0:
        nv.put_nbi(part(dst, (5 + thread // 32) * step + first, count), part(src, start, count), right)
    nv.put_block(part(dst, 9 * step + first, count), part(src, start, count), right)
    nv.release_smem()
    if thread == 0:
        nv.put(part(dst, 10 * step + first, count), part(src, start, count), right)
        nv.get(part(dst, 11 * step + first, count), part(src, start, count), right)
    nv.quiet()
    nv.barrier_all_block()


@cute.kernel
def wrong_pe(state: nv.State, x: cute.Tensor):
    """What NVSHMEMRS_DEVICE_CHECK finds."""
    nv.use(state)
    nv.p(x, 1, nv.n_pes() + 3)


@cute.kernel
def met(
    state: nv.State, team: cutlass.Uint64, out: cute.Tensor, src: cute.Tensor, status: cute.Tensor
):
    """A sum and a barrier, in which kernels of other languages may take part."""
    nv.use(state)
    result = nv.reduce_block(team, out, src, "sum", slot=3)
    again = nv.barrier_all_block(slot=3)
    if cute.arch.thread_idx()[0] == 0:
        status[0] = result
        status[1] = again


@cute.kernel
def waits(state: nv.State, signal: cute.Tensor, seen: cute.Tensor):
    """Waits for a signal that never comes."""
    nv.use(state)
    nv.signal_wait(signal, 0, 1)
    seen[0] = nv.aborted()


@cute.kernel
def ping_pong(state: nv.State, signal: cute.Tensor, rounds: cutlass.Int32):
    """Signals between PE 0 and PE 1."""
    nv.use(state)
    me = nv.my_pe()
    i = cutlass.Int32(1)
    while i <= rounds:
        if me == 0:
            nv.signal_op(signal, i, 9, 1)
            nv.signal_wait(signal, 0, i)
        else:
            nv.signal_wait(signal, 0, i)
            nv.signal_op(signal, i, 9, 0)
        i += 1


@cute.kernel
def put_ping_pong(
    state: nv.State,
    x: cute.Tensor,
    src: cute.Tensor,
    signal: cute.Tensor,
    rounds: cutlass.Int32,
):
    """The same with eight bytes in front of each signal."""
    nv.use(state)
    me = nv.my_pe()
    i = cutlass.Int32(1)
    while i <= rounds:
        if me == 0:
            nv.put_signal(x, src, signal, i, 9, 1)
            nv.signal_wait(signal, 0, i)
        else:
            nv.signal_wait(signal, 0, i)
            nv.put_signal(x, src, signal, i, 9, 0)
        i += 1


@cute.kernel
def spread(state: nv.State, dst: cute.Tensor, src: cute.Tensor, pe: cutlass.Int32):
    """A put that all blocks of a grid share."""
    nv.use(state)
    size = cute.size(src)
    blocks = cute.arch.grid_dim()[0]
    share = (size // 4 + blocks - 1) // blocks * 4
    start = cute.arch.block_idx()[0] * share
    count = cutlass.max(cutlass.min(share, size - start), 0)
    nv.put_block(part(dst, start, count), part(src, start, count), pe)
