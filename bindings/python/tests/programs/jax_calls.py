"""Operations inside of JAX programs, on the heap's device. Arguments: parts to run, else all; and with
`distributed=PORT` the PEs are the processes of jax.distributed, too.
"""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj
from nvshmemrs._ffi import Collective
from nvshmemrs.core.interop._common import private_bytes

DTYPES = "int8 int32 uint16 float16 bfloat16 float32 complex64".split()
OPS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def of_pe(pe, shape, dtype):
    """A PE's own values: small, so that sums of all types are exact."""
    values = (np.arange(np.prod(shape)) % 3 + pe % 3 + 1).reshape(shape)
    return jnp.asarray(values, dtype)


def reduced(n, shape, dtype, how):
    values = [np.asarray(of_pe(pe, shape, dtype)) for pe in range(n)]
    result = values[0]
    for value in values[1:]:
        result = how(result, value).astype(result.dtype)
    return result


def reductions(me, n):
    token = nj.token()
    for dtype in DTYPES:
        ops = dict(OPS) if dtype != "complex64" else {"sum": np.add, "prod": np.multiply}
        ops.update(BITS if jnp.issubdtype(dtype, jnp.integer) else {})
        for op, how in ops.items():
            x = of_pe(me, (n, 5), dtype)
            both = jax.jit(lambda x, token: nj.reduce_scatter(x, token, op))
            whole, token = jax.jit(lambda x, token: nj.all_reduce(x, token, op))(x, token)
            part, token = both(x, token)
            expected = reduced(n, (n, 5), dtype, how)
            np.testing.assert_array_equal(np.asarray(whole), expected, f"{dtype} {op}")
            np.testing.assert_array_equal(np.asarray(part), expected[me : me + 1], f"{dtype} {op}")
    yes, token = nj.all_reduce(jnp.array([True, me == 0]), token, "and")
    some, token = nj.all_reduce(jnp.array([False, me == 0]), token)
    assert yes.tolist() == [True, n == 1] and some.tolist() == [False, True], (yes, some)


def moves(me, n):
    token = nj.token()
    for dtype in (*DTYPES, "bool", "float8_e4m3fn", "float8_e5m2"):
        x = of_pe(me, (2 * n, 3), dtype)
        every = [np.asarray(of_pe(pe, (2 * n, 3), dtype)) for pe in range(n)]

        @jax.jit
        def all_three(x, token):
            gathered, token = nj.all_gather(x, token)
            parts, token = nj.all_to_all(x, token)
            root, token = nj.broadcast(x, token, n - 1)
            return gathered, parts, root, token

        gathered, parts, root, token = all_three(x, token)
        assert np.array_equal(np.asarray(gathered), np.stack(every)), dtype
        mine = np.concatenate([value[2 * me : 2 * me + 2] for value in every])
        assert np.array_equal(np.asarray(parts), mine), dtype
        assert np.array_equal(np.asarray(root), every[n - 1]), dtype


def teams(me, n):
    start, stride = (0, 2) if me % 2 == 0 else (1, 2)
    size = (n + 1) // 2 if me % 2 == 0 else n // 2
    even = nvshmem.team_split_strided("TEAM_WORLD", 0, 2, (n + 1) // 2, new_team_name="EVEN")
    odd = nvshmem.team_split_strided("TEAM_WORLD", 1, 2, n // 2, new_team_name="ODD") if n > 1 else None
    team = even if me % 2 == 0 else odd
    x, token = nj.all_reduce(jnp.array([float(me)]), nj.token(), team=team)
    assert x.tolist() == [float(sum(range(start, n, stride)))], (x, size)
    jax.block_until_ready(nj.barrier(token, team))


def one_sided(me, n):
    inbox, right = nj.array((3, 4), "float32"), (me + 1) % n

    @jax.jit
    def ring(x, inbox, token):
        token = nj.store(inbox, jnp.zeros((3, 4)), token)
        token = nj.barrier(token)
        token = nj.put(inbox[1], x, right, token)
        token = nj.put(inbox[2:3], x[None] + 1, right, token)
        token = nj.quiet(token)
        token = nj.barrier(token)
        mine, token = nj.load(inbox, token)
        theirs, token = nj.get(inbox[1], nj.shift(1), token)
        return mine, theirs, nj.barrier(token)

    left, token = (me - 1) % n, nj.token()
    for step in range(3):
        mine, theirs, token = ring(jnp.arange(4.0) + me + step, inbox, token)
        expected = np.arange(4.0) + left + step
        np.testing.assert_array_equal(np.asarray(mine), np.stack([0 * expected, expected, expected + 1]))
        np.testing.assert_array_equal(np.asarray(theirs), np.arange(4.0) + me + step)
    jax.block_until_ready(token)
    nj.free_array(inbox)


def signals(me, n):
    """A ring in which each step waits for the signal of the one before, without a barrier."""
    inbox, signal, right = nj.array((2, 1024), "float32"), nj.array(2, "uint64"), nj.shift(1 - n)

    def step(at, x, token):
        slot = at % 2
        token = nj.put_signal(inbox[slot], x + 1, signal[slot], at // 2 + 1, right, token)
        token = nj.signal_wait(signal[slot], at // 2 + 1, token)
        x, token = nj.load(inbox[slot], token)
        # Before the slot is written again, its receiver has read it.
        return x, nj.barrier(token)

    @jax.jit
    def ring(x, token):
        for at in range(2 * n):
            x, token = step(at, x, token)
        return x, token

    x, token = ring(jnp.full(1024, float(me)), nj.token())
    assert (np.asarray(x) == me + 2 * n).all(), x
    # The counts are behind the last value now, and none equals 0.
    token = nj.signal_wait(signal[0], 0, token, nvshmem.ComparisonType.CMP_NE)
    jax.block_until_ready(token)


def control(me, n):
    """Operations in loops and in branches, where the token is carried on."""
    inbox = nj.array(4, "float32")

    @jax.jit
    def loops(x, token):
        def turn(carry, at):
            x, token = carry
            token = nj.put(inbox, x + at, (me + 1) % n, token)
            token = nj.barrier(token)
            x, token = nj.load(inbox, token)
            return (x, nj.barrier(token)), x[0]

        (x, token), seen = jax.lax.scan(turn, (x, token), jnp.arange(4.0))

        def more(carry):
            x, token = carry
            x, token = nj.all_reduce(x, token)
            return 2 * x, token

        x, token = jax.lax.while_loop(lambda carry: carry[0][0] < 1000, more, (x + 1, token))
        x, token = jax.lax.cond(x[0] >= 1000, more, lambda carry: carry, (x, token))
        return seen, x, token

    seen, x, token = loops(jnp.full(4, float(me)), nj.token())
    expected = [float((me - at - 1) % n + sum(range(at + 1))) for at in range(4)]
    assert seen.tolist() == expected, (seen, expected)
    totals = 2 * sum(float((pe - 4) % n) + 6 + 1 for pe in range(n))
    while totals < 1000:
        totals *= 2 * n
    assert x.tolist() == [2 * n * totals] * 4, (x, totals)


def shards(me, n):
    """In shard_map, on a mesh of the devices of all processes that JAX knows of."""
    devices = jax.devices()
    mesh = Mesh(np.array(devices), ("pe",))
    sharding, inbox = NamedSharding(mesh, P("pe")), nj.array(4, "float32")

    def global_array(value):
        shape = (len(devices) * value.shape[0], *value.shape[1:])
        return jax.make_array_from_callback(shape, sharding, lambda _: value)

    for check in (False, True):

        @jax.jit
        @partial(
            jax.shard_map, mesh=mesh, in_specs=(P("pe"), P("pe")), out_specs=P("pe"), check_vma=check
        )
        def body(x, token):
            # The processes of jax.distributed compile one program, so no number of a PE is a constant in it.
            x, token = nj.all_reduce(x, token)
            mine = jax.lax.axis_index("pe") if len(devices) > 1 else me
            token = nj.put(inbox, x + mine, nj.shift(1), token)
            token = nj.barrier(token)
            y, token = nj.load(inbox, token)
            return y, nj.barrier(token)

        y, _ = body(global_array(np.full(4, me + 1.0, np.float32)), global_array(np.zeros(1, np.uint32)))
        mine = y.addressable_shards[0].data
        assert mine.tolist() == [n * (n + 1) / 2 + (me - 1) % n] * 4, mine
        jax.block_until_ready(y)


def views(me, n):
    for dtype in (*DTYPES, "float8_e4m3fn", "bool"):
        made = nj.array((2, 3), dtype)
        view = made.view()
        assert view.dtype == dtype and view.shape == (2, 3), view
        assert view.unsafe_buffer_pointer() == made.address, dtype
        token = nj.put(made, of_pe(me, (2, 3), dtype), (me + 1) % n, nj.token())
        jax.block_until_ready(nj.barrier(token))
        # The view was made before; JAX reads the memory when it computes.
        expected = np.asarray(of_pe((me - 1) % n, (2, 3), dtype))
        assert np.array_equal(np.asarray(jax.jit(lambda x: x[::-1])(made.view())), expected[::-1])
        nj.free_array(made)


def large(me, n):
    """More than fits is told while the program is traced; what fits exactly runs."""
    for count in (1, 1000, 65536):
        x, token = jax.jit(nj.all_reduce)(jnp.arange(count) % 7 + me, nj.token())
        expected = n * (np.arange(count) % 7) + sum(range(n))
        assert np.array_equal(np.asarray(x), expected), count
    try:
        jax.jit(nj.all_reduce)(jnp.zeros(1 << 24), token)
    except nvshmem.NvshmemInvalid as error:
        assert "start(staging=" in str(error), error
    else:
        raise AssertionError("an array larger than the staging area was taken")
    # Nothing to move, which is a call all the same.
    empty, token = nj.all_gather(jnp.zeros((0, 3)), nj.token())
    assert empty.shape == (n, 0, 3), empty


def private(me, n):
    """What needs no staging area, which on GPUs has no room for most of these; on the host nothing does."""

    def values(pe, count):
        return np.arange(count, dtype="float32") % 7 + pe

    on_gpu, every = jax.default_backend() != "cpu", range(n)
    for name in ("reduce", "reducescatter", "fcollect", "alltoall", "broadcast"):
        most = private_bytes(0, Collective[name.upper()])
        assert (most > 0) == on_gpu, (name, most)
        for count in (1, 33, *((most // 4 - 1, most // 4) if on_gpu else ())):
            wide = n * count
            call, length, expected = {
                "reduce": (nj.all_reduce, count, lambda: sum(values(pe, count) for pe in every)),
                "reducescatter": (
                    nj.reduce_scatter,
                    wide,
                    lambda: sum(values(pe, wide) for pe in every)[me * count :][:count],
                ),
                "fcollect": (nj.all_gather, count, lambda: np.concatenate([values(pe, count) for pe in every])),
                "alltoall": (
                    nj.all_to_all,
                    wide,
                    lambda: np.concatenate([values(pe, wide)[me * count :][:count] for pe in every]),
                ),
                "broadcast": (lambda x, token: nj.broadcast(x, token, n - 1), count, lambda: values(n - 1, count)),
            }[name]

            @jax.jit
            def twice(x, token):
                first, token = call(x, token)
                second, token = call(x * 2, token)
                return first, second, token

            x = jnp.asarray(values(me, length))
            for _ in range(3):  # XLA records a graph after the first
                first, second, _ = twice(x, nj.token())
                assert np.array_equal(np.asarray(first).reshape(-1), expected()), (name, count)
                assert np.array_equal(np.asarray(second).reshape(-1), 2 * expected()), (name, count)


PARTS = (reductions, moves, teams, one_sided, signals, control, shards, views, large, private)


def main():
    chosen = [name for name in sys.argv[1:] if "=" not in name]
    ports = [name.partition("=")[2] for name in sys.argv[1:] if name.startswith("distributed=")]
    nj.select_gpu()
    nvshmem.init(heap_bytes=1 << 25)
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    if ports:
        if jax.config.jax_platforms == "cpu":
            jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(f"127.0.0.1:{ports[0]}", n, me)
    nj.start(staging=1 << 20)
    for part in PARTS:
        if not chosen or part.__name__ in chosen:
            part(me, n)
            nvshmem.barrier_all()
            print(f"jax ok: {part.__name__}, PE {me}", flush=True)
    nj.stop()
    nvshmem.finalize()
    print("ok", flush=True)


main()
