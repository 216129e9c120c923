"""torch.ops.nvshmemrs compiled, with gradients, in CUDA graphs, on several streams, and on memory of pools. The first two also
on host memory; the arguments name the parts to run.
"""

import gc
import threading

import torch
from torch_support import (
    BACKEND,
    GPU,
    HERE,
    LEFT,
    ME,
    OPS,
    RIGHT,
    N,
    done,
    nt,
    nvshmem,
    raises,
    run,
    said,
    same,
)

from nvshmemrs.core.interop._torch_reserve import is_symmetric


def layer(x, weight, box, signal, splits):
    """All operations, among those of torch."""
    y = nt.all_reduce(x @ weight) + nt.all_gather(x[:1]).sum() + nt.broadcast(x, N - 1)
    y = y + nt.reduce_scatter(torch.cat([x] * N), "max") + nt.all_to_all(torch.cat([x] * N))[: len(x)]
    rows, received = nt.all_to_all_v(x, splits, 4 * N)
    y = y + rows[:1].sum() + received.sum()
    nt.put_signal(box, y, signal, 1, RIGHT)
    nt.signal_wait(signal, 1)
    z = nt.get(box, ME)
    nt.barrier()
    return y * 2, z + 1


def compiled():
    """torch.compile(fullgraph=True) gives what eager programs give, with all operations in one graph."""
    x = (torch.arange(16, dtype=torch.float32, device=HERE).reshape(4, 4) + ME) / 16
    weight = torch.eye(4, device=HERE) * 2
    box, signal = nvshmem.tensor((4, 4), torch.float32), nvshmem.tensor(1, torch.int64)
    splits = torch.ones(N, dtype=torch.int64, device=HERE)
    expected = layer(x, weight, box, signal, splits)
    for _ in range(3):
        signal.zero_()
        done()
        nt.barrier()
        done()
        found = torch.compile(layer, fullgraph=True, backend=BACKEND)(x, weight, box, signal, splits)
        assert all(torch.allclose(one.cpu(), other.cpu()) for one, other in zip(found, expected)), (found, expected)
    said("compiled", f"every operation, backend {BACKEND}")

    def into(a, out):
        nt.all_reduce(a + 1, out=out)
        return out * 2

    held = nvshmem.tensor((4, 4), torch.float32)
    for out in (torch.zeros(4, 4, device=HERE), held):
        result = torch.compile(into, fullgraph=True, backend=BACKEND)(x, out)
        total = sum((torch.arange(16, dtype=torch.float32).reshape(4, 4) + pe) / 16 + 1 for pe in range(N))
        assert torch.allclose(out.cpu(), total) and torch.allclose(result.cpu(), 2 * total)
    said("compiled", "out=")
    # Shapes that change.
    dynamic = torch.compile(lambda a: nt.all_gather(a * 2) + 1, fullgraph=True, backend=BACKEND, dynamic=True)
    for length in (3, 7, 12):
        same(dynamic(torch.full((length,), float(ME), device=HERE)), torch.arange(N).repeat_interleave(length) * 2.0 + 1)
    said("compiled", "shapes that change")
    raises("op='mean'", torch.compile(lambda a: nt.all_reduce(a, "mean"), fullgraph=True, backend=BACKEND), x, kind=Exception)
    # A function that is captured into a graph by torch itself.
    if GPU:
        graphed = torch.compile(lambda a: nt.all_reduce(a * 2) + 1, fullgraph=True, mode="reduce-overhead")
        for round_ in range(4):
            found = graphed(x + round_).clone()
            total = sum((torch.arange(16, dtype=torch.float32).reshape(4, 4) + pe) / 16 + round_ for pe in range(N)) * 2 + 1
            assert torch.allclose(found.cpu(), total), (found, total)
        said("compiled", "reduce-overhead")
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.empty(2 * N, 3, device=HERE)
        assert OPS.all_reduce(fake).shape == (2 * N, 3) and OPS.reduce_scatter(fake).shape == (2, 3)
        assert OPS.all_gather(fake).shape == (2 * N * N, 3) and OPS.all_to_all(fake).shape == (2 * N, 3)
        out, received = OPS.all_to_all_v(fake, torch.empty(N, dtype=torch.int64, device=HERE), 11)
        assert out.shape == (11, 3) and received.shape == (2, N)
    said("compiled", "fake tensors")


def gradients():
    """Gradients, eager and compiled, beside those of one process that does what all do."""

    def work(x, ops):
        reduce, scatter, gather, swap, spread = ops
        y = reduce(x, "avg") * gather(x).sum() + scatter(torch.cat([x * x] * N)) + spread(x, N - 1) ** 2
        return (y * swap(torch.cat([x, 2 * x, 3 * x, 4 * x][:N]))[: len(x)]).sum()

    ours = (nt.all_reduce, nt.reduce_scatter, nt.all_gather, nt.all_to_all, nt.broadcast)
    # All PEs' inputs in one process, with a gradient of the sum of all losses.
    every = [(torch.arange(4, dtype=torch.float64) + pe + 1).requires_grad_() for pe in range(N)]
    loss = 0
    for pe in range(N):
        plain = (
            lambda x, op: sum(every) / N,
            lambda x: sum(torch.cat([v * v] * N) for v in every)[4 * pe : 4 * pe + 4],  # noqa: B023
            lambda x: torch.cat(every),
            lambda x: torch.cat([torch.cat([v, 2 * v, 3 * v, 4 * v][:N])[4 * pe : 4 * pe + 4] for v in every]),  # noqa: B023
            lambda x, root: every[root],
        )
        loss = loss + work(every[pe], plain)
    loss.backward()
    for name, function in (("eager", work), ("compiled", torch.compile(work, fullgraph=True, backend=BACKEND))):
        x = (torch.arange(4, dtype=torch.float64, device=HERE) + ME + 1).requires_grad_()
        function(x, ours).backward()
        assert torch.allclose(x.grad.cpu(), every[ME].grad), (name, x.grad, every[ME].grad)
        said("gradients", name)


def graphs():
    """CUDA graphs: capture, replay, what changes in between."""
    nt.release_reserve()
    nt.reserve(1 << 20)
    x = torch.zeros(64, 8, device=HERE)
    splits = torch.full((N,), 2, dtype=torch.int64, device=HERE)
    held = nvshmem.tensor((64, 8), torch.float32)
    signal = nvshmem.tensor(1, torch.int64)

    def work():
        a = nt.all_reduce(x)
        b = nt.all_gather(x[:1])
        c, received = nt.all_to_all_v(x, splits, 3 * N)
        nt.put_signal(held, x, signal, 1, RIGHT, "add")
        return a, b, c, received

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        raises("the kernel is not loaded", in_capture, work)
        work()
    done()
    nt.barrier()
    signal.zero_()
    done()
    nt.barrier()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        a, b, c, received = work()
    for round_ in range(1, 6):
        x.fill_(ME + 10 * round_)
        splits.fill_(round_ % 3)
        graph.replay()
        nt.signal_wait(signal, round_, "eq")
        same(a, torch.full((64, 8), float(sum(range(N)) + 10 * N * round_)))
        same(b, (torch.arange(N) + 10.0 * round_).reshape(N, 1).expand(N, 8))
        assert received.tolist() == [[round_ % 3] * N, [round_ % 3 * pe for pe in range(N)]]
        for pe in range(N):
            rows = c[round_ % 3 * pe : round_ % 3 * (pe + 1)]
            same(rows, torch.full(rows.shape, pe + 10.0 * round_))
        same(held, torch.full((64, 8), LEFT + 10.0 * round_))
        nt.barrier()
        done()
    said("graphs", "capture and replay")


def in_capture(work):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
        work()


def streams():
    """Operations of a group on several streams in turn, and from another thread."""
    several = [torch.cuda.Stream() for _ in range(3)]
    x = torch.zeros(50_000, device=HERE)
    results = []
    for round_ in range(30):
        stream = several[round_ % 3]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = torch.full_like(x, float(ME + round_))
            results.append(nt.all_reduce(y))
            results.append(nt.all_gather(y[:2]))
    done()
    for round_ in range(30):
        same(results[2 * round_], torch.full((50_000,), float(sum(range(N)) + N * round_)))
        same(results[2 * round_ + 1], (torch.arange(N).float() + round_).repeat_interleave(2))
    said("streams", "three in turn")
    caught = []

    def other():
        try:
            torch.cuda.set_device(HERE)
            with torch.cuda.stream(torch.cuda.Stream()):
                same(nt.all_reduce(torch.ones(9, device=HERE)), torch.full((9,), float(N)))
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert not caught, caught
    said("streams", "another thread")


def pools():
    """Memory of torch's pools: symmetric where it is made, also in a capture, and without another PE."""
    pool = nt.mem_pool(64 << 20)
    with torch.cuda.use_mem_pool(pool):
        x = torch.zeros(1000, device=HERE)
        out = torch.zeros(1000, device=HERE)
    nt.release_reserve()
    x.fill_(ME + 1.0)
    nt.all_reduce(x, out=out)
    same(out, torch.full((1000,), N * (N + 1) / 2))
    with nt.use_mem_pool(pool):
        total = nt.all_reduce(x)
    same(total, torch.full((1000,), N * (N + 1) / 2))
    assert is_symmetric(x) and is_symmetric(out) and is_symmetric(total)
    nt.put(out, x, RIGHT)
    nt.barrier()
    same(out, torch.full((1000,), LEFT + 1.0))
    nt.barrier()
    done()
    said("pools", "tensors of a pool are symmetric")

    def much(pool):
        with nt.use_mem_pool(pool):
            torch.zeros(1 << 26, device=HERE)

    raises("Call mem_pool(nbytes)", much, pool, kind=nvshmem.HeapExhaustedError)
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        nt.all_reduce(x, out=out)
    for round_ in range(3):
        x.fill_(ME + round_)
        graph.replay()
        same(out, torch.full((1000,), float(sum(range(N)) + N * round_)))
        nt.barrier()
        done()
    said("pools", "room, and graphs")
    held = [x, out, total]
    del x, out, total
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    del pool, graph
    gc.collect()
    torch.cuda.empty_cache()
    said("pools", "given back by another thread")
    nt.reserve(1 << 19)


if __name__ == "__main__":
    run(compiled, gradients, graphs, streams, pools)
