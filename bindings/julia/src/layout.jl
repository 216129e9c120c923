# Where the elements of an array lie, and how a copy between two arrays becomes calls of the library: one for arrays without
# gaps, the strided ones for views.

"An array of the symmetric heap, or a view of one. Operations take it as the symmetric side."
const OnHeap{T, N} = Union{SymmetricArray{T, N}, SubArray{T, N, <:SymmetricArray}}

"Types of arrays that never have gaps: their elements lie one behind the other."
const Whole{T, N} = Union{Array{T, N}, SymmetricArray{T, N}, PeerArray{T, N}}

@inline root(x::SymmetricArray) = x
@inline root(x::SubArray) = parent(x)

"The object that holds the memory of an array."
@inline allocation(x) = root(x).allocation

"The job that an array belongs to."
@inline job_of(x) = allocation(x).job

"Where an array begins, as the library takes it. The extension for CUDA.jl adds a method."
@inline address(x) = pointer(x)

"Throws unless the elements of a local array are where its strides say."
@inline strided(name, x::Whole, T) = nothing
@inline function strided(name, x, T)
    eltype(x) === T || throw(wrong_elements(name, x, T))
    x isa StridedArray || no_strides(name, x)
    return nothing
end
@inline strided(name, x::Whole{S}, ::Type{T}) where {S, T} = S === T ? nothing : throw(wrong_elements(name, x, T))

@noinline wrong_elements(name, x, T) =
    ArgumentError("argument `$name` has elements of $(eltype(x)); it must have elements of $T")
@noinline no_strides(name, x) =
    throw(ArgumentError("argument `$name` is a $(typeof(x)); it must be an array or a view with strides, as `collect` makes"))
@noinline wrong_shape(dest, source) =
    throw(DimensionMismatch("argument `source` has the size $(size(source)); it must have that of `dest`, $(size(dest))"))
@noinline not_one(name, x) =
    throw(DimensionMismatch("argument `$name` has $(length(x)) elements; it must have one, such as view(x, 1) has"))
@noinline has_gaps(name) =
    throw(ArgumentError("argument `$name` is a view with gaps between its elements; this operation takes none"))

"Whether the elements lie one behind the other."
@inline without_gaps(x::Whole) = true
function without_gaps(x)
    x isa StridedArray || return false
    expected = 1
    for (n, stride) in zip(size(x), strides(x))
        n == 1 || stride == expected || return false
        expected *= n
    end
    return true
end

# The elements of a view without gaps are a symmetric array of their own.
Base.reshape(x::SubArray{T, M, <:SymmetricArray}, dims::NTuple{N, Int}) where {T, M, N} =
    without_gaps(x) ? reshape(part(x), dims) : invoke(reshape, Tuple{AbstractArray, NTuple{N, Int}}, x, dims)
Base.reinterpret(::Type{S}, x::SubArray{T, N, <:SymmetricArray}) where {S, T, N} =
    without_gaps(x) ? reinterpret(S, part(x)) : invoke(reinterpret, Tuple{Type{S}, AbstractArray}, S, x)
Base.reinterpret(::Type{T}, x::SubArray{T, N, <:SymmetricArray}) where {T, N} = x

part(x::SubArray{T, N}) where {T, N} =
    SymmetricArray{T, N}(pointer(x), size(x), parent(x).plain, parent(x).allocation)

"Where the only element of an array is."
@inline function one_of(name, x)
    length(x) == 1 || not_one(name, x)
    return address(x)
end

"""
The dimensions of a copy as `(elements, stride in dest, stride in source)`. Dimensions of one
element are left out, and dimensions that continue each other on both sides are one.
"""
function dimensions(dest, source)
    found = NTuple{3, Int}[]
    for (n, to, from) in zip(size(dest), strides(dest), strides(source))
        n == 1 && continue
        if !isempty(found)
            m, before_to, before_from = found[end]
            if to == m * before_to && from == m * before_from
                found[end] = (m * n, before_to, before_from)
                continue
            end
        end
        push!(found, (n, to, from))
    end
    return found
end

"""
Copies `source` to `dest` by the calls `whole`, `rows` and `blocks`: `nvshmemrs_put`, `_iput` and
`_ibput`, or those of get. Outermost dimensions are a loop of calls.
"""
function copy_strided(whole, rows, blocks, handle, dest, source, pe)
    isempty(dest) && return nothing
    dims, bytes = dimensions(dest, source), sizeof(eltype(dest))
    return copy_dimensions(whole, rows, blocks, handle, address(dest), address(source), dims, bytes, pe)
end

function copy_dimensions(whole, rows, blocks, handle, to, from, dims, bytes, pe)
    n, to_stride, from_stride = isempty(dims) ? (1, 1, 1) : dims[1]
    compact = to_stride == 1 && from_stride == 1
    if length(dims) <= 1
        compact && return check(whole(handle, to, from, n * bytes, pe))
        return check(rows(handle, to, from, to_stride, from_stride, bytes, n, pe))
    elseif length(dims) == 2 && compact
        count, to_step, from_step = dims[2]
        return check(blocks(handle, to, from, to_step, from_step, bytes, n, count, pe))
    end
    count, to_step, from_step = dims[end]
    for i in 0:(count - 1)
        copy_dimensions(whole, rows, blocks, handle, to + i * to_step * bytes, from + i * from_step * bytes,
                        dims[1:(end - 1)], bytes, pe)
    end
    return nothing
end
