# All types with all operations, from every PE to its right neighbour: data arrives, and elements beside it stay.

"A user's own 16-bit type, as packages with one have it."
primitive type Brain 16 end
Brain(x::Real) = reinterpret(Brain, UInt16(reinterpret(UInt32, Float32(x)) >> 16))
Base.Float32(x::Brain) = reinterpret(Float32, UInt32(reinterpret(UInt16, x)) << 16)
NVSHMEMRS.dtype(::Type{Brain}) = NVSHMEMRS.FFI.Dtype.BFLOAT16

"A structure as an element: it has no number of the library's, and goes by its bytes."
struct Pair24
    a::Int64
    b::NTuple{2, Float64}
end

const INTEGERS = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
const REALS = (Float16, Float32, Float64)
const COMPLEX = (ComplexF32, ComplexF64)

"A value that tells PE and place; every type can hold it."
value(::Type{T}, pe, i) where {T} = T(10 * pe + i)
value(::Type{Pair24}, pe, i) = Pair24(pe, (i, -i))
value(::Type{Bool}, pe, i) = isodd(pe + i)
value(::Type{Char}, pe, i) = Char(65 + 10 * pe + i)

transfer(T, me, n, left, right) = transfer(T, Int(me), Int(left), Int(right))
function transfer(T, me, left, right)
    x = SymmetricArray(T[value(T, 0, 0) for _ in 1:8])
    row, kept = T[value(T, me, i) for i in 1:3], value(T, 0, 0)
    came = T[value(T, left, i) for i in 1:3]
    arrived(expected) = (barrier(); same("$T arrived", collect(x), expected); sync(); x .= Ref(kept); barrier())

    put!(view(x, 3:5), row, right)
    arrived([kept; kept; came; kept; kept; kept])
    put!(view(x, 4), row[2], right)
    arrived([kept; kept; kept; came[2]; fill(kept, 4)])
    put!(view(x, 2:3:8), row, right)
    arrived([kept; came[1]; kept; kept; came[2]; kept; kept; came[3]])
    put_nbi!(view(x, 6:8), copy(row), right)
    quiet()
    arrived([fill(kept, 5); came])

    x[3:5] = row
    barrier()
    theirs = T[value(T, right, i) for i in 1:3]
    got = T[kept, kept, kept, kept, kept]
    get!(view(got, 2:4), view(x, 3:5), right)
    same("get! of $T", got, [kept; theirs; kept])
    same("get of one $T", get(view(x, 4), right), theirs[2])
    got .= Ref(kept)
    get!(view(got, 1:2:5), view(x, 5:-1:3), right)
    same("strided get! of $T", got, [theirs[3]; kept; theirs[2]; kept; theirs[1]])
    got .= Ref(kept)
    get_nbi!(view(got, 2:4), view(x, 3:5), right)
    quiet()
    same("get_nbi! of $T", got, [kept; theirs; kept])
    release(x)
end

function moving_collectives(T, me, n)
    kept = value(T, 0, 0)
    x, source = SymmetricArray(fill(kept, 3n + 2)), SymmetricArray(T[value(T, me, i) for i in 1:2n])
    clean() = (barrier(); x .= Ref(kept); barrier())
    broadcast!(view(x, 2:3), view(source, 1:2), n - 1)
    same("broadcast! of $T", collect(x), [kept; [value(T, n - 1, i) for i in 1:2]; fill(kept, 3n - 1)])
    clean()
    fcollect!(view(x, 2:(2n + 1)), view(source, 1:2))
    same("fcollect! of $T", collect(x), [kept; [value(T, pe, i) for pe in 0:(n - 1) for i in 1:2]; fill(kept, n + 1)])
    clean()
    collect!(x, view(source, 1:(me == 0 ? 2 : 1)))
    same("collect! of $T", x[1:(n + 2)], [value(T, 0, 1); value(T, 0, 2); [value(T, pe, 1) for pe in 1:(n - 1)]; kept])
    clean()
    gather!(me == n - 1 ? view(x, 2:(n + 1)) : nothing, view(source, 2:2), n - 1)
    taken = me == n - 1 ? [value(T, pe, 2) for pe in 0:(n - 1)] : fill(kept, n)
    same("gather! of $T", collect(x), [kept; taken; fill(kept, 2n + 1)])
    clean()
    scatter!(view(x, 2:3), me == n - 1 ? source : nothing, n - 1)
    same("scatter! of $T", collect(x), [kept; [value(T, n - 1, 2me + i) for i in 1:2]; fill(kept, 3n - 1)])
    clean()
    alltoall!(view(x, 2:(2n + 1)), source)
    sent = [value(T, pe, 2me + i) for pe in 0:(n - 1) for i in 1:2]
    same("alltoall! of $T", collect(x), [kept; sent; fill(kept, n + 1)])
    clean()
    alltoall!(view(x, 1:2:(2n - 1)), view(source, 2:2:2n))
    strided = fill(kept, 3n + 2)
    strided[1:2:(2n - 1)] = [value(T, pe, 2me + 2) for pe in 0:(n - 1)]
    same("strided alltoall! of $T", collect(x), strided)
    release(x, source)
end

"Left folds in team order, as the library promises them."
function reductions(T, ops, me, n; up = identity, down = T)
    given(pe) = [down(pe + 1), down(2), down(3 - pe)]
    fold(op, values) = down(foldl((a, b) -> op(a, b), up.(values)))
    kept = down(7)
    for op in ops
        x, source = SymmetricArray(fill(kept, 5)), SymmetricArray(given(me))
        inside = view(x, 2:4)
        expected(pes) = [fold(op, [given(pe)[i] for pe in pes]) for i in 1:3]
        around(values) = [kept; values; kept]
        allreduce!(op, inside, source)
        same("allreduce! $op of $T", collect(x), around(expected(0:(n - 1))))
        inscan!(op, inside, source)
        same("inscan! $op of $T", collect(x), around(expected(0:me)))
        inside .= Ref(kept)
        exscan!(op, inside, source)
        me == 0 || same("exscan! $op of $T", collect(x), around(expected(0:(me - 1))))
        allreduce!(op, source)
        same("allreduce! $op of $T in place", collect(source), expected(0:(n - 1)))
        release(x, source)

        parts, own = SymmetricArray(repeat(given(me), n)), SymmetricArray(fill(kept, 5))
        reducescatter!(op, view(own, 2:4), parts)
        same("reducescatter! $op of $T", collect(own), around(expected(0:(n - 1))))
        release(parts, own)
    end
end

function atomics(T, me, right)
    x = SymmetricArray(T[100, 10, 100])
    word = view(x, 2)
    barrier()
    whole = T <: Integer
    steps = Any[
        (() -> atomic_fetch(word, right), 10, 10), (() -> atomic_set!(word, 12, right), nothing, 12),
        (() -> atomic_swap!(word, 6, right), 12, 6), (() -> atomic_add!(word, 3, right), nothing, 9),
        (() -> atomic_fetch_add!(word, 1, right), 9, 10),
    ]
    whole && append!(steps, [
        (() -> atomic_compare_swap!(word, 1, 99, right), 10, 10), (() -> atomic_compare_swap!(word, 10, 12, right), 10, 12),
        (() -> atomic_inc!(word, right), nothing, 13), (() -> atomic_fetch_inc!(word, right), 13, 14),
        (() -> atomic_and!(word, 6, right), nothing, 6), (() -> atomic_fetch_and!(word, 3, right), 6, 2),
        (() -> atomic_or!(word, 8, right), nothing, 10), (() -> atomic_fetch_or!(word, 1, right), 10, 11),
        (() -> atomic_xor!(word, 3, right), nothing, 8), (() -> atomic_fetch_xor!(word, 1, right), 8, 9),
    ])
    for (i, (step, old, now)) in enumerate(steps)
        same("atomic $i of $T", step(), old)
        same("after atomic $i of $T", get(word, right), now)
    end
    fetched, one = fill(T(55), 3), Ref{T}(0)
    slot = view(fetched, 2)
    nonblocking = Any[(() -> atomic_fetch_nbi!(slot, word, right)), (() -> atomic_swap_nbi!(slot, word, 9, right)),
                      (() -> atomic_fetch_add_nbi!(slot, word, 2, right))]
    whole && append!(nonblocking, [
        (() -> atomic_compare_swap_nbi!(slot, word, 1, 2, right)), (() -> atomic_fetch_inc_nbi!(slot, word, right)),
        (() -> atomic_fetch_and_nbi!(slot, word, 127, right)), (() -> atomic_fetch_or_nbi!(slot, word, 0, right)),
        (() -> atomic_fetch_xor_nbi!(slot, word, 0, right)),
    ])
    for (i, step) in enumerate(nonblocking)
        before = get(word, right)
        step()
        quiet()
        same("atomic without blocking $i of $T", fetched, T[55, before, 55])
    end
    before = get(word, right)
    atomic_fetch_nbi!(one, word, right)
    quiet()
    same("atomic_fetch_nbi! of $T to a Ref", one[], before)
    barrier()
    same("the words beside it, $T", (x[1], x[3]), (T(100), T(100)))
    release(x)
end

function waits(T, right)
    x = NVSHMEMRS.zeros(T, 4)
    barrier()
    put!(view(x, 3), 5, right)
    wait_until(==, view(x, 3), 5)
    for (cmp, against) in ((==, 5), (!=, 4), (>, 4), (>=, 5), (<, 6), (<=, 5))
        wait_until(cmp, view(x, 3), against)
        same("test $cmp of $T", NVSHMEMRS.test(cmp, view(x, 3), against), true)
        same("test not $cmp of $T", NVSHMEMRS.test(cmp, view(x, 2), cmp in (<, <=, !=) ? 0 : 5), cmp === (<=))
    end
    same("wait_until_any of $T", wait_until_any(>, x, 1), 3)
    same("wait_until_some of $T", wait_until_some(<, x, [1, 0, 6, 0]), [1, 3])
    wait_until_all(<=, x, 5)
    wait_until_all(==, x, [0, 0, 5, 0])
    same("test_all of $T", NVSHMEMRS.test_all(==, x, 0; status = [false, false, true, false]), true)
    same("test_any of $T", NVSHMEMRS.test_any(>, x, 5), nothing)
    same("test_some of $T", NVSHMEMRS.test_some(==, x, 0), [1, 2, 4])
    release(x)
end

"The types of a short run: one of each size and kind."
const FEW = (Int8, UInt16, Int32, UInt64, Float16, Float64, ComplexF32, Brain, Pair24)

"Every operation with every type, or with those of a short run."
function all_types(me, n, left, right; few = false)
    chosen(types) = filter(T -> !few || T in FEW, collect(types))
    for T in chosen((INTEGERS..., REALS..., COMPLEX..., Brain, Bool, Char, Pair24))
        transfer(T, me, n, left, right)
        moving_collectives(T, me, n)
    end
    for T in chosen(INTEGERS)
        reductions(T, (+, *, min, max, &, |, xor), me, n; down = x -> x % T)
    end
    for T in chosen(REALS)
        reductions(T, (+, *, min, max), me, n)
    end
    for T in chosen(COMPLEX)
        reductions(T, (+, *), me, n)
    end
    reductions(Brain, (+, *, min, max), me, n; up = Float32, down = Brain)
    for T in chosen((Int32, UInt32, Int64, UInt64, Float32, Float64))
        atomics(T, me, right)
    end
    for T in chosen((INTEGERS..., Float32, Float64))
        waits(T, right)
    end
end
