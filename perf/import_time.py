"""How long the import of a module for kernels takes over that of its language: no GPU is needed.

    python perf/import_time.py [cute] [numba] [triton]

Each figure is the least of 5 processes, in seconds of the processor, which other programs on the machine
change less than those of a clock. `over its own` includes nvshmemrs.core.
"""

import subprocess
import sys

LANGUAGES = {
    "cute": "import nvidia_cutlass_dsl, sys, os\n"
    "sys.path.append(os.path.join(list(nvidia_cutlass_dsl.__path__)[0], 'dsl_packages'))\n"
    "import cutlass, cutlass.cute",
    "numba": "import numpy\nnumpy.row_stack = getattr(numpy, 'row_stack', numpy.vstack)\nfrom numba import cuda",
    "triton": "import triton, triton.language",
}

PROGRAM = """
import time
start = time.process_time()
{own}
middle = time.process_time()
import nvshmemrs.core.device.{name}
print(middle - start, time.process_time() - middle)
"""


def main() -> None:
    print(f"{'module':<10}{'its own, s':>14}{'over its own, s':>18}")
    for name in sys.argv[1:] or LANGUAGES:
        code = PROGRAM.format(own=LANGUAGES[name], name=name)
        times = []
        for _ in range(5):
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            if done.returncode:
                print(f"{name:<10}  not measured: {done.stderr.strip().splitlines()[-1]}")
                break
            times.append([float(word) for word in done.stdout.split()[-2:]])
        else:
            own, over = (min(column) for column in zip(*times))
            print(f"{name:<10}{own:>14.3f}{over:>18.3f}")


if __name__ == "__main__":
    main()
