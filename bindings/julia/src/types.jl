# The library's numbers of Julia's element types, reductions and comparisons.

"""
    NVSHMEMRS.dtype(T) -> Int32

The library's number of an element type, one of `NVSHMEMRS.FFI.Dtype`. A package with a 16-bit
`BFloat16` of its own adds `NVSHMEMRS.dtype(::Type{BFloat16}) = NVSHMEMRS.FFI.Dtype.BFLOAT16`. One
with 8-bit types adds `FFI.Dtype.FLOAT8_E4M3FN` and `FFI.Dtype.FLOAT8_E5M2`.
"""
dtype(::Type{T}) where {T} =
    throw(ArgumentError("the element type is $T; it must be an integer of 8 to 64 bits, Float16, Float32, Float64, " *
                        "ComplexF32 or ComplexF64"))

for (T, number) in FFI.ELEMENTS
    @eval dtype(::Type{$T}) = $number
end

# Julia 1.11 and later.
@static if isdefined(Core, :BFloat16)
    dtype(::Type{Core.BFloat16}) = FFI.Dtype.BFLOAT16
end

"The library's number of a reduction, which Julia names by a function."
reduction(op) =
    throw(ArgumentError("argument `op` is $op; it must be one of +, *, min, max, &, | and xor"))

for (op, name) in ((:+, :SUM), (:*, :PROD), (:min, :MIN), (:max, :MAX), (:&, :AND), (:|, :OR), (:xor, :XOR))
    @eval reduction(::typeof($op)) = FFI.Op.$name
end

"The library's number of a comparison, which Julia names by a function."
comparison(cmp) =
    throw(ArgumentError("argument `cmp` is $cmp; it must be one of ==, !=, >, <=, < and >="))

for (cmp, name) in ((:(==), :EQ), (:!=, :NE), (:>, :GT), (:<=, :LE), (:<, :LT), (:>=, :GE))
    @eval comparison(::typeof($cmp)) = FFI.Cmp.$name
end

"The library's number of a signal's update, `:set` or `:add`."
@inline function update(op::Symbol)
    op === :set && return FFI.SignalOp.SET
    op === :add && return FFI.SignalOp.ADD
    throw(ArgumentError("argument `op` is $(repr(op)); it must be :set or :add"))
end
