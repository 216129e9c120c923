/* Correct programs in the style of whole applications: the checker must report nothing. */

#include "scenario.h"
#include <math.h>

enum { ROUNDS = 5, WORDS = 8 };

/* Sums round a ring: each part passes all PEs twice, first added to, then copied. */
static void ring_allreduce(void)
{
    int64_t *data = zeroed(n * WORDS, sizeof *data), *inbox = zeroed(2 * n * WORDS, sizeof *inbox);
    uint64_t *arrived = zeroed(2 * n, sizeof *arrived);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int i = 0; i < n * WORDS; i++) {
            data[i] = round * (me + 1) + i;
        }
        for (int step = 0; step < 2 * (n - 1); step++) {
            int out = (me - step + 2 * n) % n, in = (out + n - 1) % n;
            CALL(nvshmemrs_put_signal(rt, inbox + step * WORDS, data + out * WORDS, WORDS * sizeof *data, arrived + step, 1,
                                      NVSHMEMRS_SIGNAL_ADD, right_of(me)));
            signal_at_least(arrived + step, round);
            for (int i = 0; i < WORDS; i++) {
                int64_t got = inbox[step * WORDS + i];
                data[in * WORDS + i] = step < n - 1 ? data[in * WORDS + i] + got : got;
            }
        }
        for (int i = 0; i < n * WORDS; i++) {
            EXPECT(data[i] == round * n * (n + 1) / 2 + n * i);
        }
        barrier();
    }
    GIVE_BACK(data, inbox, arrived);
}

/* Each PE fetches its part of everybody's and adds them. */
static void reduce_scatter_by_get(void)
{
    int64_t *parts = zeroed(n * WORDS, sizeof *parts), *sums = zeroed(WORDS, sizeof *sums), got[WORDS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n * WORDS; i++) {
            parts[i] = (me + 1) * i + round;
        }
        memset(sums, 0, WORDS * sizeof *sums);
        barrier();
        for (int k = 0; k < n; k++) {
            get(got, parts + me * WORDS, sizeof got, (me + k) % n);
            for (int i = 0; i < WORDS; i++) {
                sums[i] += got[i];
            }
        }
        EXPECT(sums[1] == n * (n + 1) / 2 * (me * WORDS + 1) + n * round);
        barrier();
    }
    GIVE_BACK(parts, sums);
}

/* C = A * B, the rows of B by get_nbi one step ahead. */
static void matrix_multiply(void)
{
    enum { B = 4 };
    int64_t *b = zeroed(B * B, sizeof *b), *panel = zeroed(2 * B * B, sizeof *panel), c[B * B] = {0};
    for (int i = 0; i < B * B; i++) {
        b[i] = me * B * B + i;
    }
    barrier();
    CALL(nvshmemrs_get_nbi(rt, panel, b, B * B * sizeof *b, me));
    for (int step = 0; step < n; step++) {
        int64_t *now = panel + step % 2 * B * B, *next = panel + (step + 1) % 2 * B * B;
        quiet();
        if (step + 1 < n) {
            CALL(nvshmemrs_get_nbi(rt, next, b, B * B * sizeof *b, (me + step + 1) % n));
        }
        for (int i = 0; i < B; i++) {
            for (int j = 0; j < B; j++) {
                for (int k = 0; k < B; k++) {
                    c[i * B + j] += (i + 1) * now[k * B + j];
                }
            }
        }
    }
    int64_t column = 0;
    for (int i = 0; i < n * B; i++) {
        column += i * B;
    }
    EXPECT(c[0] == column && c[B * (B - 1) + 1] == B * (column + n * B));
    GIVE_BACK(b, panel);
}

/* Red cells, barrier, black cells, barrier: neighbours' cells are fetched one by one. */
static void red_black(void)
{
    enum { CELLS = 6 };
    double *cells = zeroed(CELLS, sizeof *cells);
    int total = CELLS * n, first = me * CELLS;
    for (int sweep = 0; sweep < 400; sweep++) {
        for (int color = 0; color < 2; color++) {
            for (int i = (first + color) % 2; i < CELLS; i += 2) {
                double left = 0, right = 1;
                if (i > 0) {
                    left = cells[i - 1];
                } else if (me > 0) {
                    get(&left, cells + CELLS - 1, sizeof left, me - 1);
                }
                if (i < CELLS - 1) {
                    right = cells[i + 1];
                } else if (me < n - 1) {
                    get(&right, cells, sizeof right, me + 1);
                }
                cells[i] = (left + right) / 2;
            }
            barrier();
        }
        if (sweep > 20 && n > 4) {
            break;
        }
    }
    for (int i = 0; i < CELLS; i++) {
        EXPECT(n > 4 || fabs(cells[i] - (first + i + 1.0) / (total + 1)) < 1e-2);
    }
    GIVE_BACK(cells);
}

/* Bodies go round the ring; the next block is on its way while the forces of this one are added. */
static void nbody_ring(void)
{
    double *bodies = zeroed(3 * WORDS, sizeof *bodies), force = 0, expected = 0;
    uint64_t *arrived = zeroed(1, sizeof *arrived), *read = zeroed(1, sizeof *read);
    for (int i = 0; i < WORDS; i++) {
        bodies[i] = me * WORDS + i;
    }
    double *block = bodies;
    for (int step = 0; step < n; step++) {
        if (step > 0) {
            signal_at_least(arrived, step);
            block = bodies + (1 + step % 2) * WORDS;
        }
        if (step + 1 < n) {
            double *next = bodies + (1 + (step + 1) % 2) * WORDS;
            if (step >= 2) {
                signal_at_least(read, step - 1);
            }
            CALL(nvshmemrs_put_signal_nbi(rt, next, block, WORDS * sizeof *block, arrived, 1, NVSHMEMRS_SIGNAL_ADD, right_of(me)));
        }
        for (int i = 0; i < WORDS; i++) {
            force += block[i];
        }
        quiet();
        if (step > 0) {
            CALL(nvshmemrs_signal_op(rt, read, 1, NVSHMEMRS_SIGNAL_ADD, left_of(me)));
        }
    }
    for (int i = 0; i < n * WORDS; i++) {
        expected += i;
    }
    EXPECT(force == expected);
    barrier();
    GIVE_BACK(bodies, arrived, read);
}

/* Integer sort: counts by alltoall, keys by put_nbi to places that the counts give. */
static void bucket_sort(void)
{
    enum { KEYS = 24 };
    int32_t *counts = zeroed(n, sizeof *counts), *from = zeroed(n, sizeof *from), *starts = zeroed(n, sizeof *starts), *at = zeroed(n, sizeof *at);
    int32_t *keys = zeroed(KEYS * n, sizeof *keys), mine[KEYS], sorted[KEYS];
    for (int round = 0; round < ROUNDS; round++) {
        int next[64], total = 0;
        memset(counts, 0, n * sizeof *counts);
        for (int i = 0; i < KEYS; i++) {
            mine[i] = (i * 7919 + me * 104729 + round * 31) % 1000;
            counts[mine[i] * n / 1000]++;
        }
        for (int pe = 0, sum = 0; pe < n; pe++) {
            next[pe] = sum;
            sum += counts[pe];
        }
        for (int i = 0; i < KEYS; i++) {
            sorted[next[mine[i] * n / 1000]++] = mine[i];
        }
        CALL(nvshmemrs_alltoall(rt, NVSHMEMRS_TEAM_WORLD, from, counts, sizeof *from));
        for (int pe = 0; pe < n; pe++) {
            starts[pe] = total;
            total += from[pe];
        }
        CALL(nvshmemrs_alltoall(rt, NVSHMEMRS_TEAM_WORLD, at, starts, sizeof *at));
        for (int pe = 0, sum = 0; pe < n; pe++) {
            CALL(nvshmemrs_put_nbi(rt, keys + at[pe], sorted + sum, counts[pe] * sizeof *keys, pe));
            sum += counts[pe];
        }
        barrier();
        for (int i = 0; i < total; i++) {
            EXPECT(keys[i] * n / 1000 == me);
        }
        barrier();
    }
    GIVE_BACK(counts, from, starts, at, keys);
}

/* Conjugate gradient on a row of cells: halos by p, sums by reduce. */
static double dot(double *send, double *sum, const double *a, const double *b)
{
    *send = 0;
    for (int i = 0; i < WORDS; i++) {
        *send += a[i] * b[i];
    }
    CALL(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, send, 1, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    return *sum;
}

static void conjugate_gradient(void)
{
    double *p = zeroed(WORDS + 2, sizeof *p), *send = zeroed(1, sizeof *send), *sum = zeroed(1, sizeof *sum);
    double x[WORDS] = {0}, r[WORDS], q[WORDS], zero = 0;
    for (int i = 0; i < WORDS; i++) {
        r[i] = p[i + 1] = 1;
    }
    double rr = dot(send, sum, r, r), start = rr;
    for (int step = 0; step < n * WORDS && rr > 1e-18 * start; step++) {
        put(p, &zero, 0, me);
        if (me > 0) {
            put(p + WORDS + 1, p + 1, sizeof *p, me - 1);
        }
        if (me < n - 1) {
            put(p, p + WORDS, sizeof *p, me + 1);
        }
        barrier();
        for (int i = 1; i <= WORDS; i++) {
            q[i - 1] = 2 * p[i] - p[i - 1] - p[i + 1];
        }
        double alpha = rr / dot(send, sum, p + 1, q);
        for (int i = 0; i < WORDS; i++) {
            x[i] += alpha * p[i + 1];
            r[i] -= alpha * q[i];
        }
        double next = dot(send, sum, r, r), beta = next / rr;
        rr = next;
        for (int i = 0; i < WORDS; i++) {
            p[i + 1] = r[i] + beta * p[i + 1];
        }
    }
    int size = n * WORDS;
    for (int i = 0; i < WORDS; i++) {
        double place = me * WORDS + i + 1;
        EXPECT(fabs(x[i] - place * (size + 1 - place) / 2) < 1e-6 * size * size);
    }
    GIVE_BACK(p, send, sum);
}

/* Breadth first over a ring with chords: frontiers are pushed by atomic or, levels end with a reduce. */
static void breadth_first(void)
{
    enum { EACH = 16 };
    uint64_t *next = zeroed(1, sizeof *next), *more = zeroed(1, sizeof *more), *any = zeroed(1, sizeof *any), visited = 0, frontier;
    int total = EACH * n, levels = 0, found = 0;
    frontier = me == 0 ? 1 : 0;
    do {
        for (int i = 0; i < EACH; i++) {
            if (frontier >> i & 1) {
                int here = me * EACH + i, ways[2] = {(here + 1) % total, (here + 5) % total};
                for (int k = 0; k < 2; k++) {
                    CALL(nvshmemrs_atomic_or64(rt, next, UINT64_C(1) << ways[k] % EACH, ways[k] / EACH));
                }
            }
        }
        visited |= frontier;
        CALL(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
        CALL(nvshmemrs_atomic_swap64(rt, next, 0, me, &frontier));
        frontier &= ~visited;
        *more = frontier;
        CALL(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, any, more, 1, NVSHMEMRS_DTYPE_UINT64, NVSHMEMRS_OP_OR));
        levels++;
    } while (*any);
    for (int i = 0; i < EACH; i++) {
        found += visited >> i & 1;
    }
    EXPECT(found == EACH && levels > 3);
    GIVE_BACK(next, more, any);
}

/* The same frontier as lists: each PE sends the count as the value of a signal. */
static void frontier_by_signals(void)
{
    uint64_t *lists = zeroed(2 * n * WORDS, sizeof *lists), *counts = zeroed(2 * n, sizeof *counts), out[WORDS];
    for (uint64_t level = 1; level <= ROUNDS; level++) {
        uint64_t *part = lists + level % 2 * n * WORDS, *told = counts + level % 2 * n, sum = 0, expected = 0;
        for (int to = 0; to < n; to++) {
            uint64_t count = (me + to + level) % WORDS;
            for (uint64_t i = 0; i < count; i++) {
                out[i] = level * 1000 + me;
            }
            CALL(nvshmemrs_put_signal(rt, part + me * WORDS, out, count * sizeof *out, told + me, level << 32 | count, NVSHMEMRS_SIGNAL_SET, to));
        }
        for (int from = 0; from < n; from++) {
            uint64_t count = signal_at_least(told + from, level << 32) & 0xffffffff;
            for (uint64_t i = 0; i < count; i++) {
                sum += part[from * WORDS + i];
            }
            expected += count * (level * 1000 + from);
        }
        EXPECT(sum == expected);
    }
    barrier();
    GIVE_BACK(lists, counts);
}

/* Rows and columns of a grid of PEs are teams: panels are broadcast along both. */
static void summa(void)
{
    enum { B = 3 };
    int wide = n % 2 ? n : n / 2, number;
    nvshmemrs_team_t rows, columns;
    CALL(nvshmemrs_team_split_2d(rt, NVSHMEMRS_TEAM_WORLD, wide, NULL, 0, NULL, 0, &rows, &columns));
    int64_t *a = zeroed(B, sizeof *a), *b = zeroed(B, sizeof *b), *panel_a = zeroed(B, sizeof *a), *panel_b = zeroed(B, sizeof *b);
    int64_t sum = 0, expected = 0;
    int32_t in_row, in_column;
    CALL(nvshmemrs_team_n_pes(rt, rows, &in_row));
    CALL(nvshmemrs_team_n_pes(rt, columns, &in_column));
    for (int round = 0; round < ROUNDS; round++) {
        for (number = 0; number < in_row; number++) {
            for (int i = 0; i < B; i++) {
                a[i] = me + i + round;
                b[i] = 2 * me + i;
            }
            CALL(nvshmemrs_broadcast(rt, rows, panel_a, a, B * sizeof *a, number));
            CALL(nvshmemrs_broadcast(rt, columns, panel_b, b, B * sizeof *b, number % in_column));
            int pe_a = me / wide * wide + number, pe_b = number % in_column * wide + me % wide;
            for (int i = 0; i < B; i++) {
                sum += panel_a[i] * panel_b[i];
                expected += (pe_a + i + round) * (2 * pe_b + i);
            }
        }
    }
    EXPECT(sum == expected);
    CALL(nvshmemrs_team_destroy(rt, rows));
    CALL(nvshmemrs_team_destroy(rt, columns));
    GIVE_BACK(a, b, panel_a, panel_b);
}

/* A stencil within each half of the PEs; the halves differ in how many steps they do. */
static void stencil_on_teams(void)
{
    nvshmemrs_team_t low, high, team;
    int half = (n + 1) / 2;
    CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 1, half, NULL, 0, &low));
    CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, half, 1, n - half, NULL, 0, &high));
    team = me < half ? low : high;
    int first = me < half ? 0 : half, size = me < half ? half : n - half, steps = me < half ? ROUNDS : 2 * ROUNDS;
    int64_t *halo = zeroed(2, sizeof *halo), value = me;
    for (int step = 0; step < steps; step++) {
        int right = first + (me - first + 1) % size;
        put(halo, &value, sizeof value, right);
        CALL(nvshmemrs_barrier(rt, team));
        value = halo[0];
        CALL(nvshmemrs_sync(rt, team));
    }
    EXPECT(value == first + ((me - first - steps) % size + size) % size);
    CALL(nvshmemrs_team_destroy(rt, team));
    GIVE_BACK(halo);
}

/* Teams of teams: a sum over the inner team, then over its leaders, then back by broadcast. */
static void nested_teams(void)
{
    int64_t *part = zeroed(1, sizeof *part), *sum = zeroed(1, sizeof *sum);
    nvshmemrs_team_t pair, pairs[64], leaders;
    int32_t number;
    for (int i = 0; i < (n + 1) / 2; i++) {
        int size = 2 * i + 1 < n ? 2 : 1;
        CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 2 * i, 1, size, NULL, 0, pairs + i));
    }
    CALL(nvshmemrs_team_split_strided(rt, NVSHMEMRS_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &leaders));
    pair = pairs[me / 2];
    CALL(nvshmemrs_team_my_pe(rt, pair, &number));
    for (int round = 1; round <= ROUNDS; round++) {
        *part = round * (me + 1);
        CALL(nvshmemrs_reduce(rt, pair, sum, part, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        if (number == 0) {
            *part = *sum;
            CALL(nvshmemrs_reduce(rt, leaders, sum, part, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        }
        *part = *sum;
        CALL(nvshmemrs_broadcast(rt, pair, sum, part, sizeof *sum, 0));
        EXPECT(*sum == round * n * (n + 1) / 2);
    }
    CALL(nvshmemrs_team_destroy(rt, pair));
    if (number == 0) {
        CALL(nvshmemrs_team_destroy(rt, leaders));
    }
    GIVE_BACK(part, sum);
}

/* One collective after the other on the same blocks. */
static void collectives_in_turn(void)
{
    int64_t *in = zeroed(n * WORDS, sizeof *in), *out = zeroed(n * WORDS, sizeof *out);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < n * WORDS; i++) {
            in[i] = me + i + round;
        }
        CALL(nvshmemrs_fcollect(rt, NVSHMEMRS_TEAM_WORLD, out, in, WORDS * sizeof *in));
        EXPECT(out[(n - 1) * WORDS] == n - 1 + round);
        CALL(nvshmemrs_alltoall(rt, NVSHMEMRS_TEAM_WORLD, in, out, WORDS * sizeof *in));
        EXPECT(in[0] == me + round);
        CALL(nvshmemrs_reducescatter(rt, NVSHMEMRS_TEAM_WORLD, out, in, WORDS, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        int64_t sum = n * (n - 1) / 2 + n * round;
        EXPECT(out[0] == sum && out[1] == sum + n);
        CALL(nvshmemrs_inscan(rt, NVSHMEMRS_TEAM_WORLD, in, out, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
        CALL(nvshmemrs_exscan(rt, NVSHMEMRS_TEAM_WORLD, out + 1, in, 1, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_MAX));
        EXPECT(in[0] == (me + 1) * sum && (me == 0 || out[1] == me * sum));
        CALL(nvshmemrs_collect(rt, NVSHMEMRS_TEAM_WORLD, out, in, (me + 1) * sizeof *in));
        EXPECT(out[n * (n - 1) / 2] == n * sum);
        CALL(nvshmemrs_gather(rt, NVSHMEMRS_TEAM_WORLD, in, out, sizeof *in, round % n));
        EXPECT(me != round % n || (in[0] == sum && in[n - 1] == sum));
        CALL(nvshmemrs_scatter(rt, NVSHMEMRS_TEAM_WORLD, out, in, WORDS * sizeof *out, round % n));
    }
    GIVE_BACK(in, out);
}

SCENARIOS(
    SCENARIO(ring_allreduce), SCENARIO(reduce_scatter_by_get), SCENARIO(matrix_multiply), SCENARIO(red_black), SCENARIO(nbody_ring),
    SCENARIO(bucket_sort), SCENARIO(conjugate_gradient), SCENARIO(breadth_first), SCENARIO(frontier_by_signals), SCENARIO(summa),
    SCENARIO(stencil_on_teams), SCENARIO(nested_teams), SCENARIO(collectives_in_turn))
