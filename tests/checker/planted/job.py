"""Shared by the programs in Python of this folder. With the argument "mended" a program is
correct; without it, it has the bug that its first comment describes.
"""

import sys

import nvshmemrs.core as nvshmem

MENDED = sys.argv[1:] == ["mended"]


def join():
    """Joins the job; this PE's number, and how many there are."""
    nvshmem.init()
    return nvshmem.my_pe(), nvshmem.n_pes()


def expect(holds):
    """In a mended program, this must hold."""
    if MENDED and not holds:
        raise AssertionError(f"PE {nvshmem.my_pe()}: wrong result")


def leave():
    """Leaves the job. The findings of the checker are an error there; the launcher is to tell."""
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    try:
        nvshmem.finalize()
    except nvshmem.CheckFailedError:
        pass
    sys.stdout.write(f"done PE {me} of {n}\n")
