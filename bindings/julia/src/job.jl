# A PE's membership in a job: init, finalize, and queries of the job.

"""
    NVSHMEMRS.Job

This PE's membership in a job, as [`NVSHMEMRS.init`](@ref) gives it. There is one at a time in a
process.
"""
mutable struct Job
    handle::UInt64
    "Keeps the heap mapped as long as a Julia object may be on it."
    mapping::UInt64
    live::Bool
    "How often init was called again, and finalize was not."
    again::Int
    "For each thread, the local arrays of its operations without blocking, until it calls quiet."
    pending::Vector{Vector{Any}}
    "Objects that must live until finalize: registered buffers, and arrays of dropped streams."
    kept::Vector{Any}
    lock::Threads.SpinLock
    "All operations have run, those of streams too."
    drained::Bool
end

Job(handle, mapping, live) = Job(handle, mapping, live, 0, [Any[] for _ in 1:threads()], Any[], Threads.SpinLock(), false)

@static if VERSION >= v"1.9"
    threads() = Threads.maxthreadid()
else
    threads() = Threads.nthreads()
end

"The job of this process. Before init its handle is 0, for which the library has its own error."
const CURRENT = Ref(Job(UInt64(0), UInt64(0), false))

Base.show(io::IO, job::Job) =
    print(io, job.live ? "Job: PE $(my_pe(job)) of $(n_pes(job))" : "Job that this PE has left")

"""
    NVSHMEMRS.unique_id() -> NVSHMEMRS.FFI.UniqueId

Makes a unique id. One PE makes it and hands it to the others by any means; each passes it to
[`NVSHMEMRS.init`](@ref).

Local; needs no job. NVSHMEM `nvshmemx_get_uniqueid`.
"""
unique_id() = answer(FFI.UniqueId, FFI.nvshmemrs_unique_id_new)

"""
    NVSHMEMRS.init(; memory, heap_bytes, timeout, init_timeout, device) -> Job
    NVSHMEMRS.init(id, pe, n_pes; ...) -> Job
    NVSHMEMRS.init(f; ...)

Joins the job that the environment describes: `nvshmemrs-run`, `torchrun`, `mpirun`, `srun` on one
host. Without any of them the caller is the only PE. With an id of [`NVSHMEMRS.unique_id`](@ref)
it joins as PE `pe` of `n_pes`.

The form with a function calls `f(job)` and then [`NVSHMEMRS.finalize`](@ref). If `f` throws, the
PE leaves the job at once, so that no other PE waits for it, and the exception goes on.

A PE that has joined may call init again, with the same arguments or without them. Such a call
returns the same `Job` at once, and needs a further call of `finalize`.

* `memory`: where the heap lives, `:default`, `:host` or `:device`.
* `heap_bytes`: bytes of symmetric heap per PE; 0 takes `NVSHMEM_SYMMETRIC_SIZE`, else the
  machine's default.
* `timeout`, `init_timeout`: seconds that a wait and init may last; 0 takes the setting, else no
  limit and 60 seconds.
* `device`: the GPU of this PE, if the heap is in device memory; -1 lets the library choose.

Collective over all PEs of the job. It returns when every PE has joined. OpenSHMEM 1.5 section
9.1.1 (`shmem_init`).
Errors: BOOTSTRAP with what was tried and who is missing, TIMEOUT, NOT\\_SUPPORTED,
OUT\\_OF\\_MEMORY, PE\\_RANGE; INVALID\\_VALUE for other arguments than before.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init(heap_bytes = 2^24) do job
    println("PE ", my_pe(), " of ", n_pes())
end

# output

PE 0 of 1
```
"""
function init(; keywords...)
    attr = Ref(attributes(; keywords...))
    return joined(answer(UInt64, FFI.nvshmemrs_init, attr))
end

function init(id::FFI.UniqueId, pe::Integer, n_pes::Integer; keywords...)
    attr = Ref(attributes(; keywords...))
    pe, n_pes = number(:pe, pe), number(:n_pes, n_pes)
    return joined(answer(UInt64, FFI.nvshmemrs_init_unique_id, Ref(id), pe, n_pes, attr))
end

init(f::Function, arguments...; keywords...) = within(f, init(arguments...; keywords...))

function within(f, job)
    result = try
        f(job)
    catch
        leave(job)
        rethrow()
    end
    finalize(job)
    return result
end

const MEMORIES = (default = FFI.Memory.DEFAULT, host = FFI.Memory.HOST, device = FFI.Memory.DEVICE)

function attributes(; memory = :default, heap_bytes = 0, timeout = 0, init_timeout = 0, device = -1)
    haskey(MEMORIES, memory) ||
        throw(ArgumentError("argument `memory` is $(repr(memory)); it must be :default, :host or :device"))
    default = answer(FFI.InitAttr, FFI.nvshmemrs_init_attr_default)
    return FFI.InitAttr(default.version, MEMORIES[memory], heap_bytes, timeout, init_timeout, device, default.reserved)
end

function joined(handle)
    job = CURRENT[]
    if job.live && job.handle == handle
        locked(() -> job.again += 1, job.lock)
        return job
    end
    mapping = answer(UInt64, FFI.nvshmemrs_heap_keep, handle)
    job = Job(handle, mapping, true)
    # Only lets the memory go, which needs no other PE.
    finalizer(job -> FFI.nvshmemrs_heap_drop(job.mapping), job)
    CURRENT[] = job
    # Without either setting the hook is never called, and would only cost its compilation.
    if setting("NVSHMEMRS_CHECK") || setting("NVSHMEMRS_TRACK")
        check(name_places(handle))
        HOOKED[] = true
    end
    return job
end

setting(name) = !(get(ENV, name, "") in ("", "0"))

"""
    NVSHMEMRS.finalize(job = the current one)

Leaves the job: completes all operations, waits for the other PEs, gives all memory back.
Symmetric arrays can no longer be used in operations then; loads and stores through them stay
harmless. Init may be called again. Of as many calls as init has had, the last one does so.

Collective over the job. OpenSHMEM 1.5 section 9.1.4 (`shmem_finalize`).
Errors: NOT\\_INITIALIZED if the PE has left already; PE\\_DIED; CHECK\\_FAILED. After these the PE
has left, too. BUSY if it is called from a hook, and FORKED: the job goes on.
"""
function finalize(job::Job = CURRENT[])
    goes_on = locked(job.lock) do
        more = job.live && job.again > 0
        job.again -= more
        more
    end
    goes_on && return check(FFI.nvshmemrs_finalize(job.handle))
    was_live = job.live
    job.live = false
    status = @blocking FFI.nvshmemrs_finalize(job.handle)
    # The handle 0 does nothing for the library; here it is a call that comes before init.
    job.handle == 0 && check(FFI.nvshmemrs_runtime_check(job.handle))
    if status in GOES_ON
        job.live = was_live
    elseif was_live
        over(job, status in (FFI.Status.SUCCESS, FFI.Status.CHECK_FAILED))
    end
    return check(status)
end

"With these finalize and leave are refused, and the job goes on."
const GOES_ON = (Status.BUSY, Status.FORKED)

"""
    NVSHMEMRS.leave(job = the current one)

Leaves the job without the other PEs, which learn that this PE left. It is for exits in error.

Local; never waits. Errors: NOT\\_INITIALIZED if the PE has left already; BUSY if it is called from
a hook, and FORKED: the job goes on.
"""
function leave(job::Job = CURRENT[])
    status = FFI.nvshmemrs_leave(job.handle)
    if job.live && !(status in GOES_ON)
        job.live = false
        over(job, false)
    end
    return check(status)
end

"""
The job is over. If it is `drained`, all operations have run; otherwise a stream's thread may be
inside one still, so what they use lives on.
"""
function over(job, drained)
    fresh = Any[]
    kept = locked(job.lock) do
        job.drained = drained
        old = job.kept
        job.kept = fresh
        old
    end
    lists = filter!(!isempty, Any[kept; map(copy, job.pending)])
    foreach(empty!, job.pending)
    drained || locked(() -> append!(ABANDONED, lists), ABANDONED_LOCK)
    HOOKED[] = false
    return nothing
end

"""
    my_pe(job = the current one) -> Int
    my_pe(team::Team) -> Int

This PE's number, from 0: in the job, or in a team, where -1 means that it is no member.

Local. OpenSHMEM 1.5 sections 9.1.2 (`shmem_my_pe`) and 9.4.1 (`shmem_team_my_pe`).
Errors: NOT\\_INITIALIZED, BAD\\_HANDLE.
"""
my_pe(job::Job = CURRENT[]) = Int(answer(Int32, FFI.nvshmemrs_my_pe, job.handle))

"""
    n_pes(job = the current one) -> Int
    n_pes(team::Team) -> Int

The number of PEs in the job, or in a team.

Local. OpenSHMEM 1.5 sections 9.1.3 (`shmem_n_pes`) and 9.4.2 (`shmem_team_n_pes`).
Errors: NOT\\_INITIALIZED, BAD\\_HANDLE.
"""
n_pes(job::Job = CURRENT[]) = Int(answer(Int32, FFI.nvshmemrs_n_pes, job.handle))

"""
    NVSHMEMRS.device(job = the current one) -> Int

The GPU that this PE uses, as this process counts them; -1 if the heap is in host memory.

Local. Errors: NOT\\_INITIALIZED.
"""
device(job::Job = CURRENT[]) = Int(answer(Int32, FFI.nvshmemrs_device, job.handle))

"""
    NVSHMEMRS.job_check(job = the current one)

Throws the error that every waiting call would give if the job is not whole: PE\\_DIED, FORKED.

Local; never waits.
"""
job_check(job::Job = CURRENT[]) = check(FFI.nvshmemrs_runtime_check(job.handle))

"""
    NVSHMEMRS.heap_stats(job = the current one) -> NVSHMEMRS.FFI.HeapStats

How full the symmetric heap is: `heap_bytes`, `used_bytes`, `free_bytes`, `largest_free_bytes`,
`allocations`, and `released`, what this PE has released and the job has not freed yet.

Local. Errors: NOT\\_INITIALIZED.
"""
heap_stats(job::Job = CURRENT[]) = answer(FFI.HeapStats, FFI.nvshmemrs_heap_stats, job.handle)

"""
    NVSHMEMRS.unfreed(job = the current one) -> String

What this PE has made and not freed, and where, in the words that finalize writes to standard
error.

Local. Errors: NOT\\_SUPPORTED unless `NVSHMEMRS_TRACK=1` was set at init.
"""
function unfreed(job::Job = CURRENT[])
    length = answer(Csize_t, FFI.nvshmemrs_unfreed, job.handle, C_NULL, 0)
    text = Base.zeros(UInt8, length + 1)
    check(FFI.nvshmemrs_unfreed(job.handle, text, sizeof(text), Ref{Csize_t}()))
    return GC.@preserve text unsafe_string(pointer(text))
end

"""
    NVSHMEMRS.version() -> VersionNumber

The version of the library.

Local; needs no job.
"""
function version()
    parts = (Ref{Int32}(), Ref{Int32}(), Ref{Int32}())
    check(FFI.nvshmemrs_version(parts...))
    return VersionNumber((part[] for part in parts)...)
end

"""
    NVSHMEMRS.deadline(f, seconds)

Calls `f()`; a wait of this thread that lasts beyond `seconds` seconds from now ends with TIMEOUT.
The innermost deadline holds. A collective that a deadline ends breaks its team.

Local; needs no job. Errors: INVALID\\_VALUE unless `seconds` is more than 0 and at most
1000000000.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    word = NVSHMEMRS.zeros(Int64, 1)
    try
        NVSHMEMRS.deadline(0.01) do
            wait_until(==, word, 1)
        end
    catch problem
        println(problem.status == NVSHMEMRS.FFI.Status.TIMEOUT)
    end
end

# output

true
```
"""
function deadline(f, seconds::Real)
    previous = answer(UInt64, FFI.nvshmemrs_deadline_begin, seconds)
    try
        return f()
    finally
        FFI.nvshmemrs_deadline_end(previous)
    end
end
