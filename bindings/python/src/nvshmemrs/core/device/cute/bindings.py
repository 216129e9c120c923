"""``nvshmem.bindings.device.cute`` of NVSHMEM4Py, and its ``_cuteast``: NVSHMEM's names for kernels, as
kernels of CuTe call them: ``int_p``, ``float_put_block``, ``putmem_nbi``, ``barrier_all_block``.

They are functions of the library's bitcode, which CuTe links to the kernel. ``library_init`` writes the
job's state to the compiled code before its first launch. A name exists if the bitcode has it and CuTe can
pass its arguments: left out are ``give_smem``, and functions that take or return a number of 16 bits.
"""

from __future__ import annotations

from typing import Any, Iterator, List, NamedTuple, Optional, Tuple

from ...kernels import find_device_bitcode_library
from ._frontend import cute, cutlass
from ._names import FAMILIES, LISTS

_TYPES = {
    "char": cutlass.Int8,
    "schar": cutlass.Int8,
    "short": cutlass.Int16,
    "int": cutlass.Int32,
    "long": cutlass.Int64,
    "longlong": cutlass.Int64,
    "uchar": cutlass.Uint8,
    "ushort": cutlass.Uint16,
    "uint": cutlass.Uint32,
    "ulong": cutlass.Uint64,
    "ulonglong": cutlass.Uint64,
    "int8": cutlass.Int8,
    "int16": cutlass.Int16,
    "int32": cutlass.Int32,
    "int64": cutlass.Int64,
    "uint8": cutlass.Uint8,
    "uint16": cutlass.Uint16,
    "uint32": cutlass.Uint32,
    "uint64": cutlass.Uint64,
    "size": cutlass.Uint64,
    "ptrdiff": cutlass.Int64,
    "float": cutlass.Float32,
    "double": cutlass.Float64,
    "half": cutlass.Float16,
    "bfloat16": cutlass.BFloat16,
}
# Functions that take or return numbers of these as C's structures of 16 bits, which CuTe has not.
_NARROW = ("half", "bfloat16")
# Its argument is an address in shared memory, which is none of generic memory in CuTe.
_LEFT_OUT = ("give_smem",)


class _CutePtrType:
    """The type of a pointer among a function's parameters, as ``cute.ffi`` takes it."""

    def __init__(
        self,
        dtype: Any,
        address_space: Any = cute.AddressSpace.gmem,
        alignment: Optional[int] = None,
    ) -> None:
        self._dtype, self._space = dtype, address_space
        self._alignment = alignment or max(dtype.width // 8, 1)

    def __get_mlir_types__(self) -> List[Any]:
        from cutlass._mlir.dialects import cute as dialect  # type: ignore[import-not-found]

        return [dialect.PtrType.get(self._dtype.mlir_type, self._space, self._alignment)]


class _Signature(NamedTuple):
    """A function of the bitcode. `takes` has a letter for each parameter, and `gives` one, or none for
    a function without a result: ``t`` an element, ``T`` a pointer to elements, ``i`` an int, ``I`` a
    pointer to ints, ``l`` an int64, ``u`` a uint64, ``U`` a pointer to uint64, ``D`` a pointer to pairs
    of doubles.
    """

    symbol: str
    takes: str
    gives: str
    element: Any


def _all() -> Iterator[Tuple[str, _Signature]]:
    """Every name with its function."""
    for row in FAMILIES.split():
        prefix, family, over, endings, takes, gives = row.split(";")
        for kind in LISTS[over].split():
            if family in _LEFT_OUT or (kind in _NARROW and "t" in takes + gives):
                continue
            name = family.replace("TYPE", kind).replace("BITS", kind)
            for ending in endings.split("|"):
                symbol = ("nvshmemx_" if ending else prefix) + name + ending
                element = _TYPES.get(kind, cutlass.Int8)
                yield name + ending, _Signature(symbol, takes, gives, element)


_FUNCTIONS = dict(_all())

__path__: List[str] = []  # as of a package, for ``_cuteast``: compat says that it is this module

__all__ = sorted(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> List[str]:
    return sorted({*globals(), *_FUNCTIONS})


def __getattr__(name: str) -> Any:
    """The function of a name, created on first use."""
    found = _FUNCTIONS.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    types = {
        "t": found.element,
        "T": _CutePtrType(found.element),
        "i": cutlass.Int32,
        "I": _CutePtrType(cutlass.Int32),
        "l": cutlass.Int64,
        "u": cutlass.Uint64,
        "U": _CutePtrType(cutlass.Uint64),
        "D": _CutePtrType(cutlass.Float64, alignment=16),
    }
    gives = {"return_type": types[found.gives]} if found.gives else {}
    function = cute.ffi(
        name=found.symbol,
        params_types=[types[letter] for letter in found.takes],
        source=find_device_bitcode_library(),
        **gives,
    )
    globals()[name] = function
    return function
