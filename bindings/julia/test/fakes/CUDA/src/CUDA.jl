"Stands in for CUDA.jl in the tests of the extension: the names that it uses, on host memory."
module CUDA

export CuArray, CuPtr, CuStream

primitive type CuPtr{T} 64 end

struct CuArray{T, N} <: DenseArray{T, N}
    address::CuPtr{T}
    dims::NTuple{N, Int}
    owner::Any
end

CuArray(x::Array{T, N}) where {T, N} = CuArray{T, N}(reinterpret(CuPtr{T}, pointer(x)), size(x), x)
Base.unsafe_wrap(::Type{CuArray}, address::CuPtr{T}, dims::NTuple{N, Int}) where {T, N} = CuArray{T, N}(address, dims, nothing)
Base.size(x::CuArray) = x.dims
Base.elsize(::Type{<:CuArray{T}}) where {T} = sizeof(T)
Base.pointer(x::CuArray) = x.address
Base.unsafe_convert(::Type{Ptr{T}}, x::CuArray{T}) where {T} =
    throw(ArgumentError("cannot take the CPU address of a $(typeof(x))"))
Base.Array(x::CuArray{T}) where {T} = copy(unsafe_wrap(Array, reinterpret(Ptr{T}, x.address), x.dims))

struct CuStream
    handle::Ptr{Cvoid}
end

end
