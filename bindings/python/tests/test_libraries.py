"""Arrays of other libraries on host memory, and Buffers in them. The same memory, not a copy: by
address. torch: programs/torch_cpu.py.
"""

from __future__ import annotations

import array as python_array
import gc
import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Optional

import numpy as np
import pytest
from conftest import fails, program, run_job

import nvshmemrs.core as nvshmem
from nvshmemrs.core import _foreign
from nvshmemrs.core._operand import operand

OLD = np.lib.NumpyVersion(np.__version__) < "2.1.0"


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_numpy_reads_a_buffer_by_the_buffer_protocol(job: None) -> None:
    b = nvshmem.buffer(64)
    floats = np.frombuffer(b, np.float32)
    assert address(floats) == b.handle and floats.shape == (16,) and floats.flags.writeable
    floats[:] = range(16)
    assert b.memoryview.cast("f").tolist() == list(range(16))
    assert address(np.frombuffer(b, "i8", count=2, offset=16)) == b.handle + 16
    view = memoryview(b)
    assert view.nbytes == 64 and not view.readonly and view[4:8] == np.float32(1).tobytes()
    assert address(np.asarray(view)) == address(np.asarray(b)) == b.handle
    assert bytes(b) == floats.tobytes() == bytearray(b)
    # The arrays that NumPy makes of it are symmetric memory, and keep it.
    for array in (np.frombuffer(b, "f4"), np.asarray(b).view("f4"), np.asarray(view).view("f4")):
        assert nvshmem.array_get_buffer(array)[0] is b
        nvshmem.put(array[8:], array[:8].copy(), 0)
    assert floats.tolist() == list(range(8)) * 2
    made, view, b = floats[3:], None, None
    del floats, array
    gc.collect()
    assert nvshmem.heap_stats().released == 0
    nvshmem.put(made, np.zeros(13, "f4"), 0)


def test_a_buffer_that_is_gone_has_no_bytes(job: None) -> None:
    b = nvshmem.buffer(64)
    peer = nvshmem.get_peer_buffer(b, 0)
    assert address(np.frombuffer(peer, "u1")) == peer.handle
    array = np.asarray(b)
    nvshmem.free(b)
    for gone in (b, peer):
        # Before Python 3.12 the reason is known to np.asarray only.
        for use in (memoryview, np.frombuffer, bytes):
            fails(lambda: use(gone), error=(nvshmem.NvshmemInvalid, SystemError, TypeError))
        fails(lambda: np.asarray(gone), "was freed")
    fails(lambda: nvshmem.put(array, np.zeros(64, "u1"), 0), "was freed")


def test_bytes_are_the_local_side(job: None) -> None:
    a, b = nvshmem.array(4, "i4"), nvshmem.buffer(16)
    a[:] = [1, 2, 3, 4]
    # Memory with one-byte elements counts as bytes, like a Buffer, and fits every dtype by its size.
    for made in (bytearray(16), mmap.mmap(-1, 16), memoryview(bytearray(16)), np.zeros(16, "u1")):
        symmetric: Any = b if isinstance(made, np.ndarray) else a
        nvshmem.put(b, a, 0)
        nvshmem.get(made, symmetric, 0)
        assert bytes(made) == a.tobytes()
        where = operand(made, "src").address
        assert where == address(np.frombuffer(made, "u1"))
        np.frombuffer(made, "u1")[:4] = 0
        nvshmem.put(symmetric, made, 0)
        assert np.frombuffer(symmetric, "i4").tolist() == [0, 2, 3, 4]
        a[0] = 1
    nvshmem.put(a, np.arange(4, dtype="i4").tobytes(), 0)
    assert a.tolist() == [0, 1, 2, 3]
    nvshmem.put(a, b"\x09\0\0\0", 0, count=1)
    assert a[0] == 9
    b.copy_from(bytearray(range(16)))
    assert bytes(b.copy_to(bytearray(16))) == bytes(range(16))
    for function in (nvshmem.get, nvshmem.get_nbi):
        for value in (bytes(16), memoryview(bytes(16))):
            fails(lambda: function(value, a, 0), "dst is a read-only")
    fails(lambda: nvshmem.put(a, bytearray(15), 0), "dst is 16 bytes and src|dst is 4 elements")
    fails(lambda: nvshmem.put(bytearray(16), a, 0), "dst")


def test_typed_memory_keeps_its_type(job: None) -> None:
    a = nvshmem.array(3, "f8")
    there = python_array.array("d", [1, 2, 3])
    nvshmem.put(a, there, 0)
    assert a.tolist() == [1, 2, 3]
    a *= 2
    nvshmem.get(memoryview(there)[::-1], a, 0)
    assert there.tolist() == [6, 4, 2]
    with pytest.raises(nvshmem.NvshmemInvalid, match="dst has dtype float64 and src int64"):
        nvshmem.put(a, python_array.array("q", [1, 2, 3]), 0)
    for value in ("abc", 3, None, [1.0], np.float64(1)):
        words = f"src is an? {type(value).__name__}: pass"
        fails(lambda: nvshmem.put(a, value, 0), words)


def test_bytes_stay_in_place_until_a_stream_has_read_them(job: None) -> None:
    a, flag = nvshmem.array(1 << 16, "u1"), nvshmem.array(1, "u8")
    source = bytearray(b"\x05") * (1 << 16)
    with nvshmem.Stream() as stream:
        nvshmem.signal_wait(flag, 1, nvshmem.ComparisonType.CMP_EQ, stream)
        nvshmem.put(a, source, 0, stream)
        with pytest.raises(BufferError):  # Python would move it, or give it away
            source.extend(bytes(1 << 20))
        nvshmem.signal_op(flag, 1, nvshmem.SignalOp.SIGNAL_SET, 0)
        stream.synchronize()
        source.extend(b"\0")
    assert (a == 5).all()


def test_dlpack_both_ways(job: None) -> None:
    class Array:
        """An array of a library that has DLPack alone."""

        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __dlpack__(self, **arguments: Any) -> Any:
            return self.array.__dlpack__(**arguments)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    a = nvshmem.array((2, 3), "f4")
    other = Array(np.arange(6, dtype="f4").reshape(2, 3))
    assert operand(other, "src").address == address(other.array)
    nvshmem.put(a, other, 0)
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    a += 1
    if not OLD:  # else all that comes by DLPack is read-only for NumPy
        nvshmem.get(other, a, 0)
        assert other.array.tolist() == a.tolist()
    nvshmem.put(a.T, Array(other.array.T), 0)
    # An array of another library over symmetric memory is symmetric.
    shared = Array(np.asarray(a))
    assert operand(shared, "dst").address == address(a)
    nvshmem.put(shared, np.zeros((2, 3), "f4"), 0)
    assert not a.any()
    if not OLD:
        nvshmem.reduce(0, shared, shared, "sum")
    assert nvshmem.array_get_buffer(np.from_dlpack(a))[0] is nvshmem.array_get_buffer(a)[0]
    b = nvshmem.buffer(8)
    assert address(np.from_dlpack(b)) == b.handle
    nvshmem.free_array(a)
    fails(lambda: nvshmem.put(shared, np.zeros((2, 3), "f4"), 0))


def test_dlpack_of_types_that_numpy_lacks(job: None) -> None:
    """Of a producer as DLPack 1.1 has it, with and without a version."""
    ml_dtypes = pytest.importorskip("ml_dtypes")

    class Array:
        def __init__(self, name: str, code: int, versioned: bool) -> None:
            self.dtype, self.code = np.dtype(getattr(ml_dtypes, name)), code
            self.array = np.array([1, -2, 0.5], self.dtype)
            self.versioned = versioned

        def __dlpack__(self, **arguments: Any) -> Any:
            if not self.versioned and arguments:
                raise TypeError("of an old version")
            capsule = self.array.view(f"u{self.dtype.itemsize}").__dlpack__(**arguments)
            name = b"dltensor_versioned" if self.versioned and not OLD else b"dltensor"
            address = _foreign._pointer_in(capsule, name)
            at = address + (_foreign._VERSIONED if name != b"dltensor" else 0)
            _foreign._Tensor.from_address(at).code = self.code
            return capsule

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    for name, code in (("bfloat16", 4), ("float8_e4m3fn", 10), ("float8_e5m2", 12)):
        for versioned in (True, False):
            other = Array(name, code, versioned)
            found = operand(other, "src")
            assert found.address == address(other.array)
            a = nvshmem.array(3, name)
            nvshmem.put(a, other, 0)
            assert a.tobytes() == other.array.tobytes()
            fails(lambda: nvshmem.put(nvshmem.array(3, "f4"), other, 0), "dtype")
    fails(lambda: nvshmem.put(a, Array("float8_e5m2", 13, True), 0), "NumPy cannot share")


@pytest.mark.skipif(OLD, reason="NumPy before 2.1 has a part of the array API")
def test_the_array_api(job: None) -> None:
    a = nvshmem.array((2, 3), "f8")
    xp = a.__array_namespace__()
    assert xp is np and a.device == "cpu" and a.to_device("cpu") is a
    a[:] = [[1, 2, 3], [4, 5, 6]]
    assert float(xp.sum(a)) == 21 and xp.matmul(a, a.mT).shape == (2, 2)
    assert address(xp.asarray(a)) == address(xp.asarray(a, copy=False)) == address(a)
    assert address(xp.reshape(a, (3, 2), copy=False)) == address(a)
    assert address(xp.from_dlpack(a)) == address(a)
    assert address(xp.asarray(a, copy=True)) != address(a)


def test_bfloat16_and_float8_of_ml_dtypes(job: None) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for spelling in ("bfloat16", ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)):
        a = nvshmem.array(4, spelling)
        assert a.dtype == ml_dtypes.bfloat16
        a[:] = [1, -2, 0.5, 3]
        nvshmem.reduce(0, a, a, "max")
        assert a.astype("f4").tolist() == [1, -2, 0.5, 3]
    for name in ("float8_e4m3fn", "float8_e5m2"):
        a = nvshmem.array(4, name)
        assert a.dtype == getattr(ml_dtypes, name)
        source = np.array([1, 2, -4, 0.5], a.dtype)
        nvshmem.put(a, source, 0)  # it moves, as bytes do
        nvshmem.fcollect(0, a, a)
        assert a.tobytes() == source.tobytes()
        for function in (nvshmem.reduce, nvshmem.reducescatter, nvshmem.inscan):
            function(0, a, a, "sum")
            assert a.tobytes() == source.tobytes()
            fails(lambda: function(0, a, a, "xor"), f"elements of `{name}`")
        fails(lambda: nvshmem.atomic_add(a, 1, 0), f"is {name}, and the operation knows")
    # Other types of ml_dtypes only move.
    other = nvshmem.array(4, "float8_e4m3fnuz")
    nvshmem.put(other, other, 0)
    fails(lambda: nvshmem.reduce(0, other, other, "sum"), "dtype float8_e4m3fnuz: elements of this")


def test_without_ml_dtypes(job: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for name, bits in (("bfloat16", "u2"), ("float8_e5m2", "u1"), ("float8_e4m3fn", "u1")):
        with pytest.raises(nvshmem.NotSupportedError, match=f"'{name}'.* install ml_dtypes"):
            nvshmem.array(3, name)
        a = nvshmem.array(3, bits)
        nvshmem.reduce(0, a, a, "max", dtype=name)
        with pytest.raises(nvshmem.NvshmemInvalid, match=f"dtype='{name}' was passed"):
            nvshmem.reduce(0, nvshmem.array(3, "u4"), a, "max", dtype=name)


def test_jax(job: None) -> None:
    jax = pytest.importorskip("jax")
    a = nvshmem.array(32, "f4")
    a[:] = range(32)
    shared = jax.dlpack.from_dlpack(a)
    assert shared.unsafe_buffer_pointer() == address(a)
    assert float(shared.sum()) == sum(range(32))
    made = jax.numpy.arange(32.0) * 2
    assert operand(made, "src").address == made.unsafe_buffer_pointer()
    nvshmem.put(a, made, 0)
    assert a.tolist() == [2.0 * n for n in range(32)]
    fails(lambda: nvshmem.get(made, a, 0), "dst is a read-only array")


def _python_with_torch() -> Optional[List[str]]:
    """A Python that can import torch: the running Python, or Debian's with python3-torch."""
    for python in (sys.executable, "/usr/bin/python3"):
        command = [python, "-c", "import torch, numpy; print(torch.Tensor)"]
        if os.path.exists(python) and subprocess.run(command, capture_output=True).returncode == 0:
            return [python]
    return None


def runs_with_torch(name: str, folder: Path, **environment: str) -> None:
    """A program of two PEs passes in a Python that has torch."""
    python = _python_with_torch()
    if python is None:
        pytest.skip("no Python here has torch: apt-get install python3-torch")
    # The package alone, so that the other Python uses its own NumPy.
    (folder / "nvshmemrs").symlink_to(Path(nvshmem.__file__).parent.parent)
    found = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    said = run_job(2, *python, program(name), **found, **environment)
    assert said.count("ok\n") == 2, said


def test_torch_on_host_memory(tmp_path: Path) -> None:
    runs_with_torch("torch_cpu.py", tmp_path)
