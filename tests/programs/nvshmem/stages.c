/* The two stages of init with a heap on GPUs: programs ask for their number on the host, choose the GPU by it, and only then use the heap.
 * The argument says how: `later` chooses by the first allocation, `now` before init, `mixed` on some PEs before, `told` by the attributes. */

#include "../driver.h"
#undef CHECK

#include "common.h"

static void *context;

/* As cudaSetDevice. */
static void set_device(int device)
{
    CUDA(cuInit, (unsigned), 0);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CUDA(cuCtxPushCurrent_v2, (void *), context);
}

/* Words of a heap that the CPU cannot read. */
static long read_word(const long *word)
{
    long value = 0;
    nvshmem_long_get(&value, word, 1, me);
    return value;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "later";
    const int devices = atoi(getenv("FAKE_CUDA_DEVICES"));
    const int rank = atoi(getenv("NVSHMEMRS_PE"));
    /* Not the GPU that the library would choose by itself. */
    const int shift = strcmp(how, "later") == 0 || strcmp(how, "told") == 0;
    const int told = strcmp(how, "told") == 0, early = strcmp(how, "now") == 0 || (strcmp(how, "mixed") == 0 && rank == 0);
    if (early)
        set_device(rank % devices);
    if (told) {
        nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
        attr.args.cuda_device_id = (rank + shift) % devices;
        if (nvshmemx_init_attr(0, &attr) != 0)
            FAIL("init: %s", nvshmemrs_last_error());
    } else {
        nvshmem_init();
    }
    who();
    const int node = nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE);
    CHECK(me == rank && node == rank && nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == n_pes);
    const int status = nvshmemx_init_status();
    if (told || early) {
        CHECK(status >= NVSHMEM_STATUS_IS_INITIALIZED);
    } else {
        CHECK(status == NVSHMEM_STATUS_IS_BOOTSTRAPPED);
        set_device((node + shift) % devices);
    }
    long *word = nvshmem_malloc(4 * sizeof *word);
    CHECK(word != NULL && nvshmemx_init_status() == (n_pes > devices ? NVSHMEM_STATUS_LIMITED_MPG : NVSHMEM_STATUS_IS_INITIALIZED));
    int32_t device = -1;
    CHECK(nvshmemrs_device(nvshmemrs_nvshmem_runtime(), &device) == 0);
    CHECK(device == (rank + shift) % devices);
    CHECK(nvshmem_my_pe() == rank);

    /* A stream of the program's, and the default one. */
    struct CUstream_st *stream = NULL;
    if (context == NULL)
        set_device(device);
    CUDA(cuStreamCreate, (struct CUstream_st **, unsigned), &stream, 1);
    nvshmemx_long_p_on_stream(word, me + 10, next, stream);
    nvshmemx_barrier_all_on_stream(stream);
    CUDA(cuStreamSynchronize, (struct CUstream_st *), stream);
    CHECK(read_word(word) == before + 10);
    /* The address may be another stream's after this. */
    CUDA(cuStreamDestroy_v2, (struct CUstream_st *), stream);
    CHECK(nvshmemx_long_sum_reduce_on_stream(NVSHMEM_TEAM_WORLD, word + 1, word, 1, NULL) == 0);
    nvshmemx_quiet_on_stream(NULL);
    drain();
    CHECK(read_word(word + 1) == 10L * n_pes + n_pes * (n_pes - 1) / 2);
    nvshmem_free(word);
    end();
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    return 0;
}
