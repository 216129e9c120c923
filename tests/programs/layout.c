/* The layout of every struct and the value of every number that programs are compiled with. These are the ABI: a number
 * here changes only together with the ABI version. */

#include <nvshmemrs.h>

#include <stddef.h>
#include <stdio.h>

#define SAME(what, number) _Static_assert((what) == (number), #what " is part of the ABI")
#define AT(type, field, offset, bytes)                              \
    SAME(offsetof(type, field), offset);                            \
    SAME(sizeof ((type *)0)->field, bytes)

SAME(sizeof(nvshmemrs_init_attr_t), 64);
SAME(_Alignof(nvshmemrs_init_attr_t), 8);
AT(nvshmemrs_init_attr_t, version, 0, 4);
AT(nvshmemrs_init_attr_t, memory_kind, 4, 4);
AT(nvshmemrs_init_attr_t, heap_bytes, 8, 8);
AT(nvshmemrs_init_attr_t, timeout_s, 16, 8);
AT(nvshmemrs_init_attr_t, init_timeout_s, 24, 8);
AT(nvshmemrs_init_attr_t, device, 32, 4);
AT(nvshmemrs_init_attr_t, reserved, 36, 28);

SAME(sizeof(nvshmemrs_unique_id_t), 128);
SAME(_Alignof(nvshmemrs_unique_id_t), 4);
AT(nvshmemrs_unique_id_t, version, 0, 4);
AT(nvshmemrs_unique_id_t, internal, 4, 124);

SAME(sizeof(nvshmemrs_heap_stats_t), 48);
SAME(_Alignof(nvshmemrs_heap_stats_t), 8);
AT(nvshmemrs_heap_stats_t, heap_bytes, 0, 8);
AT(nvshmemrs_heap_stats_t, used_bytes, 8, 8);
AT(nvshmemrs_heap_stats_t, free_bytes, 16, 8);
AT(nvshmemrs_heap_stats_t, largest_free_bytes, 24, 8);
AT(nvshmemrs_heap_stats_t, allocations, 32, 8);
AT(nvshmemrs_heap_stats_t, released, 40, 8);

SAME(sizeof(nvshmemrs_device_state_t), 64);
SAME(_Alignof(nvshmemrs_device_state_t), 8);
AT(nvshmemrs_device_state_t, magic, 0, 4);
AT(nvshmemrs_device_state_t, version, 4, 4);
AT(nvshmemrs_device_state_t, my_pe, 8, 4);
AT(nvshmemrs_device_state_t, n_pes, 12, 4);
AT(nvshmemrs_device_state_t, base, 16, 8);
AT(nvshmemrs_device_state_t, stride, 24, 8);
AT(nvshmemrs_device_state_t, abort, 32, 8);
AT(nvshmemrs_device_state_t, error, 40, 8);
AT(nvshmemrs_device_state_t, job, 48, 8);
AT(nvshmemrs_device_state_t, check, 56, 4);
AT(nvshmemrs_device_state_t, lent, 60, 4);

SAME(sizeof(nvshmemrs_team_config_t), 64);
SAME(_Alignof(nvshmemrs_team_config_t), 8);
AT(nvshmemrs_team_config_t, version, 0, 4);
AT(nvshmemrs_team_config_t, num_contexts, 4, 4);
AT(nvshmemrs_team_config_t, uniqueid, 8, 8);
AT(nvshmemrs_team_config_t, reserved, 16, 48);

SAME(sizeof(nvshmemrs_runtime_t), 8);
SAME(sizeof(nvshmemrs_team_t), 8);
SAME(sizeof(nvshmemrs_stream_t), 8);
SAME(sizeof(nvshmemrs_event_t), 8);
SAME(sizeof(nvshmemrs_local_job_t), 8);
SAME(sizeof(nvshmemrs_interrupt_hook_t), sizeof(void *));
SAME(sizeof(nvshmemrs_site_hook_t), sizeof(void *));
SAME(sizeof(nvshmemrs_host_function_t), sizeof(void *));

SAME(NVSHMEMRS_ACCESS_LOAD, 0);
SAME(NVSHMEMRS_ACCESS_STORE, 1);
SAME(NVSHMEMRS_ACCESS_ATOMIC_LOAD, 2);
SAME(NVSHMEMRS_ACCESS_ATOMIC_STORE, 3);

SAME(NVSHMEMRS_SUCCESS, 0);
SAME(NVSHMEMRS_ERROR_INVALID_VALUE, 1);
SAME(NVSHMEMRS_ERROR_OUT_OF_MEMORY, 2);
SAME(NVSHMEMRS_ERROR_NOT_SUPPORTED, 3);
SAME(NVSHMEMRS_ERROR_NOT_SYMMETRIC, 4);
SAME(NVSHMEMRS_ERROR_INTERNAL, 7);
SAME(NVSHMEMRS_ERROR_NOT_INITIALIZED, 10);
SAME(NVSHMEMRS_ERROR_BAD_HANDLE, 11);
SAME(NVSHMEMRS_ERROR_PE_RANGE, 12);
SAME(NVSHMEMRS_ERROR_OUT_OF_BOUNDS, 13);
SAME(NVSHMEMRS_ERROR_MISMATCH, 14);
SAME(NVSHMEMRS_ERROR_PE_DIED, 15);
SAME(NVSHMEMRS_ERROR_TIMEOUT, 16);
SAME(NVSHMEMRS_ERROR_INTERRUPTED, 17);
SAME(NVSHMEMRS_ERROR_BOOTSTRAP, 18);
SAME(NVSHMEMRS_ERROR_SYSTEM, 19);
SAME(NVSHMEMRS_ERROR_FORKED, 20);
SAME(NVSHMEMRS_ERROR_BAD_FREE, 21);
SAME(NVSHMEMRS_ERROR_BUSY, 22);
SAME(NVSHMEMRS_ERROR_TEAM_BROKEN, 23);
SAME(NVSHMEMRS_ERROR_PEER_ARGUMENT, 24);
SAME(NVSHMEMRS_ERROR_CHECK_FAILED, 25);
SAME(NVSHMEMRS_ERROR_PANIC, 99);

SAME(NVSHMEMRS_MEMORY_DEFAULT, 0);
SAME(NVSHMEMRS_MEMORY_HOST, 1);
SAME(NVSHMEMRS_MEMORY_DEVICE, 2);

SAME(NVSHMEMRS_TEAM_WORLD, 0);
SAME(NVSHMEMRS_TEAM_SHARED, 1);
SAME(NVSHMEMRS_TEAM_NODE, 2);
SAME(NVSHMEMRS_TEAM_SAME_MYPE_NODE, 3);
SAME(NVSHMEMRS_TEAM_SAME_GPU, 4);
SAME(NVSHMEMRS_TEAM_GPU_LEADERS, 5);
SAME(NVSHMEMRS_TEAM_INVALID, UINT64_MAX);

SAME(NVSHMEMRS_TEAM_CONFIG_NUM_CONTEXTS, 1);
SAME(NVSHMEMRS_TEAM_CONFIG_UNIQUEID, 2);

SAME(NVSHMEMRS_THREAD_SINGLE, 0);
SAME(NVSHMEMRS_THREAD_FUNNELED, 1);
SAME(NVSHMEMRS_THREAD_SERIALIZED, 2);
SAME(NVSHMEMRS_THREAD_MULTIPLE, 3);

SAME(NVSHMEMRS_DTYPE_INT8, 1);
SAME(NVSHMEMRS_DTYPE_INT16, 2);
SAME(NVSHMEMRS_DTYPE_INT32, 3);
SAME(NVSHMEMRS_DTYPE_INT64, 4);
SAME(NVSHMEMRS_DTYPE_UINT8, 5);
SAME(NVSHMEMRS_DTYPE_UINT16, 6);
SAME(NVSHMEMRS_DTYPE_UINT32, 7);
SAME(NVSHMEMRS_DTYPE_UINT64, 8);
SAME(NVSHMEMRS_DTYPE_HALF, 9);
SAME(NVSHMEMRS_DTYPE_BFLOAT16, 10);
SAME(NVSHMEMRS_DTYPE_FLOAT, 11);
SAME(NVSHMEMRS_DTYPE_DOUBLE, 12);
SAME(NVSHMEMRS_DTYPE_COMPLEXF, 13);
SAME(NVSHMEMRS_DTYPE_COMPLEXD, 14);
SAME(NVSHMEMRS_DTYPE_FLOAT8_E4M3FN, 15);
SAME(NVSHMEMRS_DTYPE_FLOAT8_E5M2, 16);

SAME(NVSHMEMRS_OP_SUM, 1);
SAME(NVSHMEMRS_OP_MIN, 2);
SAME(NVSHMEMRS_OP_MAX, 3);
SAME(NVSHMEMRS_OP_PROD, 4);
SAME(NVSHMEMRS_OP_AND, 5);
SAME(NVSHMEMRS_OP_OR, 6);
SAME(NVSHMEMRS_OP_XOR, 7);

SAME(NVSHMEMRS_CMP_EQ, 0);
SAME(NVSHMEMRS_CMP_NE, 1);
SAME(NVSHMEMRS_CMP_GT, 2);
SAME(NVSHMEMRS_CMP_LE, 3);
SAME(NVSHMEMRS_CMP_LT, 4);
SAME(NVSHMEMRS_CMP_GE, 5);

SAME(NVSHMEMRS_SIGNAL_SET, 9);
SAME(NVSHMEMRS_SIGNAL_ADD, 10);

int main(void)
{
    /* The library's own idea of its structs, and which header it belongs to. */
    nvshmemrs_init_attr_t attr;
    nvshmemrs_unique_id_t id;
    if (nvshmemrs_init_attr_default(&attr) != NVSHMEMRS_SUCCESS || attr.version != (1u << 16) + sizeof attr)
        return 1;
    if (nvshmemrs_unique_id_new(&id) != NVSHMEMRS_SUCCESS || id.version != (1u << 16) + sizeof id)
        return 2;
    nvshmemrs_team_config_t config;
    if (nvshmemrs_team_config_default(&config) != NVSHMEMRS_SUCCESS || config.version != (1u << 16) + sizeof config)
        return 3;
    if (nvshmemrs_abi_version() != NVSHMEMRS_ABI_VERSION)
        return 4;
    if (nvshmemrs_api_hash() != NVSHMEMRS_API_HASH)
        return 5;
    puts("same");
    return 0;
}
