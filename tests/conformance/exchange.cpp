// Conformance, scenarios "halo", "histogram", "types", "reductions", "signals", "errors" and "leaks": PEs exchange data of
// all types, and check the written elements and the elements beside them. The same steps, in the same order, are in the
// programs of this name in the other languages, so that PEs in different languages can run them as one job.

#define PROGRAM "exchange"
#include "common.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <vector>

using nvshmemrs::equal_to, nvshmemrs::greater, nvshmemrs::greater_equal, nvshmemrs::less, nvshmemrs::less_equal;
using nvshmemrs::not_equal_to, nvshmemrs::signal_add, nvshmemrs::signal_at, nvshmemrs::signal_set;
using nvshmemrs::ffi::Op, nvshmemrs::ffi::Status;
template <typename T> using array = nvshmemrs::symmetric_array<T>;

namespace {

template <typename T, typename U> void same(const char *what, T found, U wanted) {
    if (found != T(wanted))
        fail(what, std::to_string(found) + ", not " + std::to_string(T(wanted)));
}

// `call` must fail with `wanted` and a text with `word` in it.
template <typename Call> void refused(Status wanted, const std::string &word, Call &&call) {
    try {
        call();
    } catch (const nvshmemrs::error &error) {
        if (error.status() != wanted || std::string(error.what()).find(word) == std::string::npos)
            fail(word, "status " + std::to_string(static_cast<int>(error.status())) + ": " + error.what());
        return;
    }
    fail(word, "no error, where status " + std::to_string(static_cast<int>(wanted)) + " must be");
}

template <typename T> void release(array<T> &memory) {
    barrier();
    memory.free();
}

// Each PE has ten cells of a ring, between copies of its neighbours' nearest ones.
void halo() {
    const std::size_t cells = 10 * std::size_t(n), first = 10 * std::size_t(me);
    array<double> field(rt, 12);
    array<std::uint64_t> flags(rt, 2);
    std::vector<double> all(cells), then(cells), next(10);
    for (std::size_t j = 0; j < cells; j++)
        all[j] = double(j / 10 * 100 + j % 10 + 1);
    std::copy_n(&all[first], 10, &field[1]);
    barrier();
    for (std::uint64_t step = 1; step <= 3; step++) {
        field.slice(11, 1).at(left).put_signal(field.slice(1, 1), signal_at(flags, 1), signal_add, 1);
        field.slice(0, 1).at(right).put_signal(field.slice(10, 1), signal_at(flags, 0), signal_add, 1);
        signal_at(flags, 0).wait_until(greater_equal, step);
        signal_at(flags, 1).wait_until(greater_equal, step);
        for (std::size_t i = 0; i < 10; i++)
            next[i] = field[i] + field[i + 1] + field[i + 2];
        std::copy(next.begin(), next.end(), &field[1]);
        barrier();
        for (std::size_t j = 0; j < cells; j++)
            then[j] = all[(j + cells - 1) % cells] + all[j] + all[(j + 1) % cells];
        all.swap(then);
    }
    for (std::size_t i = 0; i < 10; i++)
        same("cell", field[i + 1], all[first + i]);
    release(flags);
    release(field);
}

int draw(int pe, int k) { return (pe * 131 + k * k * 7 + k) % (8 * n); }

// Eight bins on each PE; every PE counts its draws where their bins are.
void histogram() {
    array<std::uint64_t> bins(rt, 9);
    std::array<std::uint64_t, 8> wanted{};
    for (int k = 0; k < 100; k++) {
        const auto bin = bins.at(draw(me, k) / 8).atomic(std::size_t(draw(me, k) % 8));
        if (k % 2 == 0)
            ++bin;
        else
            same("old", bin.fetch_add(1) < 100 * std::uint64_t(n), true);
    }
    barrier();
    for (int pe = 0; pe < n; pe++)
        for (int k = 0; k < 100; k++)
            if (draw(pe, k) / 8 == me)
                wanted[std::size_t(draw(pe, k) % 8)]++;
    for (std::size_t i = 0; i < 8; i++)
        same("bin", bins[i], wanted[i]);
    same("behind the bins", bins[8], 0);
    release(bins);
}

// A small number in each type; complex ones also have an imaginary part.
template <typename T> struct number {
    static T of(int real, int) { return static_cast<T>(real); }
};
template <typename T> struct number<std::complex<T>> {
    static std::complex<T> of(int real, int imaginary) { return {T(real), T(imaginary)}; }
};
std::uint32_t bits_of(int real) {
    const float number = float(real);
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
// Exact, since the numbers have few digits.
template <> struct number<nvshmemrs::half> {
    static nvshmemrs::half of(int real, int) { return {std::uint16_t(real == 0 ? 0 : (bits_of(real) >> 13) - (112 << 10))}; }
};
template <> struct number<nvshmemrs::bfloat16> {
    static nvshmemrs::bfloat16 of(int real, int) { return {std::uint16_t(bits_of(real) >> 16)}; }
};
// The nearest number with so many bits of mantissa, of two the even one; it is in the range of the type.
std::uint8_t eight_bits(int real, int mantissa, int bias) {
    const std::uint32_t bits = bits_of(real);
    const int shift = 23 - mantissa;
    const std::uint32_t nearest = (bits + (1u << (shift - 1)) - 1 + (bits >> shift & 1)) >> shift;
    return std::uint8_t(nearest - std::uint32_t((127 - bias) << mantissa));
}
template <> struct number<nvshmemrs::float8_e4m3fn> {
    static nvshmemrs::float8_e4m3fn of(int real, int) { return {eight_bits(real, 3, 7)}; }
};
template <> struct number<nvshmemrs::float8_e5m2> {
    static nvshmemrs::float8_e5m2 of(int real, int) { return {eight_bits(real, 2, 15)}; }
};

template <typename T> void holds(const char *what, T found, int real, int imaginary) {
    const T wanted = number<T>::of(real, imaginary);
    if (std::memcmp(&found, &wanted, sizeof found) != 0)
        fail(what, "an element of " + std::to_string(sizeof found) + " bytes is not " + std::to_string(real));
}

int value(int pe, int i) { return pe * 8 + i + 1; }

struct types_of {
    template <typename T> void operator()(T) const {
        array<T> a(rt, 8);
        const T guard = number<T>::of(77, 0);
        std::fill(a.begin(), a.end(), guard);
        const T sent[2] = {number<T>::of(value(me, 0), 2), number<T>::of(value(me, 1), 2)};
        T got[4] = {guard, guard, guard, guard};
        barrier();
        a.slice(2, 2).at(right).put(sent);
        a.at(right)[5] = number<T>::of(value(me, 2), 2);
        barrier();
        for (std::size_t i = 0; i < 8; i++) {
            const int from = i == 2 ? 0 : i == 3 ? 1 : i == 5 ? 2 : -1;
            holds("put", a[i], from < 0 ? 77 : value(left, from), from < 0 ? 0 : 2);
        }
        nvshmemrs::buffer<T> middle(got + 1, 2);
        a.slice(2, 2).at(right).get(middle);
        for (int i = 0; i < 4; i++)
            holds("get", got[i], i == 1 || i == 2 ? value(me, i - 1) : 77, i == 1 || i == 2 ? 2 : 0);
        release(a);
    }
};

// A member's contribution to a reduction, and the reduction's result.
int mine(Op op, int m) {
    switch (op) {
    case Op::Prod: return m < 2 ? 2 : 1;
    case Op::And: return 127 ^ 1 << m;
    case Op::Or: return 1 << m;
    case Op::Xor: return 64 | 1 << m;
    default: return m + 1;
    }
}

int combined(Op op) {
    switch (op) {
    case Op::Sum: return n * (n + 1) / 2;
    case Op::Min: return 1;
    case Op::Max: return n;
    case Op::Prod: return n == 1 ? 2 : 4;
    case Op::And: return 127 - ((1 << n) - 1);
    case Op::Or: return (1 << n) - 1;
    default: return (1 << n) - 1 + (n % 2 ? 64 : 0);
    }
}

// The source is elements 0 to 7, and the destination the rest.
template <typename T> void fill(array<T> &a) {
    barrier();
    for (std::size_t i = 0; i < 8; i++) {
        a[i] = number<T>::of(value(me, int(i)), 2);
        a[8 + i] = number<T>::of(77, 0);
    }
    barrier();
}

template <typename T, typename Tag> void reduce(array<T> &a, Tag op) {
    if constexpr (Tag::template fits<T>) {
        fill(a);
        a[0] = a[1] = number<T>::of(mine(Tag::op, me), 0);
        rt.world().reduce(op, a.slice(8, 2), a.slice(0, 2));
        holds("reduce", a[8], combined(Tag::op), 0);
        holds("reduce", a[9], combined(Tag::op), 0);
        holds("reduce", a[10], 77, 0);
        rt.world().reduce(op, a.slice(0, 2));
        holds("reduce in place", a[1], combined(Tag::op), 0);
        holds("reduce in place", a[2], value(me, 2), 2);
    }
}

struct reductions_of {
    template <typename T> void operator()(T) const {
        array<T> a(rt, 16);
        const std::size_t members = std::size_t(n);
        reduce(a, nvshmemrs::plus);
        reduce(a, nvshmemrs::minimum);
        reduce(a, nvshmemrs::maximum);
        reduce(a, nvshmemrs::multiplies);
        reduce(a, nvshmemrs::bit_and);
        reduce(a, nvshmemrs::bit_or);
        reduce(a, nvshmemrs::bit_xor);
        fill(a);
        rt.world().broadcast(a.slice(8, 2), a.slice(0, 2), n - 1);
        holds("broadcast", a[9], value(n - 1, 1), 2);
        holds("broadcast", a[10], 77, 0);
        fill(a);
        rt.world().fcollect(a.slice(8, members), a.slice(0, 1));
        for (int i = 0; i <= n; i++)
            holds("fcollect", a[std::size_t(8 + i)], i < n ? value(i, 0) : 77, i < n ? 2 : 0);
        fill(a);
        rt.world().alltoall(a.slice(8, members), a.slice(0, members));
        for (int i = 0; i <= n; i++)
            holds("alltoall", a[std::size_t(8 + i)], i < n ? value(i, me) : 77, i < n ? 2 : 0);
        release(a);
    }
};

// In the order of the types' numbers.
template <typename Call> void for_each_type(Call call) {
    call(std::int8_t()), call(std::int16_t()), call(std::int32_t()), call(std::int64_t());
    call(std::uint8_t()), call(std::uint16_t()), call(std::uint32_t()), call(std::uint64_t());
    call(nvshmemrs::half()), call(nvshmemrs::bfloat16()), call(float()), call(double());
    call(std::complex<float>()), call(std::complex<double>());
    call(nvshmemrs::float8_e4m3fn()), call(nvshmemrs::float8_e5m2());
}

void types() { for_each_type(types_of()); }
void reductions() { for_each_type(reductions_of()); }

void signals() {
    array<std::uint64_t> words(rt, 4);
    array<double> data(rt, 4);
    const std::array<double, 2> row{me + 0.5, me + 0.25};
    std::uint64_t all = 0;
    for (int pe = 0; pe < n; pe++) {
        signal_at(words, 0).at(pe).add(std::uint64_t(1) << 8 * me);
        all += std::uint64_t(1) << 8 * pe;
    }
    signal_at(words, 0).wait_until(equal_to, all);
    signal_at(words, 1).at(right).set(5);
    const auto second = signal_at(words, 1);
    same("greater_equal", second.wait_and_fetch(greater_equal, 5), 5);
    same("equal_to", second.wait_and_fetch(equal_to, 5), 5);
    same("not_equal_to", second.wait_and_fetch(not_equal_to, 4), 5);
    same("greater", second.wait_and_fetch(greater, 4), 5);
    same("less", second.wait_and_fetch(less, 6), 5);
    same("less_equal", second.wait_and_fetch(less_equal, 5), 5);
    for (int nbi = 0; nbi < 2; nbi++) {
        const auto target = data.slice(1, 2).at(right);
        if (nbi)
            target.put_signal_nbi(row, signal_at(words, 2), signal_add, 4);
        else
            target.put_signal(row, signal_at(words, 2), signal_add, 3);
        signal_at(words, 2).wait_until(equal_to, nbi ? 7 : 3);
        const double wanted[4] = {0, left + 0.5, left + 0.25, 0};
        for (std::size_t i = 0; i < 4; i++)
            same("data", data[i], wanted[i]);
        data[1] = data[2] = 0;
        rt.quiet();
        barrier();
    }
    same("signal", signal_at(words, 2).fetch(), 7);
    same("beside the signal", words[3], 0);
    release(data);
    release(words);
}

// One PE's mistake: the others hear of it, nothing is written, and the job goes on.
void errors() {
    array<std::int64_t> words(rt, 4);
    const auto from = words.slice(0, 1), to = words.slice(2, 1);
    words[0] = me + 1;
    words[2] = -7;
    refused(Status::PeRange, "`pe`", [&] { words.slice(1, 1).at(n).put(from); });
    refused(Status::PeRange, "`pe`", [&] { ++words.at(-1).atomic(1); });
    const bool last = me == n - 1;
    refused(last ? Status::PeRange : Status::PeerArgument, "PE " + std::to_string(last ? n : n - 1),
            [&] { rt.world().broadcast(to, from, last ? n : 0); });
    same("not put", words[1], 0);
    same("not broadcast", words[2], -7);
    rt.world().broadcast(to, from, 0);
    same("broadcast", words[2], 1);
    release(words);
}

std::uint64_t allocations() { return rt.heap_stats().allocations; }

// The list of unfreed allocations names this program and these many bytes; or it says that everything is freed.
void unfreed(int bytes) {
    std::array<char, 2000> text{};
    std::size_t length = 0;
    nvshmemrs::check(nvshmemrs::ffi::unfreed(rt.handle(), text.data(), text.size(), &length));
    const std::string list = text.data(), sum = " " + std::to_string(bytes) + " bytes";
    const auto has = [&](const std::string &word) { return list.find(word) != std::string::npos; };
    if (bytes == 0 ? !has("everything is freed") : !has("exchange") || !has(sum))
        fail("unfreed", list);
}

void leaks() {
    same("allocations", allocations(), 0);
    unfreed(0);
    array<std::int64_t> kept(rt, 3), given(rt, 5);
    {
        array<std::int64_t> dropped(rt, 7);
        same("allocations", allocations(), 3);
        unfreed(120);
        release(given);
        same("allocations", allocations(), 2);
    }
    unfreed(24);
    barrier();
    array<std::int64_t> next(rt, 1); // frees the arrays that all PEs have released
    same("allocations", allocations(), 2);
    unfreed(32);
    release(next);
    release(kept);
    unfreed(0);
    same("allocations", allocations(), 0);
}

} // namespace

int main() {
    try {
        init();
        ran("halo", halo);
        ran("histogram", histogram);
        ran("types", types);
        ran("reductions", reductions);
        ran("signals", signals);
        ran("errors", errors);
        ran("leaks", leaks);
        finalize();
    } catch (const nvshmemrs::error &error) {
        fail("an error that was not due", error.what());
    }
}
