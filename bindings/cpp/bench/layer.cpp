/* The cost of nvshmemrs.hpp over the C functions, and of its arrays over std::vector. From the root of the checkout:
 *
 *   c++ -std=c++17 -O3 -Iinclude -Ibindings/cpp/include bindings/cpp/bench/layer.cpp -o layer \
 *       -Ltarget/release -lnvshmemrs -Wl,-rpath,$PWD/target/release
 *   target/release/nvshmemrs-run -n 2 -- ./layer
 *
 * PE 0 measures, in turns, and prints the best time of each and their quotient: the best, since whatever else runs on the
 * machine only adds to a time. */

#include <nvshmemrs/nvshmemrs.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int rounds = 2000, calls = 500;

/// Nanoseconds for one of `count` calls.
template <typename Body> [[gnu::noinline]] double once(int count, Body body) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; i++) {
        body(i);
        asm volatile("" ::: "memory"); // marks the result as used
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    return took.count() / count;
}

template <typename One, typename Other>
void compare(const char *what, const char *base, const char *ours, int count, One one, Other other) {
    double best = 1e300, best_other = 1e300;
    for (int round = 0; round < rounds; round++) {
        best = std::min(best, once(count, one));
        best_other = std::min(best_other, once(count, other));
    }
    std::printf("%-28s %-8s %8.2f ns   %-12s %8.2f ns   quotient %.3f\n", what, base, best, ours, best_other,
                best_other / best);
}

void must(std::int32_t status) {
    if (status != NVSHMEMRS_SUCCESS) {
        std::fprintf(stderr, "layer: %s\n", nvshmemrs_last_error());
        std::exit(1);
    }
}

/// The same loops over whatever array it is.
template <typename A> [[gnu::noinline]] void axpy(A &y, const A &x, double a) {
    for (std::size_t i = 0; i < y.size(); i++)
        y[i] += a * x[i];
}

template <typename A> [[gnu::noinline]] void stencil(A &y, const A &x) {
    for (std::size_t i = 1; i + 1 < y.size(); i++)
        y[i] = (x[i - 1] + x[i + 1]) - 2.0 * x[i];
}

template <typename A> [[gnu::noinline]] void count_up(A &y) {
    for (auto &value : y)
        value += 1.5;
}

} // namespace

int main() {
    auto rt = nvshmemrs::runtime::init();
    nvshmemrs::symmetric_array<std::uint64_t> words(rt, 64);
    nvshmemrs::symmetric_array<double> x(rt, 4096), y(rt, 4096);
    rt.world().barrier();
    if (rt.my_pe() == 0) {
        const std::int32_t pe = rt.n_pes() - 1;
        const auto handle = rt.handle();
        std::uint64_t *const place = words.data();
        std::array<std::uint64_t, 1> source{7};
        std::array<std::uint64_t, 1> dest{};
        const auto target = words.at(pe);
        auto *const from = source.data(), *const to = dest.data();
        compare(
            "8-byte put", "C put", "put(range)", calls,
            [=](int) { must(nvshmemrs_put(handle, place, from, 8, pe)); },
            [=](int) { target.put(nvshmemrs::buffer(from, 1)); });
        compare(
            "8-byte put", "C put", "at(pe) in it", calls,
            [=](int) { must(nvshmemrs_put(handle, place, from, 8, pe)); },
            [&words, from, pe](int) { words.at(pe).put(nvshmemrs::buffer(from, 1)); });
        compare(
            "8-byte element put", "C p64", "[i] = value", calls,
            [=](int i) { must(nvshmemrs_p64(handle, place + i % 64, static_cast<std::uint64_t>(i), pe)); },
            [=](int i) { target[i % 64] = static_cast<std::uint64_t>(i); });
        compare(
            "8-byte get", "C get", "get(range)", calls,
            [=](int) { must(nvshmemrs_get(handle, to, place, 8, pe)); },
            [=](int) { target.get(nvshmemrs::buffer(to, 1)); });
        compare(
            "atomic fetch add", "C", "fetch_add", calls,
            [=](int) {
                std::uint64_t old;
                must(nvshmemrs_atomic_fetch_add64(handle, place, 1, pe, &old));
            },
            [=](int) { target.atomic(0).fetch_add(1); });

        std::vector<double> a(4096, 1.0), b(4096, 2.0);
        compare(
            "y[i] += a * x[i], 4096", "vector", "array", 10, [&](int) { axpy(a, b, 1e-9); },
            [&](int) { axpy(y, x, 1e-9); });
        compare(
            "stencil of 3, 4096", "vector", "array", 10, [&](int) { stencil(a, b); }, [&](int) { stencil(y, x); });
        compare(
            "for (auto &v : y), 4096", "vector", "array", 10, [&](int) { count_up(a); }, [&](int) { count_up(y); });
        std::printf("(%g %g %d)\n", a[7], y[7], static_cast<int>(dest[0]));
    }
    rt.world().barrier();
    rt.finalize();
}
