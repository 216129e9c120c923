/* Shared by the test programs. */

#ifndef CHECK_H
#define CHECK_H

#include <nvshmemrs.h>
#include <stdio.h>
#include <stdlib.h>
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

#endif
