// The primitives of include/nvshmemrs_device.cuh for the library's kernels, which pass addresses as numbers. This file is included first.
#pragma once

using nvshmemrs::device::Bytes16;
using nvshmemrs::device::common_power;
using nvshmemrs::device::copy_edge;
using nvshmemrs::device::fence;
using nvshmemrs::device::full_fence;
using nvshmemrs::device::least;
// Polls between two looks at the abort word, which lies behind PCIe.
using nvshmemrs::device::POLLS;

// Accesses at `.sys` scope to words that other PEs also access.
#define ACCESSES(T, SUFFIX)                                                                                               \
    DEVICE T load_relaxed##SUFFIX(u64 at) { return nvshmemrs::device::load_relaxed((const T *)at); }                     \
    DEVICE T load_acquire##SUFFIX(u64 at) { return nvshmemrs::device::load_acquire((const T *)at); }                     \
    DEVICE void store_relaxed##SUFFIX(u64 at, T value) { nvshmemrs::device::store_relaxed((T *)at, value); }             \
    DEVICE void store_release##SUFFIX(u64 at, T value) { nvshmemrs::device::store_release((T *)at, value); }
ACCESSES(u64, )
ACCESSES(u32, _u32)
ACCESSES(u16, _u16)
ACCESSES(u8, _u8)
#undef ACCESSES

// Atomic operations on a word of 4 or 8 bytes, and the sum of a double; they return the old value.
#define ATOMIC(NAME, OF)                                                                                       \
    template <class W>                                                                                         \
    DEVICE W NAME(u64 at, W value) { return nvshmemrs::device::OF((W *)at, value); }
ATOMIC(swap, fetch_swap)
ATOMIC(fetch_add, fetch_add)
ATOMIC(fetch_and, fetch_and)
ATOMIC(fetch_or, fetch_or)
ATOMIC(fetch_xor, fetch_xor)
#undef ATOMIC
template <class W>
DEVICE W swap_if(u64 at, W cond, W value) { return nvshmemrs::device::compare_swap((W *)at, cond, value); }
DEVICE void add_release(u64 at, u64 value) { nvshmemrs::device::apply_add((u64 *)at, value); }
