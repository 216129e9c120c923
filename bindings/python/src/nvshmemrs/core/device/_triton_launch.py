"""Launches of kernels in Triton. At every launch Triton binds the arguments to their names, specializes each of them
and looks the compiled kernel up. Here a compiled kernel is found by the facts that Triton specializes on, and
addresses are passed as numbers.
"""

from __future__ import annotations

import contextlib
import functools
import operator
from typing import Any, Callable, ContextManager, Dict, NamedTuple, Sequence, Tuple, Union

from .._job import job

# Options of the compiler, which are no arguments of a compiled kernel.
_OPTIONS = ("num_warps", "num_stages")
# Compiled kernels, and their constants in the order of the kernel's arguments.
_compiled: Dict[Tuple[Any, ...], Tuple[Any, Tuple[Any, ...]]] = {}


class Argument(NamedTuple):
    """A pointer as an argument of a kernel: the address, and Triton's name of the type of the elements there."""

    address: int
    kind: str


def launch(
    kernel: Any,
    programs: int,
    pointers: Sequence[Argument],
    numbers: Sequence[Any] = (),
    *,
    stream: Any = None,
    loaded_only: bool = False,
    **constants: Any,
) -> bool:
    """Starts `programs` programs of a kernel on a stream of torch, the current one unless given. The kernel's
    arguments are pointers, then numbers, then constants; `constants` has options of the compiler, too. With
    `loaded_only`, as in a capture, a kernel that was not launched before is not started. Returns whether it
    was.
    """
    if job.device < 0:
        _by_triton(kernel, programs, pointers, numbers, constants)
        return True
    addresses, kinds = zip(*pointers)
    aligned = functools.reduce(operator.or_, addresses) % 16 == 0 or tuple(address % 16 == 0 for address in addresses)
    facts = map(_width if kernel.do_not_specialize else _specialized, numbers)
    key = (kernel, job.device, kinds, aligned, *facts, *constants.values())
    found = _compiled.get(key)
    if found is not None:
        compiled, values = found
        raw = _current_stream_of()(job.device) if stream is None else stream.cuda_stream
        compiled[(programs, 1, 1)](*addresses, *numbers, *values, stream=raw)
    elif loaded_only:
        return False
    else:
        with _current(stream):
            compiled = _by_triton(kernel, programs, pointers, numbers, constants)
        _compiled[key] = compiled, tuple(value for name, value in constants.items() if name not in _OPTIONS)
    return True


@functools.lru_cache(maxsize=None)
def _current_stream_of() -> Callable[[int], int]:
    """Triton's function of a device that returns the handle of torch's current stream."""
    from triton.runtime import driver  # type: ignore[import-not-found, import-untyped, unused-ignore]

    active: Any = driver.active
    return active.get_current_stream  # type: ignore[no-any-return]


def _current(stream: Any) -> ContextManager[Any]:
    if stream is None:
        return contextlib.nullcontext()
    import torch  # type: ignore[import-not-found, unused-ignore]

    return torch.cuda.stream(stream)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]


def _by_triton(kernel: Any, programs: int, pointers: Sequence[Argument], numbers: Sequence[Any], constants: Dict[str, Any]) -> Any:
    from .triton import Pointer  # Triton may not be installed

    names = kernel.arg_names[len(pointers) :]
    assert [name for name in constants if name not in _OPTIONS] == names[len(numbers) :], names
    # All numbers, or none.
    assert getattr(kernel, "do_not_specialize", []) in ([], names[: len(numbers)]), names
    tensors = [Pointer(part.address, part.kind, (), None) for part in pointers]
    return kernel[(programs,)](*tensors, *numbers, **constants)


def _specialized(number: Union[int, float]) -> int:
    """Triton compiles the same kernel for all numbers of the same value here."""
    if isinstance(number, float):
        return -1
    return (number == 1) + 2 * (number % 16 == 0) + 4 * _width(number)


def _width(number: int) -> bool:
    """Whether a number needs more than 32 bits."""
    return not -(1 << 31) <= number < 1 << 31
