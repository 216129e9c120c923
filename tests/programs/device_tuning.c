/* Sums of floats whose bits show the order of the additions, 8 bytes to 256 KiB, by every PE of a job in GPU memory. PE 0 prints a digest of all
 * results. OTHER_TUNING: the tuning file of PE 1. */
#include "device_pe.h"

#include <string.h>

enum { MOST = 64 << 10 };

static float value(int who, int index) { return (float)((index * 7919 + who * 104729) % 100003) / 1024.0f + 1e-3f; }

int main(void)
{
    const char *other = getenv("OTHER_TUNING"), *number = getenv("NVSHMEMRS_PE");
    if (other && number && !strcmp(number, "1"))
        setenv("NVSHMEMRS_TUNING_FILE", other, 1);
    begin();
    float *source = (float *)words(MOST / 2), *dest = (float *)words(MOST / 2);
    static float mine[MOST], sums[MOST];
    for (int i = 0; i < MOST; i++)
        mine[i] = value(pe, i);
    CHECK(nvshmemrs_put(rt, source, mine, sizeof mine, pe));
    uint64_t digest = 14695981039346656037u;
    for (size_t count = 2; count <= MOST; count *= 8) {
        CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, source, count, NVSHMEMRS_DTYPE_FLOAT, NVSHMEMRS_OP_SUM));
        CHECK(nvshmemrs_get(rt, sums, dest, count * sizeof *sums, pe));
        for (size_t i = 0; i < count; i++) {
            float sum = value(0, (int)i);
            for (int who = 1; who < n; who++)
                sum += value(who, (int)i);
            if (memcmp(&sum, &sums[i], sizeof sum))
                FAIL("PE %d: element %zu of %zu is %g, not %g", (int)pe, i, count, sums[i], sum);
            uint32_t bits;
            memcpy(&bits, &sums[i], sizeof bits);
            digest = (digest ^ bits) * 1099511628211u;
        }
    }
    if (pe == 0)
        printf("sums %016llx\n", (unsigned long long)digest);
    enum { TUNED = NVSHMEMRS_ALGORITHM_TUNED, FLAGS = NVSHMEMRS_ALGORITHM_FLAGS, DIRECT = NVSHMEMRS_ALGORITHM_DIRECT, BAD = NVSHMEMRS_ERROR_INVALID_VALUE };
    REFUSED(BAD, "`algorithm`", nvshmemrs_device_algorithm(rt, 5, 1, 32, 0));
    REFUSED(BAD, "`algorithm`", nvshmemrs_device_algorithm(rt, -1, 1, 32, 0));
    REFUSED(BAD, "`algorithm`", nvshmemrs_device_algorithm(rt, TUNED, 1, 32, 0));
    REFUSED(BAD, "`blocks`", nvshmemrs_device_algorithm(rt, FLAGS, 0, 32, 0));
    REFUSED(BAD, "`blocks`", nvshmemrs_device_algorithm(rt, FLAGS, -1, 32, 0));
    REFUSED(BAD, "`threads`", nvshmemrs_device_algorithm(rt, DIRECT, 1, 1024, 0));
    REFUSED(BAD, "`chunk`", nvshmemrs_device_algorithm(rt, DIRECT, 1, 32, 100));
    CHECK(nvshmemrs_free(rt, dest));
    CHECK(nvshmemrs_free(rt, source));
    end();
    return 0;
}
