# One PE of a job that tests the package: all types and operations, views, arrays that the garbage collector takes, streams,
# misuse, and calls after finalize. Each PE prints one line at its end.

include("check.jl")
include("operations.jl")
using NVSHMEMRS: @check

"Views of every kind, put to the right neighbour and fetched from it, compared with plain arrays."
function views(me, left, right)
    x = NVSHMEMRS.zeros(Int, 5, 4, 3)
    for part in (
        (:, :, :), (2, 3, 1), (2:4, :, 2), (:, 2:3, :), (1:2:5, 2, 3), (5:-2:1, 4:-1:1, 1:2), (2:3, 1:3:4, 1:2:3), (3, :, :),
        (:, 1, 1:2:3), (4:3, :, 1),
    )
        target = view(x, part...)
        source = reshape([1000me + i for i in 1:length(target)], size(target))
        model = zeros(Int, 5, 4, 3)
        view(model, part...) .= reshape([1000left + i for i in 1:length(target)], size(target))
        put!(target, source, right)
        barrier()
        same("put! to the view $part", x, model)
        same("get of the view $part", get(target, right), ndims(target) == 0 ? source[] : source)
        # Gaps on the local side instead.
        spread = zeros(Int, 2 .* size(target))
        local_part = view(spread, (1:2:(2size(target, d)) for d in 1:ndims(target))...)
        get!(local_part, target, right)
        same("get! to gaps, view $part", local_part, source)
        same("elements beside, view $part", sum(spread), sum(source))
        barrier()
        x .= 0
        barrier()
    end
    signal = NVSHMEMRS.zeros(UInt64, 2)
    put_signal!(view(x, 2, :, 1), fill(me + 1, 4), view(signal, 2), 3, right; op = :add)
    same("the signal of a strided put", signal_wait(>=, view(signal, 2), 3), 3)
    same("the data of a strided put_signal!", x[2, :, 1], fill(left + 1, 4))
    same("the signal beside", signal_fetch(view(signal, 1)), 0)
    neighbour = peer_array(x, right)
    barrier()
    same("a load of the neighbour's copy", neighbour[2, 1, 1], me + 1)
    release(x, signal)
end

"Local arrays of operations that are not complete live on, although nothing else holds them."
function garbage(me, left, right)
    x = NVSHMEMRS.zeros(Float64, 4096)
    put_nbi!(x, fill(1.0 + me, 4096), right)
    GC.gc()
    barrier()
    same("put_nbi! of a temporary array", all(==(1.0 + left), x), true)
    stream, ready = Stream(), NVSHMEMRS.zeros(UInt64, 1)
    for i in 1:8
        put!(x, fill(10.0i + me, 4096), right; stream = stream)
    end
    signal_op!(ready, 1, right; stream = stream)
    GC.gc()
    synchronize(stream)
    signal_wait(==, ready, 1)
    same("put! of a temporary array on a stream", all(==(80.0 + left), x), true)
    same("arrays that the stream keeps", length(stream.pending), 0)
    barrier()
    destroy!(stream)
    release(x, ready)

    # Arrays that are dropped: freed by the next collective allocation that all PEs have released them before.
    before = NVSHMEMRS.heap_stats().allocations
    drop() = (foreach(_ -> SymmetricArray{Int}(undef, 100), 1:10); nothing)
    drop()
    GC.gc()
    GC.gc()
    barrier()
    free!(SymmetricArray{Int}(undef, 1))
    same("allocations after garbage", NVSHMEMRS.heap_stats().allocations <= before + 2, true)
    foreach(_ -> (Stream(); Event()), 1:5)
    GC.gc()
    # In place: the local form of free!.
    kept = SymmetricArray{Int}(undef, 10)
    NVSHMEMRS.Base.finalize(kept.allocation)
    @refused ArgumentError ["freed"] kept[1]
end

"Queues operations of every kind on `s`, behind a wait for `gate`, and drops their symmetric arrays; gives how many."
@noinline function queue_and_drop(s, gate, n, right)
    arrays = [NVSHMEMRS.zeros(Float64, 4) for _ in 1:12]
    words = [NVSHMEMRS.zeros(UInt64, 4) for _ in 1:9]
    barrier()
    word(i) = view(words[i], 1)
    wait_until(==, gate, 1; stream = s)
    put!(arrays[1], ones(4), right; stream = s)
    put!(view(arrays[2], 1:2:3), ones(2), right; stream = s)
    put!(view(arrays[3], 1), 1, right; stream = s)
    get!(zeros(4), arrays[4], right; stream = s)
    get!(zeros(2), view(arrays[5], 1:2:3), right; stream = s)
    put_nbi!(arrays[6], ones(4), right; stream = s)
    get_nbi!(zeros(4), arrays[7], right; stream = s)
    put_signal!(arrays[8], ones(4), word(1), 1, right; stream = s)
    put_signal_nbi!(arrays[9], ones(4), word(2), 1, right; stream = s)
    signal_op!(word(3), 1, right; stream = s)
    signal_wait(==, word(3), 1; stream = s)
    wait_until(>=, word(4), 0; stream = s)
    wait_until_all(>=, words[5], 0; stream = s)
    atomic_add!(word(6), 1, right; stream = s)
    atomic_fetch_add_nbi!(Ref{UInt64}(0), word(7), 1, right; stream = s)
    broadcast!(view(arrays[10], 1:2), view(arrays[10], 3:4), 0; stream = s)
    fcollect!(view(words[8], 1:n), view(words[8], 4:4); stream = s)
    allreduce!(+, arrays[11], arrays[12]; stream = s)
    alltoall!(view(words[9], 1:n), view(words[9], 1:n); stream = s)
    return length(arrays) + length(words)
end

"Symmetric arrays of queued operations live until the stream has run them, although the program drops them."
function queued_arrays(me, n, right)
    # Arrays that earlier tests have dropped are released, and the first allocation frees them.
    GC.gc()
    GC.gc()
    barrier()
    s, gate = Stream(), NVSHMEMRS.zeros(Int64, 1)
    before = NVSHMEMRS.heap_stats().released
    count = queue_and_drop(s, gate, n, right)
    GC.gc()
    GC.gc()
    same("arrays that a stream uses are not released", NVSHMEMRS.heap_stats().released <= before, true)
    barrier()
    # This allocation frees the array that all PEs have released, and takes its place.
    other = SymmetricArray(fill(7.0, 160))
    barrier()
    put!(gate, [1], me)
    synchronize(s)
    barrier()
    same("nothing was written elsewhere", all(==(7.0), other), true)
    GC.gc()
    GC.gc()
    # The last frame may hold one.
    same("they are released afterwards", NVSHMEMRS.heap_stats().released >= before + count - 2, true)
    barrier()
    destroy!(s)
    release(other, gate)
end

struct Holder
    array::SymmetricArray{Int, 1}
    stream::Stream
end

"Copies by `copy`, `deepcopy` and Serialization never end the original."
function copies(me)
    x, s, e = SymmetricArray(fill(me + 1, 4)), Stream(), Event()
    for handle in (s, e, NVSHMEMRS.CURRENT[])
        same("a copy of a handle", (copy(handle) === handle, deepcopy([handle])[1] === handle), (true, true))
        @refused ArgumentError ["cannot be serialized", string(nameof(typeof(handle)))] NVSHMEMRS.serialize(IOBuffer(), handle)
    end
    for array in (x, peer_array(x, me)), made in (copy(array), deepcopy(array))
        same("a copy of an array", (typeof(made), made), (Vector{Int}, fill(me + 1, 4)))
    end
    holder = deepcopy(Holder(x, s))
    same("the stream of a struct", holder.stream === s, true)
    buffer = IOBuffer()
    NVSHMEMRS.serialize(buffer, (x, view(x, 2:3)))
    read, part = NVSHMEMRS.deserialize(seekstart(buffer))
    x .= 0
    same("private elements", (holder.array, read, part), (fill(me + 1, 4), fill(me + 1, 4), fill(me + 1, 2)))
    same("their types", (holder.array isa typeof(x), read isa typeof(x)), (true, true))
    @refused NVSHMEMError ["NOT_SYMMETRIC"] put!(read, ones(Int, 4), me)
    holder.array[1], read[1] = 5, 6
    same("the original", x, zeros(Int, 4))
    holder = read = part = nothing
    GC.gc()
    put!(x, fill(3, 4), me; stream = s)
    record!(e, s)
    synchronize(e)
    same("the original still works", x, fill(3, 4))
    destroy!(s)
    release(x)
end

"The action of the next call of the hook of a long wait, or `nothing`."
const HOOK = Ref{Any}(nothing)
function hook(::Ptr{Cvoid})::Int32
    act, HOOK[] = HOOK[], nothing
    act === nothing || act()
    return 0
end

"Finalize in a hook is refused, and the job goes on."
function hooked(job, me)
    word, said = NVSHMEMRS.zeros(Int, 1), Ref{Any}()
    set(pointer) = NVSHMEMRS.check(NVSHMEMRS.FFI.nvshmemrs_interrupt_hook(job.handle, pointer, C_NULL))
    HOOK[] = function ()
        said[] = try
            NVSHMEMRS.finalize(job)
        catch problem
            problem
        end
        put!(word, [1], me)
    end
    set(@cfunction(hook, Int32, (Ptr{Cvoid},)))
    wait_until(==, word, 1)
    set(C_NULL)
    @same (said[].status, job.live) (NVSHMEMRS.Status.BUSY, true)
    barrier()
end

"Arrays that a stream may still use live on when the job ends without it."
function abandoned()
    job = NVSHMEMRS.init(heap_bytes = 2^22)
    s, word = Stream(), NVSHMEMRS.zeros(Int, 1)
    wait_until(==, word, 1; stream = s)
    @refused NVSHMEMError ["TIMEOUT"] NVSHMEMRS.deadline(() -> NVSHMEMRS.finalize(job), 0.01)
    @same job.live false
    Base.finalize(s)
    @same length(NVSHMEMRS.ABANDONED) 1
    @refused NVSHMEMError ["NOT_INITIALIZED"] NVSHMEMRS.leave(job)
end

function plain_arrays(me)
    x = SymmetricArray(reshape(collect(1.0:6.0), 2, 3))
    @same x[2, 3] 6.0
    @same sum(x) 21.0
    @same x * ones(3) [9.0, 12.0]
    @same similar(x) isa Array{Float64, 2} true
    @same copy(view(x, :, 2)) [3.0, 4.0]
    @same size(reshape(x, 3, 2)) (3, 2)
    @same reinterpret(UInt64, x)[1] reinterpret(UInt64, 1.0)
    @same reinterpret(Float64, x) === x true
    @same reinterpret(Float64, view(x, 1:2)) isa SubArray true
    @same vec(x) isa SymmetricArray true
    @same copyto!(zeros(2, 3), x) x
    x[:, 1:2] = view(x, :, 2:3) # a part of itself
    @same x [3.0 5.0 5.0; 4.0 6.0 6.0]
    vec(x)[2:6] .= view(x, 1, 1) .+ (0:4)
    @same x [3.0 4.0 6.0; 3.0 5.0 7.0]
    x .= reshape(1:6, 2, 3)
    x .= 2 .* x .+ me
    @same x[1, 1] 2.0 + me
    @same size(NVSHMEMRS.zeros(Int32, 0, 3)) (0, 3)
    @same SymmetricArray{Float32}(undef, 4; align = 4096).address |> UInt |> address -> address % 4096 0
    @same SymmetricArray{Float32}([1, 2]) Float32[1, 2]
    # A checked access evaluates its array and its indices once.
    y, steps = NVSHMEMRS.zeros(Int, 2, 3), Ref(0)
    next() = steps[] += 1
    @check y[next(), 1] = 9
    @check y[next(), 1] += 2
    @check y[next() - 2, 2:3] .+= 1
    @check y[next() - 2, 2:end] = [5, 6]
    @same (steps[], y) (4, [9 1 1; 2 5 6])
    free!(y)
    release(x)
end

function misuse(me, n)
    x, row = NVSHMEMRS.zeros(Float64, 4), ones(4)
    @refused NVSHMEMError ["PE_RANGE", "`pe`", string(n)] put!(x, row, n)
    @refused NVSHMEMError ["PE_RANGE", "`pe`", "-1"] put!(x, row, -1)
    @refused NVSHMEMError ["PE_RANGE", "`pe`", string(2^40)] put!(x, row, 2^40)
    @refused DimensionMismatch ["`source`", "(3,)", "(4,)"] put!(x, ones(3), 0)
    @refused DimensionMismatch ["(2, 2)"] get!(ones(2, 2), x, 0)
    @refused ArgumentError ["`source`", "Int64", "Float64"] put!(x, [1, 2, 3, 4], 0)
    @refused ArgumentError ["`source`", "strides"] put!(x, 1.0:4.0, 0)
    @refused DimensionMismatch ["`dest`", "4 elements", "one"] put!(x, 1.5, 0)
    word = SymmetricArray(UInt64[0])
    @refused ArgumentError ["`op`", ":sub"] put_signal!(view(x, 1:2:3), ones(2), word, 1, 0; op = :sub)
    free!(word)
    @refused NVSHMEMError ["NOT_SYMMETRIC", "`signal`"] put_signal!(view(x, 1:2:3), ones(2), word, 1, 0)
    @refused MethodError ["symmetric side must be a SymmetricArray"] put!(row, x, 0)
    @refused ArgumentError ["Float16", "32 or 64 bits"] atomic_add!(view(reinterpret(Float16, x), 1), 1, 0)
    @refused ArgumentError ["atomic_inc", "Float64"] atomic_inc!(view(x, 1), 0)
    @refused ArgumentError ["`cmp`", "isless"] wait_until(isless, view(x, 1), 1)
    @refused ArgumentError ["`op`", ":sub"] signal_op!(view(reinterpret(UInt64, x), 1), 1, 0; op = :sub)
    @refused ArgumentError ["String", "plain type"] SymmetricArray{String}(undef, 2)
    @refused ArgumentError ["`memory`", ":disk"] NVSHMEMRS.init(memory = :disk)
    @refused NVSHMEMError ["OUT_OF_MEMORY", "NVSHMEM_SYMMETRIC_SIZE"] SymmetricArray{UInt8}(undef, 2^50)
    @refused BoundsError ["5"] x[5]
    @same x zeros(4)

    # In a collective no PE hangs: the PE with the wrong argument gets its own error, the others the library's.
    refused(f) = @refused Union{DimensionMismatch, ArgumentError, NVSHMEMError} [] f()
    wrong(f) = me == 0 ? refused(f) : (@refused NVSHMEMError ["PEER_ARGUMENT"] f())
    y = NVSHMEMRS.zeros(Float64, 8n)
    wrong(() -> fcollect!(me == 0 ? view(y, 1:2) : view(y, 1:4n), x))
    wrong(() -> broadcast!(me == 0 ? view(y, 1:2:8) : view(y, 1:4), x, 0))
    wrong(() -> allreduce!(me == 0 ? (-) : (+), view(y, 1:4), x))
    wrong(() -> alltoall!(me == 0 ? view(y, 1:3) : y, y))
    wrong(() -> gather!(me == 0 ? view(y, 1:3) : nothing, x, 0))
    wrong(() -> gather!(me == 0 ? nothing : y, x, 0))
    wrong(() -> gather!(view(y, 1:4n), me == 0 ? nothing : x, 0))
    wrong(() -> gather!(view(y, 1:4n), x, me == 0 ? 2^40 : 0))
    wrong(() -> scatter!(x, me == 0 ? view(y, 1:3) : nothing, 0))
    wrong(() -> scatter!(me == 0 ? 1.5 : x, view(y, 1:4n), 0))
    wrong(() -> broadcast!(view(y, 1:4), x, me == 0 ? 2^40 : 0))
    wrong(() -> broadcast!(view(y, 1:4), me == 0 ? ones(4) : x, 0))
    wrong(() -> broadcast!(view(y, 1:4), me == 0 ? reinterpret(Int, x) : x, 0))
    wrong(() -> allreduce!(+, me == 0 ? ones(4) : x))
    wrong(() -> collect!(me == 0 ? view(y, 1:4) : y, me == 0 ? Any[1] : x))
    wrong(() -> SymmetricArray{Int}(undef, me == 0 ? -1 : 1))
    wrong(() -> SymmetricArray{Int}(undef, 1; align = me == 0 ? -8 : 128))
    wrong(() -> NVSHMEMRS.zeros(me == 0 ? Any : Int, 1))
    wrong(() -> NVSHMEMRS.realloc!(y, me == 0 ? -1 : 1))
    wrong(() -> split_strided(TEAM_WORLD, 0, 1, me == 0 ? 2^40 : 1))
    wrong(() -> split_2d(TEAM_WORLD, me == 0 ? 2^40 : 1))
    @refused Union{InexactError, NVSHMEMError} [me == 0 ? "1.5" : "PEER_ARGUMENT"] SymmetricArray{Int}([me == 0 ? 1.5 : 1.0])
    @refused NVSHMEMError ["INVALID_VALUE", "xor", "Float64"] allreduce!(xor, x)
    n > 1 && @refused NVSHMEMError ["MISMATCH"] broadcast!(view(x, 1:(me + 1)), 0)
    @refused NVSHMEMError ["PE_RANGE", "root"] broadcast!(x, n)
    @same y zeros(8n)
    free!(y)
    barrier()
    free!(x)
    @refused NVSHMEMError ["BAD_FREE", "`ptr`"] free!(x)
    @refused ArgumentError ["freed"] x[1]

    team = split_strided(TEAM_WORLD, 0, 1, n)
    destroy!(team)
    @refused NVSHMEMError ["BAD_HANDLE", "destroyed"] barrier(team)
    @refused NVSHMEMError ["BAD_HANDLE"] n_pes(team)
    @refused NVSHMEMError ["INVALID_VALUE"] destroy!(TEAM_WORLD)
    stream = Stream()
    destroy!(stream)
    @refused NVSHMEMError ["BAD_HANDLE", "stream"] synchronize(stream)
    @refused NVSHMEMError ["NOT_SUPPORTED"] Stream(C_NULL)
    word = NVSHMEMRS.zeros(Int, 1)
    @refused NVSHMEMError ["TIMEOUT"] NVSHMEMRS.deadline(() -> wait_until(==, word, 1), 0.01)
    @refused NVSHMEMError ["INVALID_VALUE"] NVSHMEMRS.deadline(() -> nothing, -1)
    release(word)
end

@refused NVSHMEMError ["NOT_INITIALIZED", "`NVSHMEMRS.init()`"] my_pe()
@refused NVSHMEMError ["NOT_INITIALIZED"] SymmetricArray{Int}(undef, 2)

NVSHMEMRS.init()
const me, n = my_pe(), n_pes()
const left, right = mod(me - 1, n), mod(me + 1, n)
@same NVSHMEMRS.version() >= v"0.1" true
@same (NVSHMEMRS.device(), NVSHMEMRS.job_check()) (-1, nothing)
"--no-types" in ARGS || all_types(me, n, left, right; few = "--few-types" in ARGS)
views(me, left, right)
garbage(me, left, right)
queued_arrays(me, n, right)
plain_arrays(me)
copies(me)
misuse(me, n)

const late = SymmetricArray(fill(1.5 + me, 4))
const dropped_stream = Stream()
NVSHMEMRS.finalize()
# The memory stays mapped, so a load is harmless; an operation is an error.
late[1] = 2.5
@refused NVSHMEMError ["NOT_INITIALIZED", "finalize"] put!(late, ones(4), 0)
@refused NVSHMEMError ["NOT_INITIALIZED"] barrier()
@refused NVSHMEMError ["NOT_INITIALIZED"] NVSHMEMRS.finalize()

# Another job, while arrays of the first one are still there.
NVSHMEMRS.init(heap_bytes = 2^22) do job
    x = NVSHMEMRS.zeros(Int, 2)
    GC.gc()
    put!(x, [me, me], right)
    barrier()
    same("a second job", x, [left, left])
    hooked(job, me)
end
abandoned()
# One write, so that the lines of several PEs do not mix. At exit the collector takes the rest, without output.
print("job ok PE $me of $n\n")
