"""What compilers of kernels have written, kept for the next run of the tests."""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.metadata import distributions
from pathlib import Path
from typing import Callable, Iterable

import nvshmemrs

FOLDER = Path(os.environ.get("NVSHMEMRS_BIN_DIR", Path(__file__).parents[3] / "target/release"))


def kept(name: str, files: Iterable[Path], packages: Iterable[str], make: Callable[[], str]) -> str:
    """The text that `make` returns. It is made again only if a file, the package nvshmemrs, or the
    version of a package whose name begins with one of `packages` has changed. An exception of `make`
    leaves nothing.
    """
    digest = hashlib.sha256(sys.version.encode())
    package = Path(nvshmemrs.__file__).parent
    for file in [*sorted(files), *sorted(package.rglob("*.py"))]:
        digest.update(str(file).encode() + b"\0" + file.read_bytes())
    installed = sorted(f"{one.metadata['Name'].lower()} {one.version}" for one in distributions())
    for prefix in packages:
        found = [one for one in installed if one.startswith(prefix)]
        assert found, f"no package {prefix}"
        digest.update("\n".join(found).encode())
    first = digest.hexdigest() + "\n"
    place = FOLDER / "nvshmemrs-tests" / f"{name}.kept"
    if place.exists() and (text := place.read_text()).startswith(first):
        return text[len(first) :]
    text = make()
    place.parent.mkdir(parents=True, exist_ok=True)
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_text(first + text)
    unfinished.replace(place)
    return text
