"""What type checkers are told of arrays: the type of their elements, from the dtype asked for."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    List,
    Literal,
    Protocol,
    Sequence,
    SupportsIndex,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    overload,
)

import numpy as np

if TYPE_CHECKING:
    from .numpy import SymmetricArray

Shape = Union[SupportsIndex, Sequence[SupportsIndex]]
Order = Literal["C", "F"]
Element = TypeVar("Element", bound=np.generic)


class MakesArray(Protocol):
    """``array``: with a dtype that is known when the program is checked, so are the elements."""

    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["float32", "f4", "single"] = ...,
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.float32]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Union[Type[Element], "np.dtype[Element]"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[Element]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["float64", "f8", "double", "float"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.float64]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["float16", "f2", "half"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.float16]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["int8", "i1"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.int8]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["int16", "i2"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.int16]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["int32", "i4"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.int32]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["int64", "i8"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.int64]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["uint8", "u1"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.uint8]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["uint16", "u2"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.uint16]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["uint32", "u4"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.uint32]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["uint64", "u8"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.uint64]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["complex64", "c8"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.complex64]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["complex128", "c16", "complex"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.complex128]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Literal["bool", "?"],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.bool_]]": ...
    @overload
    def __call__(  # type: ignore[overload-overlap, unused-ignore]  # pyright: ignore[reportOverlappingOverload]
        self,
        shape: Shape,
        dtype: Type[bool],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.bool_]]": ...
    @overload
    def __call__(  # type: ignore[overload-overlap, unused-ignore]  # pyright: ignore[reportOverlappingOverload]
        self,
        shape: Shape,
        dtype: Type[int],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.int64]]": ...
    @overload
    def __call__(  # type: ignore[overload-overlap, unused-ignore]  # pyright: ignore[reportOverlappingOverload]
        self,
        shape: Shape,
        dtype: Type[float],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.float64]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Type[complex],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[np.complex128]]": ...
    @overload
    def __call__(
        self,
        shape: Shape,
        dtype: Union[str, List[Any], Tuple[Any, ...], Dict[str, Any]],
        release: bool = ...,
        morder: Order = ...,
        except_on_del: bool = ...,
    ) -> "SymmetricArray[Tuple[Any, ...], np.dtype[Any]]": ...


def makes_array(function: Callable[..., Any]) -> MakesArray:
    """Gives a function that makes arrays its types; at run time it is the function."""
    return cast(MakesArray, function)
