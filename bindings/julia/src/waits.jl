# Waits and tests for writes of other PEs to this PE's copy of a symmetric array.

"Elements to look at, as the library takes them: their address, their number, and the array that excludes some."
function elements(x, status)
    without_gaps(x) || has_gaps(:x)
    status === nothing && return address(x), length(x), C_NULL
    length(status) == length(x) ||
        throw(DimensionMismatch("argument `status` has $(length(status)) elements; it must have those of the array, $(length(x))"))
    return address(x), length(x), Int32[value != 0 for value in status]
end

"The values that elements are compared to: one value for all, or an array with one for each."
wanted(x::OnHeap{T}, value) where {T} = Ref{T}(convert(T, value))
function wanted(x::OnHeap{T}, values::AbstractArray) where {T}
    length(values) == length(x) ||
        throw(DimensionMismatch("argument `value` has $(length(values)) elements; it must have those of the array, $(length(x))"))
    return T[values...]
end

"An index of the library, which counts from 0 and gives SIZE_MAX for none."
index(found) = found == typemax(Csize_t) ? nothing : Int(found) + 1

"""
    wait_until(cmp, x, value; stream)

Waits until the element of this PE's copy of `x` compares to `value`; `cmp` is one of `==`, `!=`,
`>`, `<=`, `<` and `>=`. `x` has one element: an integer of 8 to 64 bits, `Float32` or `Float64`.
What was put before the value that does is visible on return.

Local: only the caller waits; may be queued on a stream. OpenSHMEM 1.5 section 9.10.1
(`shmem_wait_until`).
Errors: PE\\_DIED, TIMEOUT, INTERRUPTED, NOT\\_SYMMETRIC, INVALID\\_VALUE.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = NVSHMEMRS.zeros(Int64, 3)
    println(NVSHMEMRS.test(==, view(x, 2), 5))
    put!(view(x, 2), 5, my_pe())
    wait_until(==, view(x, 2), 5)
    println(wait_until_any(>, x, 0), " ", wait_until_some(>=, x, 0), " ", NVSHMEMRS.test_all(==, x, [0, 5, 0]))
end

# output

false
2 [1, 2, 3] true
```
"""
function wait_until(cmp, x::OnHeap{T}, value; stream = nothing) where {T}
    handle, at, how = lane(job_of(x), stream), one_of(:x, x), comparison(cmp)
    against, type = Ref{T}(convert(T, value)), dtype(T)
    retain(stream, allocation(x))
    return GC.@preserve x check(@blocking FFI.nvshmemrs_wait_until(handle, at, how, against, type))
end

"""
    NVSHMEMRS.test(cmp, x, value; stream) -> Bool

Whether the element of this PE's copy of `x` compares to `value`. Arguments as for
[`wait_until`](@ref).

Local; never waits, except for the stream. OpenSHMEM 1.5 section 9.10.8 (`shmem_test`).
Errors: NOT\\_SYMMETRIC, INVALID\\_VALUE.
"""
function test(cmp, x::OnHeap{T}, value; stream = nothing) where {T}
    handle, at = lane(job_of(x), stream), one_of(:x, x)
    against = Ref{T}(convert(T, value))
    return GC.@preserve x answer(Int32, FFI.nvshmemrs_test, handle, at, comparison(cmp), against, dtype(T)) == 1
end

"""
    wait_until_all(cmp, x, value; status, stream)

Waits until each element of this PE's copy of `x` has compared to `value`, which is one value, or
an array with one for each. A `true` or a number other than 0 in `status` excludes the element.
`x` has no gaps.

Local: only the caller waits; may be queued on a stream. OpenSHMEM 1.5 sections 9.10.2 and 9.10.5
(`shmem_wait_until_all`, `_vector`). Errors: as [`wait_until`](@ref); `DimensionMismatch`.
"""
function wait_until_all(cmp, x::OnHeap{T}, value; status = nothing, stream = nothing) where {T}
    handle, how, type, against = lane(job_of(x), stream), comparison(cmp), dtype(T), wanted(x, value)
    at, count, excluded = elements(x, status)
    retain(stream, allocation(x))
    return GC.@preserve x if value isa AbstractArray
        check(@blocking FFI.nvshmemrs_wait_until_all_vector(handle, at, count, excluded, how, against, type))
    else
        check(@blocking FFI.nvshmemrs_wait_until_all(handle, at, count, excluded, how, against, type))
    end
end

"""
    NVSHMEMRS.test_all(cmp, x, value; status, stream) -> Bool

Whether all elements of this PE's copy of `x` compare to `value`. Arguments as for
[`wait_until_all`](@ref).

Local; never waits, except for the stream. OpenSHMEM 1.5 sections 9.10.9 and 9.10.12
(`shmem_test_all`, `_vector`).
Errors: NOT\\_SYMMETRIC, INVALID\\_VALUE; `DimensionMismatch`.
"""
function test_all(cmp, x::OnHeap{T}, value; status = nothing, stream = nothing) where {T}
    at, count, excluded = elements(x, status)
    call = value isa AbstractArray ? FFI.nvshmemrs_test_all_vector : FFI.nvshmemrs_test_all
    handle, against = lane(job_of(x), stream), wanted(x, value)
    return GC.@preserve x answer(Int32, call, handle, at, count, excluded, comparison(cmp), against, dtype(T)) == 1
end

# The forms for one and for some elements: a wait and a test of each, which differ in the name and in whether they wait.
for (name, verb, waits) in ((:wait_until_any, "Waits until an element", true), (:test_any, "Looks for an element", false))
    shown = waits ? "wait_until_any" : "NVSHMEMRS.test_any"
    text = """
        $shown(cmp, x, value; status, stream) -> Int or nothing

    $verb of this PE's copy of `x` that compares to `value`, and gives its index; `nothing` if
    $(waits ? "`status` excludes all" : "there is none"). If several compare, calls with the same arguments take turns.
    Arguments as for [`wait_until_all`](@ref).

    Local$(waits ? ": only the caller waits" : "; never waits, except for the stream").
    OpenSHMEM 1.5 section $(waits ? "9.10.3" : "9.10.10") (`shmem_$name`) and its `_vector` form.
    Errors: as [`wait_until`](@ref); `DimensionMismatch`.
    """
    plain, vector = Symbol(:nvshmemrs_, name), Symbol(:nvshmemrs_, name, :_vector)
    @eval begin
        function $name(cmp, x::OnHeap{T}, value; status = nothing, stream = nothing) where {T}
            handle, how, type, against = lane(job_of(x), stream), comparison(cmp), dtype(T), wanted(x, value)
            at, count, excluded = elements(x, status)
            found = Ref{Csize_t}()
            GC.@preserve x if value isa AbstractArray
                check(@blocking FFI.$vector(handle, at, count, excluded, how, against, type, found))
            else
                check(@blocking FFI.$plain(handle, at, count, excluded, how, against, type, found))
            end
            return index(found[])
        end
        @doc $text $name
    end
end

for (name, verb, waits) in ((:wait_until_some, "Waits until at least one element", true), (:test_some, "Looks for elements", false))
    shown = waits ? "wait_until_some" : "NVSHMEMRS.test_some"
    text = """
        $shown(cmp, x, value; status, stream) -> Vector{Int}

    $verb of this PE's copy of `x` that compare$(waits ? "s" : "") to `value`, and gives the indices of all that do, in
    order. Arguments as for [`wait_until_all`](@ref).

    Local$(waits ? ": only the caller waits" : "; never waits, except for the stream").
    OpenSHMEM 1.5 section $(waits ? "9.10.4" : "9.10.11") (`shmem_$name`) and its `_vector` form.
    Errors: as [`wait_until`](@ref); `DimensionMismatch`.
    """
    plain, vector = Symbol(:nvshmemrs_, name), Symbol(:nvshmemrs_, name, :_vector)
    @eval begin
        function $name(cmp, x::OnHeap{T}, value; status = nothing, stream = nothing) where {T}
            handle, how, type, against = lane(job_of(x), stream), comparison(cmp), dtype(T), wanted(x, value)
            at, count, excluded = elements(x, status)
            indices, found = Vector{Csize_t}(undef, count), Ref{Csize_t}()
            GC.@preserve x if value isa AbstractArray
                check(@blocking FFI.$vector(handle, at, count, indices, excluded, how, against, type, found))
            else
                check(@blocking FFI.$plain(handle, at, count, indices, excluded, how, against, type, found))
            end
            return Int[index(one) for one in view(indices, 1:Int(found[]))]
        end
        @doc $text $name
    end
end
