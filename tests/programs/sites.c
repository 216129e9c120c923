/* Allocates from several places and frees nothing: a list of allocations must name these lines. */
#include "check.h"

#include <pthread.h>

/* In a library of its own, or in this file. */
void make_elsewhere(nvshmemrs_runtime_t runtime);

#ifdef ELSEWHERE
void make_elsewhere(nvshmemrs_runtime_t runtime)
{
    void *memory;
    CHECK(nvshmemrs_malloc(runtime, 300, &memory)); /* elsewhere */
}
#endif

#ifndef LIBRARY
static nvshmemrs_runtime_t rt;

__attribute__((noinline)) void make(size_t bytes)
{
    void *memory;
    CHECK(nvshmemrs_malloc(rt, bytes, &memory)); /* make */
}

static void *thread(void *unused)
{
    void *memory;
    CHECK(nvshmemrs_calloc(rt, 2, 100, &memory)); /* thread */
    return unused;
}

int main(void)
{
    pthread_t other;
    CHECK(nvshmemrs_init(NULL, &rt));
    make(100);
    if (pthread_create(&other, NULL, thread, NULL) != 0) {
        return 1;
    }
    pthread_join(other, NULL);
    make_elsewhere(rt);
    CHECK(nvshmemrs_finalize(rt));
    return 0;
}
#endif
