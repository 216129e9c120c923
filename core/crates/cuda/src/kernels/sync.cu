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
    CollectiveCall call(c, entered_published(c));
    if (!call.enter(call.is_current())) return;
    call.announce(threadIdx.x, blockDim.x);
    // A member that gives up has announced this: the next collective of the other members ends with an error.
    if (c.count) return;
    call.wait_all_calls(threadIdx.x, blockDim.x);
    call.leave();
}
