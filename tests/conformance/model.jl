# Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
# made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails says what
# it found. The same steps, in the same order, are in the programs of this name in the other languages.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS.FFI
using NVSHMEMRS.FFI: Cmp, Dtype, Op, SignalOp, Status, TeamConfigMask
const WORLD = FFI.Team.WORLD
const NOWHERE = typemax(Csize_t) # what a search gives that finds nothing

function fail(what, text)
    print(stderr, "model: PE $me of $n: $what: $text\n")
    exit(1)
end

function outcome(what, status, wanted)
    status == wanted || fail(what, "status $status, not $wanted: " * unsafe_string(FFI.nvshmemrs_last_error()))
end

macro must(call)
    :(outcome($(string(call)), $(esc(call)), Status.SUCCESS))
end

macro refused(wanted, call)
    :(outcome($(string(call)), $(esc(call)), $(esc(wanted))))
end

same(what, found, wanted) = found == wanted || fail(what, "$found, not $wanted")

macro same(found, wanted)
    :(same($(string(found)), $(esc(found)), $(esc(wanted))))
end

"What a function with one output of type `T` gives."
function answer(T, call, arguments...)
    out = Ref{T}()
    outcome(call, call(arguments..., out), Status.SUCCESS)
    return out[]
end

barrier() = @must FFI.nvshmemrs_barrier(rt, WORLD)

"The array on symmetric memory."
on(T, address, count) = unsafe_wrap(Array, Ptr{T}(address), count)
allocate(T, count) = on(T, answer(Ptr{Cvoid}, FFI.nvshmemrs_calloc, rt, count, sizeof(T)), count)

function release(array)
    barrier()
    @must FFI.nvshmemrs_free(rt, pointer(array))
end

"The address of an element, counted from 0 as C does. Only for symmetric memory, which Julia does not move or collect."
at(array, index = 0) = pointer(array, index + 1)

function team_config()
    config = answer(FFI.TeamConfig, FFI.nvshmemrs_team_config_default)
    @same config.version (1 << 16) + 64
    return config
end

my_pe_in(team) = answer(Int32, FFI.nvshmemrs_team_my_pe, rt, team)
n_pes_in(team) = answer(Int32, FFI.nvshmemrs_team_n_pes, rt, team)
translate(source, pe, dest) = answer(Int32, FFI.nvshmemrs_team_translate_pe, rt, source, pe, dest)

"The last PE, the one before the one before it, and so on to PE 0 or 1; INVALID on the others."
function split_back()
    default = team_config()
    config = Ref(FFI.TeamConfig(default.version, 3, default.uniqueid, default.reserved))
    team = answer(UInt64, FFI.nvshmemrs_team_split_strided, rt, WORLD, n - 1, -2, (n + 1) ÷ 2, config,
                  TeamConfigMask.NUM_CONTEXTS)
    return team, iseven(n - 1 - me) ? (n - 1 - me) ÷ 2 : -1
end

function teams()
    back, mine = split_back()
    @same my_pe_in(back) mine
    @same n_pes_in(back) (mine < 0 ? -1 : (n + 1) ÷ 2)
    @same translate(WORLD, me, back) mine
    if mine < 0
        @same back FFI.Team.INVALID
        @refused Status.BAD_HANDLE FFI.nvshmemrs_sync(rt, back)
    else
        @same translate(back, 0, WORLD) n - 1
        config = answer(FFI.TeamConfig, FFI.nvshmemrs_team_get_config, rt, back, TeamConfigMask.NUM_CONTEXTS)
        @same config.num_contexts 3
    end

    row_at, column_at = Ref{UInt64}(), Ref{UInt64}()
    @must FFI.nvshmemrs_team_split_2d(rt, WORLD, 2, C_NULL, 0, C_NULL, 0, row_at, column_at)
    row, column = row_at[], column_at[]
    @same (my_pe_in(row), n_pes_in(row)) (me % 2, min(2, n - me ÷ 2 * 2))
    @same (my_pe_in(column), n_pes_in(column)) (me ÷ 2, (n - me % 2 + 1) ÷ 2)

    # PE 0 hands a number out, and the PEs meet by it in another order.
    words = allocate(UInt64, 2)
    if me == 0
        @must FFI.nvshmemrs_team_unique_id(rt, at(words))
    end
    @must FFI.nvshmemrs_broadcast(rt, WORLD, at(words), at(words), sizeof(UInt64), 0)
    default = team_config()
    config = Ref(FFI.TeamConfig(default.version, default.num_contexts, words[1], default.reserved))
    turned = answer(UInt64, FFI.nvshmemrs_team_init, rt, config, TeamConfigMask.UNIQUEID, n, right)
    @same my_pe_in(turned) right
    @same translate(turned, 0, WORLD) n - 1
    found = answer(FFI.TeamConfig, FFI.nvshmemrs_team_get_config, rt, turned, TeamConfigMask.UNIQUEID)
    @same found.uniqueid words[1]

    # This PE's number in WORLD is its left neighbour's in the team.
    words[2] = 100 + me
    barrier()
    peer = answer(Ptr{Cvoid}, FFI.nvshmemrs_team_ptr, rt, turned, at(words), me)
    @same on(UInt64, peer, 2)[2] 100 + left
    release(words)

    @must FFI.nvshmemrs_team_destroy(rt, turned)
    @refused Status.BAD_HANDLE FFI.nvshmemrs_team_my_pe(rt, turned, Ref{Int32}())
    @refused Status.BAD_HANDLE FFI.nvshmemrs_barrier(rt, turned)
    @must FFI.nvshmemrs_team_destroy(rt, row)
    @must FFI.nvshmemrs_team_destroy(rt, column)
    @must FFI.nvshmemrs_team_destroy(rt, back) # does nothing where it is INVALID
    @refused Status.INVALID_VALUE FFI.nvshmemrs_team_destroy(rt, WORLD)
end

function strided()
    field, row, got = allocate(Float64, 16), Float64[me * 100 + i for i in 0:7], zeros(4)
    @must FFI.nvshmemrs_iput(rt, at(field, 1), row, 3, 2, 8, 4, right)
    barrier()
    @same field [i % 3 == 1 && i < 12 ? left * 100 + (i - 1) ÷ 3 * 2 : 0 for i in 0:15]
    @must FFI.nvshmemrs_iget(rt, got, at(field, 10), 1, -3, 8, 4, right)
    @same got [me * 100 + i * 2 for i in 3:-1:0]
    release(field)

    blocks, source, back = allocate(Int32, 24), Int32[me * 100 + i for i in 0:11], zeros(Int32, 8)
    @must FFI.nvshmemrs_ibput(rt, at(blocks, 2), source, 5, 3, 4, 2, 4, right)
    barrier()
    in_block(i) = 2 <= i < 19 && (i - 2) % 5 < 2
    @same blocks [in_block(i) ? left * 100 + (i - 2) ÷ 5 * 3 + (i - 2) % 5 : 0 for i in 0:23]
    @must FFI.nvshmemrs_ibget(rt, back, at(blocks, 2), 2, 5, 4, 2, 4, right)
    @same back [me * 100 + i ÷ 2 * 3 + i % 2 for i in 0:7]
    release(blocks)

    arrived, signal = allocate(Float64, 4), allocate(UInt64, 1)
    GC.@preserve row begin
        @must FFI.nvshmemrs_put_signal_nbi(rt, at(arrived), row, 24, at(signal), 7, SignalOp.ADD, right)
        @must FFI.nvshmemrs_signal_wait(rt, at(signal), Cmp.EQ, 7, C_NULL)
        @same arrived [left * 100 .+ (0:2); 0]
        @must FFI.nvshmemrs_quiet(rt)
    end
    release(signal)
    release(arrived)
end

# Each step is an operation, its operands, and the old value if it gives one.
const INTEGER_STEPS = (
    (:set, (5,), nothing), (:fetch, (), 5), (:swap, (7,), 5), (:compare_swap, (7, 12), 7), (:compare_swap, (7, 1), 12),
    (:inc, (), nothing), (:fetch_inc, (), 13), (:add, (4,), nothing), (:fetch_add, (2,), 18),
    (:or, (3,), nothing), (:fetch_or, (8,), 23), (:and, (29,), nothing), (:fetch_and, (21,), 29),
    (:xor, (1,), nothing), (:fetch_xor, (255,), 20),
)
const REAL_STEPS =
    ((:set, (1.5,), nothing), (:fetch, (), 1.5), (:swap, (2.5,), 1.5), (:add, (0.25,), nothing), (:fetch_add, (1,), 2.75))

# The left neighbour alone writes to this PE's words, so every old value is known.
function atomics(T, suffix, steps, amount, before, after)
    word = allocate(T, 2)
    call(operation) = getfield(FFI, Symbol("nvshmemrs_atomic_", operation, suffix))
    for (operation, operands, wanted) in steps
        if wanted === nothing
            @must call(operation)(rt, at(word), operands..., right)
        else
            same("$operation$suffix", answer(T, call(operation), rt, at(word), operands..., right), wanted)
        end
    end
    old = Ref{T}(99)
    GC.@preserve old begin
        @must getfield(FFI, Symbol("nvshmemrs_atomic_fetch_add", suffix, "_nbi"))(rt, old, at(word), amount, right)
        @must FFI.nvshmemrs_quiet(rt)
        same("fetch_add$(suffix)_nbi", old[], before)
    end
    barrier()
    same("words after atomics$suffix", word, [after, 0])
    release(word)
end

# The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
function waits()
    words, which = allocate(Int32, 4), zeros(Csize_t, 4)
    i32(values...) = Int32[values...]
    one, five, values, others = i32(1), i32(5), i32(1, 3, 5, 9), i32(0, 0, 5, 0)
    not_first, not_odd = i32(1, 0, 0, 0), i32(0, 1, 0, 1)
    ask(T, call, status, cmp, value) = answer(T, call, rt, at(words), 4, status, cmp, value, Dtype.INT32)
    function some(call, status, cmp, value)
        found = answer(Csize_t, call, rt, at(words), 4, which, status, cmp, value, Dtype.INT32)
        return Int.(which[1:found])
    end
    test_first() = answer(Int32, FFI.nvshmemrs_test, rt, at(words), Cmp.EQ, one, Dtype.INT32)
    @same test_first() 0
    barrier()
    @must FFI.nvshmemrs_p32(rt, at(words), 1, right)
    @must FFI.nvshmemrs_wait_until(rt, at(words), Cmp.EQ, one, Dtype.INT32)
    @same test_first() 1
    @same ask(Csize_t, FFI.nvshmemrs_test_any, C_NULL, Cmp.GE, five) NOWHERE
    barrier()

    @must FFI.nvshmemrs_p32(rt, at(words, 2), 5, right)
    @same ask(Csize_t, FFI.nvshmemrs_wait_until_any, not_first, Cmp.GE, one) 2
    @same ask(Csize_t, FFI.nvshmemrs_test_any, C_NULL, Cmp.GE, five) 2
    @same some(FFI.nvshmemrs_wait_until_some, C_NULL, Cmp.GE, one) [0, 2]
    @same some(FFI.nvshmemrs_test_some, not_first, Cmp.GE, one) [2]
    @same ask(Int32, FFI.nvshmemrs_test_all, C_NULL, Cmp.GE, one) 0
    @same ask(Int32, FFI.nvshmemrs_test_all, not_odd, Cmp.GE, one) 1
    @same ask(Csize_t, FFI.nvshmemrs_wait_until_any, i32(1, 1, 1, 1), Cmp.GE, one) NOWHERE
    @same ask(Csize_t, FFI.nvshmemrs_wait_until_any_vector, C_NULL, Cmp.EQ, i32(7, 7, 5, 7)) 2
    @same ask(Csize_t, FFI.nvshmemrs_test_any_vector, not_odd, Cmp.EQ, i32(7, 0, 5, 0)) 2
    barrier()

    @must FFI.nvshmemrs_p32(rt, at(words, 1), 3, right)
    @must FFI.nvshmemrs_p32(rt, at(words, 3), 9, right)
    @must FFI.nvshmemrs_wait_until_all(rt, at(words), 4, C_NULL, Cmp.GE, one, Dtype.INT32)
    @must FFI.nvshmemrs_wait_until_all_vector(rt, at(words), 4, C_NULL, Cmp.EQ, values, Dtype.INT32)
    @same ask(Int32, FFI.nvshmemrs_test_all_vector, C_NULL, Cmp.EQ, values) 1
    @same ask(Int32, FFI.nvshmemrs_test_all_vector, C_NULL, Cmp.EQ, others) 0
    @same some(FFI.nvshmemrs_wait_until_some_vector, C_NULL, Cmp.EQ, i32(1, 0, 5, 0)) [0, 2]
    @same some(FFI.nvshmemrs_test_some_vector, C_NULL, Cmp.EQ, others) [2]
    release(words)

    real, word = allocate(Float64, 1), allocate(UInt64, 1)
    @must FFI.nvshmemrs_put(rt, at(real), [2.5], 8, right)
    @must FFI.nvshmemrs_wait_until(rt, at(real), Cmp.GT, [0.5], Dtype.DOUBLE)
    @same real [2.5]
    @must FFI.nvshmemrs_atomic_add64(rt, at(word), 3, right)
    @must FFI.nvshmemrs_wait_until(rt, at(word), Cmp.NE, UInt64[0], Dtype.UINT64)
    @same word [3]
    release(word)
    release(real)
end

# Member `m` of `k`. What no member writes to stays -7.
function moves(team, m, k, dest, source)
    function fill_both()
        @must FFI.nvshmemrs_sync(rt, team)
        dest .= -7
        source .= m * 100 .+ (0:63)
        @must FFI.nvshmemrs_sync(rt, team)
    end
    fill_both()
    @must FFI.nvshmemrs_broadcast(rt, team, at(dest), at(source), 24, k - 1)
    @same dest[1:4] [(k - 1) * 100 .+ (0:2); -7]

    fill_both()
    @must FFI.nvshmemrs_fcollect(rt, team, at(dest), at(source), 24)
    @same dest[1:(3k + 1)] [[i ÷ 3 * 100 + i % 3 for i in 0:(3k - 1)]; -7]
    fill_both()
    @must FFI.nvshmemrs_fcollect(rt, team, at(source), at(source, 3m), 24)
    @same source[1:3k] [i ÷ 3 * 100 + i for i in 0:(3k - 1)]

    fill_both() # member m gives m + 1 elements
    @must FFI.nvshmemrs_collect(rt, team, at(dest), at(source), (m + 1) * 8)
    collected = [pe * 100 + i for pe in 0:(k - 1) for i in 0:pe]
    @same dest[1:(length(collected) + 1)] [collected; -7]

    received = [i ÷ 2 * 100 + 2m + i % 2 for i in 0:(2k - 1)]
    fill_both()
    @must FFI.nvshmemrs_alltoall(rt, team, at(dest), at(source), 16)
    @same dest[1:(2k + 1)] [received; -7]
    fill_both()
    @must FFI.nvshmemrs_alltoall(rt, team, at(source), at(source), 16)
    @same source[1:2k] received
    fill_both()
    @must FFI.nvshmemrs_alltoalls(rt, team, at(dest), at(source), 2, 3, 8, 2)
    @same dest[1:4k] [iseven(i) ? i ÷ 4 * 100 + (2m + i ÷ 2 % 2) * 3 : -7 for i in 0:(4k - 1)]
end

function scans(team, m, k, dest, source)
    function run(call, to, count, op)
        @must FFI.nvshmemrs_sync(rt, team)
        dest .= -7
        source .= (m + 1) .* (1:16)
        @must FFI.nvshmemrs_sync(rt, team)
        @must call(rt, team, to, at(source), count, Dtype.INT32, op)
    end
    sum, before, to_me = k * (k + 1) ÷ 2, m * (m + 1) ÷ 2, (m + 1) * (m + 2) ÷ 2
    kept = [sum * (2m + 1), sum * (2m + 2)]
    run(FFI.nvshmemrs_reducescatter, at(dest), 2, Op.SUM)
    @same dest[1:3] [kept; -7]
    run(FFI.nvshmemrs_reducescatter, at(source, 2m), 2, Op.SUM)
    @same source[(2m + 1):(2m + 2)] kept
    run(FFI.nvshmemrs_inscan, at(dest), 2, Op.SUM)
    @same dest[1:3] [to_me, to_me * 2, -7]
    run(FFI.nvshmemrs_inscan, at(source), 2, Op.SUM)
    @same source[1:3] [to_me, to_me * 2, (m + 1) * 3]
    run(FFI.nvshmemrs_exscan, at(dest), 2, Op.SUM)
    @same dest[1:3] [before, before * 2, -7]
    run(FFI.nvshmemrs_exscan, at(source), 1, Op.MIN)
    @same source[1] (m == 0 ? typemax(Int32) : 1)
end

function reductions(team, m, k, memory)
    for (T, dtype, op, mine, wanted) in (
        (UInt8, Dtype.UINT8, Op.XOR, 1 << m | 1 << 7, (1 << k) - 1 + ((k % 2) << 7)),
        (Int16, Dtype.INT16, Op.MIN, -m, 1 - k),
        (UInt32, Dtype.UINT32, Op.AND, ~(UInt32(1) << m), ~((UInt32(1) << k) - UInt32(1))),
        (UInt64, Dtype.UINT64, Op.OR, 1 << (40 + m), ((1 << k) - 1) << 40),
        (Int64, Dtype.INT64, Op.PROD, -(m + 1), (-1)^k * factorial(k)),
        (Float16, Dtype.HALF, Op.SUM, m + 0.5, k^2 / 2),
        (Float32, Dtype.FLOAT, Op.MAX, m + 0.5, k - 0.5),
        (Float64, Dtype.DOUBLE, Op.SUM, (m + 1) * 0.25, k * (k + 1) ÷ 2 * 0.25),
        (ComplexF32, Dtype.COMPLEXF, Op.PROD, im, im^k),
        (ComplexF64, Dtype.COMPLEXD, Op.SUM, m + im, k * (k - 1) ÷ 2 + k * im),
    )
        source, dest = on(T, at(memory), 4), on(T, at(memory, 8), 3)
        source[1:2] .= mine
        dest .= 77
        @must FFI.nvshmemrs_sync(rt, team)
        @must FFI.nvshmemrs_reduce(rt, team, at(dest), at(source), 2, dtype, op)
        same("reduce of $T", dest, T[wanted, wanted, 77])
        @must FFI.nvshmemrs_reduce(rt, team, at(source), at(source), 2, dtype, op)
        same("reduce of $T in place", source[1:2], T[wanted, wanted])
    end
end

function collectives()
    memory = allocate(Int64, 128)
    back, mine = split_back()
    function run(team, m, k)
        moves(team, m, k, view(memory, 1:64), view(memory, 65:128))
        scans(team, m, k, on(Int32, at(memory), 16), on(Int32, at(memory, 8), 16))
        reductions(team, m, k, memory)
    end
    run(WORLD, me, n)
    barrier()
    if mine >= 0
        run(back, mine, (n + 1) ÷ 2)
        @must FFI.nvshmemrs_barrier(rt, back)
    end
    @must FFI.nvshmemrs_team_destroy(rt, back)
    release(memory)
end

function streams()
    data, words, row = allocate(Float64, 4), allocate(UInt64, 2), Float64[me * 10 + i for i in 0:2]
    first_stream, second = answer(UInt64, FFI.nvshmemrs_stream_new, rt), answer(UInt64, FFI.nvshmemrs_stream_new, rt)
    start, stop = answer(UInt64, FFI.nvshmemrs_event_new, rt), answer(UInt64, FFI.nvshmemrs_event_new, rt)
    # The stream's thread is none of Julia's, so what it calls must not be Julia code: this wakes a Julia task.
    called = Base.AsyncCondition()
    GC.@preserve row called begin
        @must FFI.nvshmemrs_event_record(start, first_stream)
        @must FFI.nvshmemrs_put_signal(first_stream, at(data), row, sizeof(row), at(words), 1, SignalOp.SET, right)
        @must FFI.nvshmemrs_signal_wait(first_stream, at(words), Cmp.EQ, 1, C_NULL)
        @must FFI.nvshmemrs_event_record(stop, first_stream)
        @must FFI.nvshmemrs_stream_wait_event(second, stop)
        @must FFI.nvshmemrs_stream_call(second, cglobal(:uv_async_send), called.handle)
        @must FFI.nvshmemrs_stream_synchronize(second)
        wait(called)
        @same data [left * 10 .+ (0:2); 0]
        @must FFI.nvshmemrs_event_synchronize(stop)
        @same answer(Int32, FFI.nvshmemrs_event_query, stop) 1
        milliseconds = answer(Float64, FFI.nvshmemrs_event_elapsed, start, stop)
        same("event_elapsed $milliseconds within bounds", 0 <= milliseconds < 60e3, true)

        # An error is kept until the stream is synchronized, once; what is queued behind it runs.
        @must FFI.nvshmemrs_put(first_stream, at(data), row, 8, n)
        @same answer(UInt64, FFI.nvshmemrs_atomic_fetch_add64, first_stream, at(words, 1), 4, right) 0
        @refused Status.PE_RANGE FFI.nvshmemrs_stream_synchronize(first_stream)
        @must FFI.nvshmemrs_stream_synchronize(first_stream)
        @must FFI.nvshmemrs_barrier(first_stream, WORLD)
        @must FFI.nvshmemrs_stream_synchronize(first_stream)
        @same words[2] 4
        @same answer(Int32, FFI.nvshmemrs_stream_query, first_stream) 1
    end
    close(called)
    @must FFI.nvshmemrs_event_free(start)
    @must FFI.nvshmemrs_event_free(stop)
    @must FFI.nvshmemrs_stream_free(second)
    @must FFI.nvshmemrs_stream_free(first_stream)
    release(words)
    release(data)
end

function memory()
    small = allocate(Int64, 4)
    small .= me * 10 .+ (0:3)
    grown_at = answer(Ptr{Cvoid}, FFI.nvshmemrs_realloc, rt, at(small), 500 * 8)
    grown = on(Int64, grown_at, 500)
    @same grown[1:4] me * 10 .+ (0:3)
    @must FFI.nvshmemrs_p64(rt, at(grown, 499), 77 + me, right)
    barrier()
    @same grown[500] 77 + left
    @same answer(Ptr{Cvoid}, FFI.nvshmemrs_realloc, rt, grown_at, 0) C_NULL

    # The caller's own memory becomes symmetric where it is, and private again.
    bytes, pages = 65536, Ref{Ptr{Cvoid}}()
    @same ccall(:posix_memalign, Cint, (Ptr{Ptr{Cvoid}}, Csize_t, Csize_t), pages, bytes, bytes) 0
    buffer = on(Int64, pages[], bytes ÷ 8)
    buffer .= 0
    buffer[2] = me * 10 + 1
    registered = answer(Ptr{Cvoid}, FFI.nvshmemrs_buffer_register, rt, pages[], bytes, C_NULL)
    symmetric = on(Int64, registered, bytes ÷ 8)
    @same symmetric[2] me * 10 + 1
    @must FFI.nvshmemrs_p64(rt, at(symmetric, 5), 50 + me, right)
    @must FFI.nvshmemrs_p64(rt, at(buffer, 6), 60 + me, right)
    barrier()
    @same buffer[6] 50 + left
    @same symmetric[7] 60 + left
    barrier()
    @must FFI.nvshmemrs_buffer_unregister(rt, registered)
    @same (buffer[2], buffer[7]) (me * 10 + 1, 60 + left)
    @refused Status.NOT_SYMMETRIC FFI.nvshmemrs_p64(rt, at(buffer), 1, right)
    Libc.free(pages[])
end

me, n = -1, 0
const rt = answer(UInt64, FFI.nvshmemrs_init, C_NULL)
me, n = Int(answer(Int32, FFI.nvshmemrs_my_pe, rt)), Int(answer(Int32, FFI.nvshmemrs_n_pes, rt))
left, right = mod(me - 1, n), mod(me + 1, n)
@same FFI.nvshmemrs_thread_support() FFI.Thread.MULTIPLE

teams()
strided()
atomics(UInt32, "32", INTEGER_STEPS, 1, 235, 236)
atomics(UInt64, "64", INTEGER_STEPS, 1, 235, 236)
atomics(Float32, "_float", REAL_STEPS, 0.25, 3.75, 4)
atomics(Float64, "_double", REAL_STEPS, 0.25, 3.75, 4)
waits()
collectives()
streams()
memory()

@same answer(FFI.HeapStats, FFI.nvshmemrs_heap_stats, rt).allocations 0
@must FFI.nvshmemrs_finalize(rt)
# One write, so that the lines of several PEs do not mix.
print("model ok PE $me of $n (Julia)\n")
