/* NVSHMEM's side. Its host library is opened at run time, as it is in a Python package or a folder of NVIDIA's, so the parts of its headers
 * that are needed are declared here: version 3's ABI, whose structures begin with a word of version and size. */
#include "bench.h"

#include <dlfcn.h>
#include <string.h>

typedef struct {
    int version;
    char internal[124];
} uniqueid_t;
typedef struct {
    int version;
    void *mpi_comm;
    char arguments[128];
} init_attr_t;

/* The versions of the attribute and of the arguments in it, which start behind a pointer. */
enum { WITH_UNIQUEID = 1 << 3, WORLD = 0, SIGNAL_SET = 9, ATTR_V1 = (1 << 16) + 144, ARGS_V1 = (1 << 16) + 128, ID_ARGS_V1 = (1 << 16) + 24 };
enum { ARGS_AT = 16, ID_ARGS_AT = 24 };

static struct {
    void (*host_barrier)(void);
    void (*host_put)(void *, const void *, size_t, int);
    void (*put)(void *, const void *, size_t, int, cuda_t);
    void (*get)(void *, const void *, size_t, int, cuda_t);
    void (*put_signal)(void *, const void *, size_t, uint64_t *, uint64_t, int, int, cuda_t);
    void (*barrier)(cuda_t);
    void (*sync)(cuda_t);
    int (*reduce)(int, int *, const int *, size_t, cuda_t);
    int (*reducescatter)(int, int *, const int *, size_t, cuda_t);
    int (*fcollect)(int, void *, const void *, size_t, cuda_t);
    int (*alltoall)(int, void *, const void *, size_t, cuda_t);
    int (*broadcast)(int, void *, const void *, size_t, int, cuda_t);
} f;
static cuda_t on;

static void *function(const char *name)
{
    static void *library;
    const char *path = getenv("NVSHMEM_HOST_LIBRARY");
    if (!library)
        library = dlopen(path ? path : "libnvshmem_host.so.3", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        FAIL("no NVSHMEM: %s (NVSHMEM_HOST_LIBRARY names its file)", dlerror());
    void *found = dlsym(library, name);
    if (!found)
        FAIL("NVSHMEM's library has no %s", name);
    return found;
}

#define TAKE(field, name) (*(void **)&f.field = function(name))
#define OK(call)                          \
    do {                                  \
        int status_ = (call);             \
        if (status_)                      \
            FAIL("%s: %d", #call, status_); \
    } while (0)

/* PE 0 writes the id into a file that the others wait for. */
static uniqueid_t agreed_id(int pe)
{
    const char *file = getenv("BENCH_UNIQUE_ID");
    if (!file)
        FAIL("BENCH_UNIQUE_ID names no file");
    uniqueid_t id = {.version = (1 << 16) + (int)sizeof id};
    char unfinished[4096];
    snprintf(unfinished, sizeof unfinished, "%s.part", file);
    if (pe == 0) {
        int (*get_uniqueid)(uniqueid_t *);
        *(void **)&get_uniqueid = function("nvshmemx_get_uniqueid");
        OK(get_uniqueid(&id));
        FILE *out = fopen(unfinished, "wb");
        if (!out || fwrite(&id, sizeof id, 1, out) != 1 || fclose(out) || rename(unfinished, file))
            FAIL("cannot write %s", file);
        return id;
    }
    for (int tries = 0; tries < 3000; tries++) {
        FILE *in = fopen(file, "rb");
        if (in) {
            if (fread(&id, sizeof id, 1, in) != 1)
                FAIL("cannot read %s", file);
            fclose(in);
            return id;
        }
        usleep(10000);
    }
    FAIL("PE 0 has written no %s", file);
}

static void init(int pe, int n_pes, int device, size_t heap_bytes)
{
    (void)device, (void)heap_bytes; /* its heap grows */
    int (*set_args)(int, int, const uniqueid_t *, init_attr_t *);
    int (*init_attr)(unsigned, init_attr_t *);
    *(void **)&set_args = function("nvshmemx_set_attr_uniqueid_args");
    *(void **)&init_attr = function("nvshmemx_hostlib_init_attr");
    uniqueid_t id = agreed_id(pe);
    init_attr_t attr = {.version = ATTR_V1};
    int args = ARGS_V1, id_args = ID_ARGS_V1;
    memcpy((char *)&attr + ARGS_AT, &args, sizeof args);
    memcpy((char *)&attr + ID_ARGS_AT, &id_args, sizeof id_args);
    OK(set_args(pe, n_pes, &id, &attr));
    OK(init_attr(WITH_UNIQUEID, &attr));
    TAKE(host_barrier, "nvshmem_barrier_all");
    TAKE(host_put, "nvshmem_putmem");
    TAKE(put, "nvshmemx_putmem_on_stream");
    TAKE(get, "nvshmemx_getmem_on_stream");
    TAKE(put_signal, "nvshmemx_putmem_signal_on_stream");
    TAKE(barrier, "nvshmemx_barrier_all_on_stream");
    TAKE(sync, "nvshmemx_sync_all_on_stream");
    TAKE(reduce, "nvshmemx_int_sum_reduce_on_stream");
    TAKE(reducescatter, "nvshmemx_int_sum_reducescatter_on_stream");
    TAKE(fcollect, "nvshmemx_fcollectmem_on_stream");
    TAKE(alltoall, "nvshmemx_alltoallmem_on_stream");
    TAKE(broadcast, "nvshmemx_broadcastmem_on_stream");
}

static void use(cuda_t stream) { on = stream; }

static void finalize(void)
{
    void (*end)(void);
    *(void **)&end = function("nvshmemx_hostlib_finalize");
    end();
}

static const char *version(void)
{
    static char text[64];
    void (*get)(int *, int *, int *);
    *(void **)&get = function("nvshmemx_vendor_get_version_info");
    int major, minor, patch;
    get(&major, &minor, &patch);
    snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
    return text;
}

static void *allocate(size_t bytes)
{
    void *(*make)(size_t);
    *(void **)&make = function("nvshmem_malloc");
    void *memory = make(bytes);
    if (!memory)
        FAIL("nvshmem_malloc gives no %zu bytes", bytes);
    return memory;
}

static void host_barrier(void) { f.host_barrier(); }
static void host_put(void *dest, const void *source, size_t bytes, int pe) { f.host_put(dest, source, bytes, pe); }
static void put(void *dest, const void *source, size_t bytes, int pe) { f.put(dest, source, bytes, pe, on); }
static void get(void *dest, const void *source, size_t bytes, int pe) { f.get(dest, source, bytes, pe, on); }
static void put_signal(void *dest, const void *source, size_t bytes, uint64_t *signal, int pe)
{
    f.put_signal(dest, source, bytes, signal, 1, SIGNAL_SET, pe, on);
}
static void barrier(void) { f.barrier(on); }
static void sync_(void) { f.sync(on); }
static void reduce(void *dest, const void *source, size_t count) { OK(f.reduce(WORLD, dest, source, count, on)); }
static void reducescatter(void *dest, const void *source, size_t count) { OK(f.reducescatter(WORLD, dest, source, count, on)); }
static void fcollect(void *dest, const void *source, size_t bytes) { OK(f.fcollect(WORLD, dest, source, bytes, on)); }
static void alltoall(void *dest, const void *source, size_t bytes) { OK(f.alltoall(WORLD, dest, source, bytes, on)); }
static void broadcast(void *dest, const void *source, size_t bytes) { OK(f.broadcast(WORLD, dest, source, bytes, 0, on)); }

const struct side nvshmem = {
    "nvshmem", init,    use, finalize, version,       allocate, host_barrier, host_put, put, get, put_signal,
    barrier,   sync_,   reduce, reducescatter, fcollect, alltoall, broadcast,
};
