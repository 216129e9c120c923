"""Allocates from two places and frees nothing: a list of allocations must name these lines."""

import nvshmemrs.core as nvshmem


def make(count):
    return nvshmem.array(count, "int64")  # make


nvshmem.init()
first = make(12)
second = nvshmem.array(25, "int64")  # main
nvshmem.finalize()
