"""Runs the kernel that ``cute/names_build.py`` has compiled, whose functions came from the bitcode:

nvshmemrs-run -n 2 -- python cute_names.py FOLDER
"""

import json
import os
import sys
from pathlib import Path

import cupy
from cuda.core import Device, LaunchConfig, ObjectCode, launch

import nvshmemrs.core as nvshmem

folder = Path(sys.argv[1])
number = int(os.environ.get("NVSHMEMRS_PE", "0")) % cupy.cuda.runtime.getDeviceCount()
device = Device(number)
device.set_current()
nvshmem.init(device=device, timeout=60)
me, n = nvshmem.my_pe(), nvshmem.n_pes()

code = ObjectCode.from_cubin((folder / "names.cubin").read_bytes())
kernel = code.get_kernel(json.loads((folder / "names.json").read_text())["kernel"])
library = nvshmem.NvshmemKernelObject.from_handle(int(code.handle))
nvshmem.library_init(library)

array = nvshmem.array(8, "i4")
array[:] = 0
cupy.cuda.runtime.deviceSynchronize()
nvshmem.barrier_all()
address = int(array.data.ptr)
launch(device.default_stream, LaunchConfig(grid=1, block=1), kernel, address)
cupy.cuda.runtime.deviceSynchronize()
nvshmem.barrier_all()

left, right = (me - 1) % n, (me + 1) % n
total = [n * (n + 1) // 2] + [0] * (n - 1)
spread = [(left - 1) % n + 100, 0, total[left], 0, 0]
found = array.get().tolist()
assert found == [left + 100, total[me], (right - 1) % n + 100, *spread], found
nvshmem.library_finalize(library)
nvshmem.free_array(array)
nvshmem.finalize()
print(f"cute ok: names, PE {me}", flush=True)
