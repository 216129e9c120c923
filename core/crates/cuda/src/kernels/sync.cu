// Ordering and barriers.

// Orders earlier operations of the stream before later operations, for every PE.
KERNEL nvshmemrs_fence() {
    follow_previous_kernel();
    fence();
}

// Completes the earlier operations of the stream, visibly for every PE.
KERNEL nvshmemrs_quiet() {
    follow_previous_kernel();
    full_fence();
}

// Barrier and sync; one block.
KERNEL nvshmemrs_barrier(const __grid_constant__ Collective c) {
    Turn turn(c, entered_published(c));
    if (!turn.enter(turn.is_current())) return;
    turn.announce(threadIdx.x, blockDim.x);
    // A member that gives up has announced this: the next collective of the other members ends with an error.
    if (c.count) return;
    turn.wait_all_calls(threadIdx.x, blockDim.x);
    turn.leave();
}
