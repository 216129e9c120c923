/* Shared by the programs in C and C++ of this folder: joining, leaving, and calls that must succeed.
 *
 * Compiled with -DMENDED a program is correct: the checker must be silent and the results right. Without it, it has the bug that
 * its first comment describes; what it reads then may be anything. */

#ifndef JOB_H
#define JOB_H

#include <nvshmemrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MENDED
#define IF_MENDED(statement) statement
#define IF_PLANTED(statement)
#else
#define IF_MENDED(statement)
#define IF_PLANTED(statement) statement
#endif

static nvshmemrs_runtime_t rt;
static int me, n;

/* Ends the program with the library's words unless the call succeeds. */
#define CALL(call)                                                                \
    do {                                                                          \
        if ((call) != NVSHMEMRS_SUCCESS) {                                        \
            fprintf(stderr, "PE %d: %s: %s\n", me, #call, nvshmemrs_last_error()); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* Whether the last result was right. */
static volatile int right_result;

/* In a mended program, this must hold. */
#define EXPECT(holds)                                                 \
    do {                                                              \
        right_result = (holds);                                       \
        IF_MENDED(if (!right_result) {                                \
            fprintf(stderr, "PE %d: wrong result: %s\n", me, #holds); \
            exit(1);                                                  \
        })                                                            \
    } while (0)

static void join(void)
{
    int32_t number, count;
    CALL(nvshmemrs_init(NULL, &rt));
    CALL(nvshmemrs_my_pe(rt, &number));
    CALL(nvshmemrs_n_pes(rt, &count));
    me = number;
    n = count;
}

static inline void *zeroed(size_t count, size_t bytes)
{
    void *memory = NULL;
    CALL(nvshmemrs_calloc(rt, count, bytes, &memory));
    return memory;
}

static inline void barrier(void)
{
    CALL(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

static inline nvshmemrs_stream_t new_stream(void)
{
    nvshmemrs_stream_t stream;
    CALL(nvshmemrs_stream_new(rt, &stream));
    return stream;
}

static inline void free_all(void *const *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        CALL(nvshmemrs_free(rt, blocks[i]));
    }
}

/* Frees symmetric blocks in this order. Collective. */
#define GIVE_BACK(...) free_all((void *[]){ __VA_ARGS__ }, sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))

/* The end of a program: meets the others, frees these blocks, and leaves the job. */
#define FREE_AND_LEAVE(...) (barrier(), GIVE_BACK(__VA_ARGS__), leave())

/* Leaves the job. With findings of the checker finalize returns an error; here the launcher is to tell, so the program ends well. */
static int leave(void)
{
    int32_t status = nvshmemrs_finalize(rt);
    if (status != NVSHMEMRS_SUCCESS && status != NVSHMEMRS_ERROR_CHECK_FAILED) {
        fprintf(stderr, "PE %d: finalize: %s\n", me, nvshmemrs_last_error());
        return 1;
    }
    printf("done PE %d of %d\n", me, n);
    return 0;
}

#endif
