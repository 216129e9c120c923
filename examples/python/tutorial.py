# ruff: noqa: E402
# %% [markdown]
"""
# nvshmem.core: a tutorial

A **PE** (processing element) is one of the processes that run a program together. With this
library a PE reads and writes the memory of other PEs: it names a PE and an array, and the data
arrives there. The other PE makes no call for it. In MPI's send and receive both sides must call.

The cells follow the tutorial notebook of NVSHMEM4Py and use its names. They need no GPU: arrays are
NumPy's. With `NVSHMEMRS_MEMORY=device` the same cells use the memory of GPUs and CuPy's arrays.
Every cell checks its own result with `assert`.

## Ways to run it

- **In Jupyter, with four PEs**: `pip install ipyparallel matplotlib`, open
  `examples/notebooks/tutorial.ipynb`, and run all cells.
- **In Jupyter, as the only PE**: set `ENGINES = 0` in the first cell of code, or do without
  ipyparallel. Cells that need more PEs say so.
- **With a cluster that runs**: `ipcluster start -n 4 --profile=mpi --engines=mpi` starts engines
  through MPI, with mpi4py. Then set `PROFILE = "mpi"` and `JOIN = "mpi"`.
- **As a program**: `nvshmemrs-run -n 4 -- python examples/python/tutorial.py`. With `--mpi` the PEs
  find each other through mpi4py. With `--pictures DIR` PE 0 draws the pictures into that folder.

`examples/python/tutorial.py` is the source. `examples/notebooks/make.py` writes the notebook from
it, with the output of four PEs.
"""

# %% [markdown]
"""
## Starting the PEs

`ipyparallel` starts processes that execute cells for a notebook. It calls them engines, and here
each engine is a PE. The next cell starts them, or connects to those of `PROFILE`. From then on
every cell runs on all engines at once, as if it began with `%%px`. A cell whose first line is
`# here` runs in the notebook's own process.

PEs that no launcher has started need a **unique id**, which names the job and holds its secret.
One process makes it and hands it to the others, with a number for each of them.
"""

# %%
# here
import importlib.util
import sys
from typing import Any

import nvshmemrs.core as nvshmem

ENGINES = 4  # how many PEs; 0: this process is the only one
PROFILE = ""  # the ipyparallel profile of a cluster that runs already
JOIN = "id"  # "mpi": the engines find each other through mpi4py


def on_all_engines(lines: list[str]) -> list[str]:
    """What a cell becomes before it runs."""
    return lines if lines[0].startswith("# here") else ["%%px --block --no-stream\n", *lines]


join: dict[str, Any] = {}  # what init needs to know
client: Any = None  # of ipyparallel
in_notebook = "ipykernel" in sys.modules
if in_notebook and ENGINES and not importlib.util.find_spec("ipyparallel"):
    print("ipyparallel is not installed: this process is the only PE.")
elif in_notebook and ENGINES:
    import ipyparallel
    from IPython import get_ipython

    if not PROFILE:
        cluster = ipyparallel.Cluster(n=ENGINES, log_level=30)
        cluster.start_cluster_sync()
        client = cluster.connect_client_sync()
    else:
        client = ipyparallel.Client(profile=PROFILE)
    client.wait_for_engines(ENGINES, timeout=120, interactive=False)
    unique_id = nvshmem.get_unique_id()
    for pe, engine in enumerate(client.ids):
        by_id = {"uid": unique_id, "rank": pe, "nranks": len(client)}
        client[engine]["join"] = {"initializer_method": "mpi"} if JOIN == "mpi" else by_id
    client[:].activate()
    get_ipython().input_transformers_cleanup.append(on_all_engines)
    print(f"{len(client)} engines run the cells.")

# %% [markdown]
"""
## Initializing

`init` makes the calling process a PE. All PEs call it, and it returns when each can reach the
others. It takes a unique id or an MPI communicator. Without either it asks the launcher's
environment, and a process without a launcher becomes the only PE.

NVSHMEM4Py wants a GPU here. This library puts the heap where `device` says, and
`NVSHMEMRS_MEMORY=device` overrides `"host"`. On GPUs each PE then takes the next one.
"""

# %%
import argparse
import io
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

import nvshmemrs.core as nvshmem

in_notebook = "ipykernel" in sys.modules
parser = argparse.ArgumentParser(description="The tutorial of nvshmem.core.")
parser.add_argument("--mpi", action="store_true", help="find the other PEs through mpi4py")
parser.add_argument("--pictures", metavar="DIR", help="the folder into which PE 0 draws pictures")
options = parser.parse_args([] if in_notebook else None)

if options.mpi or join.get("initializer_method") == "mpi":
    from mpi4py import MPI

    join = {"initializer_method": "mpi", "mpi_comm": MPI.COMM_WORLD}
nvshmem.init(device="host", **join)
my_pe, n_pes = nvshmem.my_pe(), nvshmem.n_pes()

with nvshmem.array(1) as probe:
    on_gpu = not isinstance(probe, np.ndarray)
assert nvshmem.init_status() == nvshmem.InitStatus.STATUS_IS_INITIALIZED

# %% [markdown]
"""
The other cells need a few functions. `say` prints one whole line, so that the lines of several PEs
do not mix. `gathered` collects a row of numbers from every PE by puts, which a later section
explains. `show` shows a picture.
"""

# %%
left_out: list[str] = []  # what this run cannot do


def say(*words: object) -> None:
    """Prints a line that begins with this PE's number."""
    print(f"[PE {my_pe}] " + " ".join(map(str, words)) + "\n", end="", flush=True)


def skip(what: str, reason: str) -> None:
    """Says what is left out, and remembers it."""
    left_out.append(what)
    say(f"{what} is left out: {reason}.")


def gathered(*numbers: int) -> Any:
    """The numbers of all PEs, one row for each. Collective over all PEs."""
    table = nvshmem.array((n_pes, len(numbers)), dtype="int64")
    for pe in range(n_pes):
        nvshmem.put(table[my_pe], np.array(numbers, dtype="int64"), pe)
    nvshmem.barrier_all()
    rows = np.empty(table.shape, dtype="int64")
    nvshmem.get(rows, table, my_pe)
    nvshmem.free_array(table)
    return rows


def drawing(width: float, height: float) -> Any:
    """An empty picture on PE 0, and its axes; None where nothing can be drawn."""
    if my_pe != 0 or not (in_notebook or options.pictures):
        return None
    if not find_spec("matplotlib"):
        print("The picture is left out: matplotlib is not installed.")
        return None
    from matplotlib.figure import Figure

    axes = Figure(figsize=(width, height)).add_subplot()
    axes.set_axis_off()
    return axes


def show(axes: Any, name: str) -> None:
    """Shows a picture, or writes it into the folder of --pictures."""
    file = io.BytesIO() if in_notebook else f"{options.pictures}/{name}.png"
    axes.figure.savefig(file, dpi=72, bbox_inches="tight")
    if isinstance(file, io.BytesIO):
        from IPython.display import Image, display

        display(Image(file.getvalue(), alt=f"a picture of the {name}"))


def arrays_first() -> None:
    """Lets `stream` wait for CuPy, which works on a stream of its own; NumPy does not."""
    if on_gpu:
        import cupy

        stream.wait(cupy.cuda.get_current_stream())


stream = nvshmem.Stream()
assert (gathered(my_pe, n_pes) == [[pe, n_pes] for pe in range(n_pes)]).all()

# %% [markdown]
"""
## Querying and status

`get_version` gives the versions of the OpenSHMEM specification, of the Python package and of the
library. `my_pe` is the number of the calling PE, and `n_pes` the number of PEs.
"""

# %%
if my_pe == 0:
    print(nvshmem.get_version(), flush=True)
say(nvshmem.my_pe(), "of", nvshmem.n_pes())
assert 0 <= nvshmem.my_pe() < nvshmem.n_pes()
assert nvshmem.get_version().openshmem_spec_version == "1.5"

# %% [markdown]
"""
## Teams

A **team** is an ordered set of PEs. Collective operations run over a team, and each member has a
number in it. Some teams are always there:

- `TEAM_WORLD` has all PEs.
- `TEAM_NODE` has the PEs on this host.
- `TEAM_SHARED` has the PEs whose memory this PE can load and store.
- `TEAM_SAME_MYPE_NODE` has the PEs with this PE's number on their hosts.

New teams come from splitting a team, which all of its members do together. A PE that is not in the
new team gets None. `team_split_strided` takes every `stride`-th PE from `start` on.
"""

# %%
team_strided = nvshmem.team_split_strided(
    nvshmem.Teams.TEAM_WORLD, start=0, stride=2, size=min(2, (n_pes + 1) // 2),
    config=nvshmem.TeamConfig(), config_mask=0, new_team_name="STRIDED_TEAM"
)  # fmt: skip
say("the handle of the strided team:", team_strided)
assert (team_strided is not None) == (my_pe in (0, 2))
assert team_strided is None or nvshmem.team_my_pe("STRIDED_TEAM") == my_pe // 2

# %% [markdown]
"""
`team_split_2d` lays the PEs out in rows of `xrange`. Each PE gets two teams: its row (x) and its
column (y). A member's number can be translated between teams.
"""

# %%
row = column = 0
if n_pes >= 4:
    x_team, y_team = nvshmem.team_split_2d(
        nvshmem.Teams.WORLD, xrange=2,
        xaxis_config=nvshmem.TeamConfig(), xaxis_mask=0,
        yaxis_config=nvshmem.TeamConfig(), yaxis_mask=0,
        new_team_name="TWO_D_TEAM"
    )  # fmt: skip
    row, column = nvshmem.team_my_pe(y_team), nvshmem.team_my_pe(x_team)
    say(f"row {row}, column {column}")
    assert (row, column) == (my_pe // 2, my_pe % 2)
    assert nvshmem.team_translate_pe("TWO_D_TEAM_Y", row, "WORLD") == my_pe
else:
    skip("team_split_2d", f"it is shown with 4 PEs, and this job has {n_pes}")

# %% [markdown]
"""
`team_init` makes a team of any PEs. Only they call it, with the same unique id in the
configuration. `n_pes` is the size of the new team, and `my_pe` the caller's number in it.
"""

# %%
user_team = None
if n_pes >= 4 and my_pe in (2, 3):
    config = nvshmem.TeamConfig(version=2, num_contexts=1, uniqueid=1004)
    user_team = nvshmem.team_init(
        config, config_mask=0, n_pes=2, my_pe=my_pe - 2, new_team_name="USER_CREATED_TEAM"
    )
    say("the handle of the team of PEs 2 and 3:", user_team)
    assert nvshmem.team_n_pes("USER_CREATED_TEAM") == 2
    assert nvshmem.team_translate_pe(user_team, 1, "WORLD") == 3
elif n_pes < 4:
    skip("team_init", f"it is shown with 4 PEs, and this job has {n_pes}")

# %% [markdown]
"""
The picture shows which PEs belong together. A band is a row, a blue ring marks the members of the
strided team, and an orange square those of the team of PEs 2 and 3.
"""

# %%
members = gathered(row, column, team_strided is not None, user_team is not None)
assert members[:, 2].sum() == min(2, (n_pes + 1) // 2)
if axes := drawing(4, 2):
    width = 2 if n_pes >= 4 else n_pes
    for pe, (_, _, strided, user) in enumerate(members):
        x, y = pe % width, -(pe // width)
        axes.axhspan(y - 0.48, y + 0.48, color="tab:green", alpha=0.1)
        axes.text(x, y, f"PE {pe}", ha="center", va="center")
        for is_member, form, color in (strided, "o", "tab:blue"), (user, "s", "tab:orange"):
            if is_member:
                axes.plot(x, y, form, ms=44, mfc="none", mec=color, mew=2)
    axes.set(xlim=(-0.6, width - 0.4))
    show(axes, "teams")

# %% [markdown]
"""
## The symmetric heap

An ordinary array is private: only its own PE can reach it. What other PEs are to reach lies on the
**symmetric heap**, a region that every PE has, with the same layout. All PEs allocate together,
with the same size, and get an allocation at the same place of their heaps.

So one's own array is enough to name the array of any PE. Only the addresses differ.
Allocations are freed together, too, and explicitly: Python cannot know when other PEs are done.

A `Buffer` is a piece of the heap without a type. Its `handle` is its address in this process.
"""

# %%
first, second, third = (nvshmem.buffer(size) for size in (4096, 8192, 4096))
say(f"{first.size} bytes at {first.handle:#x}")
assert (first.size, second.size) == (4096, 8192)

offsets = gathered(*(buf.handle - first.handle for buf in (first, second, third)))
assert (offsets == offsets[0]).all(), "an allocation has the same place on every PE"

# %%
sizes = (first.size, second.size, third.size)
if axes := drawing(5, 2.4):
    for pe, places in enumerate(offsets):
        axes.text(pe, places.max() + 6500, f"PE {pe}", ha="center")
        for color, name, offset, size in zip("rgb", ("first", "second", "third"), places, sizes):
            axes.bar(pe, size, 0.9, bottom=offset, color=color, alpha=0.3)
            axes.text(pe, offset + size / 2, f"{name}\n+ {offset}", ha="center", va="center")
    show(axes, "heap")

for buf in (first, second, third):
    nvshmem.free(buf)
assert first.handle == 0, "a Buffer that was freed has no address"

# %% [markdown]
"""
`array` gives an array on the heap that has a shape and a dtype: NumPy's, or CuPy's on a GPU. It
holds zeros, and every function of its library works on it.
"""

# %%
shape = (1, 2, 3, 4, 5)
arr = nvshmem.array(shape, dtype="float32")
say("new:", arr.ravel()[:4], "...")
assert arr.shape == shape and arr.sum() == 0
arr[:] = my_pe + 1
say("filled:", arr.ravel()[:4], "...")
assert arr.sum() == 120 * (my_pe + 1)
nvshmem.free_array(arr)

# %% [markdown]
"""
## Registering memory that exists

An array that exists already can become symmetric where it is: nothing is copied, and other PEs
then reach the memory that the program computes with. All PEs register together.

On the host that is whole pages of private memory, such as `aligned_empty` gives. On a GPU it must
come from CUDA's virtual memory functions, which cuda.core offers as `VirtualMemoryResource`. CuPy
looks at such memory through DLPack.
"""

# %%
left, right = (my_pe - 1) % n_pes, (my_pe + 1) % n_pes
rows, columns = 1024, 1024


def gpu_memory() -> Any:
    """Memory of cuda.core's VirtualMemoryResource; None, with a message, where it is missing."""
    try:
        from cuda.core import Device, VirtualMemoryResource
    except ImportError as error:
        skip("VirtualMemoryResource", str(error))
        return None
    return VirtualMemoryResource(Device()).allocate(rows * columns * 4)


def shift_rows(arr: Any) -> None:
    """Registers an array, and puts a row into the right neighbour's."""
    arr[0] = my_pe
    arr[1] = -1
    arr_reg = nvshmem.register_external_array(arr)
    nvshmem.put(arr_reg[1], np.full(columns, my_pe, "float32"), right)
    nvshmem.barrier_all()
    say("row 0 is mine:", arr[0, :4], "row 1 came from the left:", arr[1, :4])
    assert (arr[0] == my_pe).all() and (arr[1] == left).all()
    nvshmem.barrier_all()
    nvshmem.unregister_external_array(arr)
    assert (arr[1] == left).all(), "the array keeps its contents"


if not on_gpu:
    skip("VirtualMemoryResource", "the heap is host memory")
    shift_rows(nvshmem.aligned_empty((rows, columns), dtype="float32"))
elif memory := gpu_memory():
    import cupy

    shift_rows(cupy.from_dlpack(memory).view("float32").reshape(rows, columns))
    memory.close()

# %% [markdown]
"""
## Collective operations

All members of a team call a collective operation, with the same number of elements and the same
dtype. If they do not, every member gets an error. NVSHMEM4Py leaves that case undefined.

`reduce` combines the arrays of all members, element by element, and leaves the result with every
member. MPI and NCCL call that allreduce.

With `stream=` a call returns at once, and its work runs after what the stream got before. On a GPU
that is a CUDA stream, and streams of cuda.core, CuPy and torch are as good. On the host it is a
queue of this library with a thread of its own. Without `stream` the work is done on return.
"""

# %%
size = 10
src_array = nvshmem.array((size,), dtype="float32")
dest_array = nvshmem.array((size,), dtype="float32")
src_array[:] = my_pe + 1
say("before the reduction:", src_array, dest_array)
arrays_first()
nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, dest_array, src_array, "sum", stream=stream)
stream.synchronize()
say("after the reduction:", src_array, dest_array)
assert (dest_array == n_pes * (n_pes + 1) / 2).all()
for each in (src_array, dest_array):
    nvshmem.free_array(each)

# %% [markdown]
"""
## Put and get

`put` writes to an array of another PE, and `get` reads from one. Only the calling PE takes part.
So the other PE must learn that the data is there before it reads, here by a barrier.
The barrier on the stream comes after the put, and passes when all PEs' puts have arrived.

Each PE puts its number to the right, round a ring.
"""

# %%
src_array = nvshmem.array((size,), dtype=np.float32)
dest_array = nvshmem.array((size,), dtype=np.float32)
src_array[:] = my_pe
target_pe = (my_pe + 1) % n_pes
arrays_first()
nvshmem.put(dest_array, src_array, size, target_pe, stream=stream)
nvshmem.barrier(nvshmem.Teams.TEAM_WORLD, stream=stream)
stream.synchronize()
say(f"put {size} elements to PE {target_pe}, and got", dest_array)
assert (dest_array == left).all()

# %%
arrived = gathered(int(dest_array[0]))[:, 0]
assert list(arrived) == [(pe - 1) % n_pes for pe in range(n_pes)]
if axes := drawing(3.4, 3.4):
    angles = np.pi / 2 - 2 * np.pi * np.arange(n_pes) / n_pes
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for pe, sender in enumerate(arrived):
        arrow = {"arrowstyle": "->", "shrinkA": 26, "shrinkB": 26}
        axes.annotate("", around[pe], around[sender], arrowprops=arrow)
        axes.plot(*around[pe], "o", ms=46, mfc="white", mec="tab:blue", mew=2)
        axes.text(*around[pe], f"PE {pe}\ngot {sender}", ha="center", va="center")
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), aspect="equal")
    show(axes, "ring")

# %% [markdown]
"""
A view stands for its elements, and both sides may be views. Here four elements from the middle go,
backwards, to every second place of the right neighbour.
"""

# %%
nvshmem.barrier_all()
nvshmem.put(dest_array[1:9:2], src_array[6:2:-1] + 100, target_pe)
nvshmem.barrier_all()
say("with views:", dest_array)
assert (dest_array[1:9:2] == left + 100).all() and (dest_array[::2] == left).all()
for each in (src_array, dest_array):
    nvshmem.free_array(each)

# %% [markdown]
"""
### The array of a peer, and a kernel

`get_peer_array` gives the array of another PE as an array of this process, where its memory can be
loaded and stored directly. Code that knows nothing of this library can then use it.

On a GPU that is a kernel's own loads and stores: Numba compiles `simple_shift`, and the kernel
runs on the stream, before the barrier. On the host the same function runs in Python.
Kernels that call put themselves are not in this version.
"""

# %%
array = nvshmem.array((1,), dtype="int32")
dev_dst = nvshmem.core.get_peer_array(array, target_pe)


def simple_shift(destination: Any, value: int) -> None:
    """Stores a number in the array of another PE."""
    destination[0] = value


if on_gpu and find_spec("numba"):
    if not hasattr(np, "row_stack"):
        np.__dict__["row_stack"] = np.vstack  # numba-cuda wants it, and NumPy 2.5 has it no more
    from numba import cuda

    raw_stream = cuda.external_stream(stream.__cuda_stream__()[1])
    arrays_first()
    cuda.jit(simple_shift)[1, 1, raw_stream](dev_dst, my_pe)
else:
    skip("the kernel of Numba", "Numba is not installed" if on_gpu else "the heap is host memory")
    simple_shift(dev_dst, my_pe)
    arrays_first()
nvshmem.core.barrier(nvshmem.Teams.TEAM_NODE, stream=stream)
stream.synchronize()
say(f"the array of PE {my_pe} contains", array)
assert array[0] == left
nvshmem.core.free_array(array)

# %% [markdown]
"""
## Signals

A barrier makes everybody wait. A **signal** tells one PE that its data has come. It is one uint64
on the heap. `put_signal` puts data and then updates the signal of the same PE. Whoever sees the
new value sees the data.

- `SignalOp` says how the value changes: `SIGNAL_SET` replaces it, `SIGNAL_ADD` adds to it.
- `signal_wait` waits until a comparison with the value of one's own signal holds.
- `ComparisonType` names the comparison, for example `CMP_EQ` or `CMP_GE`.
"""

# %%
buf_src = nvshmem.core.array((4, 4), dtype="float32")
buf_src[:] = my_pe + 1
buf_dst = nvshmem.core.array((4, 4), dtype="float32")
signal = nvshmem.core.array((1,), dtype="uint64")
buf_sig, nbytes, type_name = nvshmem.core.array_get_buffer(signal)
assert (nbytes, type_name) == (8, "uint64")

receiver = 1 % n_pes  # the only PE sends to itself
arrays_first()
if my_pe == 0:
    nvshmem.core.put_signal(
        buf_dst, buf_src, buf_sig, signal_val=1, signal_op=nvshmem.core.SignalOp.SIGNAL_SET,
        remote_pe=receiver, stream=stream,
    )  # fmt: skip
    say(f"sends data and a signal to PE {receiver}")
if my_pe == receiver:
    nvshmem.core.signal_wait(
        buf_sig, signal_val=1, signal_op=nvshmem.core.ComparisonType.CMP_EQ, stream=stream
    )
stream.sync()
say(f"the data is {buf_dst[0]}, the signal {signal}")
assert (buf_dst == (1 if my_pe == receiver else 0)).all()
assert signal[0] == (my_pe == receiver)

# %% [markdown]
"""
`signal_op` updates a signal without data. Signals that add up count what has arrived: here two
notices from the left neighbour.
"""

# %%
nvshmem.barrier_all()
signal[:] = 0
nvshmem.barrier_all()
for _ in range(2):
    nvshmem.signal_op(buf_sig, 1, nvshmem.SignalOp.SIGNAL_ADD, remote_pe=target_pe)
nvshmem.signal_wait(buf_sig, signal_val=2, signal_op=nvshmem.ComparisonType.CMP_GE)
say("the signal is", nvshmem.signal_fetch(buf_sig))
assert nvshmem.signal_fetch(buf_sig) == 2

nvshmem.barrier_all()
for one in (buf_src, buf_dst, signal):
    nvshmem.core.free_array(one)

# %% [markdown]
"""
## The end

`finalize` ends the job for all PEs together. It waits for all streams and frees what is left.
"""

# %%
stream.close()
nvshmem.finalize()
assert nvshmem.init_status() != nvshmem.InitStatus.STATUS_IS_INITIALIZED
if my_pe == 0:
    print("every check passed")
    print("not shown here:", "; ".join(left_out) or "nothing", flush=True)

# %%
# here
if client is not None:
    from IPython import get_ipython

    get_ipython().input_transformers_cleanup.remove(on_all_engines)
    if PROFILE:
        client.close()  # the engines stay
    else:
        client.shutdown(hub=True, block=True)
