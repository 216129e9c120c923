// Small reductions from C++ kernels, on the CPU: as triton_mail.py, which the other PEs of a job run. Prints a line for each case: how often
// the members have met, or sent mail.
#include "job.hpp"

static Pe pe;

template <class T>
static void one(const char *type, unsigned slot, u64 count, int (*reduce)(State, unsigned long, T *, const T *, unsigned long, unsigned)) {
    const int TIMES = 3;
    void *memory[2]; // as nvshmem.array asks for it
    for (void *&place : memory) call(nvshmemrs_calloc(pe.runtime, count + 1, sizeof(T), &place));
    T *dest = (T *)memory[0], *source = (T *)memory[1];
    u64 *epochs = *(u64 **)(pe.state.job + 64 + 32), before = epochs[slot];
    bool good = true;
    nvshmemrs::host::launch(1, 8, [&] {
        for (int k = 0; k < TIMES; k++) {
            for (u64 i = threadIdx.x; i < count; i += 8) source[i] = (T)(i % 9 + pe.me + k);
            __syncthreads();
            bool done = reduce(pe.state, NVSHMEMRS_TEAM_WORLD, dest, source, count, slot) == 0;
            __syncthreads();
            for (u64 i = threadIdx.x; i < count; i += 8) done &= dest[i] == (T)(pe.n * (i % 9 + k) + pe.n * (pe.n - 1) / 2);
            if (!done) good = false;
            __syncthreads();
        }
    });
    check(good, std::string(type) + ": wrong sums");
    printf("%s count %lu slot %u: %lu\n", type, count, slot, epochs[slot] - before);
    pe.barrier();
    for (void *place : memory) call(nvshmemrs_free(pe.runtime, place));
}

#define TYPE(NAME, T)                                                                                                         \
    static int reduce_##NAME(State s, unsigned long team, T *dest, const T *source, unsigned long n, unsigned slot) {         \
        return nvshmemrs_##NAME##_sum_reduce_block(s, team, dest, source, n, slot);                                           \
    }                                                                                                                         \
    static void all_##NAME() {                                                                                                \
        unsigned slot = 0;                                                                                                    \
        for (u64 count : {1, 3, 32 / (int)sizeof(T), 67}) one<T>(#NAME, slot++, count, reduce_##NAME);                        \
        one<T>(#NAME, 8, 3, reduce_##NAME);                                                                                   \
    }
TYPE(int8, signed char)
TYPE(float, float)
TYPE(double, double)

int main() {
    pe = start();
    all_int8(), all_float(), all_double();
    call(nvshmemrs_finalize(pe.runtime));
}
