"""Where the library of the inspector is."""

import os


def library_path(name: str) -> str:
    """The file ``name``: beside the one that ``NVSHMEMRS_LIBRARY`` names, if that is set, else in
    this package.

    ImportError if there is none.
    """
    named = os.environ.get("NVSHMEMRS_LIBRARY")
    if named:
        folder = os.path.dirname(os.path.abspath(named))
    else:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        folder = os.path.join(package, "lib")
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        raise ImportError(
            f"the library of nvshmemrs.inspect is not at {path}: install the wheel, which has it, "
            "or build it with `cargo build --release -p nvshmemrs-inspect`",
            path=path,
        )
    return path
