# Streams and events: operations that run later, in order.

"""
    Stream()
    Stream(cuda_stream::Ptr)

An ordered queue of operations. With `stream = s` an operation is queued: it returns at once and
runs after all that was queued before. An operation that gives a value waits until the stream has
run it. The binding keeps the arrays that queued operations use until [`synchronize`](@ref),
symmetric ones too; leave their contents alone until then.

On host memory a stream has a thread of its own. On device memory it is a stream of the GPU; the
second form takes the program's own `cudaStream_t`, and with CUDA.jl loaded `Stream(s::CuStream)`
does. A team has one collective at a time: synchronize the stream between its collectives and
those that are called directly.

Local. A stream that is dropped runs on; [`destroy!`](@ref) waits for it. Errors: SYSTEM,
NOT\\_SUPPORTED, NOT\\_INITIALIZED.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x, s = NVSHMEMRS.zeros(Float64, 2), Stream()
    put!(x, [1.0, 2.0], my_pe(); stream = s)
    barrier(stream = s)
    synchronize(s)
    println(x)
end

# output

[1.0, 2.0]
```
"""
mutable struct Stream
    handle::UInt64
    job::Job
    live::Bool
    "The arrays of queued operations."
    pending::Vector{Any}
    lock::Threads.SpinLock
end

function Stream()
    job = CURRENT[]
    return stream_of(job, answer(UInt64, FFI.nvshmemrs_stream_new, job.handle))
end

function Stream(cuda_stream::Ptr)
    job = CURRENT[]
    return stream_of(job, answer(UInt64, FFI.nvshmemrs_stream_from_cuda, job.handle, cuda_stream))
end

function stream_of(job, handle)
    stream = Stream(handle, job, true, Any[], Threads.SpinLock())
    finalizer(record_stream, stream)
    return stream
end

"Lets a dropped stream go. The garbage collector calls it, so it neither waits nor throws."
function record_stream(stream)
    job = stream.job
    stream.live || return nothing
    if !job.live
        # The stream's thread has ended, or may be inside an operation still.
        job.drained || isempty(stream.pending) || abandon(stream.pending) || finalizer(record_stream, stream)
        return nothing
    end
    # A finalizer may have come in between a lock and its unlock, and the library must not be called while it asks for a place.
    if NAMING[] > 0 || !trylock(job.lock)
        finalizer(record_stream, stream)
        return nothing
    end
    # Queued operations still run.
    push!(job.kept, stream.pending)
    unlock(job.lock)
    stream.live = false
    FFI.nvshmemrs_stream_release(stream.handle)
    return nothing
end

"Arrays that the thread of a stream may still be inside of, although the job is over: until the process ends."
const ABANDONED = Any[]
const ABANDONED_LOCK = Threads.SpinLock()

"Adds to them. A finalizer may call it, so it does not wait for the lock, and gives whether it had it."
function abandon(arrays)
    trylock(ABANDONED_LOCK) || return false
    push!(ABANDONED, arrays)
    unlock(ABANDONED_LOCK)
    return true
end

"The handle for a call: the job's, or that of the stream it is queued on."
@inline lane(job::Job, ::Nothing) = job.handle
@inline lane(job::Job, stream::Stream) = stream.handle

"Keeps the arrays of a queued operation until the stream has run it."
@inline retain(::Nothing, arrays...) = nothing
retain(stream::Stream, arrays...) = locked(() -> foreach(array -> add!(stream.pending, array), arrays), stream.lock)

"Adds an array unless it is among the last ones: a loop of operations on a few arrays shall not make the list long."
function add!(list, array)
    for i in max(1, lastindex(list) - 7):lastindex(list)
        list[i] === array && return nothing
    end
    push!(list, array)
    return nothing
end

"Calls `f` with a lock that finalizers may also try for."
function locked(f, guard)
    lock(guard)
    try
        return f()
    finally
        unlock(guard)
    end
end

"""
    synchronize(stream::Stream)
    synchronize(event::Event)

Waits until everything queued on the stream before has run, or until the latest record of the
event is reached. A stream then gives the first error since the last call, once.

Local; waits for the stream. Errors: those of the queued operations; TIMEOUT, INTERRUPTED,
PE\\_DIED; BAD\\_HANDLE.
"""
function synchronize(stream::Stream)
    # Another thread may queue meanwhile, or synchronize: its operations are in another list.
    queued = taken(stream)
    status = GC.@preserve stream queued (@blocking FFI.nvshmemrs_stream_synchronize(stream.handle))
    # After these errors it may still be running.
    if status in (FFI.Status.TIMEOUT, FFI.Status.INTERRUPTED, FFI.Status.PE_DIED)
        retain(stream, queued)
    end
    return check(status)
end

"The arrays of operations queued so far, which the stream no longer keeps."
function taken(stream)
    fresh = Any[]
    return locked(stream.lock) do
        queued = stream.pending
        stream.pending = fresh
        queued
    end
end

"""
    isready(stream::Stream) -> Bool
    isready(event::Event) -> Bool

Whether everything queued on the stream before has run, or the latest record of the event is
reached.

Local; never waits. Errors: BAD\\_HANDLE.
"""
Base.isready(stream::Stream) = answer(Int32, FFI.nvshmemrs_stream_query, stream.handle) == 1

"""
    destroy!(stream::Stream)

Waits until everything queued has run, and ends the stream.

Local; waits for the stream. Errors: as [`synchronize`](@ref).
"""
function destroy!(stream::Stream)
    # The handle is stale afterwards, also after an error, and an operation on it is the library's error.
    stream.live = false
    status = @blocking FFI.nvshmemrs_stream_free(stream.handle)
    queued = taken(stream)
    # After an error, queued operations may still run.
    status == FFI.Status.SUCCESS || locked(() -> push!(stream.job.kept, queued), stream.job.lock)
    return check(status)
end

"""
    notify(condition::Base.AsyncCondition, stream::Stream)

Queues a wake-up: the tasks that wait for `condition` go on once the stream has come here. The
stream's thread is none of Julia's, so it calls no Julia function itself.

Local; returns at once. Errors: BAD\\_HANDLE; NOT\\_SUPPORTED while the stream is captured into a
graph.
"""
function Base.notify(condition::Base.AsyncCondition, stream::Stream)
    retain(stream, condition)
    return check(FFI.nvshmemrs_stream_call(stream.handle, cglobal(:uv_async_send), condition.handle))
end

"""
    NVSHMEMRS.cuda_stream(stream::Stream) -> Ptr{Cvoid}

The `cudaStream_t` of a stream.

Local. Errors: BAD\\_HANDLE, NOT\\_SUPPORTED on host memory.
"""
cuda_stream(stream::Stream) = answer(Ptr{Cvoid}, FFI.nvshmemrs_stream_cuda, stream.handle)

"""
    Event()

A mark on a stream: [`record!`](@ref) sets it, [`synchronize`](@ref) and [`wait_event`](@ref) wait
for it.

Local. The garbage collector lets it go. Errors: NOT\\_INITIALIZED.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    first_stream, second, done = Stream(), Stream(), Event()
    record!(done, first_stream)
    wait_event(second, done)
    synchronize(second)
    println(isready(done))
end

# output

true
```
"""
mutable struct Event
    handle::UInt64
    job::Job
end

function Event()
    job = CURRENT[]
    event = Event(answer(UInt64, FFI.nvshmemrs_event_new, job.handle), job)
    finalizer(record_event, event)
    return event
end

function record_event(event)
    event.job.live || return nothing
    if NAMING[] > 0
        finalizer(record_event, event)
        return nothing
    end
    FFI.nvshmemrs_event_free(event.handle)
    return nothing
end

"""
    record!(event::Event, stream::Stream)

Marks the end of the operations queued on `stream` so far. A later record replaces an earlier one.

Local; returns at once. Errors: BAD\\_HANDLE.
"""
record!(event::Event, stream::Stream) = check(FFI.nvshmemrs_event_record(event.handle, stream.handle))

"""
    wait_event(stream::Stream, event::Event)

Makes what is queued later on `stream` wait until the latest record of `event` is reached. An
event that was not recorded holds nothing up.

Local; returns at once. Errors: BAD\\_HANDLE.
"""
wait_event(stream::Stream, event::Event) = check(FFI.nvshmemrs_stream_wait_event(stream.handle, event.handle))

synchronize(event::Event) = check(@blocking FFI.nvshmemrs_event_synchronize(event.handle))
Base.isready(event::Event) = answer(Int32, FFI.nvshmemrs_event_query, event.handle) == 1

"""
    NVSHMEMRS.elapsed(start::Event, stop::Event) -> Float64

Milliseconds from `start` to `stop`; both must have been recorded and reached.

Local; never waits. Errors: BAD\\_HANDLE, INVALID\\_VALUE.
"""
elapsed(start::Event, stop::Event) = answer(Float64, FFI.nvshmemrs_event_elapsed, start.handle, stop.handle)
