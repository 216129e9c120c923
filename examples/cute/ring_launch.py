"""Launches the kernel that ``ring_build.py`` compiled, by cuda.core. It needs no CuTe.

    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 2 -- python ring_launch.py FOLDER [--plot FILE]

PE 0 prints the time of the same step by NCCL, where torch is there.
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import beside
import nvshmemrs.core as nvshmem
from cuda.core import Device, LaunchConfig, ObjectCode, launch, system


def beside_nccl(step, n_elements: int):
    """The same step by torch and NCCL, and both times; None where NCCL cannot be."""
    peer = beside.join_nccl(least=2)
    if peer is None:
        return None
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    mine, other = (peer.torch.full((n_elements,), float(me), device="cuda") for _ in range(2))

    def theirs() -> None:
        beside.exchange(peer, {(me + 1) % n: mine}, {(me - 1) % n: other})

    theirs()
    assert bool((other == (me - 1) % n).all())
    work = f"ring step of {n} PEs, {4 * n_elements} bytes, CuTe"
    return beside.compare(peer, work, step, "NCCL's send and recv", theirs)


def main() -> None:
    plot = beside.plot_file()
    folder = Path(sys.argv[1])
    about = json.loads((folder / "ring.json").read_text())
    n_elements = about["elements"]
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    count = getattr(system, "get_num_devices", None)
    device = Device(me % int(count() if count else system.num_devices))
    device.set_current()
    stream = device.default_stream
    code = ObjectCode.from_cubin((folder / "ring.cubin").read_bytes())
    kernel = code.get_kernel(about["kernel"])

    dst, src = nvshmem.buffer(4 * n_elements), nvshmem.buffer(4 * n_elements)
    signal = nvshmem.buffer(8)
    signal.copy_from(np.zeros(8, "u1"))
    src.copy_from((np.arange(n_elements, dtype="f4") + np.float32(me)).view("u1"))
    nvshmem.barrier_all()
    state = nvshmem.device.state().pointer
    config = LaunchConfig(grid=1, block=about["block"])
    turn = 0

    def step() -> None:
        nonlocal turn
        turn += 1
        arrays = dst.handle, src.handle, signal.handle
        launch(stream, config, kernel, np.int64(state), *arrays, np.int64(turn))

    step()
    stream.sync()

    found = np.zeros(4 * n_elements, "u1")
    dst.copy_to(found)
    wanted = np.arange(n_elements, dtype="f4") + np.float32((me - 1) % n)
    assert np.array_equal(found.view("f4"), wanted), (me, found.view("f4"))
    nvshmem.barrier_all()
    times = beside_nccl(step, n_elements)
    beside.plot(plot, f"ring of {n} PEs", found.view("f4"), wanted, times)
    for buffer in (dst, src, signal):
        nvshmem.free(buffer)
    nvshmem.finalize()
    print(f"ring_launch ok PE {me} of {n}", flush=True)


if __name__ == "__main__":
    main()
