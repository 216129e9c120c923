// Conformance, scenario "model": teams, strided copies, atomics, waits and tests, collectives on the world and on a team
// made by a split, streams and events, memory that changes its size or comes from elsewhere. A check that fails says what
// it found. The same steps, in the same order, are in the programs of this name in the other languages.

#include <nvshmemrs/ffi.hpp>

#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <string>

namespace ffi = nvshmemrs::ffi;
namespace TeamConfigMask = ffi::TeamConfigMask;
using ffi::Cmp, ffi::Dtype, ffi::Op, ffi::SignalOp, ffi::Status;

namespace {

constexpr nvshmemrs_team_t WORLD = ffi::Team::World;

nvshmemrs_runtime_t rt = 0;
std::int32_t me = 0, n = 0, left = 0, right = 0;

void fail(const std::string &what, const std::string &text) {
    std::fprintf(stderr, "model: PE %d of %d: %s: %s\n", me, n, what.c_str(), text.c_str());
    std::exit(1);
}

void expect(Status status, Status wanted, const char *call) {
    const auto number = [](Status status) { return std::to_string(static_cast<int>(status)); };
    if (status != wanted) {
        fail(call, "status " + number(status) + ", not " + number(wanted) + ": " + ffi::last_error());
    }
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

#define MUST(call) expect((call), Status::Success, #call)
#define REFUSED(wanted, call) expect((call), Status::wanted, #call)
#define SAME(found, wanted) same(#found, 0, static_cast<double>(found), static_cast<double>(wanted))
#define ALL(what, i, count, found, wanted)                                            \
    for (int i = 0; i < (count); i++) {                                               \
        same(what, i, static_cast<double>(found), static_cast<double>(wanted));       \
    }

void barrier() { MUST(ffi::barrier(rt, WORLD)); }

template <typename T> T *allocate(std::size_t count) {
    void *memory = nullptr;
    MUST(ffi::calloc(rt, count, sizeof(T), &memory));
    return static_cast<T *>(memory);
}

void release(void *memory) {
    barrier();
    MUST(ffi::free(rt, memory));
}

// The last PE, the one before the one before it, and so on to PE 0 or 1; TEAM_INVALID on the others.
nvshmemrs_team_t split_back(std::int32_t &index) {
    nvshmemrs_team_config_t config{};
    MUST(ffi::team_config_default(&config));
    SAME(config.version, (1 << 16) + 64);
    config.num_contexts = 3;
    nvshmemrs_team_t team = 0;
    MUST(ffi::team_split_strided(rt, WORLD, n - 1, -2, (n + 1) / 2, &config, TeamConfigMask::NumContexts, &team));
    index = (n - 1 - me) % 2 == 0 ? (n - 1 - me) / 2 : -1;
    return team;
}

void teams() {
    std::int32_t mine = 0, found = 0, size = 0;
    nvshmemrs_team_config_t config{};
    const nvshmemrs_team_t back = split_back(mine);
    MUST(ffi::team_my_pe(rt, back, &found));
    MUST(ffi::team_n_pes(rt, back, &size));
    SAME(found, mine);
    SAME(size, mine < 0 ? -1 : (n + 1) / 2);
    MUST(ffi::team_translate_pe(rt, WORLD, me, back, &found));
    SAME(found, mine);
    if (mine < 0) {
        SAME(back == ffi::Team::Invalid, true);
        REFUSED(BadHandle, ffi::sync(rt, back));
    } else {
        MUST(ffi::team_translate_pe(rt, back, 0, WORLD, &found));
        SAME(found, n - 1);
        MUST(ffi::team_get_config(rt, back, TeamConfigMask::NumContexts, &config));
        SAME(config.num_contexts, 3);
    }

    nvshmemrs_team_t row = 0, column = 0;
    MUST(ffi::team_split_2d(rt, WORLD, 2, nullptr, 0, nullptr, 0, &row, &column));
    MUST(ffi::team_my_pe(rt, row, &found));
    SAME(found, me % 2);
    MUST(ffi::team_n_pes(rt, row, &found));
    SAME(found, n - me / 2 * 2 < 2 ? 1 : 2);
    MUST(ffi::team_my_pe(rt, column, &found));
    SAME(found, me / 2);
    MUST(ffi::team_n_pes(rt, column, &found));
    SAME(found, (n - me % 2 + 1) / 2);

    // PE 0 hands a number out, and the PEs meet by it in another order.
    std::uint64_t *words = allocate<std::uint64_t>(2);
    if (me == 0) {
        MUST(ffi::team_unique_id(rt, words));
    }
    MUST(ffi::broadcast(rt, WORLD, words, words, sizeof *words, 0));
    MUST(ffi::team_config_default(&config));
    config.uniqueid = words[0];
    nvshmemrs_team_t turned = 0;
    MUST(ffi::team_init(rt, &config, TeamConfigMask::Uniqueid, n, right, &turned));
    MUST(ffi::team_my_pe(rt, turned, &found));
    SAME(found, right);
    MUST(ffi::team_translate_pe(rt, turned, 0, WORLD, &found));
    SAME(found, n - 1);
    MUST(ffi::team_get_config(rt, turned, TeamConfigMask::Uniqueid, &config));
    SAME(config.uniqueid == words[0], true);

    // This PE's number in WORLD is its left neighbour's in the team.
    words[1] = 100 + static_cast<std::uint64_t>(me);
    barrier();
    void *peer = nullptr;
    MUST(ffi::team_ptr(rt, turned, words, me, &peer));
    SAME(static_cast<std::uint64_t *>(peer)[1], 100 + left);
    release(words);

    MUST(ffi::team_destroy(rt, turned));
    REFUSED(BadHandle, ffi::team_my_pe(rt, turned, &found));
    REFUSED(BadHandle, ffi::barrier(rt, turned));
    MUST(ffi::team_destroy(rt, row));
    MUST(ffi::team_destroy(rt, column));
    MUST(ffi::team_destroy(rt, back)); // does nothing where it is TEAM_INVALID
    REFUSED(InvalidValue, ffi::team_destroy(rt, WORLD));
}

void strided() {
    double *field = allocate<double>(16);
    double row[8], got[4];
    for (int i = 0; i < 8; i++) {
        row[i] = me * 100 + i;
    }
    MUST(ffi::iput(rt, field + 1, row, 3, 2, sizeof *row, 4, right));
    barrier();
    ALL("iput", i, 16, field[i], i % 3 == 1 && i < 12 ? left * 100 + (i - 1) / 3 * 2 : 0);
    MUST(ffi::iget(rt, got, field + 10, 1, -3, sizeof *got, 4, right));
    ALL("iget", i, 4, got[i], me * 100 + (3 - i) * 2);
    release(field);

    std::int32_t *blocks = allocate<std::int32_t>(24);
    std::int32_t source[12], back[8];
    for (int i = 0; i < 12; i++) {
        source[i] = me * 100 + i;
    }
    MUST(ffi::ibput(rt, blocks + 2, source, 5, 3, sizeof *source, 2, 4, right));
    barrier();
    ALL("ibput", i, 24, blocks[i], i >= 2 && i < 19 && (i - 2) % 5 < 2 ? left * 100 + (i - 2) / 5 * 3 + (i - 2) % 5 : 0);
    MUST(ffi::ibget(rt, back, blocks + 2, 2, 5, sizeof *back, 2, 4, right));
    ALL("ibget", i, 8, back[i], me * 100 + i / 2 * 3 + i % 2);
    release(blocks);

    double *arrived = allocate<double>(4);
    std::uint64_t *signal = allocate<std::uint64_t>(1);
    MUST(ffi::put_signal_nbi(rt, arrived, row, 3 * sizeof *row, signal, 7, SignalOp::Add, right));
    MUST(ffi::signal_wait(rt, signal, Cmp::Eq, 7, nullptr));
    ALL("put_signal_nbi", i, 4, arrived[i], i < 3 ? left * 100 + i : 0);
    MUST(ffi::quiet(rt));
    release(signal);
    release(arrived);
}

// The left neighbour alone writes to this PE's words, so every old value is known.
#define INTEGER_ATOMICS(W)                                                            \
    void atomics##W() {                                                               \
        std::uint##W##_t *word = allocate<std::uint##W##_t>(2), old = 99;             \
        MUST(ffi::atomic_set##W(rt, word, 5, right));                                 \
        MUST(ffi::atomic_fetch##W(rt, word, right, &old));                            \
        SAME(old, 5);                                                                 \
        MUST(ffi::atomic_swap##W(rt, word, 7, right, &old));                          \
        SAME(old, 5);                                                                 \
        MUST(ffi::atomic_compare_swap##W(rt, word, 7, 12, right, &old));              \
        SAME(old, 7);                                                                 \
        MUST(ffi::atomic_compare_swap##W(rt, word, 7, 1, right, &old));               \
        SAME(old, 12);                                                                \
        MUST(ffi::atomic_inc##W(rt, word, right));                                    \
        MUST(ffi::atomic_fetch_inc##W(rt, word, right, &old));                        \
        SAME(old, 13);                                                                \
        MUST(ffi::atomic_add##W(rt, word, 4, right));                                 \
        MUST(ffi::atomic_fetch_add##W(rt, word, 2, right, &old));                     \
        SAME(old, 18);                                                                \
        MUST(ffi::atomic_or##W(rt, word, 3, right));                                  \
        MUST(ffi::atomic_fetch_or##W(rt, word, 8, right, &old));                      \
        SAME(old, 23);                                                                \
        MUST(ffi::atomic_and##W(rt, word, 29, right));                                \
        MUST(ffi::atomic_fetch_and##W(rt, word, 21, right, &old));                    \
        SAME(old, 29);                                                                \
        MUST(ffi::atomic_xor##W(rt, word, 1, right));                                 \
        MUST(ffi::atomic_fetch_xor##W(rt, word, 255, right, &old));                   \
        SAME(old, 20);                                                                \
        MUST(ffi::atomic_fetch_add##W##_nbi(rt, &old, word, 1, right));               \
        MUST(ffi::quiet(rt));                                                         \
        SAME(old, 235);                                                               \
        barrier();                                                                    \
        SAME(word[0], 236);                                                           \
        SAME(word[1], 0);                                                             \
        release(word);                                                                \
    }
INTEGER_ATOMICS(32)
INTEGER_ATOMICS(64)

#define REAL_ATOMICS(T)                                                               \
    void atomics_##T() {                                                              \
        T *word = allocate<T>(2), old = 99;                                           \
        MUST(ffi::atomic_set_##T(rt, word, T(1.5), right));                           \
        MUST(ffi::atomic_fetch_##T(rt, word, right, &old));                           \
        SAME(old, 1.5);                                                               \
        MUST(ffi::atomic_swap_##T(rt, word, T(2.5), right, &old));                    \
        SAME(old, 1.5);                                                               \
        MUST(ffi::atomic_add_##T(rt, word, T(0.25), right));                          \
        MUST(ffi::atomic_fetch_add_##T(rt, word, 1, right, &old));                    \
        SAME(old, 2.75);                                                              \
        MUST(ffi::atomic_fetch_add_##T##_nbi(rt, &old, word, T(0.25), right));        \
        MUST(ffi::quiet(rt));                                                         \
        SAME(old, 3.75);                                                              \
        barrier();                                                                    \
        SAME(word[0], 4);                                                             \
        SAME(word[1], 0);                                                             \
        release(word);                                                                \
    }
REAL_ATOMICS(float)
REAL_ATOMICS(double)

// The left neighbour writes 1, 3, 5, 9 into this PE's four words, in an order in which every answer is known.
void waits() {
    const Dtype I32 = Dtype::Int32;
    const Cmp GE = Cmp::Ge, EQ = Cmp::Eq;
    const std::int32_t one = 1, five = 5, values[4] = {1, 3, 5, 9}, others[4] = {0, 0, 5, 0};
    const std::int32_t two[4] = {1, 0, 5, 0}, third[4] = {7, 7, 5, 7}, odd[4] = {7, 0, 5, 0};
    const std::int32_t not_first[4] = {1, 0, 0, 0}, not_odd[4] = {0, 1, 0, 1}, none[4] = {1, 1, 1, 1};
    std::int32_t *words = allocate<std::int32_t>(4), result = -1;
    std::size_t at = 99, found = 99, which[4] = {99, 99, 99, 99};
    MUST(ffi::test(rt, words, EQ, &one, I32, &result));
    SAME(result, 0);
    barrier();
    MUST(ffi::p32(rt, words, 1, right));
    MUST(ffi::wait_until(rt, words, EQ, &one, I32));
    MUST(ffi::test(rt, words, EQ, &one, I32, &result));
    SAME(result, 1);
    MUST(ffi::test_any(rt, words, 4, nullptr, GE, &five, I32, &at));
    SAME(at == SIZE_MAX, true);
    barrier();

    MUST(ffi::p32(rt, words + 2, 5, right));
    MUST(ffi::wait_until_any(rt, words, 4, not_first, GE, &one, I32, &at));
    SAME(at, 2);
    MUST(ffi::test_any(rt, words, 4, nullptr, GE, &five, I32, &at));
    SAME(at, 2);
    MUST(ffi::wait_until_some(rt, words, 4, which, nullptr, GE, &one, I32, &found));
    SAME(found, 2);
    SAME(which[0], 0);
    SAME(which[1], 2);
    MUST(ffi::test_some(rt, words, 4, which, not_first, GE, &one, I32, &found));
    SAME(found, 1);
    SAME(which[0], 2);
    MUST(ffi::test_all(rt, words, 4, nullptr, GE, &one, I32, &result));
    SAME(result, 0);
    MUST(ffi::test_all(rt, words, 4, not_odd, GE, &one, I32, &result));
    SAME(result, 1);
    MUST(ffi::wait_until_any(rt, words, 4, none, GE, &one, I32, &at));
    SAME(at == SIZE_MAX, true);
    MUST(ffi::wait_until_any_vector(rt, words, 4, nullptr, EQ, third, I32, &at));
    SAME(at, 2);
    MUST(ffi::test_any_vector(rt, words, 4, not_odd, EQ, odd, I32, &at));
    SAME(at, 2);
    barrier();

    MUST(ffi::p32(rt, words + 1, 3, right));
    MUST(ffi::p32(rt, words + 3, 9, right));
    MUST(ffi::wait_until_all(rt, words, 4, nullptr, GE, &one, I32));
    MUST(ffi::wait_until_all_vector(rt, words, 4, nullptr, EQ, values, I32));
    MUST(ffi::test_all_vector(rt, words, 4, nullptr, EQ, values, I32, &result));
    SAME(result, 1);
    MUST(ffi::test_all_vector(rt, words, 4, nullptr, EQ, others, I32, &result));
    SAME(result, 0);
    MUST(ffi::wait_until_some_vector(rt, words, 4, which, nullptr, EQ, two, I32, &found));
    SAME(found, 2);
    SAME(which[1], 2);
    MUST(ffi::test_some_vector(rt, words, 4, which, nullptr, EQ, others, I32, &found));
    SAME(found, 1);
    SAME(which[0], 2);
    release(words);

    double *real = allocate<double>(1);
    std::uint64_t *word = allocate<std::uint64_t>(1);
    const double half = 0.5, sent = 2.5;
    const std::uint64_t zero = 0;
    MUST(ffi::put(rt, real, &sent, sizeof *real, right));
    MUST(ffi::wait_until(rt, real, Cmp::Gt, &half, Dtype::Double));
    SAME(*real, 2.5);
    MUST(ffi::atomic_add64(rt, word, 3, right));
    MUST(ffi::wait_until(rt, word, Cmp::Ne, &zero, Dtype::Uint64));
    SAME(*word, 3);
    release(word);
    release(real);
}

// Member `m` of `k`. The area has room for 64 elements on each side; what no member writes to stays -7.
void moves(nvshmemrs_team_t team, int m, int k, std::int64_t *dest, std::int64_t *source) {
    const std::size_t bytes = sizeof *dest;
#define FILL(i, value)                                                                \
    MUST(ffi::sync(rt, team));                                                        \
    for (int i = 0; i < 64; i++) {                                                    \
        dest[i] = -7;                                                                 \
        source[i] = (value);                                                          \
    }                                                                                 \
    MUST(ffi::sync(rt, team))
    FILL(i, m * 100 + i);
    MUST(ffi::broadcast(rt, team, dest, source, 3 * bytes, k - 1));
    ALL("broadcast", i, 4, dest[i], i < 3 ? (k - 1) * 100 + i : -7);

    FILL(i, m * 100 + i);
    MUST(ffi::fcollect(rt, team, dest, source, 3 * bytes));
    ALL("fcollect", i, k * 3 + 1, dest[i], i < k * 3 ? i / 3 * 100 + i % 3 : -7);
    FILL(i, m * 100 + i);
    MUST(ffi::fcollect(rt, team, source, source + m * 3, 3 * bytes));
    ALL("fcollect in place", i, k * 3, source[i], i / 3 * 100 + i);

    FILL(i, m * 100 + i); // member m gives m + 1 elements
    MUST(ffi::collect(rt, team, dest, source, static_cast<std::size_t>(m + 1) * bytes));
    for (int pe = 0, at = 0; pe < k; at += ++pe) {
        ALL("collect", i, pe + 1, dest[at + i], pe * 100 + i);
    }
    SAME(dest[k * (k + 1) / 2], -7);

    FILL(i, m * 100 + i);
    MUST(ffi::alltoall(rt, team, dest, source, 2 * bytes));
    ALL("alltoall", i, k * 2 + 1, dest[i], i < k * 2 ? i / 2 * 100 + m * 2 + i % 2 : -7);
    FILL(i, m * 100 + i);
    MUST(ffi::alltoall(rt, team, source, source, 2 * bytes));
    ALL("alltoall in place", i, k * 2, source[i], i / 2 * 100 + m * 2 + i % 2);
    FILL(i, m * 100 + i);
    MUST(ffi::alltoalls(rt, team, dest, source, 2, 3, bytes, 2));
    ALL("alltoalls", i, k * 4, dest[i], i % 2 == 0 ? i / 4 * 100 + (m * 2 + i / 2 % 2) * 3 : -7);
#undef FILL
}

void scans(nvshmemrs_team_t team, int m, int k, std::int32_t *dest, std::int32_t *source) {
    const Dtype I32 = Dtype::Int32;
    const Op SUM = Op::Sum;
    const int sum = k * (k + 1) / 2;
    const std::int32_t before = m * (m + 1) / 2, to_me = (m + 1) * (m + 2) / 2;
#define FILL()                                                                        \
    MUST(ffi::sync(rt, team));                                                        \
    for (int i = 0; i < 16; i++) {                                                    \
        dest[i] = -7;                                                                 \
        source[i] = (m + 1) * (i + 1);                                                \
    }                                                                                 \
    MUST(ffi::sync(rt, team))
    FILL();
    MUST(ffi::reducescatter(rt, team, dest, source, 2, I32, SUM));
    ALL("reducescatter", i, 3, dest[i], i < 2 ? sum * (m * 2 + i + 1) : -7);
    FILL();
    MUST(ffi::reducescatter(rt, team, source + m * 2, source, 2, I32, SUM));
    ALL("reducescatter in place", i, 2, source[m * 2 + i], sum * (m * 2 + i + 1));
    FILL();
    MUST(ffi::inscan(rt, team, dest, source, 2, I32, SUM));
    ALL("inscan", i, 3, dest[i], i < 2 ? to_me * (i + 1) : -7);
    FILL();
    MUST(ffi::inscan(rt, team, source, source, 2, I32, SUM));
    ALL("inscan in place", i, 3, source[i], i < 2 ? to_me * (i + 1) : (m + 1) * 3);
    FILL();
    MUST(ffi::exscan(rt, team, dest, source, 2, I32, SUM));
    ALL("exscan", i, 3, dest[i], i < 2 ? before * (i + 1) : -7);
    FILL();
    MUST(ffi::exscan(rt, team, source, source, 1, I32, Op::Min));
    SAME(source[0], m == 0 ? std::numeric_limits<std::int32_t>::max() : 1);
#undef FILL
}

// Two elements of type T; the third stays as it is.
template <typename T>
void reduce(nvshmemrs_team_t team, void *memory, const char *what, Dtype dtype, Op op, T mine, T wanted) {
    T *source = static_cast<T *>(memory), *dest = source + 4;
    const T guard = static_cast<T>(77), result[3] = {wanted, wanted, guard};
    source[0] = source[1] = mine;
    dest[0] = dest[1] = dest[2] = guard;
    MUST(ffi::sync(rt, team));
    MUST(ffi::reduce(rt, team, dest, source, 2, dtype, op));
    for (int i = 0; i < 3; i++) {
        same_parts(what, i, dest[i], result[i]);
    }
    MUST(ffi::reduce(rt, team, source, source, 2, dtype, op));
    same_parts(what, 1, source[1], wanted);
}

void reductions(nvshmemrs_team_t team, int m, int k, void *memory) {
    const int factorial[5] = {1, 1, 2, 6, 24};
    const std::complex<float> i(0, 1), powers[5] = {1, i, -1, -i, 1};
    const std::complex<double> mine(m, 1), sum(k * (k - 1) / 2, k);
    const auto u8 = [](int value) { return static_cast<std::uint8_t>(value); };
    const auto i16 = [](int value) { return static_cast<std::int16_t>(value); };
    const auto u64 = [](int value) { return static_cast<std::uint64_t>(value); };
    const auto i64 = [](int value) { return static_cast<std::int64_t>(value); };
    reduce(team, memory, "uint8 xor", Dtype::Uint8, Op::Xor, u8(1 << m | 1 << 7), u8((1 << k) - 1 + (k % 2 << 7)));
    reduce(team, memory, "int16 min", Dtype::Int16, Op::Min, i16(-m), i16(1 - k));
    reduce(team, memory, "uint32 and", Dtype::Uint32, Op::And, ~(1u << m), ~((1u << k) - 1));
    reduce(team, memory, "uint64 or", Dtype::Uint64, Op::Or, u64(1) << (40 + m), u64((1 << k) - 1) << 40);
    reduce(team, memory, "int64 prod", Dtype::Int64, Op::Prod, i64(-(m + 1)), i64((k % 2 ? -1 : 1) * factorial[k]));
    reduce(team, memory, "float max", Dtype::Float, Op::Max, m + 0.5f, k - 0.5f);
    reduce(team, memory, "double sum", Dtype::Double, Op::Sum, (m + 1) * 0.25, k * (k + 1) / 2 * 0.25);
    reduce(team, memory, "complexf prod", Dtype::Complexf, Op::Prod, i, powers[k]);
    reduce(team, memory, "complexd sum", Dtype::Complexd, Op::Sum, mine, sum);
}

void collectives() {
    std::int64_t *memory = allocate<std::int64_t>(128);
    auto *integers = reinterpret_cast<std::int32_t *>(memory);
    std::int32_t mine = 0;
    const nvshmemrs_team_t back = split_back(mine);
    moves(WORLD, me, n, memory, memory + 64);
    scans(WORLD, me, n, integers, integers + 16);
    reductions(WORLD, me, n, memory);
    barrier();
    if (mine >= 0) {
        moves(back, mine, (n + 1) / 2, memory, memory + 64);
        scans(back, mine, (n + 1) / 2, integers, integers + 16);
        reductions(back, mine, (n + 1) / 2, memory);
        MUST(ffi::barrier(rt, back));
    }
    MUST(ffi::team_destroy(rt, back));
    release(memory);
}

std::int32_t count_up(void *user) {
    *static_cast<std::int32_t *>(user) += 1;
    return 0;
}

void streams() {
    double *data = allocate<double>(4);
    std::uint64_t *words = allocate<std::uint64_t>(2), old = 99;
    const double row[3] = {me * 10.0, me * 10.0 + 1, me * 10.0 + 2};
    nvshmemrs_stream_t first = 0, second = 0;
    nvshmemrs_event_t start = 0, end = 0;
    double milliseconds = -1;
    std::int32_t done = -1, calls = 0;
    MUST(ffi::stream_new(rt, &first));
    MUST(ffi::stream_new(rt, &second));
    MUST(ffi::event_new(rt, &start));
    MUST(ffi::event_new(rt, &end));
    MUST(ffi::event_record(start, first));
    MUST(ffi::put_signal(first, data, row, sizeof row, words, 1, SignalOp::Set, right));
    MUST(ffi::signal_wait(first, words, Cmp::Eq, 1, nullptr));
    MUST(ffi::event_record(end, first));
    MUST(ffi::stream_wait_event(second, end));
    MUST(ffi::stream_call(second, count_up, &calls));
    MUST(ffi::stream_synchronize(second));
    SAME(calls, 1);
    ALL("put_signal on a stream", i, 4, data[i], i < 3 ? left * 10 + i : 0);
    MUST(ffi::event_synchronize(end));
    MUST(ffi::event_query(end, &done));
    SAME(done, 1);
    MUST(ffi::event_elapsed(start, end, &milliseconds));
    SAME(milliseconds >= 0 && milliseconds < 60e3, true);

    // An error is kept until the stream is synchronized, once; what is queued behind it runs.
    MUST(ffi::put(first, data, row, sizeof *row, n));
    MUST(ffi::atomic_fetch_add64(first, words + 1, 4, right, &old));
    SAME(old, 0);
    REFUSED(PeRange, ffi::stream_synchronize(first));
    MUST(ffi::stream_synchronize(first));
    MUST(ffi::barrier(first, WORLD));
    MUST(ffi::stream_synchronize(first));
    SAME(words[1], 4);
    MUST(ffi::stream_query(first, &done));
    SAME(done, 1);
    MUST(ffi::event_free(start));
    MUST(ffi::event_free(end));
    MUST(ffi::stream_free(second));
    MUST(ffi::stream_free(first));
    release(words);
    release(data);
}

void memory() {
    std::int64_t *grown = allocate<std::int64_t>(4);
    void *found = nullptr;
    for (int i = 0; i < 4; i++) {
        grown[i] = me * 10 + i;
    }
    MUST(ffi::realloc(rt, grown, 500 * sizeof *grown, &found));
    grown = static_cast<std::int64_t *>(found);
    ALL("realloc", i, 4, grown[i], me * 10 + i);
    MUST(ffi::p64(rt, grown + 499, 77 + static_cast<std::uint64_t>(me), right));
    barrier();
    SAME(grown[499], 77 + left);
    MUST(ffi::realloc(rt, grown, 0, &found));
    SAME(found == nullptr, true);

    // The caller's own memory becomes symmetric where it is, and private again.
    const std::size_t bytes = 65536;
    SAME(posix_memalign(&found, bytes, bytes), 0);
    auto *buffer = static_cast<std::int64_t *>(found);
    std::memset(buffer, 0, bytes);
    buffer[1] = me * 10 + 1;
    MUST(ffi::buffer_register(rt, buffer, bytes, nullptr, &found));
    auto *symmetric = static_cast<std::int64_t *>(found);
    SAME(symmetric[1], me * 10 + 1);
    MUST(ffi::p64(rt, symmetric + 5, 50 + static_cast<std::uint64_t>(me), right));
    MUST(ffi::p64(rt, buffer + 6, 60 + static_cast<std::uint64_t>(me), right));
    barrier();
    SAME(buffer[5], 50 + left);
    SAME(symmetric[6], 60 + left);
    barrier();
    MUST(ffi::buffer_unregister(rt, symmetric));
    SAME(buffer[1], me * 10 + 1);
    SAME(buffer[6], 60 + left);
    REFUSED(NotSymmetric, ffi::p64(rt, buffer, 1, right));
    std::free(buffer);
}

void run() {
    ffi::check_library();
    MUST(ffi::init(nullptr, &rt));
    MUST(ffi::my_pe(rt, &me));
    MUST(ffi::n_pes(rt, &n));
    left = (me + n - 1) % n;
    right = (me + 1) % n;
    SAME(ffi::thread_support() == ffi::Thread::Multiple, true);

    teams();
    strided();
    atomics32();
    atomics64();
    atomics_float();
    atomics_double();
    waits();
    collectives();
    streams();
    memory();

    nvshmemrs_heap_stats_t stats{};
    MUST(ffi::heap_stats(rt, &stats));
    SAME(stats.allocations, 0);
    MUST(ffi::finalize(rt));
    std::printf("model ok PE %d of %d (C++)\n", me, n);
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
