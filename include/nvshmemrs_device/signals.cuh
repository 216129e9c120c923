// Part of nvshmemrs_device.cuh: updates of signals.
#pragma once

namespace nvshmemrs::device {

NVSHMEMRS_I_DEVICE void update_signal(u64 *signal, u64 value, int op) {
    if (op == NVSHMEMRS_SIGNAL_ADD) add_relaxed(signal, value);
    else store_relaxed(signal, value);
}

template <class G, u32 ALIGN, u32 OPERATION>
NVSHMEMRS_I_LOOP void put_signal(Given s, void *dest, const void *source, u64 bytes, Signal signal, u64 value, int op, i32 pe) {
    u64 to = s.on(OPERATION, pe, dest, bytes, ALIGN);
    u64 *word = s.word(OPERATION, pe, (const u64 *)signal.at);
    s.check_argument(op == NVSHMEMRS_SIGNAL_SET || op == NVSHMEMRS_SIGNAL_ADD, OPERATION, op);
    G::sync();
    // The meeting orders the earlier puts of the group's threads before the signal.
    s.record_as<G>(RECORD_PUT_SIGNAL, OPERATION, pe, dest, bytes, source, (u64)signal.at,
                 (u32)(OPERATION == PUT_SIGNAL ? NO_FLAGS : UNTIL_QUIET) | (u32)(Is<G, Thread>::yes ? NO_FLAGS : FENCED));
    copy<G, ALIGN>(to, (u64)source, bytes, s.get().lent);
    // The release of one thread covers the stores of the other threads before the meeting.
    G::sync();
    if (G::rank() == 0) {
        if (op == NVSHMEMRS_SIGNAL_ADD) apply_add(word, value);
        else store_release(word, value);
    }
}

} // namespace nvshmemrs::device
