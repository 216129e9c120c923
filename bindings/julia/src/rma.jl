# Remote memory access: put and get, whole arrays, views and single elements.

"""
    put!(dest, source, pe; stream)

Copies `source` to the copy of `dest` on PE `pe`. `dest` is a [`SymmetricArray`](@ref) or a view
of one; `source` is any array with strides and the same element type and size, or one value if
`dest` has one element. Elements between those of a view stay as they are: a view with gaps goes
through the library's strided puts.

One-sided. Returns when `source` may be reused; the data is visible on `pe` after [`quiet`](@ref),
[`barrier`](@ref) or a signal. An aligned element of 1, 2, 4 or 8 bytes is never seen in part.
OpenSHMEM 1.5 section 9.6.1 (`shmem_put`, `shmem_p`, `shmem_iput`).

Errors: PE\\_RANGE, NOT\\_SYMMETRIC, OUT\\_OF\\_BOUNDS, NOT\\_INITIALIZED; `DimensionMismatch` for
another size, `ArgumentError` for another element type. Nothing is written.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = NVSHMEMRS.zeros(Float64, 2, 3)
    put!(view(x, 2, :), [1.0, 2.0, 3.0], my_pe())
    put!(view(x, 1, 1), 9, my_pe())
    barrier()
    println(x)
end

# output

[9.0 0.0 0.0; 1.0 2.0 3.0]
```
"""
@inline function Base.put!(dest::SymmetricArray{T}, source::Whole{T}, pe::Integer; stream = nothing) where {T}
    size(dest) == size(source) || wrong_shape(dest, source)
    handle = lane(dest.allocation.job, stream)
    retain(stream, source, dest.allocation)
    GC.@preserve dest source begin
        check(FFI.nvshmemrs_put(handle, dest.address, pointer(source), sizeof(source), number(:pe, pe)))
    end
    return nothing
end

function Base.put!(dest::OnHeap{T}, source::AbstractArray, pe::Integer; stream = nothing) where {T}
    strided(:source, source, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    handle = lane(job_of(dest), stream)
    retain(stream, source, allocation(dest))
    GC.@preserve dest source begin
        copy_strided(FFI.nvshmemrs_put, FFI.nvshmemrs_iput, FFI.nvshmemrs_ibput, handle, dest, source,
                     number(:pe, pe))
    end
    return nothing
end

@inline function Base.put!(dest::OnHeap{T}, value, pe::Integer; stream = nothing) where {T}
    to, element, pe = one_of(:dest, dest), convert(T, value)::T, number(:pe, pe)
    retain(stream, allocation(dest))
    GC.@preserve dest put_value(lane(job_of(dest), stream), to, element, pe, stream)
end

"An unsigned integer of the element's size, if the library has single-element calls for it."
carrier(::Type{T}) where {T} =
    isprimitivetype(T) ? (sizeof(T) == 1 ? UInt8 : sizeof(T) == 2 ? UInt16 : sizeof(T) == 4 ? UInt32 :
                          sizeof(T) == 8 ? UInt64 : Nothing) : Nothing

for bits in (8, 16, 32, 64)
    U = Symbol(:UInt, bits)
    @eval put_bits(handle, to, value::$U, pe) = FFI.$(Symbol(:nvshmemrs_p, bits))(handle, to, value, pe)
    @eval get_bits(handle, from, pe, out::Ref{$U}) = FFI.$(Symbol(:nvshmemrs_g, bits))(handle, from, pe, out)
end

@inline function put_value(handle, to::Ptr{T}, value::T, pe, stream) where {T}
    U = carrier(T)
    if U !== Nothing
        check(put_bits(handle, Ptr{U}(to), reinterpret(U, value), pe))
    else
        source = Ref(value)
        retain(stream, source)
        check(FFI.nvshmemrs_put(handle, to, source, sizeof(T), pe))
    end
    return nothing
end

"""
    get!(dest, source, pe; stream)

Copies the copy of `source` on PE `pe` to `dest`. `source` is a [`SymmetricArray`](@ref) or a view
of one; `dest` is any array with strides and the same element type and size. Elements between
those of a view stay as they are.

One-sided. Returns when the data is in `dest`; what it reads orders nothing. OpenSHMEM 1.5
section 9.6.1 (`shmem_get`, `shmem_g`, `shmem_iget`). Errors: as
[`put!`](@ref).

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x, got = SymmetricArray([1, 2, 3, 4]), zeros(Int, 2)
    get!(got, view(x, 2:2:4), my_pe())
    println(got, " ", get(x, my_pe()), " ", get(view(x, 3), my_pe()))
end

# output

[2, 4] [1, 2, 3, 4] 3
```
"""
function Base.get!(dest::AbstractArray, source::OnHeap{T}, pe::Integer; stream = nothing) where {T}
    strided(:dest, dest, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    handle = lane(job_of(source), stream)
    retain(stream, dest, allocation(source))
    GC.@preserve dest source begin
        copy_strided(FFI.nvshmemrs_get, FFI.nvshmemrs_iget, FFI.nvshmemrs_ibget, handle, dest, source,
                     number(:pe, pe))
    end
    return dest
end

@inline function Base.get!(dest::Whole{T}, source::SymmetricArray{T}, pe::Integer; stream = nothing) where {T}
    size(dest) == size(source) || wrong_shape(dest, source)
    handle = lane(source.allocation.job, stream)
    retain(stream, dest, source.allocation)
    GC.@preserve dest source begin
        check(FFI.nvshmemrs_get(handle, pointer(dest), source.address, sizeof(dest), number(:pe, pe)))
    end
    return dest
end

"""
    get(source, pe)

What the copy of `source` on PE `pe` holds, as an `Array`; the value itself if `source` is a view
of one element, such as `view(x, 3)`.

One-sided; complete on return. Errors: as [`put!`](@ref).
"""
Base.get(source::OnHeap{T, N}, pe::Integer) where {T, N} = get!(Array{T, N}(undef, size(source)), source, pe)

@inline function Base.get(source::OnHeap{T, 0}, pe::Integer) where {T}
    handle, from, pe = job_of(source).handle, one_of(:source, source), number(:pe, pe)
    U = carrier(T)
    if U !== Nothing
        bits = Ref{U}()
        GC.@preserve source check(get_bits(handle, Ptr{U}(from), pe, bits))
        return reinterpret(T, bits[])
    end
    value = Ref{T}()
    GC.@preserve source check(FFI.nvshmemrs_get(handle, value, from, sizeof(T), pe))
    return value[]
end

"""
    put_nbi!(dest, source, pe; stream)

As [`put!`](@ref), but `source` may be changed only after [`quiet`](@ref). The binding keeps it
until then. A view with gaps goes through the library's strided puts, which are complete on
return.

One-sided. OpenSHMEM 1.5 section 9.6.2 (`shmem_put_nbi`). Errors: as [`put!`](@ref).
"""
function put_nbi!(dest::OnHeap{T}, source::AbstractArray, pe::Integer; stream = nothing) where {T}
    (without_gaps(dest) && without_gaps(source)) || return put!(dest, source, pe; stream = stream)
    strided(:source, source, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    job = job_of(dest)
    pend(job, stream, source, allocation(dest))
    GC.@preserve dest source begin
        check(FFI.nvshmemrs_put_nbi(lane(job, stream), address(dest), address(source), length(dest) * sizeof(T),
                                    number(:pe, pe)))
    end
    return nothing
end

"""
    get_nbi!(dest, source, pe; stream)

As [`get!`](@ref), but the data is in `dest` only after [`quiet`](@ref). The binding keeps it
until then. A view with gaps goes through the library's strided gets, which are complete on
return.

One-sided. OpenSHMEM 1.5 section 9.6.2 (`shmem_get_nbi`). Errors: as [`put!`](@ref).
"""
function get_nbi!(dest::AbstractArray, source::OnHeap{T}, pe::Integer; stream = nothing) where {T}
    (without_gaps(dest) && without_gaps(source)) || return get!(dest, source, pe; stream = stream)
    strided(:dest, dest, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    job = job_of(source)
    pend(job, stream, dest, allocation(source))
    GC.@preserve dest source begin
        check(FFI.nvshmemrs_get_nbi(lane(job, stream), address(dest), address(source), length(dest) * sizeof(T),
                                    number(:pe, pe)))
    end
    return dest
end

"The error of an operation for an array that is not symmetric."
function hint_at_symmetric()
    # From Julia 1.5 on, and nowhere promised.
    isdefined(Base.Experimental, :register_error_hint) || return nothing
    Base.Experimental.register_error_hint(MethodError) do io, problem, arguments, keywords
        side = problem.f in (put!, put_nbi!) ? 1 : problem.f in (get!, get_nbi!) ? 2 : 0
        (side == 0 || length(arguments) < side || arguments[side] <: OnHeap) && return
        # These names are Base's, too.
        any(argument -> argument <: Mapped, arguments) || problem.f in (put_nbi!, get_nbi!) || return
        print(io, "\nThe symmetric side must be a SymmetricArray or a view of one.")
    end
    return nothing
end
