# Atomic memory operations on one element of a symmetric array.

# Each row: the operation, its operands, whether it returns the old value, the types of the library's forms, and its effect.
const WORDS = (UInt32, UInt64)
const NUMBERS = (UInt32, UInt64, Float32, Float64)
const ATOMIC_TABLE = (
    (:fetch, (), true, NUMBERS, "Reads the element"),
    (:set, (:value,), false, NUMBERS, "Stores `value` in the element"),
    (:swap, (:value,), true, NUMBERS, "Stores `value` in the element and gives the old one"),
    (:compare_swap, (:cond, :value), true, WORDS, "Stores `value` if the element equals `cond`, and gives the old one"),
    (:inc, (), false, WORDS, "Adds 1 to the element"),
    (:fetch_inc, (), true, WORDS, "Adds 1 to the element and gives the old value"),
    (:add, (:value,), false, NUMBERS, "Adds `value` to the element; integers wrap around"),
    (:fetch_add, (:value,), true, NUMBERS, "Adds `value` to the element and gives the old value; integers wrap around"),
    (:and, (:value,), false, WORDS, "Replaces the element by its bitwise and with `value`"),
    (:fetch_and, (:value,), true, WORDS, "Replaces the element by its bitwise and with `value`, and gives the old one"),
    (:or, (:value,), false, WORDS, "Replaces the element by its bitwise or with `value`"),
    (:fetch_or, (:value,), true, WORDS, "Replaces the element by its bitwise or with `value`, and gives the old one"),
    (:xor, (:value,), false, WORDS, "Replaces the element by its exclusive or with `value`"),
    (:fetch_xor, (:value,), true, WORDS, "Replaces the element by its exclusive or with `value`, and gives the old one"),
)

const SUFFIX = Dict(UInt32 => "32", UInt64 => "64", Float32 => "_float", Float64 => "_double")

# How an element travels: integers as unsigned ones of their size.
atomic_carrier(::Type{<:Union{Int32, UInt32}}) = UInt32
atomic_carrier(::Type{<:Union{Int64, UInt64}}) = UInt64
atomic_carrier(::Type{T}) where {T <: Union{Float32, Float64}} = T
@noinline atomic_carrier(::Type{T}) where {T} =
    throw(ArgumentError("the element type is $T; it must be an integer of 32 or 64 bits, Float32 or Float64"))

"The library's function of an operation for a type that travels as `C`."
@noinline entry(::Val{op}, ::Type{C}) where {op, C} =
    throw(ArgumentError("the element type is $C; atomic_$op takes an integer of 32 or 64 bits"))

const ATOMICS = Symbol[]

"Where the result of an operation without blocking goes: one element of an array, or a `Ref`."
result_address(x::AbstractArray) = one_of(:fetch, x)
result_address(x::Ref{T}) where {T} = Base.unsafe_convert(Ptr{T}, x)

for (op, operands, fetches, types, what) in ATOMIC_TABLE
    for C in types
        @eval entry(::Val{$(QuoteNode(op))}, ::Type{$C}) = FFI.$(Symbol("nvshmemrs_atomic_", op, SUFFIX[C]))
        fetches || continue
        nbi = Symbol("nvshmemrs_atomic_", op, SUFFIX[C], "_nbi")
        @eval entry(::Val{$(QuoteNode(Symbol(op, "_nbi")))}, ::Type{$C}) = FFI.$nbi
    end
    # Reading changes nothing, so it has no mark.
    name = op === :fetch ? :atomic_fetch : Symbol("atomic_", op, "!")
    push!(ATOMICS, name)
    list = isempty(operands) ? "" : string(join(operands, ", "), ", ")
    conversions = [:($operand = reinterpret(C, convert(T, $operand)::T)) for operand in operands]
    section = op === :fetch ? "9.7.1" : "9.7"
    text = """
        $name(dest, $(list)pe; stream)$(fetches ? " -> old value" : "")

    $what, at `dest` on PE `pe`. `dest` is a symmetric array, or a view of one, with one element: `view(x, 3)`. Its
    elements are integers of 32 or 64 bits$(types === NUMBERS ? ", `Float32` or `Float64`" : "").

    One-sided; atomic with respect to all atomic operations of all PEs. It is complete on
    return$(fetches ? ", also on a stream, which it waits for" : "; it may be queued on a stream").
    OpenSHMEM 1.5 section $section (`shmem_atomic_$op`).
    Errors: PE\\_RANGE, NOT\\_SYMMETRIC, OUT\\_OF\\_BOUNDS; `ArgumentError` for another element type. Nothing is written.

    ```jldoctest
    using NVSHMEMRS
    NVSHMEMRS.init() do job
        x = SymmetricArray([12, 10])
        $name(view(x, 1), $(join((operand === :cond ? "12, " : "5, " for operand in operands)))my_pe())
        println(x)
    end

    # output

    $([op === :fetch ? 12 : op in (:set, :swap, :compare_swap) ? 5 : op in (:inc, :fetch_inc) ? 13 :
       op in (:add, :fetch_add) ? 17 : op in (:and, :fetch_and) ? 12 & 5 : op in (:or, :fetch_or) ? 12 | 5 : xor(12, 5), 10])
    ```
    """
    if fetches
        @eval begin
            @inline function $name(dest::OnHeap{T}, $(operands...), pe::Integer; stream = nothing) where {T}
                C = atomic_carrier(T)
                $(conversions...)
                old = Ref{C}()
                handle, at = lane(job_of(dest), stream), Ptr{C}(one_of(:dest, dest))
                GC.@preserve dest check(entry(Val($(QuoteNode(op))), C)(handle, at, $(operands...), number(:pe, pe), old))
                return reinterpret(T, old[])
            end
            @doc $text $name
        end
        nbi = Symbol("atomic_", op, "_nbi!")
        push!(ATOMICS, nbi)
        nbi_text = """
            $nbi(fetch, dest, $(list)pe; stream)

        As [`$name`](@ref), but the old value is in `fetch` only after [`quiet`](@ref): one element of an array, or a
        `Ref`, of the same type. The binding keeps it until then.

        One-sided. OpenSHMEM 1.5 section 9.7 (`shmem_atomic_$(op)_nbi`). Errors: as [`$name`](@ref).
        """
        @eval begin
            function $nbi(fetch::Union{AbstractArray{T}, Ref{T}}, dest::OnHeap{T}, $(operands...), pe::Integer;
                          stream = nothing) where {T}
                C = atomic_carrier(T)
                $(conversions...)
                job, at = job_of(dest), Ptr{C}(one_of(:dest, dest))
                pend(job, stream, fetch, allocation(dest))
                GC.@preserve fetch dest begin
                    to = Ptr{C}(result_address(fetch))
                    call = entry(Val($(QuoteNode(Symbol(op, "_nbi")))), C)
                    check(call(lane(job, stream), to, at, $(operands...), number(:pe, pe)))
                end
                return nothing
            end
            @doc $nbi_text $nbi
        end
    else
        @eval begin
            @inline function $name(dest::OnHeap{T}, $(operands...), pe::Integer; stream = nothing) where {T}
                C = atomic_carrier(T)
                $(conversions...)
                handle, at = lane(job_of(dest), stream), Ptr{C}(one_of(:dest, dest))
                retain(stream, allocation(dest))
                GC.@preserve dest check(entry(Val($(QuoteNode(op))), C)(handle, at, $(operands...), number(:pe, pe)))
                return nothing
            end
            @doc $text $name
        end
    end
end
