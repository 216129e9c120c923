"""Programs of NVSHMEM4Py, unchanged: `python -m nvshmemrs`, and nvshmemrs.compat.install()."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional

import pytest
from conftest import finished, program, tool

import nvshmemrs.core as nvshmem
from nvshmemrs import compat

OURS = [sys.executable, "-m", "nvshmemrs"]
HOST = "nvshmem4py/host.py"


def run(
    command: List[str], environment: Optional[Dict[str, str]] = None, given: str = "", **more: str
) -> "subprocess.CompletedProcess[str]":
    """A command, to its end."""
    return finished(*command, base=environment, apart=True, given=given, **more)


# --- programs -------------------------------------------------------------------------------------


def test_under_our_launcher() -> None:
    launched = [tool(), "-n", "2", "--", *OURS, program(HOST), "--rounds", "3"]
    done = run(launched)
    assert done.returncode == 0 and done.stdout.count("ok of 2\n") == 2, done


def test_alone() -> None:
    done = run([*OURS, program(HOST), "--rounds=2"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok of 1\n", "")


def test_under_mpirun() -> None:
    launched = [tool("mpirun"), "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    done = run([*launched, *OURS, program(HOST), "--rounds", "2"])
    assert done.returncode == 0 and done.stdout.count("ok of 2\n") == 2, done


def test_under_torchrun(tmp_path: Path) -> None:
    # The command that `torchrun --nproc-per-node 2 -m nvshmemrs host.py --rounds 2` starts.
    command = [sys.executable, "-u", "-m", "nvshmemrs", program(HOST), "--rounds", "2"]
    pes = []
    for rank in ("0", "1"):
        environment = dict(os.environ, RANK=rank, LOCAL_RANK=rank, WORLD_SIZE="2")
        environment.update(LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="29531")
        environment.update(TORCHELASTIC_RUN_ID=tmp_path.name, GROUP_RANK="0")
        pes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
    for pe in pes:
        said, _ = pe.communicate(timeout=120)
        assert pe.returncode == 0 and said == "ok of 2\n"


@pytest.mark.parametrize("method", ["uid", "mpi"])
def test_with_the_stand_ins_for_gpus(fakes: Dict[str, str], tmp_path: Path, method: str) -> None:
    command = [tool(), "-n", "2", "--", *OURS, program("nvshmem4py/gpu.py"), method]
    done = run(command, fakes, FAKE_MPI=str(tmp_path))
    assert done.returncode == 0 and done.stdout.count("ok\n") == 2, done


# --- the rest behaves as in Python ----------------------------------------------------------------

ALIKE = {
    "names": """
import pickle, sys
print(sys.argv, __name__, __file__, __spec__, __package__, sys.path[0], sys.flags.bytes_warning)
class Here:
    pass
assert type(pickle.loads(pickle.dumps(Here()))) is Here and Here.__module__ == "__main__"
assert sys.modules["__main__"].Here is Here
""",
    "traceback": "def f():\n    raise ValueError('no')\nf()\n",
    "status": "import atexit, sys\natexit.register(print, 'at exit')\nsys.exit(3)\n",
    "words": "import sys\nsys.exit('why')\n",
    "interrupted": "raise KeyboardInterrupt\n",
    "killed": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "syntax": "if True:\n",
    "thread": """
import pickle, sys, threading, time
class Late:
    pass
def later():
    threading.main_thread().join()
    print(type(pickle.loads(pickle.dumps(Late()))) is Late)
threading.Thread(target=later).start()
""",
}


@pytest.mark.parametrize("name", ALIKE)
def test_a_script_runs_as_python_runs_it(name: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(ALIKE[name])
    plain = run([sys.executable, "-b", str(script), "a", "-m", "--help"])
    ours = run([sys.executable, "-b", "-m", "nvshmemrs", str(script), "a", "-m", "--help"])
    assert (ours.returncode, ours.stdout, ours.stderr) == (
        plain.returncode,
        plain.stdout,
        plain.stderr,
    )


@pytest.mark.parametrize("flags", [["-m"], ["-u", "-m"], ["-um"], ["-W", "error", "-m"]])
def test_modules_code_and_standard_input(flags: List[str]) -> None:
    before = [*flags[:-1], flags[-1][:-1]] if flags[-1] != "-m" else flags[:-1]
    code = "import sys; print(sys.argv, sys.warnoptions, sys.stdout.write_through)"
    for arguments, given in (
        (["-c", code, "-m", "x"], ""),
        (["-", "y"], code),
        (["-m", "this"], ""),
        (["-m", "no_such_module"], ""),
        (["/no/such/script.py"], ""),
    ):
        plain = run([sys.executable, *before, *arguments], given=given)
        ours = run([sys.executable, *flags, "nvshmemrs", *arguments], given=given)
        assert ours.stdout == plain.stdout and ours.returncode == plain.returncode, (ours, plain)
        assert ours.stderr == plain.stderr


CHILDREN = """
import multiprocessing, subprocess, sys
import nvshmem.core

class Thing:
    value = 5

def work(thing):
    import nvshmem.core, nvshmemrs.core
    assert nvshmem.core is nvshmemrs.core
    return thing.value + nvshmem.core.SignalOp.SIGNAL_SET

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(work, [Thing()]) == [14]
    code = "import nvshmem.core; print(nvshmem.core.__name__)"
    if len(sys.argv) > 1:
        said = subprocess.check_output([sys.executable, "-c", code], text=True)
        assert said == "nvshmemrs.core\\n"
    print("ok")
"""


def test_processes_that_a_program_starts(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(CHILDREN)
    done = run([*OURS, str(script), "subprocess"])
    assert (done.returncode, done.stdout) == (0, "ok\n"), done
    # install() reaches processes started by multiprocessing, which import the main program anew.
    script.write_text("import nvshmemrs.compat\nnvshmemrs.compat.install()\n" + CHILDREN)
    done = run([sys.executable, str(script)])
    assert (done.returncode, done.stdout) == (0, "ok\n"), done


# --- another nvshmem ------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder with another package of this name, as with an installed NVSHMEM4Py."""
    core = tmp_path / "site" / "nvshmem" / "core"
    core.mkdir(parents=True)
    (core.parent / "__init__.py").write_text("")
    (core / "__init__.py").write_text("other = True")
    return tmp_path / "site"


WHOSE = "import nvshmem.core; print(hasattr(nvshmem.core, 'other'))"


def test_ours_wins_under_m(other: Path) -> None:
    paths = os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])
    assert run([sys.executable, "-c", WHOSE], PYTHONPATH=paths).stdout == "True\n"
    assert run([*OURS, "-c", WHOSE], PYTHONPATH=paths).stdout == "False\n"
    nested = [*OURS, "-m", "nvshmemrs", "-c", WHOSE]
    assert run(nested, PYTHONPATH=paths).stdout == "False\n"


def test_install_wins_unless_it_comes_too_late(other: Path) -> None:
    paths = os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")])
    install = "import nvshmemrs.compat as c; c.install(); c.install(); "
    assert run([sys.executable, "-c", install + WHOSE], PYTHONPATH=paths).stdout == "False\n"
    late = run([sys.executable, "-c", "import nvshmem; " + install], PYTHONPATH=paths)
    assert late.returncode == 1
    assert "ImportError: nvshmemrs.compat.install: nvshmem is" in late.stderr, late.stderr
    assert str(other / "nvshmem") in late.stderr, late.stderr


def test_a_folder_that_comes_first_is_an_error(other: Path) -> None:
    script = other / "script.py"
    script.write_text(WHOSE)
    done = run([*OURS, str(script)])
    assert done.returncode == 2 and f"{other}/nvshmem/__init__.py is another nvshmem" in done.stderr
    done = subprocess.run([*OURS, "-c", WHOSE], cwd=other, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and "start it in another folder" in done.stderr


def test_what_the_command_refuses() -> None:
    done = run([sys.executable, "-m", "nvshmemrs"])
    assert done.returncode == 2 and "usage: python -m nvshmemrs SCRIPT" in done.stderr
    assert "usage" in run([*OURS, "--help"]).stdout
    done = run([*OURS, "--cflag"])
    assert done.returncode == 2 and "there is no option --cflag" in done.stderr
    assert run([*OURS, "--version"]).stdout == f"{nvshmem.get_version().libnvshmem_version}\n"


# --- names ----------------------------------------------------------------------------------------

SAME = """
import importlib, pickle, sys
import nvshmem, nvshmem.core, nvshmemrs.core
import nvshmem.core.rma, nvshmem.core.interop.torch as by_torch
from nvshmem.core.interop import cupy as by_cupy
from nvshmem.core.direct import SignalOp, ComparisonType, my_pe
from nvshmem.core.init_fini import init, DeviceLibLanguage, module_init
from nvshmem.core.nvshmem_types import *
from nvshmem.core.nvshmem_types import NvshmemResource, NvshmemWarning, NvshmemKernelObject
import nvshmem.bindings.nvshmem as numbers
from nvshmem import bindings
ours = {name: module for name, module in sys.modules.items() if name.startswith("nvshmemrs.core")}
for name, module in list(ours.items()):
    other = importlib.import_module(name.replace("nvshmemrs", "nvshmem", 1))
    assert other is module and module.__spec__.name == module.__name__ == name
assert nvshmem.core is nvshmemrs.core and by_torch is nvshmemrs.core.interop.torch
assert numbers is bindings and pickle.dumps(SignalOp.SIGNAL_SET).count(b"nvshmemrs.core.rma")
assert nvshmem.init is init and nvshmem.__version__ == nvshmem.version
assert nvshmem.__version_tuple__[0] == int(nvshmem.version.split(".")[0])
import nvshmem.device.bindings.numba as by_numba, nvshmem.bindings.device.numba as numbas
import nvshmem.device, nvshmem.device.numba
assert by_numba is numbas and nvshmem.device is nvshmem.core.device
assert nvshmem.device.numba is nvshmem.core.device.numba
print("ok")
"""


def test_modules_are_ours_and_exist_once() -> None:
    done = run([*OURS, "-W", "error", "-c", SAME])
    assert (done.returncode, done.stdout) == (0, "ok\n"), done


MISSING = """
import nvshmem.core, nvshmem.bindings
for line in sys.stdin:
    try:
        exec(line)
    except (ImportError, AttributeError) as error:
        print(f"{type(error).__name__}: {error}")
"""
WORDS = {
    "import nvshmem.bindings.device.misspelt": "nvshmemrs, which is nvshmem here, does not have it",
    "from nvshmem.core.utils import _get_device": "ImportError: cannot import name '_get_device' "
    "from 'nvshmemrs.core.utils'",
    "nvshmem.core.device.misspelt": "AttributeError: module 'nvshmemrs.core.device' has no attribute",
    "nvshmem.core.misspelt": "AttributeError: module 'nvshmemrs.core' has no attribute 'misspelt'",
    "nvshmem.misspelt": "AttributeError: nvshmemrs, which is nvshmem here, has no nvshmem.misspelt",
    "nvshmem.bindings.float_sum_reduce_everywhere": "has no nvshmem.bindings.float_sum_reduce_e",
    "nvshmem.bindings.getmem_signal_on_stream": "has no nvshmem.bindings.getmem_signal",
}


def test_what_is_missing_says_whose_it_is() -> None:
    given = "".join(f"{line}\n" for line in WORDS)
    done = run([*OURS, "-c", "import sys\n" + MISSING], given=given)
    assert done.returncode == 0, done
    said = done.stdout.splitlines()
    assert len(said) == len(WORDS), said
    for words, line in zip(WORDS.values(), said):
        assert words in line, (words, line)


BINDINGS = """
import nvshmem.core as nv
from nvshmem import bindings as b
nv.init()
me, n = b.my_pe(), b.n_pes()
right, left = (me + 1) % n, (me - 1) % n
with nv.array(8 * n, "int32") as a, nv.array(8 * n, "int32") as c, nv.array(1, "uint64") as s:
    dst, src, sig = (x.ctypes.data for x in (a, c, s))
    c[:] = me
    b.putmem_on_stream(dst, src, 32, right, None)
    b.barrier_all()
    assert a[:8].tolist() == [left] * 8
    b.barrier(b.Team_id.TEAM_WORLD)
    b.getmem_on_stream(dst, src, 32, right, None)
    assert a[:8].tolist() == [right] * 8
    b.sync_all()
    b.putmem_signal_nbi_on_stream(dst, src, 64, sig, 5, b.Signal_op.SIGNAL_ADD, right, None)
    b.signal_wait_until_on_stream(sig, b.Cmp_type.CMP_GE, 5, None)
    assert a[:16].tolist() == [left] * 16 and b.signal_fetch(sig) == 5
    b.barrier_all()
    b.signal_op_on_stream(sig, 1, 9, right, None)  # SIGNAL_SET
    b.signal_wait_until_on_stream(sig, 0, 1, None)  # CMP_EQ
    b.quiet_on_stream(None)
    b.flush_on_stream(None)
    b.barrier_all_on_stream(None)
    b.int32_sum_reduce(0, dst, src, 8)
    assert a[:8].tolist() == [n * (n - 1) // 2] * 8
    b.int_max_reducescatter_on_stream(0, dst, src, 8, None)
    assert a[:8].tolist() == [n - 1] * 8
    b.int32_fcollect_on_stream(0, dst, src, 8, None)
    assert a.reshape(n, 8)[:, 0].tolist() == list(range(n))
    c[:] = range(8 * n)
    b.int32_alltoall(0, dst, src, 8)
    assert a.reshape(n, 8)[:, 0].tolist() == [8 * me] * n
    b.int32_broadcast_on_stream(0, dst, src, 8, n - 1, None)
    assert a[:8].tolist() == list(range(8))
    b.barrier_on_stream(0, None)
    a[0] = 0
    b.team_sync(0)
    assert 0 <= b.int32_atomic_fetch_add(dst, 3, 0) < 3 * n
    b.barrier_all()
    assert b.int32_atomic_fetch(dst, 0) == 3 * n
    assert b.int32_atomic_compare_swap(dst, 3 * n + 1, 0, 0) == 3 * n
    assert (b.ptr(dst, me), b.ptr(dst, right) != dst) == (dst, n > 1)
    try:
        b.ptr(dst, n)
    except b.NVSHMEMError as error:
        assert f"PE {n}" in str(error)
    else:
        raise AssertionError("a PE that there is not")
    try:
        b.mc_ptr(0, dst)
    except nv.NotSupportedError:
        pass
    b.barrier_all()
made = [b.malloc(64), b.calloc(4, 16), b.align(256, 64)]
assert made[2] % 256 == 0 and b.int64_atomic_fetch(made[1], me) == 0
for one in made:
    b.free(one)
assert nv.heap_stats().allocations == 0
nv.finalize()
print("ok\\n", end="")
"""


TRACKING = """
import nvshmem.core as nv
from nvshmem.core.memory import InternalInitStatus, _is_initialized, _mr_references
from nvshmem.core._internal_tracking import _mr_references as same
assert _mr_references is same is nv.interop.torch._mr_references
assert _is_initialized["status"] == InternalInitStatus.UNINITIALIZED and not _mr_references
nv.init()
assert _is_initialized["status"] == InternalInitStatus.INITIALIZED and not _mr_references
a, b = nv.buffer(64), nv.array(8)
(resource,) = _mr_references.values()
held = resource._mem_references
assert set(held) == {a.handle, b.ctypes.data} and held[a.handle]["buffer"] is a
assert held[a.handle]["type"] == nv.nvshmem_types.BufferTypes.NORMAL and held[a.handle]["ref_count"]
for view, key in ((_mr_references, 0), (held, 0), (held[a.handle], "freed"), (_is_initialized, 0)):
    try:
        view[key] = 1
    except TypeError:
        continue
    raise AssertionError(view)
del held
nv.free(a)
assert set(_mr_references[next(iter(_mr_references))]._mem_references) == {b.ctypes.data}
nv.free_array(b)
assert not _mr_references
# A dropped array is not freed before all PEs have met in an allocation.
b = nv.buffer(128)
address = b.handle
del b
(resource,) = _mr_references.values()
entry = resource._mem_references[address]
assert (entry["ref_count"], entry["freed"], entry["released"], entry["buffer"]) == (1, False, True, None)
other = nv.buffer(256)
held = resource._mem_references
assert other.handle in held and (address == other.handle or address not in held)
assert held[other.handle]["buffer"] is other and not held[other.handle]["released"]
nv.free(other)
assert not _mr_references
nv.finalize()
assert _is_initialized["status"] == InternalInitStatus.UNINITIALIZED
print("ok")
"""


INIT_BY_NUMBERS = '''
import ctypes, sys
import numpy as np
import nvshmem.bindings as b
import nvshmem.core as nv
from nvshmem.bindings.nvshmem import InitAttr, Status, check_status
me, n, path = int(sys.argv[1]), 2, sys.argv[2]
uid = b.uniqueid()
if me == 0:
    b.get_uniqueid(uid.ptr)
    open(path + ".new", "wb").write(bytes(uid))
    import os; os.rename(path + ".new", path)
else:
    import os, time
    while not os.path.exists(path):
        time.sleep(0.01)
    uid = b.UniqueId.from_bytes(open(path, "rb").read())
attr = InitAttr()
assert (attr.version, attr.mpi_comm, attr._data.itemsize) == (0, 0, 144)
def refused(error, text, call, *arguments):
    try:
        call(*arguments)
    except error as raised:
        assert text in str(raised), raised
    else:
        raise AssertionError(text)
refused(nv.NvshmemInvalid, "set_attr_uniqueid_args", b.hostlib_init_attr, b.Flags.INIT_WITH_UNIQUEID, attr.ptr)
refused(nv.NvshmemInvalid, "set_attr_mpi_comm_args", b.hostlib_init_attr, b.Flags.INIT_WITH_MPI_COMM, attr.ptr)
refused(nv.NvshmemInvalid, "attr is 0", b.set_attr_uniqueid_args, 0, 1, uid.ptr, 0)
refused(nv.NvshmemInvalid, "uniqueid is 0", b.set_attr_uniqueid_args, 0, 1, 0, attr.ptr)
refused(nv.NotSupportedError, "flags=4", b.hostlib_init_attr, b.Flags.INIT_WITH_SHMEM, attr.ptr)
assert b.init_status() == b.Init_status.STATUS_NOT_INITIALIZED
b.set_attr_uniqueid_args(me, n, uid.ptr, attr.ptr)
b.hostlib_init_attr(b.Flags.INIT_WITH_UNIQUEID, attr.ptr)
assert b.init_status() == b.Init_status.STATUS_IS_INITIALIZED
assert (b.my_pe(), b.n_pes()) == (me, n)
b.hostlib_init_attr(b.Flags.INIT_WITH_UNIQUEID, attr.ptr)  # counts
b.hostlib_finalize()
b.barrier_all()
numbers = np.zeros(5, np.int32)
at = [numbers.ctypes.data + 4 * i for i in range(5)]
b.info_get_version(*at[:2])
b.vendor_get_version_info(*at[2:])
assert ".".join(map(str, numbers[:2])) == nv.get_version().openshmem_spec_version
assert ".".join(map(str, numbers[2:])) == nv.get_version().libnvshmem_version
key = b.team_uniqueid()
value = ctypes.c_uint64()
b.team_get_uniqueid(ctypes.addressof(value))
assert value.value != 0 and key.value == 0
b.check_status(Status.SUCCESS)
refused(b.NVSHMEMError, "Status code 3", check_status, Status.ERROR_NOT_SUPPORTED)
refused(nv.NotSupportedError, "module_init", b.cumodule_init, 5)
import mmap
pages = mmap.mmap(-1, 2 * mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
mine = np.frombuffer(pages, np.int32)
refused(nv.NvshmemInvalid, "flags=1", b.buffer_register_symmetric, mine.ctypes.data, mine.nbytes, 1)
there = b.buffer_register_symmetric(mine.ctypes.data, mine.nbytes, 0)
b.int32_atomic_add(there, me + 1, 1 - me)
b.barrier_all()
assert mine[0] == 2 - me, mine
b.buffer_unregister_symmetric(there, mine.nbytes)
b.hostlib_finalize()
assert b.init_status() == b.Init_status.STATUS_NOT_INITIALIZED
print("ok", flush=True)
'''


def test_init_by_numbers(tmp_path: Path) -> None:
    words = [*OURS, "-c", INIT_BY_NUMBERS]
    pes = [
        subprocess.Popen(
            [*words, str(pe), str(tmp_path / "id")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for pe in range(2)
    ]
    for pe in pes:
        out, _ = pe.communicate(timeout=60)
        assert (pe.returncode, out) == (0, "ok\n"), out


def test_what_is_tracked_can_be_read() -> None:
    done = run([*OURS, "-c", TRACKING])
    assert (done.returncode, done.stdout) == (0, "ok\n"), done


def test_bindings_by_numbers() -> None:
    done = run([tool(), "-n", "2", "--", *OURS, "-c", BINDINGS])
    assert done.returncode == 0 and done.stdout.count("ok\n") == 2, done


def test_ctrl_c_reaches_the_program() -> None:
    code = "import time, nvshmem.core as n; n.init(); print('ready', flush=True); n.signal_wait("
    code += "n.array(1, 'uint64'), 1, n.ComparisonType.CMP_EQ)"
    pe = subprocess.Popen(
        [*OURS, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert pe.stdout is not None and pe.stdout.readline() == "ready\n"
    pe.send_signal(signal.SIGINT)  # to the same process
    _, said = pe.communicate(timeout=60)
    assert pe.returncode == -signal.SIGINT and "KeyboardInterrupt" in said, said


# --- pools ----------------------------------------------------------------------------------------


def test_a_pool_needs_a_gpu(job: None) -> None:
    with pytest.raises(nvshmem.NotSupportedError, match="the symmetric heap is host memory"):
        nvshmem.interop.torch.mem_pool()
    nvshmem.finalize()
    with pytest.raises(nvshmem.NotInitializedError, match="call init first"):
        nvshmem.interop.torch.mem_pool()


def test_compat_leaves_this_process_alone() -> None:
    assert compat.FOLDER not in sys.path and "nvshmem" not in sys.modules
