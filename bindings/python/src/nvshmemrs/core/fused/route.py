"""Where the rows of a dispatch went."""

from __future__ import annotations

from typing import Any

from ..._handle import Handle
from .._arguments import integer
from ..nvshmem_types import NvshmemInvalid
from . import _arguments as args
from ._workspace import BINS, Workspace


class Route(Handle):
    """The routing of a `dispatch`, which `combine` needs. One object serves every call of the same
    sizes, also in CUDA graphs.

    `counts` has the rows that came for each expert of this PE, and `offsets` where they begin in
    ``out``, with the end of the last ones. `places` has, for each token and choice, the row of the
    expert's PE, or -1 if the choice was -1. They are arrays of int32 of this PE's own, on the GPU or
    the host. Expert e is on member ``e // (n_experts // team size)``. Local.
    """

    def __init__(self, workspace: Workspace, tokens: int, top_k: int, n_experts: int) -> None:
        ws = args.workspace_of(workspace, "Route")
        self.tokens, self.top_k = integer(tokens, "tokens"), integer(top_k, "top_k")
        self.n_experts = integer(n_experts, "n_experts")
        if self.tokens < 0 or not 1 <= self.top_k <= 64:
            raise NvshmemInvalid(f"tokens={tokens}, top_k={top_k}: there must be 0 or more, and 1 to 64")
        if not 0 < self.n_experts <= BINS or self.n_experts % ws.n:
            raise NvshmemInvalid(
                f"n_experts={n_experts}: it must be from 1 to {BINS}, and a multiple of the team's {ws.n} "
                "members"
            )
        self.each = self.n_experts // ws.n
        self.workspace = ws
        arrays = {
            "places": args.zeros((self.tokens, self.top_k)),
            "counts": args.zeros((self.each,)),
            "offsets": args.zeros((self.each + 1,)),
        }
        self._arrays = arrays
        # The arrays as arguments of kernels.
        self.arguments = [
            args.array(made, name, "Route", dims=len(made.shape), kinds=("int32",)).argument
            for name, made in arrays.items()
        ]

    @property
    def places(self) -> Any:
        """The row of each token and choice, or -1."""
        return self._arrays["places"]

    @property
    def counts(self) -> Any:
        """The rows that came for each expert of this PE."""
        return self._arrays["counts"]

    @property
    def offsets(self) -> Any:
        """Where the rows of each expert begin, and the end of the last ones."""
        return self._arrays["offsets"]
