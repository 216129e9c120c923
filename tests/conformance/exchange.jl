# Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and "leaks": PEs exchange data of
# all types, and check the written elements and the elements beside them. The same steps, in the same order, are in the
# programs of this name in the other languages, so that PEs in different languages can run them as one job.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS
using NVSHMEMRS: Status, zeros

# Julia has the first type from 1.11 on; a program with types of its own says which ones they are.
primitive type BFloat16 16 end
primitive type E4M3 8 end
primitive type E5M2 8 end
NVSHMEMRS.dtype(::Type{BFloat16}) = NVSHMEMRS.FFI.Dtype.BFLOAT16
NVSHMEMRS.dtype(::Type{E4M3}) = NVSHMEMRS.FFI.Dtype.FLOAT8_E4M3FN
NVSHMEMRS.dtype(::Type{E5M2}) = NVSHMEMRS.FFI.Dtype.FLOAT8_E5M2

function fail(what, text)
    print(stderr, "exchange: PE $me of $n: $what: $text\n")
    exit(1)
end

same(what, found, wanted) = found == wanted || fail(what, "$found, not $wanted")

at(x, i) = view(x, i:i)

function release(x)
    barrier()
    free!(x)
end

"Each PE has ten cells of a ring, between copies of its neighbours' nearest ones."
function halo()
    field, flags = zeros(Float64, 12), zeros(UInt64, 2)
    all = Float64[j ÷ 10 * 100 + j % 10 + 1 for j in 0:(10n - 1)]
    mine = (10me + 1):(10me + 10)
    field[2:11] = all[mine]
    barrier()
    for step in 1:3
        put_signal!(at(field, 12), at(field, 2), at(flags, 2), 1, left; op = :add)
        put_signal!(at(field, 1), at(field, 11), at(flags, 1), 1, right; op = :add)
        signal_wait(>=, at(flags, 1), step)
        signal_wait(>=, at(flags, 2), step)
        field[2:11] = [field[i - 1] + field[i] + field[i + 1] for i in 2:11]
        barrier()
        all = circshift(all, 1) + all + circshift(all, -1)
    end
    same("cells", field[2:11], all[mine])
    release(flags)
    release(field)
end

draw(pe, k) = (pe * 131 + k * k * 7 + k) % 8n

"Eight bins on each PE; every PE counts its draws where their bins are."
function histogram()
    bins = zeros(UInt64, 9)
    for k in 0:99
        pe, index = divrem(draw(me, k), 8)
        if iseven(k)
            atomic_inc!(at(bins, index + 1), pe)
        else
            same("old", atomic_fetch_add!(at(bins, index + 1), 1, pe) < 100n, true)
        end
    end
    barrier()
    wanted = Base.zeros(UInt64, 9) # and nothing is counted behind the bins
    for pe in 0:(n - 1), k in 0:99
        owner, index = divrem(draw(pe, k), 8)
        wanted[index + 1] += owner == me
    end
    same("bins", collect(bins), wanted)
    release(bins)
end

# A small number in each type; complex ones also have an imaginary part.
number(T, real, imaginary = 0) = T(real)
number(T::Type{<:Complex}, real, imaginary = 0) = T(real, imaginary)
number(::Type{BFloat16}, real, imaginary = 0) =
    reinterpret(BFloat16, UInt16(reinterpret(UInt32, Float32(real)) >> 16))
# The nearest number with so many bits of mantissa, of two the even one; it is in the range of the type.
function eight_bits(real, mantissa, bias)
    bits, shift = reinterpret(UInt32, Float32(real)), 23 - mantissa
    nearest = (bits + (UInt32(1) << (shift - 1)) - UInt32(1) + (bits >> shift & UInt32(1))) >> shift
    UInt8(nearest - UInt32((127 - bias) << mantissa))
end
number(::Type{E4M3}, real, imaginary = 0) = reinterpret(E4M3, eight_bits(real, 3, 7))
number(::Type{E5M2}, real, imaginary = 0) = reinterpret(E5M2, eight_bits(real, 2, 15))

const BITS = (&, |, xor)
const ORDER = (+, min, max, *)
# In the order of the library's numbers, and so are the operations.
const TYPES = (
    Int8 => (ORDER..., BITS...), Int16 => (ORDER..., BITS...), Int32 => (ORDER..., BITS...), Int64 => (ORDER..., BITS...),
    UInt8 => (ORDER..., BITS...), UInt16 => (ORDER..., BITS...), UInt32 => (ORDER..., BITS...),
    UInt64 => (ORDER..., BITS...), Float16 => ORDER, BFloat16 => ORDER, Float32 => ORDER, Float64 => ORDER,
    ComplexF32 => (+, *), ComplexF64 => (+, *), E4M3 => ORDER, E5M2 => ORDER,
)

value(T, pe, i) = number(T, pe * 8 + i + 1, 2)

function types()
    for (T, _) in TYPES
        a, guard = zeros(T, 8), number(T, 77)
        a[:] = fill(guard, 8)
        sent, got = [value(T, me, i) for i in 0:2], fill(guard, 4)
        barrier()
        put!(view(a, 3:4), sent[1:2], right)
        put!(at(a, 6), sent[3:3], right)
        barrier()
        put_there = [value(T, left, i) for i in 0:2]
        same("put of $T", a[1:8], T[guard, guard, put_there[1], put_there[2], guard, put_there[3], guard, guard])
        get!(view(got, 2:3), view(a, 3:4), right)
        same("get of $T", got, T[guard, sent[1], sent[2], guard])
        release(a)
    end
end

# A member's contribution to a reduction, and the reduction's result.
mine(op, m) = m + 1
mine(::typeof(*), m) = m < 2 ? 2 : 1
mine(::typeof(&), m) = xor(127, 1 << m)
mine(::typeof(|), m) = 1 << m
mine(::typeof(xor), m) = 64 | 1 << m
combined(::typeof(+)) = n * (n + 1) ÷ 2
combined(::typeof(min)) = 1
combined(::typeof(max)) = n
combined(::typeof(*)) = n == 1 ? 2 : 4
combined(::typeof(&)) = 127 - ((1 << n) - 1)
combined(::typeof(|)) = (1 << n) - 1
combined(::typeof(xor)) = (1 << n) - 1 + n % 2 * 64

"The source is elements 1 to 8, and the destination the rest."
function fill_both(a)
    T = eltype(a)
    barrier()
    a[1:16] = T[[value(T, me, i) for i in 0:7]; fill(number(T, 77), 8)]
    barrier()
end

function reductions()
    for (T, ops) in TYPES
        a, guard = zeros(T, 16), number(T, 77)
        to, from, all = view(a, 9:10), view(a, 1:2), view(a, 9:(8 + n))
        for op in ops
            fill_both(a)
            a[1:2] = fill(number(T, mine(op, me)), 2)
            wanted = number(T, combined(op))
            allreduce!(op, to, from)
            same("$op of $T", a[9:11], T[wanted, wanted, guard])
            allreduce!(op, from)
            same("$op of $T in place", a[1:3], T[wanted, wanted, value(T, me, 2)])
        end
        fill_both(a)
        broadcast!(to, from, n - 1)
        same("broadcast of $T", a[9:11], T[value(T, n - 1, 0), value(T, n - 1, 1), guard])
        fill_both(a)
        fcollect!(all, at(a, 1))
        same("fcollect of $T", a[9:(9 + n)], T[[value(T, pe, 0) for pe in 0:(n - 1)]; guard])
        fill_both(a)
        alltoall!(all, view(a, 1:n))
        same("alltoall of $T", a[9:(9 + n)], T[[value(T, pe, me) for pe in 0:(n - 1)]; guard])
        release(a)
    end
end

function signals()
    words, data = zeros(UInt64, 4), zeros(Float64, 4)
    row = [me + 0.5, me + 0.25]
    for pe in 0:(n - 1)
        signal_op!(at(words, 1), UInt64(1) << 8me, pe; op = :add)
    end
    signal_wait(==, at(words, 1), sum(UInt64(1) << 8pe for pe in 0:(n - 1)))
    signal_op!(at(words, 2), 5, right)
    for (cmp, with) in ((>=, 5), (==, 5), (!=, 4), (>, 4), (<, 6), (<=, 5))
        same("$cmp", signal_wait(cmp, at(words, 2), with), 5)
    end
    for (put_with, amount, total) in ((put_signal!, 3, 3), (put_signal_nbi!, 4, 7))
        put_with(view(data, 2:3), row, at(words, 3), amount, right; op = :add)
        signal_wait(==, at(words, 3), total)
        same("data", data[1:4], [0, left + 0.5, left + 0.25, 0])
        data[2:3] = [0, 0]
        quiet()
        barrier()
    end
    same("signal", signal_fetch(at(words, 3)), 7)
    same("beside the signal", words[4], 0)
    release(data)
    release(words)
end

"The call must throw the library's error with this status, and a text with this word."
function refused(call, status, word)
    found = try
        call()
        nothing
    catch problem
        problem isa NVSHMEMError || rethrow()
        problem
    end
    found === nothing && fail(word, "no error, where status $status must be")
    text = sprint(showerror, found)
    found.status == status && occursin(word, text) || fail(word, "status $(found.status), not $status: $text")
end

"One PE's mistake: the others hear of it, nothing is written, and the job goes on."
function errors()
    words = zeros(Int64, 4)
    words[1], words[3] = me + 1, -7
    from, to = at(words, 1), at(words, 3)
    refused(() -> put!(at(words, 2), from, n), Status.PE_RANGE, "`pe`")
    refused(() -> atomic_inc!(at(words, 2), -1), Status.PE_RANGE, "`pe`")
    last = me == n - 1
    status, root, named = last ? (Status.PE_RANGE, n, n) : (Status.PEER_ARGUMENT, 0, n - 1)
    refused(() -> broadcast!(to, from, root), status, "PE $named")
    same("words", words[2:4], [0, -7, 0])
    broadcast!(to, from, 0)
    same("broadcast", words[3], 1)
    release(words)
end

allocations() = NVSHMEMRS.heap_stats().allocations

"The list of what is not freed names this program and these many bytes; or it says that everything is freed."
function unfreed(bytes)
    text = NVSHMEMRS.unfreed()
    words = bytes == 0 ? ("everything is freed",) : ("exchange", " $bytes bytes")
    all(word -> occursin(word, text), words) || fail("unfreed", "$bytes: $text")
end

function leaks()
    same("allocations", allocations(), 0)
    unfreed(0)
    kept, given, dropped = zeros(Int64, 3), zeros(Int64, 5), zeros(Int64, 7)
    same("allocations", allocations(), 3)
    unfreed(120)
    release(given)
    same("allocations", allocations(), 2)
    finalize(dropped.allocation) # as the garbage collector does
    unfreed(24)
    barrier()
    next = zeros(Int64, 1) # frees the arrays that all PEs have released
    same("allocations", allocations(), 2)
    unfreed(32)
    release(next)
    release(kept)
    unfreed(0)
    same("allocations", allocations(), 0)
end

me, n = -1, 0
NVSHMEMRS.init()
me, n = my_pe(), n_pes()
left, right = mod(me - 1, n), mod(me + 1, n)
done = ""
for scenario in (halo, histogram, types, reductions, signals, errors, leaks)
    scenario()
    global done *= " $scenario"
end
NVSHMEMRS.finalize()
# One write, so that the lines of several PEs do not mix.
print("exchange ok PE $me of $n (Julia):$done\n")
