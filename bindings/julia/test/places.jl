# A job with a mistake that the checker reports with both lines: one PE reads before the other one's put has arrived.

using NVSHMEMRS
using NVSHMEMRS: @check

function send(x)
    put!(view(x, 2:3), [1.0, 2.0], 1) # puts
end

function receive(x)
    return @check x[2] # reads
end

NVSHMEMRS.init()
const x = NVSHMEMRS.zeros(Float64, 4)
my_pe() == 0 ? send(x) : receive(x)
barrier()
@check x[1:2] .= 0
@check x[end] += 1
try
    NVSHMEMRS.finalize()
catch problem
    problem.status == NVSHMEMRS.FFI.Status.CHECK_FAILED || rethrow()
end
print("places ok\n")
