# Collectives: every member of the team calls them, in the same order. Members are named by their numbers in the team.

"""
    barrier(team = TEAM_WORLD; stream)

Waits until every member has arrived, and completes all operations that the members issued before:
they are visible to every member.

Collective over `team`; may be queued on a stream. OpenSHMEM 1.5 section 9.9.1 (`shmem_barrier`,
`shmem_barrier_all`).
Errors: BAD\\_HANDLE, PE\\_DIED, TIMEOUT, INTERRUPTED, MISMATCH when a member is in another
collective.
"""
function barrier(team::Team = TEAM_WORLD; stream = nothing)
    job = CURRENT[]
    handle = lane(job, stream)
    status = @blocking FFI.nvshmemrs_barrier(handle, team.handle)
    stream === nothing && status == FFI.Status.SUCCESS && completed(job)
    return check(status)
end

"""
    sync(team = TEAM_WORLD; stream)

Waits until every member has arrived. Operations without blocking are not completed by it.

Collective over `team`; may be queued on a stream. OpenSHMEM 1.5 section 9.9.3 (`shmem_team_sync`,
`shmem_sync_all`).
Errors: as [`barrier`](@ref).
"""
function sync(team::Team = TEAM_WORLD; stream = nothing)
    handle = lane(CURRENT[], stream)
    return check(@blocking FFI.nvshmemrs_sync(handle, team.handle))
end

"What is wrong with the arrays of a collective: `nothing`, or an exception."
function problem(dest, source, wanted_dest, wanted_source)
    without_gaps(dest) || return ArgumentError("argument `dest` is a view with gaps between its elements; it must have none")
    without_gaps(source) || return ArgumentError("argument `source` is a view with gaps between its elements; it must have none")
    for (name, x, wanted) in ((:dest, dest, wanted_dest), (:source, source, wanted_source))
        length(x) == wanted ||
            return DimensionMismatch("argument `$name` has $(length(x)) elements; it must have $wanted in this collective")
    end
    return nothing
end

"""
Throws `problem` if there is one, after telling the other members: `call` is the collective with
an address that is not symmetric, which every member gets an error from, so nobody is left
waiting.
"""
function agreed(call, problem)
    problem === nothing && return nothing
    call()
    throw(problem)
end

nowhere(::Type{T}) where {T} = Ptr{T}(C_NULL)

"""
    broadcast!(dest, source, root; team = TEAM_WORLD, stream)
    broadcast!(x, root; team = TEAM_WORLD, stream)

Copies `source` of the member with team number `root` to `dest` on every member, the root
included. Both are symmetric arrays, or views without gaps, of one size. The second form is in
place.

Collective over `team` with the same arguments; may be queued on a stream. Returns when `dest` is
written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.7 (`shmem_broadcast`).
Errors, on every member, and nothing is written: MISMATCH, NOT\\_SYMMETRIC, OUT\\_OF\\_BOUNDS,
PE\\_RANGE, PEER\\_ARGUMENT; also PE\\_DIED, TIMEOUT, INTERRUPTED. Arrays of the wrong size or
with gaps are a `DimensionMismatch` or an `ArgumentError` for the member that passes them.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = SymmetricArray([my_pe() + 1.5])
    broadcast!(x, 0)
    println(x)
end

# output

[1.5]
```
"""
function Base.broadcast!(dest::OnHeap{T}, source::OnHeap{T}, root::Integer; team::Team = TEAM_WORLD,
                         stream = nothing) where {T}
    handle, root, bytes = lane(job_of(dest), stream), number(:root, root), length(dest) * sizeof(T)
    wrong = problem(dest, source, length(dest), length(dest))
    agreed(() -> FFI.nvshmemrs_broadcast(handle, team.handle, C_NULL, C_NULL, max(bytes, 1), root), wrong)
    to, from = address(dest), address(source)
    return check(@blocking FFI.nvshmemrs_broadcast(handle, team.handle, to, from, bytes, root))
end

Base.broadcast!(x::OnHeap, root::Integer; team::Team = TEAM_WORLD, stream = nothing) =
    broadcast!(x, x, root; team = team, stream = stream)

# The collectives that move as many bytes from every member: the argument's part in the size is what differs.
for (name, call, shape, text) in (
    (:fcollect!, :nvshmemrs_fcollect, :gathered, """
        fcollect!(dest, source; team = TEAM_WORLD, stream)

    Puts the `source` of every member one behind the other, in team order, in `dest` on every member. `dest` has as many
    elements as all sources together; all sources have one size.

    Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.5 section 9.9.8
    (`shmem_fcollect`). Completion and errors: as [`broadcast!`](@ref).
    """),
    (:collect!, :nvshmemrs_collect, :any, """
        collect!(dest, source; team = TEAM_WORLD, stream)

    As [`fcollect!`](@ref), but the sizes of the sources may differ between members. `dest` must have room for all of
    them; what lies behind them stays. The library knows the end of the array that `dest` is in, not that of a view.

    Collective over `team` with the same symmetric address `dest`; may be queued on a stream. OpenSHMEM 1.5 section 9.9.8
    (`shmem_collect`). Completion and errors: as [`broadcast!`](@ref).
    """),
)
    @eval begin
        function $name(dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
            handle, bytes = lane(job_of(dest), stream), length(source) * sizeof(T)
            expected = $(shape === :any ? :(length(dest)) : :(length(source) * n_pes(team)))
            wrong = problem(dest, source, expected, length(source))
            agreed(() -> FFI.$call(handle, team.handle, C_NULL, C_NULL, max(bytes, 1)), wrong)
            to, from = address(dest), address(source)
            return check(@blocking FFI.$call(handle, team.handle, to, from, bytes))
        end
        @doc $text $name
    end
end

"""
    alltoall!(dest, source; team = TEAM_WORLD, stream)

Sends part j of `source` to member j, where it becomes part i of `dest`, i being the sender's
number. Both have one size, and one part for each member. Vectors may be views with a step,
`view(x, 1:3:12)`; they go through the library's strided form.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.5 sections
9.9.5 and 9.9.6 (`shmem_alltoall`, `shmem_alltoalls`). Completion and errors: as
[`broadcast!`](@ref).

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    source, dest = SymmetricArray([1, 2, 3, 4]), NVSHMEMRS.zeros(Int, 4)
    alltoall!(view(dest, 1:2), view(source, 1:3:4))
    println(dest)
end

# output

[1, 4, 0, 0]
```
"""
function alltoall!(dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
    handle, members = lane(job_of(dest), stream), n_pes(team)
    part = fld(length(source), max(members, 1))
    wrong = alltoall_problem(dest, source, part * members)
    tell = () -> FFI.nvshmemrs_alltoall(handle, team.handle, C_NULL, C_NULL, max(part * sizeof(T), 1))
    agreed(tell, wrong)
    to, from, bytes = address(dest), address(source), sizeof(T)
    if without_gaps(dest) && without_gaps(source)
        bytes *= part
        return check(@blocking FFI.nvshmemrs_alltoall(handle, team.handle, to, from, bytes))
    end
    to_step, from_step = strides(dest)[1], strides(source)[1]
    return check(@blocking FFI.nvshmemrs_alltoalls(handle, team.handle, to, from, to_step, from_step, bytes, part))
end

function alltoall_problem(dest, source, wanted)
    vectors = ndims(dest) == 1 && ndims(source) == 1 && dest isa StridedArray && source isa StridedArray
    if !vectors
        return problem(dest, source, wanted, wanted)
    end
    for (name, x) in ((:dest, dest), (:source, source))
        length(x) == wanted ||
            return DimensionMismatch("argument `$name` has $(length(x)) elements; it must have $wanted in this collective")
    end
    return nothing
end

"""
    allreduce!(op, dest, source; team = TEAM_WORLD, stream)
    allreduce!(op, x; team = TEAM_WORLD, stream)

Combines the `source` of every member, element by element, and writes the result to `dest` on
every member. `op` is one of `+`, `*`, `min`, `max`, and for integers also `&`, `|` and `xor`. The
second form is in place.

The result has the same bits for every PE and run: it is a left fold in team order. A NaN in any
source gives NaN. Elements are integers of 8 to 64 bits, `Float16`, `Float32`, `Float64`,
`ComplexF32` or `ComplexF64`; complex numbers have `+` and `*` only.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.5 section
9.9.9 (`shmem_sum_reduce`). Completion and errors: as [`broadcast!`](@ref), and INVALID\\_VALUE.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = SymmetricArray([my_pe() + 1.0, 2.0])
    allreduce!(+, x)
    println(x)
end

# output

[1.0, 2.0]
```
"""
function allreduce!(op, dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
    reduced(FFI.nvshmemrs_reduce, op, dest, source, length(dest), length(dest), team, stream)
end
allreduce!(op, x::OnHeap; team::Team = TEAM_WORLD, stream = nothing) = allreduce!(op, x, x; team = team, stream = stream)

"""
    reducescatter!(op, dest, source; team = TEAM_WORLD, stream)

As [`allreduce!`](@ref), but member i keeps only part i of the result, in `dest`. `source` has one
such part for each member. In place: `dest` is the member's own part of `source`, as a view.

Collective over `team` with the same arguments, except for a `dest` in place; may be queued on a
stream. NVSHMEM `nvshmem_sum_reducescatter`. Completion and errors: as [`allreduce!`](@ref).
"""
function reducescatter!(op, dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
    reduced(FFI.nvshmemrs_reducescatter, op, dest, source, length(dest), length(dest) * n_pes(team), team, stream)
end

"""
    inscan!(op, dest, source; team = TEAM_WORLD, stream)

Combines the `source` of the members up to and including the caller, in team order, and writes the
result to the caller's `dest`. `source` may be `dest`.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.6
(`shmem_sum_inscan`). Completion and errors: as [`allreduce!`](@ref).
"""
function inscan!(op, dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
    reduced(FFI.nvshmemrs_inscan, op, dest, source, length(dest), length(dest), team, stream)
end

"""
    exscan!(op, dest, source; team = TEAM_WORLD, stream)

As [`inscan!`](@ref), without the caller's own `source`; member 0 gets the neutral element.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.6
(`shmem_sum_exscan`). Completion and errors: as [`allreduce!`](@ref).
"""
function exscan!(op, dest::OnHeap{T}, source::OnHeap{T}; team::Team = TEAM_WORLD, stream = nothing) where {T}
    reduced(FFI.nvshmemrs_exscan, op, dest, source, length(dest), length(dest), team, stream)
end

function reduced(call::F, op, dest::OnHeap{T}, source, count, wanted_source, team, stream) where {F, T}
    handle = lane(job_of(dest), stream)
    wrong, type, how = problem(dest, source, count, wanted_source), FFI.Dtype.UINT8, FFI.Op.SUM
    try
        type, how = dtype(T), reduction(op)
    catch unknown
        wrong = unknown
    end
    agreed(() -> call(handle, team.handle, C_NULL, C_NULL, max(count, 1), type, how), wrong)
    to, from = address(dest), address(source)
    return check(@blocking call(handle, team.handle, to, from, count, type, how))
end
