/* Allocations of every alignment up to the size of the heap, which NVSHMEM_SYMMETRIC_SIZE gives as a number: each PE's copy is aligned in
 * each process. Each PE prints "same" at the end. */

#include "check.h"

#include <stdint.h>

int main(void)
{
    int32_t me, n_pes;
    const size_t heap = strtoull(getenv("NVSHMEM_SYMMETRIC_SIZE"), NULL, 10);
    nvshmemrs_runtime_t rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    size_t alignment = sizeof(void *);
    for (; alignment <= heap; alignment *= 2) {
        void *small, *found, *there;
        uint64_t guard[8], sent = alignment + (uint64_t)me, seen;
        memset(guard, 7, sizeof guard);
        CHECK(nvshmemrs_malloc(rt, alignment < heap / 4 ? sizeof guard : 0, &small));
        if (small != NULL)
            memcpy(small, guard, sizeof guard);
        CHECK(nvshmemrs_align(rt, alignment, 2 * sizeof sent, &found));
        for (int32_t pe = 0; pe < n_pes; pe++) {
            CHECK(nvshmemrs_ptr(rt, found, pe, &there));
            EXPECT(there != NULL && (uintptr_t)there % alignment == 0);
        }
        CHECK(nvshmemrs_put(rt, (uint64_t *)found + 1, &sent, sizeof sent, (me + 1) % n_pes));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        memcpy(&seen, (uint64_t *)found + 1, sizeof seen);
        EXPECT(seen == alignment + (uint64_t)((me + n_pes - 1) % n_pes));
        EXPECT(small == NULL || memcmp(small, guard, sizeof guard) == 0);
        CHECK(nvshmemrs_free(rt, found));
        CHECK(nvshmemrs_free(rt, small));
    }
    void *none;
    char limit[64];
    snprintf(limit, sizeof limit, "at most %zu,", alignment / 2);
    EXPECT(nvshmemrs_align(rt, alignment, 1, &none) == NVSHMEMRS_ERROR_INVALID_VALUE);
    EXPECT(strstr(nvshmemrs_last_error(), limit) != NULL);
    CHECK(nvshmemrs_finalize(rt));
    puts("same");
    return 0;
}
