/* The PEs that share a GPU, and the first PE of each: their teams, and a sum over the members of each. */
#include "device_pe.h"

static int64_t *sums;

static void sum(const char *name, nvshmemrs_team_t team)
{
    int32_t mine, members;
    CHECK(nvshmemrs_team_my_pe(rt, team, &mine));
    CHECK(nvshmemrs_team_n_pes(rt, team, &members));
    if (mine == -1) {
        REFUSED(NVSHMEMRS_ERROR_BAD_HANDLE, "first PE of each GPU", nvshmemrs_barrier(rt, team));
        if (members != -1)
            FAIL("%s has %d PEs", name, (int)members);
        printf("PE %d: %s not a member\n", (int)pe, name);
    } else {
        int64_t word = (int64_t)1 << pe, total;
        CHECK(nvshmemrs_put(rt, sums, &word, 8, pe));
        CHECK(nvshmemrs_reduce(rt, team, sums + 1, sums, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        CHECK(nvshmemrs_get(rt, &total, sums + 1, 8, pe));
        printf("PE %d: %s number %d of %d, sum %d\n", (int)pe, name, (int)mine, (int)members, (int)total);
    }
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

int main(void)
{
    begin();
    sums = (int64_t *)words(2);
    sum("SAME_GPU", NVSHMEMRS_TEAM_SAME_GPU);
    sum("GPU_LEADERS", NVSHMEMRS_TEAM_GPU_LEADERS);
    CHECK(nvshmemrs_free(rt, sums));
    end();
    return 0;
}
