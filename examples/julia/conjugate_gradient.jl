# Conjugate gradient: the temperature of a plate with a ring that conducts badly. The Julia form of
# examples/python/conjugate_gradient.py; both print the same result.
#
#     nvshmemrs-run -n 4 -- julia --project=bindings/julia examples/julia/conjugate_gradient.jl [SIZE]
#
# The equation is -div(k grad(u)) = heat on SIZE x SIZE points, with u = 0 at the border. Two points are heated, one of
# them inside the ring. Each PE has a block of columns. The product with the matrix needs one column of each neighbour,
# which arrives with a signal; the two scalar products are reductions.

using NVSHMEMRS
using Printf

const TOLERANCE = 1e-9 # of the residual's norm, relative to that of the heat
const LIMIT = 1e-8 # largest difference from the result of one process

"k at a point, which may be one point outside; indices from 0."
function conductivity(size, i, j)
    radius = hypot(i / (size - 1) - 0.5, j / (size - 1) - 0.5)
    return 0.25 < radius < 0.3 ? 0.05 : 1.0
end

"""
The coefficients between neighbours, harmonic means of the conductivities: `along[i, j]` between the points i - 1 and i of
a column, `across[i, j]` between the columns j - 1 and j, counted from the `first` column.
"""
function coefficients(size, first, count)
    mean(a, b) = 2a * b / (a + b)
    k(i, j) = conductivity(size, i - 1, first + j - 1)
    along = [mean(k(i - 1, j), k(i, j)) for i in 1:(size + 1), j in 1:count]
    across = [mean(k(i, j - 1), k(i, j)) for i in 1:size, j in 1:(count + 1)]
    return along, across
end

function heat(size)
    source = zeros(size, size)
    source[size ÷ 2 + 1, size ÷ 2 + 1] = 1.0
    source[size ÷ 4 + 1, size ÷ 8 + 1] = 0.5
    return source
end

"`q` becomes the matrix times `p`, which has a border of one point."
function multiply!(q, (along, across), p)
    @inbounds for j in axes(q, 2), i in axes(q, 1)
        u = p[i + 1, j + 1]
        q[i, j] = across[i, j] * (u - p[i + 1, j]) + across[i, j + 1] * (u - p[i + 1, j + 2]) +
                  along[i, j] * (u - p[i, j + 1]) + along[i + 1, j] * (u - p[i + 2, j + 1])
    end
    return q
end

function dot(a, b)
    sum = 0.0
    @inbounds @simd for i in eachindex(a, b)
        sum += a[i] * b[i]
    end
    return sum
end

"Solves the system. `product!(q, p)` and `total` are what differs between one process and many PEs."
function conjugate_gradient(source, product!, total)
    u, r, q = zero(source), copy(source), zero(source)
    p = zeros(size(source) .+ 2)
    inner = view(p, 2:(size(p, 1) - 1), 2:(size(p, 2) - 1))
    inner .= r
    old = first = total(dot(r, r))
    steps = 0
    while old > TOLERANCE^2 * first
        product!(q, p)
        alpha = old / total(dot(inner, q))
        u .+= alpha .* inner
        r .-= alpha .* q
        new = total(dot(r, r))
        inner .= r .+ (new / old) .* inner
        old = new
        steps += 1
    end
    return u, steps
end

"The solution's columns `first + 1` to `first + count`, and the number of steps. Collective."
function on_all_pes(size, first, count)
    me, n = my_pe(), n_pes()
    matrix = coefficients(size, first, count)
    halo = NVSHMEMRS.zeros(Float64, size, 2) # the columns west and east of mine
    arrived = NVSHMEMRS.zeros(UInt64, 2)
    sum = NVSHMEMRS.zeros(Float64, 1)
    barrier() # all signals are 0
    step = 0

    function product!(q, p)
        step += 1
        # My first column is the east halo of the PE in the west, and my last one the west halo of that in the east.
        me > 0 && put_signal!(view(halo, :, 2), p[2:(end - 1), 2], view(arrived, 2), step, me - 1)
        me < n - 1 && put_signal!(view(halo, :, 1), p[2:(end - 1), end - 1], view(arrived, 1), step, me + 1)
        if me > 0
            signal_wait(>=, view(arrived, 1), step)
            p[2:(end - 1), 1] = view(halo, :, 1)
        end
        if me < n - 1
            signal_wait(>=, view(arrived, 2), step)
            p[2:(end - 1), end] = view(halo, :, 2)
        end
        return multiply!(q, matrix, p)
    end

    # When it returns, all PEs have read their halo, and neighbours may write it again.
    function total(part)
        sum[1] = part
        allreduce!(+, sum)
        return sum[1]
    end

    return conjugate_gradient(heat(size)[:, (first + 1):(first + count)], product!, total)
end

"PE 0's report. Gives whether the result is that of one process and solves the system."
function report(whole, steps, seconds)
    n = size(whole, 1)
    matrix = coefficients(n, 0, n)
    alone, _ = conjugate_gradient(heat(n), (q, p) -> multiply!(q, matrix, p), identity)
    padded = zeros(n + 2, n + 2)
    padded[2:(end - 1), 2:(end - 1)] = whole
    difference = heat(n) .- multiply!(zeros(n, n), matrix, padded)
    worst, residual = maximum(abs.(whole .- alone)), sqrt(dot(difference, difference))
    ok = worst <= LIMIT && residual <= LIMIT # false if one is no number
    @printf("%d x %d points on %d PEs, %d steps\n", n, n, n_pes(), steps)
    @printf("time: %.4f s\n", seconds)
    @printf("result: warmest %.7f, mean %.7f\n", maximum(whole), sum(whole) / length(whole))
    @printf("check: largest difference %.1e, residual %.1e (limit %g)%s\n", worst, residual, LIMIT, ok ? "" : ": FAILED")
    return ok
end

function run_job(size)
    me, n = my_pe(), n_pes()
    size >= max(8, n) || error("SIZE is $size: at least 8, and a column for each PE")
    first, last = size * me ÷ n, size * (me + 1) ÷ n
    on_all_pes(8n, 8me, 8) # compiles everything, so that the compilation does not count
    barrier()
    begin_ = time()
    u, steps = on_all_pes(size, first, last - first)
    seconds = time() - begin_
    whole = NVSHMEMRS.zeros(Float64, size, size)
    put!(view(whole, :, (first + 1):last), u, 0)
    barrier()
    ok = me != 0 || report(collect(whole), steps, seconds)
    barrier()
    return ok
end

function main()
    size = isempty(ARGS) ? 256 : tryparse(Int, ARGS[1])
    if length(ARGS) > 1 || size === nothing
        println(stderr, "usage: conjugate_gradient.jl [SIZE]")
        return 2
    end
    return NVSHMEMRS.init(job -> run_job(size)) ? 0 : 1
end

exit(main())
