# Copies: of a handle there is one object, and a copy of an array is private memory.

const Handle = Union{Job, Allocation, Stream, Event}

# A second object with the handle would let the library's object go while the first one is in use.
Base.copy(handle::Union{Job, Stream, Event}) = handle
Base.deepcopy_internal(handle::Handle, ::IdDict) = handle

Serialization.serialize(::AbstractSerializer, handle::Handle) =
    throw(ArgumentError("a $(nameof(typeof(handle))) belongs to this process and its job, so it cannot be serialized; " *
                        "make a new one where it is needed"))

Base.deepcopy(x::Mapped) = copy(x)

# In a container or a struct the copy keeps the type, which a field may demand.
Base.deepcopy_internal(x::Mapped, known::IdDict) = get!(() -> Base.unaliascopy(x), known, x)

function Serialization.serialize(s::AbstractSerializer, x::Mapped)
    Serialization.serialize_type(s, typeof(x))
    serialize(s, copy(x))
    return nothing
end

Serialization.deserialize(s::AbstractSerializer, ::Type{A}) where {A <: Mapped} = in_private(A, deserialize(s), CURRENT[])
