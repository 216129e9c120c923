# Teams: subsets of the PEs with numbers of their own.

"""
    Team
    Team(unique_id, n_pes, index)

A set of PEs, numbered from 0. `TEAM_WORLD` has all of them, `TEAM_SHARED` those whose heaps this
PE can load and store, `TEAM_NODE` those of this host, `TEAM_SAME_GPU` those that use this PE's
GPU, `TEAM_GPU_LEADERS` one of each GPU. [`split_strided`](@ref) and [`split_2d`](@ref) make
teams. `isvalid(team)` says whether this PE is a member.

The second form makes a team of the `n_pes` PEs that call it with the same number of
[`NVSHMEMRS.team_unique_id`](@ref); the caller is number `index`. It is collective over the new
team's members only. NVSHMEM `nvshmemx_team_init`.
Errors: INVALID\\_VALUE, PE\\_RANGE, MISMATCH, PEER\\_ARGUMENT, NOT\\_SUPPORTED.

A team that is not destroyed ends with finalize.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    even = split_strided(TEAM_WORLD, 0, 2, cld(n_pes(), 2))
    if isvalid(even)
        println("PE ", my_pe(even), " of ", n_pes(even), " is PE ", translate(even, 0, TEAM_WORLD))
        destroy!(even)
    end
end

# output

PE 0 of 1 is PE 0
```
"""
struct Team
    handle::UInt64
end

"All PEs of the job."
const TEAM_WORLD = Team(FFI.Team.WORLD)
"The PEs whose heaps load and store can reach from this PE."
const TEAM_SHARED = Team(FFI.Team.SHARED)
"The PEs on the same host as this PE."
const TEAM_NODE = Team(FFI.Team.NODE)
"The PEs that have this PE's number on their own hosts."
const TEAM_SAME_MYPE_NODE = Team(FFI.Team.SAME_MYPE_NODE)
"The PEs that use this PE's GPU for their heaps."
const TEAM_SAME_GPU = Team(FFI.Team.SAME_GPU)
"The PE with the lowest number of each GPU, and every PE whose heap is in host memory."
const TEAM_GPU_LEADERS = Team(FFI.Team.GPU_LEADERS)

const PREDEFINED = ("TEAM_WORLD", "TEAM_SHARED", "TEAM_NODE", "TEAM_SAME_MYPE_NODE", "TEAM_SAME_GPU", "TEAM_GPU_LEADERS")

function Base.show(io::IO, team::Team)
    team.handle < length(PREDEFINED) && return print(io, PREDEFINED[team.handle + 1])
    team.handle == FFI.Team.INVALID && return print(io, "Team that this PE is no member of")
    print(io, "Team(0x", string(team.handle, base = 16), ")")
end

Base.isvalid(team::Team) = team.handle != FFI.Team.INVALID

my_pe(team::Team) = Int(answer(Int32, FFI.nvshmemrs_team_my_pe, CURRENT[].handle, team.handle))
n_pes(team::Team) = Int(answer(Int32, FFI.nvshmemrs_team_n_pes, CURRENT[].handle, team.handle))

"""
    translate(source::Team, pe, dest::Team) -> Int

The number in `dest` of the PE that is `pe` in `source`, or -1 if it is not a member of `dest`.

Local. OpenSHMEM 1.5 section 9.4.5 (`shmem_team_translate_pe`). Errors: BAD\\_HANDLE, PE\\_RANGE.
"""
translate(source::Team, pe::Integer, dest::Team) =
    Int(answer(Int32, FFI.nvshmemrs_team_translate_pe, CURRENT[].handle, source.handle, number(:pe, pe), dest.handle))

"""
The default configuration, or one with a number of contexts; the mask for it; and `nothing` or what is
wrong with it.
"""
function configuration(num_contexts; uniqueid = nothing)
    default = answer(FFI.TeamConfig, FFI.nvshmemrs_team_config_default)
    contexts, mask, wrong = default.num_contexts, Int64(0), nothing
    if num_contexts !== nothing
        (contexts,), wrong = numbers(:value, num_contexts)
        mask |= FFI.TeamConfigMask.NUM_CONTEXTS
    end
    if uniqueid !== nothing
        mask |= FFI.TeamConfigMask.UNIQUEID
    end
    id = uniqueid === nothing ? default.uniqueid : UInt64(uniqueid)
    return Ref(FFI.TeamConfig(default.version, contexts, id, default.reserved)), mask, wrong
end

"""
    split_strided(parent::Team, start, stride, size; num_contexts) -> Team

A team of `size` members of `parent`: its numbers `start`, `start + stride`, and so on. A negative
stride is allowed. On a PE that is no member `isvalid` of the result is false.

Collective over `parent` with the same arguments. OpenSHMEM 1.5 section 9.4.6
(`shmem_team_split_strided`).
Errors, on every member: INVALID\\_VALUE, PE\\_RANGE, MISMATCH, PEER\\_ARGUMENT, NOT\\_SUPPORTED;
also BAD\\_HANDLE.
"""
function split_strided(parent::Team, start::Integer, stride::Integer, size::Integer; num_contexts = nothing)
    config, mask, wrong_config = configuration(num_contexts)
    (first, step, members), wrong = numbers(:value, start, stride, size)
    team, handle = Ref{UInt64}(), CURRENT[].handle
    agreed(wrong === nothing ? wrong_config : wrong) do
        @blocking FFI.nvshmemrs_team_split_strided(handle, parent.handle, first, step, members, config, mask, C_NULL)
    end
    check(@blocking FFI.nvshmemrs_team_split_strided(handle, parent.handle, first, step, members, config, mask, team))
    return Team(team[])
end

"""
    split_2d(parent::Team, xrange; num_contexts) -> (row::Team, column::Team)

Lays the members of `parent` out in rows of `xrange` and makes a team of each row and of each
column: the caller's.

Collective over `parent` with the same arguments. OpenSHMEM 1.5 section 9.4.7
(`shmem_team_split_2d`).
Errors: as [`split_strided`](@ref).
"""
function split_2d(parent::Team, xrange::Integer; num_contexts = nothing)
    config, mask, wrong_config = configuration(num_contexts)
    (width,), wrong = numbers(:value, xrange)
    row, column, handle = Ref{UInt64}(), Ref{UInt64}(), CURRENT[].handle
    agreed(wrong === nothing ? wrong_config : wrong) do
        @blocking FFI.nvshmemrs_team_split_2d(handle, parent.handle, width, config, mask, config, mask, C_NULL, C_NULL)
    end
    check(@blocking FFI.nvshmemrs_team_split_2d(handle, parent.handle, width, config, mask, config, mask, row, column))
    return Team(row[]), Team(column[])
end

"""
    NVSHMEMRS.team_unique_id() -> UInt64

A random number by which the members of a [`Team`](@ref) find each other. One of them calls it and
hands it to the others.

Local. NVSHMEM `nvshmemx_team_get_uniqueid`.
"""
team_unique_id() = answer(UInt64, FFI.nvshmemrs_team_unique_id, CURRENT[].handle)

function Team(unique_id::Integer, n_pes::Integer, index::Integer; num_contexts = nothing)
    config, mask, wrong_config = configuration(num_contexts; uniqueid = unique_id)
    (members, own), wrong = numbers(:value, n_pes, index)
    team, handle = Ref{UInt64}(), CURRENT[].handle
    agreed(wrong === nothing ? wrong_config : wrong) do
        @blocking FFI.nvshmemrs_team_init(handle, config, mask, members, own, C_NULL)
    end
    check(@blocking FFI.nvshmemrs_team_init(handle, config, mask, members, own, team))
    return Team(team[])
end

"""
    NVSHMEMRS.num_contexts(team::Team) -> Int

The number of contexts that the team was made with. There are no contexts in this version.

Local. OpenSHMEM 1.5 section 9.4.4 (`shmem_team_get_config`). Errors: BAD\\_HANDLE.
"""
function num_contexts(team::Team)
    mask = FFI.TeamConfigMask.NUM_CONTEXTS
    return Int(answer(FFI.TeamConfig, FFI.nvshmemrs_team_get_config, CURRENT[].handle, team.handle, mask).num_contexts)
end

"""
    destroy!(team::Team)

Destroys a team; an operation on it is an error afterwards. Where this PE is no member it does
nothing.

Collective over `team`. OpenSHMEM 1.5 section 9.4.8 (`shmem_team_destroy`).
Errors: INVALID\\_VALUE for a predefined team, BAD\\_HANDLE, MISMATCH; also PE\\_DIED, TIMEOUT,
INTERRUPTED.
"""
function destroy!(team::Team)
    handle = CURRENT[].handle
    return check(@blocking FFI.nvshmemrs_team_destroy(handle, team.handle))
end
