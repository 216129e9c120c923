# Times a put of 8 bytes in Julia and in C, in turn on this machine, and a loop over a symmetric array against a loop
# over an Array. This program compiles the C program.
#
#     NVSHMEMRS_LIBRARY=$PWD/target/release/libnvshmemrs.so julia --project=bindings/julia perf/julia/cost.jl

using NVSHMEMRS

const ROOT = dirname(dirname(@__DIR__))
const BATCHES, CALLS, ROUNDS = 200, 20_000, 5

"Nanoseconds of one of `CALLS` calls, the best of some batches."
function best(f::F) where {F}
    least = Inf
    for _ in 1:BATCHES
        start = time_ns()
        f()
        least = min(least, (time_ns() - start) / CALLS)
    end
    return least
end

function puts(x, row)
    for _ in 1:CALLS
        put!(x, row, 0)
    end
end

function elements(x)
    for _ in 1:CALLS
        put!(view(x, 1), 1.5, 0)
    end
end

# Simple loops, which the compiler makes vector instructions of where it can.
function axpy!(y, a, x)
    @inbounds @simd for i in eachindex(y, x)
        y[i] += a * x[i]
    end
end

function julia_costs()
    NVSHMEMRS.init() do job
        x, row = NVSHMEMRS.zeros(Float64, 1), [1.5]
        put8, p8 = best(() -> puts(x, row)), best(() -> elements(x))
        plain = (zeros(4096), ones(4096))
        symmetric = (NVSHMEMRS.zeros(Float64, 4096), SymmetricArray(ones(4096)))
        loop(arrays) = best(() -> foreach(_ -> axpy!(arrays[1], 2.0, arrays[2]), 1:5)) * CALLS / 5
        return put8, p8, loop(plain), loop(symmetric)
    end
end

function c_costs(program)
    lines = split(chomp(read(program, String)), '\n')
    return Tuple(parse(Float64, split(line)[2]) for line in lines)
end

function main()
    library = dirname(abspath(ENV["NVSHMEMRS_LIBRARY"]))
    mktempdir() do folder
        program = joinpath(folder, "cost")
        run(`cc -O2 -I$ROOT/include $ROOT/perf/julia/cost.c -L$library -lnvshmemrs -Wl,-rpath,$library -o $program`)
        costs = [(c_costs(`$program`)..., julia_costs()...) for _ in 1:ROUNDS]
        least = [minimum(round[i] for round in costs) for i in 1:6]
        row(name, a, b) = println(rpad(name, 34), lpad(round(a, digits = 2), 9), lpad(round(b, digits = 2), 9),
                                  lpad(round(b / a, digits = 2), 7))
        println(rpad("", 34), lpad("C", 9), lpad("Julia", 9), lpad("ratio", 7))
        row("put of 8 bytes, ns", least[1], least[3])
        row("put of one element (p), ns", least[2], least[4])
        println(rpad("", 34), lpad("Array", 9), lpad("symm.", 9), lpad("ratio", 7))
        row("y += a x, 4096 elements, ns", least[5], least[6])
    end
end

main()
