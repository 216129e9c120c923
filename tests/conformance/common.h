// Shared by the conformance programs in C: the runtime, this PE's number, and checks that end the program. The file that includes this one
// defines PROGRAM, its name in messages.

#include <nvshmemrs.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD NVSHMEMRS_TEAM_WORLD

static nvshmemrs_runtime_t rt;
static int32_t me, n;

static inline void fail(const char *what, const char *text) {
    fprintf(stderr, PROGRAM ": PE %d of %d: %s: %s\n", (int)me, (int)n, what, text);
    exit(1);
}

static inline void expect(int32_t status, int32_t wanted, const char *call) {
    if (status != wanted) {
        char text[640];
        snprintf(text, sizeof text, "status %d, not %d: %s", (int)status, (int)wanted, nvshmemrs_last_error());
        fail(call, text);
    }
}

// All numbers in these programs are small enough to be exact as double.
static inline void same(const char *what, int index, double found, double wanted) {
    if (found != wanted) {
        char text[120];
        snprintf(text, sizeof text, "[%d] is %.17g, not %.17g", index, found, wanted);
        fail(what, text);
    }
}

#define CHECK(what) ((what) ? (void)0 : fail("failed", #what))
#define MUST(call) expect((call), NVSHMEMRS_SUCCESS, #call)
#define REFUSED(wanted, call) expect((call), NVSHMEMRS_ERROR_##wanted, #call)
#define SAME(found, wanted) same(#found, 0, (double)(found), (double)(wanted))
// The call succeeds, and then `found` is `wanted`.
#define GIVES(wanted, found, call) (MUST(call), SAME(found, wanted))

static inline void init(void) {
    MUST(nvshmemrs_init(NULL, &rt));
    MUST(nvshmemrs_my_pe(rt, &me));
    MUST(nvshmemrs_n_pes(rt, &n));
}

static inline void barrier(void) { MUST(nvshmemrs_barrier(rt, WORLD)); }

static inline void *allocate(size_t count, size_t bytes) {
    void *memory = NULL;
    MUST(nvshmemrs_calloc(rt, count, bytes, &memory));
    CHECK(memory != NULL);
    return memory;
}

static inline void release(void *memory) {
    barrier();
    MUST(nvshmemrs_free(rt, memory));
}
