"""
One-sided communication between PEs through a symmetric heap: the Julia binding of nvshmemrs.

`NVSHMEMRS.FFI` has every function of the C ABI by its C name. The library is loaded with the package: the file
that the environment variable `NVSHMEMRS_LIBRARY` names, else `libnvshmemrs.so.0` where the system looks for
libraries.
"""
module NVSHMEMRS

include("ffi.jl")
include("sites.jl")

"What the library says of the last call of this thread that failed, in Julia's names."
last_error() = unsafe_string(FFI.nvshmemrs_last_error_in(FFI.Language.JULIA))

# The variable is read when the package is loaded, not when it is compiled.
function __init__()
    named = get(ENV, "NVSHMEMRS_LIBRARY", "")
    FFI.load(isempty(named) ? "libnvshmemrs.so.0" : abspath(named))
end

end
