# Lines of Julia code in the reports of the checker and of allocations: the native addresses that the library sees belong to code
# that Julia made, so only Julia can name them.

const OWN_FILES = (joinpath(@__DIR__, "ffi.jl"), @__FILE__)
const PLACES = Dict{Ptr{Cvoid}, String}()
const PLACES_LOCK = Base.Threads.SpinLock()

"The first of some frames that is the program's; empty if there is none."
function place_of(frames)
    for frame in frames
        file = string(frame.file)
        (frame.from_c || frame.line <= 0 || file in OWN_FILES) && continue
        here = string(pwd(), "/")
        shown = startswith(file, here) ? SubString(file, nextind(file, lastindex(here))) : file
        return string(shown, ":", frame.line, frame.func === Symbol("top-level scope") ? "" : " ($(frame.func))")
    end
    return ""
end

function place(::Ptr{Cvoid}, address::Ptr{Cvoid}, text::Ptr{UInt8}, bytes::Csize_t)::Int32
    try
        name = lock(PLACES_LOCK) do
            # The address to which the call returns; the call itself comes before. Julia keeps the code that it has made, so an
            # address keeps its line.
            get!(() -> place_of(StackTraces.lookup(address - 1)), PLACES, address)
        end
        if isempty(name)
            # A function of the low layer that was not inlined: its callers are further up.
            name = place_of(stacktrace())
        end
        (isempty(name) || sizeof(name) >= bytes) && return 1
        GC.@preserve name unsafe_copyto!(text, pointer(name), sizeof(name) + 1)
        return 0
    catch
        return 1
    end
end

"""
    name_places(runtime)

Lets the checker (`NVSHMEMRS_CHECK`) and the list of allocations (`NVSHMEMRS_TRACK`) name lines of Julia code, and returns the
status. Call it after init. With neither setting it costs nothing.

Local.
"""
function name_places(runtime)
    hook = @cfunction(place, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{UInt8}, Csize_t))
    return FFI.nvshmemrs_site_hook(runtime, hook, C_NULL)
end
