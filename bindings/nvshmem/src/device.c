/* Kernels: the constants of the program's units that hold the job's state, modules that the driver loads, and cooperative launches.
 *
 * A unit of the program that includes nvshmem.h and is compiled for GPUs registers a function, which fills its constant by that unit's own
 * CUDA runtime: this library has none. A unit of a library that is opened after init is filled when it registers. If the runtime does not
 * know the unit's kernels then, because other parts of the library are registered after it, the unit is late: each later registration tries
 * again, and so does a thread, for ten seconds.
 *
 * No function of a unit is called while the lock is held: it may call the dynamic linker, and a unit that registers holds the linker's lock. */

#include "internal.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As nvshmem_device.cuh has them. */
typedef int (*fill_t)(const void *state, int device, const char **why);
enum { LATER = -1 };
enum { ON_GPU = 0, ON_CPU = 1 };
#define STATE_NAME "nvshmemi_device_state_d"

enum { SECOND_NS = 1000000000 };
/* The pauses after which the thread retries late units: the first, doubled each time, up to the longest; and for how long it retries. */
enum { FIRST_PAUSE_NS = 200000, LONGEST_PAUSE_NS = 50000000 };
#define LATE_NS (10LL * SECOND_NS)
/* How long a registration waits for other threads: one may need the dynamic linker's lock, which this thread holds. */
enum { REGISTRATION_NS = 100000000 };

struct unit {
    struct unit *next;
    fill_t fill;
    int kind;
    unsigned version;
    bool late;
    /* The number of threads in `fill`. */
    int busy;
    bool gone;
};

/* A PE of this process that has been initialized. Entries are reused, but never freed. */
struct pe {
    struct pe *next;
    /* 0: the entry is free. */
    nvshmemrs_runtime_t runtime;
    /* -1: the heap is in host memory. */
    int device;
    nvshmemrs_device_state_t state;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static struct unit *units;
static struct pe *pes;
/* Whether the thread for late units is running. */
static bool trying;

/* Logs an error of a call that returns only a number, if NVSHMEM_DEBUG asks for it. */
static int refused(int status, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));
static int refused(int status, const char *format, ...)
{
    const char *level = getenv("NVSHMEM_DEBUG");
    if (level == NULL || *level == '\0' || strcmp(level, "VERSION") == 0)
        return status;
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "nvshmemrs: %s\n", text);
    return status;
}

/* ---- The driver ---- */

static struct {
    int (*module_global)(void **at, size_t *bytes, void *module, const char *name);
    int (*library_global)(void **at, size_t *bytes, void *library, const char *name);
    int (*exchange_capture_mode)(int *mode);
    int (*stream_create)(void **stream, unsigned flags);
    int (*copy)(uint64_t dest, uint64_t source, size_t bytes, void *stream);
    int (*synchronize)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*current)(void **context);
    int (*make_current)(void *context);
} driver;
/* The first of them that is missing, or NULL. */
static const char *missing;

static void find_driver(void)
{
    static const char *const names[] = {"cuModuleGetGlobal_v2", "cuLibraryGetGlobal", "cuThreadExchangeStreamCaptureMode", "cuStreamCreate",
        "cuMemcpyAsync", "cuStreamSynchronize", "cuStreamDestroy_v2", "cuCtxGetCurrent", "cuCtxSetCurrent"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    missing = library == NULL ? "libcuda.so.1" : NULL;
    void **functions = (void **)&driver;
    for (size_t i = 0; missing == NULL && i < sizeof names / sizeof *names; i++) {
        functions[i] = dlsym(library, names[i]);
        /* Drivers before CUDA 12 have no libraries. */
        if (functions[i] == NULL && i != 1)
            missing = names[i];
    }
}

/* Called before threads of this file need the driver: they must not wait for the dynamic linker's lock while they hold this file's lock. */
static void know_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_driver);
}

/* ---- Units ---- */

/* Whether a unit's kernels can access the heap of a PE. */
static bool reaches(const struct unit *unit, const struct pe *pe)
{
    return (unit->kind == ON_GPU) == (pe->device >= 0);
}

/* Whether kernels of a unit could confuse two PEs of this process. */
static const struct pe *sharing(const struct pe *pe)
{
    const struct pe *other = pes;
    while (other != NULL && (other == pe || other->runtime == 0 || other->device != pe->device))
        other = other->next;
    return other;
}

/* Calls the function of a unit. It makes the PE's GPU current; afterwards the previous context is restored. If there was none, none is
 * restored, because that would create a context on GPU 0. */
static int call(const struct unit *unit, const nvshmemrs_device_state_t *state, int device, const char **why)
{
    void *before = NULL;
    const bool kept = unit->kind == ON_GPU && missing == NULL && driver.current(&before) == 0 && before != NULL;
    int status = unit->fill(state, device, why);
    if (kept)
        driver.make_current(before);
    return status;
}

/* Fills the constant of a unit for a PE; `state` NULL clears it. Called with the lock, which it releases meanwhile. */
static int fill(struct unit *unit, const struct pe *pe, const nvshmemrs_device_state_t *state, const char **why)
{
    nvshmemrs_device_state_t copy = pe->state;
    int device = pe->device;
    unit->busy++;
    pthread_mutex_unlock(&lock);
    int status = call(unit, state != NULL ? &copy : NULL, device, why);
    pthread_mutex_lock(&lock);
    unit->busy--;
    if (status == LATER && state != NULL)
        unit->late = true;
    pthread_cond_broadcast(&idle);
    return status;
}

/* Writes the problem of a unit for a PE to `text`; NULL if there is none. */
static const char *wrong(const struct unit *unit, const struct pe *pe, char text[300])
{
    const struct pe *other = sharing(pe);
    /* A checked job has a bit above it. The kernels look at that themselves. */
    const unsigned version = pe->state.version & 0xffff;
    if (unit->version != version) {
        snprintf(text, 300,
            "the program's kernels were compiled with an nvshmem.h whose state has version %u, and this library's state has version %u: "
            "compile them with the headers of this library",
            unit->version, version);
    } else if (other != NULL && unit->kind == ON_GPU) {
        snprintf(text, 300,
            "PEs %d and %d are threads of one process on GPU %d, and kernels that include nvshmem.h know one PE of a process on a GPU: "
            "give each a GPU, or a process",
            (int)other->state.my_pe, (int)pe->state.my_pe, pe->device);
    } else if (other != NULL) {
        snprintf(text, 300, "PEs %d and %d are threads of one process, and kernels that include nvshmem.h know one PE of a process",
            (int)other->state.my_pe, (int)pe->state.my_pe);
    } else {
        return NULL;
    }
    return text;
}

/* Fills a unit for a PE, and logs a failure. Called with the lock, which it releases meanwhile. */
static const char *fill_checked(struct unit *unit, const struct pe *pe, char text[300])
{
    if (unit->gone || pe->runtime == 0 || !reaches(unit, pe))
        return NULL;
    const char *found = wrong(unit, pe, text), *why = NULL;
    if (found != NULL)
        return found;
    int status = fill(unit, pe, &pe->state, &why);
    if (status == 0 || status == LATER)
        return NULL;
    snprintf(text, 300, "CUDA's runtime could not write the state of the job for kernels to GPU %d: %s", pe->device,
        why != NULL ? why : "it does not say why");
    return text;
}

/* Retries late units; returns whether some are still late. Called with the lock, which it releases meanwhile. */
static bool try_late(void)
{
    bool left = false;
    for (struct unit *unit = units; unit != NULL; unit = unit->next) {
        if (!unit->late)
            continue;
        unit->late = false;
        for (const struct pe *pe = pes; pe != NULL; pe = pe->next) {
            char text[300];
            const char *found = fill_checked(unit, pe, text);
            if (found != NULL)
                refused(0, "%s", found);
        }
        left |= unit->late;
    }
    return left;
}

static void *keep_trying(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    bool left = true;
    long pause = FIRST_PAUSE_NS;
    for (long long waited = 0; left && waited < LATE_NS; waited += pause) {
        pthread_mutex_unlock(&lock);
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        pthread_mutex_lock(&lock);
        left = try_late();
        pause = 2 * pause < LONGEST_PAUSE_NS ? 2 * pause : LONGEST_PAUSE_NS;
    }
    trying = false;
    pthread_mutex_unlock(&lock);
    if (left)
        refused(0, "kernels of a unit that includes nvshmem.h are not known to CUDA's runtime, so the unit cannot call nvshmemrs");
    return NULL;
}

/* Starts the thread that retries late units. Called with the lock. */
static void start_trying(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    if (trying || pthread_attr_init(&attr) != 0)
        return;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int code = pthread_create(&thread, &attr, keep_trying, NULL);
    trying = code == 0;
    pthread_attr_destroy(&attr);
    if (code != 0)
        refused(0, "no thread for the kernels of a unit that CUDA's runtime does not know yet, so the unit cannot call nvshmemrs: %s",
            strerror(code));
}

/* Whether a thread is in the function of a unit. Called with the lock. */
static bool is_busy(void)
{
    const struct unit *unit = units;
    while (unit != NULL && unit->busy == 0)
        unit = unit->next;
    return unit != NULL;
}

/* Waits for a limited time until no thread is in the function of a unit. Called with the lock, which it releases meanwhile. */
static void wait_briefly(void)
{
    const struct timespec until = nvshmemrs_nvshmem_time_in(REGISTRATION_NS);
    while (is_busy() && pthread_cond_timedwait(&idle, &lock, &until) == 0) {
    }
}

void nvshmemrs_nvshmem_register(fill_t function, int kind, unsigned version)
{
    struct unit *unit = calloc(1, sizeof *unit);
    if (unit == NULL)
        return;
    *unit = (struct unit){.fill = function, .kind = kind, .version = version};
    pthread_mutex_lock(&lock);
    unit->next = units;
    units = unit;
    /* A constructor must not end the program: a kernel that calls afterwards reports that it has no state. */
    unit->late = pes != NULL;
    /* A unit that another thread is retrying may be late again, and may depend on this registration. */
    wait_briefly();
    if (try_late())
        start_trying();
    pthread_mutex_unlock(&lock);
}

void nvshmemrs_nvshmem_unregister(fill_t function)
{
    pthread_mutex_lock(&lock);
    struct unit **place = &units;
    while (*place != NULL && (*place)->fill != function)
        place = &(*place)->next;
    struct unit *unit = *place;
    if (unit != NULL) {
        unit->gone = true;
        while (unit->busy > 0)
            pthread_cond_wait(&idle, &lock);
        for (place = &units; *place != unit;)
            place = &(*place)->next;
        *place = unit->next;
        free(unit);
    }
    pthread_mutex_unlock(&lock);
}

const char *nvshmemrs_nvshmem_fill_all(nvshmemrs_runtime_t runtime)
{
    static _Thread_local char text[300];
    struct pe new = {.runtime = runtime};
    int32_t status = nvshmemrs_device_state(runtime, &new.state);
    if (status == NVSHMEMRS_SUCCESS)
        status = nvshmemrs_device(runtime, &new.device);
    /* Kernels cannot use the job's memory: the host's functions work, and a kernel that calls reports that it has no state. */
    if (status == NVSHMEMRS_ERROR_NOT_SUPPORTED)
        return NULL;
    if (status != NVSHMEMRS_SUCCESS)
        return nvshmemrs_last_error();
    know_driver();
    pthread_mutex_lock(&lock);
    struct pe *pe = pes;
    while (pe != NULL && pe->runtime != 0)
        pe = pe->next;
    if (pe == NULL) {
        pe = calloc(1, sizeof *pe);
        if (pe == NULL) {
            pthread_mutex_unlock(&lock);
            return "the host is out of memory";
        }
        pe->next = pes;
        pes = pe;
    }
    new.next = pe->next;
    *pe = new;
    const char *found = NULL;
    for (struct unit *unit = units; unit != NULL && found == NULL; unit = unit->next)
        found = fill_checked(unit, pe, text);
    for (struct unit *unit = units; unit != NULL; unit = unit->next)
        if (unit->late)
            start_trying();
    pthread_mutex_unlock(&lock);
    return found;
}

void nvshmemrs_nvshmem_clear_all(nvshmemrs_runtime_t runtime)
{
    pthread_mutex_lock(&lock);
    struct pe *pe = pes;
    while (pe != NULL && pe->runtime != runtime)
        pe = pe->next;
    if (pe != NULL) {
        /* No further unit gets the state of this PE; units that are being filled are completed before they are cleared. */
        const struct pe leaving = *pe;
        pe->runtime = 0;
        while (is_busy())
            pthread_cond_wait(&idle, &lock);
        for (struct unit *unit = units; unit != NULL; unit = unit->next) {
            const char *why;
            /* Errors are ignored: kernels have ended, or the process is about to end. */
            if (!unit->gone && reaches(unit, &leaving) && sharing(&leaving) == NULL)
                fill(unit, &leaving, NULL, &why);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- Modules ---- */

/* A separate stream, so that the copy is allowed during a stream capture. */
static int write_global(void *at, const nvshmemrs_device_state_t *state)
{
    enum { RELAXED = 2, NON_BLOCKING = 1 };
    void *stream = NULL;
    int mode = RELAXED;
    int code = driver.exchange_capture_mode(&mode);
    if (code != 0)
        return code;
    code = driver.stream_create(&stream, NON_BLOCKING);
    if (code == 0) {
        code = driver.copy((uint64_t)at, (uint64_t)state, sizeof *state, stream);
        int done = driver.synchronize(stream);
        code = code != 0 ? code : done;
        driver.stream_destroy(stream);
    }
    driver.exchange_capture_mode(&mode);
    return code;
}

/* Fills or clears the state of a module or library that the driver has loaded. */
static int set_state(const char *name, void *handle, bool library, bool clear)
{
    nvshmemrs_device_state_t state;
    memset(&state, 0, sizeof state);
    if (handle == NULL)
        return refused(NVSHMEMX_ERROR_INVALID_VALUE, "%s: the handle is NULL", name);
    know_driver();
    if (missing != NULL)
        return refused(NVSHMEMX_ERROR_NOT_SUPPORTED, "%s: the driver has no %s", name, missing);
    if (library && driver.library_global == NULL)
        return refused(NVSHMEMX_ERROR_NOT_SUPPORTED, "%s: libraries need a driver of CUDA 12", name);
    if (!clear) {
        int32_t device = -1;
        /* The second stage of init, if necessary, on the module's GPU. */
        nvshmemrs_runtime_t runtime = nvshmemrs_nvshmem_complete(name);
        if (WITH(runtime, nvshmemrs_device(runtime, &device)) != NVSHMEMRS_SUCCESS)
            return refused(NVSHMEMX_ERROR_INTERNAL, "%s: %s", name, nvshmemrs_last_error());
        if (device < 0)
            return refused(NVSHMEMX_ERROR_NOT_SUPPORTED, "%s: the heap is in host memory, which kernels do not reach", name);
        if (nvshmemrs_device_state(runtime, &state) != NVSHMEMRS_SUCCESS)
            return refused(NVSHMEMX_ERROR_INTERNAL, "%s: %s", name, nvshmemrs_last_error());
    }
    void *at = NULL;
    size_t bytes = 0;
    int code = (library ? driver.library_global : driver.module_global)(&at, &bytes, handle, STATE_NAME);
    if (code != 0)
        return refused(NVSHMEMX_ERROR_INVALID_VALUE, "%s: the code has no `" STATE_NAME "` (the driver's error is %d): it does not include "
            "nvshmem.h, or its kernels call nothing of it", name, code);
    if (bytes != sizeof state)
        return refused(NVSHMEMX_ERROR_INVALID_VALUE, "%s: `" STATE_NAME "` has %zu bytes, and the state of nvshmemrs has %zu: the code is "
            "linked to the device library of NVIDIA's NVSHMEM", name, bytes, sizeof state);
    code = write_global(at, &state);
    if (code != 0)
        return refused(NVSHMEMX_ERROR_INTERNAL, "%s: the driver could not write the state: error %d", name, code);
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_cumodule_init(CUmodule module)
{
    return set_state("nvshmemx_cumodule_init", module, false, false);
}

int nvshmemx_cumodule_finalize(CUmodule module)
{
    return set_state("nvshmemx_cumodule_finalize", module, false, true);
}

int nvshmemx_culibrary_init(CUlibrary library)
{
    return set_state("nvshmemx_culibrary_init", library, true, false);
}

int nvshmemx_culibrary_finalize(CUlibrary library)
{
    return set_state("nvshmemx_culibrary_finalize", library, true, true);
}

/* ---- Cooperative launches ----
 *
 * nvshmemx.h has them inline where CUDA's headers are, for the program's own runtime. These are for callers without the headers. */

struct dim3 {
    unsigned x, y, z;
};

/* Completes init, which gives the program's units their state, for a launch by the function `name`. */
static int ready(const char *name)
{
    return nvshmemrs_nvshmem_complete(name) != 0 ? NVSHMEMX_SUCCESS : nvshmemrs_nvshmem_absent();
}

int nvshmemrs_nvshmem_ready(void)
{
    return ready("nvshmemrs_nvshmem_ready");
}

static void *of_runtime(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (function == NULL)
        refused(0, "nvshmemx_collective_launch: the process has no shared CUDA runtime with `%s`: compile the call where CUDA's headers are", name);
    return function;
}

int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **args, size_t shared, int *gridsize)
{
    int (*current)(int *) = of_runtime("cudaGetDevice");
    int (*attribute)(int *, int, int) = of_runtime("cudaDeviceGetAttribute");
    int (*occupancy)(int *, const void *, int, size_t) = of_runtime("cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    enum { MULTIPROCESSORS = 16 };
    int device = 0, processors = 0, each = 0;
    (void)args;
    if (func == NULL || gridsize == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (current == NULL || attribute == NULL || occupancy == NULL)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    if (current(&device) != 0 || attribute(&processors, MULTIPROCESSORS, device) != 0
        || occupancy(&each, func, (int)(block.x * block.y * block.z), shared) != 0)
        return NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
    *gridsize = processors * each;
    return NVSHMEMX_SUCCESS;
}

int nvshmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    int (*launch)(const void *, dim3, dim3, void **, size_t, cudaStream_t) = of_runtime("cudaLaunchCooperativeKernel");
    if (func == NULL)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (launch == NULL)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    int status = ready("nvshmemx_collective_launch");
    if (status != NVSHMEMX_SUCCESS)
        return status;
    if ((uint64_t)grid.x * grid.y * grid.z == 0) {
        int most = 0;
        status = nvshmemx_collective_launch_query_gridsize(func, block, args, shared, &most);
        if (status != NVSHMEMX_SUCCESS || most == 0)
            return status != NVSHMEMX_SUCCESS ? status : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
        grid = (dim3){(unsigned)most, 1, 1};
    }
    return launch(func, grid, block, args, shared, stream) == 0 ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* As CUDA's headers have them: a launch, and one of its attributes. */
struct launch {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
    struct attribute *attributes;
    unsigned count;
};
struct attribute {
    unsigned id;
    union {
        int cooperative;
        uint64_t words[8];
    } value;
};

int nvshmemx_collective_launch_attr(const struct launch *attr, const void *func, void **args)
{
    enum { MOST = 16, COOPERATIVE = 2 };
    int (*start)(const struct launch *, const void *, void **) = of_runtime("cudaLaunchKernelExC");
    if (attr == NULL || func == NULL || attr->count > MOST)
        return NVSHMEMX_ERROR_INVALID_VALUE;
    if (start == NULL)
        return NVSHMEMX_ERROR_NOT_SUPPORTED;
    int status = ready("nvshmemx_collective_launch_attr");
    if (status != NVSHMEMX_SUCCESS)
        return status;
    struct attribute attributes[MOST + 1];
    struct launch whole = *attr;
    for (unsigned i = 0; i < attr->count; i++)
        attributes[i] = attr->attributes[i];
    attributes[attr->count] = (struct attribute){.id = COOPERATIVE, .value.cooperative = 1};
    whole.attributes = attributes;
    whole.count = attr->count + 1;
    if ((uint64_t)whole.grid.x * whole.grid.y * whole.grid.z == 0) {
        int most = 0;
        status = nvshmemx_collective_launch_query_gridsize(func, whole.block, args, whole.shared, &most);
        if (status != NVSHMEMX_SUCCESS)
            return status;
        whole.grid = (dim3){(unsigned)most, 1, 1};
    }
    return start(&whole, func, args) == 0 ? NVSHMEMX_SUCCESS : NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED;
}

/* The state in constant memory has no lent memory. */
int nvshmemx_ask_smem(int amount)
{
    (void)amount;
    return 0;
}
