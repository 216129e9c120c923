"""An error of a kernel's call as a sentence, for kernels that Python runs."""

from __future__ import annotations

__all__ = ["sentence"]

_WRONG = {
    1: "PE {pe} is none: the job has {n} PEs",
    2: "the memory at {at:#x} of {bytes} bytes is not symmetric",
    3: "the address {at:#x} is not aligned to the elements",
    4: "{at:#x} is no team that this PE is a member of",
    5: "slot {at} is none that teams have",
    6: "an argument is {at}: wanted is an operation of a signal, a comparison, a root of the team, or "
    "an array that is long enough",
    9: "the splits of PE {pe} are for {at} rows, and there are {bytes}",
}


def sentence(kind: int, operation: str, pe: int, n: int, at: int, nbytes: int) -> str:
    """`kind` is one of Report::kind of nvshmemrs_device.cuh, `n` the number of PEs."""
    return f"{operation}: {_WRONG[kind].format(pe=pe, n=n, at=at, bytes=nbytes)}"
