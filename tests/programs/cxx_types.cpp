// Every type of elements in every operation of nvshmemrs.hpp that takes it. Each writes to the right neighbour, or in a
// collective; the written elements, and the elements beside them, are checked. `PART` is 0 to 2: signed integers, unsigned ones, and
// floating-point and complex numbers, each with a type of the program's own.

#include <nvshmemrs/nvshmemrs.hpp>

#include <array>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <typeinfo>
#include <vector>

using nvshmemrs::element, nvshmemrs::symmetric_array, nvshmemrs::half, nvshmemrs::bfloat16, nvshmemrs::float8_e4m3fn, nvshmemrs::float8_e5m2;

namespace {

nvshmemrs::runtime rt;
std::int32_t me = 0, n = 0, left = 0, right = 0;

struct three {
    char bytes[3];
};
struct triple {
    float x, y, z;
};
enum class colour : std::int16_t {};

// The nearest number with so many bits of mantissa, of two the even one; it is in the range of the type.
std::uint8_t eight_bits(int number, int mantissa, int bias) {
    const float value = static_cast<float>(number);
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const int shift = 23 - mantissa;
    const std::uint32_t nearest = (bits + (1u << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;
    return number == 0 ? std::uint8_t(0) : static_cast<std::uint8_t>(nearest - std::uint32_t((127 - bias) << mantissa));
}

// Small whole numbers as each type.
template <typename T> T make(int number) {
    if constexpr (std::is_same_v<T, half>) {
        int exponent = 0;
        while (number >> (exponent + 1) != 0)
            exponent++;
        const int bits = number == 0 ? 0 : (exponent + 15) << 10 | ((number << (10 - exponent)) & 0x3ff);
        return half{static_cast<std::uint16_t>(bits)};
    } else if constexpr (std::is_same_v<T, bfloat16>) {
        const float value = static_cast<float>(number);
        std::uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        return bfloat16{static_cast<std::uint16_t>(bits >> 16)};
    } else if constexpr (std::is_same_v<T, float8_e4m3fn>) {
        return float8_e4m3fn{eight_bits(number, 3, 7)};
    } else if constexpr (std::is_same_v<T, float8_e5m2>) {
        return float8_e5m2{eight_bits(number, 2, 15)};
    } else if constexpr (std::is_same_v<T, three>) {
        return three{{static_cast<char>(number), 'a', static_cast<char>(number + 1)}};
    } else if constexpr (std::is_same_v<T, triple>) {
        return triple{static_cast<float>(number), 0.5f, static_cast<float>(-number)};
    } else {
        return static_cast<T>(number);
    }
}

template <typename T> bool equal(const T &one, const T &other) { return std::memcmp(&one, &other, sizeof one) == 0; }

template <typename T> void same(const char *what, std::size_t at, const T &found, const T &wanted) {
    if (!equal(found, wanted)) {
        std::fprintf(stderr, "cxx_types: PE %d of %d: %s of %s: [%zu] is wrong\n", me, n, what, typeid(T).name(), at);
        std::exit(1);
    }
}

#define CHECK(what, T)                                                                                             \
    do {                                                                                                           \
        if (!(what)) {                                                                                             \
            std::fprintf(stderr, "cxx_types:%d: PE %d: failed for %s: %s\n", __LINE__, me, typeid(T).name(), #what); \
            std::exit(1);                                                                                          \
        }                                                                                                          \
    } while (0)

void barrier() { rt.world().barrier(); }

// An array of 16 in which all but `[first, first + wanted.size())` must be zero; then it is zero again everywhere.
template <typename T> void only(const char *what, symmetric_array<T> &array, std::size_t first, const std::vector<T> &wanted, std::size_t step = 1) {
    std::vector<T> all(array.size());
    std::memset(static_cast<void *>(all.data()), 0, all.size() * sizeof(T));
    for (std::size_t i = 0; i < wanted.size(); i++)
        all[first + i * step] = wanted[i];
    barrier();
    for (std::size_t i = 0; i < array.size(); i++)
        same(what, i, array[i], all[i]);
    std::memset(static_cast<void *>(array.data()), 0, array.size() * sizeof(T));
    barrier();
}

template <typename T> void moves() {
    symmetric_array<T> array(rt, 16);
    nvshmemrs::signal signal(rt);
    std::vector<T> mine, theirs, got(3, make<T>(0));
    for (int i = 0; i < 3; i++) {
        mine.push_back(make<T>(10 * me + i + 1));
        theirs.push_back(make<T>(10 * left + i + 1));
    }
    const auto target = array.at(right);

    target[5] = mine[0];
    rt.quiet();
    same("element get", 5, target[5].get(), mine[0]);
    target[7] = target[5];
    barrier();
    same("element assigned", 7, array[7], theirs[0]);
    barrier();
    target[7] = make<T>(0);
    barrier();
    std::memset(static_cast<void *>(&array[7]), 0, sizeof(T));
    only("element put", array, 5, {theirs[0]});

    nvshmemrs::stream queue(rt);
    array.on(queue).at(right)[6] = mine[1];
    same("element get on a stream", 6, array.on(queue).at(right)[6].get(), mine[1]);
    queue.synchronize();
    only("element put on a stream", array, 6, {theirs[1]});

    array.slice(2, 3).at(right).put(mine);
    only("put", array, 2, theirs);
    array.slice(2, 4).at(right).put_nbi(mine);
    rt.quiet();
    array.slice(2, 4).at(right).get(got);
    for (int i = 0; i < 3; i++)
        same("get", i, got[i], mine[i]);
    std::fill(got.begin(), got.end(), make<T>(0));
    array.slice(3, 3).at(right).get_nbi(got);
    rt.quiet();
    same("get_nbi", 0, got[0], mine[1]);
    only("put_nbi", array, 2, theirs);

    target.iput(mine, 3, {1, 4}, {2, -1});
    only("iput", array, 1, {theirs[2], theirs[1], theirs[0]}, 4);
    target.iput(mine, 2, {1, 4}, {0, 2});
    rt.quiet();
    target.iget(got, 2, {2, -2}, {1, 4});
    same("iget", 0, got[0], mine[2]);
    same("iget", 2, got[2], mine[0]);
    only("iput of two", array, 1, {theirs[0], theirs[2]}, 4);
    target.ibput(mine, 1, 2, {4, 5}, {1, 1});
    only("ibput", array, 4, {theirs[1], theirs[2]});

    array.slice(9, 3).at(right).put_signal(mine, signal, nvshmemrs::signal_set, 4);
    signal.wait_until(nvshmemrs::greater_equal, 4);
    only("put_signal", array, 9, theirs);
    array.slice(9, 3).at(right).put_signal_nbi(mine, signal, nvshmemrs::signal_add, 3);
    CHECK(signal.wait_and_fetch(nvshmemrs::greater, 4) == 7, T);
    CHECK(signal.fetch() == 7, T);
    rt.quiet();
    only("put_signal_nbi", array, 9, theirs);

    // Collectives: the source is in the last elements, which stay as they are.
    const auto source = array.slice(13, 3);
    const auto give = [&] {
        std::copy(mine.begin(), mine.end(), source.begin());
        barrier();
    };
    const auto taken = [&](const char *what, std::size_t first, const std::vector<T> &wanted) {
        for (std::size_t i = 0; i < 3; i++)
            same(what, 13 + i, array[13 + i], mine[i]);
        barrier();
        std::memset(static_cast<void *>(&array[13]), 0, 3 * sizeof(T));
        only(what, array, first, wanted);
    };
    std::vector<T> all, last;
    for (int pe = 0; pe < n; pe++)
        all.push_back(make<T>(10 * pe + 1));
    for (int i = 0; i < 3; i++)
        last.push_back(make<T>(10 * (n - 1) + i + 1));
    give();
    rt.world().broadcast(array.slice(2, 4), source, n - 1);
    taken("broadcast", 2, last);
    give();
    rt.world().fcollect(array.slice(4, n), array.slice(13, 1));
    taken("fcollect", 4, all);
    give();
    rt.world().collect(array.slice(4, n), array.slice(13, 1));
    taken("collect", 4, all);
    give();
    std::vector<T> parts;
    for (int pe = 0; pe < n; pe++)
        parts.push_back(make<T>(10 * pe + me + 1));
    rt.world().alltoall(array.slice(4, n), array.slice(13, n));
    taken("alltoall", 4, parts);
    give();
    rt.world().gather(array.slice(4, me == n - 1 ? n : 0), array.slice(13, 1), n - 1);
    taken("gather", 4, me == n - 1 ? all : std::vector<T>());
    give();
    rt.world().scatter(array.slice(4, 1), array.slice(13, me == n - 1 ? n : 0), n - 1);
    taken("scatter", 4, std::vector<T>{make<T>(10 * (n - 1) + me + 1)});
    barrier();
}

template <typename Op, typename T> void reduction(const char *what, Op op, int wanted, int part, T) {
    if constexpr (Op::template fits<T>) {
        symmetric_array<T> array(rt, 16);
        array[12] = array[13] = make<T>(me + 1);
        barrier();
        rt.world().reduce(op, array.slice(2, 2), array.slice(12, 2));
        for (std::size_t i = 0; i < 12; i++)
            same(what, i, array[i], make<T>(i == 2 || i == 3 ? wanted : 0));
        rt.world().inscan(op, array.slice(6, 1), array.slice(12, 1));
        for (std::size_t i = 4; i < 12; i++)
            same(what, i, array[i], make<T>(i == 6 ? part : 0));
        rt.world().reduce(op, array.slice(12, 1));
        same(what, 12, array[12], make<T>(wanted));
        same(what, 13, array[13], make<T>(me + 1));
        barrier();
    }
}

template <typename T> void reductions() {
    const auto fold = [](int members, auto op) {
        int value = 1;
        for (int pe = 1; pe < members; pe++)
            value = op(value, pe + 1);
        return value;
    };
    const auto run = [&](const char *what, auto tag, auto op) {
        reduction(what, tag, fold(n, op), fold(me + 1, op), T{});
    };
    run("plus", nvshmemrs::plus, [](int a, int b) { return a + b; });
    run("multiplies", nvshmemrs::multiplies, [](int a, int b) { return a * b; });
    run("minimum", nvshmemrs::minimum, [](int a, int b) { return a < b ? a : b; });
    run("maximum", nvshmemrs::maximum, [](int a, int b) { return a > b ? a : b; });
    run("bit_and", nvshmemrs::bit_and, [](int a, int b) { return a & b; });
    run("bit_or", nvshmemrs::bit_or, [](int a, int b) { return a | b; });
    run("bit_xor", nvshmemrs::bit_xor, [](int a, int b) { return a ^ b; });
}

template <typename T> void atomics() {
    if constexpr (element<T>::atomic) {
        symmetric_array<T> array(rt, 4);
        const auto word = array.at(right).atomic(1);
        T found{};
        word.store(5);
        CHECK(word.load() == T(5), T);
        CHECK(word.exchange(7) == T(5), T);
        word += 2;
        CHECK(word.fetch_add(1) == T(9), T);
        word.load_nbi(found);
        rt.quiet();
        CHECK(found == T(10), T);
        word.exchange_nbi(found, 11);
        rt.quiet();
        word.fetch_add_nbi(found, 1);
        rt.quiet();
        CHECK(found == T(11), T);
        if constexpr (element<T>::atomic_compares) {
            CHECK(word.compare_exchange(12, 13) == T(12), T);
            word.compare_exchange_nbi(found, 13, 14);
            ++word;
            CHECK(word.fetch_inc() == T(15), T);
            word.fetch_inc_nbi(found);
            rt.quiet();
            CHECK(found == T(16), T);
            word.exchange(12);
        }
        if constexpr (element<T>::atomic_bits) {
            word |= 3;
            CHECK(word.fetch_or(16) == T(15), T);
            word &= 29;
            CHECK(word.fetch_and(20) == T(29), T);
            word ^= 8;
            CHECK(word.fetch_xor(16) == T(28), T);
            word.fetch_or_nbi(found, 1);
            word.fetch_and_nbi(found, 13);
            word.fetch_xor_nbi(found, 1);
            rt.quiet();
            CHECK(found == T(13), T);
        }
        only("atomics", array, 1, {T(12)});
    }
}

template <typename T> void waits() {
    if constexpr (element<T>::compared) {
        symmetric_array<T> array(rt, 4);
        CHECK(!array.test(1, nvshmemrs::not_equal_to, T(0)), T);
        barrier();
        array.at(right)[1] = make<T>(9);
        array.wait_until(1, nvshmemrs::greater, T(8));
        CHECK(array.test(1, nvshmemrs::less_equal, T(9)) && !array.test(1, nvshmemrs::less, T(9)), T);
        CHECK(array.wait_until_any(nvshmemrs::equal_to, T(9)) == std::size_t(1), T);
        CHECK(array.test_some(nvshmemrs::equal_to, std::array<T, 4>{T(0), T(9), T(1), T(0)}) == (std::vector<std::size_t>{0, 1, 3}), T);
        only("waits", array, 1, {make<T>(9)});
    }
}

template <typename... T> void all() {
    ((moves<T>(), reductions<T>(), atomics<T>(), waits<T>()), ...);
}

} // namespace

int main() {
    rt = nvshmemrs::runtime::init();
    me = rt.my_pe();
    n = rt.n_pes();
    left = (me + n - 1) % n;
    right = (me + 1) % n;
#if PART == 0
    all<char, signed char, short, int, long, long long>();
    moves<three>();
#elif PART == 1
    all<unsigned char, unsigned short, unsigned, unsigned long, unsigned long long>();
    moves<colour>();
#else
    all<float, double, half, bfloat16, float8_e4m3fn, float8_e5m2, std::complex<float>, std::complex<double>>();
    moves<triple>();
#endif
    rt.finalize();
    std::printf("types ok PE %d\n", me);
}
