# Signals: words of 64 bits that say that data has arrived.

"A signal: a symmetric array, or a view of one, with one `UInt64`."
const SignalWord = OnHeap{UInt64}

"""
    put_signal!(dest, source, signal, value, pe; op = :set, stream)

Copies `source` to the copy of `dest` on PE `pe`, then updates `signal` there: a PE that sees the signal
sees the data. `signal` is one `UInt64` of a symmetric array, `op` is `:set` or `:add`. Arrays and
views as for [`put!`](@ref).

One-sided. Returns when `source` may be reused. OpenSHMEM 1.5 section 9.8.3 (`shmem_put_signal`).
Errors: as [`put!`](@ref).

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x, arrived = NVSHMEMRS.zeros(Float64, 2), NVSHMEMRS.zeros(UInt64, 1)
    put_signal!(x, [1.0, 2.0], arrived, 1, my_pe())
    println(signal_wait(>=, arrived, 1), " ", x)
end

# output

1 [1.0, 2.0]
```
"""
function put_signal!(dest::OnHeap{T}, source::AbstractArray, signal::SignalWord, value::Integer, pe::Integer;
                     op::Symbol = :set, stream = nothing) where {T}
    strided(:source, source, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    at, how = one_of(:signal, signal), update(op)
    if !(without_gaps(dest) && without_gaps(source))
        # With an invalid signal nothing must be written; the library's error describes it.
        is_symmetric(signal) && put!(dest, source, pe; stream = stream)
        # An update comes after all earlier puts to that PE.
        return signal_op!(signal, value, pe; op = op, stream = stream)
    end
    retain(stream, source, allocation(dest), allocation(signal))
    GC.@preserve dest source signal begin
        check(FFI.nvshmemrs_put_signal(lane(job_of(dest), stream), address(dest), address(source),
                                       length(dest) * sizeof(T), at, value % UInt64, how, number(:pe, pe)))
    end
    return nothing
end

"Whether the elements lie in a live allocation."
is_symmetric(x) =
    answer(Int32, FFI.nvshmemrs_is_symmetric, job_of(x).handle, address(x), length(x) * sizeof(eltype(x))) == 1

"""
    put_signal_nbi!(dest, source, signal, value, pe; op = :set, stream)

As [`put_signal!`](@ref), but `source` may be changed only after [`quiet`](@ref). The binding
keeps it until then.

One-sided. OpenSHMEM 1.5 section 9.8.4 (`shmem_put_signal_nbi`). Errors: as [`put!`](@ref).
"""
function put_signal_nbi!(dest::OnHeap{T}, source::AbstractArray, signal::SignalWord, value::Integer, pe::Integer;
                         op::Symbol = :set, stream = nothing) where {T}
    (without_gaps(dest) && without_gaps(source)) ||
        return put_signal!(dest, source, signal, value, pe; op = op, stream = stream)
    strided(:source, source, T)
    size(dest) == size(source) || wrong_shape(dest, source)
    at, job, how = one_of(:signal, signal), job_of(dest), update(op)
    pend(job, stream, source, allocation(dest), allocation(signal))
    GC.@preserve dest source signal begin
        check(FFI.nvshmemrs_put_signal_nbi(lane(job, stream), address(dest), address(source), length(dest) * sizeof(T),
                                           at, value % UInt64, how, number(:pe, pe)))
    end
    return nothing
end

"""
    signal_op!(signal, value, pe; op = :set, stream)

Updates the signal on PE `pe`, after all earlier puts of this PE to that PE. `op` is `:set` or
`:add`.

One-sided; complete on return. NVSHMEM `nvshmemx_signal_op`. Errors: as [`put!`](@ref).
"""
function signal_op!(signal::SignalWord, value::Integer, pe::Integer; op::Symbol = :set, stream = nothing)
    handle, at, how, pe = lane(job_of(signal), stream), one_of(:signal, signal), update(op), number(:pe, pe)
    retain(stream, allocation(signal))
    return GC.@preserve signal check(FFI.nvshmemrs_signal_op(handle, at, value % UInt64, how, pe))
end

"""
    signal_wait(cmp, signal, value) -> UInt64
    signal_wait(cmp, signal, value; stream)

Waits until this PE's copy of the signal compares to `value`, and gives the value that did. `cmp`
is one of `==`, `!=`, `>`, `<=`, `<` and `>=`. Data that the sender put before the signal is visible on
return. On a stream it gives `nothing`.

Local: only the caller waits. OpenSHMEM 1.5 section 9.10.15 (`shmem_signal_wait_until`).
Errors: PE\\_DIED, TIMEOUT, INTERRUPTED, NOT\\_SYMMETRIC.
"""
function signal_wait(cmp, signal::SignalWord, value::Integer; stream = nothing)
    at, how, job, wanted = one_of(:signal, signal), comparison(cmp), job_of(signal), value % UInt64
    if stream !== nothing
        retain(stream, allocation(signal))
        check(FFI.nvshmemrs_signal_wait(lane(job, stream), at, how, wanted, C_NULL))
        return nothing
    end
    seen = Ref{UInt64}()
    GC.@preserve signal check(@blocking FFI.nvshmemrs_signal_wait(job.handle, at, how, wanted, seen))
    return seen[]
end

"""
    signal_fetch(signal) -> UInt64

This PE's copy of the signal. Data that the sender put before that value is visible on return.

Local; never waits. OpenSHMEM 1.5 section 9.8.5 (`shmem_signal_fetch`). Errors: NOT\\_SYMMETRIC.
"""
signal_fetch(signal::SignalWord; stream = nothing) =
    answer(UInt64, FFI.nvshmemrs_signal_fetch, lane(job_of(signal), stream), one_of(:signal, signal))
