"""A tour of nvshmem.core: the cells of the NVSHMEM4Py tutorial notebook, in order.

    nvshmemrs-run -n 4 -- python examples/python/tutorial.py
    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 4 -- python examples/python/tutorial.py    # on GPUs

Any number of PEs will do, one too; two of the teams need four. Every cell prints what it shows and
checks it. On GPUs arrays are CuPy's, as in the notebook. On host memory the same functions give
NumPy arrays, and a stream is an ordered queue of this library; what only a GPU can do is listed at
the end.
"""

from __future__ import annotations

import argparse

import numpy as np

import nvshmemrs.core as nvshmem
from nvshmemrs.core import Teams


def say(*words: object) -> None:
    """One line per PE; one write, so that PEs do not mix."""
    print(f"[PE {nvshmem.my_pe()}] " + " ".join(str(word) for word in words) + "\n", end="")


def title(text: str) -> None:
    nvshmem.barrier_all()
    if nvshmem.my_pe() == 0:
        print(f"\n--- {text}", flush=True)
    nvshmem.barrier_all()


def check(fact: bool, what: str) -> None:
    if not fact:
        raise SystemExit(f"PE {nvshmem.my_pe()}: {what} is wrong")


def arrays_first() -> None:
    """Lets `stream` wait for what CuPy was told to do, which it does on its own stream; NumPy has
    done it.
    """
    if on_gpu:
        import cupy

        stream.wait(cupy.cuda.get_current_stream())


# --- Initializing ---------------------------------------------------------------------------------
# Every PE joins before it does anything else. A launcher (nvshmemrs-run, torchrun, mpirun, srun)
# says who takes part; with mpi4py, pass its communicator, as the notebook does. The heap is host
# memory, unless NVSHMEMRS_MEMORY says "device".

parser = argparse.ArgumentParser(description="The tutorial.")
parser.add_argument("--mpi", action="store_true", help="find the other PEs through mpi4py")
if parser.parse_args().mpi:
    from mpi4py import MPI

    nvshmem.init(device="host", mpi_comm=MPI.COMM_WORLD, initializer_method="mpi")
else:
    nvshmem.init(device="host")
probe = nvshmem.array(1)
on_gpu = not isinstance(probe, np.ndarray)
nvshmem.free_array(probe)

# --- Querying and status --------------------------------------------------------------------------

title("Querying and status")
if nvshmem.my_pe() == 0:
    print(nvshmem.get_version(), flush=True)
say(nvshmem.my_pe(), "of", nvshmem.n_pes())

my_pe = nvshmem.my_pe()
n_pes = nvshmem.n_pes()
check(0 <= my_pe < n_pes, "my_pe")
check(nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED, "init_status")

# --- Teams ----------------------------------------------------------------------------------------
# TEAM_WORLD has all PEs; TEAM_NODE those on this host, TEAM_SHARED those whose memory this PE can
# load and store, TEAM_SAME_MYPE_NODE those with this PE's number on their own hosts. A team is
# made by all members of the team that is split, and who is not in it gets None.

title("Teams")
team_strided = nvshmem.team_split_strided(
    nvshmem.Teams.TEAM_WORLD, start=0, stride=2, size=min(2, (n_pes + 1) // 2),
    config=nvshmem.TeamConfig(), config_mask=0, new_team_name="STRIDED_TEAM"
)  # fmt: skip
say(f"Created team with handle {team_strided} using team_split_strided")
check((team_strided is not None) == (my_pe in (0, 2)), "the strided team")
if team_strided is not None:
    check(nvshmem.team_my_pe("STRIDED_TEAM") == my_pe // 2, "the number in the strided team")

# Rows of two: the x-team is this PE's row, the y-team its column.
if n_pes >= 4:
    x_team, y_team = nvshmem.team_split_2d(
        Teams.WORLD, xrange=2,
        xaxis_config=nvshmem.TeamConfig(), xaxis_mask=0,
        yaxis_config=nvshmem.TeamConfig(), yaxis_mask=0,
        new_team_name="TWO_D_TEAM"
    )  # fmt: skip
    say(f"Created team_split_2d teams. X-team: {x_team}, Y-team: {y_team}")
    check(nvshmem.team_my_pe(x_team) == my_pe % 2, "the number in the row")
    check(nvshmem.team_translate_pe("TWO_D_TEAM_Y", my_pe // 2, "WORLD") == my_pe, "the column")

# Any PEs can make a team without the others: those that call with the same unique id. n_pes and
# my_pe are the size of the new team and the caller's number in it.
if n_pes >= 4 and my_pe in (2, 3):
    config_init = nvshmem.TeamConfig(version=2, num_contexts=1, uniqueid=1004)
    user_team = nvshmem.team_init(
        config_init, config_mask=0, n_pes=2, my_pe=my_pe - 2, new_team_name="USER_CREATED_TEAM"
    )
    say(f"Created team_init team. {user_team}")
    check(nvshmem.team_n_pes("USER_CREATED_TEAM") == 2, "the size of the team")
    check(nvshmem.team_translate_pe(user_team, 1, "WORLD") == 3, "the team's second PE")

# --- Memory ---------------------------------------------------------------------------------------
# What other PEs shall reach lies on the symmetric heap: every PE allocates, all together, and
# frees together. An allocation has the same offset in the heap of every PE.

title("Memory: a Buffer")
buf = nvshmem.buffer(4096)
say(hex(buf.handle), buf.size)
check(buf.size == 4096 and buf.handle != 0, "the Buffer")
nvshmem.free(buf)
check(buf.handle == 0, "the freed Buffer")

title("Memory: an array")
shape = (1, 2, 3, 4, 5)
dtype = "float32"
arr = nvshmem.array(shape, dtype=dtype)
say("new:", arr.ravel()[:4], "...")
arr[:] = nvshmem.my_pe() + 1
say("filled:", arr.ravel()[:4], "...")
check(arr.shape == shape and arr.sum() == 120 * (my_pe + 1), "the array")
nvshmem.free_array(arr)

# Memory that exists already is registered: it becomes symmetric where it is, with no copy. It has
# to be whole pages. On a GPU that is memory of cuda.core's VirtualMemoryResource, left out here.
if not on_gpu:
    title("Memory: registering what exists")
    left = (my_pe - 1) % n_pes
    private = nvshmem.aligned_empty((1024, 1024), dtype="float32")
    private[0, :4] = my_pe
    arr_reg = nvshmem.register_external_array(private)
    nvshmem.put(arr_reg[1], np.full(1024, my_pe, "float32"), (my_pe + 1) % n_pes)
    nvshmem.barrier_all()
    say("row 0 is mine:", private[0, :4], "row 1 came from the left:", private[1, :4])
    check((private[1] == left).all() and (private[0, :4] == my_pe).all(), "the registered array")
    nvshmem.barrier_all()
    nvshmem.unregister_external_array(private)
    check((private[1] == left).all(), "what stays after unregistering")

# --- Collectives ----------------------------------------------------------------------------------
# All members call, with the same count and dtype. reduce leaves the result on every one of them.
# With a stream the call returns at once, and the queue does the work.

title("Collectives: reduce")
stream = nvshmem.Stream()
size = 10
src_array = nvshmem.array((size,), dtype="float32")
dest_array = nvshmem.array((size,), dtype="float32")
src_array[:] = my_pe + 1
say("Array before reduction:", src_array, dest_array)
arrays_first()
nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, dest_array, src_array, "sum", stream=stream)
stream.synchronize()
say("Array after reduction:", src_array, dest_array)
check((dest_array == n_pes * (n_pes + 1) / 2).all(), "the sum")
nvshmem.free_array(src_array)
nvshmem.free_array(dest_array)

# --- Point-to-point -------------------------------------------------------------------------------
# put writes to another PE's memory without that PE's help. The barrier tells everybody that all
# puts have arrived.

title("Point-to-point: put")
src_array = nvshmem.array((size,), dtype=np.float32)
dest_array = nvshmem.array((size,), dtype=np.float32)
src_array[:] = my_pe
target_pe = (my_pe + 1) % n_pes
arrays_first()
nvshmem.put(dest_array, src_array, size, target_pe, stream=stream)
nvshmem.barrier(nvshmem.Teams.TEAM_WORLD, stream=stream)
stream.synchronize()
say(f"put {size} elements to PE {target_pe}, and got", dest_array)
check((dest_array == (my_pe - 1) % n_pes).all(), "what the left neighbour put")

# The same with views: four elements from the middle, backwards, to every second place.
nvshmem.barrier_all()
nvshmem.put(dest_array[1:9:2], src_array[6:2:-1] + 100, target_pe)
nvshmem.barrier_all()
say("views:", dest_array)
left = (my_pe - 1) % n_pes
check((dest_array[1:9:2] == left + 100).all() and (dest_array[::2] == left).all(), "the views")
nvshmem.free_array(src_array)
nvshmem.free_array(dest_array)

# A peer's array can be stored to directly: on a GPU by a kernel, on host memory by the CPU.
title("Point-to-point: a peer's array")
array = nvshmem.array((1,), dtype="int32")
dst_pe = (my_pe + 1) % nvshmem.n_pes()
dev_dst = nvshmem.core.get_peer_array(array, dst_pe)
dev_dst[0] = my_pe
arrays_first()
nvshmem.core.barrier(nvshmem.Teams.TEAM_NODE, stream=stream)
stream.synchronize()
say(f"From PE {my_pe}, array contains {array}")
check(array[0] == left, "what the left neighbour stored")
nvshmem.core.free_array(array)

# --- Signals --------------------------------------------------------------------------------------
# A signal is one uint64 on the heap. put_signal updates it behind the data, so who sees the
# signal sees the data. signal_op updates it without data.

title("Signals")
buf_src = nvshmem.core.array((4, 4), dtype="float32")
buf_src[:] = nvshmem.core.my_pe() + 1
buf_dst = nvshmem.core.array((4, 4), dtype="float32")
buf_dst[:] = 0
signal = nvshmem.core.array((1,), dtype="uint64")
signal[:] = 0
buf_sig, sz, type_name = nvshmem.core.array_get_buffer(signal)
check((sz, type_name) == (8, "uint64"), "the signal's buffer")
nvshmem.barrier_all()

receiver = 1 % n_pes  # with one PE, PE 0 sends to itself
if nvshmem.core.my_pe() == 0:
    nvshmem.core.put_signal(
        buf_dst, buf_src, buf_sig, 1, nvshmem.core.SignalOp.SIGNAL_SET,
        remote_pe=receiver, stream=stream,
    )  # fmt: skip
    say(f"sent buf to remote PE {receiver} and set signal")
if nvshmem.core.my_pe() == receiver:
    nvshmem.core.signal_wait(buf_sig, 1, nvshmem.core.ComparisonType.CMP_EQ, stream=stream)
    say("queued the wait for the signal")
stream.sync()
say(f"src={buf_src[0]}... dst={buf_dst[0]}... signal={signal}")
check((buf_dst == (1 if my_pe == receiver else 0)).all(), "what came with the signal")
check(signal[0] == (my_pe == receiver), "the signal")

# Signals that add up count arrivals.
nvshmem.barrier_all()
signal[:] = 0
nvshmem.barrier_all()
nvshmem.signal_op(buf_sig, 1, nvshmem.SignalOp.SIGNAL_ADD, remote_pe=target_pe)
nvshmem.signal_op(buf_sig, 1, nvshmem.SignalOp.SIGNAL_ADD, remote_pe=target_pe)
nvshmem.signal_wait(buf_sig, 1, nvshmem.ComparisonType.CMP_GT)
check(nvshmem.signal_fetch(buf_sig) == 2, "the sum of the signals")
nvshmem.barrier_all()
nvshmem.core.free_array(buf_src)
nvshmem.core.free_array(buf_dst)
nvshmem.core.free_array(signal)

# --- The end --------------------------------------------------------------------------------------

title("Done")
NEEDS_A_GPU = [
    "choosing a GPU for the PE (cuda.core Device)",
    "CuPy arrays and torch tensors",
    "a Numba kernel that stores to a peer's array",
    "registering memory of cuda.core's VirtualMemoryResource",
    "multicast views (get_mc_buffer)",
]
if my_pe == 0:
    print("every check passed", flush=True)
    if not on_gpu:
        print("needs a GPU: " + "; ".join(NEEDS_A_GPU), flush=True)
stream.close()
nvshmem.finalize()
