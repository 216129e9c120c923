/* C++, with types of CUDA's where its headers are found, or without: `half` may be any type of 16 bits. */

#include <nvshmem_host.h>
#include <nvshmemrs.h>

#include <cstdio>
#include <cstring>

int main()
{
    nvshmem_init();
    const int me = nvshmem_my_pe(), n_pes = nvshmem_n_pes(), next = (me + 1) % n_pes;
    half *numbers = static_cast<half *>(nvshmem_calloc(4, sizeof(half)));
    const unsigned short bits = static_cast<unsigned short>(0x3c00 + me);
#ifdef CUDA
    /* CUDA's own type, with its functions. */
    half value = __float2half(1.0f + static_cast<float>(me) / 1024);
    static_cast<void>(bits);
#else
    half value;
    std::memcpy(static_cast<void *>(&value), &bits, sizeof value);
#endif
    nvshmem_half_p(numbers, value, next);
    nvshmemx_half_put_on_stream(numbers + 1, &value, 1, next, NULL);
    nvshmemx_barrier_all_on_stream(NULL);
    const cudaStream_t stream = NULL;
    nvshmemx_quiet_on_stream(stream);
    if (nvshmemrs_stream_synchronize(nvshmemrs_nvshmem_stream(stream)) != 0)
        return 1;
    nvshmem_barrier_all();
    const half got = nvshmem_half_g(numbers, next), fetched = nvshmem_half_atomic_fetch(numbers + 1, next);
    const bool same = std::memcmp(&got, &value, sizeof got) == 0 && std::memcmp(&fetched, &value, sizeof got) == 0;
    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t team;
    const int made = nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, &config, 0, &team);
    if (same && made == NVSHMEMX_SUCCESS)
        std::printf("PE %d of %d: same\n", me, n_pes);
    nvshmem_finalize();
    return 0;
}
