/* The library's own idea of its structs, and which header it belongs to. Their layouts and the numbers of the header are in
 * tests/abi/baseline.abi. */

#include <nvshmemrs.h>

#include <stdio.h>

int main(void)
{
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
