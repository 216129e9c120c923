/* The cost of init, a barrier and finalize. */
#ifndef PERF_STARTUP_H
#define PERF_STARTUP_H

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

/* Every PE prints its line: resident memory after init, before any symmetric allocation, with a heap of the default size. */
static void startup(void)
{
    bench_init(0, 0);
    int pe = bench_my_pe();
    long kib = resident_kib();
    bench_barrier();
    printf("{\"startup\": %d, \"resident_kib\": %ld}\n", pe, kib);
    fflush(stdout);
    bench_barrier();
    bench_finalize();
}

#endif
