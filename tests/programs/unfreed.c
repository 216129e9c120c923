/* Makes one of everything, frees some of it, and finalizes. The test knows the lines by the words in the comments behind them.
 *
 * Argument: "all" frees nothing more; "none" frees everything; "differ" lets PE 1 make one more. */

#include "check.h"

#include <string.h>
#include <sys/mman.h>

static nvshmemrs_runtime_t runtime;
static int32_t pe;

static void *allocate(size_t bytes)
{
    void *memory;
    CHECK(nvshmemrs_malloc(runtime, bytes, &memory)); /* line: malloc */
    return memory;
}

int main(int argc, char **argv)
{
    int all = argc > 1 && strcmp(argv[1], "none") != 0;
    int differ = argc > 1 && strcmp(argv[1], "differ") == 0;
    runtime = join(&pe);

    /* Three from one place: 1100 bytes. */
    void *memory[3] = {allocate(100), allocate(400), allocate(600)};
    void *zeroed, *aligned, *moved, *freed, *released;
    CHECK(nvshmemrs_calloc(runtime, 1000, 8, &zeroed)); /* line: calloc */
    CHECK(nvshmemrs_align(runtime, 4096, 64, &aligned)); /* line: align */
    CHECK(nvshmemrs_realloc(runtime, NULL, 10, &moved));
    CHECK(nvshmemrs_realloc(runtime, moved, 300, &moved)); /* line: realloc */
    CHECK(nvshmemrs_malloc(runtime, 50, &freed));
    CHECK(nvshmemrs_free(runtime, freed));
    CHECK(nvshmemrs_malloc(runtime, 77, &released));

    void *buffer = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *symmetric;
    if (buffer == MAP_FAILED)
        return 1;
    CHECK(nvshmemrs_buffer_register(runtime, buffer, 8192, NULL, &symmetric)); /* line: buffer */

    int32_t n;
    CHECK(nvshmemrs_n_pes(runtime, &n));
    nvshmemrs_team_t team, reversed;
    CHECK(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, 0, 1, n, NULL, 0, &team)); /* line: team */
    CHECK(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reversed));
    CHECK(nvshmemrs_team_destroy(runtime, reversed));

    nvshmemrs_stream_t stream, more = 0;
    nvshmemrs_event_t event;
    nvshmemrs_mapping_t mapping;
    CHECK(nvshmemrs_stream_new(runtime, &stream)); /* line: stream */
    CHECK(nvshmemrs_event_new(runtime, &event)); /* line: event */
    CHECK(nvshmemrs_event_record(event, stream));
    CHECK(nvshmemrs_heap_keep(runtime, &mapping)); /* line: kept */
    if (differ && pe == 1)
        CHECK(nvshmemrs_stream_new(runtime, &more)); /* line: more */

    /* A finalizer's release is no leak, with or without a collective allocation after it. */
    CHECK(nvshmemrs_release(runtime, released));

    if (!all) {
        for (int i = 0; i < 3; i++)
            CHECK(nvshmemrs_free(runtime, memory[i]));
        CHECK(nvshmemrs_free(runtime, zeroed));
        CHECK(nvshmemrs_free(runtime, aligned));
        CHECK(nvshmemrs_free(runtime, moved));
        CHECK(nvshmemrs_buffer_unregister(runtime, symmetric));
        CHECK(nvshmemrs_team_destroy(runtime, team));
        CHECK(nvshmemrs_stream_free(stream));
        CHECK(nvshmemrs_event_free(event));
        CHECK(nvshmemrs_heap_drop(mapping));
    }

    char text[4096], cut[10];
    size_t length, again;
    int32_t status = nvshmemrs_unfreed(runtime, text, sizeof text, &length);
    printf("unfreed: status %d\n", (int)status);
    if (status == NVSHMEMRS_SUCCESS) {
        if (strlen(text) != length)
            return 2;
        CHECK(nvshmemrs_unfreed(runtime, cut, sizeof cut, &again));
        if (again != length || strlen(cut) != sizeof cut - 1 || strncmp(text, cut, sizeof cut - 1) != 0)
            return 3;
        CHECK(nvshmemrs_unfreed(runtime, NULL, 0, &again));
        if (again != length)
            return 4;
        printf("%s", text);
    }
    CHECK(nvshmemrs_finalize(runtime));
    CHECK(nvshmemrs_heap_drop(all ? mapping : 0));
    printf("done\n");
    return 0;
}
