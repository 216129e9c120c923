"""The heap in the memory of GPUs: with CuPy, torch and cuda.core on a machine that has them, and, on any
machine, with stand-ins for them and for the driver (fakes/, tests/programs/fake_cuda.c), whose GPUs'
memory the host can read and whose streams run nothing before somebody asks.
"""

from __future__ import annotations

import array
import math
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Callable, Dict, Iterator, List

import pytest
from conftest import FAKES, program, repository, run_job

NEEDED = "import cupy, torch, cuda.core; assert torch.cuda.is_available(), 'torch sees no GPU'"


@pytest.fixture(scope="session")
def gpus() -> Dict[str, str]:
    """The environment on a machine with GPUs."""
    done = subprocess.run([sys.executable, "-c", NEEDED], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no GPU with CuPy, torch and cuda.core: {done.stderr.splitlines()[-1]}")
    return {name: value for name, value in os.environ.items() if name != "NVSHMEMRS_MEMORY"}


Run = Callable[..., str]


@pytest.fixture(params=["fakes", "gpus"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a program with nvshmemrs-run, with the stand-ins or on GPUs."""
    environment = request.getfixturevalue(request.param)

    def start(n: int, *command: str) -> str:
        return run_job(n, sys.executable, *command, base=environment)

    yield start


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", ["cuda_arrays.py", "cuda_streams.py", "cuda_pool.py"])
def test_program(run: Run, name: str, n: int) -> None:
    assert run(n, program(name)).count("ok\n") == n


def test_teams_of_pes_that_share_a_gpu(run: Run) -> None:
    launched = ["env", "FAKE_CUDA_DEVICES=2", sys.executable, program("cuda_teams.py")]
    assert run(4, "-c", f"import os; os.execvp('env', {launched})").count("ok\n") == 4


CHOICE = """
import os, sys
import numpy as np
from cuda.core import Device
import nvshmemrs.core as nvshmem
chosen, memory, device = sys.argv[1:]
if memory != "unset":
    os.environ["NVSHMEMRS_MEMORY"] = memory
if chosen != "none":
    Device(int(chosen)).set_current()
nvshmem.init(device=eval(device), heap_bytes=1 << 22, timeout=60)
b = nvshmem.buffer(8)
print("on", b.device_id if b.is_device_accessible else "host")
nvshmem.finalize()
"""


@pytest.mark.parametrize(
    ("chosen", "memory", "device", "there"),
    [
        ("none", "unset", "None", "host"),
        ("0", "unset", "None", "0"),
        ("0", "unset", "'host'", "host"),
        ("0", "host", "None", "host"),
        ("none", "device", "None", "0"),
        ("none", "unset", "0", "0"),
        ("none", "unset", "np.int64(0)", "0"),
        ("none", "unset", "'cuda'", "0"),
        ("none", "unset", "'cuda:0'", "0"),
        ("none", "unset", "Device(0)", "0"),
        ("none", "unset", "__import__('torch').device('cuda', 0)", "0"),
        ("none", "unset", "__import__('cupy').cuda.Device(0)", "0"),
        ("none", "host", "0", "host"),
        ("none", "device", "'host'", "0"),
    ],
)
def test_where_the_heap_is(run: Run, chosen: str, memory: str, device: str, there: str) -> None:
    assert run(1, "-c", CHOICE, chosen, memory, device) == f"on {there}\n"


def test_another_gpu_than_the_first(fakes: Dict[str, str]) -> None:
    command = [sys.executable, "-c", CHOICE, "1", "unset", "'cuda:3'"]
    assert subprocess.check_output(command, env=fakes, text=True) == "on 3\n"
    command = [sys.executable, "-c", CHOICE, "none", "unset", "4"]
    done = subprocess.run(command, env=fakes, capture_output=True, text=True)
    assert done.returncode == 1 and "`device`" in done.stderr and "0 to 3" in done.stderr


WITHOUT = """
import sys
sys.modules["cupy"] = sys.modules["torch"] = None
import numpy as np
import nvshmemrs.core as nvshmem
nvshmem.init(device=0, heap_bytes=1 << 22, timeout=60)
pe, n = nvshmem.my_pe(), nvshmem.n_pes()
for call in (lambda: nvshmem.array(3), lambda: nvshmem.tensor(3), lambda: nvshmem.bytearray(3)):
    try:
        call()
    except nvshmem.NotSupportedError as error:
        assert "cannot be imported" in str(error), error
    else:
        raise AssertionError("arrays without a library")
for name in ("array", "bytearray"):
    try:
        getattr(nvshmem.interop.numpy, name)(3)
    except nvshmem.NotSupportedError as error:
        assert "NumPy does not reach" in str(error), error
    else:
        raise AssertionError("NumPy on a GPU")
with nvshmem.buffer(64) as b:
    nvshmem.put(b, np.full(64, pe, "u1"), (pe + 1) % n)
    nvshmem.barrier_all()
    got = b.copy_to(np.zeros(64, "u1"))
    assert set(got.tolist()) == {(pe - 1) % n}
    nvshmem.reduce(0, b, b, "max", dtype="uint8")
    assert set(b.copy_to(got).tolist()) == {n - 1}
nvshmem.finalize()
print("ok\\n", end="")
"""


def test_without_array_libraries_there_are_buffers(run: Run) -> None:
    assert run(2, "-c", WITHOUT).count("ok\n") == 2


IMPORTS = """
import sys
import nvshmemrs.core as nvshmem
nvshmem.init(device=0, heap_bytes=1 << 22, timeout=60)
nvshmem.barrier_all()
nvshmem.free(nvshmem.buffer(8))
nvshmem.finalize()
assert not {"torch", "cupy", "cuda"} & set(sys.modules), set(sys.modules)
print("ok")
"""


def test_no_array_library_is_imported(run: Run) -> None:
    assert run(1, "-c", IMPORTS) == "ok\n"


CURRENT = """
import ctypes, os
import nvshmemrs.core as nvshmem
driver = ctypes.CDLL("libcuda.so.1")
count, current = ctypes.c_int(), ctypes.c_int(-1)
driver.cuInit(0)
driver.cuDeviceGetCount(ctypes.byref(count))
assert driver.cuCtxGetDevice(ctypes.byref(current))  # there is none
os.environ["NVSHMEMRS_MEMORY"] = "device"
nvshmem.init(heap_bytes=1 << 22, timeout=60)
gpu = nvshmem.my_pe() % count.value
with nvshmem.buffer(8) as b:
    assert b.device_id == gpu
for after in (lambda: None, nvshmem.finalize):
    after()
    assert driver.cuCtxGetDevice(ctypes.byref(current)) == 0 and current.value == gpu
print("ok\\n", end="")
"""


def test_the_gpu_of_the_heap_is_current_where_none_was(run: Run) -> None:
    assert run(2, "-c", CURRENT).count("ok\n") == 2


STAYS = """
import ctypes
from cuda.core import Device
import nvshmemrs.core as nvshmem
Device(1).set_current()
nvshmem.init(device=3, heap_bytes=1 << 22, timeout=60)
current = ctypes.c_int(-1)
ctypes.CDLL("libcuda.so.1").cuCtxGetDevice(ctypes.byref(current))
print(current.value)
nvshmem.finalize()
"""


def test_a_gpu_that_was_chosen_stays_current(fakes: Dict[str, str]) -> None:
    assert subprocess.check_output([sys.executable, "-c", STAYS], env=fakes, text=True) == "1\n"


def started(memory: str, name: str) -> List[str]:
    """Arguments for Python that start an example with the heap in this memory, which `run` leaves
    open.
    """
    text = "import os, runpy, sys; os.environ['NVSHMEMRS_MEMORY'], *sys.argv = sys.argv[1:]; "
    example = repository(f"examples/python/{name}")
    # There is no stand-in for Numba's compiler.
    text += f"sys.modules.update(dict.fromkeys(['numba'] * ({str(FAKES)!r} in sys.path)));"
    return ["-c", text + "runpy.run_path(sys.argv[0], run_name='__main__')", memory, str(example)]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_tutorial(run: Run, n: int) -> None:
    said = run(n, *started("device", "tutorial.py"))
    assert said.count("every check passed") == 1


@pytest.mark.parametrize("n", [1, 2, 4])
def test_landscape_has_the_bits_of_host_memory(run: Run, n: int, tmp_path: Path) -> None:
    rows, columns = 23, 17
    z = [100.0 * math.sin(0.7 * i) * math.cos(0.3 * i * i) for i in range(rows * columns)]
    land = tmp_path / "hills.raw"
    header = struct.pack("=qqdd", rows, columns, 30.0, 20.0)
    land.write_bytes(header + array.array("d", z).tobytes())
    options = ["--map", str(land), "--steps", "60", "--no-plot"]
    prints = []
    for memory, pes in (("host", 1), ("device", n)):
        said = run(pes, *started(memory, "landscape.py"), *options)
        assert "check: max |difference| = 0.000e+00" in said, said
        prints += re.findall(r"^fingerprint: ([0-9a-f]{16})$", said, re.MULTILINE)
    assert len(prints) == 2 and prints[0] == prints[1], prints
