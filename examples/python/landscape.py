"""Hillslope diffusion over a real elevation model, on any number of PEs.

Soil creeps downhill at a rate proportional to the slope, so the surface z obeys

    dz/dt = kappa * laplacian(z)

which is solved here by explicit steps with the 5-point stencil, in float64. No soil crosses the
edge of the map (zero flux), so the mean elevation stays as it is.

    nvshmemrs-run -n 4 -- python landscape.py
    python landscape.py                          # one PE, no launcher
    NVSHMEMRS_MEMORY=device nvshmemrs-run -n 4 -- python landscape.py        # on GPUs, with CuPy

The rows of the map are dealt over the PEs. Each PE keeps its block and one halo row above and
below it on the symmetric heap, twice: step s reads grid[(s - 1) % 2] and writes grid[s % 2].
After step s a PE puts its first and last row into the halo rows of its neighbours' grid[s % 2],
together with a signal that carries s. Before step s it waits until the signals of both neighbours
have reached s - 1.

Why no neighbour overwrites a halo row that is still being read, without any barrier: I read the
halo rows of grid[s % 2] during my step s + 1. A neighbour writes them again after its step s + 2.
It begins that step only when my signal has reached s + 1, and I send s + 1 when my step s + 1 is
done. So two grids are enough, and neighbours are never more than one step apart. A signal may
therefore already say s when s - 1 is awaited, which is why the wait asks for "at least".

On GPUs the arrays are CuPy's, and so is the arithmetic. A put without a stream comes behind what
CuPy has been told to do, so the program is the same.

core/examples/landscape.rs, examples/c/landscape.c and examples/julia/landscape.jl are the same
program, with the same names and the same order of arithmetic: all print the same fingerprint.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, Optional

import numpy as np
from numpy.typing import NDArray

import nvshmemrs.core as nvshmem

Grid = Any  # of float64: an array of NumPy, or of CuPy where the symmetric heap is a GPU's
Host = NDArray[np.float64]

KAPPA = 0.01  # m2 per year; published values for soil-covered slopes run from about 0.0005 to 0.05
STEPS = 2000
FRACTION = 0.05  # of the longest stable time step: small, for accuracy in time
RESIDUAL_EVERY = 50  # steps between two residuals
LIMIT = 1e-12  # m; largest difference from the single-process run
METRES_PER_DEGREE = math.pi / 180.0 * 6_371_000.0
COLUMNS = ("rows", "steps", "halo bytes", "computing s", "sending s", "waiting s")


@dataclass
class Dem:
    """An elevation model: row 0 is the northernmost, elevations and spacings are in metres."""

    name: str
    z: Host
    dx: float
    dy: float


def load_dem(name: str, map_file: Optional[Path]) -> Dem:
    """One of matplotlib's sample elevation models, its spacing turned from degrees to metres; or
    what `export` wrote.
    """
    if map_file is not None:
        words = map_file.read_bytes()
        rows, cols = (int(size) for size in np.frombuffer(words, "<i8", 2))
        dx, dy = (float(spacing) for spacing in np.frombuffer(words, "<f8", 2, 16))
        if rows < 1 or cols < 1 or not (dx > 0.0 and dy > 0.0):
            raise ValueError(f"{rows} x {cols} cells of {dx} m x {dy} m")
        z = np.frombuffer(words, "<f8", rows * cols, 32).reshape(rows, cols)
        return Dem(map_file.name, z.astype(np.float64), dx, dy)
    from matplotlib.cbook import get_sample_data

    data: Any
    if name == "jacksboro":
        data = get_sample_data("jacksboro_fault_dem.npz")
        z = data["elevation"]
        dx, dy = float(data["dx"]), float(data["dy"])
        latitude = (float(data["ymin"]) + float(data["ymax"])) / 2.0
        title = "Jacksboro fault, Tennessee"
    else:
        data = get_sample_data("topobathy.npz")
        z = data["topo"][::-1]  # the file begins in the south
        lon, lat = data["longitude"], data["latitude"]
        # The rows are evenly spaced in the Mercator projection; the mean spacing is used.
        dx = float(lon[-1] - lon[0]) / (len(lon) - 1)
        dy = float(lat[-1] - lat[0]) / (len(lat) - 1)
        latitude = float(lat[0] + lat[-1]) / 2.0
        title = "Vancouver Island and the Salish Sea"
    return Dem(
        title,
        np.ascontiguousarray(z, dtype=np.float64),
        dx * METRES_PER_DEGREE * math.cos(math.radians(latitude)),
        dy * METRES_PER_DEGREE,
    )


def export(dem: Dem, path: Path) -> None:
    """Writes the raw file that the C, Rust and Julia programs read.

    Little-endian: rows and columns as int64, dx and dy as float64, then the elevations as float64,
    row by row.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(np.array(dem.z.shape, dtype="<i8").tobytes())
        file.write(np.array([dem.dx, dem.dy], dtype="<f8").tobytes())
        file.write(dem.z.astype("<f8").tobytes())


def deal(rows: int, n_pes: int, pe: int) -> tuple[int, int]:
    """The first row and the number of rows of a PE; the first PEs take one row more if need be."""
    base, extra = divmod(rows, n_pes)
    return pe * base + min(pe, extra), base + (1 if pe < extra else 0)


def coefficients(kappa: float, dx: float, dy: float) -> tuple[float, float, float]:
    """The time step in years, and kappa * dt / dx^2 and kappa * dt / dy^2."""
    dt = FRACTION / (2.0 * kappa * (1.0 / (dx * dx) + 1.0 / (dy * dy)))
    return dt, kappa * dt / (dx * dx), kappa * dt / (dy * dy)


def library_of(array: Grid) -> Any:
    """NumPy, or CuPy, whose functions have the same names."""
    if isinstance(array, np.ndarray):
        return np
    import cupy  # nvshmem.array has made an array of it

    return cupy


def diffuse(z: Grid, new: Grid, cx: float, cy: float, change: Grid, work: Grid) -> None:
    """One step: all rows and columns of `new` but the outermost ones, from `z`.

    change = cx * ((west + east) - 2 z) + cy * ((north + south) - 2 z); new = z + change.
    `change` and `work` are scratch of the inner size, so that nothing is allocated per step.
    """
    centre = z[1:-1, 1:-1]
    inner = new[1:-1, 1:-1]
    xp = library_of(z)
    xp.multiply(centre, 2.0, out=inner)
    xp.add(z[1:-1, :-2], z[1:-1, 2:], out=change)
    change -= inner
    change *= cx
    xp.add(z[:-2, 1:-1], z[2:, 1:-1], out=work)
    work -= inner
    work *= cy
    change += work
    xp.add(centre, change, out=inner)


def single_process(z: Host, steps: int, cx: float, cy: float) -> Host:
    """The same diffusion by plain NumPy in one process, written independently of `diffuse`."""
    for _ in range(steps):
        p = np.pad(z, 1, mode="edge")
        along = (p[1:-1, :-2] + p[1:-1, 2:]) - 2.0 * z
        across = (p[:-2, 1:-1] + p[2:, 1:-1]) - 2.0 * z
        z = z + (cx * along + cy * across)
    return z


def fingerprint(z: Host) -> int:
    """The sum of the elevations' bit patterns modulo 2^64: equal fields have equal fingerprints."""
    return int(np.ascontiguousarray(z).view(np.uint64).sum(dtype=np.uint64))


class Progress:
    """A bar on a terminal; elsewhere ten plain lines, which a log can keep. Only on PE 0."""

    def __init__(self, steps: int, shown: bool) -> None:
        self.steps, self.shown, self.tenths = steps, shown, 0
        self.bar = None
        if shown and sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=steps, unit="step", dynamic_ncols=True)

    def update(self, step: int, residual: float) -> None:
        if self.bar is not None:
            self.bar.set_postfix_str(f"residual {residual:.3e} m", refresh=False)
            self.bar.update(step - self.bar.n)
        elif self.shown and step * 10 // self.steps > self.tenths:
            self.tenths = step * 10 // self.steps
            print(f"step {step} of {self.steps}, residual {residual:.3e} m", file=sys.stderr)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def simulate(
    grid: tuple[Grid, Grid], rows: int, steps: int, cx: float, cy: float
) -> tuple[float, list[float]]:
    """Runs all steps on this PE's block of a map of `rows` rows. Collective over all PEs.

    Gives the last residual and what this PE did, in the order of COLUMNS.
    """
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    north, south = me - 1, me + 1
    count = deal(rows, n, me)[1]
    bottom_of_north = deal(rows, n, north)[1] + 1 if north >= 0 else 0  # its lower halo row
    width = grid[0].shape[1]
    xp = library_of(grid[0])
    change, work = xp.empty((count, width - 2)), xp.empty((count, width - 2))

    from_north = nvshmem.array(1, dtype="uint64")
    from_south = nvshmem.array(1, dtype="uint64")
    residual = nvshmem.array(1, dtype="float64")
    from_north[0] = from_south[0] = 0
    nvshmem.barrier_all()  # blocks are dealt and signals are 0 everywhere

    computing = sending = waiting = 0.0
    halo_bytes = 0
    progress = Progress(steps, shown=me == 0)
    for step in range(1, steps + 1):
        z, new = grid[(step - 1) % 2], grid[step % 2]

        t0 = time.perf_counter()
        if north >= 0:
            nvshmem.signal_wait(from_north, step - 1, nvshmem.ComparisonType.CMP_GE)
        if south < n:
            nvshmem.signal_wait(from_south, step - 1, nvshmem.ComparisonType.CMP_GE)

        t1 = time.perf_counter()
        diffuse(z[: count + 2], new[: count + 2], cx, cy, change, work)
        own = new[1 : count + 1]  # the neighbours put the halo rows, perhaps now
        own[:, 0], own[:, -1] = own[:, 1], own[:, -2]  # zero flux to the west and east
        if north < 0:
            new[0] = new[1]  # zero flux to the north
        if south == n:
            new[count + 1] = new[count]  # zero flux to the south

        t2 = time.perf_counter()
        set_signal = nvshmem.SignalOp.SIGNAL_SET
        if north >= 0:
            nvshmem.put_signal(new[bottom_of_north], new[1], from_south, step, set_signal, north)
            halo_bytes += new[1].nbytes
        if south < n:
            nvshmem.put_signal(new[0], new[count], from_north, step, set_signal, south)
            halo_bytes += new[count].nbytes

        t3 = time.perf_counter()
        if step % RESIDUAL_EVERY == 0 or step == steps:
            residual[0] = max(change.max(), -change.min())
            nvshmem.reduce(nvshmem.Teams.TEAM_WORLD, residual, residual, "max")
            progress.update(step, float(residual[0]))
        t4 = time.perf_counter()
        waiting += (t1 - t0) + (t4 - t3)
        computing += t2 - t1
        sending += t3 - t2
    progress.close()

    last = float(residual[0])
    for array in (residual, from_south, from_north):
        nvshmem.free_array(array)
    return last, [count, steps, halo_bytes, computing, sending, waiting]


def gather(grid: Grid, rows: int) -> Host:
    """The whole map from the blocks of all PEs. PE 0 calls it, after a barrier."""
    width = grid.shape[1]
    whole = np.empty((rows, width))
    for pe in range(nvshmem.n_pes()):
        first, count = deal(rows, nvshmem.n_pes(), pe)
        nvshmem.get(whole[first : first + count], grid[1 : count + 1], pe)
    return np.ascontiguousarray(whole[:, 1:-1])


def print_table(table: Host) -> None:
    print(f"{'PE':>4}{'rows':>7}{'steps':>8}" + "".join(f"{c:>13}" for c in COLUMNS[2:]))
    for pe, (rows, steps, halo_bytes, *seconds) in enumerate(table):
        times = "".join(f"{s:13.3f}" for s in seconds)
        print(f"{pe:4d}{rows:7.0f}{steps:8.0f}{halo_bytes:13.0f}{times}")


def draw(dem: Dem, after: Host, n_pes: int, title: str, path: Path) -> None:
    """Before, after and difference side by side, as a PNG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LightSource, ListedColormap, Normalize, TwoSlopeNorm

    low, high = float(dem.z.min()), float(dem.z.max())
    if low < 0.0 < high:  # sea and land
        terrain = plt.get_cmap("terrain")
        sea, land = terrain(np.linspace(0.0, 0.17, 128)), terrain(np.linspace(0.25, 1.0, 128))
        cmap = ListedColormap(np.vstack((sea, land)))
        norm: Normalize = TwoSlopeNorm(0.0, low, high)
    else:
        cmap = ListedColormap(plt.get_cmap("gist_earth")(np.linspace(0.3, 1.0, 256)))
        norm = Normalize(low, high)
    difference = after - dem.z
    most = float(np.percentile(np.abs(difference), 99.5)) or 1.0
    changes = Normalize(-most, most)
    light = LightSource(azdeg=315, altdeg=45)
    # Exaggerate heights so that the steepest slopes are near 45 degrees, whatever the map.
    along_y, along_x = np.gradient(dem.z, dem.dy, dem.dx)
    slope = np.hypot(along_y, along_x)
    exaggeration = 1.0 / max(float(np.percentile(slope, 99)), 1e-9)

    def relief(z: Host) -> Host:
        colours = cmap(norm(z))[..., :3]
        return light.shade_rgb(
            colours, z, blend_mode="soft", vert_exag=exaggeration, dx=dem.dx, dy=dem.dy
        )

    rows, cols = dem.z.shape
    width, height = cols * dem.dx / 1e3, rows * dem.dy / 1e3  # km
    across = 5.0  # inches per panel
    fig, axes = plt.subplots(
        1,
        3,
        figsize=(3 * across + 1.0, across * height / width + 1.9),
        sharey=True,
        layout="compressed",
    )
    fig.suptitle(title, fontsize="x-large")
    style: Dict[str, Any] = {"extent": (0.0, width, 0.0, height), "interpolation": "bilinear"}
    axes[0].imshow(relief(dem.z), **style)
    axes[0].set_title("before")
    axes[1].imshow(relief(after), **style)
    axes[1].set_title("after")
    axes[2].imshow(difference, cmap="RdBu_r", norm=changes, **style)
    axes[2].set_title("after minus before")
    if 1 < n_pes <= 16:  # whose rows are whose
        for pe in range(n_pes):
            first, count = deal(rows, n_pes, pe)
            y = height - first * dem.dy / 1e3
            axes[1].text(
                0.015 * width, y - count * dem.dy / 2e3, f"PE {pe}", va="center", fontsize="small"
            )
            if pe > 0:
                axes[1].axhline(y, color="black", linewidth=0.6, alpha=0.5)
    for ax in axes:
        ax.set_xlabel("east (km)")
    axes[0].set_ylabel("north (km)")
    bar: Dict[str, Any] = {"orientation": "horizontal", "aspect": 40, "pad": 0.02}
    fig.colorbar(ScalarMappable(norm, cmap), ax=axes[:2], label="elevation (m)", shrink=0.6, **bar)
    fig.colorbar(
        ScalarMappable(changes, "RdBu_r"), ax=axes[2:], label="change (m)", extend="both", **bar
    )
    fig.savefig(path, dpi=130)
    plt.close(fig)


def fail(message: str) -> int:
    """Ends a program in which all PEs know of an error: PE 0 prints the error, all PEs finalize."""
    if nvshmem.my_pe() == 0:
        print(f"landscape.py: {message}", file=sys.stderr)
    nvshmem.finalize()
    return 1


def main() -> int:
    options = parse_options()
    nvshmem.init()
    me, n = nvshmem.my_pe(), nvshmem.n_pes()
    pes = "1 PE" if n == 1 else f"{n} PEs"

    # PE 0 reads the map and tells the others its size; 0 rows mean that it could not.
    dem = None
    error = ""
    try:
        header = nvshmem.array(4, dtype="float64")
    except nvshmem.NotSupportedError as e:  # a GPU's memory, and no CuPy
        return fail(str(e))
    if me == 0:
        try:
            dem = load_dem(options.dem, options.map)
            if options.export is not None:
                export(dem, options.export)
            elif options.plot:
                options.out.mkdir(parents=True, exist_ok=True)
            nvshmem.put(header, np.array([*dem.z.shape, dem.dx, dem.dy]), me)
            nvshmem.quiet()
        except (ImportError, OSError) as e:
            error = str(e)
        except ValueError as e:  # a file that ends too soon
            error = f"{options.map} is not a file of `landscape.py --export`: {e}"
    nvshmem.broadcast(nvshmem.Teams.TEAM_WORLD, header, header, 0)
    rows, cols, dx, dy = int(header[0]), int(header[1]), float(header[2]), float(header[3])
    if rows == 0:
        return fail(error)
    if options.export is not None:
        if me == 0:
            print(f"wrote {rows} x {cols} elevations to {options.export}")
        nvshmem.finalize()
        return 0
    if n > rows:
        return fail(f"{n} PEs, but the map has only {rows} rows: start at most {rows} PEs")

    # PE 0 deals the blocks, halo rows included.
    largest = deal(rows, n, 0)[1]
    shape = (largest + 2, cols + 2)
    grid = nvshmem.array(shape, dtype="float64"), nvshmem.array(shape, dtype="float64")
    dt, cx, cy = coefficients(options.kappa, dx, dy)
    if dem is not None:
        print(f"{dem.name}: {rows} x {cols} cells of {dx:.1f} m x {dy:.1f} m on {pes}")
        print(
            f"kappa {options.kappa:g} m2/yr, {options.steps} steps of {dt:.0f} years"
            f" = {options.steps * dt / 1e6:.1f} million years",
            flush=True,
        )
        whole = np.pad(dem.z, 1, mode="edge")
        for pe in range(n):
            first, count = deal(rows, n, pe)
            nvshmem.put(grid[0][: count + 2], whole[first : first + count + 2], pe)

    residual, did = simulate(grid, rows, options.steps, cx, cy)

    # Each PE puts its line into PE 0's table; PE 0 gets the blocks.
    table = nvshmem.array((n, len(COLUMNS)), dtype="float64")
    nvshmem.put(table[me], np.array(did), 0)
    nvshmem.barrier_all()
    ok = True
    if dem is not None:
        after = gather(grid[options.steps % 2], rows)
        lines = np.empty(table.shape)
        nvshmem.get(lines, table, me)
        print_table(lines)
        print(f"residual: {residual:.6e} m in the last step")
        print(f"mean elevation: {dem.z.mean():.6f} m before, {after.mean():.6f} m after")
        print(f"fingerprint: {fingerprint(after):016x}")
        if options.plot:
            name = options.dem if options.map is None else options.map.stem
            path = options.out / f"landscape-{name}.png"
            title = (
                f"{dem.name}: hillslope diffusion, κ = {options.kappa:g} m²/yr,"
                f" {options.steps * dt / 1e6:.1f} million years ({options.steps} steps, {pes})"
            )
            draw(dem, after, n, title, path)
            print(f"picture: {path}")
        if options.check:
            alone = single_process(dem.z, options.steps, cx, cy)
            worst = float(np.abs(after - alone).max())
            ok = worst <= LIMIT  # false for NaN too
            verdict = "" if ok else ": FAILED"
            print(f"check: max |difference| = {worst:.3e} (limit {LIMIT:g}){verdict}", flush=True)

    for array in (table, *grid, header):
        nvshmem.free_array(array)
    nvshmem.finalize()
    return 0 if ok else 1


def parse_options() -> argparse.Namespace:
    def steps(text: str) -> int:
        value = int(text)
        if value < 1:
            raise argparse.ArgumentTypeError(f"{value} is less than 1")
        return value

    def kappa(text: str) -> float:
        value = float(text)
        if not (0.0 < value < math.inf):
            raise argparse.ArgumentTypeError(f"{value} is not a positive number")
        return value

    parser = argparse.ArgumentParser(description="Hillslope diffusion over a real elevation model.")
    parser.add_argument(
        "--dem", choices=("jacksboro", "topobathy"), default="jacksboro", help="elevation model"
    )
    parser.add_argument("--steps", type=steps, default=STEPS, help=f"time steps ({STEPS})")
    parser.add_argument(
        "--kappa",
        type=kappa,
        default=KAPPA,
        help=f"diffusivity in m2/yr ({KAPPA}); the time step follows it, as stability demands",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out"), help="folder of the picture (out/)"
    )
    parser.add_argument(
        "--map", type=Path, metavar="FILE", help="the map in a file of --export, instead of --dem"
    )
    parser.add_argument("--no-check", dest="check", action="store_false", help="skip the check")
    parser.add_argument("--no-plot", dest="plot", action="store_false", help="skip the picture")
    parser.add_argument(
        "--export",
        type=Path,
        metavar="FILE",
        help="write the map for the C and Rust programs, and end",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
