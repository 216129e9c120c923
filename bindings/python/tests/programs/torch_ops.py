"""torch.ops.nvshmemrs in eager programs: every operation, of every type, by groups of every kind, and with wrong
arguments. On GPUs and on host memory; the arguments name the parts to run.
"""

import os
import tempfile

import torch
from torch_support import (
    BACKEND,
    GPU,
    HERE,
    LEFT,
    ME,
    OPS,
    RIGHT,
    VERSION,
    N,
    done,
    nt,
    nvshmem,
    raises,
    run,
    said,
    same,
)

from nvshmemrs._ffi import Collective
from nvshmemrs.core.interop._common import private_bytes

DTYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16]
DTYPES += [torch.float32, torch.float64, torch.complex64, torch.complex128]
DTYPES += [getattr(torch, name) for name in ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2") if hasattr(torch, name)]


def values(pe, shape, dtype):
    """Small numbers, so that sums and products of few PEs are exact in every dtype."""
    count = 1
    for length in shape:
        count *= length
    plain = (torch.arange(count, dtype=torch.float32) * 3 + 2 * pe) % 4
    if dtype.is_complex:
        plain = torch.complex(plain, plain.flip(0))
    elif not dtype.is_floating_point:
        plain = plain.to(torch.int64)
    return plain.reshape(shape).to(dtype)


def folded(op, shape, dtype):
    """What the members' values are together, one after the other, with one rounding at the end."""
    wide = torch.float32 if dtype.is_floating_point else torch.int64
    if dtype.is_complex or dtype is torch.float64:
        wide = dtype
    total = values(0, shape, dtype).to(wide)
    for pe in range(1, N):
        other = values(pe, shape, dtype).to(wide)
        if op in ("sum", "avg"):
            total = total + other
        elif op == "prod":
            total = total * other
        else:
            total = torch.minimum(total, other) if op == "min" else torch.maximum(total, other)
    total = total.to(dtype)
    return total / N if op == "avg" else total


def symmetric(shape, dtype, make=nvshmem.tensor):
    """Symmetric memory, or memory that `make` returns, with elements around it that must stay."""
    count = 1
    for length in shape:
        count *= length
    edge = 64 // torch.empty(0, dtype=dtype).element_size()
    whole = make(count + 2 * edge, dtype)
    guard = values(3, (edge,), dtype)
    whole[:edge].copy_(guard.to(HERE))
    whole[-edge:].copy_(guard.to(HERE))
    return whole, whole[edge : edge + count].view(shape), guard


def untouched(whole, guard):
    same(whole[: len(guard)], guard)
    same(whole[-len(guard) :], guard)


def unreserved():
    """A tensor for which a sum over all PEs needs a reserve; on GPUs smaller tensors need none."""
    return torch.ones(private_bytes(0, Collective.REDUCE) // 4 + 1, device=HERE)


def private():
    """Tensors that are not symmetric, without a reserve, which on GPUs is no error up to a size."""
    nt.release_reserve()
    assert (unreserved().numel() > 1) == GPU

    def plain(count, dtype):
        return torch.empty(count, dtype=dtype, device=HERE)

    shape, every = (2 * N, 3), (2 * N * N, 3)
    for dtype in DTYPES if GPU else ():
        around = [symmetric(dims, dtype, plain) for dims in (shape, shape, (2, 3), every)]
        mine, out, part, all_parts = (found[1] for found in around)
        held = symmetric(shape, dtype)[1]
        sources = [values(pe, shape, dtype) for pe in range(N)]
        expected = folded("sum", shape, dtype)
        for _ in range(2):
            mine.copy_(sources[ME])
            nt.all_reduce(mine, out=out)
            same(out, expected)
            nt.reduce_scatter(mine, out=part)
            same(part, expected[2 * ME : 2 * ME + 2])
            nt.all_gather(mine, out=all_parts)
            same(all_parts, torch.cat(sources))
            nt.all_to_all(mine, out=out)
            same(out, torch.cat([source[2 * ME : 2 * ME + 2] for source in sources]))
            nt.broadcast(mine, N - 1, out=out)
            same(out, sources[N - 1])
            # Some members pass symmetric tensors, and all sum up in place.
            chosen = held if ME % 2 else mine
            chosen.copy_(sources[ME])
            nt.all_reduce(chosen, out=chosen)
            same(chosen, expected)
        for whole, _, guard in around:
            untouched(whole, guard)
    if GPU:
        x = unreserved()[1:].fill_(ME)
        same(nt.all_reduce(x), torch.full(x.shape, float(sum(range(N)))))
        result = torch.zeros_like(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            nt.all_reduce(x, out=result)
            total = nt.all_reduce(result, "max")
        for turn in range(3):
            x.fill_(ME + turn)
            graph.replay()
            same(total, torch.full(x.shape, float(sum(range(N)) + N * turn)))
    raises("input is not symmetric memory, and TEAM_WORLD has no reserve", nt.all_reduce, unreserved())
    nvshmem.barrier_all()
    nt.reserve(1 << 16)
    said("private", "without a reserve")


def eager():
    """Every collective, of every dtype, of tensors that are symmetric and others, functional and in `out`."""
    for dtype in DTYPES:
        shape = (2 * N, 3)
        mine = values(ME, shape, dtype).to(HERE)
        whole, held, guard = symmetric(shape, dtype)
        made, result, other = symmetric(shape, dtype)
        held.copy_(mine)
        done()
        nvshmem.barrier_all()
        ops = ["sum", "prod"] + ["min", "max"] * (not dtype.is_complex)
        # torch itself divides no numbers of 8 bits.
        ops += ["avg"] * (dtype.is_floating_point and held.element_size() > 1)
        for op in ops:
            expected = folded(op, shape, dtype)
            same(nt.all_reduce(mine, op), expected)
            same(OPS.all_reduce(held, op), expected)
            nt.all_reduce(held, op, out=result)
            same(result, expected)
            part = expected[2 * ME : 2 * ME + 2]
            same(nt.reduce_scatter(mine, op), part)
            same(OPS.reduce_scatter(held, op, "TEAM_WORLD"), part)
        every = torch.cat([values(pe, shape, dtype) for pe in range(N)]) if N > 1 else values(0, shape, dtype)
        same(nt.all_gather(mine), every)
        same(nt.all_gather(held), every)
        came = torch.cat([values(pe, shape, dtype)[2 * ME : 2 * ME + 2] for pe in range(N)])
        same(nt.all_to_all(mine), came)
        nt.all_to_all(held, out=result)
        same(result, came)
        for root in range(N):
            same(nt.broadcast(mine, root), values(root, shape, dtype))
        same(held, values(ME, shape, dtype))
        untouched(whole, guard)
        untouched(made, other)
    said("eager", f"{len(DTYPES)} dtypes")
    flags = torch.tensor([ME == 0, True, False, ME == N - 1], device=HERE)
    same(nt.all_reduce(flags), torch.tensor([True, True, False, True]))
    same(nt.all_reduce(flags, "prod"), torch.tensor([N == 1, True, False, N == 1]))
    same(nt.all_gather(torch.tensor(ME, device=HERE)), torch.arange(N))
    same(nt.all_gather(torch.ones(2, dtype=torch.complex64, device=HERE)), torch.ones(2 * N, dtype=torch.complex64))
    same(nt.all_reduce(torch.zeros(0, device=HERE)), torch.zeros(0))
    # Larger than the reserve, so it passes in parts; on GPUs also larger than what needs no reserve.
    count = 3_000_001 if GPU else 300_001
    large = torch.arange(count, dtype=torch.float32, device=HERE) % 1024 + ME
    same(nt.all_reduce(large), (torch.arange(count, dtype=torch.float32) % 1024) * N + sum(range(N)))
    count = 2_000_003 if GPU else 100_003
    parts = torch.arange(count * N, dtype=torch.int32, device=HERE).reshape(N, -1) + ME
    same(nt.all_to_all(parts), torch.stack([torch.arange(count, dtype=torch.int32) + count * ME + pe for pe in range(N)]))
    same(nt.reduce_scatter(parts, "max"), torch.arange(count, dtype=torch.int32).reshape(1, -1) + count * ME + N - 1)
    out = torch.zeros(count * N, dtype=torch.int32, device=HERE)
    nt.all_gather(parts[0], out=out)
    same(out, torch.cat([torch.arange(count, dtype=torch.int32) + pe for pe in range(N)]))
    nt.barrier()
    said("eager", "bools, numbers, and what is larger than the reserve")


def onesided():
    """put, get, signals and barrier."""
    whole, box, guard = symmetric((4, 3), torch.float32)
    signal = nvshmem.tensor(2, torch.int64)
    mine = torch.arange(12, dtype=torch.float32, device=HERE).reshape(4, 3) + 100 * ME
    nt.put(box, mine, RIGHT)
    nt.barrier()
    same(box, torch.arange(12, dtype=torch.float32).reshape(4, 3) + 100 * LEFT)
    same(nt.get(box, RIGHT), torch.arange(12, dtype=torch.float32).reshape(4, 3) + 100 * ME)
    out = torch.zeros(3, device=HERE)
    nt.get(box[2], RIGHT, out=out)
    same(out, torch.arange(6, 9, dtype=torch.float32) + 100 * ME)
    nt.barrier()
    nt.put(box[1], mine[3], RIGHT)
    nt.put_signal(box[0], mine[2], signal[:1], 7, RIGHT)
    nt.put_signal(box[3], mine[2], signal[:1], 1, RIGHT, "add")
    nt.signal_wait(signal[:1], 8)
    same(box[0], torch.arange(6, 9, dtype=torch.float32) + 100 * LEFT)
    same(box[3], torch.arange(6, 9, dtype=torch.float32) + 100 * LEFT)
    nt.barrier()
    same(box[1], torch.arange(9, 12, dtype=torch.float32) + 100 * LEFT)
    same(box[2], torch.arange(6, 9, dtype=torch.float32) + 100 * LEFT)
    assert signal.tolist() == [8, 0]
    untouched(whole, guard)
    for cmp in ("eq", "ne", "gt", "le", "lt", "ge"):
        value = {"eq": 8, "ne": 9, "gt": 7, "le": 8, "lt": 9, "ge": 8}[cmp]
        OPS.signal_wait(signal[:1], value, cmp)
    done()
    nt.barrier()
    done()
    said("onesided", "put, get, put_signal, signal_wait, barrier")


def splits_of(pe, experts):
    """How many rows a PE sends to each expert of each member, by member."""
    return [(pe + 2 * block) % 4 for block in range(N * experts)]


def sent(pe, experts, width, dtype):
    """A PE's rows, each of one number that tells who sent it and its place, and two rows that nobody gets."""
    rows = sum(splits_of(pe, experts)) + 2
    return (torch.arange(rows) + 40 * pe).to(dtype).reshape(rows, 1).expand(rows, width).contiguous()


def arrived(experts, align, width, dtype, by_expert):
    """The rows that come to this PE, of each block how many, and where it begins; and the rows in use."""
    blocks = [(pe, expert) for pe in range(N) for expert in range(experts)]
    if by_expert:
        blocks = [(pe, expert) for expert in range(experts) for pe in range(N)]
    rows, counts, begins, at = {}, [], [], 0
    for k, (pe, expert) in enumerate(blocks):
        if by_expert and k % N == 0:
            at = -(-at // align) * align
        theirs = splits_of(pe, experts)
        block = ME * experts + expert
        first = sum(theirs[:block])
        counts.append(theirs[block])
        begins.append(at)
        for row in range(theirs[block]):
            rows[at] = sent(pe, experts, width, dtype)[first + row]
            at += 1
    return rows, torch.tensor([counts, begins]), at


def alltoallv():
    """Rows by splits on the device: flat, to experts, and back."""
    for dtype, width in ((torch.float32, 5), (torch.bfloat16, 8), (torch.uint8, 3), (torch.int64, 1), (torch.float16, 64)):
        for held in (False, True):
            for experts, align in ((1, 1), (3, 4)):
                by_expert = experts > 1
                rows, numbers, end = arrived(experts, align, width, dtype, by_expert)
                mine = sent(ME, experts, width, dtype).to(HERE)
                if held:
                    # An input need not be at the same place, nor of the same size, on all PEs.
                    memory = nvshmem.tensor((64, width), dtype)
                    memory[ME : ME + len(mine)].copy_(mine)
                    mine = memory[ME : ME + len(mine)]
                splits = torch.tensor(splits_of(ME, experts), device=HERE)
                out = torch.full((end + 3 + ME, width), 77, device=HERE).to(dtype)
                if by_expert:
                    found, received = nt.all_to_all_v_2d(mine, splits, end + 1, align)
                    took = torch.zeros(2, N * experts, dtype=torch.int64, device=HERE)
                    OPS.all_to_all_v_2d(mine, splits, align, out=out, received=took)
                else:
                    found, received = nt.all_to_all_v(mine, splits, end + 1)
                    took = torch.zeros(2, N, dtype=torch.int64, device=HERE)
                    OPS.all_to_all_v(mine, splits, out=out, received=took)
                same(received, numbers)
                same(took, numbers)
                for row in range(len(out)):
                    same(out[row], rows.get(row, torch.full((width,), 77).to(dtype)))
                    if row in rows:
                        same(found[row], rows[row])
                if by_expert:
                    back, again = nt.all_to_all_v_2d_back(found, received, len(mine))
                    same(back[:-2], sent(ME, experts, width, dtype)[:-2])
                    same(again[0], torch.tensor(splits_of(ME, experts)))
    said("alltoallv", "flat, to experts, and back")


def wrong_splits():
    """Splits that do not add up, and too many rows: an error of the call on the host, of the kernel on GPUs."""
    mine = torch.zeros(4, 2, device=HERE)
    splits = torch.ones(N, dtype=torch.int64, device=HERE)
    if GPU:
        splits[0] = 5
        out, received = nt.all_to_all_v(mine, splits, 9 * N)
        assert received.tolist() == [[-1] * N] * 2
        done()
        said("wrong_splits", "told by the kernel")
        raises("argument `splits` is", nvshmem.finalize)
        return
    bad = splits.clone()
    bad[0] = 5 if ME == 0 else 1
    words = "must add up to at most the 4 rows" if ME == 0 else "member 0 of TEAM_WORLD has splits"
    raises(words, nt.all_to_all_v, mine, bad, 9)
    bad[0] = -1 if ME == N - 1 else 1
    words = "none may be negative" if ME == N - 1 else f"member {N - 1} of TEAM_WORLD has splits"
    raises(words, nt.all_to_all_v, mine, bad, 9)
    if ME == 0:
        raises("pass more as out_rows", nt.all_to_all_v, mine, splits, N - 1)
    else:
        nt.all_to_all_v(mine, splits, N)
    if N > 1:
        rows = torch.zeros(4, 2 + (ME == 0), device=HERE)
        raises("all pass rows of one size", nt.all_to_all_v, rows, splits, 9)
    raises("it must have one for each", nt.all_to_all_v, mine, torch.ones(N + 1, dtype=torch.int64, device=HERE), 9)
    raises("torch.int64", nt.all_to_all_v, mine, splits.to(torch.int32), 9)
    same(nt.all_to_all_v(mine, splits, N)[1], torch.tensor([[1] * N, list(range(N))]))
    said("wrong_splits", "told on the host")


def refused():
    """Arguments that cannot be: the error names the argument and the call that helps."""
    mine = torch.ones(2 * N, 3, device=HERE)
    other = torch.ones(2 * N, 3, device="cpu" if GPU else "meta")
    held = nvshmem.tensor((2 * N, 3), torch.float32)
    signal = nvshmem.tensor(1, torch.int64)
    gradients = VERSION >= (2, 4)
    functions = [nt.all_reduce, nt.reduce_scatter, nt.all_gather, nt.all_to_all, nt.broadcast]
    for function in functions:
        raises("input is not contiguous: pass input.contiguous()", function, mine.t())
        if GPU:
            raises("input is on cpu, and the symmetric heap is memory of cuda", function, other)
        raises("group='NONE' is no team here", function, mine, group="NONE")
        raises("it must have", function, mine, out=torch.ones(1, device=HERE))
        raises("it must have", function, mine, out=mine.to(torch.float64))
        raises("out is not contiguous", function, mine, out=torch.ones(3, 2 * N, device=HERE).t())
    meta = torch.ones(2 * N, 3, device="meta")
    if gradients:  # torch does not call the operation itself then
        raises(f"input is on meta, and out on {HERE.type}", nt.all_reduce, meta, out=mine)
        raises(f"input is on {HERE.type}, and out on meta", nt.all_reduce, mine, out=meta)
        raises(f"dest is on {HERE.type}, and source on meta", nt.put, held, meta, RIGHT)
        raises(f"dest is on meta, and source on {HERE.type}", nt.put, meta, mine, RIGHT)
    raises("op='mean': it must be", nt.all_reduce, mine, "mean")
    raises("only floating-point numbers have an average", nt.all_reduce, mine.to(torch.int32), "avg")
    raises("complex64", nt.all_reduce, mine.to(torch.complex64), "max")
    raises("must be a multiple of the group's", nt.reduce_scatter, torch.ones((), device=HERE))
    if N > 1:
        raises("must be a multiple of the group's", nt.all_to_all, torch.ones(N + 1, device=HERE))
    raises(f"root={N}: TEAM_WORLD has members", nt.broadcast, mine, N)
    raises("dest is not symmetric memory", nt.put, mine, mine, RIGHT)
    raises("source is not symmetric memory", nt.get, mine, RIGHT)
    raises("signal is not symmetric memory", nt.signal_wait, torch.ones(1, dtype=torch.int64, device=HERE), 1)
    raises("dest and source have", nt.put, held, mine[0], RIGHT)
    raises(f"pe={N}: TEAM_WORLD has members", nt.put, held, mine, N)
    raises("op='sub': a signal is updated by", nt.put_signal, held, mine, signal, 1, RIGHT, "sub")
    raises("cmp='is': it must be one of", nt.signal_wait, signal, 1, "is")
    raises("signal has", nt.signal_wait, held, 1)
    raises("value=-1: a signal is not negative", nt.put_signal, held, mine, signal, -1, RIGHT)
    raises("input has layout torch.sparse_coo: pass input.to_dense()", nt.all_reduce, mine.to_sparse())
    nvshmem.barrier_all()
    wants = mine.clone().requires_grad_()
    for function in functions:
        if not gradients:
            raises("requires a gradient", function, wants)
        raises("requires a gradient", function, wants, out=torch.ones(1, device=HERE))
        with torch.no_grad():
            function(wants)
    raises("source requires a gradient, and put has none", nt.put, held, wants, RIGHT)
    raises("requires a gradient, and all_to_all_v has none", nt.all_to_all_v, wants, torch.ones(N, dtype=torch.int64, device=HERE), 9)
    if gradients:
        raises("op='max' has none", nt.all_reduce, wants, "max")
    raises("has a reserve: call release_reserve first", nt.reserve)
    raises("a reserve has 512 bytes", nt.reserve, 5, kind=nvshmem.NvshmemInvalid)
    raises("pass a team's name or handle, a ProcessGroup", nt.group_name, None)
    for group in (None, "nonsense", "TEAM_INVALID", -1, 1 << 40):
        raises("pass a ProcessGroup or a DeviceMesh", nt.register_group, group)
    raises("pass the name that register_group returned, a ProcessGroup", nt.unregister_group, 0)
    for group in ("nonsense", "TEAM_WORLD", "torch:gone"):
        raises(f"group='{group}' is no name of a team that register_group made", nt.unregister_group, group)
    for group in ("WORLD", 0):
        raises(f"group={group!r} is a team already", nt.register_group, group)
    raises("group='TEAM_WORLD' is a team already: pass it to operations", nt.register_group, "TEAM_WORLD")
    raises("no team of this PE has that handle", nt.group_name, 1 << 40)
    nt.release_reserve()
    raises("has no reserve", nt.release_reserve)
    large = unreserved()
    wide = nvshmem.tensor(large.shape, torch.float32)
    raises("call reserve(nbytes) of nvshmemrs.core.interop.torch once on all PEs", nt.all_reduce, large)
    raises("out is not symmetric memory, and TEAM_WORLD has no reserve", nt.all_reduce, wide, out=large)
    nvshmem.free_tensor(wide)
    gone = nvshmem.tensor((2 * N, 3), torch.float32)
    for _ in range(2):  # which needs none, and the second is remembered
        nt.all_reduce(held, out=held)
        nt.all_reduce(gone, out=gone)
    nvshmem.free_tensor(gone)
    # torch 1 does not tell where a tensor has its memory from.
    raises("was freed" if VERSION >= (2, 0) else "no reserve", nt.all_reduce, gone, out=gone)
    raises("out has shape", nt.all_reduce, held, out=held.view(3, 2 * N))
    if GPU:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            raises("once, before the capture, on all PEs", nt.all_reduce, large)
            raises("call reserve before the capture", nt.reserve)
            raises("call mem_pool before the capture", nt.mem_pool, 1 << 21)
            mine.add_(1)
    done()
    nvshmem.barrier_all()
    nt.reserve(1 << 16)
    same(nt.all_reduce(torch.ones(3, device=HERE)), torch.full((3,), float(N)))
    said("refused", "wrong arguments")


def groups():
    """Teams, ProcessGroups and DeviceMeshes."""
    import torch.distributed as dist

    row, _ = nvshmem.team_split_2d(0, max(N // 2, 1), new_team_name="GRID")
    assert nt.group_name(row) == "GRID_X"
    size = nvshmem.team_n_pes(row)
    nt.reserve(1 << 16, row)
    first = ME - nvshmem.team_my_pe(row)
    same(nt.all_gather(torch.tensor([ME], device=HERE), row), torch.arange(first, first + size))
    raises("members 0 to", nt.broadcast, torch.ones(1, device=HERE), size, row)
    raises("TEAM_SHARED has no reserve", nt.all_reduce, torch.ones(1 << 22, device=HERE), "sum", "TEAM_SHARED")
    said("groups", "a team of the program's")
    number = int(nt.broadcast(torch.tensor(os.getpid(), device=HERE)))
    there = f"file://{tempfile.gettempdir()}/nvshmemrs-torch-{number}"
    dist.init_process_group("gloo", init_method=there, rank=ME, world_size=N)
    name = nt.register_group(dist.group.WORLD)
    assert nt.register_group(dist.group.WORLD) == name == nt.group_name(dist.group.WORLD)
    nt.reserve(1 << 16, dist.group.WORLD)
    x = torch.full((4,), float(ME + 1), device=HERE)
    same(nt.all_reduce(x, group=dist.group.WORLD), torch.full((4,), N * (N + 1) / 2))
    pairs = [dist.new_group([pe, pe + 1]) for pe in range(0, N - 1, 2)]
    if N % 2 == 0:
        pair = pairs[ME // 2]
        raises("call register_group(group) once", nt.all_reduce, x, "sum", pair)
        nt.register_group(pair)
        nt.reserve(1 << 16, pair)
        low = ME - ME % 2
        same(nt.all_gather(x[:1], pair), torch.tensor([low + 1.0, low + 2.0]))
        same(nt.broadcast(x, 1, pair), torch.full((4,), low + 2.0))
        held = nvshmem.tensor(4, torch.float32)
        nt.put(held, x, 1 - ME % 2, pair)
        nt.barrier(pair)
        same(held, torch.full((4,), float((ME ^ 1) + 1)))
        if VERSION >= (2, 4):
            function = torch.compile(lambda a, g: nt.all_reduce(a, group=g) + 1, fullgraph=True, backend=BACKEND)
            same(function(x, pair), torch.full((4,), 2.0 * low + 4))
        nvshmem.barrier_all()
        nt.release_reserve(pair)
        nt.unregister_group(pair)
        raises("that was not registered", nt.group_name, pair)
        nt.unregister_group(nt.register_group(pair))
        raises("that was not registered", nt.unregister_group, pair)
    if VERSION >= (2, 4):
        mesh = dist.device_mesh.init_device_mesh("cpu", (N // 2, 2) if N % 2 == 0 else (1, N), mesh_dim_names=("dp", "tp"))
        raises("pass mesh_dim", nt.register_group, mesh)
        tp = nt.register_group(mesh, "tp")
        assert tp == nt.group_name(mesh, "tp") == nt.group_name(mesh["tp"])
        nt.reserve(1 << 16, mesh, "tp")
        size = mesh.size(1)
        low = ME - ME % size
        same(nt.all_reduce(x, group=tp), torch.full((4,), float(sum(range(low + 1, low + size + 1)))))
    nvshmem.barrier_all()
    dist.destroy_process_group()
    said("groups", "a ProcessGroup, and what is in it")


if __name__ == "__main__":
    run(eager, private, onesided, alltoallv, refused, groups, wrong_splits)
