// Ordering and barriers.

// What came before on the stream is ordered before what comes after, for every PE.
KERNEL nvshmemrs_fence() {
    follow_previous_kernel();
    fence();
}

// What came before on the stream is complete, visibly for every PE.
KERNEL nvshmemrs_quiet() {
    follow_previous_kernel();
    full_fence();
}

// Barrier and sync; one block.
KERNEL nvshmemrs_barrier(const __grid_constant__ Collective c) {
    Turn turn(c, entered_published(c));
    if (!turn.enter(turn.is_current())) return;
    turn.announce(threadIdx.x, blockDim.x);
    // A member that will not come has announced this: the others' next collective ends with an error.
    if (c.count) return;
    turn.wait_all_calls(threadIdx.x, blockDim.x);
    turn.leave();
}
