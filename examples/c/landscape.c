/* Hillslope diffusion over a real elevation model, on any number of PEs: the C form of
 * examples/python/landscape.py, with the same scheme, names and order of arithmetic, so that both print the
 * same fingerprint. The map comes from a file that `landscape.py --export FILE` writes.
 *
 *     nvshmemrs-run -n 4 -- ./landscape FILE [STEPS]
 *     ./landscape FILE [STEPS]                        (one PE, no launcher)
 *
 * The rows of the map are dealt over the PEs. Each PE keeps its block and one halo row above and below it on
 * the symmetric heap, twice: step s reads grid[(s - 1) % 2] and writes grid[s % 2]. After step s a PE puts
 * its first and last row into the halo rows of its neighbours' grid[s % 2], together with a signal that
 * carries s. Before step s it waits until the signals of both neighbours have reached s - 1.
 *
 * Why no neighbour overwrites a halo row that is still being read, without any barrier: I read the halo rows
 * of grid[s % 2] during my step s + 1. A neighbour writes them again after its step s + 2. It begins that
 * step only when my signal has reached s + 1, and I send s + 1 when my step s + 1 is done. So two grids are
 * enough, and neighbours are never more than one step apart. A signal may therefore already say s when
 * s - 1 is awaited, which is why the wait asks for "at least".
 *
 * With NVSHMEMRS_MEMORY=device the heap is memory of GPUs, which this program cannot load from. The steps
 * therefore work on private memory, whatever the heap is; only the halo rows are read from the symmetric
 * grids while they run, and the block is copied in and out once.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nvshmemrs.h"

#define KAPPA 0.01        /* m2 per year */
#define STEPS 2000
#define FRACTION 0.05     /* of the longest stable time step: small, for accuracy in time */
#define RESIDUAL_EVERY 50 /* steps between two residuals */
#define LIMIT 1e-12       /* m; largest difference from the single-process run */

enum { ROWS_DONE, STEPS_DONE, HALO_BYTES, COMPUTING, SENDING, WAITING, COLUMNS };

/* Ends this PE when a call fails; the others learn that it left. */
#define CHECK(call)                                                                             \
    do {                                                                                        \
        int32_t status_ = (call);                                                               \
        if (status_ != NVSHMEMRS_SUCCESS) {                                                     \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, nvshmemrs_last_error()); \
            exit(1);                                                                            \
        }                                                                                       \
    } while (0)

static nvshmemrs_runtime_t rt;
static int32_t me, n;

/* An elevation model: row 0 is the northernmost, elevations and spacings are in metres. */
typedef struct {
    int64_t rows, cols;
    double dx, dy;
    double *z;
} dem_t;

typedef struct {
    int64_t first, count;
} block_t;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Local memory; ends the program when there is none. */
static double *doubles(int64_t count)
{
    double *p = calloc((size_t)count, sizeof *p);
    if (p == NULL) {
        fprintf(stderr, "landscape: no memory for %" PRId64 " doubles\n", count);
        exit(1);
    }
    return p;
}

/* Reads the file; on failure says why on stderr and leaves dem->rows at 0. */
static void load_dem(const char *path, dem_t *dem)
{
    dem_t found = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "landscape: %s: %s\n", path, strerror(errno));
        return;
    }
    bool whole = fread(&found.rows, 8, 1, file) == 1 && fread(&found.cols, 8, 1, file) == 1 &&
                 fread(&found.dx, 8, 1, file) == 1 && fread(&found.dy, 8, 1, file) == 1;
    if (!whole || found.rows < 1 || found.cols < 1 || found.rows > 1 << 20 || found.cols > 1 << 20 ||
        !(found.dx > 0.0) || !(found.dy > 0.0)) {
        fprintf(stderr, "landscape: %s is not a file of `landscape.py --export`\n", path);
    } else {
        size_t cells = (size_t)(found.rows * found.cols);
        found.z = doubles(found.rows * found.cols);
        if (fread(found.z, sizeof(double), cells, file) == cells) {
            *dem = found;
        } else {
            fprintf(stderr, "landscape: %s ends before its %" PRId64 " x %" PRId64 " elevations\n", path,
                    found.rows, found.cols);
        }
    }
    fclose(file);
}

/* The first row and the number of rows of a PE; the first PEs take one row more if need be. */
static block_t deal(int64_t rows, int32_t n_pes, int32_t pe)
{
    int64_t base = rows / n_pes, extra = rows % n_pes;
    return (block_t){pe * base + (pe < extra ? pe : extra), base + (pe < extra ? 1 : 0)};
}

/* The time step in years, and kappa * dt / dx^2 and kappa * dt / dy^2. */
static double coefficients(double kappa, double dx, double dy, double *cx, double *cy)
{
    double dt = FRACTION / (2.0 * kappa * (1.0 / (dx * dx) + 1.0 / (dy * dy)));
    *cx = kappa * dt / (dx * dx);
    *cy = kappa * dt / (dy * dy);
    return dt;
}

/* One step: all rows and columns of `new` but the outermost ones, from `z`. `change` is scratch for one row.
 * If `residual` is not NULL, it receives the largest |change|. */
static void diffuse(const double *restrict z, double *restrict new, int64_t count, int64_t width, double cx,
                    double cy, double *restrict change, double *restrict residual)
{
    double largest = 0.0;
    for (int64_t i = 1; i <= count; i++) {
        const double *north = z + (i - 1) * width, *row = north + width, *south = row + width;
        for (int64_t j = 1; j < width - 1; j++) {
            double along = (row[j - 1] + row[j + 1]) - 2.0 * row[j];
            double across = (north[j] + south[j]) - 2.0 * row[j];
            change[j] = cx * along + cy * across;
            new[i * width + j] = row[j] + change[j];
        }
        for (int64_t j = 1; residual != NULL && j < width - 1; j++)
            largest = fabs(change[j]) > largest ? fabs(change[j]) : largest;
    }
    if (residual != NULL)
        *residual = largest;
}

/* The same diffusion in one process, written independently of `diffuse`: no halo, indices stop at the edge. */
static void single_process(const dem_t *dem, int64_t steps, double cx, double cy, double *result)
{
    int64_t rows = dem->rows, cols = dem->cols, cells = rows * cols;
    double *next = doubles(cells);
    memcpy(result, dem->z, (size_t)cells * sizeof *result);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t i = 0; i < rows; i++) {
            int64_t up = i > 0 ? i - 1 : 0, down = i < rows - 1 ? i + 1 : i;
            for (int64_t j = 0; j < cols; j++) {
                int64_t left = j > 0 ? j - 1 : 0, right = j < cols - 1 ? j + 1 : j;
                double z = result[i * cols + j];
                double along = (result[i * cols + left] + result[i * cols + right]) - 2.0 * z;
                double across = (result[up * cols + j] + result[down * cols + j]) - 2.0 * z;
                next[i * cols + j] = z + (cx * along + cy * across);
            }
        }
        memcpy(result, next, (size_t)cells * sizeof *result);
    }
    free(next);
}

/* The sum of the elevations' bit patterns modulo 2^64: equal fields have equal fingerprints. */
static uint64_t fingerprint(const double *z, int64_t cells)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < cells; i++) {
        uint64_t bits;
        memcpy(&bits, &z[i], sizeof bits);
        sum += bits;
    }
    return sum;
}

static double mean(const double *z, int64_t cells)
{
    double sum = 0.0;
    for (int64_t i = 0; i < cells; i++)
        sum += z[i];
    return sum / (double)cells;
}

/* Copies from and to this PE's own symmetric memory. */
static void take(void *dest, const void *symmetric, size_t bytes)
{
    CHECK(nvshmemrs_get(rt, dest, symmetric, bytes, me));
}

static void give(void *symmetric, const void *source, size_t bytes)
{
    CHECK(nvshmemrs_put(rt, symmetric, source, bytes, me));
    CHECK(nvshmemrs_quiet(rt));
}

/* Runs all steps on this PE's block of a map of `rows` rows. Collective over all PEs.
 * Gives the last residual, and in `did` what this PE did. */
static double simulate(double *grid[2], int64_t rows, int64_t width, int64_t steps, double cx, double cy,
                       double did[COLUMNS])
{
    const int32_t north = me - 1, south = me + 1;
    const int64_t count = deal(rows, n, me).count;
    const int64_t bottom_of_north = north >= 0 ? deal(rows, n, north).count + 1 : 0; /* its lower halo row */
    const int64_t bottom = count + 1; /* this PE's lower halo row */
    const size_t row_bytes = (size_t)width * sizeof(double);

    uint64_t *from_north, *from_south;
    double *residual;
    CHECK(nvshmemrs_calloc(rt, 1, sizeof *from_north, (void **)&from_north));
    CHECK(nvshmemrs_calloc(rt, 1, sizeof *from_south, (void **)&from_south));
    CHECK(nvshmemrs_calloc(rt, 1, sizeof *residual, (void **)&residual));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD)); /* blocks are dealt and signals are 0 everywhere */

    double *const field[2] = {doubles((count + 2) * width), doubles((count + 2) * width)};
    take(field[0], grid[0], (size_t)(count + 2) * row_bytes);
    double *change = doubles(width);
    double last = 0.0;
    double computing = 0.0, sending = 0.0, waiting = 0.0;
    size_t halo_bytes = 0;
    int64_t tenths = 0;
    for (int64_t step = 1; step <= steps; step++) {
        const int at = (int)((step - 1) % 2), new_at = (int)(step % 2);
        double *z = field[at], *new = field[new_at];
        const bool compare = step % RESIDUAL_EVERY == 0 || step == steps;

        double t0 = now();
        if (north >= 0)
            CHECK(nvshmemrs_signal_wait(rt, from_north, NVSHMEMRS_CMP_GE, (uint64_t)step - 1, NULL));
        if (south < n)
            CHECK(nvshmemrs_signal_wait(rt, from_south, NVSHMEMRS_CMP_GE, (uint64_t)step - 1, NULL));

        double t1 = now();
        if (north >= 0)
            take(z, grid[at], row_bytes);
        if (south < n)
            take(z + bottom * width, grid[at] + bottom * width, row_bytes);
        diffuse(z, new, count, width, cx, cy, change, compare ? &last : NULL);
        for (int64_t i = 1; i <= count; i++) { /* zero flux to the west and east */
            new[i * width] = new[i * width + 1];
            new[i * width + width - 1] = new[i * width + width - 2];
        }
        if (north < 0) /* zero flux to the north */
            memcpy(new, new + width, row_bytes);
        if (south == n) /* zero flux to the south */
            memcpy(new + bottom * width, new + count * width, row_bytes);

        double t2 = now();
        if (north >= 0) {
            CHECK(nvshmemrs_put_signal(rt, grid[new_at] + bottom_of_north * width, new + width, row_bytes,
                                       from_south, (uint64_t)step, NVSHMEMRS_SIGNAL_SET, north));
            halo_bytes += row_bytes;
        }
        if (south < n) {
            CHECK(nvshmemrs_put_signal(rt, grid[new_at], new + count * width, row_bytes, from_north,
                                       (uint64_t)step, NVSHMEMRS_SIGNAL_SET, south));
            halo_bytes += row_bytes;
        }

        double t3 = now();
        if (compare) {
            give(residual, &last, sizeof last);
            CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, residual, residual, 1, NVSHMEMRS_DTYPE_DOUBLE,
                                   NVSHMEMRS_OP_MAX));
            take(&last, residual, sizeof last);
            if (me == 0 && step * 10 / steps > tenths) {
                tenths = step * 10 / steps;
                fprintf(stderr, "step %" PRId64 " of %" PRId64 ", residual %.3e m\n", step, steps, last);
            }
        }
        double t4 = now();
        waiting += (t1 - t0) + (t4 - t3);
        computing += t2 - t1;
        sending += t3 - t2;
    }

    /* The block goes back, without the halo rows: PE 0 gets it from there. */
    give(grid[steps % 2] + width, field[steps % 2] + width, (size_t)count * row_bytes);

    free(change);
    free(field[1]);
    free(field[0]);
    CHECK(nvshmemrs_free(rt, residual));
    CHECK(nvshmemrs_free(rt, from_south));
    CHECK(nvshmemrs_free(rt, from_north));
    did[ROWS_DONE] = (double)count;
    did[STEPS_DONE] = (double)steps;
    did[HALO_BYTES] = (double)halo_bytes;
    did[COMPUTING] = computing;
    did[SENDING] = sending;
    did[WAITING] = waiting;
    return last;
}

/* The whole map from the blocks of all PEs. PE 0 calls it, after a barrier. */
static void gather(const double *grid, int64_t rows, int64_t width, double *whole)
{
    double *block = doubles(deal(rows, n, 0).count * width);
    for (int32_t pe = 0; pe < n; pe++) {
        block_t b = deal(rows, n, pe);
        CHECK(nvshmemrs_get(rt, block, grid + width, (size_t)(b.count * width) * sizeof *block, pe));
        for (int64_t i = 0; i < b.count; i++)
            memcpy(whole + (b.first + i) * (width - 2), block + i * width + 1,
                   (size_t)(width - 2) * sizeof *whole);
    }
    free(block);
}

static void print_table(const double *table)
{
    printf("%4s%7s%8s%13s%13s%13s%13s\n", "PE", "rows", "steps", "halo bytes", "computing s", "sending s",
           "waiting s");
    for (int32_t pe = 0; pe < n; pe++) {
        const double *line = table + pe * COLUMNS;
        printf("%4d%7.0f%8.0f%13.0f%13.3f%13.3f%13.3f\n", pe, line[ROWS_DONE], line[STEPS_DONE],
               line[HALO_BYTES], line[COMPUTING], line[SENDING], line[WAITING]);
    }
}

/* Copies the map into `whole`, one cell wider on every side; the cells of the rim equal their neighbours. */
static void pad(const dem_t *dem, double *whole)
{
    int64_t width = dem->cols + 2;
    for (int64_t i = 0; i < dem->rows + 2; i++) {
        int64_t row = i == 0 ? 0 : i > dem->rows ? dem->rows - 1 : i - 1;
        for (int64_t j = 0; j < width; j++) {
            int64_t col = j == 0 ? 0 : j > dem->cols ? dem->cols - 1 : j - 1;
            whole[i * width + j] = dem->z[row * dem->cols + col];
        }
    }
}

int main(int argc, char **argv)
{
    char *end = "";
    int64_t steps = argc == 3 ? strtoll(argv[2], &end, 10) : STEPS;
    if (argc < 2 || argc > 3 || *end != '\0' || steps < 1 || steps > INT32_MAX) {
        fprintf(stderr,
                "usage: %s FILE [STEPS]\n"
                "FILE comes from `landscape.py --export FILE`; STEPS is at least 1 (%d)\n",
                argv[0], STEPS);
        return 2;
    }
    CHECK(nvshmemrs_init(NULL, &rt));
    CHECK(nvshmemrs_my_pe(rt, &me));
    CHECK(nvshmemrs_n_pes(rt, &n));

    /* PE 0 reads the map and tells the others its size; 0 rows mean that it could not. */
    dem_t dem = {0};
    double *symmetric_header, header[4];
    CHECK(nvshmemrs_calloc(rt, 4, sizeof *header, (void **)&symmetric_header));
    if (me == 0) {
        load_dem(argv[1], &dem);
        header[0] = (double)dem.rows;
        header[1] = (double)dem.cols;
        header[2] = dem.dx;
        header[3] = dem.dy;
        give(symmetric_header, header, sizeof header);
    }
    CHECK(nvshmemrs_broadcast(rt, NVSHMEMRS_TEAM_WORLD, symmetric_header, symmetric_header, sizeof header, 0));
    take(header, symmetric_header, sizeof header);
    const int64_t rows = (int64_t)header[0], cols = (int64_t)header[1], width = cols + 2;
    const double dx = header[2], dy = header[3];
    if (rows == 0 || n > rows) {
        if (me == 0 && rows > 0)
            fprintf(stderr,
                    "landscape: %d PEs, but the map has only %" PRId64 " rows: start at most %" PRId64
                    " PEs\n",
                    n, rows, rows);
        CHECK(nvshmemrs_finalize(rt));
        return 1;
    }

    /* PE 0 deals the blocks, halo rows included. */
    const int64_t largest = deal(rows, n, 0).count;
    double *grid[2];
    for (int g = 0; g < 2; g++)
        CHECK(nvshmemrs_calloc(rt, (size_t)((largest + 2) * width), sizeof(double), (void **)&grid[g]));
    double cx, cy;
    const double dt = coefficients(KAPPA, dx, dy, &cx, &cy);
    if (me == 0) {
        printf("%s: %" PRId64 " x %" PRId64 " cells of %.1f m x %.1f m on %d PE%s\n", argv[1], rows, cols, dx, dy,
               n, n == 1 ? "" : "s");
        printf("kappa %g m2/yr, %" PRId64 " steps of %.0f years = %.1f million years\n", KAPPA, steps, dt,
               (double)steps * dt / 1e6);
        fflush(stdout);
        double *whole = doubles((rows + 2) * width);
        pad(&dem, whole);
        for (int32_t pe = 0; pe < n; pe++) {
            block_t b = deal(rows, n, pe);
            CHECK(nvshmemrs_put(rt, grid[0], whole + b.first * width,
                                (size_t)((b.count + 2) * width) * sizeof *whole, pe));
        }
        free(whole);
    }

    double did[COLUMNS];
    const double residual = simulate(grid, rows, width, steps, cx, cy, did);

    /* Each PE puts its line into PE 0's table; PE 0 gets the blocks. */
    double *table;
    CHECK(nvshmemrs_calloc(rt, (size_t)n * COLUMNS, sizeof *table, (void **)&table));
    CHECK(nvshmemrs_put(rt, table + me * COLUMNS, did, sizeof did, 0));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    bool ok = true;
    if (me == 0) {
        const int64_t cells = rows * cols;
        double *after = doubles(cells), *alone = doubles(cells);
        gather(grid[steps % 2], rows, width, after);
        double *lines = doubles((int64_t)n * COLUMNS);
        take(lines, table, (size_t)n * COLUMNS * sizeof *lines);
        print_table(lines);
        free(lines);
        printf("residual: %.6e m in the last step\n", residual);
        printf("mean elevation: %.6f m before, %.6f m after\n", mean(dem.z, cells), mean(after, cells));
        printf("fingerprint: %016" PRIx64 "\n", fingerprint(after, cells));

        single_process(&dem, steps, cx, cy, alone);
        double worst = 0.0;
        for (int64_t i = 0; i < cells; i++) {
            double difference = fabs(after[i] - alone[i]);
            if (!isnan(worst) && !(difference <= worst)) /* a NaN stays */
                worst = difference;
        }
        ok = worst <= LIMIT;
        printf("check: max |difference| = %.3e (limit %g)%s\n", worst, LIMIT, ok ? "" : ": FAILED");
        free(after);
        free(alone);
        free(dem.z);
    }

    CHECK(nvshmemrs_free(rt, table));
    CHECK(nvshmemrs_free(rt, grid[1]));
    CHECK(nvshmemrs_free(rt, grid[0]));
    CHECK(nvshmemrs_free(rt, symmetric_header));
    CHECK(nvshmemrs_finalize(rt));
    return ok ? 0 : 1;
}
