"""``nvshmem.bindings.device.cute`` of NVSHMEM4Py, and its ``_cuteast``: NVSHMEM's names for kernels, as
kernels of CuTe call them: ``int_p``, ``float_put_block``, ``putmem_nbi``, ``barrier_all_block``.

They are functions of the library's bitcode, which CuTe links to the kernel. ``library_init`` writes the
job's state to the compiled code before its first launch. A name exists if the bitcode has it.
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...kernels import find_device_bitcode_library
from ._frontend import cute, cutlass

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
_WORDS = "int long longlong uint ulong ulonglong int32 int64 uint32 uint64 size ptrdiff".split()
_BITS = "uint ulong ulonglong int32 int64 uint32 uint64".split()
_REDUCED = "int32 int64 float double half bfloat16".split()
# Their functions take addresses only.
_NARROW = "half bfloat16".split()


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
    pointer to ints, ``u`` a uint64, ``U`` a pointer to uint64.
    """

    symbol: str
    takes: str
    gives: str
    element: Any


_MOVES = {"put": "TTui", "get": "TTui", "put_signal": "TTuUuii"}
_GROUPS = ("", "_warp", "_block")
_ATOMICS = {
    "fetch": ("Ti", "t"),
    "set": ("Tti", ""),
    "swap": ("Tti", "t"),
    "compare_swap": ("Ttti", "t"),
    "fetch_inc": ("Ti", "t"),
    "inc": ("Ti", ""),
    "fetch_add": ("Tti", "t"),
    "add": ("Tti", ""),
}
_WAITS = {
    "wait_until": ("Tit", ""),
    "wait_until_all": ("TuIit", ""),
    "wait_until_any": ("TuIit", "u"),
    "test": ("Tit", "i"),
}
_SINGLES = {
    "my_pe": ("", "i"),
    "n_pes": ("", "i"),
    "ptr": ("Ti", "T"),
    "team_my_pe": ("i", "i"),
    "team_n_pes": ("i", "i"),
    "team_translate_pe": ("iii", "i"),
    "fence": ("", ""),
    "quiet": ("", ""),
    "signal_fetch": ("U", "u"),
    "signal_wait_until": ("Uiu", "u"),
}
_EXTENSIONS = {
    "mc_ptr": ("iT", "T"),
    "signal_op": ("Uuii", ""),
    "fcollectmem_block": ("iTTu", "i"),
    "alltoallmem_block": ("iTTu", "i"),
    "broadcastmem_block": ("iTTui", "i"),
}
_MEETINGS = {
    "barrier": ("i", "i"),
    "team_sync": ("i", "i"),
    "barrier_all": ("", ""),
    "sync_all": ("", ""),
}


def _moves(names: Dict[str, str]) -> Iterator[Tuple[str, str, str]]:
    """Puts and gets of all scopes: prefix, name and parameters."""
    for move, takes in _MOVES.items():
        for nbi in ("", "_nbi"):
            for group in _GROUPS:
                prefix = "nvshmemx_" if group else "nvshmem_"
                yield prefix, names[move] + nbi + group, takes


def _all() -> Iterator[Tuple[str, _Signature]]:
    """Every name with its function."""

    def made(prefix: str, name: str, takes: str, gives: str, element: Any) -> Any:
        return name, _Signature(prefix + name, takes, gives, element)

    byte = cutlass.Int8
    for name, shape in _SINGLES.items():
        yield made("nvshmem_", name, *shape, byte)
    for name, shape in _EXTENSIONS.items():
        yield made("nvshmemx_", name, *shape, byte)
    for group in _GROUPS:
        for name, shape in _MEETINGS.items():
            yield made("nvshmemx_" if group else "nvshmem_", name + group, *shape, byte)
    for size in ("mem", "8", "16", "32", "64", "128"):
        names = {"put": f"put{size}", "get": f"get{size}", "put_signal": f"put{size}_signal"}
        for prefix, name, takes in _moves(names):
            yield made(prefix, name, takes, "", byte)
    for kind, element in _TYPES.items():
        if kind != "ptrdiff":
            for prefix, name, takes in _moves({move: f"{kind}_{move}" for move in _MOVES}):
                yield made(prefix, name, takes, "", element)
        if kind not in ("ptrdiff", *_NARROW):
            yield made("nvshmem_", f"{kind}_p", "Tti", "", element)
            yield made("nvshmem_", f"{kind}_g", "Ti", "t", element)
        if kind in _WORDS:
            for name, shape in _ATOMICS.items():
                yield made("nvshmem_", f"{kind}_atomic_{name}", *shape, element)
            for name, shape in _WAITS.items():
                yield made("nvshmem_", f"{kind}_{name}", *shape, element)
        for name in ("and", "or", "xor") if kind in _BITS else ():
            yield made("nvshmem_", f"{kind}_atomic_{name}", "Tti", "", element)
            yield made("nvshmem_", f"{kind}_atomic_fetch_{name}", "Tti", "t", element)
        for name in ("sum", "min", "max") if kind in _REDUCED else ():
            yield made("nvshmemx_", f"{kind}_{name}_reduce_block", "iTTu", "i", element)


_FUNCTIONS = dict(_all())

__path__: List[str] = []  # as of a package, for ``_cuteast``: compat says that it is this module

__all__ = sorted(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> List[str]:
    return sorted({*globals(), *_FUNCTIONS})


def __getattr__(name: str) -> Any:
    """The function of a name; made when it is first asked for."""
    found = _FUNCTIONS.get(name)
    if found is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    types = {
        "t": found.element,
        "T": _CutePtrType(found.element),
        "i": cutlass.Int32,
        "I": _CutePtrType(cutlass.Int32),
        "u": cutlass.Uint64,
        "U": _CutePtrType(cutlass.Uint64),
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
