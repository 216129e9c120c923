"""
One-sided communication between PEs through a symmetric heap: the Julia binding of nvshmemrs.

Start a program with `nvshmemrs-run -n 2 -- julia program.jl`; without the launcher it is the only
PE of its job. PEs are numbered from 0, as in OpenSHMEM and MPI. Elements are numbered from 1, as
in Julia.

```jldoctest
using NVSHMEMRS

NVSHMEMRS.init() do job
    x = SymmetricArray{Float64}(undef, 4)
    right = mod(my_pe() + 1, n_pes())
    put!(x, fill(1.5, 4), right)
    barrier()
    println(x)
end

# output

[1.5, 1.5, 1.5, 1.5]
```

`NVSHMEMRS.FFI` has every function of the C ABI by its C name. The library is loaded with the
package: the file that the environment variable `NVSHMEMRS_LIBRARY` names, else
`libnvshmemrs.so.0` where the system looks for libraries.
"""
module NVSHMEMRS

using Serialization: Serialization, AbstractSerializer, deserialize, serialize

include("ffi.jl")
using .FFI: Status

include("errors.jl")
include("job.jl")
include("arrays.jl")
include("types.jl")
include("layout.jl")
include("streams.jl")
include("order.jl")
include("rma.jl")
include("signals.jl")
include("atomics.jl")
include("waits.jl")
include("teams.jl")
include("collectives.jl")
include("copies.jl")
include("sites.jl")

export NVSHMEMError, SymmetricArray, PeerArray, peer_array, free!
export my_pe, n_pes
export put_nbi!, get_nbi!, fence, quiet
export put_signal!, put_signal_nbi!, signal_op!, signal_wait, signal_fetch
export wait_until, wait_until_all, wait_until_any, wait_until_some
export Team, TEAM_WORLD, TEAM_SHARED, TEAM_NODE, TEAM_SAME_MYPE_NODE, TEAM_SAME_GPU, TEAM_GPU_LEADERS
export split_strided, split_2d, translate, destroy!
export Stream, Event, synchronize, record!, wait_event
for name in ATOMICS
    @eval export $name
end

# The variable is read when the package is loaded, not when it is compiled.
function __init__()
    named = get(ENV, "NVSHMEMRS_LIBRARY", "")
    FFI.load(isempty(named) ? "libnvshmemrs.so.0" : abspath(named))
    hint_at_symmetric()
end

end
