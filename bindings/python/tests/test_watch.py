"""The checker sees what NumPy does with arrays; without it arrays are NumPy's own."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Callable

import pytest

Launch = Callable[..., str]


def test_every_use_announces_what_it_touches(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVSHMEMRS_CHECK", "1")
    assert "check: PE" not in launch(1, "watched.py")


def test_early_uses_are_found_with_every_seed(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVSHMEMRS_CHECK", "1")
    out = launch(2, "seeds.py")
    for seed in range(20):
        block = r"(?:  .*\n)*?  \(finding \d+ of PE \d; seed %d\)" % seed
        put = r"  PE \d \w+ \d+ bytes: put at \S*seeds\.py:\d+ \(early_read\)\n"
        load = r"  PE \d \w+ \d+ bytes: load at \S*seeds\.py:\d+ \(early_read\)\n"
        assert re.search(f"(?:{put}{load}|{load}{put}){block}", out), seed
        load = r"  PE \d reads 64 bytes: load at \S*seeds\.py:\d+ \(early_use\)\n"
        get = r"  PE \d lends 64 bytes: get_nbi at \S*seeds\.py:\d+ \(early_use\)\n"
        assert re.search(f"{load}{get}{block}", out), seed


def test_without_the_checker_nothing_is_watched() -> None:
    program = (
        "import sys, numpy as np; made = np.zeros\n"
        "import nvshmemrs.core as nvshmem\n"
        "nvshmem.init()\n"
        "array = nvshmem.array(3)\n"
        "assert type(array) is nvshmem.interop.numpy.SymmetricArray\n"
        "assert type(array + 1) is type(np.zeros(3)) is np.ndarray and np.zeros is made\n"
        "assert '__array_ufunc__' not in vars(type(array))\n"
        "assert 'nvshmemrs.core._watch' not in sys.modules\n"
        "nvshmem.finalize()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
