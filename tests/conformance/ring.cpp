// Conformance, scenario "ring": every PE talks to its neighbours with every operation, and looks at what was
// written and at what lies beside it. The same steps, in the same order, are in ring.c, ring.jl and ring.f90.

#include <nvshmemrs/ffi.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace ffi = nvshmemrs::ffi;
using ffi::Cmp, ffi::Dtype, ffi::Op, ffi::SignalOp, ffi::Status, ffi::Team::World;

namespace {

nvshmemrs_runtime_t rt = 0;
std::int32_t me = 0, n = 0;

void check(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "ring: PE %d of %d: failed: %s\n", me, n, what);
        std::exit(1);
    }
}

void must(Status status, const char *call) {
    if (status != Status::Success) {
        std::fprintf(stderr, "ring: PE %d of %d: %s: status %d: %s\n", me, n, call, static_cast<int>(status),
                     ffi::last_error());
        std::exit(1);
    }
}

#define CHECK(what) check((what), #what)
#define MUST(call) must((call), #call)

void barrier() { MUST(ffi::barrier(rt, World)); }

/// A symmetric allocation, zeroed; freed, by all PEs together, at the end of its scope.
template <typename T> class Symmetric {
  public:
    explicit Symmetric(std::size_t count) {
        void *memory = nullptr;
        MUST(ffi::calloc(rt, count, sizeof(T), &memory));
        CHECK(memory != nullptr);
        data_ = static_cast<T *>(memory);
    }
    Symmetric(const Symmetric &) = delete;
    Symmetric &operator=(const Symmetric &) = delete;
    ~Symmetric() {
        barrier();
        MUST(ffi::free(rt, data_));
    }
    T *at(std::size_t index) const { return data_ + index; }
    T &operator[](std::size_t index) const { return data_[index]; }

  private:
    T *data_ = nullptr;
};

void put_with_signal(std::int32_t left, std::int32_t right) {
    Symmetric<double> field(10);
    Symmetric<std::uint64_t> signals(2);
    std::array<double, 4> row{};
    for (int i = 0; i < 4; i++) {
        row[i] = me * 100.0 + i;
    }
    MUST(ffi::put_signal(rt, field.at(2), row.data(), sizeof row, signals.at(0), 1, SignalOp::Set, right));
    std::uint64_t seen = 0;
    MUST(ffi::signal_wait(rt, signals.at(0), Cmp::Ge, 1, &seen));
    CHECK(seen == 1);
    for (int i = 0; i < 4; i++) {
        CHECK(field[2 + i] == left * 100.0 + i);
    }
    CHECK(field[1] == 0.0 && field[6] == 0.0);
    CHECK(signals[1] == 0);
    barrier();

    MUST(ffi::signal_op(rt, signals.at(1), 5, SignalOp::Add, right));
    MUST(ffi::signal_wait(rt, signals.at(1), Cmp::Eq, 5, nullptr));
    std::uint64_t now = 0;
    MUST(ffi::signal_fetch(rt, signals.at(0), &now));
    CHECK(now == 1);
}

// Each width writes 8 bytes into its own 24 bytes, so that there is room to see a write that is too wide.
void single_elements(std::int32_t left, std::int32_t right) {
    Symmetric<unsigned char> scratch(4 * 24);
    const auto of8 = [](std::int32_t pe) { return static_cast<std::uint8_t>(0xa0 + pe); };
    const auto of16 = [](std::int32_t pe) { return static_cast<std::uint16_t>(0xb000 + pe); };
    const auto of32 = [](std::int32_t pe) { return 0xc0000000u + static_cast<std::uint32_t>(pe); };
    const auto of64 = [](std::int32_t pe) { return 0xd000000000000000u + static_cast<std::uint64_t>(pe); };
    MUST(ffi::p8(rt, scratch.at(8), of8(me), right));
    MUST(ffi::p16(rt, scratch.at(32), of16(me), right));
    MUST(ffi::p32(rt, scratch.at(56), of32(me), right));
    MUST(ffi::p64(rt, scratch.at(80), of64(me), right));
    barrier();

    std::uint8_t v8 = of8(left);
    std::uint16_t v16 = of16(left);
    std::uint32_t v32 = of32(left);
    std::uint64_t v64 = of64(left);
    std::array<unsigned char, 4 * 24> expected{};
    std::memcpy(expected.data() + 8, &v8, sizeof v8);
    std::memcpy(expected.data() + 32, &v16, sizeof v16);
    std::memcpy(expected.data() + 56, &v32, sizeof v32);
    std::memcpy(expected.data() + 80, &v64, sizeof v64);
    CHECK(std::memcmp(scratch.at(0), expected.data(), sizeof expected) == 0);

    MUST(ffi::g8(rt, scratch.at(8), right, &v8));
    MUST(ffi::g16(rt, scratch.at(32), right, &v16));
    MUST(ffi::g32(rt, scratch.at(56), right, &v32));
    MUST(ffi::g64(rt, scratch.at(80), right, &v64));
    CHECK(v8 == of8(me) && v16 == of16(me) && v32 == of32(me) && v64 == of64(me));
}

void atomics() {
    Symmetric<std::uint64_t> words(3);
    Symmetric<std::uint32_t> halves(3);
    const auto pes = static_cast<std::uint32_t>(n), mark = static_cast<std::uint32_t>(me) + 1;
    std::uint64_t old64 = 99;
    std::uint32_t old32 = 99;
    MUST(ffi::atomic_fetch_add64(rt, words.at(0), 1, 0, &old64));
    MUST(ffi::atomic_fetch_add32(rt, halves.at(0), 1, 0, &old32));
    CHECK(old64 < pes && old32 < pes);

    // One PE finds 0 and puts its own number; the others get that number and change nothing.
    MUST(ffi::atomic_compare_swap64(rt, words.at(1), 0, mark, 0, &old64));
    MUST(ffi::atomic_compare_swap32(rt, halves.at(1), 0, mark, 0, &old32));
    barrier();
    std::uint64_t winner64 = 0;
    std::uint32_t winner32 = 0;
    MUST(ffi::g64(rt, words.at(1), 0, &winner64));
    MUST(ffi::g32(rt, halves.at(1), 0, &winner32));
    CHECK(winner64 >= 1 && winner64 <= pes && winner32 >= 1 && winner32 <= pes);
    CHECK(old64 == (winner64 == mark ? 0 : winner64));
    CHECK(old32 == (winner32 == mark ? 0 : winner32));
    const std::uint32_t counted = me == 0 ? pes : 0;
    CHECK(words[0] == counted && halves[0] == counted);
    CHECK(words[2] == 0 && halves[2] == 0);
}

void get_and_nonblocking(std::int32_t left, std::int32_t right) {
    Symmetric<double> mine(8), received(8);
    for (int i = 0; i < 8; i++) {
        mine[i] = me * 10.0 + i;
    }
    barrier();
    std::array<double, 6> row{-1, -1, -1, -1, -1, -1};
    MUST(ffi::get(rt, &row[1], mine.at(2), 4 * sizeof(double), right));
    for (int i = 0; i < 4; i++) {
        CHECK(row[1 + i] == right * 10.0 + 2 + i);
    }
    CHECK(row[0] == -1 && row[5] == -1);

    MUST(ffi::put_nbi(rt, received.at(2), &row[1], 4 * sizeof(double), right));
    std::array<double, 3> other{-1, -1, -1};
    MUST(ffi::get_nbi(rt, &other[1], mine.at(7), sizeof(double), left));
    MUST(ffi::quiet(rt));
    CHECK(other[1] == left * 10.0 + 7 && other[0] == -1 && other[2] == -1);
    barrier();
    for (int i = 0; i < 8; i++) {
        // The left neighbour sent what it had got from this PE.
        CHECK(received[i] == (i >= 2 && i < 6 ? me * 10.0 + i : 0.0));
    }
    MUST(ffi::fence(rt));
}

// `dest` and `source` have six elements, of which the last must stay as it is.
void reduce_doubles(double *dest, double *source) {
    for (const Op op : {Op::Sum, Op::Min, Op::Max}) {
        for (int i = 0; i < 5; i++) {
            source[i] = (me + 1.0) * (i + 1);
        }
        source[5] = dest[5] = -7;
        MUST(ffi::reduce(rt, World, dest, source, 5, Dtype::Double, op));
        for (int i = 0; i < 5; i++) {
            const double sum = n * (n + 1) / 2.0 * (i + 1), least = i + 1.0, most = n * (i + 1.0);
            CHECK(dest[i] == (op == Op::Sum ? sum : op == Op::Min ? least : most));
        }
        CHECK(dest[5] == -7);
        barrier();
    }
}

void reduce_integers(std::int32_t *dest, std::int32_t *source) {
    for (const Op op : {Op::Sum, Op::Min, Op::Max}) {
        for (int i = 0; i < 5; i++) {
            source[i] = me - i;
        }
        source[5] = dest[5] = -7;
        MUST(ffi::reduce(rt, World, dest, source, 5, Dtype::Int32, op));
        for (int i = 0; i < 5; i++) {
            const std::int32_t sum = n * (n - 1) / 2 - n * i, least = -i, most = n - 1 - i;
            CHECK(dest[i] == (op == Op::Sum ? sum : op == Op::Min ? least : most));
        }
        CHECK(dest[5] == -7);
        barrier();
    }
}

void collectives() {
    Symmetric<double> doubles(12);
    reduce_doubles(doubles.at(0), doubles.at(6));
    reduce_doubles(doubles.at(0), doubles.at(0));
    Symmetric<std::int32_t> integers(12);
    reduce_integers(integers.at(0), integers.at(6));
    reduce_integers(integers.at(0), integers.at(0));

    Symmetric<std::int64_t> words(10);
    for (int i = 0; i < 5; i++) {
        words[5 + i] = me * 1000 + i;
    }
    barrier();
    MUST(ffi::broadcast(rt, World, words.at(0), words.at(5), 4 * sizeof(std::int64_t), n - 1));
    MUST(ffi::broadcast(rt, World, words.at(5), words.at(5), 4 * sizeof(std::int64_t), n - 1));
    for (int i = 0; i < 4; i++) {
        CHECK(words[i] == (n - 1) * 1000 + i && words[5 + i] == (n - 1) * 1000 + i);
    }
    CHECK(words[4] == 0 && words[9] == me * 1000 + 4);
    MUST(ffi::sync(rt, World));

    nvshmemrs_heap_stats_t stats{};
    MUST(ffi::heap_stats(rt, &stats));
    CHECK(stats.allocations == 3 && stats.used_bytes >= (96 + 48 + 80));
    CHECK(stats.used_bytes + stats.free_bytes == stats.heap_bytes);
}

void run() {
    ffi::check_library();
    nvshmemrs_init_attr_t attr{};
    MUST(ffi::init_attr_default(&attr));
    MUST(ffi::init(&attr, &rt));
    MUST(ffi::my_pe(rt, &me));
    MUST(ffi::n_pes(rt, &n));
    CHECK(me >= 0 && me < n);
    const std::int32_t left = (me + n - 1) % n, right = (me + 1) % n;

    put_with_signal(left, right);
    single_elements(left, right);
    atomics();
    get_and_nonblocking(left, right);
    collectives();

    nvshmemrs_heap_stats_t stats{};
    MUST(ffi::heap_stats(rt, &stats));
    CHECK(stats.allocations == 0 && stats.used_bytes == 0 && stats.free_bytes == stats.heap_bytes);
    MUST(ffi::finalize(rt));
    std::printf("ring ok PE %d of %d (C++)\n", me, n);
}

} // namespace

int main() {
    try {
        run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "ring: %s\n", error.what());
        return 1;
    }
}
