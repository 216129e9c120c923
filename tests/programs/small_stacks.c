/* Calls on threads whose stack has as many KiB as the first word says, or, with 0, the least that the system allows. */

#include "check.h"

#include <limits.h>
#include <pthread.h>

static nvshmemrs_runtime_t runtime;
static int32_t pe;

static void *nothing(void *unused)
{
    return unused;
}

static void *calls(void *unused)
{
    enum { COUNT = 3000 };
    void *source, *dest, *flags;
    CHECK(nvshmemrs_calloc(runtime, COUNT, 8, &source));
    CHECK(nvshmemrs_calloc(runtime, COUNT, 8, &dest));
    CHECK(nvshmemrs_calloc(runtime, 2, 8, &flags));
    CHECK(nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, COUNT, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
    CHECK(nvshmemrs_alltoall(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, 800));
    CHECK(nvshmemrs_put(runtime, dest, source, 8, 0));
    uint64_t zero = 0;
    size_t index;
    CHECK(nvshmemrs_wait_until_any(runtime, flags, 2, NULL, NVSHMEMRS_CMP_EQ, &zero, NVSHMEMRS_DTYPE_UINT64, &index));
    if (pe == 0)
        usleep(60000);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (nvshmemrs_put(runtime, dest, source, 8, 999) != NVSHMEMRS_ERROR_PE_RANGE)
        exit(90);
    puts(nvshmemrs_last_error());
    CHECK(nvshmemrs_free(runtime, flags));
    return unused;
}

int main(int count, char **words)
{
    size_t kib = count > 1 ? (size_t)atoi(words[1]) : 0;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, kib ? kib * 1024 : (size_t)PTHREAD_STACK_MIN))
        return 91;
    runtime = join(&pe);
    if (pthread_create(&thread, &attributes, kib ? calls : nothing, NULL))
        return 92;
    pthread_join(thread, NULL);
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
