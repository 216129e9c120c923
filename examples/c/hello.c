#include <nvshmemrs.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) {
        fprintf(stderr, "%s\n", nvshmemrs_last_error());
        exit(1);
    }
}

int main(void) {
    nvshmemrs_runtime_t rt;
    int32_t me, n;
    void *memory;
    check(nvshmemrs_init(NULL, &rt));
    check(nvshmemrs_my_pe(rt, &me));
    check(nvshmemrs_n_pes(rt, &n));
    check(nvshmemrs_calloc(rt, 4, sizeof(int64_t), &memory));
    int64_t *mine = memory, *inbox = mine + 1, *total = mine + 2;
    uint64_t *arrived = (uint64_t *)(mine + 3);
    *mine = me + 1;

    check(nvshmemrs_put_signal(rt, inbox, mine, sizeof *mine, arrived, 1, NVSHMEMRS_SIGNAL_SET, (me + 1) % n));
    check(nvshmemrs_signal_wait(rt, arrived, NVSHMEMRS_CMP_EQ, 1, NULL));
    check(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, total, mine, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
    printf("PE %d of %d: my neighbour sent %lld, the sum over all PEs is %lld\n", me, n, (long long)*inbox, (long long)*total);

    check(nvshmemrs_finalize(rt));
}
