// Hillslope diffusion over a real elevation model, on any number of PEs: the C++ form of examples/python/landscape.py,
// with the same scheme, names and order of arithmetic, so that all print the same fingerprint. The map comes from a file
// that `landscape.py --export FILE` writes.
//
//     nvshmemrs-run -n 4 -- ./landscape FILE [STEPS]
//     ./landscape FILE [STEPS]                        (one PE, no launcher)
//
// The rows of the map are dealt over the PEs. Each PE keeps its block and one halo row above and below it on the
// symmetric heap, twice: step s reads grid[(s - 1) % 2] and writes grid[s % 2]. After step s a PE puts its first and last
// row into the halo rows of its neighbours' grid[s % 2], together with a signal that carries s. Before step s it waits
// until the signals of both neighbours have reached s - 1. Why that needs no barrier is in examples/c/landscape.c.
//
// With NVSHMEMRS_MEMORY=device the heap is memory of GPUs, which this program cannot load from. So the steps work on
// private memory, and the library copies to and from the symmetric grids.

#include <nvshmemrs/nvshmemrs.hpp>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <vector>

namespace {

using field = std::vector<double>;
using symmetric = nvshmemrs::symmetric_array<double>;

constexpr double kappa = 0.01;    // m2 per year
constexpr double fraction = 0.05; // of the longest stable time step: small, for accuracy in time
constexpr int residual_every = 50; // steps between two residuals
constexpr double limit = 1e-12;   // m; largest difference from the single-process run

/// An elevation model: row 0 is the northernmost, elevations and spacings are in metres.
struct dem {
    std::int64_t rows = 0, cols = 0;
    double dx = 0, dy = 0;
    field z;
};

/// Consecutive rows of one PE.
struct block {
    std::int64_t first, count;
};

/// Reads the file; on failure says why on standard error and gives a model of 0 rows.
dem load(const char *path) {
    dem found;
    std::ifstream file(path, std::ios::binary);
    const auto read = [&file](auto *to, std::size_t count) {
        return bool(file.read(reinterpret_cast<char *>(to), static_cast<std::streamsize>(count * sizeof *to)));
    };
    const bool whole = read(&found.rows, 1) && read(&found.cols, 1) && read(&found.dx, 1) && read(&found.dy, 1);
    if (!whole || found.rows < 1 || found.cols < 1 || found.rows > 1 << 20 || found.cols > 1 << 20 ||
        !(found.dx > 0) || !(found.dy > 0)) {
        std::fprintf(stderr, "landscape: %s is not a file of `landscape.py --export`\n", path);
        return {};
    }
    found.z.resize(static_cast<std::size_t>(found.rows * found.cols));
    if (!read(found.z.data(), found.z.size())) {
        std::fprintf(stderr, "landscape: %s ends before its elevations do\n", path);
        return {};
    }
    return found;
}

/// The first row and the number of rows of a PE; the first PEs take one row more if need be.
block deal(std::int64_t rows, std::int32_t n_pes, std::int32_t pe) {
    const std::int64_t base = rows / n_pes, extra = rows % n_pes;
    return {pe * base + std::min<std::int64_t>(pe, extra), base + (pe < extra ? 1 : 0)};
}

/// One step: all rows and columns of `next` but the outermost ones, from `z`. Gives the largest |change| if asked.
double diffuse(const field &z, field &next, std::int64_t count, std::int64_t width, double cx, double cy, bool compare) {
    double largest = 0;
    for (std::int64_t i = 1; i <= count; i++) {
        const double *north = z.data() + (i - 1) * width, *row = north + width, *south = row + width;
        for (std::int64_t j = 1; j < width - 1; j++) {
            const double along = (row[j - 1] + row[j + 1]) - 2.0 * row[j];
            const double across = (north[j] + south[j]) - 2.0 * row[j];
            const double change = cx * along + cy * across;
            next[i * width + j] = row[j] + change;
            if (compare)
                largest = std::max(largest, std::fabs(change));
        }
    }
    return largest;
}

/// The same diffusion in one process, written independently of `diffuse`: no halo, indices stop at the edge.
field single_process(const dem &map, int steps, double cx, double cy) {
    field z = map.z, next(z.size());
    for (int s = 0; s < steps; s++) {
        for (std::int64_t i = 0; i < map.rows; i++) {
            const std::int64_t up = std::max<std::int64_t>(i - 1, 0), down = std::min(i + 1, map.rows - 1);
            for (std::int64_t j = 0; j < map.cols; j++) {
                const std::int64_t west = std::max<std::int64_t>(j - 1, 0), east = std::min(j + 1, map.cols - 1);
                const double here = z[i * map.cols + j];
                const double along = (z[i * map.cols + west] + z[i * map.cols + east]) - 2.0 * here;
                const double across = (z[up * map.cols + j] + z[down * map.cols + j]) - 2.0 * here;
                next[i * map.cols + j] = here + (cx * along + cy * across);
            }
        }
        z.swap(next);
    }
    return z;
}

/// The sum of the elevations' bit patterns modulo 2^64: equal fields have equal fingerprints.
std::uint64_t fingerprint(const field &z) {
    std::uint64_t sum = 0;
    for (double value : z) {
        std::uint64_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        sum += bits;
    }
    return sum;
}

double mean(const field &z) {
    double sum = 0;
    for (double value : z)
        sum += value;
    return sum / static_cast<double>(z.size());
}

/// The map, one cell wider on every side; the cells of the rim equal their neighbours.
field pad(const dem &map) {
    field whole;
    whole.reserve(static_cast<std::size_t>((map.rows + 2) * (map.cols + 2)));
    for (std::int64_t i = -1; i <= map.rows; i++)
        for (std::int64_t j = -1; j <= map.cols; j++)
            whole.push_back(map.z[std::clamp<std::int64_t>(i, 0, map.rows - 1) * map.cols +
                                  std::clamp<std::int64_t>(j, 0, map.cols - 1)]);
    return whole;
}

/// Runs all steps on this PE's block of a map of `map_rows` rows. Collective over all PEs. Gives the last residual.
double simulate(const nvshmemrs::runtime &rt, std::array<symmetric, 2> &grid, std::int64_t map_rows, std::int64_t width,
                int steps, double cx, double cy) {
    const std::int32_t me = rt.my_pe(), n = rt.n_pes(), north = me - 1, south = me + 1;
    const std::int64_t count = deal(map_rows, n, me).count, bottom = count + 1;
    const auto row_size = static_cast<std::size_t>(width);
    const std::int64_t bottom_of_north = north >= 0 ? deal(map_rows, n, north).count + 1 : 0;
    const auto row_of = [width](const symmetric &of, std::int64_t row) { return of.slice(row * width, width); };

    nvshmemrs::signal from_north(rt), from_south(rt);
    symmetric residual(rt, 1);
    rt.world().barrier(); // blocks are dealt and signals are 0 everywhere

    std::array<field, 2> local{field((count + 2) * width), field((count + 2) * width)};
    grid[0].at(me).get(local[0]);
    std::array<double, 1> last{};
    int tenths = 0;
    for (int step = 1; step <= steps; step++) {
        const int at = (step - 1) % 2, next_at = step % 2;
        field &z = local[at], &next = local[next_at];
        const bool compare = step % residual_every == 0 || step == steps;
        const auto before = static_cast<std::uint64_t>(step - 1), now = static_cast<std::uint64_t>(step);
        if (north >= 0) {
            from_north.wait_until(nvshmemrs::greater_equal, before);
            row_of(grid[at], 0).at(me).get(nvshmemrs::buffer{z.data(), row_size});
        }
        if (south < n) {
            from_south.wait_until(nvshmemrs::greater_equal, before);
            row_of(grid[at], bottom).at(me).get(nvshmemrs::buffer{z.data() + bottom * width, row_size});
        }

        const double largest = diffuse(z, next, count, width, cx, cy, compare);
        for (std::int64_t i = 1; i <= count; i++) { // zero flux to the west and east
            next[i * width] = next[i * width + 1];
            next[i * width + width - 1] = next[i * width + width - 2];
        }
        if (north < 0) // zero flux to the north
            std::copy_n(next.begin() + width, width, next.begin());
        if (south == n) // zero flux to the south
            std::copy_n(next.begin() + count * width, width, next.begin() + bottom * width);

        if (north >= 0)
            row_of(grid[next_at], bottom_of_north)
                .at(north)
                .put_signal(nvshmemrs::buffer{next.data() + width, row_size}, from_south, nvshmemrs::signal_set, now);
        if (south < n)
            row_of(grid[next_at], 0)
                .at(south)
                .put_signal(nvshmemrs::buffer{next.data() + count * width, row_size}, from_north, nvshmemrs::signal_set, now);

        if (compare) {
            last = {largest};
            residual.at(me).put(last);
            rt.quiet();
            rt.world().reduce(nvshmemrs::maximum, residual);
            residual.at(me).get(last);
            if (me == 0 && step * 10 / steps > tenths) {
                tenths = step * 10 / steps;
                std::fprintf(stderr, "step %d of %d, residual %.3e m\n", step, steps, last[0]);
            }
        }
    }
    // The block goes back, without the halo rows: PE 0 gets it from there.
    const auto size = static_cast<std::size_t>(count * width);
    grid[steps % 2].slice(width, size).at(me).put(nvshmemrs::buffer{local[steps % 2].data() + width, size});
    rt.quiet();
    return last[0];
}

/// The whole map from the blocks of all PEs, which have all done their steps. PE 0 calls it.
field gather(const symmetric &grid, std::int64_t map_rows, std::int64_t width, std::int32_t n_pes) {
    field whole;
    for (std::int32_t pe = 0; pe < n_pes; pe++) {
        const std::int64_t count = deal(map_rows, n_pes, pe).count;
        field part(static_cast<std::size_t>(count * width));
        grid.slice(width, part.size()).at(pe).get(part);
        for (std::int64_t i = 0; i < count; i++)
            whole.insert(whole.end(), part.begin() + i * width + 1, part.begin() + (i + 1) * width - 1);
    }
    return whole;
}

int run(const char *path, int steps) {
    auto rt = nvshmemrs::runtime::init();
    const std::int32_t me = rt.my_pe(), n = rt.n_pes();

    // PE 0 reads the map and tells the others its size; 0 rows mean that it could not.
    dem map;
    symmetric told(rt, 4);
    if (me == 0) {
        map = load(path);
        told.at(me).put(std::array{double(map.rows), double(map.cols), map.dx, map.dy});
        rt.quiet();
    }
    rt.world().broadcast(told, told, 0);
    std::array<double, 4> header;
    told.at(me).get(header);
    const auto map_rows = static_cast<std::int64_t>(header[0]), width = static_cast<std::int64_t>(header[1]) + 2;
    const double dx = header[2], dy = header[3];
    if (map_rows == 0 || n > map_rows) {
        if (me == 0 && map_rows > 0)
            std::fprintf(stderr, "landscape: %d PEs, but the map has only %d rows: start at most %d PEs\n", n,
                         int(map_rows), int(map_rows));
        rt.finalize();
        return 1;
    }

    // PE 0 deals the blocks, halo rows included.
    const auto room = static_cast<std::size_t>((deal(map_rows, n, 0).count + 2) * width);
    std::array<symmetric, 2> grid{symmetric(rt, room), symmetric(rt, room)};
    const double dt = fraction / (2.0 * kappa * (1.0 / (dx * dx) + 1.0 / (dy * dy)));
    const double cx = kappa * dt / (dx * dx), cy = kappa * dt / (dy * dy);
    if (me == 0) {
        std::printf("%s: %d x %d cells of %.1f m x %.1f m on %d PE%s\n", path, int(map_rows), int(width - 2), dx, dy, n,
                    n == 1 ? "" : "s");
        const field whole = pad(map);
        for (std::int32_t pe = 0; pe < n; pe++) {
            const block its = deal(map_rows, n, pe);
            grid[0].at(pe).put(nvshmemrs::buffer{whole.data() + its.first * width, std::size_t((its.count + 2) * width)});
        }
    }

    const double residual = simulate(rt, grid, map_rows, width, steps, cx, cy);
    rt.world().barrier();
    bool ok = true;
    if (me == 0) {
        const field after = gather(grid[steps % 2], map_rows, width, n);
        std::printf("residual: %.6e m in the last step\n", residual);
        std::printf("mean elevation: %.6f m before, %.6f m after\n", mean(map.z), mean(after));
        std::printf("fingerprint: %016" PRIx64 "\n", fingerprint(after));
        const field alone = single_process(map, steps, cx, cy);
        double worst = 0;
        for (std::size_t i = 0; i < after.size(); i++)
            if (const double difference = std::fabs(after[i] - alone[i]); !(difference <= worst)) // a NaN stays
                worst = std::isnan(worst) ? worst : difference;
        ok = worst <= limit;
        std::printf("check: max |difference| = %.3e (limit %g)%s\n", worst, limit, ok ? "" : ": FAILED");
    }
    rt.finalize(); // the arrays' destructors come after it, and do no harm
    return ok ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    const int steps = argc == 3 ? std::atoi(argv[2]) : 2000;
    if (argc < 2 || argc > 3 || steps < 1) {
        std::fprintf(stderr,
                     "usage: %s FILE [STEPS]\n"
                     "FILE comes from `landscape.py --export FILE`; STEPS is at least 1 (2000)\n",
                     argv[0]);
        return 2;
    }
    try {
        return run(argv[1], steps);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "landscape: %s\n", error.what());
        return 1;
    }
}
