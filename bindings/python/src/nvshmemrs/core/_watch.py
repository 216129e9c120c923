"""Arrays that announce NumPy's accesses to the checker. Without the checker this module is not
imported, and arrays are unchanged.

Arrays on the symmetric heap, the arrays that the program creates with NumPy, and results computed
from either are of subclasses here. Their methods announce an access and do it with a plain view.
``_places`` computes the bytes of an access, ``_numpy`` the accesses of NumPy's functions.
"""

from __future__ import annotations

import functools
import site
import sys
import sysconfig
from types import FrameType
from typing import Any, Callable, Dict, Iterable, Iterator, Optional, Tuple, Type

import numpy as np

from .. import _ffi
from . import _export, _job, _sites
from ._places import masked, runs, selected, whole_segments

LOAD = int(_ffi.Access.LOAD)
STORE = int(_ffi.Access.STORE)
_UNSEEN = int(_ffi.Access.UNSEEN)

_view: Callable[..., np.ndarray] = np.ndarray.view
_announce: Callable[..., int] = _job.lib.nvshmemrs_check_access
_Runs = Iterable[Tuple[int, int]]


def plain(array: np.ndarray) -> np.ndarray:
    """The same memory as an array that announces nothing."""
    return _view(array, np.ndarray)


def record(access: int, places: _Runs) -> None:
    """Announces an access of the program to ranges of bytes: pairs of an address and a length."""
    if not _job.job.runtime:
        return
    here = _sites.here
    here.keeps = True
    try:
        for address, nbytes in places:
            _announce(address, nbytes, access, None)
    finally:
        here.keeps, here.text = False, None


def hand_out(array: np.ndarray) -> None:
    """Records that memory is passed on to code whose accesses are not announced."""
    record(_UNSEEN, runs(plain(array)))


def _hand_out_buffer(address: int, size: int) -> None:
    """The same for a Buffer, unless this package itself reads the address."""
    frame: Optional[FrameType] = sys._getframe(2)
    if frame is not None and frame.f_code.co_filename == _export.__file__:  # before Python 3.12
        frame = frame.f_back
    if frame is None or not _is_ours(frame):
        record(_UNSEEN, [(address, size)])


def watched_in(value: Any) -> Iterator["Watching"]:
    """The watched arrays in an argument: the argument itself, or elements of lists, tuples and dicts."""
    if isinstance(value, Watching):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from watched_in(one)
    elif isinstance(value, dict):
        yield from watched_in(list(value.values()))


def read(value: Any) -> None:
    """Announces that all watched arrays in `value` are read."""
    for array in watched_in(value):
        record(LOAD, runs(plain(array)))


def write(value: Any) -> None:
    """Announces that all watched arrays in `value` are written."""
    for array in watched_in(value):
        record(STORE, runs(plain(array)))


def unwrapped(value: Any) -> Any:
    """An argument with plain arrays in place of watched ones."""
    if isinstance(value, Watching):
        return plain(value)
    if type(value) in (list, tuple) and next(watched_in(value), None) is not None:
        return type(value)(map(unwrapped, value))
    if type(value) is dict:
        return {key: unwrapped(one) for key, one in value.items()}
    return value


def wrapped(result: Any, sources: Iterable[np.ndarray] = ()) -> Any:
    """A result of NumPy's, watched: a view of a source is of the source's class."""
    if type(result) is np.ndarray:
        for source in sources:
            if np.may_share_memory(result, plain(source)):
                return _view(result, type(source))
        return _view(result, Private)
    if type(result) in (list, tuple):
        return type(result)(wrapped(one, sources) for one in result)
    return result


# --- call sites -----------------------------------------------------------------------------

_NUMPY = np.__path__[0] + "/"
_sites.skipped += (_NUMPY, "<__array_function__")
_LIBRARIES = tuple(
    folder + "/"
    for folder in (
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *(site.getsitepackages() if hasattr(site, "getsitepackages") else ()),
        site.getusersitepackages() if hasattr(site, "getusersitepackages") else "",
    )
    if folder
) + (*_sites.skipped, "<frozen")


@functools.lru_cache(maxsize=None)
def _is_library(file: str) -> bool:
    return file.startswith(_LIBRARIES)


def _is_users(frame: FrameType) -> bool:
    """Whether the call comes from a line of the program, not of a library."""
    return not _is_library(frame.f_code.co_filename)


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_sites.PACKAGE)


# --- the arrays -----------------------------------------------------------------------------------


def _reads_all(name: str) -> Any:
    """A method that reads the whole array, and its arguments."""
    method = getattr(np.ndarray, name)

    def reading(self: "Watching", *args: Any, **named: Any) -> Any:
        out = named.get("out")
        read(self)
        read(args)
        read({key: one for key, one in named.items() if key != "out"})
        write(out)
        result = method(plain(self), *unwrapped(args), **unwrapped(named))
        return wrapped(result) if out is None else out

    return functools.wraps(method)(reading)


def _changes_all(name: str, reads: bool) -> Any:
    """A method that writes the whole array, and perhaps reads it before."""
    method = getattr(np.ndarray, name)

    def changing(self: "Watching", *args: Any, **named: Any) -> Any:
        if reads:
            read(self)
        read((args, named))
        write(self)
        return method(plain(self), *unwrapped(args), **unwrapped(named))

    return functools.wraps(method)(changing)


def _views_or_copies(name: str) -> Any:
    """A method that copies only if it must."""
    method = getattr(np.ndarray, name)

    def viewing(self: "Watching", *args: Any, **named: Any) -> Any:
        result = method(plain(self), *args, **named)
        if result.size and not np.may_share_memory(result, plain(self)):
            read(self)
        return wrapped(result, (self,))

    return functools.wraps(method)(viewing)


def _converts(name: str) -> Any:
    """A conversion of the only element to a number."""
    method = getattr(np.ndarray, name)

    def converting(self: "Watching") -> Any:
        if self.size == 1:
            read(self)
        return method(plain(self))

    return functools.wraps(method)(converting)


def _gives_away(name: str) -> Any:
    """An attribute through which the memory can be used unseen."""
    attribute = getattr(np.ndarray, name)

    def giving(self: "Watching") -> Any:
        if not _is_ours(sys._getframe(1)):
            hand_out(self)
        return attribute.__get__(plain(self))

    return property(giving)


def _flat() -> Any:
    """All elements one after the other: an iterator of NumPy's, which announces nothing."""

    def iterator(self: "Watching") -> Any:
        hand_out(self)
        return plain(self).flat

    def assign(self: "Watching", value: Any) -> None:
        read(value)
        write(self)
        plain(self).flat = unwrapped(value)  # type: ignore[misc, unused-ignore]

    return property(iterator, assign)


def _part(name: str) -> Any:
    """The real or the imaginary part."""
    attribute = getattr(np.ndarray, name)

    def part(self: "Watching") -> Any:
        return wrapped(attribute.__get__(plain(self)), (self,))

    def assign(self: "Watching", value: Any) -> None:
        read(value)
        if name == "real" or self.dtype.kind == "c":
            record(STORE, runs(attribute.__get__(plain(self))))
        attribute.__set__(plain(self), unwrapped(value))

    return property(part, assign)


class Watching(np.ndarray):
    """An array that announces its accesses."""

    __slots__ = ()

    _shown: Type[np.ndarray] = np.ndarray
    """The class name in its repr."""

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = (), where: Any = True, **named: Any
    ) -> Any:
        call = getattr(ufunc, method)
        if method == "at":
            target, key, *rest = inputs
            read((key, rest))
            if isinstance(target, Watching):
                places = list(_places_of(plain(target), unwrapped(key)))
                record(LOAD, places)
                record(STORE, places)
            return call(*unwrapped(inputs), **named)
        given = unwrapped(inputs)
        if method == "reduceat":
            read(inputs[1])
            if isinstance(inputs[0], Watching):
                record(LOAD, whole_segments(given[0], given[1], named.get("axis", 0)))
        elif where is True:
            read(inputs)
        else:
            read(where)
            where = unwrapped(where)
            called = method == "__call__"
            shape = np.broadcast(*given, where).shape if called else np.shape(given[0])
            for array in watched_in(inputs):
                record(LOAD, selected(plain(array), masked(array.shape, where, shape)))
        if where is not True:
            named["where"] = where
        if not out:
            return wrapped(call(*given, **named))
        for array in watched_in(out):
            if where is True or method != "__call__":
                write(array)
            else:
                record(STORE, selected(plain(array), masked(array.shape, where, array.shape)))
        result = call(*given, out=unwrapped(out), **named)
        if not isinstance(result, tuple):
            return result if out[0] is None else out[0]
        return tuple(one if given is None else given for one, given in zip(result, out))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ._numpy import announce, goes_through  # which imports this module

        if goes_through(func):
            return super().__array_function__(func, types, args, kwargs)
        announce(func, args, kwargs)
        out = kwargs.get("out")
        write(out)
        sources = list(watched_in((args, {k: v for k, v in kwargs.items() if k != "out"})))
        result = func(*unwrapped(args), **unwrapped(kwargs))
        return wrapped(result, sources) if out is None else out

    def __getitem__(self, key: Any) -> Any:
        here, read_by = plain(self), unwrapped(key)
        read(key)
        if not is_basic(read_by):
            record(LOAD, _places_of(here, read_by))
            return wrapped(here[read_by])
        found = np.ndarray.__getitem__(self, read_by)
        if not isinstance(found, np.ndarray):
            element = here[_as_array(read_by)]
            if isinstance(found, np.void) and found.dtype.names:
                hand_out(element)  # a record is a view
            else:
                record(LOAD, runs(element))
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        here, by = plain(self), unwrapped(key)
        read((key, value))
        record(STORE, _places_of(here, by))
        here[by] = unwrapped(value)

    def view(self, *args: Any, **named: Any) -> Any:
        """The same memory with another type, still watched if it is NumPy's own class."""
        found = _view(self, *args, **named)
        if type(found) is np.ndarray:
            return _view(found, Private)
        if not isinstance(found, Watching) and not _is_ours(sys._getframe(1)):
            hand_out(self)
        return found

    def item(self, *args: Any) -> Any:
        """One element, as an object of Python's."""
        found = plain(self).item(*args)  # first, because it raises where there is no such element
        if not args:
            read(self)
        else:
            one: Any = args[0] if len(args) == 1 else args
            key = np.unravel_index(one % self.size, self.shape) if np.ndim(one) == 0 else one
            record(LOAD, runs(plain(self)[(*key, Ellipsis)]))
        return found

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        """The elements of these indices."""
        read(indices)
        here, indices = plain(self), unwrapped(indices)
        record(LOAD, selected(here, lambda places: places.take(indices, axis, mode=mode)))
        write(out)
        result = here.take(indices, axis, unwrapped(out), mode)
        return wrapped(result) if out is None else out

    def compress(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, condition: Any, axis: Any = None, out: Any = None
    ) -> Any:
        """The slices for which the condition holds."""
        read(condition)
        here, condition = plain(self), unwrapped(condition)
        record(LOAD, selected(here, lambda places: places.compress(condition, axis)))
        write(out)
        result = here.compress(condition, axis, unwrapped(out))
        return wrapped(result) if out is None else out

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Writes the elements of these indices."""
        read((indices, values))
        here, indices = plain(self), unwrapped(indices)
        record(STORE, selected(here, lambda places: places.take(indices, mode=mode)))
        here.put(indices, unwrapped(values), mode)

    def trace(self, *args: Any, **named: Any) -> Any:
        """The sum of the diagonal."""
        some = {k: v for k, v in named.items() if k in ("offset", "axis1", "axis2")}
        record(LOAD, runs(plain(self).diagonal(*args[:3], **some)))
        write(named.get("out"))
        return plain(self).trace(*args, **unwrapped(named))

    def byteswap(self, inplace: bool = False) -> Any:
        """The bytes of each element in the other order."""
        read(self)
        if not inplace:
            return wrapped(plain(self).byteswap())
        write(self)
        plain(self).byteswap(True)
        return self

    def copy(self, order: Any = "C") -> Any:
        """A copy in private memory."""
        read(self)
        return wrapped(plain(self).copy(order))

    def astype(self, *args: Any, **named: Any) -> Any:
        """A converted copy in private memory."""
        result = plain(self).astype(*args, **named)
        if result.size and not np.may_share_memory(result, plain(self)):
            read(self)
        return wrapped(result, (self,))

    def __copy__(self) -> Any:
        return self.copy("K")

    def __deepcopy__(self, memo: Any) -> Any:
        read(self)
        return wrapped(plain(self).__deepcopy__(memo))

    def __reduce__(self) -> Any:
        read(self)
        return plain(self).__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        read(self)
        return plain(self).__reduce_ex__(protocol)

    def __array__(self, *args: Any, **named: Any) -> Any:
        result = plain(self).__array__(*args, **named)
        if not np.may_share_memory(result, plain(self)):
            read(self)
        elif not _is_users(sys._getframe(1)):
            hand_out(self)
            return result
        return wrapped(result, (self,))

    def __str__(self) -> str:
        self._print()
        return str(_view(self, self._shown))

    def __repr__(self) -> str:
        self._print()
        return repr(_view(self, self._shown))

    def __format__(self, spec: str) -> str:
        self._print()
        return format(_view(self, self._shown), spec)

    def _print(self) -> None:
        """Announces the elements that a repr reads: of a long array its edges."""
        here, options = plain(self), np.get_printoptions()
        edge = options["edgeitems"]
        if here.size > options["threshold"]:
            ends = (np.r_[0 : min(edge, n), max(n - edge, min(edge, n)) : n] for n in here.shape)
            record(LOAD, selected(here, np.ix_(*ends)))
        else:
            read(self)

    def __dlpack__(self, *args: Any, **named: Any) -> Any:
        hand_out(self)
        return plain(self).__dlpack__(*args, **named)

    if sys.version_info >= (3, 12):

        def __buffer__(self, flags: int) -> memoryview:
            if not _is_ours(sys._getframe(1)):
                hand_out(self)
            return plain(self).__buffer__(flags)


# Methods and attributes by their accesses.
for _made_by, _names in (
    (
        _reads_all,
        "argmax argmin argpartition argsort dot dump dumps flatten nonzero repeat round searchsorted "
        "tobytes tofile tolist",
    ),
    (functools.partial(_changes_all, reads=False), "fill setfield"),
    (functools.partial(_changes_all, reads=True), "partition sort"),
    (_views_or_copies, "ravel reshape"),
    (_converts, "__bool__ __complex__ __float__ __index__ __int__"),
    (_gives_away, "data ctypes __array_interface__ __array_struct__"),
    (_part, "real imag"),
):
    for _name in _names.split():
        setattr(Watching, _name, _made_by(_name))
setattr(Watching, "flat", _flat())  # noqa: B010  (type checkers take it for ndarray's)


class Private(Watching):
    """An array of the program's in private memory. It is called ndarray, as elsewhere."""

    __slots__ = ()


Private.__name__ = Private.__qualname__ = "ndarray"
Private.__module__ = "numpy"


def is_basic(key: Any) -> bool:
    """Whether an index is basic: it makes a view, or selects one element."""
    for one in key if type(key) is tuple else (key,):
        if one is None or one is Ellipsis or isinstance(one, (slice, str)):
            continue
        if isinstance(one, (int, np.integer)) and not isinstance(one, bool):
            continue
        if isinstance(one, list) and one and all(isinstance(name, str) for name in one):
            continue
        return False
    return True


def _as_array(key: Any) -> Any:
    """The index as a basic index that makes a view even of a single element."""
    if isinstance(key, (str, list)):
        return key
    keys = key if type(key) is tuple else (key,)
    return keys if any(one is Ellipsis for one in keys) else (*keys, Ellipsis)


def _places_of(here: np.ndarray, key: Any) -> _Runs:
    """The places of the elements that an index selects."""
    return runs(here[_as_array(key)]) if is_basic(key) else selected(here, key)


# --- the functions of NumPy that make arrays ------------------------------------------------------

_MAKERS = (
    "arange array asanyarray asarray ascontiguousarray asfortranarray copy empty empty_like eye "
    "frombuffer fromfile fromfunction fromiter fromstring full full_like genfromtxt geomspace "
    "identity linspace load loadtxt logspace ones ones_like require tri zeros zeros_like"
).split()


def _making(function: Any) -> Any:
    """A function of NumPy's that makes arrays, which are watched if the program calls it."""
    dispatches = hasattr(function, "_implementation")

    def make(*args: Any, **named: Any) -> Any:
        caller = sys._getframe(1)
        users = _is_users(caller)
        sources = list(watched_in((args, named)))
        if not sources or dispatches:
            result = function(*args, **named)
            return wrapped(result) if users else result
        first = args[0] if args else None
        if function is _asanyarray and isinstance(first, Watching) and len(args) == 1:
            if not named:
                return first
        result = function(*unwrapped(args), **unwrapped(named))
        for source in sources:
            if not np.may_share_memory(result, plain(source)):
                read(source)
            elif not users and not _is_ours(caller):
                hand_out(source)
        if not users:
            return result
        if type(first) is Private and _is_same(result, first):
            return first
        return wrapped(result, sources)

    return functools.wraps(function)(make)


_asanyarray = np.asanyarray


def _is_same(one: np.ndarray, other: np.ndarray) -> bool:
    def place(array: np.ndarray) -> Tuple[Any, ...]:
        return (*next(iter(runs(array)), (0, 0)), array.shape, array.strides, array.dtype)

    return place(one) == place(plain(other))


_replaced: Dict[str, Any] = {}


def install(base: Type[np.ndarray]) -> Type[np.ndarray]:
    """Makes NumPy's functions make watched arrays. Returns the class of arrays on the symmetric
    heap; `base` is what it is without the checker.
    """
    from . import _numpy  # which knows the functions as they are

    assert _numpy
    _job.hand_out = _hand_out_buffer
    for name in _MAKERS:
        function: Optional[Any] = getattr(np, name, None)
        if function is not None and name not in _replaced:
            _replaced[name] = function
            setattr(np, name, _making(function))

    class Symmetric(Watching, base):  # type: ignore[misc, valid-type]
        __slots__ = ()
        _shown = base

    Symmetric.__name__ = Symmetric.__qualname__ = base.__name__
    Symmetric.__module__ = base.__module__
    Symmetric.__doc__ = base.__doc__
    return Symmetric
