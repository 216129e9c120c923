# Init calls of a PE that has joined already, and as many finalize calls.

using NVSHMEMRS

const FFI = NVSHMEMRS.FFI

job = NVSHMEMRS.init(heap_bytes = 2^22)
@assert NVSHMEMRS.init() === job
Threads.@threads for _ in 1:4
    @assert NVSHMEMRS.init(heap_bytes = 2^22) === job
    NVSHMEMRS.finalize(job)
end
refused = try
    NVSHMEMRS.init(heap_bytes = 2^23)
catch problem
    problem
end
@assert refused isa NVSHMEMError && refused.status == FFI.Status.INVALID_VALUE
@assert occursin("same arguments", sprint(showerror, refused))
# Only the last of them waits for the others, and an array lives until then.
x = NVSHMEMRS.zeros(Int64, 1)
my_pe() == 0 && NVSHMEMRS.finalize()
barrier()
put!(x, [7], mod(my_pe() + 1, n_pes()))
barrier()
@assert x[1] == 7
my_pe() == 0 || NVSHMEMRS.finalize()
NVSHMEMRS.init() do again
    @assert again === job
end
@assert my_pe(job) >= 0
NVSHMEMRS.finalize()
@assert !job.live
println("all well")
