# Ends of the program while another thread waits: the first word says which.

using NVSHMEMRS

const END = ARGS[1]

job = NVSHMEMRS.init()
me = my_pe()
word = NVSHMEMRS.zeros(Int64, 1)
barrier()
started = Threads.Atomic{Int}(0)
waiter = Threads.@spawn begin
    started[] = 1
    try
        wait_until(==, word, 1)
    catch problem
        # Nothing is printed here: the program is ending.
        problem isa NVSHMEMError && problem.status == NVSHMEMRS.FFI.Status.INTERRUPTED && (started[] = 2)
    end
end
# A task that sleeps would let the other one run on this thread.
pause(seconds) = ccall(:usleep, Cint, (Cuint,), round(Cuint, 1e6 * seconds))
while started[] == 0
    pause(0.01)
end
# Until the wait is on the board.
pause(0.3)
if END in ("barrier", "finalize")
    atexit() do
        barrier()
        if END == "finalize"
            NVSHMEMRS.finalize()
            # The wait is over, and the task is on its way.
            stop = time() + 20
            while started[] != 2 && time() < stop
                pause(0.001)
            end
            started[] == 2 || ccall(:_exit, Cvoid, (Cint,), 9)
        end
        println("PE $me fine")
        flush(stdout)
    end
end
END == "throw" && error("of the program")
END == "end" || exit(3)
