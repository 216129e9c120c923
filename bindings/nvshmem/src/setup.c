/* Init in two stages, and finalize.
 *
 * Programs call init before they choose a GPU, and ask for their number on the host to choose one. So init joins a job on host memory first,
 * which answers questions. The first call that needs the heap or all PEs leaves that job, and joins again with the heap on the GPU that is
 * current then. Where the heap is in host memory, the first stage is all there is. */

#include "internal.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

nvshmemrs_runtime_t nvshmemrs_nvshmem_only;

/* Guards the variables below. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
/* Signalled when a member leaves the list. */
static pthread_cond_t left = PTHREAD_COND_INITIALIZER;
static struct nvshmemrs_nvshmem_member *members;
/* The PE that this thread has joined as. Other threads belong to the process's only PE, if there is one. */
static _Thread_local struct nvshmemrs_nvshmem_member *own;

/* ---- Which PE calls ---- */

/* Whether a member is in the list and will stay there; another thread may have finalized it. */
static bool is_there(const struct nvshmemrs_nvshmem_member *member)
{
    const struct nvshmemrs_nvshmem_member *at = members;
    while (at != NULL && at != member)
        at = at->next;
    return at != NULL && !at->leaving;
}

/* The only PE of the process; NULL if there are several, or none. */
static struct nvshmemrs_nvshmem_member *only_member(void)
{
    return members != NULL && members->next == NULL && !members->leaving ? members : NULL;
}

/* Called under the lock. */
static struct nvshmemrs_nvshmem_member *find_member(void)
{
    return own != NULL && is_there(own) ? own : only_member();
}

struct nvshmemrs_nvshmem_member *nvshmemrs_nvshmem_member(void)
{
    pthread_mutex_lock(&changes);
    struct nvshmemrs_nvshmem_member *member = find_member();
    pthread_mutex_unlock(&changes);
    return member;
}

static bool is_complete(const struct nvshmemrs_nvshmem_member *member)
{
    return __atomic_load_n(&member->complete, __ATOMIC_ACQUIRE);
}

/* The runtime that another interface of the library has joined. */
static nvshmemrs_runtime_t current(void)
{
    nvshmemrs_runtime_t runtime = 0;
    return nvshmemrs_current(&runtime) == NVSHMEMRS_SUCCESS ? runtime : 0;
}

nvshmemrs_runtime_t nvshmemrs_nvshmem_find(void)
{
    struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    if (member == NULL)
        return current();
    if (is_complete(member))
        return member->rt;
    /* Another thread may be in the second stage, which ends the runtime of the first. */
    pthread_mutex_lock(&member->completing);
    const nvshmemrs_runtime_t runtime = member->rt;
    pthread_mutex_unlock(&member->completing);
    return runtime;
}

/* Acquires a lock that other threads hold briefly, or while PEs join. */
static bool lock_soon(pthread_mutex_t *mutex)
{
    enum { PATIENCE_NS = 100000000 };
    const struct timespec until = nvshmemrs_nvshmem_time_in(PATIENCE_NS);
    return pthread_mutex_timedlock(mutex, &until) == 0;
}

nvshmemrs_runtime_t nvshmemrs_nvshmem_known(bool *joining)
{
    nvshmemrs_runtime_t runtime = __atomic_load_n(&nvshmemrs_nvshmem_only, __ATOMIC_RELAXED);
    *joining = false;
    if (runtime != 0)
        return runtime;
    if (!lock_soon(&changes)) {
        *joining = true;
        return 0;
    }
    struct nvshmemrs_nvshmem_member *member = find_member();
    if (member != NULL && lock_soon(&member->completing)) {
        runtime = member->rt;
        pthread_mutex_unlock(&member->completing);
    } else if (member != NULL) {
        /* The runtime of the first stage, which the thread in the second stage may have ended. */
        *joining = true;
        runtime = __atomic_load_n(&member->rt, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&changes);
    return member != NULL ? runtime : current();
}

uint64_t nvshmemrs_nvshmem_runtime(void)
{
    return nvshmemrs_nvshmem_now();
}

uint64_t nvshmemrs_nvshmem_team(nvshmem_team_t team)
{
    return nvshmemrs_nvshmem_native(team);
}

/* Publishes the runtime of a process that is one PE to all threads. Called under the lock. */
static void publish(void)
{
    const struct nvshmemrs_nvshmem_member *only = only_member();
    __atomic_store_n(&nvshmemrs_nvshmem_only, only != NULL && only->complete ? only->rt : 0, __ATOMIC_RELEASE);
}

/* ---- CUDA, which may not be there ---- */

/* A function of the driver; NULL without one. */
static void *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? dlsym(library, name) : NULL;
}

/* Whether there is a GPU. Returns 0, or the error of an installed driver that fails. */
static int find_gpu(bool *found)
{
    enum { NO_DEVICE = 100 };
    int (*start)(unsigned) = (int (*)(unsigned))driver("cuInit");
    int (*count)(int *) = (int (*)(int *))driver("cuDeviceGetCount");
    int gpus = 0;
    int code = start == NULL || count == NULL ? NO_DEVICE : start(0);
    if (code == 0)
        code = count(&gpus);
    *found = code == 0 && gpus > 0;
    return code != NO_DEVICE ? code : 0;
}

static bool has_current_device(void)
{
    int (*find)(void **) = (int (*)(void **))driver("cuCtxGetCurrent");
    void *context = NULL;
    return find != NULL && find(&context) == 0 && context != NULL;
}

/* ---- Init ---- */

/* The program's call site. */
static const void *caller(void)
{
    void *frames[16];
    Dl_info here, there;
    const int count = backtrace(frames, sizeof frames / sizeof *frames);
    for (int i = 1; i < count && dladdr(frames[0], &here) != 0; i++)
        if (dladdr(frames[i], &there) == 0 || there.dli_fbase != here.dli_fbase)
            return frames[i];
    return PLACE;
}

/* Whether the heap is in device memory: by the setting, or else if there is a GPU. */
static int32_t on_device(const char *name, bool *device)
{
    const char *setting = getenv("NVSHMEMRS_MEMORY");
    if (setting != NULL && *setting != '\0') {
        *device = strcasecmp(setting, "device") == 0;
        return NVSHMEMRS_SUCCESS;
    }
    const int code = find_gpu(device);
    if (code == 0)
        return NVSHMEMRS_SUCCESS;
    /* A fallback to host memory would hide the broken GPUs. */
    nvshmemrs_nvshmem_misused(name, caller(),
        "the CUDA driver answers with error %d; set `NVSHMEMRS_MEMORY=host` for a heap in host memory", code);
    return NVSHMEMRS_ERROR_CUDA;
}

static int32_t join(const struct nvshmemrs_nvshmem_member *member, const nvshmemrs_init_attr_t *attr, nvshmemrs_runtime_t *runtime)
{
    if ((member->flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0)
        return nvshmemrs_init_unique_id(&member->id, member->rank, member->n_ranks, attr, runtime);
    if ((member->flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0)
        return nvshmemrs_init_mpi_comm(&member->comm, attr, runtime);
    return nvshmemrs_init(attr, runtime);
}

/* The first stage; the only stage if the heap is in host memory. */
static int32_t bootstrap(const char *name, struct nvshmemrs_nvshmem_member *member)
{
    nvshmemrs_init_attr_t attr;
    bool device;
    nvshmemrs_init_attr_default(&attr);
    const int32_t status = on_device(name, &device);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    member->complete = !device;
    attr.memory_kind = member->complete ? NVSHMEMRS_MEMORY_DEFAULT : NVSHMEMRS_MEMORY_HOST;
    /* The heap of the first stage is not used, so it has the smallest size. */
    attr.heap_bytes = member->complete ? 0 : 1;
    return join(member, &attr, &member->rt);
}

/* Records why a PE cannot be used, and returns the status. */
static int32_t fail(struct nvshmemrs_nvshmem_member *member, int32_t status, const char *reason)
{
    member->reason = strdup(reason);
    member->failed = status;
    return status;
}

/* Steps after the last stage. */
static int32_t fill(struct nvshmemrs_nvshmem_member *member)
{
    const char *why = nvshmemrs_nvshmem_fill_all(member->rt);
    return why != NULL ? fail(member, NVSHMEMRS_ERROR_NOT_SUPPORTED, why) : NVSHMEMRS_SUCCESS;
}

/* Reports the recorded error, and ends the job unless NVSHMEMRS_ON_ERROR=return is set. Returns the status. */
static int32_t report(const char *name, const struct nvshmemrs_nvshmem_member *member)
{
    if (member->failed != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_misused(name, caller(), "%s", member->reason != NULL ? member->reason : "init has failed");
    return member->failed;
}

/* The second stage; runs once, whether it succeeds or fails. Called with `completing`. */
static int32_t complete(struct nvshmemrs_nvshmem_member *member)
{
    nvshmemrs_init_attr_t attr;
    nvshmemrs_runtime_t runtime = 0;
    if (is_complete(member) || member->failed != NVSHMEMRS_SUCCESS)
        return member->failed;
    nvshmemrs_init_attr_default(&attr);
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.device = member->device;
    int32_t status = nvshmemrs_finalize(member->rt);
    if (status == NVSHMEMRS_SUCCESS)
        status = join(member, &attr, &runtime);
    __atomic_store_n(&member->rt, runtime, __ATOMIC_RELAXED);
    if (status != NVSHMEMRS_SUCCESS)
        return fail(member, status, nvshmemrs_last_error());
    status = fill(member);
    if (status != NVSHMEMRS_SUCCESS)
        return status;
    pthread_mutex_lock(&changes);
    __atomic_store_n(&member->complete, true, __ATOMIC_RELEASE);
    publish();
    pthread_mutex_unlock(&changes);
    return NVSHMEMRS_SUCCESS;
}

/* Only one thread of a PE runs it. */
static int32_t complete_once(struct nvshmemrs_nvshmem_member *member)
{
    pthread_mutex_lock(&member->completing);
    const int32_t status = complete(member);
    pthread_mutex_unlock(&member->completing);
    return status;
}

nvshmemrs_runtime_t nvshmemrs_nvshmem_complete_now(const char *name)
{
    struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    if (member == NULL)
        return current();
    if (!is_complete(member) && complete_once(member) != NVSHMEMRS_SUCCESS) {
        report(name, member);
        return 0;
    }
    return member->rt;
}

int32_t nvshmemrs_nvshmem_absent(void)
{
    const struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    nvshmemrs_runtime_t none;
    /* The error of a stage that failed stays the thread's last error. */
    if (member != NULL && member->failed != NVSHMEMRS_SUCCESS)
        return member->failed;
    (void)nvshmemrs_current(&none);
    return NVSHMEMRS_ERROR_NOT_INITIALIZED;
}

/* Whether an init refers to the job that a PE is in. An init that names no job refers to any. */
static bool is_same(const struct nvshmemrs_nvshmem_member *asked, const struct nvshmemrs_nvshmem_member *joined)
{
    if ((asked->flags & (NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_WITH_MPI_COMM)) == 0)
        return true;
    return asked->flags == joined->flags && memcmp(&asked->id, &joined->id, sizeof asked->id) == 0 && asked->rank == joined->rank
        && asked->n_ranks == joined->n_ranks && asked->comm == joined->comm;
}

/* Counts an init of a PE that has joined. */
static int32_t again(const struct nvshmemrs_nvshmem_member *asked, struct nvshmemrs_nvshmem_member *joined)
{
    if (!is_same(asked, joined))
        return NVSHMEMRS_ERROR_INVALID_VALUE;
    if (joined->failed != NVSHMEMRS_SUCCESS)
        return joined->failed;
    joined->inits++;
    own = joined;
    return NVSHMEMRS_SUCCESS;
}

/* Whether this process is leaving its job, so that no runtime may be adopted. */
static bool is_left(void)
{
    const struct nvshmemrs_nvshmem_member *at = members;
    while (at != NULL && !at->leaving)
        at = at->next;
    return at != NULL;
}

static int32_t init(const char *name, const struct nvshmemrs_nvshmem_member *asked)
{
    if (!nvshmemrs_nvshmem_versions_match(name, caller()))
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    /* The PEs that are threads join at the same time. */
    const bool threads = (asked->flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0;
    pthread_mutex_lock(&changes);
    while (!threads && is_left())
        pthread_cond_wait(&left, &changes);
    struct nvshmemrs_nvshmem_member *joined = threads ? (own != NULL && is_there(own) ? own : NULL) : find_member();
    if (threads && joined == NULL && only_member() != NULL && is_same(asked, members))
        joined = members;
    if (joined != NULL) {
        const int32_t status = again(asked, joined);
        pthread_mutex_unlock(&changes);
        report(name, joined);
        return status;
    }
    struct nvshmemrs_nvshmem_member *member = malloc(sizeof *member);
    int32_t status = member != NULL ? NVSHMEMRS_SUCCESS : NVSHMEMRS_ERROR_OUT_OF_MEMORY;
    if (status == NVSHMEMRS_SUCCESS) {
        *member = *asked;
        member->inits = 1;
        pthread_mutex_init(&member->completing, NULL);
        member->rt = threads ? 0 : current();
        member->adopted = member->complete = member->rt != 0;
        if (threads)
            pthread_mutex_unlock(&changes);
        if (!member->adopted)
            status = bootstrap(name, member);
        if (threads)
            pthread_mutex_lock(&changes);
    }
    if (status == NVSHMEMRS_SUCCESS) {
        member->next = members;
        members = own = member;
        publish();
    }
    pthread_mutex_unlock(&changes);
    if (status != NVSHMEMRS_SUCCESS) {
        free(member);
        return status;
    }
    if (member->complete)
        status = fill(member);
    else if (member->device >= 0 || has_current_device())
        status = complete_once(member);
    report(name, member);
    return status;
}

/* An init without attributes. */
static int32_t plain(const char *name)
{
    const struct nvshmemrs_nvshmem_member asked = {.device = -1};
    return init(name, &asked);
}

void nvshmem_init(void)
{
    const char *const nvshmemrs_name = "nvshmem_init";
    const int32_t status = plain(nvshmemrs_name);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed(nvshmemrs_name, status, PLACE);
}

int nvshmem_init_thread(int requested, int *provided)
{
    if (requested < NVSHMEM_THREAD_SINGLE || requested > NVSHMEM_THREAD_MULTIPLE)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const char *const nvshmemrs_name = "nvshmem_init_thread";
    const int32_t status = plain(nvshmemrs_name);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed(nvshmemrs_name, status, PLACE);
    else if (provided != NULL)
        *provided = nvshmemrs_thread_support();
    return status;
}

/* The flags and arguments of attributes; false if they are invalid. */
static bool read_attributes(unsigned flags, const nvshmemx_init_attr_t *attributes, struct nvshmemrs_nvshmem_member *asked)
{
    const unsigned jobs = NVSHMEMX_INIT_WITH_MPI_COMM | NVSHMEMX_INIT_WITH_SHMEM | NVSHMEMX_INIT_WITH_UNIQUEID;
    const unsigned job = flags & jobs;
    if ((flags & ~(jobs | NVSHMEMX_INIT_THREAD_PES)) != 0 || (job & (job - 1)) != 0)
        return false;
    *asked = (struct nvshmemrs_nvshmem_member){.flags = flags, .device = -1};
    const bool needed = job == NVSHMEMX_INIT_WITH_MPI_COMM || job == NVSHMEMX_INIT_WITH_UNIQUEID;
    if (attributes == NULL)
        return !needed;
    if (job == NVSHMEMX_INIT_WITH_MPI_COMM) {
        const void *comm = attributes->mpi_comm;
        if (comm == NULL)
            return false;
        /* An MPI_Comm has 8 bytes or 4; a pointer to 8 bytes is a multiple of 8. */
        memcpy(&asked->comm, comm, (uintptr_t)comm % sizeof asked->comm == 0 ? sizeof asked->comm : 4);
    }
    if (job == NVSHMEMX_INIT_WITH_UNIQUEID) {
        const nvshmemx_uniqueid_args_t *args = &attributes->args.uid_args;
        if (args->id == NULL)
            return false;
        memcpy(&asked->id, args->id, sizeof asked->id);
        asked->rank = args->myrank;
        asked->n_ranks = args->nranks;
    }
    /* Attributes of older versions, and partly filled ones, lack this field. */
    const nvshmemx_init_args_t known = NVSHMEMX_INIT_ARGS_INITIALIZER;
    if (attributes->args.version == known.version && attributes->args.cuda_device_id >= 0)
        asked->device = attributes->args.cuda_device_id;
    return true;
}

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    struct nvshmemrs_nvshmem_member asked;
    return read_attributes(flags, attributes, &asked) ? init("nvshmemx_init_attr", &asked) : NVSHMEMX_ERROR_INVALID_VALUE;
}

int nvshmemx_hostlib_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    return nvshmemx_init_attr(flags, attributes);
}

/* ---- Finalize ---- */

static void finalize(const char *nvshmemrs_name, const void *place)
{
    pthread_mutex_lock(&changes);
    struct nvshmemrs_nvshmem_member *member = find_member();
    const bool last = member != NULL && --member->inits == 0;
    if (last) {
        member->leaving = true;
        publish();
    }
    pthread_mutex_unlock(&changes);
    if (member == NULL)
        nvshmemrs_nvshmem_misused(nvshmemrs_name, place,
            nvshmemrs_nvshmem_finalized ? "it was called once more than `nvshmem_init`" : "it was called before `nvshmem_init`");
    if (!last)
        return;
    if (member->rt != 0)
        nvshmemrs_nvshmem_clear_all(member->rt);
    int32_t status = nvshmemrs_nvshmem_end_streams(member);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed(nvshmemrs_name, status, place);
    /* A failed second stage may have left no runtime. */
    if (!member->adopted && member->rt != 0) {
        status = nvshmemrs_finalize(member->rt);
        if (status != NVSHMEMRS_SUCCESS)
            nvshmemrs_nvshmem_failed(nvshmemrs_name, status, place);
    }
    pthread_mutex_lock(&changes);
    struct nvshmemrs_nvshmem_member **at = &members;
    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    nvshmemrs_nvshmem_finalized = true;
    publish();
    if (members == NULL)
        nvshmemrs_nvshmem_forget();
    if (own == member)
        own = NULL;
    pthread_cond_broadcast(&left);
    pthread_mutex_unlock(&changes);
    pthread_mutex_destroy(&member->completing);
    free(member->reason);
    free(member);
}

void nvshmem_finalize(void)
{
    finalize("nvshmem_finalize", PLACE);
}

void nvshmemx_hostlib_finalize(void)
{
    finalize("nvshmemx_hostlib_finalize", PLACE);
}

void nvshmem_global_exit(int status)
{
    bool joining;
    nvshmemrs_global_exit(nvshmemrs_nvshmem_known(&joining), status);
    /* There is no job; or a thread is joining one, and the functions of `atexit` would wait for it. */
    if (joining) {
        fflush(stdout);
        _exit(status);
    }
    exit(status);
}
