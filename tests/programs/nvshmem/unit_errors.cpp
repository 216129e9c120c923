// What is wrong with units, PEs and modules: two PEs of a process, another version of the header, a module that is none.
#include <nvshmemrs_device_host.hpp>

#include <nvshmem.h>
#include <nvshmemx.h>

#include <thread>

static nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;

static void pe(int number) {
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    nvshmemx_set_attr_uniqueid_args(number, 2, &id, &attr);
    nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID | NVSHMEMX_INIT_THREAD_PES, &attr);
    // The second stage.
    nvshmem_malloc(8);
    nvshmem_finalize();
}

static int other_fill(const void *, int, const char **) { return 0; }

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    if (what == "threads") {
        nvshmemx_get_uniqueid(&id);
        std::thread first(pe, 0), second(pe, 1);
        first.join();
        second.join();
        return 0;
    }
    if (what == "version") nvshmemrs_nvshmem_register(other_fill, NVSHMEMRS_UNIT_CPU, 77);
    nvshmem_init();
    nvshmem_free(nvshmem_malloc(8));
    if (what == "module") {
        if (nvshmemx_cumodule_init(nullptr) != NVSHMEMX_ERROR_INVALID_VALUE) return 2;
        if (nvshmemx_culibrary_init(nullptr) != NVSHMEMX_ERROR_INVALID_VALUE) return 2;
        // There is no driver, or the heap is in host memory.
        if (nvshmemx_cumodule_init((CUmodule)&id) != NVSHMEMX_ERROR_NOT_SUPPORTED) return 3;
        if (nvshmemx_collective_launch(nullptr, {}, {}, nullptr, 0, nullptr) == NVSHMEMX_SUCCESS) return 4;
    }
    nvshmem_finalize();
}
