# The head and the end of a program.
pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "..", "bindings", "julia"))
using NVSHMEMRS
using NVSHMEMRS: @check

const MENDED = ARGS == ["mended"]
expect(holds) = !MENDED || holds || error("PE $(my_pe()): wrong result")

"Runs `main(me, n)` as one PE of the job."
function run_job(main)
    NVSHMEMRS.init()
    me, n = my_pe(), n_pes()
    main(me, n)
    try
        NVSHMEMRS.finalize()
    catch problem
        problem isa NVSHMEMError && problem.status == NVSHMEMRS.Status.CHECK_FAILED || rethrow()
    end
    write(stdout, "done PE $me of $n\n")
end
