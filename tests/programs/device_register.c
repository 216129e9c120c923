/* Registers memory of a GPU that the program has made, in two pieces, and lets the neighbours use it; memory that cannot be registered is
 * refused. */
#include "device_memory.h"

#define PIECE ((size_t)2 << 20)
#define BYTES (2 * PIECE)
#define WORDS (BYTES / 8)

static void copy(void *to, const void *from, size_t bytes) {
    CUDA(cuMemcpy, (uint64_t, uint64_t, size_t), (uint64_t)to, (uint64_t)from, bytes);
}

/* An address that every PE's driver gives when it is asked for it: one that PE 0's has just given. NULL if some PE's driver does not take
 * the hint, which it is free to do. */
static void *common_address(nvshmemrs_runtime_t rt, int me, int n) {
    void *memory;
    CHECK(nvshmemrs_malloc(rt, (size_t)(n + 1) * 8, &memory));
    uint64_t *words = memory, wanted = 0, got = 0;
    if (me == 0) {
        wanted = reserve(BYTES);
        CUDA(cuMemAddressFree, (uint64_t, size_t), wanted, BYTES);
        for (int pe = 0; pe < n; pe++) CHECK(nvshmemrs_put(rt, words, &wanted, 8, pe));
    }
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_get(rt, &wanted, words, 8, me));
    CUDA(cuMemAddressReserve, (uint64_t *, size_t, size_t, uint64_t, uint64_t), &got, BYTES, 0, wanted, 0);
    CUDA(cuMemAddressFree, (uint64_t, size_t), got, BYTES);
    uint64_t taken = got == wanted;
    for (int pe = 0; pe < n; pe++) CHECK(nvshmemrs_put(rt, words + 1 + me, &taken, 8, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int pe = 0; pe < n; pe++) {
        CHECK(nvshmemrs_get(rt, &taken, words + 1 + pe, 8, me));
        if (!taken) wanted = 0;
    }
    CHECK(nvshmemrs_free(rt, memory));
    if (!wanted && me == 0) printf("left out: the drivers have no address in common\n");
    return (void *)wanted;
}

int main(void) {
    nvshmemrs_init_attr_t attr;
    CHECK(nvshmemrs_init_attr_default(&attr));
    attr.memory_kind = NVSHMEMRS_MEMORY_DEVICE;
    attr.heap_bytes = 16 << 20;
    nvshmemrs_runtime_t rt;
    CHECK(nvshmemrs_init(&attr, &rt));
    int me, n, devices;
    CHECK(nvshmemrs_my_pe(rt, &me));
    CHECK(nvshmemrs_n_pes(rt, &n));
    CUDA(cuDeviceGetCount, (int *), &devices);
    int device = me % devices, right = (me + 1) % n, left = (me + n - 1) % n;
    void *context;
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CUDA(cuCtxPushCurrent_v2, (void *), context);

    uint64_t buffer = reserve(BYTES);
    fill(buffer, PIECE, device);
    fill(buffer + PIECE, PIECE, device);
    uint64_t *words = malloc(BYTES);
    for (size_t i = 0; i < WORDS; i++) words[i] = i * 1000 + (uint64_t)me;
    copy((void *)buffer, words, BYTES);

    /* Buffers that cannot be registered: host memory, part of a mapping, an address that is taken. */
    void *symmetric, *again;
    void *host = aligned_alloc(PIECE, BYTES);
    EXPECT(nvshmemrs_buffer_register(rt, host, BYTES, NULL, &symmetric) == NVSHMEMRS_ERROR_INVALID_VALUE);
    EXPECT(strstr(nvshmemrs_last_error(), "cuMemCreate"));
    EXPECT(nvshmemrs_buffer_register(rt, (void *)buffer, BYTES - 4096, NULL, &symmetric) == NVSHMEMRS_ERROR_INVALID_VALUE);
    EXPECT(nvshmemrs_buffer_register(rt, (void *)buffer, BYTES, (void *)buffer, &symmetric) == NVSHMEMRS_ERROR_INVALID_VALUE);
    EXPECT(strstr(nvshmemrs_last_error(), "preferred"));
    free(host);
    /* One PE's mistake is an error for all, and nothing is registered. */
    int refused = nvshmemrs_buffer_register(rt, (void *)(me == 0 ? PIECE : buffer), BYTES, NULL, &symmetric);
    EXPECT(refused == (me == 0 ? NVSHMEMRS_ERROR_INVALID_VALUE : NVSHMEMRS_ERROR_PEER_ARGUMENT));

    for (int round = 0; round < 3; round++) {
        /* At an address of the library's choice, and at one of the program's. */
        void *preferred = round == 1 ? common_address(rt, me, n) : NULL;
        CHECK(nvshmemrs_buffer_register(rt, (void *)buffer, BYTES, preferred, &symmetric));
        EXPECT(preferred == NULL || symmetric == preferred);
        int kind;
        CHECK(nvshmemrs_memory_kind(rt, symmetric, &kind));
        EXPECT(kind == NVSHMEMRS_MEMORY_DEVICE);
        /* Contents and addresses are as they were, and others reach them by any of the addresses. */
        uint64_t mine[2], theirs[2];
        copy(mine, (char *)symmetric + PIECE - 8, 16);
        EXPECT(mine[0] == (PIECE / 8 - 1) * 1000 + (uint64_t)me + (uint64_t)round * 7);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CHECK(nvshmemrs_get(rt, theirs, (char *)buffer + PIECE - 8, 16, right));
        EXPECT(theirs[1] == PIECE / 8 * 1000 + (uint64_t)right + (uint64_t)round * 7);
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        for (size_t i = 0; i < WORDS; i++) words[i] = i * 1000 + (uint64_t)right + (uint64_t)(round + 1) * 7;
        CHECK(nvshmemrs_put(rt, symmetric, words, BYTES, right));
        CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        copy(words, (void *)buffer, BYTES);
        for (size_t i = 0; i < WORDS; i++) EXPECT(words[i] == i * 1000 + (uint64_t)me + (uint64_t)(round + 1) * 7);
        again = symmetric;
        if (round < 2) CHECK(nvshmemrs_buffer_unregister(rt, symmetric));
        EXPECT(round == 2 || nvshmemrs_put(rt, again, words, 8, left) == NVSHMEMRS_ERROR_NOT_SYMMETRIC);
    }
    /* The last one is left to finalize. */
    CHECK(nvshmemrs_finalize(rt));
    copy(words, (void *)buffer, 8);
    EXPECT(words[0] == (uint64_t)me + 21);
    CUDA(cuMemUnmap, (uint64_t, size_t), buffer, BYTES);
    CUDA(cuMemAddressFree, (uint64_t, size_t), buffer, BYTES);
    CUDA(cuCtxPopCurrent_v2, (void **), &context);
    CUDA(cuDevicePrimaryCtxRelease_v2, (int), device);
    free(words);
    printf("registered PE %d\n", me);
    return 0;
}
