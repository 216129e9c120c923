# Arrays on the symmetric heap. Operations take them and their views.

"A block of the symmetric heap: its holder keeps the memory. Its finalizer records a release and never waits."
mutable struct Allocation
    job::Job
    address::Ptr{Cvoid}
    live::Bool
    "The array whose memory it is, if it was not allocated on the heap."
    owner::Any
end

"An array whose elements lie on a symmetric heap, one behind the other in Julia's order."
abstract type HeapArray{T, N} <: DenseArray{T, N} end

"""
    SymmetricArray{T, N} <: DenseArray{T, N}
    SymmetricArray{T}(undef, dims...; align = 64)
    SymmetricArray(source::AbstractArray)

An array that every PE has, at the same symmetric address. The program loads and stores its own
copy by indexing; other PEs reach it through operations, which take the array, a view of it, or
what `reshape` and `reinterpret` make of it. `T` must be a plain type (`isbitstype`). `undef`
leaves the contents undefined. The form with `source` copies the caller's array, and returns when
every PE has done so.

Collective over the job with the same type and size; includes a barrier. OpenSHMEM 1.5 sections
9.3.1 (`shmem_malloc`, `shmem_align`) and 9.3.3 (`shmem_calloc`). `similar`, `copy` and
`deepcopy` give a plain `Array`, so they need no other PE. What `deepcopy` of a struct or
deserializing makes has the same type, in private memory.

[`free!`](@ref) frees it, which is collective. An array that is dropped is only recorded as
released by the garbage collector; the next collective allocation frees arrays that all PEs have
released.

Errors: MISMATCH naming the PE whose size differs; OUT\\_OF\\_MEMORY with requested, free, largest
block and the variable to set. Every PE gets the error and nothing is allocated.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = NVSHMEMRS.zeros(Int32, 2, 3)
    x[2, :] .= 7
    println(sum(x), " ", size(x))
    free!(x)
end

# output

21 (2, 3)
```
"""
struct SymmetricArray{T, N} <: HeapArray{T, N}
    address::Ptr{T}
    dims::NTuple{N, Int}
    "The heap is memory that this processor loads from."
    plain::Bool
    allocation::Allocation
end

"""
    PeerArray{T, N} <: DenseArray{T, N}

Another PE's copy of a symmetric array, which this PE loads and stores directly: see
[`peer_array`](@ref). It is no symmetric address, so operations take it as a local array only.
"""
struct PeerArray{T, N} <: DenseArray{T, N}
    address::Ptr{T}
    dims::NTuple{N, Int}
    plain::Bool
    allocation::Allocation
end

const Mapped{T, N} = Union{SymmetricArray{T, N}, PeerArray{T, N}}

Base.size(x::Mapped) = x.dims
Base.length(x::Mapped) = prod(x.dims)
Base.IndexStyle(::Type{<:Mapped}) = IndexLinear()
Base.elsize(::Type{<:Mapped{T}}) where {T} = sizeof(T)
Base.sizeof(x::Mapped{T}) where {T} = length(x) * sizeof(T)
Base.unsafe_convert(::Type{Ptr{T}}, x::Mapped{T}) where {T} = x.address
Base.pointer(x::Mapped) = x.address

# Julia asks before it assigns an array to a part of itself, and wants a private copy of the same type then.
Base.dataids(x::SymmetricArray) = (UInt(x.allocation.address),)
Base.dataids(x::PeerArray) = (UInt(x.address),)
Base.unaliascopy(x::A) where {A <: Mapped} = in_private(A, copy(x), x.allocation.job)

"An array of a type of this package, in the private memory of `owner`."
in_private(::Type{A}, owner, job) where {A <: Mapped} =
    A(pointer(owner), size(owner), true, Allocation(job, pointer(owner), true, owner))

@inline function Base.getindex(x::Mapped, i::Int)
    @boundscheck (checkbounds(x, i); usable(x))
    return unsafe_load(x.address, i)
end

@inline function Base.setindex!(x::Mapped{T}, value, i::Int) where {T}
    @boundscheck (checkbounds(x, i); usable(x))
    unsafe_store!(x.address, convert(T, value), i)
    return x
end

"Throws unless this processor can load the elements."
@inline usable(x) = x.plain && x.allocation.live ? nothing : unusable(x)

@noinline function unusable(x)
    x.allocation.live || throw(ArgumentError("the symmetric array is freed; it must be live"))
    throw(ArgumentError("the symmetric heap is in device memory, so the processor cannot load or store its elements; " *
                        "with CUDA.jl loaded `unsafe_wrap(CuArray, x)` is an array on it"))
end

function Base.copyto!(dest::Mapped{T}, at::Integer, source::Array{T}, from::Integer, n::Integer) where {T}
    n == 0 && return dest
    checkbounds(dest, at:(at + n - 1)), checkbounds(source, from:(from + n - 1))
    usable(dest)
    GC.@preserve dest source unsafe_copyto!(pointer(dest, at), pointer(source, from), n)
    return dest
end

function Base.copyto!(dest::Array{T}, at::Integer, source::Mapped{T}, from::Integer, n::Integer) where {T}
    n == 0 && return dest
    checkbounds(dest, at:(at + n - 1)), checkbounds(source, from:(from + n - 1))
    usable(source)
    GC.@preserve dest source unsafe_copyto!(pointer(dest, at), pointer(source, from), n)
    return dest
end

Base.copyto!(dest::Mapped{T}, source::Array{T}) where {T} = copyto!(dest, 1, source, 1, length(source))
Base.copyto!(dest::Array{T}, source::Mapped{T}) where {T} = copyto!(dest, 1, source, 1, length(source))

# The same memory in another shape or with other elements is symmetric, too.
function Base.reshape(x::SymmetricArray{T}, dims::NTuple{N, Int}) where {T, N}
    prod(dims) == length(x) ||
        throw(DimensionMismatch("argument `dims` is $dims; it must have the array's $(length(x)) elements"))
    return SymmetricArray{T, N}(x.address, dims, x.plain, x.allocation)
end

function Base.reinterpret(::Type{S}, x::SymmetricArray{T, N}) where {S, T, N}
    N > 0 || sizeof(S) == sizeof(T) || throw(ArgumentError("an array without dimensions keeps the size of its element"))
    isbitstype(S) || throw(not_plain(S))
    bytes = N == 0 ? sizeof(T) : size(x, 1) * sizeof(T)
    rem(bytes, sizeof(S)) == 0 ||
        throw(ArgumentError("the first dimension has $bytes bytes; it must be a multiple of the $(sizeof(S)) of $S"))
    dims = N == 0 ? () : (div(bytes, sizeof(S)), Base.tail(x.dims)...)
    return SymmetricArray{S, N}(Ptr{S}(x.address), dims, x.plain, x.allocation)
end

Base.reinterpret(::Type{T}, x::SymmetricArray{T, N}) where {T, N} = x

@noinline not_plain(T) = ArgumentError("the element type is $T; it must be a plain type (`isbitstype`)")

"""
The bytes of an array of `dims` elements of type `T`, and `nothing` or an exception. Impossible sizes
go to the library, which tells every PE.
"""
function bytes_of(T, dims)
    isbitstype(T) || return Csize_t(0), not_plain(T)
    all(>=(0), dims) ||
        return Csize_t(0), ArgumentError("argument `dims` is $dims; it must have no negative number")
    return Csize_t(min(prod(big.(dims)) * sizeof(T), typemax(Int))), nothing
end

"Extents as `Int`s. A number that no `Int` holds is too large for any heap, or negative, and stays so."
extents(dims) = map(n -> n > typemax(Int) ? typemax(Int) : n < typemin(Int) ? typemin(Int) : Int(n), dims)

"Tells the other PEs that this one cannot take part in an allocation: it has no place for the address."
no_allocation(job) = @blocking FFI.nvshmemrs_malloc(job.handle, Csize_t(0), C_NULL)

function on_heap(T, dims::NTuple{N, Int}, job, address; owner = nothing) where {N}
    allocation = Allocation(job, address, true, owner)
    owner === nothing && finalizer(record_release, allocation)
    # An array without elements has no memory.
    plain = address == C_NULL || answer(Int32, FFI.nvshmemrs_memory_kind, job.handle, address) == FFI.Memory.HOST
    return SymmetricArray{T, N}(Ptr{T}(address), dims, plain, allocation)
end

"Says that this PE no longer uses an allocation. The garbage collector calls it, so it neither waits nor throws."
function record_release(allocation)
    if allocation.live && allocation.job.live
        # While the library asks for a place it must not be called; the collector comes again.
        if NAMING[] > 0
            finalizer(record_release, allocation)
            return nothing
        end
        allocation.live = false
        FFI.nvshmemrs_release(allocation.job.handle, allocation.address)
    end
    return nothing
end

function SymmetricArray{T, N}(::UndefInitializer, dims::NTuple{N, Int}; align::Integer = 64) where {T, N}
    job = CURRENT[]
    bytes, wrong = bytes_of(T, dims)
    if wrong === nothing && !(0 < align <= typemax(Int))
        wrong = ArgumentError("argument `align` is $align; it must be a power of two")
    end
    agreed(() -> no_allocation(job), wrong)
    address = Ref{Ptr{Cvoid}}(C_NULL)
    status = if align == 64
        @blocking FFI.nvshmemrs_malloc(job.handle, bytes, address)
    else
        @blocking FFI.nvshmemrs_align(job.handle, Csize_t(align), bytes, address)
    end
    check(status)
    return on_heap(T, dims, job, address[])
end

SymmetricArray{T}(::UndefInitializer, dims::NTuple{N, Int}; align::Integer = 64) where {T, N} =
    SymmetricArray{T, N}(undef, dims; align = align)
SymmetricArray{T}(::UndefInitializer, dims::Integer...; align::Integer = 64) where {T} =
    SymmetricArray{T, length(dims)}(undef, extents(dims); align = align)
SymmetricArray{T, N}(::UndefInitializer, dims::Integer...; align::Integer = 64) where {T, N} =
    SymmetricArray{T, N}(undef, extents(dims)::NTuple{N, Int}; align = align)

SymmetricArray(source::AbstractArray{T, N}) where {T, N} = SymmetricArray{T, N}(source)
SymmetricArray{T}(source::AbstractArray{S, N}) where {T, S, N} = SymmetricArray{T, N}(source)

function SymmetricArray{T, N}(source::AbstractArray{S, N}) where {T, S, N}
    # Here the elements cannot be wrong any more.
    S === T || return SymmetricArray{T, N}(converted(T, source))
    x = SymmetricArray{T, N}(undef, size(source))
    if x.plain
        copyto!(x, source)
    else
        put!(x, convert(Array{T, N}, source), my_pe())
    end
    # No PE may put to a copy before its owner has filled it.
    barrier()
    return x
end

"An array with elements of type `T`. If one of the source's cannot be one, the other PEs hear of it."
function converted(::Type{T}, source) where {T}
    values, wrong = try
        Array{T}(source), nothing
    catch problem
        T[], problem
    end
    agreed(() -> no_allocation(CURRENT[]), wrong)
    return values
end

"""
    NVSHMEMRS.zeros(T, dims...) -> SymmetricArray

A symmetric array whose elements are zero bytes on every PE.

Collective over the job with the same type and size; includes a barrier. OpenSHMEM 1.5 section
9.3.3 (`shmem_calloc`).
Errors: as [`SymmetricArray`](@ref).
"""
function zeros(::Type{T}, dims::NTuple{N, Int}) where {T, N}
    job = CURRENT[]
    bytes, wrong = bytes_of(T, dims)
    agreed(() -> no_allocation(job), wrong)
    address = Ref{Ptr{Cvoid}}(C_NULL)
    check(@blocking FFI.nvshmemrs_calloc(job.handle, bytes, Csize_t(1), address))
    return on_heap(T, dims, job, address[])
end

zeros(::Type{T}, dims::Integer...) where {T} = zeros(T, extents(dims))

"""
    free!(x::SymmetricArray)

Frees an array on every PE. A barrier comes first.

Collective over the job with the same array; OpenSHMEM 1.5 section 9.3.1 (`shmem_free`).
`finalize(x.allocation)` is the local form, which only records that this PE no longer uses it.
Errors: BAD\\_FREE if it is free already, MISMATCH, NOT\\_INITIALIZED.
"""
function free!(x::SymmetricArray)
    check(@blocking FFI.nvshmemrs_free(x.allocation.job.handle, x.allocation.address))
    x.allocation.live = false
    return nothing
end

"""
    NVSHMEMRS.realloc!(x::SymmetricArray, n) -> SymmetricArray

Makes the memory of a vector `n` elements long and gives the new array; `x` is freed. Each PE's
copy keeps its contents up to the smaller length.

Collective over the job with the same array and `n`; includes a barrier. OpenSHMEM 1.5 section
9.3.1 (`shmem_realloc`).
Errors: as [`SymmetricArray`](@ref) and [`free!`](@ref); the array is as it was.
"""
function realloc!(x::SymmetricArray{T, 1}, n::Integer) where {T}
    job, dims, old = x.allocation.job, extents((n,)), x.allocation.address
    bytes, wrong = bytes_of(T, dims)
    agreed(() -> (@blocking FFI.nvshmemrs_realloc(job.handle, old, Csize_t(0), C_NULL)), wrong)
    address = Ref{Ptr{Cvoid}}(C_NULL)
    check(@blocking FFI.nvshmemrs_realloc(job.handle, old, bytes, address))
    x.allocation.live = false
    return on_heap(T, dims, job, address[])
end

"""
    NVSHMEMRS.register(buffer::Array; preferred = C_NULL) -> SymmetricArray

Makes the memory of `buffer` symmetric where it is: each PE registers a buffer of the same size.
Both arrays are the same memory. It must be whole pages of private anonymous memory, such as
`Mmap.mmap(Mmap.Anonymous(), Vector{T}, (n,), 0; shared = false)` gives. The binding keeps
`buffer` until [`NVSHMEMRS.unregister!`](@ref).

Collective over the job with the same size and `preferred`; includes a barrier. NVSHMEM
`nvshmemx_buffer_register_symmetric`. Errors: INVALID\\_VALUE, MISMATCH, PEER\\_ARGUMENT,
NOT\\_SUPPORTED, SYSTEM.
"""
function register(buffer::Array{T, N}; preferred::Ptr = C_NULL) where {T, N}
    job = CURRENT[]
    address = Ref{Ptr{Cvoid}}(C_NULL)
    GC.@preserve buffer begin
        start, place = Ptr{Cvoid}(pointer(buffer)), Ptr{Cvoid}(preferred)
        agreed(isbitstype(T) ? nothing : not_plain(T)) do
            @blocking FFI.nvshmemrs_buffer_register(job.handle, start, sizeof(buffer), place, C_NULL)
        end
        check(@blocking FFI.nvshmemrs_buffer_register(job.handle, start, sizeof(buffer), place, address))
    end
    x = on_heap(T, size(buffer), job, address[]; owner = buffer)
    locked(() -> push!(job.kept, x.allocation), job.lock)
    return x
end

"""
    NVSHMEMRS.unregister!(x::SymmetricArray)

Makes a registered buffer private memory again; it keeps its contents.

Collective over the job with the same array; a barrier comes first. NVSHMEM
`nvshmemx_buffer_unregister_symmetric`.
Errors: BAD\\_FREE, NOT\\_SYMMETRIC, MISMATCH, NOT\\_SUPPORTED, SYSTEM.
"""
function unregister!(x::SymmetricArray)
    job = x.allocation.job
    check(@blocking FFI.nvshmemrs_buffer_unregister(job.handle, x.allocation.address))
    x.allocation.live = false
    locked(() -> filter!(kept -> kept !== x.allocation, job.kept), job.lock)
    return nothing
end

"""
    peer_array(x::SymmetricArray, pe; team = TEAM_WORLD) -> PeerArray or nothing

PE `pe`'s copy of `x`, for plain loads and stores; `nothing` if this PE cannot load it. What is
stored so becomes visible by a signal or a barrier.

Local. OpenSHMEM 1.5 section 9.1.8 (`shmem_ptr`), OpenSHMEM 1.6 (`shmem_team_ptr`).
Errors: PE\\_RANGE, NOT\\_SYMMETRIC, BAD\\_HANDLE.
"""
function peer_array(x::SymmetricArray{T, N}, pe::Integer; team = TEAM_WORLD) where {T, N}
    handle = x.allocation.job.handle
    found = answer(Ptr{Cvoid}, FFI.nvshmemrs_team_ptr, handle, team.handle, x.address, number(:pe, pe))
    return found == C_NULL ? nothing : PeerArray{T, N}(Ptr{T}(found), x.dims, x.plain, x.allocation)
end
