/* The two stages of init of PEs that are threads of one process, with a GPU each. */

#include "../driver.h"
#undef CHECK

#include <nvshmem.h>
#include <nvshmemx.h>
#include <pthread.h>

#define PES 2

static nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;

static void *pe(void *number)
{
    const int own = (int)(intptr_t)number, other = PES - 1 - own;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    void *context = NULL;
    int32_t device = -1;
    long got = 0;
    if (nvshmemx_set_attr_uniqueid_args(own, PES, &id, &attr) != 0 || nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr) != 0)
        FAIL("init: %s", nvshmemrs_last_error());
    if (nvshmemx_init_status() != NVSHMEM_STATUS_IS_BOOTSTRAPPED || nvshmem_my_pe() != own)
        FAIL("PE %d: status %d", own, nvshmemx_init_status());
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, other);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
    long *word = nvshmem_malloc(sizeof *word);
    if (nvshmemrs_device(nvshmemrs_nvshmem_runtime(), &device) != 0 || word == NULL || device != other)
        FAIL("PE %d has its heap on GPU %d", own, (int)device);
    nvshmemx_long_p_on_stream(word, own + 3, other, NULL);
    nvshmemx_barrier_all_on_stream(NULL);
    if (nvshmemrs_stream_synchronize(nvshmemrs_nvshmem_stream(NULL)) != 0)
        FAIL("PE %d: %s", own, nvshmemrs_last_error());
    nvshmem_long_get(&got, word, 1, own);
    if (got != other + 3)
        FAIL("PE %d has got %ld", own, got);
    nvshmem_free(word);
    nvshmem_finalize();
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), other);
    printf("PE %d of %d: same\n", own, PES);
    return NULL;
}

int main(void)
{
    pthread_t threads[PES];
    if (nvshmemx_get_uniqueid(&id) != 0)
        FAIL("unique id: %s", nvshmemrs_last_error());
    for (long own = 0; own < PES; own++)
        pthread_create(&threads[own], NULL, pe, (void *)own);
    for (int own = 0; own < PES; own++)
        pthread_join(threads[own], NULL);
    return 0;
}
