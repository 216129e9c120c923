"""How long the import of a module for kernels takes over that of its language: no GPU is needed.

    python perf/import_time.py [cute] [numba] [triton]

Each figure is the least of 5 processes, in seconds of the processor, which other programs on the machine
change less than those of a clock. `over its own` includes nvshmemrs.core.
"""

from __future__ import annotations

import os
import subprocess
import sys

LANGUAGES = {
    "cute": "import nvidia_cutlass_dsl, sys, os\n"
    "sys.path.append(os.path.join(list(nvidia_cutlass_dsl.__path__)[0], 'dsl_packages'))\n"
    "import cutlass, cutlass.cute",
    "numba": "import numpy\nnumpy.row_stack = getattr(numpy, 'row_stack', numpy.vstack)\nfrom numba import cuda",
    "triton": "import triton, triton.language",
}
MOST = 0.2
"""The time that the import of a module may take beyond its language's import, in s."""

PROGRAM = """
import time
start = time.process_time()
{own}
middle = time.process_time()
import nvshmemrs.core.device.{name}
print(middle - start, time.process_time() - middle)
"""


def seconds(name: str, python: str, env: dict[str, str]) -> tuple[float, float] | str:
    """The language's own import, and the module's over it; or why there are none."""
    code = PROGRAM.format(own=LANGUAGES[name], name=name)
    times = []
    for _ in range(5):
        done = subprocess.run([python, "-c", code], env=env, capture_output=True, text=True)
        if done.returncode:
            return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        own, over = (float(word) for word in done.stdout.split()[-2:])
        times.append((own, over))
    return min(own for own, _ in times), min(over for _, over in times)


def main() -> None:
    print(f"{'module':<10}{'its own, s':>14}{'over its own, s':>18}    wanted")
    for name in sys.argv[1:] or LANGUAGES:
        found = seconds(name, sys.executable, dict(os.environ))
        if isinstance(found, str):
            print(f"{name:<10}  not measured: {found}")
        else:
            own, over = found
            print(f"{name:<10}{own:>14.3f}{over:>18.3f}    at most {MOST:g}: {'met' if over <= MOST else 'MISSED'}")


if __name__ == "__main__":
    main()
