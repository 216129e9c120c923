/* Counts how many results of atomic operations without blocking are there before quiet. All are after it. */
#include "../checker/planted/job.h"

int main(void)
{
    join();
    uint64_t *words = zeroed(1, sizeof *words), early = 0;
    uint32_t *small = zeroed(1, sizeof *small);
    for (uint64_t round = 0; round < 20; round++) {
        const uint64_t none = 99;
        volatile uint64_t got[8];
        volatile uint32_t got32[2] = {99, 99};
        for (int i = 0; i < 8; i++) {
            got[i] = none;
        }
        uint64_t *to = (uint64_t *)got;
        CALL(nvshmemrs_atomic_fetch_add64_nbi(rt, to, words, 0, me));
        CALL(nvshmemrs_atomic_fetch64_nbi(rt, to + 1, words, me));
        CALL(nvshmemrs_atomic_swap64_nbi(rt, to + 2, words, 0, me));
        CALL(nvshmemrs_atomic_compare_swap64_nbi(rt, to + 3, words, 1, 2, me));
        CALL(nvshmemrs_atomic_fetch_and64_nbi(rt, to + 4, words, 0, me));
        CALL(nvshmemrs_atomic_fetch_or64_nbi(rt, to + 5, words, 0, me));
        CALL(nvshmemrs_atomic_fetch_xor32_nbi(rt, (uint32_t *)got32, small, 0, me));
        CALL(nvshmemrs_atomic_fetch_inc32_nbi(rt, (uint32_t *)got32 + 1, small, me));
        for (int i = 0; i < 6; i++) {
            early += got[i] != none;
        }
        early += (got32[0] != none) + (got32[1] != none);
        CALL(nvshmemrs_quiet(rt));
        for (int i = 0; i < 6; i++) {
            if (got[i] != 0) {
                return 1;
            }
        }
        if (got32[0] > round + 1 || got32[1] > round || got[6] != none || got[7] != none) {
            return 1;
        }
    }
    printf("early: %llu\n", (unsigned long long)early);
    CALL(nvshmemrs_free(rt, words));
    CALL(nvshmemrs_free(rt, small));
    return leave();
}
