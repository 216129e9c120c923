/* Setup and queries, teams, and contexts with the PE numbers of a team. */

#include "common.h"

static void queries(void)
{
    int major = 0, minor = 0, level = -1;
    char name[SHMEM_MAX_NAME_LEN];
    shmem_info_get_version(&major, &minor);
    CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION);
    shmem_info_get_name(name);
    CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0);
    shmem_query_thread(&level);
    CHECK(level >= SHMEM_THREAD_SINGLE && level <= SHMEM_THREAD_MULTIPLE);
    CHECK(shmem_pe_accessible(0) && shmem_pe_accessible(n_pes - 1) && !shmem_pe_accessible(n_pes) && !shmem_pe_accessible(-1));
    int *there = shmem_malloc(sizeof *there), here = 0;
    CHECK(shmem_addr_accessible(there, next) == 1 && shmem_addr_accessible(&here, next) == 0);
    *there = me;
    shmem_barrier_all();
    int *peer = shmem_ptr(there, next);
    CHECK(peer == NULL || *peer == next);
    CHECK(shmem_ptr(there, me) == there && shmem_ptr(&here, me) == NULL);
    shmem_barrier_all();
    int *moved = shmem_realloc(there, 4096);
    CHECK(moved != NULL && *moved == me);
    shmem_free(moved);
    int *hinted = shmem_malloc_with_hints(64, SHMEM_MALLOC_ATOMICS_REMOTE | SHMEM_MALLOC_SIGNAL_REMOTE);
    CHECK(hinted != NULL);
    shmem_free(hinted);
    CHECK(shmem_malloc(0) == NULL);
    shmem_free(NULL);
    unsigned char *zeros = shmem_calloc(10, 100);
    for (int i = 0; i < 1000; i++)
        CHECK(zeros[i] == 0);
    shmem_free(zeros);
    shmem_pcontrol(1);
}

static void contexts(shmem_team_t team, int *word)
{
    const int size = shmem_team_n_pes(team), own = shmem_team_my_pe(team), other = (own + 1) % size;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_team_t found = SHMEM_TEAM_INVALID;
    CHECK(shmem_team_create_ctx(team, SHMEM_CTX_PRIVATE, &ctx) == 0 && ctx != SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(ctx, &found) == 0 && found == team);
    CHECK(shmem_team_translate_pe(team, own, SHMEM_TEAM_WORLD) == me);
    *word = -1;
    shmem_team_sync(team);
    /* `other` is a number of the team. */
    shmem_ctx_int_p(ctx, word, me, other);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(team);
    CHECK(*word == shmem_team_translate_pe(team, (own + size - 1) % size, SHMEM_TEAM_WORLD));
    CHECK(shmem_ctx_int_g(ctx, word, other) == me);
    shmem_ctx_fence(ctx);
    shmem_ctx_destroy(ctx);
    shmem_team_sync(team);
}

/* As many contexts as the standard's users ask for, and the result of one request more. */
static void many_contexts(void)
{
    enum { MANY = 1024 };
    static shmem_ctx_t all[MANY];
    int made = 0;
    while (made < MANY && shmem_ctx_create(made % 2 ? SHMEM_CTX_NOSTORE : 0, &all[made]) == 0)
        made++;
    CHECK(made == MANY);
    shmem_ctx_t one_more = SHMEM_CTX_DEFAULT;
    CHECK(shmem_ctx_create(0, &one_more) != 0 && one_more == SHMEM_CTX_INVALID);
    int *words = shmem_calloc(MANY, sizeof *words);
    for (int i = 0; i < MANY; i++)
        shmem_ctx_int_atomic_add(all[i], &words[i], i, next);
    for (int i = 0; i < MANY; i++)
        shmem_ctx_quiet(all[i]);
    shmem_barrier_all();
    for (int i = 0; i < MANY; i++)
        CHECK(words[i] == i);
    for (int i = 0; i < MANY; i++)
        shmem_ctx_destroy(all[i]);
    shmem_free(words);
}

int main(void)
{
    int provided = -1;
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0 && provided == SHMEM_THREAD_MULTIPLE);
    me = shmem_my_pe(), n_pes = shmem_n_pes(), next = (me + 1) % n_pes, before = (me + n_pes - 1) % n_pes;
    queries();
    CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == n_pes);
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) >= 1);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_INVALID, 0, SHMEM_TEAM_WORLD) == -1);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    int *word = shmem_malloc(sizeof *word);

    shmem_team_t even = SHMEM_TEAM_WORLD, x, y;
    shmem_team_config_t config = {.num_contexts = 3};
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n_pes + 1) / 2, &config, SHMEM_TEAM_NUM_CONTEXTS, &even) == 0);
    CHECK((even == SHMEM_TEAM_INVALID) == (me % 2 == 1));
    if (even != SHMEM_TEAM_INVALID) {
        shmem_team_config_t found = {.num_contexts = 0};
        CHECK(shmem_team_get_config(even, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 3);
        CHECK(shmem_team_my_pe(even) == me / 2);
        contexts(even, word);
        shmem_team_destroy(even);
    }
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &x, NULL, 0, &y) == 0);
    CHECK(shmem_team_my_pe(x) == me % 2 && shmem_team_my_pe(y) == me / 2);
    contexts(x, word);
    contexts(y, word);
    shmem_team_destroy(x);
    shmem_team_destroy(y);
    contexts(SHMEM_TEAM_WORLD, word);
    /* More members than there are. */
    shmem_team_t none = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes + 1, NULL, 0, &none) != 0 && none == SHMEM_TEAM_INVALID);
    many_contexts();
    end();
    return 0;
}
