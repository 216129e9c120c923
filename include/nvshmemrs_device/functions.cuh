// Part of nvshmemrs_device.cuh: functions that do not depend on a type.
#pragma once

NVSHMEMRS_I_API int nvshmemrs_my_pe(nvshmemrs::device::Given s) { return s.get().my_pe; }
NVSHMEMRS_I_API int nvshmemrs_n_pes(nvshmemrs::device::Given s) { return s.get().n_pes; }
// Whether kernels that are compiled with this header accept a state. Host code checks this before a launch, because a call in a kernel would
// trap.
template <int = 0> __host__ __device__ __forceinline__ bool nvshmemrs_device_state_fits(const nvshmemrs_device_state_t &state) {
    return state.magic == nvshmemrs::device::STATE_MAGIC &&
           (state.version & nvshmemrs::device::KNOWN_VERSION_BITS) == nvshmemrs::device::STATE_VERSION;
}
// Whether the job is broken: waits have ended although the awaited value did not arrive, and collectives fail.
NVSHMEMRS_I_API int nvshmemrs_aborted(nvshmemrs::device::Given s) { return s.aborted(); }
// Ends all PEs with `status`, of which a process keeps 8 bits. A thread of the host sees the request within 0.1 s; the kernel runs until then.
// If PEs are threads, or a single PE has the heap in host memory, the next nvshmemrs_runtime_check or finalize sees the request.
NVSHMEMRS_I_API void nvshmemrs_global_exit(nvshmemrs::device::Given s, int status) {
    using namespace nvshmemrs::device;
    u64 word = ((const Job *)s.get().job)->exit;
    if (!word) {
        printf("nvshmemrs: a kernel called global_exit, which this version of the library does not have\n");
        stop(false);
    }
    store_release((u32 *)word, 1 + ((u32)status & 0xff));
}
// The address of symmetric memory on a PE, for loads and stores; NULL if the memory is not symmetric or the PE is on another host.
NVSHMEMRS_I_API void *nvshmemrs_ptr(nvshmemrs::device::Given s, const void *dest, int pe) {
    const nvshmemrs::device::State &state = s.get();
    unsigned long offset = (unsigned long)dest - state.base - state.my_pe * state.stride;
    bool good = pe >= 0 && pe < state.n_pes && offset < ((const nvshmemrs::device::Job *)state.job)->heap_bytes && nvshmemrs::device::is_reachable(state.check, state.job, pe);
    if (good) s.record(nvshmemrs::device::RECORD_POINTER, nvshmemrs::device::GET, pe);
    return good ? (void *)(state.base + pe * state.stride + offset) : nullptr;
}
// NULL: there is no multicast memory.
NVSHMEMRS_I_API void *nvshmemrs_mc_ptr(nvshmemrs::device::Given, nvshmemrs_team_t, const void *) { return nullptr; }

// Lent shared memory. From sm_90 on, large puts and gets of a thread or a warp then use bulk copies through this memory, if source and
// destination can be aligned to sixteen bytes together. On other GPUs, and in a block's calls, lent memory is not used. Each thread or warp
// lends separate memory, aligned to sixteen bytes, and uses the state that give_smem returns. The program may use the memory again when the
// calls of all threads of the group have returned.
//
// Bytes to lend; amount: one of nvshmemrs_smem_amount. More is faster, up to the recommended amount.
template <int = 0> __host__ __device__ __forceinline__ int nvshmemrs_ask_smem(int amount = NVSHMEMRS_SMEM_RECOMMENDED) {
    return amount == NVSHMEMRS_SMEM_MINIMUM ? (int)nvshmemrs::device::LEAST_SMEM : 65536;
}
// The state with lent memory of the block; a size below the minimum lends none.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_give_smem(nvshmemrs::device::Given s, void *smem, unsigned long bytes) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = nvshmemrs::device::lend(smem, bytes);
    return state;
}
// The state without lent memory.
NVSHMEMRS_I_API nvshmemrs_device_state_t nvshmemrs_release_smem(nvshmemrs::device::Given s) {
    nvshmemrs_device_state_t state = s.get();
    state.lent = 0;
    return state;
}

NVSHMEMRS_I_API void nvshmemrs_fence([[maybe_unused]] nvshmemrs::device::Given s) {
    nvshmemrs::device::fence();
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record(nvshmemrs::device::RECORD_FENCE, nvshmemrs::device::FENCE, s.get().my_pe);
#endif
}
NVSHMEMRS_I_API void nvshmemrs_quiet([[maybe_unused]] nvshmemrs::device::Given s) {
    nvshmemrs::device::full_fence();
#ifdef NVSHMEMRS_DEVICE_RECORD
    s.record(nvshmemrs::device::RECORD_QUIET, nvshmemrs::device::QUIET, s.get().my_pe);
#endif
}
// The sources of earlier puts of the group's threads may be used again.
#define NVSHMEMRS_I_FLUSH(SUFFIX, GROUP, ...) \
    NVSHMEMRS_I_API void nvshmemrs_flush##SUFFIX(nvshmemrs::device::Given s) {                                                            \
        nvshmemrs::device::GROUP::sync();                                                                                                 \
        nvshmemrs::device::record_flush<nvshmemrs::device::GROUP>(s);                                                                       \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_FLUSH, )

NVSHMEMRS_I_API void nvshmemrs_signal_op(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, unsigned long value, int op, int pe) {
    using namespace nvshmemrs::device;
    s.check_argument(op == NVSHMEMRS_SIGNAL_SET || op == NVSHMEMRS_SIGNAL_ADD, SIGNAL_OP, op);
    u64 *word = s.word(SIGNAL_OP, pe, (const u64 *)signal.at);
    s.record(RECORD_SIGNAL, SIGNAL_OP, pe, (u64)signal.at);
    update_signal(word, value, op);
}
NVSHMEMRS_I_API unsigned long nvshmemrs_signal_fetch(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal) {
    using namespace nvshmemrs::device;
    s.check_own(SIGNAL_FETCH, signal.at, 8, 8);
    return s.seen(SIGNAL_FETCH, s.get().my_pe, (const u64 *)signal.at, load_acquire((const u64 *)signal.at));
}

NVSHMEMRS_I_API unsigned long nvshmemrs_signal_wait_until(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal, int cmp, unsigned long value) {
    return nvshmemrs::device::signal_wait(s, (const nvshmemrs::device::u64 *)signal.at, cmp, value);
}

// Sets a signal of this PE's to 0. Orders nothing.
NVSHMEMRS_I_API void nvshmemrs_signal_counted_reset(nvshmemrs::device::Given s, nvshmemrs::device::Signal signal) {
    using namespace nvshmemrs::device;
    s.check_own(SIGNAL_OP, signal.at, 8, 8);
    s.record(RECORD_ATOMIC, SIGNAL_OP, s.get().my_pe, (u64)signal.at, 8, 0, 0, 0, FETCHES);
    store_relaxed((u64 *)signal.at, (u64)0);
}

// The library's name and version, as from nvshmemrs_name and nvshmemrs_version on the host, and the version of OpenSHMEM. `name` has room for
// 256 characters. Each pointer to a number may be NULL.
NVSHMEMRS_I_API void nvshmemrs_info_get_name(nvshmemrs::device::Given, char *name) {
    const char *text = "nvshmemrs 0.1.0";
    for (int i = 0; (name[i] = text[i]) != 0; i++) {}
}
NVSHMEMRS_I_API void nvshmemrs_info_get_version(nvshmemrs::device::Given, int *major, int *minor) {
    if (major) *major = 1;
    if (minor) *minor = 5;
}
NVSHMEMRS_I_API void nvshmemrs_vendor_get_version_info(nvshmemrs::device::Given, int *major, int *minor, int *patch) {
    if (major) *major = 0;
    if (minor) *minor = 1;
    if (patch) *patch = 0;
}

// Regions, in which NVSHMEM may delay puts to combine them. Here puts are stores, so a region has no effect. All threads of the block call start
// and stop; `region` gets a handle. Both return 0.
NVSHMEMRS_I_API int nvshmemrs_region_start_block(nvshmemrs::device::Given, nvshmemrs_region_handle_t *region, const nvshmemrs_region_attrs_t *) {
    if (nvshmemrs::device::Block::rank() == 0) *region = 0;
    nvshmemrs::device::Block::sync();
    return 0;
}
NVSHMEMRS_I_API int nvshmemrs_region_stop_block(nvshmemrs::device::Given, nvshmemrs_region_handle_t) {
    nvshmemrs::device::Block::sync();
    return 0;
}
// Sets `active` to whether puts are delayed for these hints, which is never. Returns 0.
NVSHMEMRS_I_API int nvshmemrs_region_is_active(nvshmemrs::device::Given, unsigned /* hints */, int *active) {
    *active = 0;
    return 0;
}

// Teams.

NVSHMEMRS_I_API int nvshmemrs_team_my_pe(nvshmemrs::device::Given s, nvshmemrs_team_t team) {
    const nvshmemrs::device::Team found = nvshmemrs::device::find_team(s.get(), team);
    return found.n ? found.me : -1;
}
NVSHMEMRS_I_API int nvshmemrs_team_n_pes(nvshmemrs::device::Given s, nvshmemrs_team_t team) {
    const nvshmemrs::device::Team found = nvshmemrs::device::find_team(s.get(), team);
    return found.n ? found.n : -1;
}
// The number in team `dest` of the PE that has number `pe` in team `source`; -1 if there is none.
NVSHMEMRS_I_API int nvshmemrs_team_translate_pe(nvshmemrs::device::Given s, nvshmemrs_team_t source, int pe, nvshmemrs_team_t dest) {
    const nvshmemrs::device::Team from = nvshmemrs::device::find_team(s.get(), source), to = nvshmemrs::device::find_team(s.get(), dest);
    if (!from.n || !to.n || pe < 0 || pe >= from.n) return -1;
    return nvshmemrs::device::member_of(to, nvshmemrs::device::pe_of(from, pe));
}

// Collectives.

#define NVSHMEMRS_I_MEET(SUFFIX, GROUP, ...)                                                                                           \
    NVSHMEMRS_I_API int nvshmemrs_barrier##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {              \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::BARRIER, team, slot);                        \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_barrier_all##SUFFIX(nvshmemrs::device::Given s, unsigned slot = 0) {                                 \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::BARRIER, 0, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_team_sync##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {            \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, team, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_sync##SUFFIX(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {                 \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, team, slot);                           \
    }                                                                                                                                  \
    NVSHMEMRS_I_API int nvshmemrs_sync_all##SUFFIX(nvshmemrs::device::Given s, unsigned slot = 0) {                                    \
        return nvshmemrs::device::barrier<nvshmemrs::device::GROUP>(s, nvshmemrs::device::SYNC, 0, slot);                              \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MEET, )
// The only collective for the 128 threads of a warpgroup, as in NVSHMEM.
NVSHMEMRS_I_API int nvshmemrs_barrier_warpgroup(nvshmemrs::device::Given s, nvshmemrs_team_t team, unsigned slot = 0) {
    return nvshmemrs::device::barrier<nvshmemrs::device::Warpgroup>(s, nvshmemrs::device::BARRIER, team, slot);
}

// The largest x of all members with the y beside it; among equal values, the y of the first member. D: CUDA's double2.
#define NVSHMEMRS_I_MAXLOC(SUFFIX, GROUP, ...)                                                                                         \
    template <class D> NVSHMEMRS_I_DEVICE int nvshmemrs_double2_maxloc_reduce##SUFFIX(                                                 \
        nvshmemrs::device::Given s, nvshmemrs_team_t team, D *dest, const D *source, unsigned long n, unsigned slot = 0) {             \
        using namespace nvshmemrs::device;                                                                                             \
        static_assert(sizeof(D) == sizeof(Located), "a double2");                                                                      \
        return reduce<GROUP, Located, MAX, REDUCE>(s, team, dest, source, n, slot);                                                    \
    }
NVSHMEMRS_I_SCOPES(NVSHMEMRS_I_MAXLOC, )
