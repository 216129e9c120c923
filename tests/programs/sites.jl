# Allocates from two places and frees nothing: a list of allocations must name these lines.

pushfirst!(LOAD_PATH, joinpath(@__DIR__, "..", "..", "bindings", "julia"))
using NVSHMEMRS
using NVSHMEMRS: FFI

const RT = Ref{UInt64}(0)
const MEMORY = Ref(Ptr{Cvoid}(C_NULL))

function make(bytes)
    status = FFI.nvshmemrs_malloc(RT[], bytes, MEMORY) # make
    status == FFI.Status.SUCCESS || error("malloc")
    return MEMORY[]
end

FFI.nvshmemrs_init(C_NULL, RT) == FFI.Status.SUCCESS || error("init")
NVSHMEMRS.name_places(RT[]) == FFI.Status.SUCCESS || error("name_places")
make(100)
FFI.nvshmemrs_calloc(RT[], 25, 8, MEMORY) # main
FFI.nvshmemrs_finalize(RT[]) == FFI.Status.SUCCESS || error("finalize")
