/* Calls after which the library might print a message. The program itself prints nothing; its exit status tells
 * whether the calls had the expected results. */

#include <nvshmemrs.h>

#include <string.h>

int main(int argc, char **argv)
{
    nvshmemrs_runtime_t runtime;
    int32_t status = nvshmemrs_init(NULL, &runtime);
    if (argc > 1 && strcmp(argv[1], "no_init") == 0)
        return status == NVSHMEMRS_SUCCESS ? 1 : 0;
    if (status != NVSHMEMRS_SUCCESS)
        return 2;
    void *memory, *more;
    double value = 1;
    if (nvshmemrs_malloc(runtime, 64, &memory) != NVSHMEMRS_SUCCESS)
        return 3;
    if (nvshmemrs_put(runtime, memory, &value, sizeof value, -1) != NVSHMEMRS_ERROR_PE_RANGE)
        return 4;
    if (nvshmemrs_malloc(runtime, SIZE_MAX / 4, &more) != NVSHMEMRS_ERROR_OUT_OF_MEMORY)
        return 5;
    if (nvshmemrs_reduce(runtime, 7, memory, memory, 1, 99, 99) != NVSHMEMRS_ERROR_BAD_HANDLE)
        return 6;
    if (nvshmemrs_free(runtime, &value) == NVSHMEMRS_SUCCESS || strlen(nvshmemrs_last_error()) == 0)
        return 7;
    if (nvshmemrs_finalize(runtime) != NVSHMEMRS_SUCCESS)
        return 8;
    if (nvshmemrs_finalize(runtime) != NVSHMEMRS_ERROR_NOT_INITIALIZED)
        return 9;
    return 0;
}
