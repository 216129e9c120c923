"""What is not freed, finalizers at different times on different PEs, and rounds without growth."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, Callable, Dict, List, Tuple

import pytest
from conftest import finished, program

import nvshmemrs.core as nvshmem

# How long a program may take before it counts as hung; machines are slow and shared.
HANG = 120


def run(n: int, name: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a program with nvshmemrs-run; every PE must end well and print `ok`."""
    command = ["nvshmemrs-run", "-n", str(n), "--", sys.executable, program(name), *arguments]
    done = finished(*command, apart=True, limit=HANG, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok\n") == n, done.stdout + done.stderr
    return done


def lines_of(name: str) -> Dict[str, int]:
    """The numbers of the lines with a comment `# line: WORD`, by the word."""
    with open(program(name), encoding="utf-8") as file:
        found = {}
        for number, line in enumerate(file, 1):
            mark = re.search(r"# line: (\w+)", line)
            if mark:
                found[mark.group(1)] = number
        return found


def blocks(text: str) -> List[Tuple[str, List[str]]]:
    """The blocks that finalize wrote: who, and the lines."""
    found: List[Tuple[str, List[str]]] = []
    for line in text.splitlines():
        start = re.match(r"nvshmemrs track: (PEs? [0-9, andto]+): (.*)", line)
        if start:
            found.append((start.group(1), [start.group(2)]))
        else:
            found[-1][1].append(" ".join(line.split()))
    return found


def test_finalize_lists_what_is_not_freed() -> None:
    done = run(3, "unfreed.py", NVSHMEMRS_TRACK="1")
    at = {word: f"unfreed.py:{line}" for word, line in lines_of("unfreed.py").items()}
    first, second = blocks(done.stderr)
    assert first[0] == "PEs 0 and 2", done.stderr
    title, *rest = first[1]
    assert title == (
        "not freed at finalize: 3 allocations, 1 team, 1 stream, 1 event; 5320 bytes"
    )
    expected = [
        ("5000 bytes 1 allocation, offset ", at["buffer"]),
        ("320 bytes 2 allocations, offsets ", at["array"] + " (allocate)"),
        ("1 team, number 6 ", at["team"]),
        ("1 stream ", at["stream"]),
        ("1 event ", at["event"]),
        ("1 kept heap, no leak: it outlives finalize ", "init at "),
        ("56 bytes 1 allocation, no leak: released by a finalizer here", "not collected yet"),
    ]
    assert len(rest) == len(expected), done.stderr
    assert "  array at " in done.stderr and "calloc" not in done.stderr
    for line, (start, part) in zip(rest, expected):
        assert line.startswith(start) and part in line, line
    # PE 1 has one more event, and repeats nothing else.
    assert second[0] == "PE 1" and "2 events" in second[1][0], done.stderr
    assert "lines as on PE 0" in second[1][0]
    assert [line for line in second[1][1:] if at["more"] in line], done.stderr
    assert len(second[1]) == 2, done.stderr
    # The function says the same.
    assert done.stdout.count(title) == 2, done.stdout


def test_what_is_freed_or_collected_is_not_listed() -> None:
    done = run(2, "unfreed.py", "freed", NVSHMEMRS_TRACK="1")
    # The variable `freed` still names an array, so its memory stays mapped: that is no leak.
    [(who, [title, kept, released])] = blocks(done.stderr)
    assert who == "PEs 0 and 1", done.stderr
    assert title == "everything is freed", done.stderr
    assert kept.startswith("1 kept heap, no leak"), done.stderr
    assert released.startswith("5376 bytes 4 allocations, no leak"), done.stderr


def test_without_the_setting_there_is_no_list(job: None) -> None:
    with pytest.raises(nvshmem.NotSupportedError, match="NVSHMEMRS_TRACK must be 1"):
        nvshmem.unfreed()


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("one_pe_collects", 2),
        ("one_pe_collects", 3),
        ("random_times", 3),
        ("in_threads", 2),
        ("in_an_exception", 2),
        ("streams", 3),
        ("in_the_hook_of_a_wait", 2),
        ("in_the_next_allocation", 2),
        ("in_the_next_allocation", 4),
        ("after_finalize", 2),
        ("at_exit", 1),
        ("at_exit", 2),
    ],
)
def test_finalizers_never_wait(name: str, n: int) -> None:
    done = run(n, "finalizers.py", name, NVSHMEMRS_TIMEOUT=str(HANG // 2))
    if name == "at_exit":
        # The launcher's one line, because no PE of that program calls finalize.
        assert done.stderr.count("\n") == 1 and "did not call finalize" in done.stderr
    else:
        assert done.stderr == "", done.stderr


def test_a_pe_that_ends_alone_waits_for_nobody(spawn: Callable[..., Any]) -> None:
    for pe in spawn(3, "finalizers.py", "at_exit_of_one"):
        out, err = pe.communicate(timeout=HANG)
        assert (out, err, pe.returncode) == ("ok\n", "", 0)


def test_nothing_grows_in_many_rounds() -> None:
    # Threads that come and go would else spread over arenas by and by.
    done = run(1, "rounds.py", MALLOC_ARENA_MAX="1")
    assert done.stderr == "", done.stderr
    print(done.stdout)
