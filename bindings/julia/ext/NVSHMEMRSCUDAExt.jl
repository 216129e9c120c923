"Arrays and streams of CUDA.jl. Julia loads it with both packages, from 1.9 on."
module NVSHMEMRSCUDAExt

using NVSHMEMRS: NVSHMEMRS, SymmetricArray, Stream
using CUDA: CUDA, CuArray, CuPtr, CuStream

# A CuArray as the local side of an operation. It is read and written by its address, so what CUDA.jl has been told to do with
# it must be done: synchronize, or pass `stream = Stream(CUDA.stream())`.
NVSHMEMRS.address(x::CuArray{T}) where {T} = reinterpret(Ptr{T}, pointer(x))
NVSHMEMRS.address(x::SubArray{T, N, <:CuArray}) where {T, N} = reinterpret(Ptr{T}, pointer(x))

"""
    unsafe_wrap(CuArray, x::SymmetricArray) -> CuArray

A `CuArray` on the memory of `x`, for kernels and array operations of CUDA.jl; the heap is in
device memory. `x` must live as long.

Local. Errors: `ArgumentError` if the heap is in host memory.
"""
function Base.unsafe_wrap(::Type{CuArray}, x::SymmetricArray{T, N}) where {T, N}
    x.plain && !isempty(x) && throw(ArgumentError("the symmetric heap is in host memory; it must be in device memory"))
    return unsafe_wrap(CuArray, reinterpret(CuPtr{T}, x.address), size(x))
end

"""
    Stream(stream::CuStream)

A stream of CUDA.jl, so that operations can be queued on it. It must exist as long.

Local. Errors: NOT\\_SUPPORTED on host memory, INVALID\\_VALUE for a stream of another GPU.
"""
NVSHMEMRS.Stream(stream::CuStream) = Stream(Ptr{Cvoid}(stream.handle))

end
