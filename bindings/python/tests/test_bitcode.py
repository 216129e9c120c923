"""NVSHMEM's names for kernels as LLVM bitcode, without a GPU: what is in the file, and a kernel in Triton
that links it. `tests/gpu/run_gpu_tests.py` runs that kernel.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Set

import pytest
from conftest import program, run

import nvshmemrs
import nvshmemrs.core as nvshmem

# Reductions are there for a block only.
LEFT_OUT = re.compile(r".*_(and|or|xor|min|max|sum|prod)_(reduce|reducescatter)(_warp)?$")
# What CuTe cannot pass: numbers of 16 bits as C's structures, and shared memory.
NOT_IN_CUTE = re.compile(
    "nvshmemx?_((qp_)?(half|bfloat16)_[pg]|half_atomic_(fetch|set|swap|add|fetch_add)|give_smem)$"
)


@pytest.fixture(scope="module")
def bitcode() -> Path:
    try:
        return Path(nvshmem.find_device_bitcode_library())
    except nvshmem.NotSupportedError as error:
        if "was not built" in str(error) or shutil.which("llvm-nm") is None:
            pytest.skip(str(error))
        raise


def names(file: Path, *options: str) -> Set[str]:
    listed = run("llvm-nm", *options, str(file))
    return {line.split()[-1] for line in listed.splitlines() if line.strip()}


def functions(bitcode: Path) -> Set[str]:
    defined = names(bitcode, "--defined-only", "--extern-only")
    return {name for name in defined if re.match("nvshmemx?_", name)}


def test_the_file_has_the_names_of_the_header_and_needs_none(bitcode: Path) -> None:
    header = Path(nvshmemrs.include_dir()) / "nvshmemrs-compat/nvshmem_device.cuh"
    wanted = set(re.findall(r"^#define (nvshmemx?_\w+)\(", header.read_text(), re.MULTILINE))
    assert len(wanted) > 2700
    assert functions(bitcode) == {name for name in wanted if not LEFT_OUT.match(name)}
    assert "nvshmemi_device_state_d" in names(bitcode, "--defined-only")
    # printf of kernels; nothing else, and nothing of CUDA's own library.
    assert names(bitcode, "--undefined-only") == {"vprintf"}


def test_it_is_small_and_for_every_architecture(bitcode: Path) -> None:
    assert bitcode.stat().st_size <= 1_000_000
    text = run("llvm-dis", str(bitcode), "-o", "-")
    for words in ("target-cpu", "target-features", "nvvm-reflect", "__nvvm_reflect"):
        assert words not in text, words
    # As NVIDIA's bitcode passes and returns CUDA's structures.
    assert re.search(r"void @nvshmem_half_p\(.*byval\(%struct.__half\) align 2 %1, i32", text)
    assert re.search(r"define .*%struct.__nv_bfloat16 @nvshmem_bfloat16_g\(", text)
    # Of another header's version, modules would get a state that they do not understand.
    assert re.search(r"%struct.nvshmemrs_device_state_t = type \{ i32, i32, i32, i32, i64", text)
    assert re.search(r"@nvshmemi_device_state_d = .*addrspace\(4\) externally_initialized", text)


def test_tools_inline_the_parts_that_the_file_has_once(bitcode: Path) -> None:
    text = run("llvm-dis", str(bitcode), "-o", "-")
    groups = dict(re.findall(r"^attributes (#\d+) = \{(.*)\}$", text, re.MULTILINE))
    defined = dict(re.findall(r"^define .*@(\w+)\(.*\) .*?(#\d+)", text, re.MULTILINE))
    parts = [name for name in defined if re.search("6device4Call|10fold_packs", name)]
    for part in ("6ThreadEEC1", "4WarpEE4meet", "5BlockEE4meet", "10fold_packsINS0_5BlockEf"):
        assert any(part in name for name in parts), f"no {part} in {parts}"
    for name in parts:
        attributes = groups[defined[name]].split()
        assert "alwaysinline" in attributes and "noinline" not in attributes, name


def test_cute_links_it(bitcode: Path, tmp_path: Path) -> None:
    pytest.importorskip("nvidia_cutlass_dsl")
    script = Path(__file__).parent / "cute/names_build.py"
    printed = run(sys.executable, str(script), str(tmp_path), limit=300)
    assert "has no attribute 'bfloat16_fly'" in printed
    text = (tmp_path / "names.ptx").read_text()
    assert "nvshmemi_device_state_d" in text
    assert re.findall(r"^\.extern \.func.* (\w+)$", text, re.MULTILINE) == ["vprintf"]
    (line,) = re.findall(r"^functions: (.*)$", printed, re.MULTILINE)
    known = {name for name in functions(bitcode) if not NOT_IN_CUTE.match(name)}
    assert set(line.split()) == known


def test_triton_links_it_for_every_architecture(bitcode: Path, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    script = program("triton_bitcode.py")
    printed = run(sys.executable, script, "compile", str(tmp_path), limit=300, TRITON_INTERPRET="0")
    assert re.findall(r"^bitcode ok: (sm_\d+), \d+ bytes$", printed, re.MULTILINE) == [
        "sm_80",
        "sm_90",
        "sm_100",
    ], printed
    ptxas = shutil.which("ptxas") or found_ptxas()
    for arch in ("sm_80", "sm_90", "sm_100"):
        text = (tmp_path / f"{arch}.ptx").read_text()
        # Filled by `module_init`, so the driver must find it.
        assert ".visible .const .align 8 .b8 nvshmemi_device_state_d[64]" in text, arch
        # The parts of a collective are inlined.
        called = re.findall(r"^\s+call.*?(_ZNK?9nvshmemrs6device\w+)", text, re.MULTILINE)
        assert any("7barrierI" in name for name in called), f"{arch}: {called}"
        assert not any("4CallI" in name for name in called), f"{arch}: {called}"
        for words in (
            "st.relaxed.sys.global|st.release.sys.global",
            r"ld.acquire.sys",
            r"bar.sync\s+0",
        ):
            assert re.search(words, text), f"{arch}: no {words}"
        done = subprocess.run(
            [ptxas, f"-arch={arch}", str(tmp_path / f"{arch}.ptx"), "-o", "/dev/null"],
            capture_output=True,
            text=True,
        )
        # Triton's PTX may be newer than this assembler, which Triton's own has taken then.
        assert done.returncode == 0 or "Unsupported .version" in done.stderr, done.stderr


def found_ptxas() -> str:
    """The assembler of NVIDIA's package."""
    import nvidia.cuda_nvcc  # type: ignore[import-not-found, unused-ignore]

    return str(Path(next(iter(nvidia.cuda_nvcc.__path__))) / "bin/ptxas")


def test_another_form_of_the_library_is_not_there() -> None:
    with pytest.raises(nvshmem.NotSupportedError, match="there is no DeviceLibLanguage.LTOIR"):
        nvshmem.find_device_bitcode_library(language=nvshmem.DeviceLibLanguage.LTOIR)


def test_where_it_was_looked_for_is_told(tmp_path: Path) -> None:
    library = Path(nvshmem.find_device_bitcode_library()).parent.parent
    (tmp_path / "libnvshmemrs.so").symlink_to(next(library.rglob("libnvshmemrs.so*")).resolve())
    shutil.copy(tmp_path / "libnvshmemrs.so", tmp_path / "libnvshmemrs.so.0")
    code = "import nvshmemrs.core as n; n.find_device_bitcode_library()"
    printed = run(
        sys.executable,
        "-c",
        code,
        expected=1,
        NVSHMEMRS_LIBRARY=str(tmp_path / "libnvshmemrs.so.0"),
    )
    assert "NotSupportedError" in printed and f"{tmp_path}/nvshmemrs-images" in printed, printed
