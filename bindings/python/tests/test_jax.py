"""JAX on host memory, with its wheel for CPUs."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest
from conftest import fails, program, repository, run, run_job, tool

import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj
from nvshmemrs.core.interop.jax import _calls, _mosaic, _setup

jax = pytest.importorskip("jax")

HOST = {"JAX_PLATFORMS": "cpu", "NVSHMEMRS_MEMORY": "host"}


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_operation(n: int) -> None:
    printed = run_job(n, sys.executable, program("jax_calls.py"), limit=300, **HOST)
    assert printed.count("ok\n") == n and printed.count("jax ok: ") == 10 * n, printed


def test_the_pes_may_be_the_processes_of_jax_distributed() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    words = (program("jax_calls.py"), "shards", f"distributed={port}")
    printed = run_job(2, sys.executable, *words, limit=300, **HOST)
    assert printed.count("jax ok: shards") == 2, printed


def test_the_program_of_the_page_runs(tmp_path: Path) -> None:
    on_hosts, _, on_gpus = repository("docs/jax.md").read_text().partition("## Kernels of Pallas")
    blocks = re.findall(r"^```python\n(.*?)^```$", on_hosts, re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    printed = run_job(2, sys.executable, str(script), **HOST)
    for words in (r"PE 0 got \[3. 3. 3. 3.\]", r"PE 1 got \[2. 2. 2. 2.\]", "PE 0 sums to 4.0"):
        assert re.search(words, printed), printed
    # The kernel of the page, as far as it goes without a GPU.
    (kernel,) = re.findall(r"^```python\n(.*?)^```$", on_gpus, re.MULTILINE | re.DOTALL)
    before = "import nvshmemrs.core.interop.jax as nj\nfrom nvshmemrs.core.interop.jax import _mosaic\nn = 2\n"
    lowered = "found = _mosaic.lowered(ring, (shape,), n)\nprint(len(found.results), 'result')\n"
    script.write_text(before + kernel.partition("launch = ")[0] + lowered)
    assert "1 result" in run(sys.executable, "-W", "ignore", str(script), **HOST)


def test_the_example_of_a_ring() -> None:
    printed = run_job(3, sys.executable, str(repository("examples/python/jax_ring.py")), **HOST)
    assert len(re.findall(r"^jax_ring ok PE \d of 3$", printed, re.MULTILINE)) == 3, printed
    assert printed.count("NCCL is left out: JAX runs on the host") == 1, printed


def faults(part: str, **environment: str) -> Dict[str, str]:
    """The errors of a part of the program, by their names."""
    printed = run(sys.executable, program("jax_faults.py"), part, **HOST, **environment)
    assert printed.endswith("ok\n"), printed
    return dict(re.findall(r"^([a-z ,0-9]+): (\w+: .*)$", printed, re.MULTILINE))


def test_wrong_arguments_are_told_by_their_names() -> None:
    found = faults("wrong_calls")
    for name, words in {
        "not symmetric": "NvshmemInvalid: dst is .*interop.jax.array makes",
        "numpy": "NvshmemInvalid: dst is an ndarray: .*interop.jax.array makes",
        "shape": r"NvshmemInvalid: dst is float32\[4\], and x float32\[3\]",
        "dtype": r"NvshmemInvalid: dst is float32\[4\], and x int32\[4\]",
        "pe": "NvshmemInvalid: pe=1: the job has PEs 0 to 0",
        "no token": "NvshmemInvalid: token is .*: pass what the last operation returned",
        "signal": r"NvshmemInvalid: signal is uint64\[2\]: .*signals\[0\]",
        "signal value": "NvshmemInvalid: value=-1: a signal holds",
        "list": r"NvshmemInvalid: x is a list: pass an array, such as jax.numpy.asarray\(x\)",
        "number": "NvshmemInvalid: x is a float: pass an array",
        "symmetric operand": r"NvshmemInvalid: x is a SymmetricArray: .*load\(x, token\)",
        "narrow operand": "NvshmemInvalid: x: an array of float64 .*jax_enable_x64",
        "key": r"NvshmemInvalid: x is an array of random keys: pass jax.random.key_data\(x\)",
        "traced key": r"NvshmemInvalid: x is an array of random keys",
        "objects": r"NvshmemInvalid: x has dtype object, .*x.astype\('float32'\)",
        "dates": r"NvshmemInvalid: x has dtype datetime64\[s\]",
        "long double": "NvshmemInvalid: x has dtype float128",
        "op": "NvshmemInvalid: op='mean'",
        "parts": r"NvshmemInvalid: x has shape \(\)",
        "root": "NvshmemInvalid: root=1: the team has members 0 to 0",
        "team": "NvshmemInvalid: team='NONE': the teams are TEAM_WORLD, ",
        "staging": r"NvshmemInvalid: x has 262144 bytes .*: call start\(staging=524800\) on all PEs",
        "gradient": "ValueError: .*cannot be differentiated",
        "narrow": "NvshmemInvalid: src: an array of uint64 .*jax_enable_x64",
        "narrow view": "NvshmemInvalid: view: an array of uint64 .*jax_enable_x64",
        "a value": "TypeError: .*SymmetricArray",
        "part": "NvshmemInvalid: slice.* elements that follow each other",
        "elements": "NvshmemInvalid: dtype='datetime64",
        "long elements": "NvshmemInvalid: dtype=.*longdouble.*JAX has no such elements",
        "float8": "NotSupportedError: x has dtype float8_e4m3",
        "start again": "NvshmemInvalid: start was called already: call stop first",
        "device": r"NvshmemInvalid: x is on .*, and this PE's device is CudaDevice\(id=1\)",
    }.items():
        assert re.match(words, found[name]), f"{name}: {found[name]}"


def test_an_argument_of_a_kernel_is_told_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = ((4,), np.dtype("float32"))
    found = _mosaic.Buffers(b"", [0], [shape], {}, [])
    monkeypatch.setattr(_mosaic, "lowered", lambda *_: found)
    monkeypatch.setattr(_mosaic, "_compiled", lambda _: (0, 0))
    kernel = _mosaic.Kernel(None, (shape,))
    for given, words in (
        ([1.0], r"pass an array, such as jax.numpy.asarray\(arguments\[0\]\)"),
        (np.ones(3, "float32"), r"arguments\[0\] is float32\[3\], .* made for float32\[4\]"),
    ):
        fails(lambda: kernel(given, token=None), words)


def test_an_order_that_tokens_do_not_give_is_told() -> None:
    found = faults("wrong_order")
    stale = r"JaxRuntimeError: .*token \d+ was passed on already, and the last .* token \d+"
    assert re.match(stale, found["stale"]), found
    assert re.match(stale + "|.*two operations at a time", found["forked"]), found


def test_memory_that_is_gone_is_told_also_to_compiled_programs() -> None:
    found = faults("freed")
    assert "was freed" in found["freed"], found
    assert re.match("JaxRuntimeError: .*nvshmemrs: ", found["freed, compiled"]), found
    found = faults("stopped")
    assert "call interop.jax.start() first" in found["stopped"], found
    assert "has called stop since" in found["stopped, compiled"], found
    assert "call interop.jax.start() first" in found["stop again"], found


def test_a_dead_pe_ends_a_collective_inside_of_jit() -> None:
    words = [tool(), "--grace", "60", "-n", "2", "--", sys.executable]
    printed = run(*words, program("jax_faults.py"), "killed", expected=3, **HOST)
    assert re.search(r"^dead: JaxRuntimeError: .*nvshmemrs: .*PE 1", printed, re.MULTILINE), printed


@pytest.mark.parametrize("n", [1, 2])
def test_the_handler_for_gpus_puts_its_work_on_the_stream(n: int, fakes: Dict[str, str]) -> None:
    path = {"PYTHONPATH": fakes["PYTHONPATH"], "NVSHMEMRS_MEMORY": "device"}
    printed = run_job(n, sys.executable, program("jax_on_streams.py"), base=fakes, **path)
    assert printed.count("ok\n") == n, printed


@pytest.mark.parametrize(
    ("visible", "rank", "expected"),
    [("4,7", {"LOCAL_RANK": "1"}, "7"), ("4,7", {"NVSHMEMRS_PE": "2"}, "4"), ("5", {}, "5"), ("", {}, "")],
)
def test_a_process_takes_the_gpu_of_its_number(
    visible: str, rank: Dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _setup._LOCAL_RANKS:
        monkeypatch.delenv(name, raising=False)
    for name, value in {"CUDA_VISIBLE_DEVICES": visible, **rank}.items():
        monkeypatch.setenv(name, value)
    nj.select_gpu()
    assert os.environ["CUDA_VISIBLE_DEVICES"] == expected


def test_a_gpu_is_not_selected_by_chance_or_too_late(
    monkeypatch: pytest.MonkeyPatch, fakes: Dict[str, str]
) -> None:
    for name in _setup._LOCAL_RANKS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    fails(nj.select_gpu, "no launcher gave .*LOCAL_RANK or CUDA_VISIBLE")
    script = """
import nvshmemrs.core as nvshmem
import nvshmemrs.core.interop.jax as nj
nvshmem.init(device=0, heap_bytes=1 << 24)
try:
    nj.select_gpu()
except nvshmem.NvshmemInvalid as error:
    print("refused:", error)
nvshmem.finalize()
"""
    printed = run_job(1, sys.executable, "-c", script, base={**fakes, "CUDA_VISIBLE_DEVICES": "0,1"})
    assert "refused: select_gpu: this process has used CUDA already" in printed, printed


def test_start_comes_first_and_wants_one_device() -> None:
    found = faults("start", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    assert "call interop.jax.start() first" in found["before start"], found
    assert re.match("NotSupportedError: start: JAX has 2 local devices", found["start"]), found


def test_another_version_of_jax_warns_once() -> None:
    faults("versions")


def test_threads_that_are_pes_cannot_start() -> None:
    with nvshmem.local(2) as job:
        fails(lambda: job.run(_setup.start), "PE is a thread of a local job", nvshmem.LocalJobError)


@pytest.mark.parametrize("n", [1, 2, 8])
def test_kernels_of_pallas_are_lowered_to_the_names_of_nvshmem(n: int) -> None:
    pytest.importorskip("absl")
    try:
        nvshmem.find_device_bitcode_library()
    except nvshmem.NotSupportedError as error:
        pytest.skip(str(error))
    printed = run(sys.executable, program("jax_pallas.py"), "lower", str(n), limit=300, **HOST)
    assert printed.count("pallas ok: ") == 2, printed
    for words in (
        "has 0 kernels of Mosaic's",
        "does more than call the kernel: .*stablehlo.add",
        "must return what the kernel returns",
        "has 2 kernels of Mosaic's",
    ):
        assert re.search(rf"^refused: the function {words}", printed, re.MULTILINE), printed


def test_where_mosaic_looks_is_said_before_jax_is_imported(
    job: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails(nj.mosaic_environment, "JAX is imported already")
    monkeypatch.setenv("MOSAIC_GPU_NVSHMEM_SO_PATH", "/another/libnvshmem_host.so.3")
    fails(_mosaic._check_environment, "mosaic_environment.* before JAX .*/another/")
    nj.start(staging=4096)
    with pytest.raises(nvshmem.NotSupportedError, match="the heap is host memory"):
        nj.kernel(lambda x: x, jax.ShapeDtypeStruct((8,), "float32"))
    nj.stop()


def test_small_collectives_of_gpus_need_no_staging(
    job: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call's report where the library takes XLA's buffers themselves, up to a part of 64 bytes."""
    nj.start(staging=1024)
    monkeypatch.setattr(_calls, "private_bytes", lambda team, kind: 64)
    jnp = jax.numpy
    calls = (nj.all_reduce, nj.reduce_scatter, nj.all_gather, nj.all_to_all, nj.broadcast)
    for function in calls:
        for count, private in ((0, False), (1, True), (16, True), (17, False)):
            said = str(jax.make_jaxpr(function)(jnp.zeros((count,)), nj.token()))
            assert ("private" in said) == private, said
    monkeypatch.setattr(_calls, "private_bytes", lambda team, kind: 1 << 20)
    assert "private" in str(jax.make_jaxpr(nj.all_gather)(jnp.zeros(1 << 16), nj.token()))
    monkeypatch.undo()
    fails(lambda: jax.make_jaxpr(nj.all_gather)(jnp.zeros(1 << 17), nj.token()), "staging area")
    nj.stop()


class Handlers:
    """A library whose handlers are of another version."""

    def nvshmemrs_jax_version(self, major: Any, minor: Any) -> None:
        major._obj.value, minor._obj.value = 7, 3


def test_another_version_of_xla_is_an_error_with_both(tmp_path: Path) -> None:
    header = tmp_path / "xla/ffi/api/c_api.h"
    header.parent.mkdir(parents=True)
    for theirs, fits in (("7 3", True), ("7 5", True), ("7 2", False), ("8 9", False)):
        major, minor = theirs.split()
        header.write_text(f"#define XLA_FFI_API_MAJOR {major}\n#define XLA_FFI_API_MINOR {minor}\n")
        if fits:
            _setup.check_version(tmp_path, Handlers())
            continue
        with pytest.raises(nvshmem.NotSupportedError, match=rf"version 7\.3 .* {major}\.{minor}:"):
            _setup.check_version(tmp_path, Handlers())
    header.unlink()
    with pytest.raises(nvshmem.NotSupportedError, match="does not say the version"):
        _setup.check_version(tmp_path, Handlers())


STRUCTURES = {
    "xla_extension XLA_FFI_Extension_Base": "struct_size type next",
    "xla_metadata XLA_FFI_Metadata": "struct_size version=api_version traits",
    "xla_metadata_extension XLA_FFI_Metadata_Extension": "base=extension_base metadata",
    "xla_buffer XLA_FFI_Buffer": "struct_size dtype data rank dims",
    "xla_span XLA_FFI_ByteSpan": "at=ptr length=len",
    "xla_scalar XLA_FFI_Scalar": "dtype value",
    "xla_buffers XLA_FFI_Args": "struct_size count=size types buffers=args",
    "xla_buffers XLA_FFI_Rets": "struct_size count=size types buffers=rets",
    "xla_attributes XLA_FFI_Attrs": "count=size types names values=attrs",
    "xla_call XLA_FFI_CallFrame": (
        "struct_size extensions=extension_start api context=ctx stage operands=args results=rets "
        "attributes=attrs"
    ),
    "xla_error_arguments XLA_FFI_Error_Create_Args": "struct_size message code=errc",
    "xla_stream_arguments XLA_FFI_Stream_Get_Args": "struct_size context=ctx stream",
    "xla_api XLA_FFI_Api": "version=api_version error=XLA_FFI_Error_Create stream=XLA_FFI_Stream_Get",
}
CONSTANTS = {
    "XLA_FFI_MAJOR": "XLA_FFI_API_MAJOR",
    "XLA_EXTENSION_METADATA": "XLA_FFI_Extension_Metadata",
    "XLA_BUFFER": "XLA_FFI_ArgType_BUFFER",
    "XLA_SCALAR": "XLA_FFI_AttrType_SCALAR",
    "XLA_S64": "XLA_FFI_DataType_S64",
    "XLA_EXECUTE": "XLA_FFI_ExecutionStage_EXECUTE",
    "XLA_INVALID_ARGUMENT": "XLA_FFI_Error_Code_INVALID_ARGUMENT",
    "XLA_FAILED_PRECONDITION": "XLA_FFI_Error_Code_FAILED_PRECONDITION",
    "XLA_INTERNAL": "XLA_FFI_Error_Code_INTERNAL",
}


def test_the_structures_are_those_of_jax(tmp_path: Path) -> None:
    ours = repository("bindings/jax/src/xla_ffi.h")
    lines = ["#include <cstddef>", "#include <cstdint>", '#include "xla/ffi/api/c_api.h"']
    lines += [f'#include "{ours}"', "#define SAME(...) static_assert(__VA_ARGS__, #__VA_ARGS__)"]
    header = Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h").read_text()
    for names, fields in STRUCTURES.items():
        mine, theirs = names.split()
        if theirs == "XLA_FFI_Extension_Base" and "XLA_FFI_InternalExtension" in header:
            theirs = "XLA_FFI_InternalExtension"  # its name from version 0.4 on
        for field in fields.split():
            here, _, there = field.partition("=")
            there = there or here
            lines.append(f"SAME(offsetof({mine}, {here}) == offsetof({theirs}, {there}));")
            lines.append(f"SAME(sizeof({mine}::{here}) <= sizeof({theirs}::{there}));")
    lines += [f"SAME(int({mine}) == int({theirs}));" for mine, theirs in CONSTANTS.items()]
    lines.append("SAME(int(XLA_FFI_MINOR) <= int(XLA_FFI_API_MINOR));")
    source = tmp_path / "same.cpp"
    source.write_text("\n".join(lines) + "\n")
    compiler = ["c++", "-std=c++17", "-fsyntax-only", f"-I{jax.ffi.include_dir()}", str(source)]
    done = subprocess.run(compiler, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
