/* Maps a `cudaStream_t` to a stream of the library. */

#include "internal.h"

#include <pthread.h>

/* Guards the streams of members. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;

static bool on_device(nvshmemrs_runtime_t rt)
{
    int32_t device = -1;
    return nvshmemrs_device(rt, &device) == NVSHMEMRS_SUCCESS && device >= 0;
}

/* The stream for NULL, cudaStreamLegacy or cudaStreamPerThread, whose handle is kept. On host memory all three are one stream. */
static int32_t kept(struct nvshmemrs_nvshmem_member *member, uintptr_t number, nvshmemrs_stream_t *handle)
{
    const bool device = on_device(member->rt);
    nvshmemrs_stream_t *place = &member->streams[device ? number : 0];
    int32_t status = NVSHMEMRS_SUCCESS;
    pthread_mutex_lock(&changes);
    if (*place == 0)
        status = device ? nvshmemrs_stream_from_cuda(member->rt, (void *)number, place) : nvshmemrs_stream_new(member->rt, place);
    *handle = *place;
    pthread_mutex_unlock(&changes);
    return status;
}

nvshmemrs_stream_t nvshmemrs_nvshmem_handle_of(const char *name, cudaStream_t stream, const void *place)
{
    nvshmemrs_stream_t handle = 0;
    const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_complete(name);
    struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    const uintptr_t number = (uintptr_t)stream;
    int32_t status = NVSHMEMRS_SUCCESS, done = 0;
    /* The call itself reports that there is no runtime. */
    if (rt == 0 || member == NULL) {
        if (rt != 0)
            nvshmemrs_nvshmem_misused(name, place, "a function on a stream needs `nvshmem_init` on this thread");
        return 0;
    }
    if (number < sizeof member->streams / sizeof *member->streams) {
        status = kept(member, number, &handle);
    } else if (on_device(rt)) {
        /* The program may destroy its stream, and a new stream may get its address. */
        status = nvshmemrs_stream_of_cuda(rt, stream, &handle);
    } else if (nvshmemrs_stream_query(number, &done) == NVSHMEMRS_ERROR_BAD_HANDLE) {
        nvshmemrs_nvshmem_misused(name, place,
            "argument `stream` is %p; with the heap in host memory it must be NULL or a handle of `nvshmemrs_stream_new`", (void *)stream);
    } else {
        handle = number;
    }
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed(name, status, place);
    return handle;
}

uint64_t nvshmemrs_nvshmem_stream(cudaStream_t stream)
{
    struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    const uintptr_t number = (uintptr_t)stream;
    nvshmemrs_stream_t handle = 0;
    if (nvshmemrs_nvshmem_complete("nvshmemrs_nvshmem_stream") == 0 || member == NULL || number >= sizeof member->streams / sizeof *member->streams)
        return 0;
    return kept(member, number, &handle) == NVSHMEMRS_SUCCESS ? handle : 0;
}

int32_t nvshmemrs_nvshmem_end_streams(struct nvshmemrs_nvshmem_member *member)
{
    int32_t first = NVSHMEMRS_SUCCESS;
    for (size_t i = 0; i < sizeof member->streams / sizeof *member->streams; i++) {
        const int32_t status = nvshmemrs_stream_free(member->streams[i]);
        member->streams[i] = 0;
        if (first == NVSHMEMRS_SUCCESS)
            first = status;
    }
    return first;
}
