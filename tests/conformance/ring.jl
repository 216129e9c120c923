# Conformance, scenario "ring": every PE talks to its neighbours with every operation, and looks at what was
# written and at what lies beside it. The same steps, in the same order, are in ring.c, ring.cpp and ring.f90.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS.FFI
const WORLD = FFI.Team.WORLD

me = Int32(-1)
n = Int32(0)

function fail(what)
    print(stderr, "ring: PE $me of $n: failed: $what\n")
    exit(1)
end

macro check(what)
    :($(esc(what)) || fail($(string(what))))
end

macro must(call)
    quote
        status = $(esc(call))
        status == FFI.Status.SUCCESS ||
            fail($(string(call)) * ": status $status: " * unsafe_string(FFI.nvshmemrs_last_error()))
    end
end

barrier() = @must FFI.nvshmemrs_barrier(rt, WORLD)

"A symmetric allocation, zeroed: its address and, on the same memory, an array."
function allocate(T, count)
    memory = Ref(Ptr{Cvoid}(C_NULL))
    @must FFI.nvshmemrs_calloc(rt, count, sizeof(T), memory)
    @check memory[] != C_NULL
    return Ptr{T}(memory[]), unsafe_wrap(Array, Ptr{T}(memory[]), count)
end

release(memory) = @must FFI.nvshmemrs_free(rt, memory)

"The address of element `index`, counted from 0 as C does."
at(memory::Ptr{T}, index) where {T} = memory + index * sizeof(T)

function put_with_signal(left, right)
    field_at, field = allocate(Float64, 10)
    signals_at, signals = allocate(UInt64, 2)
    row = Float64[me * 100 + i for i in 0:3]
    @must FFI.nvshmemrs_put_signal(rt, at(field_at, 2), row, sizeof(row), signals_at, 1, FFI.SignalOp.SET, right)
    seen = Ref{UInt64}(0)
    @must FFI.nvshmemrs_signal_wait(rt, signals_at, FFI.Cmp.GE, 1, seen)
    @check seen[] == 1
    @check field[3:6] == [left * 100 + i for i in 0:3]
    @check field[2] == 0 && field[7] == 0
    @check signals[2] == 0
    barrier()

    @must FFI.nvshmemrs_signal_op(rt, at(signals_at, 1), 5, FFI.SignalOp.ADD, right)
    @must FFI.nvshmemrs_signal_wait(rt, at(signals_at, 1), FFI.Cmp.EQ, 5, C_NULL)
    now = Ref{UInt64}(0)
    @must FFI.nvshmemrs_signal_fetch(rt, signals_at, now)
    @check now[] == 1
    barrier()
    release(signals_at)
    release(field_at)
end

# Each width writes 8 bytes into its own 24 bytes, so that there is room to see a write that is too wide.
function single_elements(left, right)
    scratch_at, scratch = allocate(UInt8, 4 * 24)
    of8(pe) = UInt8(0xa0 + pe)
    of16(pe) = UInt16(0xb000 + pe)
    of32(pe) = UInt32(0xc0000000 + pe)
    of64(pe) = UInt64(0xd000000000000000 + pe)
    @must FFI.nvshmemrs_p8(rt, at(scratch_at, 8), of8(me), right)
    @must FFI.nvshmemrs_p16(rt, at(scratch_at, 32), of16(me), right)
    @must FFI.nvshmemrs_p32(rt, at(scratch_at, 56), of32(me), right)
    @must FFI.nvshmemrs_p64(rt, at(scratch_at, 80), of64(me), right)
    barrier()
    expected = zeros(UInt8, 4 * 24)
    for (start, value) in ((8, of8(left)), (32, of16(left)), (56, of32(left)), (80, of64(left)))
        expected[(start + 1):(start + sizeof(value))] = reinterpret(UInt8, [value])
    end
    @check scratch == expected

    v8, v16, v32, v64 = Ref{UInt8}(0), Ref{UInt16}(0), Ref{UInt32}(0), Ref{UInt64}(0)
    @must FFI.nvshmemrs_g8(rt, at(scratch_at, 8), right, v8)
    @must FFI.nvshmemrs_g16(rt, at(scratch_at, 32), right, v16)
    @must FFI.nvshmemrs_g32(rt, at(scratch_at, 56), right, v32)
    @must FFI.nvshmemrs_g64(rt, at(scratch_at, 80), right, v64)
    @check v8[] == of8(me) && v16[] == of16(me) && v32[] == of32(me) && v64[] == of64(me)
    barrier()
    release(scratch_at)
end

function atomics()
    words_at, words = allocate(UInt64, 3)
    halves_at, halves = allocate(UInt32, 3)
    old64, old32 = Ref{UInt64}(99), Ref{UInt32}(99)
    @must FFI.nvshmemrs_atomic_fetch_add64(rt, words_at, 1, 0, old64)
    @must FFI.nvshmemrs_atomic_fetch_add32(rt, halves_at, 1, 0, old32)
    @check old64[] < n && old32[] < n

    # One PE finds 0 and puts its own number; the others get that number and change nothing.
    @must FFI.nvshmemrs_atomic_compare_swap64(rt, at(words_at, 1), 0, me + 1, 0, old64)
    @must FFI.nvshmemrs_atomic_compare_swap32(rt, at(halves_at, 1), 0, me + 1, 0, old32)
    barrier()
    winner64, winner32 = Ref{UInt64}(0), Ref{UInt32}(0)
    @must FFI.nvshmemrs_g64(rt, at(words_at, 1), 0, winner64)
    @must FFI.nvshmemrs_g32(rt, at(halves_at, 1), 0, winner32)
    @check 1 <= winner64[] <= n && 1 <= winner32[] <= n
    @check old64[] == (winner64[] == me + 1 ? 0 : winner64[])
    @check old32[] == (winner32[] == me + 1 ? 0 : winner32[])
    counted = me == 0 ? n : 0
    @check words[1] == counted && halves[1] == counted
    @check words[3] == 0 && halves[3] == 0
    barrier()
    release(halves_at)
    release(words_at)
end

function get_and_nonblocking(left, right)
    mine_at, mine = allocate(Float64, 8)
    received_at, received = allocate(Float64, 8)
    mine .= me * 10 .+ (0:7)
    barrier()
    row = fill(-1.0, 6)
    GC.@preserve row begin
        @must FFI.nvshmemrs_get(rt, pointer(row, 2), at(mine_at, 2), 4 * sizeof(Float64), right)
        @check row == [-1; right * 10 .+ (2:5); -1]
        @must FFI.nvshmemrs_put_nbi(rt, at(received_at, 2), pointer(row, 2), 4 * sizeof(Float64), right)
        other = fill(-1.0, 3)
        GC.@preserve other begin
            @must FFI.nvshmemrs_get_nbi(rt, pointer(other, 2), at(mine_at, 7), sizeof(Float64), left)
            @must FFI.nvshmemrs_quiet(rt)
        end
        @check other == [-1, left * 10 + 7, -1]
    end
    barrier()
    # The left neighbour sent what it had got from this PE.
    @check received == [0; 0; me * 10 .+ (2:5); 0; 0]
    @must FFI.nvshmemrs_fence(rt)
    barrier()
    release(received_at)
    release(mine_at)
end

# `dest` and `source` have six elements, of which the last must stay as it is.
function reductions(dest_at, dest, source_at, source, dtype, element, expected)
    for (op, result) in zip((FFI.Op.SUM, FFI.Op.MIN, FFI.Op.MAX), expected)
        source[1:5] = element.(0:4)
        source[6] = dest[6] = -7
        @must FFI.nvshmemrs_reduce(rt, WORLD, dest_at, source_at, 5, dtype, op)
        @check dest[1:5] == result.(0:4)
        @check dest[6] == -7
        barrier()
    end
end

function collectives()
    blocks = []
    for (T, dtype, element, expected) in (
        (Float64, FFI.Dtype.DOUBLE, i -> (me + 1) * (i + 1),
         (i -> n * (n + 1) / 2 * (i + 1), i -> i + 1, i -> n * (i + 1))),
        (Int32, FFI.Dtype.INT32, i -> me - i,
         (i -> n * (n - 1) ÷ 2 - n * i, i -> -i, i -> n - 1 - i)),
    )
        block, values = allocate(T, 12)
        dest, source = view(values, 1:6), view(values, 7:12)
        reductions(block, dest, at(block, 6), source, dtype, element, expected)
        reductions(block, dest, block, dest, dtype, element, expected)
        push!(blocks, block)
    end

    words_at, words = allocate(Int64, 10)
    words[6:10] = me * 1000 .+ (0:4)
    barrier()
    @must FFI.nvshmemrs_broadcast(rt, WORLD, words_at, at(words_at, 5), 4 * sizeof(Int64), n - 1)
    @must FFI.nvshmemrs_broadcast(rt, WORLD, at(words_at, 5), at(words_at, 5), 4 * sizeof(Int64), n - 1)
    sent = (n - 1) * 1000 .+ (0:3)
    @check words[1:4] == sent && words[6:9] == sent
    @check words[5] == 0 && words[10] == me * 1000 + 4
    @must FFI.nvshmemrs_sync(rt, WORLD)

    stats = heap_stats()
    @check stats.allocations == 3 && stats.used_bytes >= 96 + 48 + 80
    @check stats.used_bytes + stats.free_bytes == stats.heap_bytes
    release(words_at)
    foreach(release, reverse(blocks))
end

function heap_stats()
    stats = Ref{FFI.HeapStats}()
    @must FFI.nvshmemrs_heap_stats(rt, stats)
    return stats[]
end

attr = Ref{FFI.InitAttr}()
@must FFI.nvshmemrs_init_attr_default(attr)
handle, pe, pes = Ref{UInt64}(0), Ref{Int32}(-1), Ref{Int32}(0)
@must FFI.nvshmemrs_init(attr, handle)
const rt = handle[]
@must FFI.nvshmemrs_my_pe(rt, pe)
@must FFI.nvshmemrs_n_pes(rt, pes)
me, n = Int(pe[]), Int(pes[])
@check 0 <= me < n
left, right = mod(me - 1, n), mod(me + 1, n)

put_with_signal(left, right)
single_elements(left, right)
atomics()
get_and_nonblocking(left, right)
collectives()

stats = heap_stats()
@check stats.allocations == 0 && stats.used_bytes == 0 && stats.free_bytes == stats.heap_bytes
@must FFI.nvshmemrs_finalize(rt)
# One write, so that the lines of several PEs do not mix.
print("ring ok PE $me of $n (Julia)\n")
