# mypy: ignore-errors
"""Small all-reduces on a GPU: one kernel, in which data carries its own flag (`reduce_fast`).

Neither side needs to be symmetric, so nothing is copied before or behind. Which calls it takes
follows from the dtype, the operation and the size alone, which are the same on all members. Its
kernels are loaded when the reserve is made, so a capture changes nothing.
"""

import triton
import triton.language as tl

from ..device import triton as nvt

# Bytes up to which it is the faster way.
MOST = 1 << 19
PROGRAMS = 128
# Words of 4 bytes that a program takes at once, and its warps: of small arrays, and of larger ones.
SHAPES = ((256, 4), (512, 8))
SIZES = {"float16": 2, "bfloat16": 2, "float32": 4}
_SUM = 1


@triton.jit(do_not_specialize=["n"])
def reduce_kernel(state, workspace, dest, source, n, OP: tl.constexpr, BLOCK: tl.constexpr):
    ctx = nvt.context(state)
    nvt.reduce_fast(ctx, workspace, dest, source, n, OP, BLOCK=BLOCK)


def fits(name, count, op):
    """Whether all members go this way with such a call; `name` is of the dtype."""
    nbytes = count * SIZES.get(name, 0)
    return op in ("sum", "avg") and 0 < nbytes <= MOST and nbytes % 4 == 0


class SmallSums:
    """The workspace of a group, and its kernels. `free` is collective over all PEs, as this is."""

    def __init__(self, team):
        self._workspace = nvt.Workspace(team, MOST, PROGRAMS)
        self._state = nvt.state()
        self.free = self._workspace.free

    def load(self, dest, source):
        """Loads the kernels: sums a word of every dtype, at addresses aligned as all later ones.
        Collective over the group.
        """
        for name, size in SIZES.items():
            for shape in SHAPES:
                self._start(name, dest, source, 4 // size, 1, shape)

    def launch(self, name, dest, source, count):
        """Starts a kernel on Triton's current stream. Both addresses are multiples of 16."""
        words = count * SIZES[name] // 4
        block, _ = SHAPES[0]
        shape = SHAPES[words > block * PROGRAMS]
        self._start(name, dest, source, count, min(PROGRAMS, -(-words // block)), shape)

    def _start(self, name, dest, source, count, programs, shape):
        block, warps = shape
        pointers = (nvt.Pointer(place, name, (1,), None) for place in (dest, source))
        kernel = reduce_kernel[(programs,)]
        kernel(self._state, self._workspace.pointer, *pointers, count, OP=_SUM, BLOCK=block, num_warps=warps)
