# One thread waits in the library until the other one has collected garbage, which it can only do meanwhile.

include("check.jl")

Threads.nthreads() > 1 || error("this program takes two threads")

NVSHMEMRS.init() do job
    x = NVSHMEMRS.zeros(Int, 1)
    waiting = Threads.Atomic{Int}(0)
    Threads.@threads :static for i in 1:2
        if i == 1
            Threads.atomic_xchg!(waiting, 1)
            wait_until(==, x, 1)
        else
            while waiting[] == 0
                ccall(:jl_cpu_pause, Cvoid, ())
                GC.safepoint()
            end
            GC.gc()
            put!(x, 1, 0)
        end
    end
    same("threads", (Threads.nthreads(), x[1]), (2, 1))
end
print("threads ok\n")
