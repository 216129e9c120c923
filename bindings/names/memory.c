/* Symmetric memory, and queries, by the names that both standards have. */

#include "internal.h"

#include <string.h>

FUNCTION(void *, STANDARD(ptr), (const void *dest, int pe))
{
    ENTER(STANDARD_TEXT "ptr");
    void *found = NULL;
    const int32_t status = nvshmemrs_ptr(rt, dest, pe, &found);
    /* A query about other memory is allowed. */
    if (status != NVSHMEMRS_ERROR_NOT_SYMMETRIC)
        DO(status);
    return found;
}

FUNCTION(void, STANDARD(info_get_version), (int *major, int *minor))
{
    if (major != NULL)
        *major = CAPITALS(MAJOR_VERSION);
    if (minor != NULL)
        *minor = CAPITALS(MINOR_VERSION);
}

FUNCTION(void, STANDARD(info_get_name), (char *name))
{
    if (name == NULL)
        OWN(misused)(STANDARD_TEXT "info_get_name", PLACE, "argument `name` is NULL");
    else
        memcpy(name, CAPITALS(VENDOR_STRING), sizeof CAPITALS(VENDOR_STRING));
}

/* A failed allocation returns NULL if the arguments or the heap are the cause; otherwise the error is handled as in a function that cannot
 * return one. */
void *OWN(allocated)(const char *name, int32_t status, void *const *memory, const void *place)
{
    if (status == NVSHMEMRS_SUCCESS)
        return *memory;
    if (status != NVSHMEMRS_ERROR_OUT_OF_MEMORY && status != NVSHMEMRS_ERROR_INVALID_VALUE)
        OWN(failed)(name, status, place);
    return NULL;
}

static void *reserve(const char *name, size_t size, const void *place)
{
    const nvshmemrs_runtime_t rt = OWN(complete)(name);
    void *memory = NULL;
    return OWN(allocated)(name, WITH(rt, nvshmemrs_malloc(rt, OWN(whole)(size), &memory)), &memory, place);
}

FUNCTION(void *, STANDARD(malloc), (size_t size))
{
    return reserve(STANDARD_TEXT "malloc", size, PLACE);
}

FUNCTION(void *, STANDARD(calloc), (size_t count, size_t size))
{
    ENTER_COLLECTIVE(STANDARD_TEXT "calloc");
    void *memory = NULL;
    size_t bytes;
    /* A single element, so that the allocation may be larger than requested. */
    if (!__builtin_mul_overflow(count, size, &bytes) && OWN(whole)(bytes) != bytes)
        count = 1, size = OWN(whole)(bytes);
    return OWN(allocated)(nvshmemrs_name, WITH(rt, nvshmemrs_calloc(rt, count, size, &memory)), &memory, PLACE);
}

FUNCTION(void *, STANDARD(align), (size_t alignment, size_t size))
{
    ENTER_COLLECTIVE(STANDARD_TEXT "align");
    void *memory = NULL;
    /* A larger power of two also satisfies a smaller alignment. */
    if (alignment != 0 && alignment < sizeof(void *) && (alignment & (alignment - 1)) == 0)
        alignment = sizeof(void *);
    return OWN(allocated)(nvshmemrs_name, WITH(rt, nvshmemrs_align(rt, alignment, OWN(whole)(size), &memory)), &memory, PLACE);
}

FUNCTION(void, STANDARD(free), (void *ptr))
{
    ENTER_COLLECTIVE(STANDARD_TEXT "free");
    DO(nvshmemrs_free(rt, ptr));
}
