"""Options for ``cute.compile`` that keep a kernel's PTX or cubin. CuTe writes these to files, too: they
go to a folder that lasts as long as this process.
"""

import tempfile

_FOLDER = tempfile.TemporaryDirectory()


def keeping(arch: str, *kinds: str) -> str:
    """The options for an architecture; `kinds` are "ptx" and "cubin"."""
    kept = [f"--keep-{kind}" for kind in kinds]
    return " ".join([f"--gpu-arch {arch}", *kept, f"--dump-dir={_FOLDER.name}"])
