/* Init in two stages, and finalize.
 *
 * Programs call init before they choose a GPU, and ask for their number on the host to choose one. So init joins a job on host memory first,
 * which answers questions. The first call that needs the heap or all PEs leaves that job, and joins again with the heap on the GPU that is
 * current then. Where the heap is in host memory, the first stage is all there is. */

#include "internal.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdlib.h>

nvshmemrs_runtime_t nvshmemrs_nvshmem_only;

/* Guards what follows. */
static pthread_mutex_t changes = PTHREAD_MUTEX_INITIALIZER;
static struct nvshmemrs_nvshmem_member *members;
/* The PE that this thread has joined as. Other threads are the process's only PE, if there is one. */
static _Thread_local struct nvshmemrs_nvshmem_member *own;

/* ---- Which PE calls ---- */

static bool is_there(const struct nvshmemrs_nvshmem_member *member)
{
    const struct nvshmemrs_nvshmem_member *at = members;
    while (at != NULL && at != member)
        at = at->next;
    return at != NULL;
}

/* Under the lock. */
static struct nvshmemrs_nvshmem_member *find_member(void)
{
    /* What another thread has finalized is gone. */
    if (own != NULL && is_there(own))
        return own;
    return members != NULL && members->next == NULL ? members : NULL;
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

uint64_t nvshmemrs_nvshmem_runtime(void)
{
    return nvshmemrs_nvshmem_now();
}

uint64_t nvshmemrs_nvshmem_team(nvshmem_team_t team)
{
    return nvshmemrs_nvshmem_native(team);
}

/* Tells all threads the runtime of a process that is one PE. Under the lock. */
static void publish(void)
{
    const bool only = members != NULL && members->next == NULL && members->complete;
    __atomic_store_n(&nvshmemrs_nvshmem_only, only ? members->rt : 0, __ATOMIC_RELEASE);
}

/* ---- CUDA, which may not be there ---- */

/* A function of the driver; NULL without one. */
static void *driver(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL ? dlsym(library, name) : NULL;
}

static bool has_gpu(void)
{
    int (*start)(unsigned) = (int (*)(unsigned))driver("cuInit");
    int (*count)(int *) = (int (*)(int *))driver("cuDeviceGetCount");
    int gpus = 0;
    return start != NULL && count != NULL && start(0) == 0 && count(&gpus) == 0 && gpus > 0;
}

static bool has_current_device(void)
{
    int (*find)(void **) = (int (*)(void **))driver("cuCtxGetCurrent");
    void *context = NULL;
    return find != NULL && find(&context) == 0 && context != NULL;
}

/* Whether the heap is in device memory: as the setting says, or else if there is a GPU. */
static bool on_device(void)
{
    const char *setting = getenv("NVSHMEMRS_MEMORY");
    return setting != NULL && *setting != '\0' ? strcasecmp(setting, "device") == 0 : has_gpu();
}

/* ---- Init ---- */

static int32_t join(const struct nvshmemrs_nvshmem_member *member, const nvshmemrs_init_attr_t *attr, nvshmemrs_runtime_t *runtime)
{
    if ((member->flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0)
        return nvshmemrs_init_unique_id(&member->id, member->rank, member->n_ranks, attr, runtime);
    if ((member->flags & NVSHMEMX_INIT_WITH_MPI_COMM) != 0)
        return nvshmemrs_init_mpi_comm(&member->comm, attr, runtime);
    return nvshmemrs_init(attr, runtime);
}

/* The first stage; the only one if the heap is in host memory. */
static int32_t bootstrap(struct nvshmemrs_nvshmem_member *member)
{
    nvshmemrs_init_attr_t attr;
    nvshmemrs_init_attr_default(&attr);
    member->complete = !on_device();
    attr.memory_kind = member->complete ? NVSHMEMRS_MEMORY_DEFAULT : NVSHMEMRS_MEMORY_HOST;
    /* The heap of the first stage is not used: the smallest there is. */
    attr.heap_bytes = member->complete ? 0 : 1;
    return join(member, &attr, &member->rt);
}

/* Where the program has called the library. */
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

/* What follows the last stage. */
static int32_t fill(const struct nvshmemrs_nvshmem_member *member)
{
    const char *why = nvshmemrs_nvshmem_fill_all(member->rt);
    if (why == NULL)
        return NVSHMEMRS_SUCCESS;
    nvshmemrs_nvshmem_misused("nvshmem_init", caller(), "%s", why);
    return NVSHMEMRS_ERROR_NOT_SUPPORTED;
}

/* The second stage. */
static int32_t complete(struct nvshmemrs_nvshmem_member *member)
{
    nvshmemrs_init_attr_t attr;
    nvshmemrs_init_attr_default(&attr);
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.device = member->device;
    int32_t status = nvshmemrs_finalize(member->rt);
    if (status == NVSHMEMRS_SUCCESS)
        status = join(member, &attr, &member->rt);
    if (status == NVSHMEMRS_SUCCESS) {
        pthread_mutex_lock(&changes);
        __atomic_store_n(&member->complete, true, __ATOMIC_RELEASE);
        publish();
        pthread_mutex_unlock(&changes);
        status = fill(member);
    }
    return status;
}

nvshmemrs_runtime_t nvshmemrs_nvshmem_complete_now(void)
{
    struct nvshmemrs_nvshmem_member *member = nvshmemrs_nvshmem_member();
    if (member == NULL || is_complete(member))
        return member != NULL ? member->rt : current();
    /* Of the threads of a PE one does it. */
    pthread_mutex_lock(&member->completing);
    const int32_t status = is_complete(member) ? NVSHMEMRS_SUCCESS : complete(member);
    pthread_mutex_unlock(&member->completing);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed("nvshmem_init", status, caller());
    return status == NVSHMEMRS_SUCCESS ? member->rt : 0;
}

/* Whether an init asks for the job that a PE is in. One that names no job means any. */
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
    joined->inits++;
    own = joined;
    return NVSHMEMRS_SUCCESS;
}

static int32_t init(const struct nvshmemrs_nvshmem_member *asked)
{
    /* The PEs that are threads join at the same time. */
    const bool threads = (asked->flags & NVSHMEMX_INIT_WITH_UNIQUEID) != 0;
    pthread_mutex_lock(&changes);
    struct nvshmemrs_nvshmem_member *joined = threads ? (own != NULL && is_there(own) ? own : NULL) : find_member();
    if (threads && joined == NULL && members != NULL && members->next == NULL && is_same(asked, members))
        joined = members;
    if (joined != NULL) {
        const int32_t status = again(asked, joined);
        pthread_mutex_unlock(&changes);
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
            status = bootstrap(member);
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
    if (member->complete) {
        status = fill(member);
    } else if (member->device >= 0 || has_current_device()) {
        pthread_mutex_lock(&member->completing);
        status = complete(member);
        pthread_mutex_unlock(&member->completing);
    }
    return status;
}

/* An init without attributes. */
static int32_t plain(void)
{
    const struct nvshmemrs_nvshmem_member asked = {.device = -1};
    return init(&asked);
}

void nvshmem_init(void)
{
    const char *const nvshmemrs_name = "nvshmem_init";
    DO(plain());
}

int nvshmem_init_thread(int requested, int *provided)
{
    if (requested < NVSHMEM_THREAD_SINGLE || requested > NVSHMEM_THREAD_MULTIPLE)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    const char *const nvshmemrs_name = "nvshmem_init_thread";
    DO(plain());
    if (provided != NULL)
        *provided = nvshmemrs_thread_support();
    return nvshmemrs_nvshmem_now() == 0;
}

/* What attributes ask for; false if they are not sound. */
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
        /* An MPI_Comm has 8 bytes or 4, and the address of 8 is a multiple of them. */
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
    /* Attributes of older versions, or filled in part, have no such field. */
    const nvshmemx_init_args_t known = NVSHMEMX_INIT_ARGS_INITIALIZER;
    if (attributes->args.version == known.version && attributes->args.cuda_device_id >= 0)
        asked->device = attributes->args.cuda_device_id;
    return true;
}

int nvshmemx_init_attr(unsigned int flags, nvshmemx_init_attr_t *attributes)
{
    struct nvshmemrs_nvshmem_member asked;
    return read_attributes(flags, attributes, &asked) ? init(&asked) : NVSHMEMX_ERROR_INVALID_VALUE;
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
    pthread_mutex_unlock(&changes);
    if (member == NULL)
        nvshmemrs_nvshmem_misused(nvshmemrs_name, place,
            nvshmemrs_nvshmem_finalized ? "it was called once more than `nvshmem_init`" : "it was called before `nvshmem_init`");
    if (!last)
        return;
    if (member->complete)
        nvshmemrs_nvshmem_clear_all(member->rt);
    int32_t status = nvshmemrs_nvshmem_end_streams(member);
    if (status != NVSHMEMRS_SUCCESS)
        nvshmemrs_nvshmem_failed(nvshmemrs_name, status, place);
    if (!member->adopted) {
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
    pthread_mutex_unlock(&changes);
    pthread_mutex_destroy(&member->completing);
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
    nvshmemrs_global_exit(nvshmemrs_nvshmem_now(), status);
    /* There is no job. */
    exit(status);
}
