// Reductions in place from C++ kernels, on the CPU: as numba_rounds.py, which the other PEs of a job may run. Prints a line for each
// case: how often the members have met.
#include "job.hpp"

static Pe pe;
static unsigned slot = 8; // smaller ones reduce what is short by mail

// Which threads call, of a block of so many.
enum Scope { THREAD, WARP, BLOCK };

template <class T> using Reduce = void (*)(State, int, T *, u64, unsigned);

template <class T>
static void one(const char *type, Scope scope, unsigned threads, u64 count, bool aligned, Reduce<T> reduce) {
    void *memory; // as nvshmem.array asks for it
    call(nvshmemrs_calloc(pe.runtime, count + 1, sizeof(T), &memory));
    T *data = (T *)memory + !aligned;
    for (u64 i = 0; i < count; i++) data[i] = (T)(i % 50 + pe.me);
    pe.barrier();
    nvshmemrs::host::launch(1, threads, [&] {
        if (scope == BLOCK || threadIdx.x < (scope == WARP ? 32 : 1)) reduce(pe.state, scope, data, count, slot);
    });
    for (u64 i = 0; i < count; i++)
        check(data[i] == (T)(pe.n * (i % 50) + pe.n * (pe.n - 1) / 2), std::string(type) + ": element " + std::to_string(i));
    // The row of the team of all PEs: how often each slot's members have met.
    u64 *epochs = *(u64 **)(pe.state.job + 64 + 32);
    printf("%s scope %d threads %u count %lu aligned %d: ", type, scope, threads, count, aligned);
    printf("%lu\n", epochs[slot++]);
    pe.barrier();
    call(nvshmemrs_free(pe.runtime, memory));
}

#define TYPE(NAME, T)                                                                                                \
    static void reduce_##NAME(State s, int scope, T *data, u64 count, unsigned slot) {                               \
        if (scope == THREAD) nvshmemrs_##NAME##_sum_reduce(s, NVSHMEMRS_TEAM_WORLD, data, data, count, slot);        \
        if (scope == WARP) nvshmemrs_##NAME##_sum_reduce_warp(s, NVSHMEMRS_TEAM_WORLD, data, data, count, slot);     \
        if (scope == BLOCK) nvshmemrs_##NAME##_sum_reduce_block(s, NVSHMEMRS_TEAM_WORLD, data, data, count, slot);   \
    }                                                                                                                \
    static void all_##NAME() {                                                                                       \
        for (u64 count : {3, 67, 200}) one<T>(#NAME, BLOCK, 4, count, true, reduce_##NAME);                          \
        one<T>(#NAME, BLOCK, 4, 9, false, reduce_##NAME);                                                            \
        one<T>(#NAME, THREAD, 4, 67, true, reduce_##NAME);                                                           \
        one<T>(#NAME, WARP, 33, 3001, true, reduce_##NAME);                                                          \
    }
TYPE(int8, signed char)
TYPE(int16, short)
TYPE(uint32, unsigned)
TYPE(float, float)
TYPE(double, double)

int main() {
    pe = start();
    all_int8(), all_int16(), all_uint32(), all_float(), all_double();
    call(nvshmemrs_finalize(pe.runtime));
}
