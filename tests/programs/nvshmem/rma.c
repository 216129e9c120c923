/* Put, get, p, g, strided and non-blocking forms of every type and size, called and on a stream: the element, its neighbours, and the other
 * PE. Types do not matter here, so elements are bytes. */

#include "common.h"

#define N 6
#define MOST 16

/* Symmetric memory for all types: N + 2 places, of which the first and the last stay untouched. */
static unsigned char *there;
static unsigned char own[(3 * N + 2) * MOST];

static unsigned char byte(int pe, int index, size_t k)
{
    return (unsigned char)(1 + (pe * 31 + index * 7 + (int)k * 3) % 200);
}

static void make(unsigned char *at, size_t bytes, int pe, int index)
{
    for (size_t k = 0; k < bytes; k++)
        at[k] = byte(pe, index, k);
}

static void expect(const unsigned char *at, size_t bytes, int pe, int index)
{
    for (size_t k = 0; k < bytes; k++)
        CHECK(at[k] == (pe < 0 ? 250 : byte(pe, index, k)));
}

/* Before a put, whose source is `own`. */
static void putting(size_t bytes)
{
    nvshmem_barrier_all();
    memset(there, 250, (3 * N + 2) * bytes);
    for (int i = 0; i < N; i++)
        make(own + i * bytes, bytes, me, i);
    nvshmem_barrier_all();
}

/* After it: `count` elements of the PE before are there, `step` apart, and nothing beside them. */
static void arrived(size_t bytes, int step, int count)
{
    nvshmem_barrier_all();
    for (int place = 0; place < 3 * N + 2; place++) {
        const int k = place - 1, hit = k >= 0 && k % step == 0 && k / step < count;
        expect(there + place * bytes, bytes, hit ? before : -1, k / step);
    }
}

static void getting(size_t bytes)
{
    nvshmem_barrier_all();
    memset(own, 250, sizeof own);
    for (int i = 0; i < 3 * N + 2; i++)
        make(there + i * bytes, bytes, me, i);
    nvshmem_barrier_all();
}

/* `count` elements of the next PE, which lie `step` apart there. */
static void got(size_t bytes, int step, int count)
{
    for (int i = 0; i < 3 * N + 2; i++)
        expect(own + i * bytes, bytes, i < count ? next : -1, 1 + i * step);
    nvshmem_barrier_all();
}

/* A call, and the same on a stream: `CALL` and `CALL_on_stream(..., NULL)`. */
#define PUT(T, STEP, COUNT, CALL, QUEUED) \
    { putting(sizeof(T)); CALL; nvshmem_quiet(); arrived(sizeof(T), STEP, COUNT); } \
    { putting(sizeof(T)); QUEUED; nvshmemx_quiet_on_stream(NULL); drain(); arrived(sizeof(T), STEP, COUNT); }
#define GET(T, STEP, COUNT, CALL, QUEUED) \
    { getting(sizeof(T)); CALL; nvshmem_quiet(); got(sizeof(T), STEP, COUNT); } \
    { getting(sizeof(T)); QUEUED; nvshmemx_quiet_on_stream(NULL); drain(); got(sizeof(T), STEP, COUNT); }

#define TYPED(TAG, T) \
    static void typed_##TAG(void) \
    { \
        T *at = (T *)there + 1, *mine = (T *)own; \
        PUT(T, 1, N, nvshmem_##TAG##_put(at, mine, N, next), nvshmemx_##TAG##_put_on_stream(at, mine, N, next, NULL)) \
        PUT(T, 1, N, nvshmem_##TAG##_put_nbi(at, mine, N, next), nvshmemx_##TAG##_put_nbi_on_stream(at, mine, N, next, NULL)) \
        PUT(T, 1, 1, nvshmem_##TAG##_p(at, *mine, next), nvshmemx_##TAG##_p_on_stream(at, *mine, next, NULL)) \
        PUT(T, 3, N, nvshmem_##TAG##_iput(at, mine, 3, 1, N, next), nvshmemx_##TAG##_iput_on_stream(at, mine, 3, 1, N, next, NULL)) \
        GET(T, 1, N, nvshmem_##TAG##_get(mine, at, N, next), nvshmemx_##TAG##_get_on_stream(mine, at, N, next, NULL)) \
        GET(T, 1, N, nvshmem_##TAG##_get_nbi(mine, at, N, next), nvshmemx_##TAG##_get_nbi_on_stream(mine, at, N, next, NULL)) \
        GET(T, 1, 1, *mine = nvshmem_##TAG##_g(at, next), *mine = nvshmemx_##TAG##_g_on_stream(at, next, NULL)) \
        GET(T, 3, N, nvshmem_##TAG##_iget(mine, at, 1, 3, N, next), nvshmemx_##TAG##_iget_on_stream(mine, at, 1, 3, N, next, NULL)) \
    }
RMA_TYPES(TYPED)

#define SIZED(B, T) \
    static void sized_##B(void) \
    { \
        T *at = (T *)there + 1, *mine = (T *)own; \
        PUT(T, 1, N, nvshmem_put##B(at, mine, N, next), nvshmemx_put##B##_on_stream(at, mine, N, next, NULL)) \
        PUT(T, 1, N, nvshmem_put##B##_nbi(at, mine, N, next), nvshmemx_put##B##_nbi_on_stream(at, mine, N, next, NULL)) \
        PUT(T, 3, N, nvshmem_iput##B(at, mine, 3, 1, N, next), nvshmemx_iput##B##_on_stream(at, mine, 3, 1, N, next, NULL)) \
        GET(T, 1, N, nvshmem_get##B(mine, at, N, next), nvshmemx_get##B##_on_stream(mine, at, N, next, NULL)) \
        GET(T, 1, N, nvshmem_get##B##_nbi(mine, at, N, next), nvshmemx_get##B##_nbi_on_stream(mine, at, N, next, NULL)) \
        GET(T, 3, N, nvshmem_iget##B(mine, at, 1, 3, N, next), nvshmemx_iget##B##_on_stream(mine, at, 1, 3, N, next, NULL)) \
    }
SIZES(SIZED)

static void bytes(void)
{
    unsigned char *at = there + 1;
    PUT(char, 1, N, nvshmem_putmem(at, own, N, next), nvshmemx_putmem_on_stream(at, own, N, next, NULL))
    PUT(char, 1, N, nvshmem_putmem_nbi(at, own, N, next), nvshmemx_putmem_nbi_on_stream(at, own, N, next, NULL))
    GET(char, 1, N, nvshmem_getmem(own, at, N, next), nvshmemx_getmem_on_stream(own, at, N, next, NULL))
    GET(char, 1, N, nvshmem_getmem_nbi(own, at, N, next), nvshmemx_getmem_nbi_on_stream(own, at, N, next, NULL))
}

/* ---- With a signal: the data is there when the signal is ---- */

static uint64_t *sig;
static uint64_t expected;

#define SIGNALLED(T, CALL) \
    { \
        putting(sizeof(T)); \
        CALL; \
        nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, expected += 3, NULL); \
        drain(); \
        CHECK(nvshmem_signal_fetch(sig) == expected); \
        arrived(sizeof(T), 1, N); \
    }
#define SIGNAL(TAG, T) \
    static void signal_##TAG(void) \
    { \
        T *at = (T *)there + 1, *mine = (T *)own; \
        SIGNALLED(T, nvshmemx_##TAG##_put_signal_on_stream(at, mine, N, sig, 3, NVSHMEM_SIGNAL_ADD, next, NULL)) \
        SIGNALLED(T, nvshmemx_##TAG##_put_signal_nbi_on_stream(at, mine, N, sig, expected + 3, NVSHMEM_SIGNAL_SET, next, NULL)) \
    }
RMA_TYPES(SIGNAL)
#define SIGNAL_SIZE(B, T) \
    static void signal_size_##B(void) \
    { \
        T *at = (T *)there + 1, *mine = (T *)own; \
        SIGNALLED(T, nvshmemx_put##B##_signal_on_stream(at, mine, N, sig, 3, NVSHMEM_SIGNAL_ADD, next, NULL)) \
        SIGNALLED(T, nvshmemx_put##B##_signal_nbi_on_stream(at, mine, N, sig, 3, NVSHMEM_SIGNAL_ADD, next, NULL)) \
    }
SIZES(SIGNAL_SIZE)

static void signals(void)
{
    unsigned char *at = there + 1;
    SIGNALLED(char, nvshmemx_putmem_signal_on_stream(at, own, N, sig, 3, NVSHMEM_SIGNAL_ADD, next, NULL))
    SIGNALLED(char, nvshmemx_putmem_signal_nbi_on_stream(at, own, N, sig, 3, NVSHMEM_SIGNAL_ADD, next, NULL))
    nvshmem_barrier_all();
    nvshmemx_signal_op(sig, 5, NVSHMEM_SIGNAL_ADD, next);
    nvshmem_barrier_all();
    CHECK(nvshmem_signal_fetch(sig) == expected + 5);
    nvshmem_barrier_all();
    nvshmemx_signal_op_on_stream(sig, 7, NVSHMEM_SIGNAL_SET, next, NULL);
    nvshmemx_signal_wait_until_on_stream(sig, NVSHMEM_CMP_EQ, 7, NULL);
    drain();
    nvshmemx_signal_counted_reset(sig);
    CHECK(nvshmem_signal_fetch(sig) == 0);
}

int main(void)
{
    begin();
    there = nvshmem_align(64, (3 * N + 2) * MOST);
    sig = nvshmem_calloc(1, sizeof *sig);
    CHECK(there != NULL && sig != NULL);
#define EACH(TAG, T) typed_##TAG(), signal_##TAG();
    RMA_TYPES(EACH)
#define SIZE(B, T) sized_##B(), signal_size_##B();
    SIZES(SIZE)
    bytes();
    signals();
    end();
    return 0;
}
