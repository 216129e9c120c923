/*
 * Init, a barrier and finalize, and what they cost. Compiled like peers.c. Every PE prints one line: the word
 * "startup", its number, the number of PEs, and the resident memory in KiB of its process after init (before any
 * symmetric allocation) and after the barrier.
 */
#include <stdio.h>
#include <stdlib.h>

/* Resident memory of this process in KiB: private, file-backed and shared pages alike. */
static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    if (file == NULL) {
        perror("/proc/self/smaps_rollup");
        exit(1);
    }
    while (kib < 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "Rss: %ld kB", &kib);
    }
    fclose(file);
    if (kib < 0) {
        fprintf(stderr, "/proc/self/smaps_rollup has no line Rss\n");
        exit(1);
    }
    return kib;
}

int main(void)
{
    bench_init();
    int me = bench_my_pe(), n_pes = bench_n_pes();
    long after_init = resident_kib();
    bench_barrier();
    printf("startup %d %d %ld %ld\n", me, n_pes, after_init, resident_kib());
    fflush(stdout);
    bench_barrier();
    bench_finalize();
    return 0;
}
