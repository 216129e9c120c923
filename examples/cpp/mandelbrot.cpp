// Work stealing: rows of the Mandelbrot set, which take very different times. The C++ form of
// examples/python/mandelbrot.py, with the same arithmetic, so that both print the same result.
//
//     nvshmemrs-run -n 4 -- ./mandelbrot [HEIGHT] [--no-steal]
//
// Each PE owns a block of rows, and a counter in symmetric memory: its next row. A PE takes a row of its own by an atomic
// fetch-and-add on its counter. When its rows are taken, it takes rows of the next PE by the same operation there, and so
// on. So no row is taken twice, and no PE waits. A row that is done is put into the image on PE 0.

#include <nvshmemrs/nvshmemrs.hpp>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <vector>

namespace {

constexpr double x_from = -2.0, x_to = 0.6, y_from = -0.2, y_to = 1.5; // the last rows are outside the set, and quick
constexpr std::int32_t limit = 500;                                    // iterations

using row_of_counts = std::vector<std::int32_t>;

/// Iterations of each point of row `i` until it leaves the disc of radius 2, at most `limit`.
row_of_counts row_of_set(std::int64_t i, std::int64_t height, std::int64_t width) {
    row_of_counts counts(static_cast<std::size_t>(width), limit);
    const double cy = y_from + (y_to - y_from) * double(i) / double(height);
    for (std::int64_t j = 0; j < width; j++) {
        const double cx = x_from + (x_to - x_from) * double(j) / double(width);
        double x = 0, y = 0;
        for (std::int32_t step = 0; step < limit; step++) {
            const double x2 = x * x, y2 = y * y;
            if (x2 + y2 > 4) {
                counts[static_cast<std::size_t>(j)] = step;
                break;
            }
            y = 2 * x * y + cy;
            x = x2 - y2 + cx;
        }
    }
    return counts;
}

struct work {
    std::int64_t done = 0, stolen = 0;
};

/// Computes all rows of the image on PE 0. Collective. Returns what this PE did.
work compute(const nvshmemrs::runtime &rt, const nvshmemrs::symmetric_array<std::int32_t> &image, std::int64_t height,
             bool steal) {
    const std::int32_t me = rt.my_pe(), n = rt.n_pes();
    const std::int64_t width = std::int64_t(image.size()) / height;
    nvshmemrs::symmetric_array<std::int64_t> next(rt, 1);
    next.at(me)[0] = me * height / n;
    rt.world().barrier();

    work mine;
    for (std::int32_t i = 0; i < (steal ? n : 1); i++) {
        const std::int32_t victim = (me + i) % n;
        const std::int64_t end = (victim + 1) * height / n;
        for (std::int64_t row; (row = next.at(victim).atomic(0).fetch_add(1)) < end;) {
            const row_of_counts counts = row_of_set(row, height, width);
            image.slice(static_cast<std::size_t>(row * width), counts.size()).at(0).put(counts);
            mine.done++;
            mine.stolen += victim != me;
        }
    }
    rt.world().barrier(); // completes the puts, and no PE needs a counter any more
    return mine;
}

int run(std::int64_t height, bool steal) {
    auto rt = nvshmemrs::runtime::init();
    const std::int32_t me = rt.my_pe(), n = rt.n_pes();
    const std::int64_t width = height * 3 / 2;
    nvshmemrs::symmetric_array<std::int32_t> image(rt, static_cast<std::size_t>(height * width));
    nvshmemrs::symmetric_array<std::int64_t> table(rt, 2 * static_cast<std::size_t>(n));

    rt.world().barrier();
    const auto begin = std::chrono::steady_clock::now();
    const work mine = compute(rt, image, height, steal);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

    table.slice(2 * static_cast<std::size_t>(me), 2).at(0).put(std::vector{mine.done, mine.stolen});
    rt.world().barrier();
    bool ok = true;
    if (me == 0) {
        row_of_counts found(image.size()), alone;
        std::vector<std::int64_t> rows(table.size());
        image.at(0).get(found);
        table.at(0).get(rows);
        for (std::int64_t i = 0; i < height; i++) {
            const row_of_counts counts = row_of_set(i, height, width);
            alone.insert(alone.end(), counts.begin(), counts.end());
        }
        std::int64_t total = 0;
        std::printf("%" PRId64 " x %" PRId64 " points on %d PEs\n", height, width, n);
        for (std::size_t pe = 0; pe < std::size_t(n); pe++) {
            std::printf("PE %zu: %" PRId64 " rows, %" PRId64 " of them of other PEs\n", pe, rows[2 * pe], rows[2 * pe + 1]);
            total += rows[2 * pe];
        }
        ok = found == alone && total == height;
        std::printf("time: %.4f s\n", seconds.count());
        std::printf("result: %" PRId64 " iterations\n", std::accumulate(found.begin(), found.end(), std::int64_t(0)));
        std::printf("check: equal to the image of one process: %s\n", ok ? "yes" : "FAILED");
    }
    rt.finalize();
    return ok ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    const bool steal = argc < 2 || std::strcmp(argv[argc - 1], "--no-steal") != 0;
    const int numbers = argc - 1 - (steal ? 0 : 1);
    const std::int64_t height = numbers > 0 ? std::atoll(argv[1]) : 300;
    if (numbers > 1 || height < 1 || height > 100000) {
        std::fprintf(stderr, "usage: %s [HEIGHT] [--no-steal]\nHEIGHT is 1 to 100000 rows (300)\n", argv[0]);
        return 2;
    }
    try {
        return run(height, steal);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "mandelbrot: %s\n", error.what());
        return 1;
    }
}
