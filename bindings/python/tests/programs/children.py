"""Children of PEs, of every kind, disturb nothing: not by their exit, not by an exception, not by
outliving their parent's job.
"""

import multiprocessing
import os
import subprocess
import sys
import time

import numpy as np

import nvshmemrs.core as nvshmem


def task(number: int) -> int:
    """Of a pool: a child that knows nothing of the job."""
    return number * number


def raises() -> None:
    raise ValueError("from a child")


def lingers() -> None:
    time.sleep(1.5)


def main() -> None:
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    total, one = nvshmem.array(1, "i8"), nvshmem.array(1, "i8")
    one[:] = 1

    def whole() -> None:
        """The job is: long enough after that a death would have been noticed."""
        time.sleep(0.3)
        nvshmem.reduce(0, total, one, "sum")
        assert total[0] == n
        nvshmem.barrier_all()

    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        with context.Pool(2) as pool:
            assert pool.map(task, range(8)) == [task(i) for i in range(8)]
        process = context.Process(target=raises)
        process.start()
        process.join()
        assert process.exitcode == 1, process.exitcode
        whole()

    done = subprocess.run([sys.executable, "-c", "print(6 * 7)"], stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"42\n"
    whole()

    for end in (lambda: os._exit(0), lambda: sys.exit(0), lambda: os.kill(os.getpid(), 9), os.abort):
        pid = os.fork()
        if pid == 0:
            end()
        os.waitpid(pid, 0)
    whole()

    # A child of a child; and one that is still there when the PE finalizes.
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0:
            os._exit(0)
        os.wait()
        os._exit(0)
    os.waitpid(pid, 0)
    process = multiprocessing.get_context("fork").Process(target=lingers)
    process.start()
    # While a collective waits, a thread may start children, too.
    stream = nvshmem.Stream()
    nvshmem.barrier_all(stream)
    subprocess.run(["true"], check=True)
    stream.synchronize()
    stream.close()
    nvshmem.put(total, np.array([me]), (me + 1) % n)
    whole()
    nvshmem.finalize()
    process.join()
    assert process.exitcode == 0
    print("ok\n", end="")  # one write, so that PEs do not mix


if __name__ == "__main__":
    main()
