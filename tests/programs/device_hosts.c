/* A heap on GPUs of several hosts: memory of all kinds on the caller's side, streams of the program's, registered buffers, a PE that dies.
 *
 * Argument: the name of a part, a function below. */
#include "device_memory.h"
#include "device_pe.h"

#include <signal.h>

/* More than one message carries, and no multiple of its length. */
enum { COUNT = 300001, FEW = 3 };
#define GRANULE (2ul << 20)
#define BYTES (COUNT * 8ul)

static uint64_t expected(int32_t of, size_t at) { return (uint64_t)of * 1000003 + at * 7 + 1; }

/* Fills a PE's words in host memory. */
static void fill_with(uint64_t *words, int32_t of)
{
    for (size_t at = 0; at < COUNT; at++)
        words[at] = expected(of, at);
}

static void compare(const uint64_t *words, int32_t of, const char *what)
{
    for (size_t at = 0; at < COUNT; at++)
        if (words[at] != expected(of, at))
            FAIL("%s: word %zu of PE %d is %lu", what, at, (int)of, words[at]);
}

static void all(void) { CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD)); }

/* Copies words of the host's. The driver may have the last of pageable memory still under way when cuMemcpy returns. */
static void to_there(uint64_t *memory, const uint64_t *words)
{
    CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)memory, (uint64_t)words, BYTES);
    CUDA(cuStreamSynchronize, (cuda_stream_t), NULL);
}

/* Long puts and gets between the heap and memory of every kind, to and from every PE. */
static void buffers(void)
{
    begin_with(32 << 20);
    uint64_t *target = words(COUNT), *own = words(COUNT);
    uint64_t *pageable = malloc(BYTES), *check = malloc(BYTES), *fixed = pinned(COUNT);
    size_t room = (BYTES + GRANULE - 1) / GRANULE * GRANULE;
    uint64_t *private = (uint64_t *)reserve(room);
    fill((uint64_t)private, room, device);
    static const char *names[] = {"pageable", "pinned", "heap", "private"};
    uint64_t *kinds[] = {pageable, fixed, own, private};
    for (int kind = 0; kind < 4; kind++) {
        for (int32_t step = 1; step < n; step++) {
            for (int later = 0; later < 2; later++) {
                int32_t to = (pe + step) % n, from = (pe + n - step) % n;
                uint64_t *memory = kinds[kind];
                fill_with(check, pe);
                to_there(memory, check);
                if (later) {
                    CHECK(nvshmemrs_put_nbi(rt, target, memory, BYTES, to));
                    CHECK(nvshmemrs_quiet(rt));
                } else {
                    CHECK(nvshmemrs_put(rt, target, memory, BYTES, to));
                }
                all();
                CHECK(nvshmemrs_get(rt, check, target, BYTES, pe));
                compare(check, from, names[kind]);
                /* A get brings the data back to its source. */
                memset(check, 0, BYTES);
                to_there(memory, check);
                if (later) {
                    CHECK(nvshmemrs_get_nbi(rt, memory, target, BYTES, to));
                    CHECK(nvshmemrs_quiet(rt));
                } else {
                    CHECK(nvshmemrs_get(rt, memory, target, BYTES, to));
                }
                CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)check, (uint64_t)memory, BYTES);
                compare(check, pe, names[kind]);
                all();
            }
        }
    }
    CUDA(cuMemUnmap, (uint64_t, size_t), (uint64_t)private, room);
    CUDA(cuMemAddressFree, (uint64_t, size_t), (uint64_t)private, room);
    CUDA(cuMemFreeHost, (void *), fixed);
    free(pageable);
    free(check);
    end();
}

static int32_t counts(void *user)
{
    ++*(int *)user;
    return 0;
}

/* Operations run in the order of the program's stream, between the program's own work on the stream. */
static void streams(void)
{
    begin();
    uint64_t *send = words(FEW), *got = words(FEW), *sum = words(FEW), *signal = words(1), *number = words(1);
    uint64_t *host = pinned(FEW), *back = pinned(FEW), last = 0;
    cuda_stream_t raw = new_stream(), other = new_stream();
    nvshmemrs_stream_t stream = ours(raw), second = ours(other);
    nvshmemrs_event_t event;
    int32_t next = (pe + 1) % n, done;
    int called = 0;
    CHECK(nvshmemrs_event_new(rt, &event));
    for (uint64_t round = 1; round <= 20; round++) {
        for (int at = 0; at < FEW; at++)
            host[at] = round * 100 + (uint64_t)at + (uint64_t)pe * 1000;
        CUDA(cuMemcpyAsync, (uint64_t, uint64_t, size_t, cuda_stream_t), (uint64_t)send, (uint64_t)host, FEW * 8, raw);
        CHECK(nvshmemrs_put_signal(stream, got, send, FEW * 8, signal, 1, NVSHMEMRS_SIGNAL_ADD, next));
        CHECK(nvshmemrs_wait_until(stream, signal, NVSHMEMRS_CMP_GE, &round, NVSHMEMRS_DTYPE_UINT64));
        CHECK(nvshmemrs_atomic_add64(stream, number, 1, next));
        CHECK(nvshmemrs_reduce(stream, NVSHMEMRS_TEAM_WORLD, sum, got, FEW, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_SUM));
        CHECK(nvshmemrs_stream_call(stream, counts, &called));
        /* The program's own work comes after all of it, here and on a stream that waits for an event. */
        CHECK(nvshmemrs_event_record(event, stream));
        CHECK(nvshmemrs_stream_wait_event(second, event));
        CUDA(cuMemcpyAsync, (uint64_t, uint64_t, size_t, cuda_stream_t), (uint64_t)back, (uint64_t)sum, FEW * 8, other);
        CHECK(nvshmemrs_stream_synchronize(second));
        for (int at = 0; at < FEW; at++) {
            uint64_t all_of = (uint64_t)n * (round * 100 + (uint64_t)at) + (uint64_t)(n * (n - 1) / 2) * 1000;
            if (back[at] != all_of)
                FAIL("round %d: word %d is %lu instead of %lu", (int)round, at, back[at], all_of);
        }
        CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_stream_synchronize(stream));
        CHECK(nvshmemrs_stream_query(stream, &done));
        if (!done || called != (int)round)
            FAIL("round %d: %d, the program's function was called %d times", (int)round, (int)done, called);
    }
    CHECK(nvshmemrs_g64(stream, number, pe, &last));
    if (last != 20)
        FAIL("%d additions came", (int)last);
    /* An error is kept for the caller that synchronizes the stream, which goes on. */
    CHECK(nvshmemrs_p64(stream, number, 7, 99));
    REFUSED(NVSHMEMRS_ERROR_PE_RANGE, "99", nvshmemrs_stream_synchronize(stream));
    CHECK(nvshmemrs_p64(stream, number, 7, pe));
    CHECK(nvshmemrs_stream_synchronize(stream));
    if (value_of(number, pe) != 7)
        FAIL("the stream has not gone on");
    /* A graph cannot contain the work of a host thread. */
    void *graph;
    CUDA(cuStreamBeginCapture_v2, (cuda_stream_t, int), raw, 2);
    REFUSED(NVSHMEMRS_ERROR_NOT_SUPPORTED, "in a job that is checked or on several hosts is not possible while the stream is captured",
            nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    CUDA(cuStreamEndCapture, (cuda_stream_t, void **), raw, &graph);
    CUDA(cuGraphDestroy, (void *), graph);
    CHECK(nvshmemrs_barrier(stream, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_stream_free(second));
    /* Operations that are still on the stream continue, and finalize waits for them. */
    CHECK(nvshmemrs_p64(stream, number, 9, next));
    CHECK(nvshmemrs_stream_free(stream));
    CHECK(nvshmemrs_event_free(event));
    CUDA(cuStreamSynchronize, (cuda_stream_t), raw);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), raw);
    CUDA(cuStreamDestroy_v2, (cuda_stream_t), other);
    CUDA(cuMemFreeHost, (void *), host);
    CUDA(cuMemFreeHost, (void *), back);
    end();
}

/* GPU memory of the program's is symmetric on every host. */
static void registered(void)
{
    begin();
    uint64_t buffer = reserve(GRANULE), *heap = words(1), value = 0;
    fill(buffer, GRANULE, device);
    void *symmetric;
    CHECK(nvshmemrs_buffer_register(rt, (void *)buffer, GRANULE, NULL, &symmetric));
    uint64_t *there = symmetric;
    int32_t next = (pe + 1) % n, before = (pe + n - 1) % n;
    CHECK(nvshmemrs_p64(rt, there + 5, 100 + (uint64_t)pe, next));
    CHECK(nvshmemrs_p64(rt, heap, 0, next));
    all();
    CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)&value, buffer + 40, 8);
    if (value != 100 + (uint64_t)before)
        FAIL("the buffer has %lu", value);
    all();
    CHECK(nvshmemrs_atomic_add64(rt, there + 5, 1, next));
    all();
    if (value_of(there + 5, pe) != 101 + (uint64_t)before)
        FAIL("the buffer has %lu after an addition", value_of(there + 5, pe));
    CHECK(nvshmemrs_buffer_unregister(rt, symmetric));
    CUDA(cuMemUnmap, (uint64_t, size_t), buffer, GRANULE);
    CUDA(cuMemAddressFree, (uint64_t, size_t), buffer, GRANULE);
    end();
}

static void copied(void *to, uint64_t from, size_t bytes)
{
    CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)to, from, bytes);
}

/* A GPU reaches the PEs of its own host. Kernels read this from the state; the program reads the same words. */
static void far(void)
{
    begin();
    uint64_t *word = words(1);
    nvshmemrs_device_state_t state, copy;
    void *address;
    struct {
        uint64_t heap_bytes;
        uint32_t n_teams, check;
        uint64_t teams, state;
        uint32_t slots, padding;
        uint64_t report, near, reserved;
    } job;
    struct {
        int32_t n, me, first, step;
        uint64_t others[5];
        int32_t far;
        uint32_t reserved;
    } row;
    uint32_t bits;
    CHECK(nvshmemrs_device_state(rt, &state));
    copied(&job, state.job, sizeof job);
    copied(&copy, job.state, sizeof copy);
    if (state.check != 2 || job.check != 2 || memcmp(&copy, &state, sizeof copy) != 0)
        FAIL("the state says %u of other hosts, and its copy %u", state.check, copy.check);
    copied(&bits, job.near, sizeof bits);
    int32_t first_far = -1;
    for (int32_t i = 0; i < n; i++) {
        CHECK(nvshmemrs_ptr(rt, word, i, &address));
        if ((address != NULL) != (bits >> i & 1))
            FAIL("PE %d has the address %p, and kernels are told %x", (int)i, address, bits);
        if (!address && first_far < 0)
            first_far = i;
    }
    copied(&row, job.teams + NVSHMEMRS_TEAM_WORLD * sizeof row, sizeof row);
    if (row.n != n || row.far != first_far + 1)
        FAIL("of %d members, %d is the first far one", (int)row.n, (int)row.far - 1);
    copied(&row, job.teams + NVSHMEMRS_TEAM_SHARED * sizeof row, sizeof row);
    if (row.n < 1 || row.far != 0)
        FAIL("of the %d members of this host, PE %d is far", (int)row.n, (int)row.far - 1);
    CHECK(nvshmemrs_ptr(rt, word, pe, &address));
    if (address != word)
        FAIL("this PE has the address %p", address);
    all();
    end();
}

/* PE 1 dies; the others wait for it, on the host and on a stream. */
static void killed(void)
{
    begin();
    uint64_t *word = words(1), one = 1;
    nvshmemrs_stream_t stream;
    all();
    if (pe == 1)
        raise(SIGKILL);
    CHECK(nvshmemrs_stream_new(rt, &stream));
    CHECK(nvshmemrs_wait_until(stream, word, NVSHMEMRS_CMP_GE, &one, NVSHMEMRS_DTYPE_UINT64));
    int32_t status = nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD);
    printf("barrier on PE %d: status %d: %s\n", (int)pe, (int)status, nvshmemrs_last_error());
    status = nvshmemrs_stream_synchronize(stream);
    printf("stream on PE %d: status %d: %s\n", (int)pe, (int)status, nvshmemrs_last_error());
    fflush(stdout);
    /* Their statuses are those of the death. */
    (void)!nvshmemrs_stream_free(stream);
    (void)!nvshmemrs_finalize(rt);
    leave();
}

int main(int argc, char **argv)
{
    static const part_t all_parts[] = {
        {"buffers", buffers}, {"streams", streams}, {"registered", registered}, {"far", far}, {"killed", killed},
    };
    return run_parts(argc, argv, all_parts, sizeof all_parts / sizeof *all_parts, "device hosts");
}
