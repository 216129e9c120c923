# Three steps with operations of the host, each with a bug of its own kind.
#
# Bug: a row is read before it is known to have come; two puts to one place have no fence between them; a source is filled again before
# quiet.
# Problems: 3
# Expect: read early or write early: put at A, load at B
# Expect: two puts: put at C, put at D
# Expect: source reused: put_nbi at E, store at F
include("job.jl")

function main(me, n)
    left, right = (me + n - 1) % n, (me + 1) % n
    row, inbox, status, kept = (NVSHMEMRS.zeros(Int64, 8) for _ in 1:4)
    done = fill(Int64(100), 8)
    @check row[:] .= me
    put!(inbox, row, right)  # A
    MENDED && barrier()
    expect(@check(inbox[1]) == left)  # B
    barrier()

    put!(status, row, right)  # C
    MENDED && fence()
    put!(status, done, right)  # D
    barrier()
    expect(@check(status[1]) == 100)

    put_nbi!(kept, row, right)  # E
    MENDED && quiet()
    @check row[:] .= -1  # F
    barrier()
    expect(@check(kept[1]) == left)

    barrier()
    foreach(free!, (kept, status, inbox, row))
end

run_job(main)
