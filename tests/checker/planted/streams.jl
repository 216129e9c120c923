# Two steps on streams, each with a bug of its own kind.
#
# Bug: the fetched array is used before synchronize; and two streams use one array without an event between them.
# Problems: 2
# Expect: stream and caller: get at A, load at B
# Expect: two streams: get at C, put at D
include("job.jl")

function main(me, n)
    right = (me + 1) % n
    block, fetched, copy, passed = (NVSHMEMRS.zeros(Int64, 8) for _ in 1:4)
    @check block[:] .= me
    barrier()
    stream, other, done = Stream(), Stream(), Event()

    get!(fetched, block, right; stream)  # A
    MENDED && synchronize(stream)
    expect(@check(fetched[1]) == right)  # B
    synchronize(stream)

    get!(copy, block, right; stream)  # C
    if MENDED
        record!(done, stream)
        wait_event(other, done)
    end
    put!(passed, copy, right; stream = other)  # D
    synchronize(other)
    synchronize(stream)
    barrier()
    expect(@check(passed[1]) == me)

    barrier()
    destroy!(other)
    destroy!(stream)
    foreach(free!, (passed, copy, fetched, block))
end

run_job(main)
