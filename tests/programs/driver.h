/* Shared by the test programs that call the CUDA driver themselves. libcuda is opened at run time, as there may be none where they are
 * compiled. */

#ifndef DRIVER_H
#define DRIVER_H

#include "check.h"

#include <dlfcn.h>

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
