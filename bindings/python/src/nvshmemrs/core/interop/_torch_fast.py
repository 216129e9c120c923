# mypy: ignore-errors
"""Small all-reduces on a GPU: one kernel, in which data carries its own flag (`reduce_fast`).

Neither side needs to be symmetric, so nothing is copied before or behind. The members decide by the
number and the type of the elements alone, which are the same on all of them.
"""

import triton
import triton.language as tl

from ..device import triton as nvt

# Bytes up to which it is the faster way.
MOST = 1 << 19
PROGRAMS = 64
_OPS = {"sum": 1, "avg": 1, "min": 2, "max": 3, "prod": 4}
_BITS = {"and": 5, "or": 6, "xor": 7}
_loaded = set()


@triton.jit(do_not_specialize=["n"])
def reduce_kernel(state, workspace, dest, source, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce_fast(ctx, workspace, dest, source, n, OP, BLOCK=BLOCK)


def workspace(team):
    """The workspace of a group; collective over all PEs."""
    return nvt.Workspace(team, MOST, PROGRAMS)


def state():
    """What kernels take of the job."""
    return nvt.state()


def fits(itemsize, count, op, is_integer):
    """Whether all members go this way with such a call."""
    known = op in _OPS or (is_integer and op in _BITS)
    return known and itemsize in (2, 4) and 0 < count * itemsize <= MOST and count * itemsize % 4 == 0


def launch(state, space, name, dest, source, count, itemsize, op, is_captured):
    """Starts the kernel on Triton's current stream. Whether it could: not in a capture, if it is not
    loaded yet.
    """
    words = count * itemsize // 4
    programs = min(PROGRAMS, -(-words // 256))
    block = 256 if words <= 256 * PROGRAMS else 1024
    number = _OPS.get(op) or _BITS[op]
    key = (name, number, block, dest % 16 == 0, source % 16 == 0)
    if is_captured and key not in _loaded:
        return False
    pointers = (nvt.Pointer(place, name, (1,), None) for place in (dest, source))
    reduce_kernel[(programs,)](state, space.pointer, *pointers, count, OP=number, BLOCK=block)
    _loaded.add(key)
    return True
