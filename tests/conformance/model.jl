# Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
# made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails says what
# it found. The same steps, in the same order, are in the programs of this name in the other languages.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS
using NVSHMEMRS: Status, test, test_all, test_any, test_some
import Mmap

function fail(what, text)
    print(stderr, "model: PE $me of $n: $what: $text\n")
    exit(1)
end

same(what, found, wanted) = found == wanted || fail(what, "$found, not $wanted")

macro same(found, wanted)
    :(same($(string(found)), $(esc(found)), $(esc(wanted))))
end

"The call must throw the library's error with this status."
macro refused(wanted, call)
    quote
        status = try
            $(esc(call))
            Status.SUCCESS
        catch problem
            problem isa NVSHMEMError || rethrow()
            problem.status
        end
        same($(string(call)), status, $(esc(wanted)))
    end
end

function release(x)
    barrier()
    free!(x)
end

"The element of this PE's copy, as an operation takes it."
at(x, i) = view(x, i)

"The last PE, the one before the one before it, and so on to PE 0 or 1."
function split_back()
    team = split_strided(TEAM_WORLD, n - 1, -2, (n + 1) ÷ 2; num_contexts = 3)
    return team, iseven(n - 1 - me) ? (n - 1 - me) ÷ 2 : -1
end

function teams()
    back, mine = split_back()
    @same my_pe(back) mine
    @same n_pes(back) (mine < 0 ? -1 : (n + 1) ÷ 2)
    @same translate(TEAM_WORLD, me, back) mine
    @same isvalid(back) (mine >= 0)
    if mine < 0
        @refused Status.BAD_HANDLE sync(back)
    else
        @same translate(back, 0, TEAM_WORLD) n - 1
        @same NVSHMEMRS.num_contexts(back) 3
    end

    row, column = split_2d(TEAM_WORLD, 2)
    @same (my_pe(row), n_pes(row)) (me % 2, min(2, n - me ÷ 2 * 2))
    @same (my_pe(column), n_pes(column)) (me ÷ 2, (n - me % 2 + 1) ÷ 2)

    # PE 0 hands a number out, and the PEs meet by it in another order.
    words = NVSHMEMRS.zeros(UInt64, 2)
    if me == 0
        words[1] = NVSHMEMRS.team_unique_id()
    end
    broadcast!(at(words, 1), 0)
    turned = Team(words[1], n, right)
    @same my_pe(turned) right
    @same translate(turned, 0, TEAM_WORLD) n - 1

    # This PE's number in the world is its left neighbour's in the team.
    words[2] = 100 + me
    barrier()
    peer = peer_array(words, me; team = turned)
    # A PE of another host has no address here.
    @same (peer === nothing ? nothing : peer[2]) (translate(TEAM_WORLD, left, TEAM_SHARED) >= 0 ? 100 + left : nothing)
    release(words)

    destroy!(turned)
    @refused Status.BAD_HANDLE my_pe(turned)
    @refused Status.BAD_HANDLE barrier(turned)
    destroy!(row)
    destroy!(column)
    destroy!(back) # does nothing where this PE is no member
    @refused Status.INVALID_VALUE destroy!(TEAM_WORLD)
end

function strided()
    field, row, got = NVSHMEMRS.zeros(Float64, 16), Float64[me * 100 + i for i in 0:7], zeros(4)
    put!(view(field, 2:3:11), view(row, 1:2:7), right)
    barrier()
    @same field [i % 3 == 1 && i < 12 ? left * 100 + (i - 1) ÷ 3 * 2 : 0 for i in 0:15]
    get!(got, view(field, 11:-3:2), right)
    @same got [me * 100 + i * 2 for i in 3:-1:0]
    release(field)

    # Blocks of 2 rows, in columns of 5 and of 3.
    blocks, source = NVSHMEMRS.zeros(Int32, 24), reshape(Int32[me * 100 + i for i in 0:11], 3, 4)
    inner = view(reshape(view(blocks, 3:22), 5, 4), 1:2, :)
    put!(inner, view(source, 1:2, :), right)
    barrier()
    in_block(i) = 2 <= i < 19 && (i - 2) % 5 < 2
    @same blocks [in_block(i) ? left * 100 + (i - 2) ÷ 5 * 3 + (i - 2) % 5 : 0 for i in 0:23]
    @same vec(get(inner, right)) [me * 100 + i ÷ 2 * 3 + i % 2 for i in 0:7]
    release(blocks)
end

# Each step is an operation, its operands, and the old value if it gives one.
const INTEGER_STEPS = (
    (atomic_set!, (5,), nothing), (atomic_fetch, (), 5), (atomic_swap!, (7,), 5),
    (atomic_compare_swap!, (7, 12), 7), (atomic_compare_swap!, (7, 1), 12),
    (atomic_inc!, (), nothing), (atomic_fetch_inc!, (), 13), (atomic_add!, (4,), nothing), (atomic_fetch_add!, (2,), 18),
    (atomic_or!, (3,), nothing), (atomic_fetch_or!, (8,), 23), (atomic_and!, (29,), nothing),
    (atomic_fetch_and!, (21,), 29), (atomic_xor!, (1,), nothing), (atomic_fetch_xor!, (255,), 20),
)
const REAL_STEPS = (
    (atomic_set!, (1.5,), nothing), (atomic_fetch, (), 1.5), (atomic_swap!, (2.5,), 1.5), (atomic_add!, (0.25,), nothing),
    (atomic_fetch_add!, (1,), 2.75),
)

# The left neighbour alone writes to this PE's words, so every old value is known.
function atomics(T, steps, amount, before, after)
    word = NVSHMEMRS.zeros(T, 2)
    for (operation, operands, wanted) in steps
        same("$operation of $T", operation(at(word, 1), operands..., right), wanted)
    end
    old = Ref{T}(99)
    atomic_fetch_add_nbi!(old, at(word, 1), amount, right)
    quiet()
    same("atomic_fetch_add_nbi! of $T", old[], before)
    barrier()
    same("words after atomics of $T", word, [after, 0])
    release(word)
end

# The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
function waits()
    words = NVSHMEMRS.zeros(Int32, 4)
    not_first, not_odd = Bool[1, 0, 0, 0], Bool[0, 1, 0, 1]
    @same test(==, at(words, 1), 1) false
    barrier()
    put!(at(words, 1), 1, right)
    wait_until(==, at(words, 1), 1)
    @same test(==, at(words, 1), 1) true
    @same test_any(>=, words, 5) nothing
    barrier()

    put!(at(words, 3), 5, right)
    @same wait_until_any(>=, words, 1; status = not_first) 3
    @same test_any(>=, words, 5) 3
    @same wait_until_some(>=, words, 1) [1, 3]
    @same test_some(>=, words, 1; status = not_first) [3]
    @same test_all(>=, words, 1) false
    @same test_all(>=, words, 1; status = not_odd) true
    @same wait_until_any(>=, words, 1; status = [1, 1, 1, 1]) nothing
    @same wait_until_any(==, words, [7, 7, 5, 7]) 3
    @same test_any(==, words, [7, 0, 5, 0]; status = not_odd) 3
    barrier()

    put!(at(words, 2), 3, right)
    put!(at(words, 4), 9, right)
    wait_until_all(>=, words, 1)
    wait_until_all(==, words, [1, 3, 5, 9])
    @same test_all(==, words, [1, 3, 5, 9]) true
    @same test_all(==, words, [0, 0, 5, 0]) false
    @same wait_until_some(==, words, [1, 0, 5, 0]) [1, 3]
    @same test_some(==, words, [0, 0, 5, 0]) [3]
    release(words)

    real, word = NVSHMEMRS.zeros(Float64, 1), NVSHMEMRS.zeros(UInt64, 1)
    put!(real, [2.5], right)
    wait_until(>, real, 0.5)
    @same real [2.5]
    atomic_add!(word, 3, right)
    wait_until(!=, word, 0)
    @same word [3]
    release(word)
    release(real)
end

# Member `m` of `k`. Elements that no member writes to stay -7.
function moves(team, m, k, dest, source)
    function fill_both()
        sync(team)
        dest .= -7
        source .= m * 100 .+ (0:63)
        sync(team)
    end
    fill_both()
    broadcast!(view(dest, 1:3), view(source, 1:3), k - 1; team = team)
    @same dest[1:4] [(k - 1) * 100 .+ (0:2); -7]

    fill_both()
    fcollect!(view(dest, 1:3k), view(source, 1:3); team = team)
    @same dest[1:(3k + 1)] [[i ÷ 3 * 100 + i % 3 for i in 0:(3k - 1)]; -7]
    fill_both()
    fcollect!(view(source, 1:3k), view(source, (3m + 1):(3m + 3)); team = team)
    @same source[1:3k] [i ÷ 3 * 100 + i for i in 0:(3k - 1)]

    fill_both() # member m gives m + 1 elements
    collect!(dest, view(source, 1:(m + 1)); team = team)
    collected = [pe * 100 + i for pe in 0:(k - 1) for i in 0:pe]
    @same dest[1:(length(collected) + 1)] [collected; -7]

    received = [i ÷ 2 * 100 + 2m + i % 2 for i in 0:(2k - 1)]
    fill_both()
    alltoall!(view(dest, 1:2k), view(source, 1:2k); team = team)
    @same dest[1:(2k + 1)] [received; -7]
    fill_both()
    alltoall!(view(source, 1:2k), view(source, 1:2k); team = team)
    @same source[1:2k] received
    fill_both()
    alltoall!(view(dest, 1:2:4k), view(source, 1:3:6k); team = team)
    @same dest[1:4k] [iseven(i) ? i ÷ 4 * 100 + (2m + i ÷ 2 % 2) * 3 : -7 for i in 0:(4k - 1)]

    for root in 0:(k - 1) # only the root's array is used
        own = (2root + 1):(2root + 2)
        fill_both()
        gather!(m == root ? view(dest, 1:2k) : nothing, view(source, 1:2), root; team = team)
        @same dest[1:(2k + 1)] [[m == root ? i ÷ 2 * 100 + i % 2 : -7 for i in 0:(2k - 1)]; -7]
        fill_both()
        gather!(view(source, 1:2k), view(source, own), root; team = team)
        @same source[1:2k] [m == root ? i ÷ 2 * 100 + 2root + i % 2 : m * 100 + i for i in 0:(2k - 1)]
        fill_both()
        scatter!(view(dest, 1:2), m == root ? view(source, 1:2k) : nothing, root; team = team)
        @same dest[1:3] [root * 100 + 2m, root * 100 + 2m + 1, -7]
        fill_both()
        scatter!(view(source, own), view(source, 1:2k), root; team = team)
        @same source[1:2k] [i ÷ 2 == root ? root * 100 + 2m + i % 2 : m * 100 + i for i in 0:(2k - 1)]
    end
end

function scans(team, m, k, dest, source)
    function run(call, op, to, from)
        sync(team)
        dest .= -7
        source .= (m + 1) .* (1:16)
        sync(team)
        call(op, to, from; team = team)
    end
    sum, before, to_me = k * (k + 1) ÷ 2, m * (m + 1) ÷ 2, (m + 1) * (m + 2) ÷ 2
    kept = [sum * (2m + 1), sum * (2m + 2)]
    first_two, whole, of_me = view(source, 1:2), view(source, 1:2k), view(source, (2m + 1):(2m + 2))
    run(reducescatter!, +, view(dest, 1:2), whole)
    @same dest[1:3] [kept; -7]
    run(reducescatter!, +, of_me, whole)
    @same of_me kept
    run(inscan!, +, view(dest, 1:2), first_two)
    @same dest[1:3] [to_me, to_me * 2, -7]
    run(inscan!, +, first_two, first_two)
    @same source[1:3] [to_me, to_me * 2, (m + 1) * 3]
    run(exscan!, +, view(dest, 1:2), first_two)
    @same dest[1:3] [before, before * 2, -7]
    run(exscan!, min, at(source, 1), at(source, 1))
    @same source[1] (m == 0 ? typemax(Int32) : 1)
end

function reductions(team, m, k, memory)
    for (T, op, mine, wanted) in (
        (UInt8, xor, 1 << m | 1 << 7, (1 << k) - 1 + ((k % 2) << 7)),
        (Int16, min, -m, 1 - k),
        (UInt32, &, ~(UInt32(1) << m), ~((UInt32(1) << k) - UInt32(1))),
        (UInt64, |, 1 << (40 + m), ((1 << k) - 1) << 40),
        (Int64, *, -(m + 1), (-1)^k * factorial(k)),
        (Float16, +, m + 0.5, k^2 / 2),
        (Float32, max, m + 0.5, k - 0.5),
        (Float64, +, (m + 1) * 0.25, k * (k + 1) ÷ 2 * 0.25),
        (ComplexF32, *, im, im^k),
        (ComplexF64, +, m + im, k * (k - 1) ÷ 2 + k * im),
    )
        typed = reinterpret(T, memory)
        source, dest = view(typed, 1:2), view(typed, 17:18)
        source .= T(mine)
        typed[17:19] .= T(77)
        sync(team)
        allreduce!(op, dest, source; team = team)
        same("allreduce! of $T", typed[17:19], T[wanted, wanted, 77])
        allreduce!(op, source; team = team)
        same("allreduce! of $T in place", source, T[wanted, wanted])
    end
end

function collectives()
    memory = NVSHMEMRS.zeros(Int64, 128)
    back, mine = split_back()
    function run(team, m, k)
        moves(team, m, k, view(memory, 1:64), view(memory, 65:128))
        small = reinterpret(Int32, memory)
        scans(team, m, k, view(small, 1:16), view(small, 17:32))
        reductions(team, m, k, memory)
    end
    run(TEAM_WORLD, me, n)
    barrier()
    if mine >= 0
        run(back, mine, (n + 1) ÷ 2)
        barrier(back)
    end
    destroy!(back)
    release(memory)
end

function streams()
    data, words = NVSHMEMRS.zeros(Float64, 4), NVSHMEMRS.zeros(UInt64, 2)
    row = Float64[me * 10 + i for i in 0:2]
    first_stream, second, start, stop = Stream(), Stream(), Event(), Event()
    # The stream's thread is none of Julia's; this wakes a Julia task.
    called = Base.AsyncCondition()
    record!(start, first_stream)
    put_signal!(view(data, 1:3), row, at(words, 1), 1, right; stream = first_stream)
    signal_wait(==, at(words, 1), 1; stream = first_stream)
    record!(stop, first_stream)
    wait_event(second, stop)
    notify(called, second)
    synchronize(second)
    wait(called)
    @same data [left * 10 .+ (0:2); 0]
    synchronize(stop)
    @same isready(stop) true
    milliseconds = NVSHMEMRS.elapsed(start, stop)
    same("elapsed $milliseconds within bounds", 0 <= milliseconds < 60e3, true)

    # An error is kept until the stream is synchronized, once; operations queued behind it run.
    put!(at(data, 1), 1.5, n; stream = first_stream)
    @same atomic_fetch_add!(at(words, 2), 4, right; stream = first_stream) 0
    @refused Status.PE_RANGE synchronize(first_stream)
    synchronize(first_stream)
    barrier(stream = first_stream)
    synchronize(first_stream)
    @same words[2] 4
    @same isready(first_stream) true
    close(called)
    destroy!(second)
    destroy!(first_stream)
    release(words)
    release(data)
end

function memory()
    small = SymmetricArray(me * 10 .+ collect(0:3))
    grown = NVSHMEMRS.realloc!(small, 500)
    @same grown[1:4] me * 10 .+ (0:3)
    put!(at(grown, 500), 77 + me, right)
    barrier()
    @same grown[500] 77 + left
    @same length(NVSHMEMRS.realloc!(grown, 0)) 0

    # The caller's own memory becomes symmetric where it is, and private again.
    buffer = Mmap.mmap(Mmap.Anonymous(), Vector{Int64}, (8192,), 0; shared = false)
    buffer[2] = me * 10 + 1
    registered = NVSHMEMRS.register(buffer)
    @same registered[2] me * 10 + 1
    put!(at(registered, 6), 50 + me, right)
    put!(at(registered, 7), 60 + me, right)
    barrier()
    @same buffer[6] 50 + left
    @same registered[7] 60 + left
    barrier()
    NVSHMEMRS.unregister!(registered)
    @same (buffer[2], buffer[7]) (me * 10 + 1, 60 + left)
    @refused Status.NOT_SYMMETRIC put!(at(registered, 1), 1, right)
end

me, n = -1, 0
NVSHMEMRS.init()
me, n = my_pe(), n_pes()
left, right = mod(me - 1, n), mod(me + 1, n)
@same NVSHMEMRS.FFI.nvshmemrs_thread_support() NVSHMEMRS.FFI.Thread.MULTIPLE

function atomics()
    atomics(UInt32, INTEGER_STEPS, 1, 235, 236)
    atomics(UInt64, INTEGER_STEPS, 1, 235, 236)
    atomics(Float32, REAL_STEPS, 0.25, 3.75, 4)
    atomics(Float64, REAL_STEPS, 0.25, 3.75, 4)
end

done = ""
for scenario in (teams, strided, atomics, waits, collectives, streams, memory)
    scenario()
    global done *= " $scenario"
end

@same NVSHMEMRS.heap_stats().allocations 0
NVSHMEMRS.finalize()
# One write, so that the lines of several PEs do not mix.
print("model ok PE $me of $n (Julia):$done\n")
