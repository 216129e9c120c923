# Hillslope diffusion over a real elevation model, on any number of PEs: the Julia form of
# examples/python/landscape.py, with the same scheme, names and order of arithmetic, so that both print the
# same fingerprint. The map comes from a file that `landscape.py --export FILE` writes.
#
#     nvshmemrs-run -n 4 -- julia --project=bindings/julia examples/julia/landscape.jl FILE [STEPS]
#     julia --project=bindings/julia examples/julia/landscape.jl FILE [STEPS]       (one PE, no launcher)
#
# Julia's arrays have their columns one behind the other. So a row of the map is a column here: z[j, i] is column j of row i.
#
# The rows of the map are dealt over the PEs. Each PE keeps its block and one halo row above and below it on the
# symmetric heap, twice: step s reads grid[isodd(s) ? 1 : 2] and writes the other one. After step s a PE puts its
# first and last row into the halo rows of its neighbours' new grid, together with a signal that carries s. Before
# step s it waits until the signals of both neighbours have reached s - 1. landscape.py says why no neighbour
# overwrites a halo row that is still being read.
#
# The steps work on the symmetric grids themselves, so the heap must be in host memory.

using NVSHMEMRS
using Printf

const KAPPA = 0.01 # m2 per year
const STEPS = 2000
const FRACTION = 0.05 # of the longest stable time step: small, for accuracy in time
const RESIDUAL_EVERY = 50 # steps between two residuals
const LIMIT = 1e-12 # m; largest difference from the single-process run

"An elevation model: row 1 is the northernmost, elevations and spacings are in metres."
struct Dem
    dx::Float64
    dy::Float64
    z::Matrix{Float64}
end

"Reads the file, or throws what is wrong with it."
function load_dem(path)
    open(path) do file
        broken() = error("$path is not a file of `landscape.py --export`")
        filesize(file) >= 32 || broken()
        rows, cols = ltoh(read(file, Int64)), ltoh(read(file, Int64))
        dx, dy = ltoh(read(file, Float64)), ltoh(read(file, Float64))
        (1 <= rows <= 1 << 20 && 1 <= cols <= 1 << 20 && dx > 0 && dy > 0) || broken()
        filesize(file) >= 32 + 8 * rows * cols || error("$path ends before its $rows x $cols elevations")
        return Dem(dx, dy, ltoh.(read!(file, Matrix{Float64}(undef, cols, rows))))
    end
end

"The rows of a PE before its first one, and how many it has; the first PEs take one row more if need be."
function deal(rows, n_pes, pe)
    base, extra = divrem(rows, n_pes)
    return pe * base + min(pe, extra), base + (pe < extra)
end

"The time step in years, and kappa * dt / dx^2 and kappa * dt / dy^2."
function coefficients(kappa, dx, dy)
    dt = FRACTION / (2.0 * kappa * (1.0 / (dx * dx) + 1.0 / (dy * dy)))
    return dt, kappa * dt / (dx * dx), kappa * dt / (dy * dy)
end

"One step: all rows and columns of `new` but the outermost ones, from `z`. Gives the largest change."
function diffuse!(new, z, count, cx, cy)
    largest = 0.0
    @inbounds for i in 2:(count + 1), j in 2:(size(z, 1) - 1)
        along = (z[j - 1, i] + z[j + 1, i]) - 2.0 * z[j, i]
        across = (z[j, i - 1] + z[j, i + 1]) - 2.0 * z[j, i]
        change = cx * along + cy * across
        new[j, i] = z[j, i] + change
        largest = max(largest, abs(change))
    end
    return largest
end

"The same diffusion in one process, written independently of `diffuse!`: no halo, indices stop at the edge."
function single_process(dem, steps, cx, cy)
    z, next = copy(dem.z), similar(dem.z)
    cols, rows = size(z)
    for _ in 1:steps
        for i in 1:rows, j in 1:cols
            along = (z[max(j - 1, 1), i] + z[min(j + 1, cols), i]) - 2.0 * z[j, i]
            across = (z[j, max(i - 1, 1)] + z[j, min(i + 1, rows)]) - 2.0 * z[j, i]
            next[j, i] = z[j, i] + (cx * along + cy * across)
        end
        z, next = next, z
    end
    return z
end

"The sum of the elevations' bit patterns modulo 2^64: equal fields have equal fingerprints."
fingerprint(z) = sum(reinterpret(UInt64, vec(z)))

mean(z) = sum(z) / length(z)

"""
Runs all steps on this PE's block of a map of `rows` rows. Collective over all PEs. Gives the last residual, and what this PE
did: rows, steps, bytes put, seconds computing, sending and waiting.
"""
function simulate(grid, rows, steps, cx, cy)
    me, n = my_pe(), n_pes()
    north, south = me - 1, me + 1
    count = deal(rows, n, me)[2]
    bottom_of_north = north >= 0 ? deal(rows, n, north)[2] + 2 : 0 # its lower halo row
    from_north, from_south = NVSHMEMRS.zeros(UInt64, 1), NVSHMEMRS.zeros(UInt64, 1)
    residual = NVSHMEMRS.zeros(Float64, 1)
    barrier() # blocks are dealt and signals are 0 everywhere

    computing = sending = waiting = 0.0
    halo_bytes, tenths = 0, 0
    for step in 1:steps
        z, new = isodd(step) ? grid : reverse(grid)
        t0 = time()
        north >= 0 && signal_wait(>=, from_north, step - 1)
        south < n && signal_wait(>=, from_south, step - 1)

        t1 = time()
        largest = diffuse!(new, z, count, cx, cy)
        for i in 2:(count + 1) # zero flux to the west and east
            new[1, i] = new[2, i]
            new[end, i] = new[end - 1, i]
        end
        north < 0 && (new[:, 1] = view(new, :, 2)) # zero flux to the north
        south == n && (new[:, count + 2] = view(new, :, count + 1)) # zero flux to the south

        t2 = time()
        if north >= 0
            put_signal!(view(new, :, bottom_of_north), view(new, :, 2), from_south, step, north)
            halo_bytes += 8 * size(new, 1)
        end
        if south < n
            put_signal!(view(new, :, 1), view(new, :, count + 1), from_north, step, south)
            halo_bytes += 8 * size(new, 1)
        end

        t3 = time()
        if step % RESIDUAL_EVERY == 0 || step == steps
            residual[1] = largest
            allreduce!(max, residual)
            if me == 0 && step * 10 ÷ steps > tenths
                tenths = step * 10 ÷ steps
                @printf(stderr, "step %d of %d, residual %.3e m\n", step, steps, residual[1])
            end
        end
        t4 = time()
        waiting += (t1 - t0) + (t4 - t3)
        computing += t2 - t1
        sending += t3 - t2
    end
    last = residual[1]
    foreach(free!, (residual, from_south, from_north))
    return last, [count, steps, halo_bytes, computing, sending, waiting]
end

"The whole map from the blocks of all PEs. PE 0 calls it, after a barrier."
function gather(grid, rows)
    whole = Matrix{Float64}(undef, size(grid, 1) - 2, rows)
    for pe in 0:(n_pes() - 1)
        first, count = deal(rows, n_pes(), pe)
        # Two views with gaps: the rim of the block stays behind.
        get!(view(whole, :, (first + 1):(first + count)), view(grid, 2:(size(grid, 1) - 1), 2:(count + 1)), pe)
    end
    return whole
end

"PE 0 deals the blocks, halo rows included: a map one cell wider on every side, whose rim equals its neighbours."
function deal_blocks(grid, dem)
    cols, rows = size(dem.z)
    whole = dem.z[[1; 1:cols; cols], [1; 1:rows; rows]]
    for pe in 0:(n_pes() - 1)
        first, count = deal(rows, n_pes(), pe)
        put!(view(grid, :, 1:(count + 2)), view(whole, :, (first + 1):(first + count + 2)), pe)
    end
end

function print_table(table)
    println("  PE   rows   steps   halo bytes  computing s    sending s    waiting s")
    for pe in 0:(n_pes() - 1)
        @printf("%4d%7.0f%8.0f%13.0f%13.3f%13.3f%13.3f\n", pe, table[:, pe + 1]...)
    end
end

"PE 0's report. Gives whether the result is that of a single process."
function report(dem, grid, table, residual, steps, cx, cy)
    after = gather(grid, size(dem.z, 2))
    print_table(table)
    @printf("residual: %.6e m in the last step\n", residual)
    @printf("mean elevation: %.6f m before, %.6f m after\n", mean(dem.z), mean(after))
    @printf("fingerprint: %016x\n", fingerprint(after))
    worst = maximum(abs.(after .- single_process(dem, steps, cx, cy)))
    ok = worst <= LIMIT # false if it is no number
    @printf("check: max |difference| = %.3e (limit %g)%s\n", worst, LIMIT, ok ? "" : ": FAILED")
    return ok
end

function run_job(path, steps)
    me, n = my_pe(), n_pes()
    # PE 0 reads the map and tells the others its size. If it cannot, it leaves, and the others learn that.
    dem = me == 0 ? load_dem(path) : Dem(0, 0, zeros(0, 0))
    header = SymmetricArray([size(dem.z)..., dem.dx, dem.dy])
    broadcast!(header, 0)
    cols, rows, dx, dy = Int(header[1]), Int(header[2]), header[3], header[4]
    n <= rows || error("there are $n PEs, but the map has only $rows rows: start at most $rows PEs")

    grid = Tuple(NVSHMEMRS.zeros(Float64, cols + 2, deal(rows, n, 0)[2] + 2) for _ in 1:2)
    dt, cx, cy = coefficients(KAPPA, dx, dy)
    if me == 0
        @printf("%s: %d x %d cells of %.1f m x %.1f m on %d PE%s\n", path, rows, cols, dx, dy, n, n == 1 ? "" : "s")
        @printf("kappa %g m2/yr, %d steps of %.0f years = %.1f million years\n", KAPPA, steps, dt, steps * dt / 1e6)
        deal_blocks(grid[1], dem)
    end
    residual, did = simulate(grid, rows, steps, cx, cy)

    # Each PE puts its line into PE 0's table; PE 0 gets the blocks.
    table = NVSHMEMRS.zeros(Float64, 6, n)
    put!(view(table, :, me + 1), did, 0)
    barrier()
    ok = me != 0 || report(dem, grid[isodd(steps) ? 2 : 1], table, residual, steps, cx, cy)
    barrier()
    return ok
end

function main()
    steps = length(ARGS) == 2 ? tryparse(Int, ARGS[2]) : STEPS
    if !(length(ARGS) in (1, 2)) || steps === nothing || steps < 1
        println(stderr, "usage: landscape.jl FILE [STEPS]\nFILE comes from `landscape.py --export FILE`; STEPS is at least 1 ($STEPS)")
        return 2
    end
    return NVSHMEMRS.init(job -> run_job(ARGS[1], steps)) ? 0 : 1
end

exit(main())
