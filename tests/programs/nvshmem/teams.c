/* Setup and queries, memory, teams, registrations, queue pairs and regions. */

#include "common.h"

#include <sys/mman.h>

_Static_assert(sizeof(nvshmemx_uniqueid_t) == 128 && sizeof(nvshmemx_uniqueid_args_t) == 24, "unique ids");
_Static_assert(sizeof(nvshmemx_init_args_t) == 128 && sizeof(nvshmemx_init_attr_t) == 144, "attributes of init");
_Static_assert(sizeof(nvshmem_team_config_t) == 64 && sizeof(nvshmemx_region_attrs_t) == 64, "teams and regions");
_Static_assert(sizeof(nvshmem_team_t) == 4 && sizeof(half) == 2 && sizeof(__nv_bfloat16) == 2, "handles and numbers");
_Static_assert(NVSHMEM_VENDOR_VERSION == 30800 && NVSHMEMX_INIT_WITH_UNIQUEID == 8, "constants");

static void queries(void)
{
    int major = 0, minor = 0, patch = -1, level = -1;
    char name[NVSHMEM_MAX_NAME_LEN];
    nvshmem_info_get_version(&major, &minor);
    CHECK(major == 1 && minor == 3);
    nvshmemx_vendor_get_version_info(&major, &minor, &patch);
    CHECK(major == 3 && minor == 8 && patch == 0);
    nvshmem_info_get_name(name);
    CHECK(strcmp(name, "NVSHMEM v3.8.0") == 0);
    nvshmem_query_thread(&level);
    CHECK(level == NVSHMEM_THREAD_MULTIPLE);
    CHECK(strlen(nvshmemx_status_string(NVSHMEMX_ERROR_SYMMETRY)) > 5 && strlen(nvshmemx_status_string(5)) > 5);
    CHECK(nvshmemrs_nvshmem_runtime() != 0 && nvshmemrs_nvshmem_team(NVSHMEMX_TEAM_NODE) == NVSHMEMRS_TEAM_NODE);
}

static void memory(void)
{
    int *there = nvshmem_malloc(sizeof *there), here = 0;
    *there = me;
    nvshmem_barrier_all();
    int *peer = nvshmem_ptr(there, next);
    CHECK(peer == NULL || *peer == next);
    CHECK(nvshmem_ptr(there, me) == there && nvshmem_ptr(&here, me) == NULL);
    CHECK(nvshmemx_mc_ptr(NVSHMEM_TEAM_WORLD, there) == NULL);
    nvshmem_barrier_all();
    nvshmem_free(there);
    CHECK(nvshmem_malloc(0) == NULL);
    nvshmem_free(NULL);
    unsigned char *zeros = nvshmem_calloc(10, 100);
    for (int i = 0; i < 1000; i++)
        CHECK(zeros[i] == 0);
    unsigned char *aligned = nvshmem_align(4096, 100);
    CHECK((uintptr_t)aligned % 4096 == 0);
    nvshmem_free(aligned);
    nvshmem_free(zeros);
}

static void registrations(void)
{
    const size_t size = 1 << 16;
    char here[8];
    CHECK(nvshmemx_buffer_register(here, sizeof here) == 0 && nvshmemx_buffer_unregister(here) == 0);
    CHECK(nvshmemx_buffer_unregister(here) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_buffer_register(NULL, 8) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_buffer_register(here, 0) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_buffer_register(here, 8) == 0);
    nvshmemx_buffer_unregister_all();
    CHECK(nvshmemx_buffer_unregister(here) == NVSHMEMX_ERROR_INVALID_VALUE);
    long *own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long *shared = nvshmemx_buffer_register_symmetric(own, size, 0);
    CHECK(shared != NULL);
    nvshmem_barrier_all();
    nvshmem_long_p(shared + 3, me + 70, next);
    nvshmem_barrier_all();
    CHECK(own[3] == before + 70);
    CHECK(nvshmemx_buffer_unregister_symmetric(shared, size) == 0 && own[3] == before + 70);
    munmap(own, size);

    nvshmemx_qp_handle_t *pairs = NULL;
    CHECK(nvshmemx_qp_create(3, &pairs) == 0 && pairs[0] > NVSHMEMX_QP_DEFAULT && pairs[2] != pairs[1] && pairs[1] != pairs[0]);
    CHECK(nvshmemx_qp_create(0, &pairs) == NVSHMEMX_ERROR_INVALID_VALUE && nvshmemx_qp_create(1, NULL) == NVSHMEMX_ERROR_INVALID_VALUE);
    nvshmemx_region_handle_t region = 0;
    nvshmemx_region_attrs_t attrs = NVSHMEMX_REGION_ATTRS_INITIALIZER;
    int active = -1;
    attrs.hints = NVSHMEMX_REGION_HINT_BATCH_RMA;
    CHECK(nvshmemx_region_is_active(attrs.hints, &active) == 0 && active == 0);
    CHECK(nvshmemx_region_start(&region, &attrs) == 0 && nvshmemx_region_is_active(attrs.hints, &active) == 0 && active == 1);
    CHECK(nvshmemx_region_stop(region) == 0 && nvshmemx_region_stop(region) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmemx_region_is_active(attrs.hints, &active) == 0 && active == 0);
    attrs.hints = 6;
    CHECK(nvshmemx_region_start(&region, &attrs) == NVSHMEMX_ERROR_INVALID_VALUE);
}

/* The members of a team find each other. */
static void works(nvshmem_team_t team, long *word)
{
    const int size = nvshmem_team_n_pes(team), own = nvshmem_team_my_pe(team);
    CHECK(team > NVSHMEM_TEAMS_MIN && own >= 0 && own < size);
    CHECK(nvshmem_team_translate_pe(team, own, NVSHMEM_TEAM_WORLD) == me);
    CHECK(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, me, team) == own);
    word[0] = 1 + own;
    CHECK(nvshmem_team_sync(team) == 0);
    CHECK(nvshmem_long_sum_reduce(team, word + 1, word, 1) == 0 && word[1] == size * (size + 1) / 2);
}

static void teams(void)
{
    long *word = nvshmem_calloc(2, sizeof *word);
    static const nvshmem_team_t all[] = {NVSHMEM_TEAM_WORLD, NVSHMEM_TEAM_SHARED, NVSHMEMX_TEAM_NODE, NVSHMEM_TEAM_MC_SHARED};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CHECK(nvshmem_team_n_pes(all[i]) >= 1 && nvshmem_team_my_pe(all[i]) >= 0);
    CHECK(nvshmem_team_my_pe(NVSHMEM_TEAM_WORLD) == me && nvshmem_team_n_pes(NVSHMEM_TEAM_WORLD) == n_pes);
    CHECK(nvshmem_team_n_pes(NVSHMEMX_TEAM_SAME_MYPE_NODE) >= 1);
    CHECK(nvshmem_team_my_pe(NVSHMEM_TEAM_INVALID) == -1 && nvshmem_team_n_pes(NVSHMEM_TEAM_INVALID) == -1);
    CHECK(nvshmem_team_translate_pe(NVSHMEM_TEAM_INVALID, 0, NVSHMEM_TEAM_WORLD) == -1);
    CHECK(nvshmem_team_translate_pe(NVSHMEM_TEAM_WORLD, n_pes, NVSHMEM_TEAM_WORLD) == -1);
    nvshmem_team_destroy(NVSHMEM_TEAM_INVALID);

    nvshmem_team_config_t config = NVSHMEM_TEAM_CONFIG_INITIALIZER, found = NVSHMEM_TEAM_CONFIG_INITIALIZER;
    nvshmem_team_t even, x, y, again, none = NVSHMEM_TEAM_WORLD;
    config.num_contexts = 3;
    CHECK(nvshmem_team_split_strided(
              NVSHMEM_TEAM_WORLD, 0, 2, (n_pes + 1) / 2, &config, NVSHMEM_TEAM_CONFIG_MASK_NUM_CONTEXTS, &even) == 0);
    CHECK((even == NVSHMEM_TEAM_INVALID) == (me % 2 == 1));
    if (even != NVSHMEM_TEAM_INVALID) {
        nvshmem_team_get_config(even, &found);
        CHECK(found.num_contexts == 3 && found.uniqueid == NVSHMEM_TEAM_UNIQUID_INITIALIZER);
        works(even, word);
        nvshmem_team_destroy(even);
    }
    CHECK(nvshmem_team_split_2d(NVSHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y) == 0);
    CHECK(nvshmem_team_my_pe(x) == me % 2 && nvshmem_team_my_pe(y) == me / 2);
    works(x, word);
    works(y, word);
    nvshmem_team_destroy(x);
    /* The number of the team that was destroyed may be used again, but not the handle. */
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &again) == 0);
    CHECK(again != x && again != y);
    works(again, word);
    nvshmem_team_destroy(y);
    nvshmem_team_destroy(again);
    CHECK(nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, n_pes + 1, NULL, 0, &none) != 0 && none == NVSHMEM_TEAM_INVALID);

    /* A team of the PEs that call. */
    uint64_t *number = nvshmem_calloc(1, sizeof *number);
    if (me == 0)
        CHECK(nvshmemx_team_get_uniqueid(number) == 0);
    nvshmem_barrier_all();
    config.uniqueid = nvshmem_uint64_g(number, 0);
    CHECK(nvshmemx_team_init(&again, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n_pes, n_pes - 1 - me) == 0);
    CHECK(nvshmem_team_my_pe(again) == n_pes - 1 - me);
    nvshmem_team_get_config(again, &found);
    CHECK(found.uniqueid == config.uniqueid);
    works(again, word);
    nvshmem_team_destroy(again);
    CHECK(nvshmemx_team_init(&again, &config, 0, n_pes, me) != 0 && again == NVSHMEM_TEAM_INVALID);
    CHECK(nvshmemx_team_init(NULL, &config, NVSHMEM_TEAM_CONFIG_MASK_UNIQUEID, n_pes, me) == NVSHMEMX_ERROR_INVALID_VALUE);
}

int main(void)
{
    int provided = -1;
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    CHECK(nvshmem_init_thread(7, &provided) == NVSHMEMX_ERROR_INVALID_VALUE);
    CHECK(nvshmem_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided) == 0 && provided == NVSHMEM_THREAD_MULTIPLE);
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_IS_INITIALIZED);
    who();
    queries();
    memory();
    registrations();
    teams();
    /* As many finalizes as inits. */
    nvshmem_init();
    CHECK(nvshmemx_init_attr(0, NULL) == 0 && nvshmemx_hostlib_init_attr(0, NULL) == 0);
    nvshmem_finalize();
    nvshmem_finalize();
    nvshmemx_hostlib_finalize();
    end();
    CHECK(nvshmemx_init_status() == NVSHMEM_STATUS_NOT_INITIALIZED);
    return 0;
}
