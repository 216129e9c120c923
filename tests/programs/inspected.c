/* A job for the tools that inspect jobs. Every PE has allocations, a team, a stream and traffic with the next PE. All wait outside of
 * nvshmemrs until the first file is gone; then all but PE 1 come to a barrier, and PE 1 when the second file is gone, too. The tests know
 * lines by the words in the comments behind them.
 *
 * Bug, for the checker: the three puts of other data to one place have no fence between them. */

#include "check.h"

#include <string.h>

static void until_gone(const char *file)
{
    while (access(file, F_OK) == 0)
        usleep(2000);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    int32_t pe, n;
    nvshmemrs_runtime_t runtime = join(&pe);
    CHECK(nvshmemrs_n_pes(runtime, &n));
    char *memory;
    uint64_t *words, old;
    CHECK(nvshmemrs_malloc(runtime, 4000, (void **)&memory)); /* line: malloc */
    CHECK(nvshmemrs_calloc(runtime, 8, 8, (void **)&words)); /* line: calloc */
    nvshmemrs_team_t team;
    CHECK(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, n - 1, -1, n, NULL, 0, &team)); /* line: team */
    CHECK(nvshmemrs_sync(runtime, team));
    CHECK(nvshmemrs_sync(runtime, team));
    nvshmemrs_stream_t stream;
    CHECK(nvshmemrs_stream_new(runtime, &stream)); /* line: stream */

    int32_t next = (pe + 1) % n;
    char local[100];
    memset(local, pe, sizeof local);
    for (int i = 0; i < 3; i++) {
        local[0] = (char)i;
        CHECK(nvshmemrs_put(runtime, memory, local, sizeof local, next)); /* line: puts */
    }
    /* 5 elements of 8 bytes, and one element between two of them that stays as it is. */
    CHECK(nvshmemrs_iput(runtime, memory + 1000, local, 2, 1, 8, 5, next));
    CHECK(nvshmemrs_put_signal(runtime, memory, local, 10, words, 1, NVSHMEMRS_SIGNAL_ADD, next));
    CHECK(nvshmemrs_signal_op(runtime, words, 1, NVSHMEMRS_SIGNAL_ADD, next));
    CHECK(nvshmemrs_get(runtime, local, memory + 2000, 16, next));
    CHECK(nvshmemrs_atomic_fetch_add64(runtime, words + 1, 7, next, &old));
    CHECK(nvshmemrs_put(stream, memory + 200, local, 1, next));
    CHECK(nvshmemrs_stream_synchronize(stream));
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    if (words[0] != 2 || words[1] != 7 || words[2] != 0)
        return 3;
    printf("PE %d is ready\n", (int)pe);
    fflush(stdout);

    until_gone(argv[1]);
    if (pe == 1)
        until_gone(argv[2]);
    CHECK(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
