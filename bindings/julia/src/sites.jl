# Lines of Julia code in the reports of the checker and of allocations: the native addresses that the library sees belong to code
# that Julia made, so only Julia can name them.

const OWN_FOLDER = string(@__DIR__, "/")
const PLACES = Dict{Ptr{Cvoid}, String}()
const PLACES_LOCK = Base.Threads.SpinLock()

"How many threads are naming a place for the library, which must not be called meanwhile."
const NAMING = Threads.Atomic{Int}(0)

"The first of some frames that is the program's; empty if there is none."
function place_of(frames)
    for frame in frames
        file = string(frame.file)
        # Julia's own functions, such as those of broadcasting, have paths that begin with a dot.
        (frame.from_c || frame.line <= 0 || startswith(file, OWN_FOLDER) || startswith(file, "./")) && continue
        here = string(pwd(), "/")
        shown = startswith(file, here) ? SubString(file, nextind(file, lastindex(here))) : file
        return string(shown, ":", frame.line, frame.func === Symbol("top-level scope") ? "" : " ($(frame.func))")
    end
    return ""
end

function place(::Ptr{Cvoid}, address::Ptr{Cvoid}, text::Ptr{UInt8}, bytes::Csize_t)::Int32
    Threads.atomic_add!(NAMING, 1)
    try
        name = lock(PLACES_LOCK) do
            # The address to which the call returns; the call itself comes before. Julia keeps the code that it has made, so an
            # address keeps its line.
            get!(() -> place_of(StackTraces.lookup(address - 1)), PLACES, address)
        end
        if isempty(name)
            # A function of the package that was not inlined: its callers are further up.
            name = place_of(stacktrace())
        end
        (isempty(name) || sizeof(name) >= bytes) && return 1
        GC.@preserve name unsafe_copyto!(text, pointer(name), sizeof(name) + 1)
        return 0
    catch
        return 1
    finally
        Threads.atomic_sub!(NAMING, 1)
    end
end

"""
    NVSHMEMRS.name_places(runtime)

Lets the checker (`NVSHMEMRS_CHECK`) and the list of allocations (`NVSHMEMRS_TRACK`) name lines of
Julia code, and returns the status. [`NVSHMEMRS.init`](@ref) calls it; programs of the low layer
call it after their own init. With neither setting it costs nothing.

Local.
"""
function name_places(runtime)
    hook = @cfunction(place, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{UInt8}, Csize_t))
    return FFI.nvshmemrs_site_hook_in(runtime, hook, C_NULL, FFI.Language.JULIA)
end

"""
    NVSHMEMRS.@check access

Announces an access of the program itself to the checker, with its line, and does it: `@check
x[i]`, `@check x[i] = value`, `@check x[i] += value` or `@check x[i, :] .= values`. The checker
sees what goes through the library by itself; this is for plain loads and stores of a symmetric
array, and of arrays that operations without blocking use. The array and its indices are evaluated
once. In a job that is not checked it costs a comparison, and what a view costs.

Local; never waits. See docs/checker.md.

```jldoctest
using NVSHMEMRS
using NVSHMEMRS: @check
NVSHMEMRS.init() do job
    x = NVSHMEMRS.zeros(Int, 4)
    @check x[1:2] .= 3
    @check x[end] += 4
    println(@check(x[2]), " ", x)
end

# output

3 [3, 3, 0, 4]
```
"""
macro check(access)
    if access isa Expr && access.head === :ref
        return :(loaded(announced($(viewed(access)), FFI.Access.LOAD)))
    end
    operator = access isa Expr ? string(access.head) : ""
    target = access isa Expr && !isempty(access.args) ? access.args[1] : nothing
    if !endswith(operator, "=") || operator in ("==", "===", "!=", ":=") || !(target isa Expr && target.head === :ref)
        error("@check takes x[i], x[i] = value, x[i] += value or x[i] .= value")
    end
    dots = startswith(operator, ".")
    update, value = Symbol(chop(operator, head = dots ? 1 : 0, tail = 1)), esc(access.args[2])
    reads = update !== Symbol("")
    # The access goes through the view, so that the array and its indices are evaluated once.
    if dots
        new = reads ? Expr(:., esc(update), Expr(:tuple, :part, value)) : value
        store = :(announced(part, FFI.Access.STORE) .= $new)
    else
        new = reads ? :($(esc(update))(loaded(part), $value)) : value
        store = quote
            local new = $new
            stored(announced(part, FFI.Access.STORE), new)
        end
    end
    return quote
        local part = $(viewed(target))
        $(reads ? :(announced(part, FFI.Access.LOAD)) : nothing)
        $store
    end
end

"The part of an array that a reference names, as a view, so that `end` keeps its meaning."
viewed(reference) = esc(:($Base.@view $reference))

@inline loaded(part::AbstractArray{T, 0}) where {T} = part[]
loaded(part) = copy(part)

@inline stored(part::AbstractArray{T, 0}, value) where {T} = (part[] = value)
stored(part, value) = (part[ntuple(_ -> :, ndims(part))...] = value)

"Announces the elements of a view, and gives the view."
@inline announced(part, access) = (HOOKED[] && announce(part, access); part)

"Announces each run of elements that has no gaps by itself."
@noinline function announce(part, access)
    if without_gaps(part)
        GC.@preserve part check(FFI.nvshmemrs_check_access(pointer(part), length(part) * sizeof(eltype(part)), access, C_NULL))
    else
        for i in eachindex(part)
            one = view(part, i)
            GC.@preserve part check(FFI.nvshmemrs_check_access(pointer(one), sizeof(eltype(part)), access, C_NULL))
        end
    end
    return nothing
end
