# fence and quiet, and the arrays that are kept alive until quiet.

"""
    fence(; job, stream)

Orders this PE's puts, atomic operations and signals to each PE: those before the fence are
visible there before those after it.

Local; does not wait for completion. OpenSHMEM 1.5 section 9.11.1 (`shmem_fence`). Errors:
NOT\\_INITIALIZED.
"""
fence(; job::Job = CURRENT[], stream = nothing) = check(FFI.nvshmemrs_fence(lane(job, stream)))

"""
    quiet(; job, stream)

Completes the operations of this thread, those without blocking (`_nbi`) too: their data is
visible to every PE, and their local arrays may be used again. On a stream it completes what was
queued on that stream. A task that may move to another thread, as one of `Threads.@spawn` may
whenever it yields, must call it before it yields.

Local. OpenSHMEM 1.5 section 9.11.2 (`shmem_quiet`). Errors: NOT\\_INITIALIZED, PE\\_DIED,
TIMEOUT.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x, got = SymmetricArray([1.0, 2.0]), zeros(2)
    get_nbi!(got, x, my_pe())
    quiet()
    println(got)
end

# output

[1.0, 2.0]
```
"""
function quiet(; job::Job = CURRENT[], stream = nothing)
    status = @blocking FFI.nvshmemrs_quiet(lane(job, stream))
    stream === nothing && status == FFI.Status.SUCCESS && completed(job)
    return check(status)
end

"""
Keeps the arrays of an operation without blocking until this thread calls quiet. The list is
the thread's own, because quiet completes what its own thread issued.
"""
function pend(job::Job, ::Nothing, arrays...)
    thread = Threads.threadid()
    if thread <= length(job.pending)
        append!(job.pending[thread], arrays)
    else
        # A thread that Julia has adopted since init: until finalize.
        locked(() -> append!(job.kept, arrays), job.lock)
    end
    return nothing
end
pend(job::Job, stream::Stream, arrays...) = retain(stream, arrays...)

"This thread's operations are complete."
function completed(job::Job)
    thread = Threads.threadid()
    thread <= length(job.pending) && empty!(job.pending[thread])
    return nothing
end
