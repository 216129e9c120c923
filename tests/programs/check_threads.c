/* Two PEs that are threads of one process; each fills its table, and looks up a value in the other's.
 *
 * Bug, unless compiled with -DMENDED: the other one may not have filled its table yet.
 * Expect: read early or write early: store at A, get at B
 */
#include "check.h"

#include <pthread.h>

static nvshmemrs_local_job_t job;

static void *run(void *number)
{
    int me = *(int *)number;
    nvshmemrs_runtime_t rt;
    int64_t *table, found = 0;
    CHECK(nvshmemrs_local_job_join(job, me, &rt));
    CHECK(nvshmemrs_calloc(rt, 1, sizeof *table, (void **)&table));
    *table = me + 1; /* A */
#ifdef MENDED
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
#endif
    CHECK(nvshmemrs_get(rt, &found, table, sizeof found, 1 - me)); /* B */
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_free(rt, table));
#ifdef MENDED
    CHECK(nvshmemrs_finalize(rt));
#else
    if (nvshmemrs_finalize(rt) != NVSHMEMRS_ERROR_CHECK_FAILED) {
        exit(1);
    }
#endif
    printf("PE %d found %d\n", me, (int)found);
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    int numbers[2] = {0, 1};
    CHECK(nvshmemrs_local_job_new(2, NULL, &job));
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(nvshmemrs_local_job_free(job));
    return 0;
}
