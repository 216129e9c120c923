"""Kernels of CuTe, without a GPU: they are compiled, and launched nowhere."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import inspect
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Tuple

import pytest
from conftest import fails, finished, program, run, run_job
from kept import kept

import nvshmemrs.core as nvshmem

if importlib.util.find_spec("nvidia_cutlass_dsl") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

import nvshmemrs.core.device.cute as nv  # isort: skip; the next imports need it
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor, make_fake_tensor

from nvshmemrs.core.device.cute import _frontend

HERE = Path(__file__).parent
SCOPES = ("", "_warp", "_block")
# The functions of nvshmem4py 0.4.1 by module, with their parameters.
PUT, SIGNAL = "dst src pe", "dst src signal_var signal_val signal_op pe"
NVSHMEM4PY: Dict[str, str] = {
    **{f"{verb}{nbi}{s}": PUT for verb in ("put", "get") for nbi in ("", "_nbi") for s in SCOPES},
    **{f"put_signal{nbi}{s}": SIGNAL for nbi in ("", "_nbi") for s in SCOPES},
    "p": "dst value pe",
    "g": "src pe",
    "get_peer_tensor": "tensor pe",
    "get_multicast_tensor": "team tensor",
    "my_pe": "",
    "n_pes": "",
    "team_my_pe": "team",
    "team_n_pes": "team",
    "fence": "",
    "quiet": "",
    "signal_op": "signal_var signal_val signal_op pe",
    "signal_wait": "signal_var signal_op signal_val",
    "ask_smem": "flag",
    "give_smem": "smem",
    "release_smem": "",
    "SmemAmount": "",
    **{f"atomic_{name}": "x pe" for name in ("fetch", "fetch_inc", "inc")},
    **{f"atomic_{name}": "dst value pe" for name in ("set", "add", "and", "or", "xor", "swap")},
    **{f"atomic_fetch_{name}": "dst value pe" for name in ("add", "and", "or", "xor")},
    "atomic_compare_swap": "dst cond value pe",
    **{f"{name}{s}": "team" for name in ("sync", "barrier") for s in SCOPES},
    **{f"{name}_all{s}": "" for name in ("sync", "barrier") for s in SCOPES},
    **{f"reduce{s}": "team dst_array src_array op" for s in SCOPES},
    **{f"reducescatter{s}": "team dst_array src_array op" for s in SCOPES},
    **{f"fcollect{s}": "team dst_array src_array" for s in SCOPES},
    **{f"alltoall{s}": "team dst_array src_array" for s in SCOPES},
    **{f"broadcast{s}": "team dst_array src_array root" for s in SCOPES},
}
OURS = {"State", "TESTED", "aborted", "fake_state", "use"}


def test_names_are_those_of_nvshmem4py() -> None:
    assert len(NVSHMEM4PY) == 75 and set(nv.__all__) == set(NVSHMEM4PY) | OURS
    for name, parameters in NVSHMEM4PY.items():
        if name == "SmemAmount":
            continue
        found = [part.rstrip("_") for part in inspect.signature(getattr(nv, name)).parameters]
        assert [part for part in found if part != "slot"] == parameters.split(), (name, found)
        assert inspect.getdoc(getattr(nv, name)), name


def environment(first: "os._Environ[str] | Dict[str, str]", **more: str) -> Dict[str, str]:
    return {**first, "PYTHONWARNINGS": "ignore", **more}


def test_every_function_and_type_compiles() -> None:
    program = HERE / "cute/every.py"
    archs = ["sm_80", "sm_90a", "sm_100a"]

    def compiled() -> str:
        running = [
            subprocess.Popen(
                [sys.executable, str(program), str(part), "2", *archs],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(os.environ),
                text=True,
            )
            for part in range(2)
        ]
        said = [(*process.communicate(timeout=1500), process.returncode) for process in running]
        for _, errors, status in said:
            assert status == 0, errors
        return "".join(text for text, _, _ in said)

    lines = kept("cute-every", [program, HERE / "cute/dumps.py"], ["nvidia-cutlass-dsl"], compiled).splitlines()
    types = [line.split() for line in lines if line.startswith("sm_")]
    kinds = {line[1] for line in types}
    assert kinds == {kind.__name__ for kind in nv._arguments.TYPES} and len(types) == 14
    assert {line[0] for line in types} == set(archs)
    for line in types:
        counts = dict(part.split("=") for part in line[2:])
        assert all(int(count) > 0 for count in counts.values()), line
    for arch in archs:
        called = {word for line in lines if f"functions {arch} " in line for word in line.split()[2:]}
        assert called == set(NVSHMEM4PY) - {"get_multicast_tensor"} | {"aborted"}, arch


def compile_kernel(body: Callable[..., None], *arguments: Any, state: Any = None) -> Any:
    """Compiles a kernel that calls `body` with a state and the arguments."""

    @cute.kernel
    def kernel(state: nv.State, given: Any) -> None:
        body(state, *given)

    @cute.jit
    def launch(state: nv.State, given: Any) -> None:
        kernel(state, given).launch(grid=[1, 1, 1], block=[32, 1, 1])

    return cute.compile(launch, state or nv.fake_state(), list(arguments))


def tensor(kind: Any, size: int = 8) -> Any:
    return make_fake_compact_tensor(kind, (size,))


def wrong(words: str, body: Callable[..., None], *arguments: Any) -> None:
    def used(state: Any, *given: Any) -> None:
        nv.use(state)
        body(*given)

    with pytest.raises(Exception) as caught:
        compile_kernel(used, *arguments)
    assert words in str(caught.value), caught.value


I, F, U = cutlass.Int32, cutlass.Float32, cutlass.Uint64  # noqa: E741
ADD, GE = nvshmem.SignalOp.SIGNAL_ADD, nvshmem.ComparisonType.CMP_GE
CASES: List[Tuple[str, Callable[..., Any], Tuple[Any, ...]]] = [
    ("put: dst must be a cute.Tensor", lambda x: nv.put(1, x, 0), (I,)),
    ("elements of Int32 and src of Float32", lambda x, y: nv.put_block(x, y, 0), (I, F)),
    ("put: pe=-1", lambda x: nv.put(x, x, -1), (I,)),
    ("get_warp: pe must be an integer", lambda x: nv.get_warp(x, x, 1.5), (I,)),
    ("signal_var has elements of Int32", lambda x: nv.put_signal(x, x, x, 1, 9, 0), (I,)),
    ("signal_op is 3, and it must be a SignalOp", lambda x: nv.signal_op(x, 1, 3, 0), (U,)),
    ("signal_op is 9, and it must be a ComparisonType", lambda x: nv.signal_wait(x, 9, 1), (U,)),
    # Members of enums at wrong places, with the right call.
    (
        "signal_val is ComparisonType.CMP_GE, and it must be a number. Call signal_wait(signal_var, "
        "signal_op: ComparisonType, signal_val)",
        lambda x: nv.signal_wait(x, 1, GE),
        (U,),
    ),
    ("signal_op is SignalOp.SIGNAL_ADD", lambda x: nv.signal_wait(x, ADD, 1), (U,)),
    ("signal_val is SignalOp.SIGNAL_ADD", lambda x: nv.signal_op(x, ADD, 1, 0), (U,)),
    ("signal_op is ComparisonType.CMP_GE", lambda x: nv.put_signal(x, x, x, 1, GE, 0), (U,)),
    ("pe is SignalOp.SIGNAL_ADD", lambda x: nv.put_block(x, x, ADD), (I,)),
    ("value is ComparisonType.CMP_GE", lambda x: nv.atomic_add(x, GE, 0), (I,)),
    ("root is ComparisonType.CMP_GE", lambda x: nv.broadcast(0, x, x, GE), (I,)),
    ("atomic_inc: the tensor has elements of Float32", lambda x: nv.atomic_inc(x, 0), (F,)),
    ("atomic_and: the tensor has elements of Float32", lambda x: nv.atomic_and(x, 1, 0), (F,)),
    ("takes Int32, Int64", lambda x: nv.atomic_xor(x, 1, 0), (cutlass.Int8,)),
    ("value is a floating-point number", lambda x: nv.atomic_add(x, 1.5, 0), (I,)),
    ("elements of BFloat16", lambda x: nv.atomic_add(x, 1, 0), (cutlass.BFloat16,)),
    ("op='and': elements of Float32", lambda x: nv.reduce(0, x, x, "and"), (F,)),
    ("op='mean'", lambda x: nv.reducescatter_warp(0, x, x, "mean"), (I,)),
    ("team must be the number of a team", lambda: nv.sync("world"), ()),
    ("team=-1: that is no team", lambda: nv.barrier_block(-1), ()),
    ("slot=-1", lambda: nv.barrier_all_warp(slot=-1), ()),
    ("multicast memory is not used", lambda x: nv.get_multicast_tensor(0, x), (I,)),
]


@pytest.mark.parametrize("words, body, kinds", CASES, ids=[case[0] for case in CASES])
def test_wrong_arguments(words: str, body: Callable[..., Any], kinds: Tuple[Any, ...]) -> None:
    wrong(words, body, *map(tensor, kinds))


def test_sizes_and_layouts() -> None:
    small, large = tensor(I, 4), tensor(I, 8)
    wrong("dst has more elements than src", lambda x, y: nv.reduce(0, y, x, "sum"), small, large)
    wrong("src does not fit in dst", lambda x, y: nv.fcollect(0, x, y), small, large)
    wrong("src does not fit in dst", lambda x, y: nv.alltoall_block(0, x, y), small, large)
    every_second = make_fake_tensor(I, (4,), (2,))
    wrong("elements do not follow each other", lambda x: nv.put(x, x, 0), every_second)
    # A peer's copy has any layout.
    compile_kernel(lambda state, x: (nv.use(state), nv.get_peer_tensor(x, 0))[0], every_second)


def test_a_kernel_says_which_job_it_belongs_to() -> None:
    def expect(words: str, body: Callable[..., Any], *arguments: Any, **others: Any) -> None:
        with pytest.raises(Exception) as caught:
            compile_kernel(body, *arguments, **others)
        assert words in str(caught.value), caught.value

    compile_kernel(lambda state: nv.use(state))
    # Resources used by an earlier kernel do not count for this kernel.
    expect("call use(state) at its beginning", lambda state: nv.fence())
    expect("argument of type State", lambda state: nv.use(5))
    fails(nv.my_pe, "function of kernels")
    fails(lambda: nv.use(None), "function of kernels")


@cute.kernel
def inside(state: nv.State, number: cutlass.Int32) -> None:
    if number > 0:
        nv.use(state)


@cute.jit
def launch_inside(state: nv.State, number: cutlass.Int32) -> None:
    inside(state, number).launch(grid=[1, 1, 1], block=[1, 1, 1])


def test_use_comes_first() -> None:
    with pytest.raises(Exception, match="outside of `if` and loops"):
        cute.compile(launch_inside, nv.fake_state(), cutlass.Int32(1))


def test_host_memory_has_no_interpreter(job: None) -> None:
    import nvshmemrs.core.interop.cute as heap

    state = nvshmem.device.state()
    for call in (
        lambda: compile_kernel(nv.use, state=state),
        lambda: heap.tensor((4,)),
        lambda: heap.bytetensor((4,)),
        lambda: heap.free_tensor(None),
        lambda: heap.get_peer_tensor(None, 0),
        lambda: heap.register_external_tensor(None),
    ):
        with pytest.raises(nvshmem.NotSupportedError, match="no interpreter.*NUMBA_ENABLE_CUDASIM=1.*TRITON_INTERPRET=1"):
            call()
    nvshmem.finalize()
    fails(lambda: heap.tensor((4,)), error=nvshmem.NotInitializedError)
    fails(lambda: compile_kernel(nv.use, state=state), error=nvshmem.NotInitializedError)


@pytest.mark.parametrize("n", [1, 2])
def test_tensors_on_device_memory(n: int, fakes: Dict[str, str]) -> None:
    # Only the driver has a stand-in: CuTe needs the real package `cuda`.
    path = os.environ.get("PYTHONPATH", "")
    base = environment(fakes, PYTHONPATH=path, FAKE_CUDA_VERSION="13000")
    said = run_job(n, sys.executable, program("cute_tensors.py"), base=base, limit=300)
    assert said.count("ok\n") == n, said


def versions(monkeypatch: pytest.MonkeyPatch, found: str) -> None:
    def version(name: str) -> str:
        if not found:
            raise importlib.metadata.PackageNotFoundError(name)
        return found

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_versions_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _frontend.check_version()
    versions(monkeypatch, "9.9.9")
    with pytest.warns(nvshmem.NvshmemWarning, match="not tested with nvidia-cutlass-dsl 9.9.9") as told:
        _frontend.check_version()
    assert len(told) == 1 and all(one in str(told[0].message) for one in nv.TESTED)
    versions(monkeypatch, "4.5.2")
    fails(_frontend.check_version, r"4\.8 or later.*4\.5\.2 is installed", ImportError)
    versions(monkeypatch, "")
    fails(_frontend.check_version, "nvidia-cutlass-dsl, which is not installed", ImportError)


def test_programs_of_nvshmem4py_find_the_modules() -> None:
    code = (
        "import nvshmemrs.compat\n"
        "nvshmemrs.compat.install()\n"
        "import nvshmem.core.device.cute as nv, nvshmem.core.interop.cute as heap\n"
        "import nvshmemrs.core.device.cute as ours\n"
        "assert nv is ours and nv.rma.put is ours.put and callable(heap.tensor)\n"
        "print('ok')\n"
    )
    done = finished(sys.executable, "-c", code, apart=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done


def test_without_cute_the_import_says_what_is_missing() -> None:
    code = (
        "import sys\n"
        "sys.modules['cutlass'] = None\n"
        "import nvshmemrs.core\n"
        "for name in ('device.cute', 'interop.cute'):\n"
        "    try: __import__('nvshmemrs.core.' + name)\n"
        "    except ImportError as error: print(error)\n"
    )
    said = run(sys.executable, "-c", code)
    assert said.count("nvidia-cutlass-dsl") >= 2 and "pip install" in said


def test_what_cannot_be_lent_is_refused() -> None:
    def shared() -> Any:
        memory = cute.arch.get_dyn_smem(cutlass.Uint8, alignment=16)
        return cute.make_tensor(memory, cute.make_layout(8320))

    @cute.jit
    def by_some(x: Any) -> None:
        if cute.arch.thread_idx()[0] == 0:
            nv.give_smem(shared())

    @cute.jit
    def released_by_some(x: Any) -> None:
        nv.give_smem(shared())
        if cute.arch.thread_idx()[0] == 0:
            nv.release_smem()

    x = tensor(cutlass.Float32)
    wrong("give_smem: smem must be a cute.Tensor in shared", lambda x: nv.give_smem(None), x)
    wrong("it must be in shared memory", lambda x: nv.give_smem(x), x)
    wrong("give_smem: call it outside of `if` and loops", by_some, x)
    wrong("release_smem: call it outside of `if` and loops", released_by_some, x)
    wrong("ask_smem: flag is 3, and it must be a SmemAmount", lambda x: nv.ask_smem(3), x)
