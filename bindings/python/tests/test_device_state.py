"""The state that kernels get of a job on host memory."""

from __future__ import annotations

import ctypes
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import fails, finished

import nvshmemrs
import nvshmemrs.core as nvshmem


@pytest.mark.usefixtures("job")
def test_the_state_says_where_arrays_are() -> None:
    state = nvshmem.device.state()
    assert len(bytes(state)) == 64 and bytes(state)[:4] == b"nvsh"
    fields = struct.unpack("<IIiiQQQQQII", bytes(state))
    assert fields[1:4] == (nvshmem.device.VERSION, 0, 1) and fields[-2:] == (0, 0)
    assert (state.my_pe, state.n_pes, state.base, state.stride) == fields[2:6]
    assert state.scalar.dtype.itemsize == 64 and state.scalar["abort"] == fields[6]
    assert ctypes.string_at(state.pointer, 64) == bytes(state)
    assert bytes(nvshmem.device.state()) == bytes(state)
    array = nvshmem.array(4, "int32")
    assert state.base <= array.__array_interface__["data"][0] < state.base + state.stride
    assert "PE 0 of 1" in repr(state)
    nvshmem.free_array(array)


@pytest.mark.usefixtures("job")
def test_teams_that_are_made_later_are_in_the_table() -> None:
    state = nvshmem.device.state()
    job = struct.unpack("<QIIQQI4xQ16x", ctypes.string_at(int(state.scalar["job"]), 64))
    n_teams, teams, slots = job[1], job[3], job[5]
    assert slots == 128

    def sizes() -> "list[int]":
        table = np.frombuffer(ctypes.string_at(teams, 64 * n_teams), "<i4").reshape(-1, 16)
        return [int(number) for number in np.flatnonzero(table[:, 0])]

    before = sizes()
    assert 0 in before
    made = nvshmem.team_split_strided(nvshmem.Teams.TEAM_WORLD, 0, 1, 1)
    (new,) = set(sizes()) - set(before)
    assert made is not None
    nvshmem.team_destroy(made)
    assert sizes() == before and new not in before


def unfit(found: "nvshmem.device.DeviceState", **fields: int) -> "nvshmem.device.DeviceState":
    scalar = found.scalar.copy()
    for name, value in fields.items():
        scalar[name] = value
    return nvshmem.device.DeviceState(scalar, found.pointer)


@pytest.mark.usefixtures("job")
def test_frontends_refuse_a_state_that_their_kernels_do_not_know() -> None:
    state = nvshmem.device.state()
    assert nvshmem.device.fitting(unfit(state, check=1), "f").pointer == state.pointer
    for fields, words in (
        ({"version": 99}, "f: the library has version 99 of the device state"),
        ({"magic": 0}, "install one nvshmemrs"),
        ({"check": 3}, "f: the PEs are on several hosts"),
    ):
        with pytest.raises(nvshmem.NotSupportedError, match=words):
            nvshmem.device.fitting(unfit(state, **fields), "f")


@pytest.mark.usefixtures("job")
def test_launches_of_numba_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba_cuda")
    import nvshmemrs.core.device.numba._launch as launch

    other = unfit(nvshmem.device.state(), version=99)
    monkeypatch.setattr(launch, "state", lambda: other)
    monkeypatch.setattr(launch, "_get_cufunc", lambda _: SimpleNamespace(module=SimpleNamespace()))
    with pytest.raises(nvshmem.NotSupportedError, match="a kernel: the library has version 99"):
        launch.get_cufunc(SimpleNamespace(_nvshmemrs=True))


@pytest.mark.usefixtures("job")
def test_launches_of_cute_refuse_it(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("nvidia_cutlass_dsl")
    import nvshmemrs.core.device.cute._state as cute

    other = unfit(nvshmem.device.state(), version=99)
    monkeypatch.setattr(cute, "on_gpu", lambda _: None)
    with pytest.raises(nvshmem.NotSupportedError, match="a kernel: the library has version 99"):
        cute._Adapter(other)


def test_without_a_job_there_is_no_state() -> None:
    fails(nvshmem.device.state, error=nvshmem.NotInitializedError)
    nvshmem.init(heap_bytes=1 << 22)
    nvshmem.device.state()
    nvshmem.finalize()
    fails(nvshmem.device.state, error=nvshmem.NotInitializedError)


def test_kernels_in_python_refuse_that_of_a_checked_job() -> None:
    code = (
        "import nvshmemrs.core as nvshmem\n"
        "nvshmem.init()\n"
        "state = nvshmem.device.state()\n"
        "try: nvshmem.device.fitting(state, 'f')\n"
        "except nvshmem.NotSupportedError as error: print(error)\n"
        "nvshmem.finalize()\n"
    )
    done = finished(sys.executable, "-c", code, apart=True, NVSHMEMRS_CHECK="1")
    assert done.returncode == 0 and "NVSHMEMRS_CHECK=0" in done.stdout, done


def test_the_headers_are_where_include_dir_says() -> None:
    folder = Path(nvshmemrs.include_dir())
    assert folder == Path(nvshmem.include_dir())
    for name in ("nvshmemrs_device.cuh", "nvshmemrs.h"):
        assert (folder / name).is_file(), name
