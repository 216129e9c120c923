/* Handlers of XLA's foreign functions: one for each platform. The attribute `operation` says which operation a call is; the token, an
 * operand and a result of every call, gives calls their order.
 *
 * XLA's buffers are private memory. On GPUs the library takes private memory in collectives of few bytes (the attribute `private`). Otherwise
 * a collective's operand is copied to the staging area, which is symmetric, and its result from there.
 * Addresses in the heap are attributes: bytes from the staging area, which are the same on all PEs. XLA never has such memory as a buffer,
 * because it copies buffers that it does not own before it lets a call write to them. */

#include "xla_ffi.h"

#include "../../../include/nvshmemrs.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

/* The numbers of `_OPERATIONS` of `nvshmemrs.core.interop.jax._calls`. */
enum operation {
    REDUCE, REDUCESCATTER, FCOLLECT, ALLTOALL, BROADCAST, BARRIER, QUIET, PUT, GET, PUT_SIGNAL, SIGNAL_WAIT, KERNEL,
};

/* The alignment of collectives' results, the same as of XLA's own buffers. */
enum { ALIGNMENT = 256 };

/* A stream of XLA, and the library's handle for it. */
struct stream {
    struct stream *next;
    void *cuda;
    nvshmemrs_stream_t handle;
};

static struct {
    pthread_mutex_t lock;
    nvshmemrs_runtime_t runtime;
    char *staging;
    size_t bytes;
    int32_t me, n;
    /* The heap's GPU; -1: the heap is host memory. */
    int32_t device;
    struct stream *streams;
    /* On the host: the token of the last call, and whether a call is running. */
    uint32_t token;
    bool busy;
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- Errors ---- */

static struct xla_error *fail(const struct xla_call *call, int code, const char *format, ...) __attribute__((__format__(__printf__, 3, 4)));
static struct xla_error *fail(const struct xla_call *call, int code, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct xla_error_arguments error = {.struct_size = sizeof error, .message = text, .code = code};
    return call->api->error(&error);
}

/* The error of a status of this thread's last call; NULL for success. */
static struct xla_error *failed(const struct xla_call *call, int32_t status)
{
    if (status == NVSHMEMRS_SUCCESS)
        return NULL;
    return fail(call, XLA_INTERNAL, "nvshmemrs: %s", nvshmemrs_last_error_in(NVSHMEMRS_LANGUAGE_PYTHON));
}

/* ---- Arguments of a call ---- */

static size_t bytes_of(const struct xla_buffer *buffer)
{
    /* XLA's types that operations take, by size. */
    static const uint8_t sizes[34] = {[1] = 1, [2] = 1, [3] = 2, [4] = 4, [5] = 8, [6] = 1, [7] = 2, [8] = 4, [9] = 8, [10] = 2, [11] = 4,
        [12] = 8, [15] = 8, [16] = 2, [18] = 16, [19] = 1, [20] = 1};
    size_t bytes = buffer->dtype >= 0 && buffer->dtype < 34 ? sizes[buffer->dtype] : 0;
    for (int64_t i = 0; i < buffer->rank; i++)
        bytes *= (size_t)buffer->dims[i];
    return bytes;
}

/* An attribute; 0 if the call has none of this name. */
static int64_t attribute(const struct xla_call *call, const char *name)
{
    const struct xla_attributes *all = &call->attributes;
    for (int64_t i = 0; i < all->count; i++) {
        const struct xla_span *span = all->names[i];
        const struct xla_scalar *scalar = all->values[i];
        if (span->length == strlen(name) && memcmp(span->at, name, span->length) == 0 && all->types[i] == XLA_SCALAR &&
            scalar->dtype == XLA_S64)
            return *(const int64_t *)scalar->value;
    }
    return 0;
}

/* The address in an attribute. */
static void *place(const struct xla_call *call, const char *name)
{
    return job.staging + attribute(call, name);
}

/* The PE of a call: its number, or its distance from this PE if the call must be the same on all PEs. */
static int32_t target(const struct xla_call *call)
{
    const int32_t pe = (int32_t)attribute(call, "pe");
    return attribute(call, "relative") ? (job.me + pe) % job.n : pe;
}

/* ---- The operations ---- */

/* A collective: on XLA's buffers, or operand to the staging area, the collective there, and its result to XLA's buffer. */
static int32_t collective(const struct xla_call *call, uint64_t where, enum operation operation, const struct xla_buffer *from,
    const struct xla_buffer *to)
{
    const nvshmemrs_team_t team = (nvshmemrs_team_t)attribute(call, "team");
    const size_t bytes = bytes_of(from), result = bytes_of(to);
    const size_t count = (size_t)attribute(call, "count");
    const int32_t dtype = (int32_t)attribute(call, "dtype"), op = (int32_t)attribute(call, "op");
    const bool private = attribute(call, "private");
    char *source = private ? from->data : job.staging;
    char *dest = private ? to->data : source + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    int32_t status = bytes == 0 || private ? NVSHMEMRS_SUCCESS : nvshmemrs_put(where, source, from->data, bytes, job.me);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    switch (operation) {
    case REDUCE:
        status = nvshmemrs_reduce(where, team, dest, source, count, dtype, op);
        break;
    case REDUCESCATTER:
        status = nvshmemrs_reducescatter(where, team, dest, source, count, dtype, op);
        break;
    case FCOLLECT:
        status = nvshmemrs_fcollect(where, team, dest, source, bytes);
        break;
    case ALLTOALL:
        status = nvshmemrs_alltoall(where, team, dest, source, count);
        break;
    default:
        status = nvshmemrs_broadcast(where, team, dest, source, bytes, (int32_t)attribute(call, "root"));
    }
    if (status != NVSHMEMRS_SUCCESS || result == 0 || private)
        return status;
    return nvshmemrs_get(where, to->data, dest, result, job.me);
}

/* Launches a kernel of Mosaic on a CUDA stream. Its buffers are operands of the call, or symmetric memory. */
static struct xla_error *launch(const struct xla_call *call, void *cuda)
{
    enum { MOST = 64 };
    void (*start)(void *function, void *stream, void **buffers) = (void (*)(void *, void *, void **))attribute(call, "launch");
    const int64_t count = attribute(call, "count");
    void *buffers[MOST];
    if (cuda == NULL || start == NULL || count < 0 || count > MOST)
        return fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: a kernel with %d buffers, of at most %d, which runs on GPUs only", (int)count, MOST);
    for (int64_t i = 0; i < count; i++) {
        char operand[24], offset[24];
        snprintf(operand, sizeof operand, "operand_%d", (int)i);
        snprintf(offset, sizeof offset, "offset_%d", (int)i);
        const int64_t given = attribute(call, operand);
        if (given < 0 || given >= call->operands.count)
            return fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: buffer %d of a kernel is operand %d, which there is not", (int)i, (int)given);
        buffers[i] = given > 0 ? call->operands.buffers[given]->data : place(call, offset);
    }
    start((void *)attribute(call, "function"), cuda, buffers);
    return NULL;
}

/* Runs a call. `where` is the runtime's handle, or the handle of a stream, which is CUDA's `cuda`. The first operand and the first result
 * that are not the token come after it. */
static struct xla_error *run(const struct xla_call *call, uint64_t where, void *cuda)
{
    const enum operation operation = (enum operation)attribute(call, "operation");
    const struct xla_buffer *from = call->operands.count > 1 ? call->operands.buffers[1] : NULL;
    const struct xla_buffer *to = call->results.count > 1 ? call->results.buffers[1] : NULL;
    const int32_t pe = target(call);
    const uint64_t value = (uint64_t)attribute(call, "value");
    const size_t staged = (from ? bytes_of(from) : 0) + (to ? bytes_of(to) : 0) + 2 * ALIGNMENT;
    switch (operation) {
    case BARRIER:
        return failed(call, nvshmemrs_barrier(where, (nvshmemrs_team_t)attribute(call, "team")));
    case QUIET:
        return failed(call, nvshmemrs_quiet(where));
    case KERNEL:
        return launch(call, cuda);
    case SIGNAL_WAIT:
        return failed(call, nvshmemrs_wait_until(where, place(call, "signal"), (int32_t)attribute(call, "cmp"), &value, NVSHMEMRS_DTYPE_UINT64));
    case PUT:
        if (from != NULL)
            return failed(call, nvshmemrs_put(where, place(call, "dest"), from->data, bytes_of(from), pe));
        break;
    case PUT_SIGNAL:
        if (from != NULL)
            return failed(call, nvshmemrs_put_signal(where, place(call, "dest"), from->data, bytes_of(from), place(call, "signal"), value,
                                    (int32_t)attribute(call, "signal_op"), pe));
        break;
    case GET:
        if (to != NULL)
            return failed(call, nvshmemrs_get(where, to->data, place(call, "source"), bytes_of(to), pe));
        break;
    default:
        if (operation > BROADCAST || operation < REDUCE || from == NULL || to == NULL)
            break;
        if (staged > job.bytes && !attribute(call, "private"))
            return fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: the call needs %zu bytes of the staging area, which has %zu", staged, job.bytes);
        return failed(call, collective(call, where, operation, from, to));
    }
    return fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: operation %d is none of this library: its version is not that of the Python package",
        (int)operation);
}

/* Answers XLA's query when it registers a handler; otherwise checks a call, with the problem in `error`. Returns whether the call is to be
 * run. */
static bool begins(const struct xla_call *call, bool on_host, struct xla_error **error)
{
    *error = NULL;
    for (const struct xla_extension *at = call->extensions; at != NULL; at = at->next) {
        if (at->type == XLA_EXTENSION_METADATA) {
            struct xla_metadata *metadata = ((const struct xla_metadata_extension *)at)->metadata;
            metadata->version.major = XLA_FFI_MAJOR;
            metadata->version.minor = XLA_FFI_MINOR;
            /* Work on a stream is captured as well as run, so XLA may launch calls as parts of a CUDA graph. */
            metadata->traits = on_host ? 0 : XLA_COMMAND_BUFFER_COMPATIBLE;
            return false;
        }
    }
    if (call->stage != XLA_EXECUTE)
        return false;
    if (call->operands.count < 1 || call->results.count < 1)
        *error = fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: a call without a token");
    else if (job.runtime == 0)
        *error = fail(call, XLA_FAILED_PRECONDITION, "nvshmemrs: this process has not called interop.jax.start, or has called stop since");
    else if (on_host != (job.device < 0))
        *error = fail(call, XLA_INVALID_ARGUMENT, "nvshmemrs: the call's arrays are on %s, and the symmetric heap is on %s",
            on_host ? "the host" : "a GPU", on_host ? "a GPU" : "the host");
    return *error == NULL;
}

/* ---- The host ---- */

/* Checks the token of a call: it starts a chain (0), or is the token of the last call. */
static struct xla_error *take(const struct xla_call *call)
{
    const uint32_t given = *(const uint32_t *)call->operands.buffers[0]->data;
    pthread_mutex_lock(&job.lock);
    const bool busy = job.busy, stale = given != 0 && given != job.token;
    const uint32_t last = job.token;
    if (!busy && !stale)
        job.busy = true;
    pthread_mutex_unlock(&job.lock);
    if (busy)
        return fail(call, XLA_FAILED_PRECONDITION,
            "nvshmemrs: two operations at a time, which therefore have no order: pass the token of one to the other");
    if (stale)
        return fail(call, XLA_FAILED_PRECONDITION,
            "nvshmemrs: token %u was passed on already, and the last operation gave token %u: pass that one, so that operations have the same "
            "order on all PEs",
            given, last);
    return NULL;
}

static void give(const struct xla_call *call)
{
    pthread_mutex_lock(&job.lock);
    job.token += job.token == UINT32_MAX ? 2 : 1;
    *(uint32_t *)call->results.buffers[0]->data = job.token;
    job.busy = false;
    pthread_mutex_unlock(&job.lock);
}

EXPORTED struct xla_error *nvshmemrs_jax_host(const struct xla_call *call)
{
    struct xla_error *error;
    if (!begins(call, true, &error))
        return error;
    error = take(call);
    if (error != NULL)
        return error;
    error = run(call, job.runtime, NULL);
    give(call);
    return error;
}

/* ---- GPUs ---- */

/* The library's handle for a stream of XLA; 0 after an error. */
static nvshmemrs_stream_t adopted(void *cuda, int32_t *status)
{
    *status = NVSHMEMRS_SUCCESS;
    pthread_mutex_lock(&job.lock);
    struct stream *stream = job.streams;
    while (stream != NULL && stream->cuda != cuda)
        stream = stream->next;
    if (stream == NULL) {
        nvshmemrs_stream_t handle = 0;
        *status = nvshmemrs_stream_from_cuda(job.runtime, cuda, &handle);
        stream = *status == NVSHMEMRS_SUCCESS ? malloc(sizeof *stream) : NULL;
        if (stream != NULL) {
            *stream = (struct stream){.next = job.streams, .cuda = cuda, .handle = handle};
            job.streams = stream;
        }
    }
    nvshmemrs_stream_t handle = stream != NULL ? stream->handle : 0;
    pthread_mutex_unlock(&job.lock);
    return handle;
}

/* The work goes on XLA's stream. The token is never read there: each call needs the one of the call before, and so XLA keeps their order, also
 * as nodes of a CUDA graph. */
EXPORTED struct xla_error *nvshmemrs_jax_cuda(const struct xla_call *call)
{
    struct xla_error *error;
    if (!begins(call, false, &error))
        return error;
    struct xla_stream_arguments asked = {.struct_size = sizeof asked, .context = call->context};
    error = call->api->stream(&asked);
    if (error != NULL)
        return error;
    int32_t status;
    const nvshmemrs_stream_t stream = adopted(asked.stream, &status);
    if (status != NVSHMEMRS_SUCCESS)
        return failed(call, status);
    if (stream == 0)
        return fail(call, XLA_INTERNAL, "nvshmemrs: no memory for a stream's handle");
    return run(call, stream, asked.stream);
}

/* ---- For Python ---- */

/* The version of XLA's interface that the handlers are made for. */
EXPORTED void nvshmemrs_jax_version(int32_t *major, int32_t *minor)
{
    *major = XLA_FFI_MAJOR;
    *minor = XLA_FFI_MINOR;
}

/* Enables calls for a PE; runtime 0 disables them. Local. Handles of XLA's streams are released. */
EXPORTED int32_t nvshmemrs_jax_use(nvshmemrs_runtime_t runtime, void *staging, size_t bytes)
{
    int32_t me = 0, n = 0, device = -1, status = runtime != 0 ? nvshmemrs_my_pe(runtime, &me) : NVSHMEMRS_SUCCESS;
    if (runtime != 0 && status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_n_pes(runtime, &n);
    if (runtime != 0 && status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_device(runtime, &device);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    pthread_mutex_lock(&job.lock);
    while (job.streams != NULL) {
        struct stream *stream = job.streams;
        job.streams = stream->next;
        /* After the end of the job the handle is invalid, which is harmless. */
        int32_t released = nvshmemrs_stream_release(stream->handle);
        (void)released;
        free(stream);
    }
    job.runtime = runtime;
    job.staging = staging;
    job.bytes = bytes;
    job.me = me;
    job.n = n;
    job.device = device;
    pthread_mutex_unlock(&job.lock);
    return NVSHMEMRS_SUCCESS;
}
