# Collectives: every member of the team calls them, in the same order. Members are named by their numbers in the team.

export barrier, sync, allreduce!, fcollect!, collect!, alltoall!, gather!, scatter!, reducescatter!, inscan!, exscan!

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

"The exception for wrong arrays of a collective, or `nothing`."
function problem(dest, source, wanted_dest, wanted_source)
    wrong = types_problem(dest, source)
    wrong === nothing || return wrong
    without_gaps(dest) || return ArgumentError("argument `dest` is a view with gaps between its elements; it must have none")
    without_gaps(source) || return ArgumentError("argument `source` is a view with gaps between its elements; it must have none")
    return sizes_problem(dest, source, wanted_dest, wanted_source)
end

function types_problem(dest, source)
    dest isa OnHeap || return not_on_heap(:dest, dest)
    source isa OnHeap || return not_on_heap(:source, source)
    return eltype(dest) === eltype(source) ? nothing : wrong_elements(:source, source, eltype(dest))
end

@noinline not_on_heap(name, x) =
    ArgumentError("argument `$name` is a $(typeof(x)); it must be a SymmetricArray or a view of one")

function sizes_problem(dest, source, wanted_dest, wanted_source)
    length(dest) == wanted_dest || return wrong_length(:dest, dest, wanted_dest)
    return length(source) == wanted_source ? nothing : wrong_length(:source, source, wanted_source)
end

@noinline wrong_length(name, x, wanted) =
    DimensionMismatch("argument `$name` has $(length(x)) elements; it must have $wanted in this collective")

"""
Calls a collective on two arrays: `call` gets their addresses and `size`, its first number. On a stream
it keeps the arrays. If there is a `problem`, it tells the other members, who would wait: NULL is no
symmetric address, so every member gets an error; then `size` must not be 0.
"""
function collective(call, problem, dest, source, stream, size)
    agreed(() -> call(C_NULL, C_NULL, max(size, 1)), problem)
    retain(stream, allocation(dest), allocation(source))
    return GC.@preserve dest source check(call(address(dest), address(source), size))
end

"The bytes of an element. A type that no array on the heap has is refused, and has any."
element_bytes(x) = isbitstype(eltype(x)) ? sizeof(eltype(x)) : 1

"""
    broadcast!(dest, source, root; team = TEAM_WORLD, stream)
    broadcast!(x, root; team = TEAM_WORLD, stream)

Copies `source` of the member with team number `root` to `dest` on every member, the root
included. Both are symmetric arrays, or views without gaps, of one size. The second form is in
place.

Collective over `team` with the same arguments; may be queued on a stream. Returns when `dest` is
written here and `source` may be reused. OpenSHMEM 1.5 section 9.9.7 (`shmem_broadcast`).
Errors, on every member, and nothing is written: MISMATCH, NOT\\_SYMMETRIC, OUT\\_OF\\_BOUNDS,
PE\\_RANGE, PEER\\_ARGUMENT; also PE\\_DIED, TIMEOUT, INTERRUPTED. Arrays of the wrong size, of
the wrong type or with gaps are a `DimensionMismatch` or an `ArgumentError` for the member that
passes them.

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
Base.broadcast!(dest::OnHeap, source::OnHeap, root::Integer; team::Team = TEAM_WORLD, stream = nothing) =
    broadcast_from(root, dest, source, team, stream)

function broadcast_from(root, dest, source, team, stream)
    (small,), wrong = numbers(:root, root)
    if wrong === nothing
        wrong = problem(dest, source, length(dest), length(dest))
    end
    handle = lane(CURRENT[], stream)
    return collective(wrong, dest, source, stream, length(dest) * element_bytes(dest)) do to, from, bytes
        @blocking FFI.nvshmemrs_broadcast(handle, team.handle, to, from, bytes, small)
    end
end

# With an array that is not symmetric. Without these methods the call would be Base's, and the other members would wait.
Base.broadcast!(dest::OnHeap, source::AbstractArray, root::Integer; team::Team = TEAM_WORLD, stream = nothing) =
    broadcast_from(root, dest, source, team, stream)
Base.broadcast!(dest::AbstractArray, source::OnHeap, root::Integer; team::Team = TEAM_WORLD, stream = nothing) =
    broadcast_from(root, dest, source, team, stream)

Base.broadcast!(x::OnHeap, root::Integer; team::Team = TEAM_WORLD, stream = nothing) =
    broadcast!(x, x, root; team = team, stream = stream)

# The collectives that move the same number of bytes from every member. They differ in the relation of the sizes.
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
    them; elements behind them stay. The library knows the end of the array that `dest` is in, not that of a view.

    Collective over `team` with the same symmetric address `dest`; may be queued on a stream. OpenSHMEM 1.5 section 9.9.8
    (`shmem_collect`). Completion and errors: as [`broadcast!`](@ref).
    """),
)
    @eval begin
        function $name(dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
            expected = $(shape === :any ? :(length(dest)) : :(length(source) * n_pes(team)))
            wrong = problem(dest, source, expected, length(source))
            handle = lane(CURRENT[], stream)
            return collective(wrong, dest, source, stream, length(source) * element_bytes(source)) do to, from, bytes
                @blocking FFI.$call(handle, team.handle, to, from, bytes)
            end
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
function alltoall!(dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
    handle, members, element = lane(CURRENT[], stream), n_pes(team), element_bytes(source)
    part = fld(length(source), max(members, 1))
    wrong = alltoall_problem(dest, source, part * members)
    if wrong !== nothing || (without_gaps(dest) && without_gaps(source))
        return collective(wrong, dest, source, stream, part * element) do to, from, bytes
            @blocking FFI.nvshmemrs_alltoall(handle, team.handle, to, from, bytes)
        end
    end
    to_step, from_step = strides(dest)[1], strides(source)[1]
    return collective(nothing, dest, source, stream, part) do to, from, count
        @blocking FFI.nvshmemrs_alltoalls(handle, team.handle, to, from, to_step, from_step, element, count)
    end
end

function alltoall_problem(dest, source, wanted)
    vectors = ndims(dest) == 1 && ndims(source) == 1 && dest isa StridedArray && source isa StridedArray
    vectors || return problem(dest, source, wanted, wanted)
    wrong = types_problem(dest, source)
    return wrong === nothing ? sizes_problem(dest, source, wanted, wanted) : wrong
end

"""
    gather!(dest, source, root; team = TEAM_WORLD, stream)

Puts the `source` of every member one behind the other, in team order, in `dest` on the member with
team number `root`. There `dest` has as many elements as all sources together; all sources have one
size. Other members may pass any `dest`, also `nothing`: it is not used.

Collective over `team` with the same `root` and `source`; may be queued on a stream. As MPI 4.1
section 6.5 (`MPI_Gather`). Completion and errors: as [`broadcast!`](@ref).

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x, all = SymmetricArray([my_pe() + 1.5]), NVSHMEMRS.zeros(Float64, n_pes())
    gather!(all, x, 0)
    println(all)
end

# output

[1.5]
```
"""
function gather!(dest, source, root::Integer; team::Team = TEAM_WORLD, stream = nothing)
    whole, parts = my_pe(team) == root ? (dest, n_pes(team)) : (source, 1)
    from_root(FFI.nvshmemrs_gather, whole, source, source, (parts, 1), root, team, stream)
end

"""
    scatter!(dest, source, root; team = TEAM_WORLD, stream)

Sends part j of `source` on the member with team number `root` to `dest` of member j. There `source`
has as many elements as all of `dest` together. Other members may pass any `source`, also `nothing`:
it is not used.

Collective over `team` with the same `root` and `dest`; may be queued on a stream. As MPI 4.1
section 6.6 (`MPI_Scatter`). Completion and errors: as [`broadcast!`](@ref).
"""
function scatter!(dest, source, root::Integer; team::Team = TEAM_WORLD, stream = nothing)
    whole, parts = my_pe(team) == root ? (source, n_pes(team)) : (dest, 1)
    from_root(FFI.nvshmemrs_scatter, dest, whole, dest, (1, parts), root, team, stream)
end

"A collective in which `dest` and `source` have `parts` times the size of `part`, the side that every member uses."
function from_root(call::F, dest, source, part, parts, root, team, stream) where {F}
    (small,), wrong = numbers(:root, root)
    elements = part isa AbstractArray ? length(part) : 0
    if wrong === nothing
        wrong = problem(dest, source, (elements .* parts)...)
    end
    handle = lane(CURRENT[], stream)
    return collective(wrong, dest, source, stream, elements * element_bytes(part)) do to, from, bytes
        @blocking call(handle, team.handle, to, from, bytes, small)
    end
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
function allreduce!(op, dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
    reduced(FFI.nvshmemrs_reduce, op, dest, source, length(dest), team, stream)
end
allreduce!(op, x::AbstractArray; team::Team = TEAM_WORLD, stream = nothing) = allreduce!(op, x, x; team = team, stream = stream)

"""
    reducescatter!(op, dest, source; team = TEAM_WORLD, stream)

As [`allreduce!`](@ref), but member i keeps only part i of the result, in `dest`. `source` has one
such part for each member. In place: `dest` is the member's own part of `source`, as a view.

Collective over `team` with the same arguments, except for a `dest` in place; may be queued on a
stream. NVSHMEM `nvshmem_sum_reducescatter`. Completion and errors: as [`allreduce!`](@ref).
"""
function reducescatter!(op, dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
    reduced(FFI.nvshmemrs_reducescatter, op, dest, source, length(dest) * n_pes(team), team, stream)
end

"""
    inscan!(op, dest, source; team = TEAM_WORLD, stream)

Combines the `source` of the members up to and including the caller, in team order, and writes the
result to the caller's `dest`. `source` may be `dest`.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.6
(`shmem_sum_inscan`). Completion and errors: as [`allreduce!`](@ref).
"""
function inscan!(op, dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
    reduced(FFI.nvshmemrs_inscan, op, dest, source, length(dest), team, stream)
end

"""
    exscan!(op, dest, source; team = TEAM_WORLD, stream)

As [`inscan!`](@ref), without the caller's own `source`; member 0 gets the neutral element.

Collective over `team` with the same arguments; may be queued on a stream. OpenSHMEM 1.6
(`shmem_sum_exscan`). Completion and errors: as [`allreduce!`](@ref).
"""
function exscan!(op, dest::AbstractArray, source::AbstractArray; team::Team = TEAM_WORLD, stream = nothing)
    reduced(FFI.nvshmemrs_exscan, op, dest, source, length(dest), team, stream)
end

function reduced(call::F, op, dest, source, wanted_source, team, stream) where {F}
    type, how, wrong = terms(op, eltype(dest))
    if wrong === nothing
        wrong = problem(dest, source, length(dest), wanted_source)
    end
    handle = lane(CURRENT[], stream)
    return collective(wrong, dest, source, stream, length(dest)) do to, from, count
        @blocking call(handle, team.handle, to, from, count, type, how)
    end
end

"The library's numbers of an element type and of a reduction, and `nothing` or the exception for one of them."
function terms(op, T)
    try
        return dtype(T), reduction(op), nothing
    catch unknown
        return FFI.Dtype.UINT8, FFI.Op.SUM, unknown
    end
end
