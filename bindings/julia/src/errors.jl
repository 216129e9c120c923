# Errors: a status other than success becomes an exception with the library's text.

"""
    NVSHMEMError

What the library refused: `status` is one of `NVSHMEMRS.FFI.Status`, `text` says what is wrong,
what it is and what it must be.

```jldoctest
using NVSHMEMRS
NVSHMEMRS.init() do job
    x = SymmetricArray{Float64}(undef, 4)
    try
        put!(x, zeros(4), 7)
    catch problem
        println(problem)
    end
end

# output

NVSHMEMError(PE_RANGE): argument `pe` is PE 7; it must be PE 0, the only one
```
"""
struct NVSHMEMError <: Exception
    status::Int32
    text::String
end

"The name of a status, such as `PE_RANGE`."
function status_name(status)
    for name in names(FFI.Status; all = true)
        value = getfield(FFI.Status, name)
        value isa Int32 && value == status && return string(name)
    end
    return string(status)
end

Base.show(io::IO, problem::NVSHMEMError) = print(io, "NVSHMEMError(", status_name(problem.status), "): ", problem.text)
Base.showerror(io::IO, problem::NVSHMEMError) = show(io, problem)

"The names of the low layer's functions here, where they are not their own names behind `NVSHMEMRS.`."
const OWN_NAMES = Dict(
    "malloc" => "SymmetricArray",
    "calloc" => "NVSHMEMRS.zeros",
    "stream_new" => "Stream",
    "unique_id_new" => "NVSHMEMRS.unique_id",
    "team_init" => "Team",
    "buffer_register" => "NVSHMEMRS.register",
)

function own_name(written)
    name = SubString(written, ncodeunits("`FFI.nvshmemrs_") + 1, ncodeunits(written) - ncodeunits("()`"))
    return string('`', get(OWN_NAMES, name, string("NVSHMEMRS.", name)), "()`")
end

"The library's text for the last failed call of this thread, with the names of `NVSHMEMRS.FFI`."
last_error() = unsafe_string(FFI.nvshmemrs_last_error_in(FFI.Language.JULIA))

@noinline function fail(status)
    throw(NVSHMEMError(status, replace(last_error(), r"`FFI\.nvshmemrs_\w+\(\)`" => own_name)))
end

"Throws the library's error unless `status` is success."
@inline check(status::Int32) = status == FFI.Status.SUCCESS ? nothing : fail(status)

"The result of a function of the library with one output of type `T`, its last argument."
@inline function answer(::Type{T}, call::F, arguments...) where {T, F}
    out = Ref{T}()
    check(call(arguments..., out))
    return out[]
end

"""
An integer for a C argument, which has 32 bits. A larger one is outside of every range that the
library knows, and an error with the text that the library has for a number out of range.
"""
@inline function number(name, value::Integer)
    small = value % Int32
    small == value || throw(too_large(name, value))
    return small
end

@noinline function too_large(name, value)
    status = name === :value ? FFI.Status.INVALID_VALUE : FFI.Status.PE_RANGE
    return NVSHMEMError(status, "argument `$name` is $value; it must be a number of 32 bits")
end

"As [`number`](@ref) for the arguments of a collective: integers, and `nothing` or the exception for one of them."
function numbers(name, values::Integer...)
    small = map(value -> value % Int32, values)
    for (value, kept) in zip(values, small)
        value == kept || return small, too_large(name, value)
    end
    return small, nothing
end

"The result of a call that is only queued, or for which some PE's arguments are wrong."
const OF_ARGUMENTS = (Status.SUCCESS, Status.INVALID_VALUE, Status.NOT_SYMMETRIC, Status.OUT_OF_BOUNDS, Status.PE_RANGE,
                      Status.MISMATCH, Status.PEER_ARGUMENT, Status.BAD_FREE)

"""
Throws `problem` if there is one, after telling the other members: `call` is the collective with an
argument that the library refuses. Every member gets an error from it, so nobody is left waiting.
What ends it otherwise, such as a PE that died, is the exception then.
"""
@inline agreed(call, problem) = problem === nothing ? nothing : disagree(call, problem)

@noinline function disagree(call, problem)
    status = call()
    status in OF_ARGUMENTS || fail(status)
    throw(problem)
end

"""
    @blocking FFI.nvshmemrs_name(arguments...)

Calls a function that may wait for other PEs. Other threads of Julia may collect garbage
meanwhile.
"""
macro blocking(call)
    values = [gensym() for _ in call.args[2:end]]
    assignments = [:($value = $(esc(argument))) for (value, argument) in zip(values, call.args[2:end])]
    return quote
        $(assignments...)
        # With a hook that calls Julia code the state must stay as it is.
        if Threads.nthreads() > 1 && !HOOKED[]
            # Between these two calls nothing is allocated, so the collector need not wait for this thread.
            state = ccall(:jl_gc_safe_enter, Int8, ())
            status = $(esc(call.args[1]))($(values...))
            ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
            status
        else
            $(esc(call.args[1]))($(values...))
        end
    end
end

"Whether the library calls Julia code to name places: see `sites.jl`."
const HOOKED = Ref(false)
