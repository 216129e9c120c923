// Conformance, scenario "misuse": a caller's mistake comes back as a status and a message that names the
// argument and the value; nothing is written, no PE is stranded, and the job goes on. The same steps, in the same
// order, are in misuse.cpp, misuse.jl and misuse.f90.

#define PROGRAM "misuse"
#include "common.h"

// `call` must return `wanted`, and the message must have both words in it: the names are those of C.
static void expect_error(int32_t status, int32_t wanted, const char *word, const char *value, const char *call) {
    const char *text = nvshmemrs_last_error();
    if (status != wanted || !strstr(text, word) || !strstr(text, value)) {
        fprintf(stderr, "misuse: PE %d of %d: %s: status %d (expected %d), message \"%s\" (expected %s and %s in it)\n",
                (int)me, (int)n, call, (int)status, (int)wanted, text, word, value);
        exit(1);
    }
}

#define EXPECT(wanted, word, value, call) expect_error((call), NVSHMEMRS_ERROR_##wanted, word, value, #call)

enum { COUNT = 8 };

int main(void) {
    int32_t nobody = -5;
    EXPECT(NOT_INITIALIZED, "runtime", "", nvshmemrs_my_pe(0, &nobody));
    CHECK(nobody == -5);

    init();
    CHECK(n >= 2); // a mismatch takes two
    char too_high[16];
    snprintf(too_high, sizeof too_high, "%d", (int)n);

    double *data = NULL;
    void *memory = NULL;
    MUST(nvshmemrs_calloc(rt, COUNT, sizeof *data, &memory));
    data = memory;
    double local[COUNT + 1];
    for (int i = 0; i <= COUNT; i++) {
        local[i] = 1.0 + i;
    }

    EXPECT(PE_RANGE, "`pe`", too_high, nvshmemrs_put(rt, data, local, sizeof *data, n));
    EXPECT(PE_RANGE, "`pe`", "-1", nvshmemrs_put(rt, data, local, sizeof *data, -1));
    EXPECT(OUT_OF_BOUNDS, "`dest`", "72", nvshmemrs_put(rt, data, local, (COUNT + 1) * sizeof *data, 0));
    EXPECT(NOT_SYMMETRIC, "`dest`", "`nvshmemrs_malloc()`", nvshmemrs_put(rt, local, data, sizeof *data, 0));
    EXPECT(INVALID_VALUE, "`pe`", "`NULL`", nvshmemrs_my_pe(rt, NULL));
    EXPECT(INVALID_VALUE, "`ptr`", "`NULL`", nvshmemrs_malloc(rt, 64, NULL));
    MUST(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int i = 0; i < COUNT; i++) {
        CHECK(data[i] == 0.0);
    }

    MUST(nvshmemrs_malloc(rt, 64, &memory));
    MUST(nvshmemrs_free(rt, memory));
    EXPECT(BAD_FREE, "`ptr`", "free", nvshmemrs_free(rt, memory));

    for (int i = 0; i < COUNT; i++) {
        data[i] = i < 4 ? me + 1.0 : -7.0;
    }
    double *dest = data + 4;
    EXPECT(INVALID_VALUE, "`dtype`", "77", nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, data, 4, 77, NVSHMEMRS_OP_SUM));
    EXPECT(INVALID_VALUE, "`op`", "88",
           nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, data, 4, NVSHMEMRS_DTYPE_DOUBLE, 88));
    const size_t count = me == n - 1 ? 3 : 4;
    EXPECT(MISMATCH, "count", "3",
           nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, data, count, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    MUST(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    for (int i = 0; i < 4; i++) {
        CHECK(dest[i] == -7.0);
    }

    // The type does not have the operation, the buffers overlap, the team has fewer than no members, or is gone.
    EXPECT(INVALID_VALUE, "`op` is xor", "`double`",
           nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, data, 4, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_XOR));
    EXPECT(INVALID_VALUE, "`dest`", "clear of `source`",
           nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, data + 1, data, 4, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    nvshmemrs_team_t team = 77;
    EXPECT(INVALID_VALUE, "`size`", "-1",
           nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, -1, NULL, 0, &team));
    CHECK(team == 77);
    MUST(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team));
    MUST(nvshmemrs_team_destroy(rt, team));
    EXPECT(BAD_HANDLE, "`team` is a handle of team ", "destroyed", nvshmemrs_barrier(rt, team));
    CHECK(data[1] == me + 1.0 && dest[0] == -7.0);

    // A stream is no runtime where something is made; an event that was never recorded has no time.
    nvshmemrs_stream_t stream = 0;
    nvshmemrs_event_t event = 0;
    double milliseconds = -5.0;
    MUST(nvshmemrs_stream_new(rt, &stream));
    MUST(nvshmemrs_event_new(rt, &event));
    EXPECT(BAD_HANDLE, "`runtime` is the handle of a stream that is live", "live runtime", nvshmemrs_malloc(stream, 64, &memory));
    EXPECT(INVALID_VALUE, "`start`", "recorded", nvshmemrs_event_elapsed(event, event, &milliseconds));
    CHECK(milliseconds == -5.0);
    MUST(nvshmemrs_event_free(event));
    MUST(nvshmemrs_stream_free(stream));
    EXPECT(BAD_HANDLE, "`stream` is the handle of a stream that is ended", "live stream", nvshmemrs_stream_synchronize(stream));

    // After all that the job works.
    MUST(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, dest, data, 4, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    CHECK(dest[0] == n * (n + 1) / 2.0);
    MUST(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    MUST(nvshmemrs_free(rt, data));
    MUST(nvshmemrs_finalize(rt));
    EXPECT(NOT_INITIALIZED, "`nvshmemrs_init()`", "finalize", nvshmemrs_my_pe(rt, &nobody));
    CHECK(nobody == -5);
    printf("misuse ok PE %d of %d (C)\n", (int)me, (int)n);
    return 0;
}
