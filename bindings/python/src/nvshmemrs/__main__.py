"""``python -m nvshmemrs``: starts programs of NVSHMEM4Py, and says how to compile against us."""

from __future__ import annotations

import importlib.machinery
import os
import shlex
import sys
from typing import List, Optional

from . import compat

USAGE = """\
usage: python -m nvshmemrs SCRIPT [ARGUMENTS]     run a program in which `import nvshmem.core` gives
       python -m nvshmemrs -m MODULE [ARGUMENTS]  nvshmemrs.core; it is started by `python` with the
       python -m nvshmemrs -c CODE [ARGUMENTS]    same arguments
       python -m nvshmemrs [--cflags] [--libs]    print the flags that compile and link a C program
       python -m nvshmemrs --pkgconfigdir         print the folder of nvshmemrs.pc
       python -m nvshmemrs --cmakedir             print the folder for CMake: nvshmemrs_DIR
       python -m nvshmemrs --prefix               print the folder of include and lib
       python -m nvshmemrs --version              print the version
"""
# They are printed as they are: `"$(python -m nvshmemrs --prefix)"` may have spaces.
FOLDERS = ("--pkgconfigdir", "--cmakedir", "--prefix")
HERE = os.path.dirname(os.path.abspath(__file__))


def main(arguments: List[str]) -> int:
    """Runs the tool with `arguments`; returns the exit status."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="", file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    if not arguments[0].startswith("--"):
        return run(arguments)
    if len(arguments) == 1 and arguments[0] in FOLDERS:
        print(*told(arguments[0]) or ())
        return 0
    words: List[str] = []
    for argument in arguments:
        said = told(argument)
        if said is None:
            return refuse(f"there is no option {argument}; --help shows the options")
        words += said
    print(" ".join(shlex.quote(word) for word in words))
    return 0


def told(option: str) -> Optional[List[str]]:
    """The command that an option runs; None if the option is unknown."""
    library = os.path.join(HERE, "lib")
    if option == "--cflags":
        return [f"-I{os.path.join(HERE, 'include')}"]
    if option == "--libs":
        return [f"-L{library}", "-lnvshmemrs", f"-Wl,-rpath,{library}"]
    if option == "--pkgconfigdir":
        return [os.path.join(library, "pkgconfig")]
    if option == "--cmakedir":
        return [os.path.join(library, "cmake", "nvshmemrs")]
    if option == "--prefix":
        return [HERE]
    if option == "--version":
        from . import __version__

        return [__version__]
    return None


def run(arguments: List[str]) -> int:
    """Becomes ``python ARGUMENTS`` with our `nvshmem` in PYTHONPATH: the process stays the same
    one, and all else is as Python does it. Returns only if that cannot be.
    """
    if sys.flags.ignore_environment:
        return refuse("nvshmem is found through PYTHONPATH, which python -E and -I ignore")
    other = first_nvshmem(arguments)
    if other is not None:
        return refuse(
            f"{other} is another nvshmem, and Python looks there first: move the program, or start "
            "it in another folder"
        )
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if paths[0] != compat.FOLDER:
        os.environ["PYTHONPATH"] = os.pathsep.join([compat.FOLDER, *filter(None, paths)])
    os.execv(sys.executable, [sys.executable, *options(len(arguments)), *arguments])


def options(count: int) -> List[str]:
    """The options between ``python`` and ``-m nvshmemrs``; `count` arguments follow."""
    with open("/proc/self/cmdline", "rb") as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")[1:-1]]
    before = words[: len(words) - count]
    if before[-1] == "nvshmemrs":  # -m nvshmemrs
        before = [*before[:-2], before[-2][:-1]]
    else:  # -mnvshmemrs, or a path
        before[-1] = before[-1][: -len("mnvshmemrs")] if before[-1].endswith("mnvshmemrs") else ""
    return before if before[-1] not in ("", "-") else before[:-1]


def first_nvshmem(arguments: List[str]) -> Optional[str]:
    """Another package `nvshmem` in the folder that comes first in the program's `sys.path`."""
    if getattr(sys.flags, "safe_path", False):
        return None
    first = arguments[0]
    if first.startswith("-"):
        folder = os.getcwd()
    else:
        folder = first if os.path.isdir(first) else os.path.dirname(os.path.realpath(first))
    found = importlib.machinery.PathFinder.find_spec("nvshmem", [folder])
    origin = None if found is None else found.origin  # None of a folder without __init__.py
    return None if origin is None or origin.startswith(compat.FOLDER + os.sep) else origin


def refuse(reason: str) -> int:
    """Says why not."""
    print(f"python -m nvshmemrs: {reason}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
