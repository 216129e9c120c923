/* Shared by the test programs. */

#ifndef CHECK_H
#define CHECK_H

#include <nvshmemrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exit status of a program whose call into nvshmemrs failed. */
enum { CALL_FAILED = 5 };

/* Ends the program with the library's words unless the call succeeds. */
#define CHECK(call)                                                              \
    do {                                                                         \
        if ((call) != NVSHMEMRS_SUCCESS) {                                       \
            fprintf(stderr, "%s: %s\n", #call, nvshmemrs_last_error());          \
            exit(CALL_FAILED);                                                   \
        }                                                                        \
    } while (0)

/* Ends the program with a message, which is printed with the line. */
#define FAIL(...)                               \
    do {                                        \
        fprintf(stderr, "line %d: ", __LINE__); \
        fprintf(stderr, __VA_ARGS__);           \
        fprintf(stderr, "\n");                  \
        exit(6);                                \
    } while (0)

#define EXPECT(condition)                                                        \
    do {                                                                         \
        if (!(condition))                                                        \
            FAIL("%s: %s", #condition, nvshmemrs_last_error());                  \
    } while (0)

/* The call must return this status, with these words in its message. */
#define REFUSED(status, words, call)                                                                  \
    do {                                                                                              \
        int32_t status_ = (call);                                                                     \
        if (status_ != (status) || !strstr(nvshmemrs_last_error(), (words)))                          \
            FAIL("%s: status %d: %s", #call, (int)status_, status_ ? nvshmemrs_last_error() : "success"); \
    } while (0)

/* Joins the job, and prints a line with the PE, the number of PEs, and the process. */
static inline nvshmemrs_runtime_t join(int32_t *pe)
{
    nvshmemrs_runtime_t runtime;
    int32_t n_pes;
    CHECK(nvshmemrs_init(NULL, &runtime));
    CHECK(nvshmemrs_my_pe(runtime, pe));
    CHECK(nvshmemrs_n_pes(runtime, &n_pes));
    printf("PE %d of %d is pid %d\n", (int)*pe, (int)n_pes, (int)getpid());
    fflush(stdout);
    return runtime;
}

/* Symmetric memory of zeros, on every PE. */
static inline void *zeroed(nvshmemrs_runtime_t runtime, size_t count, size_t size)
{
    void *memory;
    CHECK(nvshmemrs_calloc(runtime, count, size, &memory));
    return memory;
}

#endif
