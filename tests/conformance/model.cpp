// Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
// made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails prints the
// value that it found. The same steps, in the same order, are in the programs of this name in the other languages.

#define PROGRAM "model"
#include "common.hpp"

#include <array>
#include <complex>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <vector>

using nvshmemrs::symmetric_array, nvshmemrs::symmetric_span, nvshmemrs::exclude, nvshmemrs::team;
using nvshmemrs::equal_to, nvshmemrs::not_equal_to, nvshmemrs::greater, nvshmemrs::greater_equal;
using nvshmemrs::bit_and, nvshmemrs::bit_or, nvshmemrs::bit_xor, nvshmemrs::maximum, nvshmemrs::minimum;
using nvshmemrs::multiplies, nvshmemrs::plus;
using nvshmemrs::ffi::Status;
namespace TeamConfigMask = nvshmemrs::ffi::TeamConfigMask;

namespace {

// `call` must fail with `wanted`.
template <typename Call> void refused(Status wanted, const char *what, Call &&call) {
    const auto number = [](Status status) { return std::to_string(static_cast<int>(status)); };
    try {
        call();
    } catch (const nvshmemrs::error &error) {
        if (error.status() != wanted)
            fail(what, "status " + number(error.status()) + ", not " + number(wanted) + ": " + error.what());
        return;
    }
    fail(what, "no error, where status " + number(wanted) + " must be");
}

// All numbers here are small enough to be exact as double.
void same(const char *what, int index, double found, double wanted) {
    if (found != wanted) {
        fail(what, "[" + std::to_string(index) + "] is " + std::to_string(found) + ", not " + std::to_string(wanted));
    }
}

template <typename T> void same_parts(const char *what, int index, T found, T wanted) {
    same(what, index, static_cast<double>(found), static_cast<double>(wanted));
}

template <typename T> void same_parts(const char *what, int index, std::complex<T> found, std::complex<T> wanted) {
    same(what, index, found.real(), wanted.real());
    same(what, index, found.imag(), wanted.imag());
}

#define REFUSED(wanted, call) refused(Status::wanted, #call, [&] { static_cast<void>(call); })
#define SAME(found, wanted) same(#found, 0, static_cast<double>(found), static_cast<double>(wanted))
#define ALL(what, i, count, found, wanted)                                            \
    for (int i = 0; i < (count); i++) {                                               \
        same(what, i, static_cast<double>(found), static_cast<double>(wanted));       \
    }

template <typename T> symmetric_array<T> allocate(std::size_t count) { return symmetric_array<T>(rt, count); }

template <typename Owner> void release(Owner &memory) {
    barrier();
    memory.free();
}

// The last PE, the one before the one before it, and so on to PE 0 or 1; no team on the others.
team split_back(std::int32_t &index) {
    nvshmemrs_team_config_t config = team::default_config();
    SAME(config.version, (1 << 16) + 64);
    config.num_contexts = 3;
    index = (n - 1 - me) % 2 == 0 ? (n - 1 - me) / 2 : -1;
    return rt.world().split_strided(n - 1, -2, (n + 1) / 2, config, TeamConfigMask::NumContexts);
}

void teams() {
    std::int32_t mine = 0;
    const team back = split_back(mine), world = rt.world();
    SAME(back.my_pe(), mine);
    SAME(back.n_pes(), mine < 0 ? -1 : (n + 1) / 2);
    SAME(world.translate(me, back), mine);
    if (mine < 0) {
        SAME(bool(back), false);
        REFUSED(BadHandle, (back.sync(), 0));
    } else {
        SAME(back.translate(0, world), n - 1);
        SAME(back.config(TeamConfigMask::NumContexts).num_contexts, 3);
    }

    const auto [row, column] = world.split_2d(2);
    SAME(row.my_pe(), me % 2);
    SAME(row.n_pes(), n - me / 2 * 2 < 2 ? 1 : 2);
    SAME(column.my_pe(), me / 2);
    SAME(column.n_pes(), (n - me % 2 + 1) / 2);

    // PE 0 broadcasts a number, and the PEs meet by it in another order.
    auto words = allocate<std::uint64_t>(2);
    if (me == 0) {
        words[0] = team::unique_id(rt);
    }
    const auto first = words.slice(0, 1);
    world.broadcast(first, first, 0);
    const team turned = team::init(rt, words[0], n, right);
    SAME(turned.my_pe(), right);
    SAME(turned.translate(0, world), n - 1);
    SAME(turned.config(TeamConfigMask::Uniqueid).uniqueid == words[0], true);

    // This PE's number in WORLD is its left neighbour's in the team.
    words[1] = 100 + static_cast<std::uint64_t>(me);
    barrier();
    // A PE of another host has no address here.
    const bool near = world.translate(left, rt.shared()) >= 0;
    const std::uint64_t *peer = turned.peer(words, me);
    SAME(peer != nullptr, near);
    SAME(near ? peer[1] : 100 + left, 100 + left);
    release(words);

    turned.destroy();
    REFUSED(BadHandle, turned.my_pe());
    REFUSED(BadHandle, (turned.barrier(), 0));
    row.destroy();
    column.destroy();
    back.destroy(); // does nothing where there is no team
    REFUSED(InvalidValue, (world.destroy(), 0));
}

void strided() {
    auto field = allocate<double>(16);
    std::array<double, 8> row;
    std::array<double, 4> got;
    for (int i = 0; i < 8; i++) {
        row[i] = me * 100 + i;
    }
    field.at(right).iput(row, 4, {1, 3}, {0, 2});
    barrier();
    ALL("iput", i, 16, field[i], i % 3 == 1 && i < 12 ? left * 100 + (i - 1) / 3 * 2 : 0);
    field.at(right).iget(got, 4, {0, 1}, {10, -3});
    ALL("iget", i, 4, got[i], me * 100 + (3 - i) * 2);
    release(field);

    auto blocks = allocate<std::int32_t>(24);
    std::int32_t source[12], back[8];
    for (int i = 0; i < 12; i++) {
        source[i] = me * 100 + i;
    }
    blocks.at(right).ibput(source, 4, 2, {2, 5}, {0, 3});
    barrier();
    ALL("ibput", i, 24, blocks[i], i >= 2 && i < 19 && (i - 2) % 5 < 2 ? left * 100 + (i - 2) / 5 * 3 + (i - 2) % 5 : 0);
    blocks.at(right).ibget(back, 4, 2, {0, 2}, {2, 5});
    ALL("ibget", i, 8, back[i], me * 100 + i / 2 * 3 + i % 2);
    release(blocks);
}

// The left neighbour alone writes to this PE's words, so every old value is known.
template <typename T> void integer_atomics() {
    auto words = allocate<T>(2);
    const auto word = words.at(right).atomic(0);
    T old = 99;
    word.store(5);
    SAME(word.load(), 5);
    SAME(word.exchange(7), 5);
    SAME(word.compare_exchange(7, 12), 7);
    SAME(word.compare_exchange(7, 1), 12);
    ++word;
    SAME(word.fetch_inc(), 13);
    word += 4;
    SAME(word.fetch_add(2), 18);
    word |= 3;
    SAME(word.fetch_or(8), 23);
    word &= 29;
    SAME(word.fetch_and(21), 29);
    word ^= 1;
    SAME(word.fetch_xor(255), 20);
    word.fetch_add_nbi(old, 1);
    rt.quiet();
    SAME(old, 235);
    barrier();
    SAME(words[0], 236);
    SAME(words[1], 0);
    release(words);
}

template <typename T> void real_atomics() {
    auto words = allocate<T>(2);
    const auto word = words.at(right).atomic(0);
    T old = 99;
    word.store(T(1.5));
    SAME(word.load(), 1.5);
    SAME(word.exchange(T(2.5)), 1.5);
    word += T(0.25);
    SAME(word.fetch_add(1), 2.75);
    word.fetch_add_nbi(old, T(0.25));
    rt.quiet();
    SAME(old, 3.75);
    barrier();
    SAME(words[0], 4);
    SAME(words[1], 0);
    release(words);
}

// The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
void waits() {
    using indices = std::vector<std::size_t>;
    using four = std::array<std::int32_t, 4>;
    const four values{1, 3, 5, 9}, others{0, 0, 5, 0}, two{1, 0, 5, 0}, third{7, 7, 5, 7}, odd{7, 0, 5, 0};
    const four not_first{1, 0, 0, 0}, not_odd{0, 1, 0, 1}, none{1, 1, 1, 1};
    auto words = allocate<std::int32_t>(4);
    SAME(words.test(0, equal_to, 1), false);
    barrier();
    words.at(right)[0] = 1;
    words.wait_until(0, equal_to, 1);
    SAME(words.test(0, equal_to, 1), true);
    SAME(words.test_any(greater_equal, 5).has_value(), false);
    barrier();

    words.at(right)[2] = 5;
    SAME(words.wait_until_any(greater_equal, 1, exclude(not_first)).value(), 2);
    SAME(words.test_any(greater_equal, 5).value(), 2);
    SAME((words.wait_until_some(greater_equal, 1) == indices{0, 2}), true);
    SAME((words.test_some(greater_equal, 1, exclude(not_first)) == indices{2}), true);
    SAME(words.test_all(greater_equal, 1), false);
    SAME(words.test_all(greater_equal, 1, exclude(not_odd)), true);
    SAME(words.wait_until_any(greater_equal, 1, exclude(none)).has_value(), false);
    SAME(words.wait_until_any(equal_to, third).value(), 2);
    SAME(words.test_any(equal_to, odd, exclude(not_odd)).value(), 2);
    barrier();

    words.at(right)[1] = 3;
    words.at(right)[3] = 9;
    words.wait_until_all(greater_equal, 1);
    words.wait_until_all(equal_to, values);
    SAME(words.test_all(equal_to, values), true);
    SAME(words.test_all(equal_to, others), false);
    SAME((words.wait_until_some(equal_to, two) == indices{0, 2}), true);
    SAME((words.test_some(equal_to, others) == indices{2}), true);
    release(words);

    auto real = allocate<double>(1);
    auto word = allocate<std::uint64_t>(1);
    real.at(right).put(std::array{2.5});
    real.wait_until(0, greater, 0.5);
    SAME(real[0], 2.5);
    word.at(right).atomic(0) += 3;
    word.wait_until(0, not_equal_to, 0);
    SAME(word[0], 3);
    release(word);
    release(real);
}

// Member `m` of `k`. The area has room for 64 elements on each side; elements without a writer stay -7.
void moves(const team &of, int m, int k, const symmetric_span<std::int64_t> &dest, const symmetric_span<std::int64_t> &source) {
#define FILL(i, value)                                                                \
    of.sync();                                                                        \
    for (int i = 0; i < 64; i++) {                                                    \
        dest[i] = -7;                                                                 \
        source[i] = (value);                                                          \
    }                                                                                 \
    of.sync()
    FILL(i, m * 100 + i);
    of.broadcast(dest, source.slice(0, 3), k - 1);
    ALL("broadcast", i, 4, dest[i], i < 3 ? (k - 1) * 100 + i : -7);

    FILL(i, m * 100 + i);
    of.fcollect(dest, source.slice(0, 3));
    ALL("fcollect", i, k * 3 + 1, dest[i], i < k * 3 ? i / 3 * 100 + i % 3 : -7);
    FILL(i, m * 100 + i);
    of.fcollect(source, source.slice(m * 3, 3));
    ALL("fcollect in place", i, k * 3, source[i], i / 3 * 100 + i);

    FILL(i, m * 100 + i); // member m gives m + 1 elements
    of.collect(dest, source.slice(0, m + 1));
    for (int pe = 0, at = 0; pe < k; at += ++pe) {
        ALL("collect", i, pe + 1, dest[at + i], pe * 100 + i);
    }
    SAME(dest[k * (k + 1) / 2], -7);

    FILL(i, m * 100 + i);
    of.alltoall(dest, source.slice(0, 2 * k));
    ALL("alltoall", i, k * 2 + 1, dest[i], i < k * 2 ? i / 2 * 100 + m * 2 + i % 2 : -7);
    FILL(i, m * 100 + i);
    of.alltoall(source, source.slice(0, 2 * k));
    ALL("alltoall in place", i, k * 2, source[i], i / 2 * 100 + m * 2 + i % 2);
    FILL(i, m * 100 + i);
    of.alltoalls(dest, source, 2, 3, 2);
    ALL("alltoalls", i, k * 4, dest[i], i % 2 == 0 ? i / 4 * 100 + (m * 2 + i / 2 % 2) * 3 : -7);

    const symmetric_span<std::int64_t> none;
    for (int root = 0; root < k; root++) { // the buffer of a PE that is not the root is not used
        FILL(i, m * 100 + i);
        of.gather(m == root ? dest : none, source.slice(0, 2), root);
        ALL("gather", i, k * 2 + 1, dest[i], m == root && i < k * 2 ? i / 2 * 100 + i % 2 : -7);
        FILL(i, m * 100 + i);
        of.gather(source, source.slice(root * 2, 2), root);
        ALL("gather in place", i, k * 2, source[i], m == root ? i / 2 * 100 + root * 2 + i % 2 : m * 100 + i);
        FILL(i, m * 100 + i);
        of.scatter(dest.slice(0, 2), m == root ? source : none, root);
        ALL("scatter", i, 3, dest[i], i < 2 ? root * 100 + m * 2 + i : -7);
        FILL(i, m * 100 + i);
        of.scatter(source.slice(root * 2, 2), source, root);
        ALL("scatter in place", i, k * 2, source[i], i / 2 == root ? root * 100 + m * 2 + i % 2 : m * 100 + i);
    }
#undef FILL
}

void scans(const team &of, int m, int k, const symmetric_span<std::int32_t> &dest, const symmetric_span<std::int32_t> &source) {
    const int sum = k * (k + 1) / 2;
    const std::int32_t before = m * (m + 1) / 2, to_me = (m + 1) * (m + 2) / 2;
    const auto two = source.slice(0, 2), one = source.slice(0, 1);
#define FILL()                                                                        \
    of.sync();                                                                        \
    for (int i = 0; i < 16; i++) {                                                    \
        dest[i] = -7;                                                                 \
        source[i] = (m + 1) * (i + 1);                                                \
    }                                                                                 \
    of.sync()
    FILL();
    of.reducescatter(plus, dest.slice(0, 2), source);
    ALL("reducescatter", i, 3, dest[i], i < 2 ? sum * (m * 2 + i + 1) : -7);
    FILL();
    of.reducescatter(plus, source.slice(m * 2, 2), source);
    ALL("reducescatter in place", i, 2, source[m * 2 + i], sum * (m * 2 + i + 1));
    FILL();
    of.inscan(plus, dest, two);
    ALL("inscan", i, 3, dest[i], i < 2 ? to_me * (i + 1) : -7);
    FILL();
    of.inscan(plus, two, two);
    ALL("inscan in place", i, 3, source[i], i < 2 ? to_me * (i + 1) : (m + 1) * 3);
    FILL();
    of.exscan(plus, dest, two);
    ALL("exscan", i, 3, dest[i], i < 2 ? before * (i + 1) : -7);
    FILL();
    of.exscan(minimum, one, one);
    SAME(source[0], m == 0 ? std::numeric_limits<std::int32_t>::max() : 1);
#undef FILL
}

// Two elements of type T; the third stays as it is.
template <typename Op, typename T> void reduce(const team &of, void *memory, const char *what, Op op, T mine, T wanted) {
    const symmetric_span<T> source(rt.handle(), static_cast<T *>(memory), 2), dest(rt.handle(), source.data() + 4, 3);
    const T guard = static_cast<T>(77), result[3] = {wanted, wanted, guard};
    source[0] = source[1] = mine;
    dest[0] = dest[1] = dest[2] = guard;
    of.sync();
    of.reduce(op, dest, source);
    for (int i = 0; i < 3; i++) {
        same_parts(what, i, dest[i], result[i]);
    }
    of.reduce(op, source);
    same_parts(what, 1, source[1], wanted);
}

void reductions(const team &of, int m, int k, void *memory) {
    const int factorial[5] = {1, 1, 2, 6, 24};
    const std::complex<float> i(0, 1), powers[5] = {1, i, -1, -i, 1};
    const std::complex<double> mine(m, 1), sum(k * (k - 1) / 2, k);
    const auto u8 = [](int value) { return static_cast<std::uint8_t>(value); };
    const auto i16 = [](int value) { return static_cast<std::int16_t>(value); };
    const auto u64 = [](int value) { return static_cast<std::uint64_t>(value); };
    const auto i64 = [](int value) { return static_cast<std::int64_t>(value); };
    reduce(of, memory, "uint8 xor", bit_xor, u8(1 << m | 1 << 7), u8((1 << k) - 1 + (k % 2 << 7)));
    reduce(of, memory, "int16 min", minimum, i16(-m), i16(1 - k));
    reduce(of, memory, "uint32 and", bit_and, ~(1u << m), ~((1u << k) - 1));
    reduce(of, memory, "uint64 or", bit_or, u64(1) << (40 + m), u64((1 << k) - 1) << 40);
    reduce(of, memory, "int64 prod", multiplies, i64(-(m + 1)), i64((k % 2 ? -1 : 1) * factorial[k]));
    reduce(of, memory, "float max", maximum, m + 0.5f, k - 0.5f);
    reduce(of, memory, "double sum", plus, (m + 1) * 0.25, k * (k + 1) / 2 * 0.25);
    reduce(of, memory, "complexf prod", multiplies, i, powers[k]);
    reduce(of, memory, "complexd sum", plus, mine, sum);
}

void collectives() {
    auto memory = allocate<std::int64_t>(128);
    const auto low = memory.slice(0, 64), high = memory.slice(64, 64);
    auto *integers = reinterpret_cast<std::int32_t *>(memory.data());
    const symmetric_span<std::int32_t> some(rt.handle(), integers, 16), more(rt.handle(), integers + 16, 16);
    std::int32_t mine = 0;
    const team back = split_back(mine);
    moves(rt.world(), me, n, low, high);
    scans(rt.world(), me, n, some, more);
    reductions(rt.world(), me, n, memory.data());
    barrier();
    if (mine >= 0) {
        moves(back, mine, (n + 1) / 2, low, high);
        scans(back, mine, (n + 1) / 2, some, more);
        reductions(back, mine, (n + 1) / 2, memory.data());
        back.barrier();
    }
    back.destroy();
    release(memory);
}

void streams() {
    auto data = allocate<double>(4);
    auto words = allocate<std::uint64_t>(2);
    const std::array<double, 3> row{me * 10.0, me * 10.0 + 1, me * 10.0 + 2};
    nvshmemrs::stream first(rt), second(rt);
    nvshmemrs::event start(rt), end(rt);
    std::int32_t calls = 0;
    const auto signal = signal_at(words, 0);
    start.record(first);
    data.on(first).at(right).put_signal(row, signal, nvshmemrs::signal_set, 1);
    signal.on(first).wait_until(equal_to, 1);
    end.record(first);
    second.wait(end);
    second.call([&calls] { calls++; });
    second.synchronize();
    SAME(calls, 1);
    ALL("put_signal on a stream", i, 4, data[i], i < 3 ? left * 10 + i : 0);
    end.synchronize();
    SAME(end.query(), true);
    const double milliseconds = end.milliseconds_since(start);
    SAME(milliseconds >= 0 && milliseconds < 60e3, true);

    // An error is kept until the stream is synchronized, once; the operations queued behind it run.
    data.on(first).at(n)[0] = row[0];
    SAME(words.on(first).at(right).atomic(1).fetch_add(4), 0);
    REFUSED(PeRange, (first.synchronize(), 0));
    first.synchronize();
    rt.world().on(first).barrier();
    first.synchronize();
    SAME(words[1], 4);
    SAME(first.query(), true);
    second.close();
    first.close();
    release(words);
    release(data);
}

void memory() {
    auto grown = allocate<std::int64_t>(4);
    for (int i = 0; i < 4; i++) {
        grown[i] = me * 10 + i;
    }
    grown.resize(500);
    ALL("resize", i, 4, grown[i], me * 10 + i);
    grown.at(right)[499] = 77 + me;
    barrier();
    SAME(grown[499], 77 + left);
    grown.resize(0);
    SAME(grown.data() == nullptr, true);

    // The caller's own memory becomes symmetric where it is, and private again.
    const std::size_t bytes = 65536;
    void *found = nullptr;
    SAME(posix_memalign(&found, bytes, bytes), 0);
    auto *buffer = static_cast<std::int64_t *>(found);
    std::memset(buffer, 0, bytes);
    buffer[1] = me * 10 + 1;
    const auto symmetric = nvshmemrs::register_buffer(rt, buffer, bytes / sizeof *buffer);
    SAME(symmetric[1], me * 10 + 1);
    const symmetric_span<std::int64_t> itself(rt.handle(), buffer, bytes / sizeof *buffer);
    symmetric.at(right)[5] = 50 + me;
    itself.at(right)[6] = 60 + me;
    barrier();
    SAME(buffer[5], 50 + left);
    SAME(symmetric[6], 60 + left);
    barrier();
    nvshmemrs::unregister_buffer(symmetric);
    SAME(buffer[1], me * 10 + 1);
    SAME(buffer[6], 60 + left);
    REFUSED(NotSymmetric, (itself.at(right)[0] = 1));
    std::free(buffer);
}

void atomics() {
    integer_atomics<std::uint32_t>();
    integer_atomics<std::uint64_t>();
    real_atomics<float>();
    real_atomics<double>();
}

void run() {
    init();
    SAME(nvshmemrs::ffi::thread_support() == nvshmemrs::ffi::Thread::Multiple, true);

    ran("teams", teams);
    ran("strided", strided);
    ran("atomics", atomics);
    ran("waits", waits);
    ran("collectives", collectives);
    ran("streams", streams);
    ran("memory", memory);

    SAME(rt.heap_stats().allocations, 0);
    finalize();
}

} // namespace

int main() {
    try {
        run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "model: %s\n", error.what());
        return 1;
    }
}
