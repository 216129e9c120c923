# The package's tests. They start PEs with nvshmemrs-run, which lies beside the library or is on the PATH.

using Test

const LAUNCHER = let beside = joinpath(dirname(abspath(get(ENV, "NVSHMEMRS_LIBRARY", ""))), "nvshmemrs-run")
    isfile(beside) ? beside : Sys.which("nvshmemrs-run")
end
LAUNCHER === nothing && error("nvshmemrs-run is neither beside the library that NVSHMEMRS_LIBRARY names nor on the PATH")

# The programs are short: compiling less of them takes less time.
const JULIA = `$(Base.julia_cmd()) --startup-file=no --compile=min -O0 --project=$(Base.active_project())`
const HERE = @__DIR__

# On a busy machine PEs may start at different times.
get!(ENV, "NVSHMEMRS_INIT_TIMEOUT", "600")
# Once, and not by each PE for itself.
run(`$JULIA -e "using NVSHMEMRS"`)

"Runs a command and returns its output: on standard output, and on standard error."
function outputs(command)
    out, err = IOBuffer(), IOBuffer()
    process = run(pipeline(ignorestatus(command), stdout = out, stderr = err))
    texts = String(take!(out)), String(take!(err))
    success(process) || @error "a program failed" command out = texts[1] err = texts[2]
    return texts
end

lines(text) = sort(split(chomp(text), '\n'))

@testset "NVSHMEMRS" begin
    # All types with two PEs; with three, one type of each size and kind.
    @testset "a job of $n PEs" for (n, types) in ((2, ``), (3, `--few-types`))
        texts = outputs(`$LAUNCHER -n $n -- $JULIA $HERE/job.jl $types`)
        @test (lines(texts[1]), texts[2]) == (["job ok PE $pe of $n" for pe in 0:(n - 1)], "")
    end
    @testset "a PE alone" begin
        @test outputs(`$JULIA $HERE/job.jl --no-types`) == ("job ok PE 0 of 1\n", "")
    end
    @testset "places in the program" begin
        texts = outputs(`$LAUNCHER -n 2 --check -- $JULIA $HERE/places.jl`)
        @test occursin("places ok", texts[1])
        @test occursin("places.jl:$(findfirst(endswith("# puts"), readlines("$HERE/places.jl")))", texts[2])
        @test occursin("places.jl:$(findfirst(endswith("# reads"), readlines("$HERE/places.jl")))", texts[2])
    end
    @testset "a PE that throws leaves" begin
        # Then that is the error of a collective, also of one whose arrays are wrong here.
        program = """using NVSHMEMRS; NVSHMEMRS.init() do job
            my_pe() == 0 && error("over")
            try barrier() catch problem; println(stderr, problem) end
            allreduce!(+, zeros(3))
        end"""
        out, err = IOBuffer(), IOBuffer()
        process = run(pipeline(ignorestatus(`$LAUNCHER --grace 300 -n 2 -- $JULIA -e $program`), stdout = out, stderr = err))
        said = String(take!(err))
        @test !success(process)
        @test occursin("over", said)
        @test length(collect(eachmatch(r"NVSHMEMError\(PE_DIED\)", said))) == 2
    end
    @testset "garbage is collected while another thread waits" begin
        @test withenv(() -> outputs(`$JULIA $HERE/threads.jl`), "JULIA_NUM_THREADS" => "2") == ("threads ok\n", "")
    end
    @testset "examples of the docstrings" begin
        texts = outputs(`$JULIA $HERE/doctests.jl`)
        @test occursin(" run, 0 wrong, 0 names", texts[1])
    end
    @testset "the program of the README" begin
        readme = read("$HERE/../README.md", String)
        program = split(split(readme, "```julia\n")[2], "\n```")[1]
        said = split(split(readme, "```text\n")[2], "\n```")[1]
        texts = outputs(`$LAUNCHER -n 2 -- $JULIA -e $program`)
        @test (lines(texts[1]), texts[2]) == (lines(said), "")
    end
    @testset "extensions, with stand-ins for CUDA.jl and MPI.jl" begin
        mktempdir() do folder
            ranks = map(0:1) do rank
                command = `env FAKE_MPI_RANK=$rank FAKE_MPI_SIZE=2 $JULIA $HERE/extensions.jl $folder`
                @async outputs(command)
            end
            @test fetch.(ranks) == [("extensions ok PE $rank\n", "") for rank in 0:1]
        end
    end
end
