"""Jobs of several processes."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Callable, List

import pytest
from conftest import program, ready, run_job, waits_in

import nvshmemrs.core as nvshmem

Jobs = Callable[..., List["subprocess.Popen[str]"]]


JOBS = {
    "amo.py": (1, 2, 3),
    "collectives.py": (1, 2, 3, 4, 8),
    "float8.py": (1, 2, 3, 4),
    "fork.py": (2,),
    "lifetimes.py": (2, 4),
    "nesting.py": (1, 3),
    "one_wrong.py": (2, 4),
    "registered.py": (1, 2, 3),
    "streams.py": (1, 2, 3),
    "teams.py": (1, 2, 3, 4, 8),
    "views.py": (1, 2, 3),
    "waits.py": (1, 2, 3),
}


@pytest.mark.parametrize(("name", "n"), [(name, n) for name in JOBS for n in JOBS[name]])
def test_program(launch: Callable[..., str], name: str, n: int) -> None:
    launch(n, name)


def test_the_program_of_the_readme(tmp_path: Path) -> None:
    readme = Path(__file__).parent.parent / "README.md"
    source = tmp_path / "program.py"
    source.write_text(readme.read_text().split("```python\n")[1].split("```")[0])
    said = run_job(4, sys.executable, str(source), PYTHONUNBUFFERED="")
    expected = sorted(f"PE {pe} of 4: [6. 6. 6. 6.]" for pe in range(4))
    assert sorted(said.splitlines()) == expected


def test_other_signal_handlers_run_during_a_wait(spawn: Jobs) -> None:
    pes = spawn(2, "wait.py", "barrier")
    ready(pes)
    waits_in("barrier", pes[0])
    for _ in range(3):
        pes[0].send_signal(signal.SIGUSR1)
        assert pes[0].stdout is not None
        assert pes[0].stdout.readline() == "SIGUSR1\n"
    pes[0].send_signal(signal.SIGINT)
    out, err = pes[0].communicate(timeout=30)
    assert out.startswith("KeyboardInterrupt: `barrier` of PE 0 was interrupted after ") and err == ""
    assert out.endswith("\nheard ['SIGUSR1', 'SIGUSR1', 'SIGUSR1']\n")


def test_ctrl_c_while_the_checker_asks_for_a_place_is_not_lost(
    launch: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVSHMEMRS_CHECK", "1")
    out = launch(1, "interrupted_place.py")
    assert "KeyboardInterrupt: " in out and "Exception ignored" not in out


@pytest.mark.parametrize("wait", ["barrier", "signal_wait", "malloc"])
def test_the_death_of_a_pe_ends_all_waits(spawn: Jobs, wait: str) -> None:
    pes = spawn(4, "wait.py", wait)
    ready(pes)
    for pe in pes[:3]:
        waits_in(wait, pe)
    pes[3].kill()
    for pe in pes[:3]:
        out, err = pe.communicate(timeout=30)
        assert out.startswith("PeDiedError: PE 3 (pid "), out + err
        assert err == ""


def test_a_pe_that_ends_without_finalize(spawn: Jobs) -> None:
    for pe in spawn(3, "ends_early.py"):
        out, err = pe.communicate(timeout=30)
        assert out == "ok\n" and pe.returncode == 0, out + err


def test_unique_id_without_a_launcher() -> None:
    uid = bytes(nvshmem.get_unique_id()).hex() + "\n"
    pes = [
        subprocess.Popen(
            [sys.executable, program("by_unique_id.py"), str(pe), "2"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for pe in range(2)
    ]
    for pe in pes:
        assert pe.stdin is not None
        pe.stdin.write(uid)
        pe.stdin.flush()
    for pe in pes:
        out, _ = pe.communicate(timeout=60)
        assert out == "ok\n" and pe.returncode == 0, out
