/* Shared by the test programs that call the CUDA driver themselves. libcuda is opened at run time, as there may be none where they are
 * compiled. */

#ifndef DRIVER_H
#define DRIVER_H

#include "check.h"

#include <dlfcn.h>
#include <string.h>

#define FAIL(...)                               \
    do {                                        \
        fprintf(stderr, "line %d: ", __LINE__); \
        fprintf(stderr, __VA_ARGS__);           \
        fprintf(stderr, "\n");                  \
        exit(6);                                \
    } while (0)

/* The call must return this status, with these words in its message. */
#define REFUSED(status, words, call)                                                                  \
    do {                                                                                              \
        int32_t status_ = (call);                                                                     \
        if (status_ != (status) || !strstr(nvshmemrs_last_error(), (words)))                          \
            FAIL("%s: status %d: %s", #call, (int)status_, status_ ? nvshmemrs_last_error() : "success"); \
    } while (0)

#define CUDA(name, types, ...)                                      \
    do {                                                            \
        int (*function) types;                                      \
        *(void **)&function = driver(#name);                        \
        int code_ = function(__VA_ARGS__);                          \
        if (code_)                                                  \
            FAIL("%s: %d", #name, code_);                           \
    } while (0)

static void *driver(const char *name)
{
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found)
        FAIL("libcuda.so.1 has no %s", name);
    return found;
}

#endif
