# Conformance, scenario "misuse": a caller's mistake comes back as a status and a message that names the
# argument and the value; nothing is written, no PE is stranded, and the job goes on. The same steps, in the same
# order, are in misuse.c, misuse.cpp and misuse.f90.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS: last_error
using NVSHMEMRS.FFI
using NVSHMEMRS.FFI: Dtype, Op, Status
const WORLD = FFI.Team.WORLD

me = -1
n = 0

function fail(what)
    print(stderr, "misuse: PE $me of $n: failed: $what\n")
    exit(1)
end

macro check(what)
    :($(esc(what)) || fail($(string(what))))
end

macro must(call)
    quote
        status = $(esc(call))
        status == Status.SUCCESS || fail($(string(call)) * ": status $status: $(last_error())")
    end
end

"The call must come to `wanted`, and the message must have both words in it: the names are those of Julia."
macro expect(wanted, word, value, call)
    quote
        status, wanted, word, value = $(esc(call)), $(esc(wanted)), $(esc(word)), $(esc(value))
        text = last_error()
        if status != wanted || !occursin(word, text) || !occursin(value, text)
            fail($(string(call)) * ": status $status (expected $wanted), message \"$text\" (expected $word and " *
                 "$value in it)")
        end
    end
end

const COUNT = 8

nobody = Ref{Int32}(-5)
@expect Status.NOT_INITIALIZED "runtime" "" FFI.nvshmemrs_my_pe(0, nobody)
@check nobody[] == -5

handle, pe, pes = Ref{UInt64}(0), Ref{Int32}(-1), Ref{Int32}(0)
@must FFI.nvshmemrs_init(C_NULL, handle)
const rt = handle[]
@must FFI.nvshmemrs_my_pe(rt, pe)
@must FFI.nvshmemrs_n_pes(rt, pes)
me, n = Int(pe[]), Int(pes[])
@check n >= 2 # a mismatch takes two

memory = Ref{Ptr{Cvoid}}(C_NULL)
@must FFI.nvshmemrs_calloc(rt, COUNT, sizeof(Float64), memory)
data_at = Ptr{Float64}(memory[])
data = unsafe_wrap(Array, data_at, COUNT)
row = Float64.(1:(COUNT + 1))

@expect Status.PE_RANGE "`pe`" string(n) FFI.nvshmemrs_put(rt, data_at, row, 8, n)
@expect Status.PE_RANGE "`pe`" "-1" FFI.nvshmemrs_put(rt, data_at, row, 8, -1)
@expect Status.OUT_OF_BOUNDS "`dest`" "72" FFI.nvshmemrs_put(rt, data_at, row, sizeof(row), 0)
@expect Status.NOT_SYMMETRIC "`dest`" "`FFI.nvshmemrs_malloc()`" FFI.nvshmemrs_put(rt, row, data_at, 8, 0)
@expect Status.INVALID_VALUE "`pe`" "`C_NULL`" FFI.nvshmemrs_my_pe(rt, C_NULL)
@expect Status.INVALID_VALUE "`ptr`" "`C_NULL`" FFI.nvshmemrs_malloc(rt, 64, C_NULL)
@must FFI.nvshmemrs_barrier(rt, WORLD)
@check all(iszero, data)

@must FFI.nvshmemrs_malloc(rt, 64, memory)
@must FFI.nvshmemrs_free(rt, memory[])
@expect Status.BAD_FREE "`ptr`" "free" FFI.nvshmemrs_free(rt, memory[])

data[1:4] .= me + 1
data[5:8] .= -7
dest_at = data_at + 4 * sizeof(Float64)
@expect Status.INVALID_VALUE "`dtype`" "77" FFI.nvshmemrs_reduce(rt, WORLD, dest_at, data_at, 4, 77, Op.SUM)
@expect Status.INVALID_VALUE "`op`" "88" FFI.nvshmemrs_reduce(rt, WORLD, dest_at, data_at, 4, Dtype.DOUBLE, 88)
elements = me == n - 1 ? 3 : 4
@expect Status.MISMATCH "count" "3" FFI.nvshmemrs_reduce(rt, WORLD, dest_at, data_at, elements, Dtype.DOUBLE, Op.SUM)
@must FFI.nvshmemrs_barrier(rt, WORLD)
@check all(data[5:8] .== -7)

# The type does not have the operation, the buffers overlap, the team has fewer than no members, or is gone.
@expect Status.INVALID_VALUE "`op` is xor" "`Float64`" FFI.nvshmemrs_reduce(rt, WORLD, dest_at, data_at, 4, Dtype.DOUBLE, Op.XOR)
@expect Status.INVALID_VALUE "`dest`" "clear of `source`" FFI.nvshmemrs_reduce(rt, WORLD, data_at + 8, data_at, 4, Dtype.DOUBLE, Op.SUM)
team = Ref{UInt64}(77)
@expect Status.INVALID_VALUE "`size`" "-1" FFI.nvshmemrs_team_split_strided(rt, WORLD, 0, 1, -1, C_NULL, 0, team)
@check team[] == 77
@must FFI.nvshmemrs_team_split_strided(rt, WORLD, 0, 1, n, C_NULL, 0, team)
@must FFI.nvshmemrs_team_destroy(rt, team[])
@expect Status.BAD_HANDLE "`team` is a handle of team " "destroyed" FFI.nvshmemrs_barrier(rt, team[])
@check data[2] == me + 1 && data[5] == -7

# A stream is no runtime where something is made; an event that was never recorded has no time.
stream, event, milliseconds = Ref{UInt64}(0), Ref{UInt64}(0), Ref{Float64}(-5)
@must FFI.nvshmemrs_stream_new(rt, stream)
@must FFI.nvshmemrs_event_new(rt, event)
@expect Status.BAD_HANDLE "`runtime` is the handle of a stream that is live" "live runtime" FFI.nvshmemrs_malloc(stream[], 64, memory)
@expect Status.INVALID_VALUE "`start`" "recorded" FFI.nvshmemrs_event_elapsed(event[], event[], milliseconds)
@check milliseconds[] == -5
@must FFI.nvshmemrs_event_free(event[])
@must FFI.nvshmemrs_stream_free(stream[])
@expect Status.BAD_HANDLE "`stream` is the handle of a stream that is ended" "live stream" FFI.nvshmemrs_stream_synchronize(stream[])

# After all that the job works.
@must FFI.nvshmemrs_reduce(rt, WORLD, dest_at, data_at, 4, Dtype.DOUBLE, Op.SUM)
@check data[5] == n * (n + 1) / 2
@must FFI.nvshmemrs_barrier(rt, WORLD)
@must FFI.nvshmemrs_free(rt, data_at)
@must FFI.nvshmemrs_finalize(rt)
@expect Status.NOT_INITIALIZED "`FFI.nvshmemrs_init()`" "finalize" FFI.nvshmemrs_my_pe(rt, nobody)
@check nobody[] == -5
# One write, so that the lines of several PEs do not mix.
print("misuse ok PE $me of $n (Julia)\n")
