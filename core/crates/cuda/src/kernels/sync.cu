// Ordering and barriers.

// What came before on the stream is ordered before what comes after, for every PE.
KERNEL nvshmemrs_fence() {
    fence();
}

// What came before on the stream is complete, visibly for every PE.
KERNEL nvshmemrs_quiet() {
    full_fence();
}

// Barrier and sync; one block.
KERNEL nvshmemrs_barrier(const __grid_constant__ Collective c) {
    Turn turn(c);
    if (!turn.live()) return;
    // A member that will not come says so: that ends the others' next collective.
    if (c.count) return turn.announce_all(threadIdx.x, blockDim.x);
    turn.announce_all(threadIdx.x, blockDim.x);
    turn.wait_all_calls(threadIdx.x, blockDim.x);
    turn.leave();
}
