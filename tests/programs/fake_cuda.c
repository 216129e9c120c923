/* A libcuda for tests on machines without a GPU: the functions that nvshmemrs calls, over host memory.
 *
 * GPU memory is a memfd: a mapping of GPU memory maps the memfd, and a shared descriptor is its descriptor. So PEs that are processes
 * really share it. It is as strict as the driver where that matters: memory cannot be touched before cuMemSetAccess and after
 * cuMemUnmap, mappings are taken out whole, a call without a context fails. A stream runs nothing before a thread waits for it, so a
 * missing wait shows; only a kernel that waits for other PEs begins at once, with all that comes before it.
 *
 * A captured stream adds its work to a graph. Each launch of the graph runs the work with the contents that the memory then
 * has. A stream that waits for an event of a capture joins it, and its work must be waited for before the capture ends; the work of a graph
 * runs in the order in which it was captured. While a capture of the global mode is under way, calls that the driver forbids then end it, unless the thread has relaxed
 * its mode (cuThreadExchangeStreamCaptureMode).
 *
 * Kernels are the real ones, compiled for the host (kernels/library.cpp, which is linked to this).
 *
 * FAKE_CUDA_DEVICES: how many GPUs (default 4). FAKE_CUDA_MEMORY: bytes of each (default 384 MiB). FAKE_CUDA_VERSION: of the driver
 * (default 12080). FAKE_CUDA_QUEUES, any value: streams share the GPU's queues, as many as CUDA_DEVICE_MAX_CONNECTIONS says (default 8)
 * for streams of all priorities; in a queue nothing begins before all that was put into it earlier has. FAKE_CUDA_ROOM: how many pieces
 * of work a stream takes before the caller waits (default: any number). FAKE_CUDA_BUSY, any value: making a graph ready or a
 * stream, loading a module, unloading it and freeing pinned memory wait until no kernel of the process waits, as they may anywhere. FAKE_CUDA_UNREACHABLE:
 * the GPU that no other reaches. FAKE_CUDA_NO_ATOMICS: the GPU that has native atomics with no other. FAKE_CUDA_NO_VMM,
 * FAKE_CUDA_NO_WRITES, FAKE_CUDA_READS_PAGES (the GPUs use pageable memory themselves): any value. FAKE_CUDA_OTHER_STATE: modules have the
 * state of NVIDIA's NVSHMEM. FAKE_CUDA_LEAKS: at exit the process
 * lists on standard error the objects that it has not released, and ends with status 77 if there are any; with 78 if a function on a stream
 * has called the driver. FAKE_CUDA_LAUNCHES, any value: each kernel's name, blocks and threads are written to standard error. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    NOT_FOUND = 500,
    NOT_READY = 600,
    LAUNCH_FAILED = 719,
    NOT_SUPPORTED = 801,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURE_UNJOINED = 904,
    CAPTURE_ISOLATION = 905,
    CAPTURE_IMPLICIT = 906,
    CAPTURED_EVENT = 907,
    NOT_PERMITTED = 800,
};

#define GRANULE (2ul << 20)
#define MOST 4096
/* Bytes of pageable memory that the driver copies away at once, to be put on the GPU when the stream comes to it. */
#define STAGED (64ul << 10)
/* Bytes of copied sources that a stream has room for. */
#define AWAY (4ul << 20)
#define DEVICES 16

typedef uint64_t address_t;

/* The driver's structs, as far as they are used. */
typedef struct {
    int type, id;
} location_t;
typedef struct {
    int type, handle_types;
    location_t location;
    void *win32;
    unsigned char flags[8];
} properties_t;
typedef struct {
    location_t location;
    int flags;
} access_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int initialized;
/* The GPU's queues for streams of all priorities; 0: each stream has its own. */
enum { QUEUES = 32 };
static unsigned queue_count;
/* Pieces of work that a stream takes, 0 for any number. */
static unsigned long room;
/* Kernels under way that wait. */
static int waiting;

typedef struct {
    int device;
} context_t;
static context_t contexts[DEVICES];
static int retained[DEVICES];

static __thread context_t *stack[32];
static __thread int depth;

/* Memory: a memfd and its reference count. */
typedef struct {
    int used, fd, device, refs;
    size_t bytes;
} memory_t;
static memory_t memories[MOST];
static size_t used_bytes[DEVICES];

typedef struct {
    int used;
    address_t at;
    size_t bytes;
    int memory;
} mapping_t;
static mapping_t mappings[MOST];
/* The used lengths of the lists that every copy searches. */
static int mappings_end, pinned_end;

typedef struct {
    int used;
    address_t at;
    size_t bytes;
} range_t;
static range_t reservations[MOST], pinned[MOST];

/* As in kernels/library.cpp. */
typedef struct {
    const char *name;
    int count;
    size_t sizes[6];
    int waits;
    void (*run)(unsigned grid, unsigned block, void **args);
} kernel_t;
extern const kernel_t *fake_kernel_find(const char *name);

/* The work of a stream. */
typedef struct event event_t;
typedef struct record record_t;
typedef struct stream stream_t;
typedef struct work {
    struct work *next;
    event_t *event;
    record_t *record;
    stream_t *stream;
    void (*call)(void *);
    void (*run)(struct work *);
    address_t dest, source;
    void *copy;
    size_t copy_bytes, bytes;
    int value;
    const kernel_t *kernel;
    unsigned grid, block;
    /* Its number in the stream's queue. */
    unsigned long ticket;
} work_t;
/* The captured work. */
typedef struct {
    work_t *first, **last;
    int invalid, mode;
    pthread_t thread;
    /* The capture's number; whether the stream waits for the default stream. */
    uint64_t number;
    int blocking;
    /* The streams that have joined it. */
    stream_t *joined[16];
    /* Of one that is ready: the stream that has its latest launch, and how far that stream is when the launch is over. */
    stream_t *latest;
    unsigned long over;
} graph_t;
/* A queue of a GPU. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* How many pieces of work there have been, and have begun. */
    unsigned long added, begun;
} queue_t;
struct stream {
    context_t *context;
    /* NULL: none that another stream has, too. */
    queue_t *queue;
    graph_t *capture;
    /* Whether its latest work of the capture that it has joined is waited for by nothing. */
    int unjoined;
    work_t *first, **last;
    pthread_mutex_t lock;
    pthread_cond_t more, done;
    /* How many pieces of work there have been, may run, and have run. */
    unsigned long added, goal, ran;
    /* Bytes that were copied away and have not come to their place. */
    size_t away;
    /* Whether a piece of work is running. */
    int busy;
    /* Whether it waits for the default stream, and that for it. Here that matters for captures only. */
    int blocking;
    /* A number that no other stream has. */
    unsigned long long id;
    /* Whether it was destroyed. */
    int destroyed;
    /* The stream that was destroyed before it. */
    stream_t *before;
    /* The stream that was made before it. */
    stream_t *made_before;
};
/* The stream that was made last. */
static stream_t *last_stream;
static int streams, modules, events, graphs;

/* The captures under way, and the mode of this thread: CU_STREAM_CAPTURE_MODE_*. */
enum { GLOBAL, THREAD_LOCAL, RELAXED };
static graph_t *captures[16];
static __thread int capture_mode;

/* The function of the driver that fails from now on, NULL for none; or that fails after some more calls. Programs find these by dlsym. */
static const char *failing;
static int good_calls;
void fake_cuda_fail_after(const char *call, int calls) {
    __atomic_store_n(&good_calls, calls, __ATOMIC_SEQ_CST);
    __atomic_store_n(&failing, call, __ATOMIC_SEQ_CST);
}
void fake_cuda_fail(const char *call) { fake_cuda_fail_after(call, 0); }

/* The function of the driver that does not return until another one is named, or NULL; programs find this by dlsym. */
static const char *stalling;
void fake_cuda_stall(const char *call) { __atomic_store_n(&stalling, call, __ATOMIC_SEQ_CST); }

static void stall(const char *call) {
    const char *now;
    while ((now = __atomic_load_n(&stalling, __ATOMIC_SEQ_CST)) && !strcmp(now, call)) usleep(1000);
}

/* Where the driver may wait until no kernel waits. */
static void be_busy(void) {
    while (getenv("FAKE_CUDA_BUSY") && __atomic_load_n(&waiting, __ATOMIC_SEQ_CST)) usleep(1000);
}

static int fails(const char *call) {
    const char *now = __atomic_load_n(&failing, __ATOMIC_SEQ_CST);
    return now && !strcmp(now, call) && __atomic_fetch_sub(&good_calls, 1, __ATOMIC_SEQ_CST) <= 0;
}

static long setting(const char *name, long value) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 0) : value;
}

static int device_count(void) {
    long count = setting("FAKE_CUDA_DEVICES", 4);
    return count > DEVICES ? DEVICES : (int)count;
}

static int reads_pages(void) { return getenv("FAKE_CUDA_READS_PAGES") != NULL; }

static size_t device_memory(void) { return (size_t)setting("FAKE_CUDA_MEMORY", 384l << 20); }

/* Whether this thread runs a function of the host's on a stream, and whether one has called the driver. */
static __thread int in_call;
static int misused;

static context_t *current(void) {
    if (in_call) misused = 1;
    return depth ? stack[depth - 1] : NULL;
}

static int count_used(const range_t *list) {
    int count = 0;
    for (int i = 0; i < MOST; i++) count += list[i].used;
    return count;
}

static void report(void) {
    if (misused) {
        dprintf(2, "fake CUDA: a function on a stream has called the driver\n");
        _exit(78);
    }
    int held = 0, mapped = 0, kept = 0;
    for (int i = 0; i < MOST; i++) held += memories[i].used, mapped += mappings[i].used;
    for (int i = 0; i < DEVICES; i++) kept += retained[i];
    int reserved = count_used(reservations), pages = count_used(pinned);
    if (held + mapped + kept + reserved + pages + streams + modules + events + graphs == 0) return;
    dprintf(2, "fake CUDA: not given back: %d memories, %d mappings, %d reservations, %d contexts, %d pinned, %d streams, %d modules, %d events, %d graphs\n",
            held, mapped, reserved, kept, pages, streams, modules, events, graphs);
    _exit(77);
}

int cuInit(unsigned flags) {
    int failure = (int)setting("FAKE_CUDA_INIT_ERROR", 0);
    if (failure) return failure;
    pthread_mutex_lock(&lock);
    if (!initialized && getenv("FAKE_CUDA_LEAKS")) atexit(report);
    if (!initialized && getenv("FAKE_CUDA_QUEUES")) {
        long count = setting("CUDA_DEVICE_MAX_CONNECTIONS", 8);
        queue_count = count < 1 ? 1 : count > QUEUES ? QUEUES : (unsigned)count;
    }
    room = (unsigned long)setting("FAKE_CUDA_ROOM", 0);
    initialized = 1;
    pthread_mutex_unlock(&lock);
    return flags ? INVALID_VALUE : device_count() ? SUCCESS : NO_DEVICE;
}

int cuDriverGetVersion(int *version) {
    *version = (int)setting("FAKE_CUDA_VERSION", 12080);
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    *count = device_count();
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal >= device_count()) return INVALID_DEVICE;
    *device = ordinal;
    return SUCCESS;
}

int cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "Fake GPU");
    return SUCCESS;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    memset(uuid, 0, 16);
    uuid[0] = 0xfa;
    uuid[15] = (unsigned char)device;
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = device_memory();
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 75: *value = 9; break;                                /* compute capability */
    case 76: *value = 0; break;
    case 16: *value = 4; break;                                /* multiprocessors */
    case 41: *value = 1; break;                                /* unified addressing */
    case 100: *value = reads_pages(); break;                   /* the host's page tables */
    case 102: *value = getenv("FAKE_CUDA_NO_VMM") == NULL; break; /* virtual memory management */
    case 103: *value = 1; break;                               /* POSIX descriptors */
    case 122: *value = getenv("FAKE_CUDA_NO_WRITES") == NULL; break; /* words written by streams */
    default: *value = 0;
    }
    return SUCCESS;
}

int cuDeviceCanAccessPeer(int *can, int device, int peer) {
    long alone = setting("FAKE_CUDA_UNREACHABLE", -1);
    *can = device != peer && device != alone && peer != alone;
    return SUCCESS;
}

int cuDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
    int can;
    cuDeviceCanAccessPeer(&can, device, peer);
    long plain = setting("FAKE_CUDA_NO_ATOMICS", -1);
    switch (attribute) {
    case 2: *value = can; break;                                     /* access */
    case 3: *value = can && device != plain && peer != plain; break; /* native atomics */
    default: *value = 0;
    }
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(context_t **context, int device) {
    pthread_mutex_lock(&lock);
    contexts[device].device = device;
    retained[device]++;
    pthread_mutex_unlock(&lock);
    *context = &contexts[device];
    return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    pthread_mutex_lock(&lock);
    int was = retained[device];
    if (was) retained[device]--;
    pthread_mutex_unlock(&lock);
    return was ? SUCCESS : INVALID_CONTEXT;
}

int cuCtxGetCurrent(context_t **context) {
    *context = current();
    return initialized ? SUCCESS : NOT_INITIALIZED;
}

int cuCtxGetDevice(int *device) {
    if (!current()) return INVALID_CONTEXT;
    *device = current()->device;
    return SUCCESS;
}

int cuCtxPushCurrent_v2(context_t *context) {
    if (depth == 32 || !retained[context->device]) return INVALID_CONTEXT;
    stack[depth++] = context;
    return SUCCESS;
}

int cuCtxSetCurrent(context_t *context) {
    if (depth) depth--;
    return context ? cuCtxPushCurrent_v2(context) : SUCCESS;
}

int cuCtxPopCurrent_v2(context_t **context) {
    if (!depth) return INVALID_CONTEXT;
    *context = stack[--depth];
    return SUCCESS;
}

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    if (!current()) return INVALID_CONTEXT;
    *total = device_memory();
    *available = *total - used_bytes[current()->device];
    return SUCCESS;
}

int cuMemGetAllocationGranularity(size_t *bytes, const properties_t *properties, int option) {
    (void)properties, (void)option;
    *bytes = GRANULE;
    return SUCCESS;
}

/* Memory. */

static int new_memory(int fd, int device, size_t bytes, uint64_t *handle) {
    for (int i = 0; i < MOST; i++) {
        if (memories[i].used) continue;
        memories[i] = (memory_t){.used = 1, .fd = fd, .device = device, .refs = 1, .bytes = bytes};
        *handle = (uint64_t)i + 1;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

static void let_go(int index) {
    memory_t *memory = &memories[index];
    if (--memory->refs) return;
    close(memory->fd);
    if (memory->device >= 0) used_bytes[memory->device] -= memory->bytes;
    memory->used = 0;
}

static memory_t *memory_of(uint64_t handle) {
    return handle && handle <= MOST && memories[handle - 1].used ? &memories[handle - 1] : NULL;
}

/* Whether a capture forbids a call that could not be part of a graph; such a call ends the capture. */
static int forbidden(void) {
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16; i++) {
        graph_t *graph = captures[i];
        if (!graph || graph->mode == RELAXED || capture_mode == RELAXED) continue;
        int own = pthread_equal(graph->thread, pthread_self());
        if (!own && (graph->mode != GLOBAL || capture_mode != GLOBAL)) continue;
        graph->invalid = found = 1;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int cuThreadExchangeStreamCaptureMode(int *mode) {
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return SUCCESS;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const properties_t *properties, uint64_t flags) {
    int device = properties->location.id;
    if (forbidden()) return CAPTURE_UNSUPPORTED;
    stall(__func__);
    if (flags || !bytes || bytes % GRANULE || properties->type != 1 || properties->location.type != 1) return INVALID_VALUE;
    if (device < 0 || device >= device_count()) return INVALID_DEVICE;
    pthread_mutex_lock(&lock);
    int status = OUT_OF_MEMORY;
    if (bytes <= device_memory() - used_bytes[device]) {
        int fd = memfd_create("fake-gpu-memory", MFD_CLOEXEC);
        if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0) status = new_memory(fd, device, bytes, handle);
        if (status == SUCCESS) used_bytes[device] += bytes;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemRelease(uint64_t handle) {
    pthread_mutex_lock(&lock);
    int known = memory_of(handle) != NULL;
    if (known) let_go((int)handle - 1);
    pthread_mutex_unlock(&lock);
    return known ? SUCCESS : INVALID_VALUE;
}

int cuMemExportToShareableHandle(int *fd, uint64_t handle, int type, uint64_t flags) {
    pthread_mutex_lock(&lock);
    memory_t *memory = memory_of(handle);
    int copy = memory && type == 1 && !flags ? dup(memory->fd) : -1;
    pthread_mutex_unlock(&lock);
    if (copy < 0) return INVALID_VALUE;
    *fd = copy;
    return SUCCESS;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *fd, int type) {
    int copy = type == 1 ? fcntl((int)(intptr_t)fd, F_DUPFD_CLOEXEC, 0) : -1;
    off_t bytes = copy < 0 ? -1 : lseek(copy, 0, SEEK_END);
    if (bytes < 0) return INVALID_VALUE;
    pthread_mutex_lock(&lock);
    int status = new_memory(copy, -1, (size_t)bytes, handle);
    pthread_mutex_unlock(&lock);
    return status;
}

int cuMemGetAllocationPropertiesFromHandle(properties_t *properties, uint64_t handle) {
    pthread_mutex_lock(&lock);
    memory_t *memory = memory_of(handle);
    if (memory) *properties = (properties_t){.type = 1, .handle_types = 1, .location = {1, memory->device}};
    pthread_mutex_unlock(&lock);
    return memory ? SUCCESS : INVALID_VALUE;
}

int cuMemAddressReserve(address_t *at, size_t bytes, size_t alignment, address_t wanted, uint64_t flags) {
    if (flags || !bytes || bytes % GRANULE || wanted % GRANULE || (alignment && (alignment % GRANULE || alignment & (alignment - 1)))) return INVALID_VALUE;
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *found = wanted ? mmap((void *)wanted, bytes, PROT_NONE, kind | MAP_FIXED_NOREPLACE, -1, 0) : MAP_FAILED;
    if (found == MAP_FAILED) {
        size_t step = alignment ? alignment : GRANULE;
        char *start = mmap(NULL, bytes + step, PROT_NONE, kind, -1, 0);
        if (start == MAP_FAILED) return OUT_OF_MEMORY;
        found = (char *)(((uintptr_t)start + step - 1) / step * step);
        if (found > start) munmap(start, (size_t)(found - start));
        if (start + step > found) munmap(found + bytes, (size_t)(start + step - found));
    }
    pthread_mutex_lock(&lock);
    int i = 0;
    while (reservations[i].used) i++;
    reservations[i] = (range_t){1, (address_t)found, bytes};
    pthread_mutex_unlock(&lock);
    *at = (address_t)found;
    return SUCCESS;
}

int cuMemAddressFree(address_t at, size_t bytes) {
    int status = INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < MOST; i++) {
        if (mappings[i].used && mappings[i].at >= at && mappings[i].at < at + bytes) goto out;
    }
    for (int i = 0; i < MOST; i++) {
        if (!reservations[i].used || reservations[i].at != at || reservations[i].bytes != bytes) continue;
        reservations[i].used = 0;
        munmap((void *)at, bytes);
        status = SUCCESS;
    }
out:
    pthread_mutex_unlock(&lock);
    return status;
}

static int is_reserved(address_t at, size_t bytes) {
    for (int i = 0; i < MOST; i++) {
        range_t *range = &reservations[i];
        if (range->used && at >= range->at && at + bytes <= range->at + range->bytes) return 1;
    }
    return 0;
}

int cuMemMap(address_t at, size_t bytes, size_t offset, uint64_t handle, uint64_t flags) {
    pthread_mutex_lock(&lock);
    memory_t *memory = memory_of(handle);
    int status = memory && !offset && !flags && bytes == memory->bytes && is_reserved(at, bytes) ? SUCCESS : INVALID_VALUE;
    int free_slot = -1;
    for (int i = 0; i < MOST; i++) {
        if (!mappings[i].used) free_slot = free_slot < 0 ? i : free_slot;
        else if (mappings[i].at < at + bytes && at < mappings[i].at + mappings[i].bytes) status = INVALID_VALUE;
    }
    if (status == SUCCESS) {
        if (mmap((void *)at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, memory->fd, 0) == MAP_FAILED) status = OUT_OF_MEMORY;
        else {
            memory->refs++;
            mappings[free_slot] = (mapping_t){1, at, bytes, (int)handle - 1};
            if (free_slot >= mappings_end) mappings_end = free_slot + 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* Runs `each` on the mappings that make up a range exactly; returns whether they do. */
static int whole_mappings(address_t at, size_t bytes, void (*each)(mapping_t *)) {
    size_t covered = 0;
    for (int i = 0; i < MOST; i++) {
        mapping_t *one = &mappings[i];
        if (!one->used || one->at + one->bytes <= at || one->at >= at + bytes) continue;
        if (one->at < at || one->at + one->bytes > at + bytes) return 0;
        covered += one->bytes;
    }
    if (covered != bytes) return 0;
    for (int i = 0; i < MOST; i++) {
        if (mappings[i].used && mappings[i].at >= at && mappings[i].at < at + bytes) each(&mappings[i]);
    }
    return 1;
}

static void open_up(mapping_t *one) { mprotect((void *)one->at, one->bytes, PROT_READ | PROT_WRITE); }

static void take_out(mapping_t *one) {
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    mmap((void *)one->at, one->bytes, PROT_NONE, kind, -1, 0);
    one->used = 0;
    let_go(one->memory);
}

int cuMemSetAccess(address_t at, size_t bytes, const access_t *access, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (access[i].location.type != 1 || access[i].flags != 3) return INVALID_VALUE;
        if (access[i].location.id < 0 || access[i].location.id >= device_count()) return INVALID_DEVICE;
    }
    pthread_mutex_lock(&lock);
    int known = whole_mappings(at, bytes, open_up);
    pthread_mutex_unlock(&lock);
    return known && count ? SUCCESS : INVALID_VALUE;
}

int cuMemUnmap(address_t at, size_t bytes) {
    pthread_mutex_lock(&lock);
    int known = whole_mappings(at, bytes, take_out);
    pthread_mutex_unlock(&lock);
    return known ? SUCCESS : INVALID_VALUE;
}

static mapping_t *mapping_at(address_t at) {
    for (int i = 0; i < mappings_end; i++) {
        if (mappings[i].used && at >= mappings[i].at && at < mappings[i].at + mappings[i].bytes) return &mappings[i];
    }
    return NULL;
}

int cuMemGetAddressRange_v2(address_t *start, size_t *bytes, address_t at) {
    pthread_mutex_lock(&lock);
    mapping_t *found = mapping_at(at);
    if (found) *start = found->at, *bytes = found->bytes;
    pthread_mutex_unlock(&lock);
    return found ? SUCCESS : NOT_FOUND;
}

int cuMemRetainAllocationHandle(uint64_t *handle, void *at) {
    pthread_mutex_lock(&lock);
    mapping_t *found = mapping_at((address_t)at);
    if (found) memories[found->memory].refs++, *handle = (uint64_t)found->memory + 1;
    pthread_mutex_unlock(&lock);
    return found ? SUCCESS : INVALID_VALUE;
}

int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    (void)flags;
    if (!current()) return INVALID_CONTEXT;
    if (forbidden()) return CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&lock);
    int i = 0;
    while (pinned[i].used) i++;
    *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    pinned[i] = (range_t){1, (address_t)*at, bytes};
    if (i >= pinned_end) pinned_end = i + 1;
    pthread_mutex_unlock(&lock);
    return *at ? SUCCESS : OUT_OF_MEMORY;
}

static range_t *pinned_at(address_t at) {
    for (int i = 0; i < pinned_end; i++) {
        if (pinned[i].used && at >= pinned[i].at && at < pinned[i].at + pinned[i].bytes) return &pinned[i];
    }
    return NULL;
}

int cuMemFreeHost(void *at) {
    if (!current()) return INVALID_CONTEXT;
    be_busy();
    pthread_mutex_lock(&lock);
    range_t *found = pinned_at((address_t)at);
    int whole = found && found->at == (address_t)at;
    if (whole) found->used = 0, free(at);
    pthread_mutex_unlock(&lock);
    return whole ? SUCCESS : INVALID_VALUE;
}

int cuMemHostGetDevicePointer_v2(address_t *device, void *host, unsigned flags) {
    *device = (address_t)host;
    return flags ? INVALID_VALUE : SUCCESS;
}

/* Streams. */

/* The next stream's queue. */
static queue_t *new_queue(void) {
    static queue_t queues[QUEUES];
    static unsigned made;
    return queue_count ? &queues[__atomic_fetch_add(&made, 1, __ATOMIC_SEQ_CST) % queue_count] : NULL;
}

/* Waits until a piece of work is the first in its queue, and takes it out. The earlier work of its stream is done. */
static void take_turn(queue_t *queue, unsigned long ticket) {
    pthread_mutex_lock(&queue->lock);
    while (queue->begun != ticket) pthread_cond_wait(&queue->changed, &queue->lock);
    queue->begun++;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static void run_copy(work_t *work);

/* Bytes that a piece of work has copied away. */
static size_t away_of(const work_t *work) { return work->run == run_copy && work->copy ? work->bytes : 0; }

/* Does the next piece of work of a stream that no thread works on. With the stream's lock. */
static void do_next(stream_t *stream) {
    work_t *work = stream->first;
    stream->first = work->next;
    if (!stream->first) stream->last = &stream->first;
    stream->busy = 1;
    pthread_mutex_unlock(&stream->lock);
    if (stream->queue) take_turn(stream->queue, work->ticket);
    work->run(work);
    if (work->kernel && work->kernel->waits) __atomic_fetch_sub(&waiting, 1, __ATOMIC_SEQ_CST);
    size_t away = away_of(work);
    free(work->copy);
    free(work);
    pthread_mutex_lock(&stream->lock);
    stream->away -= away;
    stream->busy = 0;
    stream->ran++;
    pthread_cond_broadcast(&stream->done);
}

static int is_ready(const stream_t *stream) { return stream->ran < stream->goal && !stream->busy; }

/* The thread of a stream: for work for which no thread waits. */
static void *serve(void *argument) {
    stream_t *stream = argument;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        if (is_ready(stream)) do_next(stream);
        else if (stream->ran < stream->goal) pthread_cond_wait(&stream->done, &stream->lock);
        else pthread_cond_wait(&stream->more, &stream->lock);
    }
    return NULL;
}

static stream_t *new_stream(context_t *context) {
    stream_t *made = calloc(1, sizeof *made);
    made->context = context;
    made->queue = new_queue();
    made->last = &made->first;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->more, NULL);
    pthread_cond_init(&made->done, NULL);
    made->made_before = __atomic_load_n(&last_stream, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(&last_stream, &made->made_before, made, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    /* Detached from the start: glibc before 2.37 may read a thread's memory after its end if it is detached while it ends (bug 19951). */
    pthread_attr_t detached;
    pthread_t thread;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    int status = pthread_create(&thread, &detached, serve, made);
    pthread_attr_destroy(&detached);
    return status ? NULL : made;
}

/* Destroyed streams, whose addresses new streams get, as from the driver. */
static stream_t *destroyed;

/* A destroyed stream of the context that has run all its work; NULL: there is none. */
static stream_t *take_destroyed(const context_t *context) {
    pthread_mutex_lock(&lock);
    stream_t **at = &destroyed, *found;
    while ((found = *at) && (found->context != context || found->ran < found->added)) at = &found->before;
    if (found) *at = found->before;
    pthread_mutex_unlock(&lock);
    return found;
}

int cuStreamCreate(stream_t **stream, unsigned flags) {
    static unsigned long long ids;
    if (!current()) return INVALID_CONTEXT;
    be_busy();
    *stream = take_destroyed(current());
    if (!*stream) *stream = new_stream(current());
    if (*stream) {
        (*stream)->blocking = !(flags & 1);
        (*stream)->destroyed = 0;
        (*stream)->id = __atomic_add_fetch(&ids, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_fetch_add(&streams, 1, __ATOMIC_SEQ_CST);
    return *stream ? SUCCESS : OUT_OF_MEMORY;
}

/* The stream that a number means: 0 to 2 are the context's default stream. */
static stream_t *real(stream_t *stream) {
    static stream_t *defaults[DEVICES];
    if ((uintptr_t)stream > 2) {
        if (stream->destroyed) {
            fprintf(stderr, "the stand-in for libcuda: a call uses a stream that was destroyed\n");
            abort();
        }
        return stream;
    }
    pthread_mutex_lock(&lock);
    stream_t **own = &defaults[current()->device];
    if (!*own) *own = new_stream(current());
    stream_t *found = *own;
    pthread_mutex_unlock(&lock);
    return found;
}

/* Whether a number is that of the default stream while one that waits for it is captured; a call that needs the default stream then
 * ends the capture. */
static int implicit(const stream_t *stream, int needs) {
    int found = 0;
    if ((uintptr_t)stream > 1) return 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16; i++) {
        if (!captures[i] || !captures[i]->blocking) continue;
        found = 1;
        captures[i]->invalid |= needs;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

int cuStreamGetCtx(stream_t *stream, context_t **context) {
    *context = real(stream)->context;
    return SUCCESS;
}

/* Lets the stream's thread do all that was added. With the stream's lock. */
static void go(stream_t *stream) {
    stream->goal = stream->added;
    pthread_cond_signal(&stream->more);
}

static void run(stream_t *stream) {
    pthread_mutex_lock(&stream->lock);
    unsigned long goal = stream->goal = stream->added;
    while (stream->ran < goal) {
        if (is_ready(stream)) do_next(stream);
        else pthread_cond_wait(&stream->done, &stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
}

int cuCtxSynchronize(void) {
    for (stream_t *stream = __atomic_load_n(&last_stream, __ATOMIC_SEQ_CST); stream; stream = stream->made_before) {
        if (stream->context != current()) continue;
        if (stream->capture) return CAPTURE_UNSUPPORTED;
        run(stream);
    }
    return SUCCESS;
}

static void add(stream_t *stream, work_t work) {
    work_t *kept = malloc(sizeof work);
    *kept = work;
    kept->next = NULL;
    graph_t *graph = stream->capture;
    if (graph) {
        *graph->last = kept;
        graph->last = &kept->next;
        stream->unjoined = 1;
        return;
    }
    pthread_mutex_lock(&stream->lock);
    while ((room && stream->added - stream->ran >= room) || (away_of(kept) && stream->away + away_of(kept) > AWAY)) {
        go(stream);
        pthread_cond_wait(&stream->done, &stream->lock);
    }
    queue_t *queue = stream->queue;
    if (queue) {
        pthread_mutex_lock(&queue->lock);
        kept->ticket = queue->added++;
        pthread_mutex_unlock(&queue->lock);
    }
    *stream->last = kept;
    stream->last = &kept->next;
    stream->added++;
    stream->away += away_of(kept);
    if (work.kernel && work.kernel->waits) __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    if (queue || (work.kernel && work.kernel->waits)) go(stream);
    pthread_mutex_unlock(&stream->lock);
}

/* Whether a stream is captured: then no thread can wait for it, and an attempt ends the capture. */
static int is_captured(stream_t *stream) {
    if (stream->capture) stream->capture->invalid = 1;
    return stream->capture != NULL;
}

int cuStreamSynchronize(stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (fails(__func__)) return LAUNCH_FAILED;
    if (implicit(stream, 1)) return CAPTURE_IMPLICIT;
    if (is_captured(stream = real(stream)) || forbidden()) return CAPTURE_UNSUPPORTED;
    run(stream);
    return SUCCESS;
}

int cuStreamGetId(stream_t *stream, unsigned long long *id) {
    if (is_captured(stream = real(stream)) || forbidden()) return CAPTURE_UNSUPPORTED;
    *id = stream->id;
    return SUCCESS;
}

int cuStreamIsCapturing(stream_t *stream, int *status) {
    if (!current()) return INVALID_CONTEXT;
    if (implicit(stream, 0)) return CAPTURE_IMPLICIT;
    graph_t *graph = real(stream)->capture;
    *status = graph ? 1 + graph->invalid : 0;
    return SUCCESS;
}

int cuStreamGetCaptureInfo_v2(stream_t *stream, int *status, uint64_t *number, void *graph, void *nodes, void *count) {
    if (graph || nodes || count) return INVALID_VALUE;
    int code = cuStreamIsCapturing(stream, status);
    if (code == SUCCESS && *status == 1) *number = real(stream)->capture->number;
    return code;
}

int cuStreamBeginCapture_v2(stream_t *stream, int mode) {
    if (!current()) return INVALID_CONTEXT;
    if ((uintptr_t)stream <= 2 || stream->capture) return CAPTURE_UNSUPPORTED;
    graph_t *graph = calloc(1, sizeof *graph);
    graph->last = &graph->first;
    graph->mode = mode;
    graph->thread = pthread_self();
    graph->blocking = stream->blocking;
    pthread_mutex_lock(&lock);
    static uint64_t number;
    graph->number = ++number;
    int i = 0;
    while (captures[i]) i++;
    captures[i] = graph;
    graphs++;
    pthread_mutex_unlock(&lock);
    stream->capture = graph;
    return SUCCESS;
}

static void free_graph(graph_t *graph) {
    while (graph->first) {
        work_t *work = graph->first;
        graph->first = work->next;
        free(work->copy);
        free(work);
    }
    free(graph);
    __atomic_fetch_sub(&graphs, 1, __ATOMIC_SEQ_CST);
}

int cuStreamEndCapture(stream_t *stream, graph_t **graph) {
    graph_t *found = stream->capture;
    *graph = NULL;
    if (!found) return INVALID_VALUE;
    stream->capture = NULL;
    int unjoined = 0;
    for (int i = 0; i < 16 && found->joined[i]; i++) {
        unjoined |= found->joined[i] != stream && found->joined[i]->unjoined;
        found->joined[i]->capture = NULL;
    }
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 16; i++) captures[i] = captures[i] == found ? NULL : captures[i];
    pthread_mutex_unlock(&lock);
    if (found->invalid || unjoined) {
        int code = found->invalid ? CAPTURE_INVALIDATED : CAPTURE_UNJOINED;
        free_graph(found);
        return code;
    }
    *graph = found;
    return SUCCESS;
}

/* A graph is ready to run as it is; each of the two has its own list. */
static work_t *copied(const work_t *work) {
    work_t *copy = malloc(sizeof *copy);
    *copy = *work;
    copy->next = NULL;
    if (work->copy) {
        copy->copy = malloc(work->copy_bytes);
        memcpy(copy->copy, work->copy, work->copy_bytes);
    }
    return copy;
}

int cuGraphInstantiateWithFlags(graph_t **ready, const graph_t *graph, uint64_t flags) {
    if (flags) return INVALID_VALUE;
    if (forbidden()) return CAPTURE_UNSUPPORTED;
    be_busy();
    graph_t *made = calloc(1, sizeof *made);
    made->last = &made->first;
    for (const work_t *work = graph->first; work; work = work->next) {
        *made->last = copied(work);
        made->last = &(*made->last)->next;
    }
    __atomic_fetch_add(&graphs, 1, __ATOMIC_SEQ_CST);
    *ready = made;
    return SUCCESS;
}

int cuGraphUpload(const graph_t *ready, stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    return ready && !real(stream)->capture ? SUCCESS : INVALID_VALUE;
}

/* Waits until another stream has come so far. */
static void run_after(work_t *work) {
    stream_t *other = work->stream;
    pthread_mutex_lock(&other->lock);
    while (other->ran < work->bytes) {
        go(other);
        pthread_cond_wait(&other->done, &other->lock);
    }
    pthread_mutex_unlock(&other->lock);
}

/* The launches of one graph run one after the other, also on different streams. */
int cuGraphLaunch(graph_t *ready, stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (fails(__func__)) return LAUNCH_FAILED;
    if (is_captured(stream = real(stream))) {
        stream->capture->invalid = 1;
        return CAPTURE_UNSUPPORTED;
    }
    if (ready->latest && ready->latest != stream) add(stream, (work_t){.run = run_after, .stream = ready->latest, .bytes = ready->over});
    for (const work_t *work = ready->first; work; work = work->next) {
        work_t *copy = copied(work);
        add(stream, *copy);
        free(copy);
    }
    ready->latest = stream;
    ready->over = stream->added;
    return SUCCESS;
}

int cuGraphDestroy(graph_t *graph) { return free_graph(graph), SUCCESS; }

int cuGraphExecDestroy(graph_t *ready) { return free_graph(ready), SUCCESS; }

static void run_set(work_t *work);

/* As `go`; but the first piece of work is done here if it waits for nothing, which saves a thread's turn on a busy machine. With the stream's lock. */
static void hasten(stream_t *stream) {
    stream->goal = stream->added;
    while (!stream->queue && is_ready(stream)) {
        const work_t *next = stream->first;
        if (next->run != run_copy && next->run != run_set && !(next->kernel && !next->kernel->waits)) break;
        do_next(stream);
    }
    if (stream->ran < stream->goal) pthread_cond_signal(&stream->more);
}

int cuStreamQuery(stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (fails(__func__)) return LAUNCH_FAILED;
    if (implicit(stream, 1)) return CAPTURE_IMPLICIT;
    stream = real(stream);
    if (is_captured(stream) || forbidden()) return CAPTURE_UNSUPPORTED;
    pthread_mutex_lock(&stream->lock);
    hasten(stream);
    int done = stream->ran == stream->added;
    pthread_mutex_unlock(&stream->lock);
    return done ? SUCCESS : NOT_READY;
}

int cuStreamDestroy_v2(stream_t *stream) {
    pthread_mutex_lock(&real(stream)->lock);
    go(stream);
    pthread_mutex_unlock(&stream->lock);
    /* The stream's work continues, and events may still refer to the stream, so it is never freed. */
    pthread_mutex_lock(&lock);
    stream->destroyed = 1;
    stream->before = destroyed;
    destroyed = stream;
    pthread_mutex_unlock(&lock);
    __atomic_fetch_sub(&streams, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

static void run_copy(work_t *work) {
    const void *source = work->copy ? work->copy : (const void *)work->source;
    /* Aligned words are not torn, as on a GPU. */
    if (work->bytes == 8 && (work->dest | (address_t)source) % 8 == 0) {
        __atomic_store_n((uint64_t *)work->dest, __atomic_load_n((const uint64_t *)source, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
    } else if (work->bytes == 4 && (work->dest | (address_t)source) % 4 == 0) {
        __atomic_store_n((uint32_t *)work->dest, __atomic_load_n((const uint32_t *)source, __ATOMIC_SEQ_CST), __ATOMIC_SEQ_CST);
    } else {
        memcpy((void *)work->dest, source, work->bytes);
    }
}

static void run_set(work_t *work) { memset((void *)work->dest, work->value, work->bytes); }

/* Whether it is memory that the driver does not know. */
static int is_pageable(address_t at) {
    pthread_mutex_lock(&lock);
    int known = mapping_at(at) || pinned_at(at);
    pthread_mutex_unlock(&lock);
    return !known;
}

int cuMemcpyAsync(address_t dest, address_t source, size_t bytes, stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (!bytes) return INVALID_VALUE;
    if (fails(__func__)) return LAUNCH_FAILED;
    if (implicit(stream, 1)) return CAPTURE_IMPLICIT;
    stream = real(stream);
    work_t work = {.run = run_copy, .dest = dest, .source = source, .bytes = bytes};
    if (stream->capture) {
        add(stream, work);
        return SUCCESS;
    }
    int from_pages = is_pageable(source) && !reads_pages(), to_pages = is_pageable(dest) && !reads_pages();
    if (from_pages && bytes <= STAGED) {
        /* The source may be reused when the call returns. */
        work.copy = malloc(work.copy_bytes = bytes);
        memcpy(work.copy, (void *)source, bytes);
    }
    add(stream, work);
    /* The call returns when the copy is done. */
    if ((from_pages && bytes > STAGED) || to_pages) run(stream);
    return SUCCESS;
}

/* For programs, which have synchronised before. */
int cuMemcpy(address_t dest, address_t source, size_t bytes) {
    if (!current()) return INVALID_CONTEXT;
    memmove((void *)dest, (void *)source, bytes);
    return SUCCESS;
}

int cuMemsetD8Async(address_t dest, unsigned char value, size_t bytes, stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (fails(__func__)) return LAUNCH_FAILED;
    add(real(stream), (work_t){.run = run_set, .dest = dest, .bytes = bytes, .value = value});
    return SUCCESS;
}

/* Of memory of a GPU (2) and pinned memory (1): the type, the GPU, the address for kernels. Of other memory nothing. */
static int attribute_of(void *value, int attribute, address_t at) {
    if (is_pageable(at)) {
        if (attribute == 3) *(address_t *)value = 0;
        else *(int *)value = attribute == 9 ? -2 : 0;
        return SUCCESS;
    }
    pthread_mutex_lock(&lock);
    mapping_t *found = mapping_at(at);
    int device = found ? memories[found->memory].device : current()->device, status = SUCCESS;
    switch (attribute) {
    case 2: *(unsigned *)value = found ? 2 : 1; break;
    case 3: *(address_t *)value = at; break;
    case 9: *(int *)value = device; break;
    default: status = INVALID_VALUE;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int cuPointerGetAttributes(unsigned count, int *attributes, void **values, address_t at) {
    if (!current()) return INVALID_CONTEXT;
    int status = SUCCESS;
    for (unsigned i = 0; i < count && status == SUCCESS; i++) status = attribute_of(values[i], attributes[i], at);
    return status;
}

/* Events. */

/* One record of an event. Waits mean the latest one at the time of their call, also if the event is recorded again meanwhile. With the event's
 * lock. */
struct record {
    int users, reached;
    struct timespec at;
};

struct event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* The latest record, NULL for none. */
    record_t *latest;
    /* Where it was recorded last, and in which capture. */
    stream_t *stream;
    graph_t *captured;
};

static void let_go_of_record(record_t *record) {
    if (record && !--record->users) free(record);
}

int cuEventCreate(event_t **event, unsigned flags) {
    (void)flags;
    if (!current()) return INVALID_CONTEXT;
    *event = calloc(1, sizeof **event);
    pthread_mutex_init(&(*event)->lock, NULL);
    pthread_cond_init(&(*event)->changed, NULL);
    __atomic_fetch_add(&events, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

/* Work may still mean it, so it is never freed. */
int cuEventDestroy_v2(event_t *event) {
    (void)event;
    __atomic_fetch_sub(&events, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

static void run_record(work_t *work) {
    event_t *event = work->event;
    pthread_mutex_lock(&event->lock);
    work->record->reached = 1;
    clock_gettime(CLOCK_MONOTONIC, &work->record->at);
    let_go_of_record(work->record);
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

int cuEventRecord(event_t *event, stream_t *stream) {
    if (!current()) return INVALID_CONTEXT;
    if (implicit(stream, 1)) return CAPTURE_IMPLICIT;
    stream = real(stream);
    event->stream = stream;
    event->captured = stream->capture;
    if (event->captured) return SUCCESS;
    record_t *record = calloc(1, sizeof *record);
    /* The event's and the stream's. */
    record->users = 2;
    pthread_mutex_lock(&event->lock);
    let_go_of_record(event->latest);
    event->latest = record;
    pthread_mutex_unlock(&event->lock);
    add(stream, (work_t){.run = run_record, .event = event, .record = record});
    return SUCCESS;
}

/* Has a stream in which an event was recorded come to it, sooner or later. */
static void urge(stream_t *stream) {
    if (!stream) return;
    pthread_mutex_lock(&stream->lock);
    go(stream);
    pthread_mutex_unlock(&stream->lock);
}

int cuEventQuery(event_t *event) {
    if (event->captured) return CAPTURED_EVENT;
    if (forbidden()) return CAPTURE_UNSUPPORTED;
    urge(event->stream);
    pthread_mutex_lock(&event->lock);
    int reached = !event->latest || event->latest->reached;
    pthread_mutex_unlock(&event->lock);
    return reached ? SUCCESS : NOT_READY;
}

int cuEventElapsedTime(float *milliseconds, event_t *start, event_t *end) {
    const record_t *from = start->latest, *to = end->latest;
    if (!from || !from->reached || !to || !to->reached) return INVALID_VALUE;
    *milliseconds = (float)(to->at.tv_sec - from->at.tv_sec) * 1e3f + (float)(to->at.tv_nsec - from->at.tv_nsec) / 1e6f;
    return SUCCESS;
}

static void run_wait(work_t *work) {
    event_t *event = work->event;
    urge(work->stream);
    pthread_mutex_lock(&event->lock);
    while (!work->record->reached) pthread_cond_wait(&event->changed, &event->lock);
    let_go_of_record(work->record);
    pthread_mutex_unlock(&event->lock);
}

static int join_capture(stream_t *stream, event_t *event) {
    graph_t *graph = event->captured;
    if (event->stream->capture != graph) return INVALID_VALUE;
    event->stream->unjoined = 0;
    if (stream->capture) return stream->capture == graph ? SUCCESS : CAPTURE_ISOLATION;
    int i = 0;
    while (graph->joined[i]) i++;
    if (i == 15) return NOT_SUPPORTED;
    graph->joined[i] = stream;
    stream->capture = graph;
    stream->unjoined = 1;
    return SUCCESS;
}

int cuStreamWaitEvent(stream_t *stream, event_t *event, unsigned flags) {
    if (!current() || flags) return INVALID_CONTEXT;
    if (real(stream)->capture && !event->captured) return CAPTURE_ISOLATION;
    if (event->captured) return join_capture(real(stream), event);
    pthread_mutex_lock(&event->lock);
    work_t work = {.run = run_wait, .event = event, .record = event->latest, .stream = event->stream};
    if (work.record) work.record->users++;
    pthread_mutex_unlock(&event->lock);
    if (work.record) add(real(stream), work);
    return SUCCESS;
}

static void run_write(work_t *work) { __atomic_store_n((uint64_t *)work->dest, work->bytes, __ATOMIC_SEQ_CST); }

/* Only of GPU memory: of other kinds the library writes none. */
int cuStreamWriteValue64_v2(stream_t *stream, address_t at, uint64_t value, unsigned flags) {
    if (!current()) return INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    int known = mapping_at(at) != NULL;
    pthread_mutex_unlock(&lock);
    if (!known || at % 8 || flags) return INVALID_VALUE;
    add(real(stream), (work_t){.run = run_write, .dest = at, .bytes = value});
    return SUCCESS;
}

static void run_call(work_t *work) {
    in_call = 1;
    work->call((void *)work->dest);
    in_call = 0;
}

int cuLaunchHostFunc(stream_t *stream, void (*call)(void *), void *user) {
    if (!current()) return INVALID_CONTEXT;
    add(real(stream), (work_t){.run = run_call, .call = call, .dest = (address_t)user});
    return SUCCESS;
}

/* Kernels. */

static void run_kernel(work_t *work) {
    void *args[6];
    char *at = work->copy;
    for (int i = 0; i < work->kernel->count; i++) {
        args[i] = at;
        at += (work->kernel->sizes[i] + 15) / 16 * 16;
    }
    work->kernel->run(work->grid, work->block, args);
}

int cuModuleLoadData(void **module, const void *image) {
    if (!current()) return INVALID_CONTEXT;
    if (memcmp(image, "fake image", 10)) return 200; /* CUDA_ERROR_INVALID_IMAGE */
    be_busy();
    *module = &modules;
    __atomic_fetch_add(&modules, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

int cuModuleUnload(void *module) {
    if (module != &modules) return INVALID_VALUE;
    be_busy();
    __atomic_fetch_sub(&modules, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

/* The state that NVSHMEM's names use; of another size in the code of NVIDIA's library. */
int cuModuleGetGlobal_v2(uint64_t **at, size_t *bytes, void *module, const char *name) {
    static uint64_t state[8];
    if (module != &modules) return INVALID_VALUE;
    if (strcmp(name, "nvshmemi_device_state_d")) return NOT_FOUND;
    *at = state;
    *bytes = getenv("FAKE_CUDA_OTHER_STATE") ? 4096 : sizeof state;
    return SUCCESS;
}

int cuModuleGetFunction(const kernel_t **function, void *module, const char *name) {
    if (module != &modules) return INVALID_VALUE;
    *function = fake_kernel_find(name);
    return *function ? SUCCESS : NOT_FOUND;
}

/* A launch of a kernel as a piece of work. */
static int kernel_work(work_t *work, const kernel_t *kernel, unsigned grid, unsigned block, unsigned shared, void **args) {
    if (!grid || !block || block > 1024 || shared > 48 << 10) return INVALID_VALUE;
    *work = (work_t){.run = run_kernel, .kernel = kernel, .grid = grid, .block = block};
    if (getenv("FAKE_CUDA_LAUNCHES")) dprintf(2, "fake CUDA: launch %s %u x %u\n", kernel->name, grid, block);
    /* The arguments are those of now. */
    size_t bytes = 16;
    for (int i = 0; i < kernel->count; i++) bytes += (kernel->sizes[i] + 15) / 16 * 16;
    char *at = work->copy = malloc(bytes);
    work->copy_bytes = bytes;
    for (int i = 0; i < kernel->count; i++) {
        memcpy(at, args[i], kernel->sizes[i]);
        at += (kernel->sizes[i] + 15) / 16 * 16;
    }
    return SUCCESS;
}

int cuLaunchKernel(const kernel_t *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   stream_t *stream, void **args, void **extra) {
    (void)extra;
    if (!current()) return INVALID_CONTEXT;
    if (fails(__func__)) return LAUNCH_FAILED;
    if (implicit(stream, 1)) return CAPTURE_IMPLICIT;
    stream = real(stream);
    if (stream->context != current() || gy != 1 || gz != 1 || by != 1 || bz != 1) return INVALID_VALUE;
    work_t work;
    int status = kernel_work(&work, kernel, gx, bx, shared, args);
    if (status == SUCCESS) add(stream, work);
    return status;
}

/* A launch with attributes: as the library makes it in captures, with a programmatic edge from the kernel before. Here the edge changes
 * nothing. */
typedef struct {
    unsigned id, pad;
    union {
        int allowed;
        char bytes[64];
    } value;
} attribute_t;

typedef struct {
    unsigned gx, gy, gz, bx, by, bz, shared;
    stream_t *stream;
    const attribute_t *attributes;
    unsigned count;
} config_t;

enum { PROGRAMMATIC_SERIALIZATION = 6 };

int cuLaunchKernelEx(const config_t *as, const kernel_t *kernel, void **args, void **extra) {
    if (as->count != 1 || as->attributes->id != PROGRAMMATIC_SERIALIZATION || as->attributes->value.allowed != 1) return INVALID_VALUE;
    return cuLaunchKernel(kernel, as->gx, as->gy, as->gz, as->bx, as->by, as->bz, as->shared, as->stream, args, extra);
}

/* Graphs that are put together. */

typedef struct {
    const kernel_t *kernel;
    unsigned gx, gy, gz, bx, by, bz, shared;
    void **args, **extra;
    void *kern, *context;
} node_params_t;

int cuGraphCreate(graph_t **graph, unsigned flags) {
    if (flags) return INVALID_VALUE;
    *graph = calloc(1, sizeof **graph);
    (*graph)->last = &(*graph)->first;
    __atomic_fetch_add(&graphs, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

/* Nodes follow each other. A node's handle is its place in its graph, from 1. */
int cuGraphAddKernelNode_v2(uintptr_t *node, graph_t *graph, const void *dependencies, size_t count, const node_params_t *params) {
    if (dependencies || count) return INVALID_VALUE;
    work_t work;
    int status = kernel_work(&work, params->kernel, params->gx, params->bx, params->shared, params->args);
    if (status != SUCCESS) return status;
    *graph->last = copied(&work);
    graph->last = &(*graph->last)->next;
    free(work.copy);
    *node = 0;
    for (work_t *one = graph->first; one; one = one->next) ++*node;
    return SUCCESS;
}

/* The arguments of later launches. */
int cuGraphExecKernelNodeSetParams_v2(graph_t *ready, uintptr_t node, const node_params_t *params) {
    work_t *at = ready->first, work;
    while (at && --node) at = at->next;
    if (!at || !at->kernel) return INVALID_VALUE;
    int status = kernel_work(&work, params->kernel, params->gx, params->bx, params->shared, params->args);
    if (status != SUCCESS) return status;
    free(at->copy);
    work.next = at->next;
    *at = work;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **name) {
    (void)error;
    *name = "a fake error";
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text) { return cuGetErrorName(error, text); }
