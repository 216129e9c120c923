"""Kernels of CUDA C++ that Python starts: the sources in ``examples/cuda/python`` compile."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
from pathlib import Path

import pytest

import nvshmemrs

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "cuda" / "python"
FILES = sorted(EXAMPLES.glob("*.py"))


def source(file: Path) -> bytes:
    """What the program gives to NVRTC."""
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "SOURCE":
            return str(ast.literal_eval(node.value)).encode()
    raise AssertionError(f"{file} has no SOURCE")


@pytest.fixture(scope="module")
def nvrtc() -> ctypes.CDLL:
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if spec is None or not FILES:
        pytest.skip("NVRTC or the examples are not here")
    (folder,) = spec.submodule_search_locations or ()
    return ctypes.CDLL(str(Path(folder) / "lib/libnvrtc.so.12"))


def compiled(nvrtc: ctypes.CDLL, code: bytes, arch: str) -> str:
    """The compiler's messages; nothing if all went well."""
    program = ctypes.c_void_p()
    made = ctypes.byref(program)
    assert nvrtc.nvrtcCreateProgram(made, code, b"kernel.cu", 0, None, None) == 0
    given = [f"-I{nvshmemrs.include_dir()}", "--std=c++17", f"--gpu-architecture={arch}"]
    options = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    status = nvrtc.nvrtcCompileProgram(program, len(given), options)
    size = ctypes.c_size_t()
    assert nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size)) == 0
    log = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetProgramLog(program, log) == 0
    nvrtc.nvrtcDestroyProgram(made)
    return log.value.decode() or (f"status {status}" if status else "")


@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_the_kernels_of_the_examples_compile(file: Path, nvrtc: ctypes.CDLL) -> None:
    code = source(file)
    for arch in ("sm_80", "sm_90", "sm_100"):
        assert compiled(nvrtc, code, arch) == ""
    assert "undefined" in compiled(nvrtc, code.replace(b"nvshmemrs_my_pe", b"nothing"), "sm_80") or (
        b"nvshmemrs_my_pe" not in code
    )
