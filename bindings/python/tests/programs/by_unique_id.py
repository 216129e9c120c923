"""Joins the job whose id comes on standard input, as PE argv[1] of argv[2]."""

import os
import sys

import nvshmemrs.core as nvshmem

for name in ("NVSHMEMRS_PE", "NVSHMEMRS_N_PES", "NVSHMEMRS_UNIQUE_ID"):
    os.environ.pop(name, None)
uid = nvshmem.UniqueID.from_bytes(bytes.fromhex(sys.stdin.readline()))
nvshmem.init(uid=uid, rank=int(sys.argv[1]), nranks=int(sys.argv[2]), initializer_method="uid")
with nvshmem.array(1, "i8") as a:
    a[0] = 1
    nvshmem.reduce(0, a, a, "sum")
    assert a[0] == int(sys.argv[2])
nvshmem.finalize()
print("ok\n", end="")  # one write, so that PEs do not mix
