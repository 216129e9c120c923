// Each case of this file must not compile, and the compiler must show the sentence that stands behind it. With `COUNT` 1 there is
// case 0 only, which does compile; else there are that many.

#include <nvshmemrs/nvshmemrs.hpp>

#include <complex>
#include <functional>
#include <list>
#include <string>
#include <utility>
#include <vector>

// A type that the compiler looks into only once CASE is known.
template <int CASE, typename T> struct later {
    using type = T;
};

#define ONLY(number) if constexpr (CASE == number)

template <int CASE> void program(const nvshmemrs::runtime &rt) {
    typename later<CASE, nvshmemrs::symmetric_array<double>>::type doubles(rt, 4);
    typename later<CASE, nvshmemrs::symmetric_array<int>>::type ints(rt, 4);
    typename later<CASE, nvshmemrs::symmetric_array<std::complex<double>>>::type numbers(rt, 4);
    const typename later<CASE, nvshmemrs::team>::type team = rt.world();
    std::vector<int> local(4);
    const std::vector<double> constant(4);
    nvshmemrs::signal signal(rt);
    team.reduce(nvshmemrs::plus, numbers);
    doubles.at(0).atomic(0) += 1.0;
    ints.at(0).put(local);

    ONLY(1) later<CASE, nvshmemrs::symmetric_array<std::string>>::type::make(rt, 4); // must be trivially copyable
    ONLY(2) later<CASE, nvshmemrs::symmetric_array<int *>>::type::make(rt, 4); // must not be a pointer
    ONLY(3) doubles.at(0).put(std::vector<int>(CASE)); // the source must have elements of the symmetric array's type
    ONLY(4) ints.at(0).put(std::list<int>(CASE)); // the source must be a contiguous range
    ONLY(5) doubles.at(0).get(constant); // the destination must not be constant
    ONLY(6) team.reduce(std::plus<>(), ints); // the operation must be one of nvshmemrs::plus
    ONLY(7) team.reduce(nvshmemrs::bit_xor, doubles); // elements of this type do not have this reduction
    ONLY(8) team.reduce(nvshmemrs::minimum, numbers); // minimum and maximum take no complex numbers
    ONLY(9) team.broadcast(ints, local, 0); // source and destination of a collective must be symmetric memory
    ONLY(10) team.broadcast(ints, doubles, 0); // must have elements of one type
    ONLY(11) ints.wait_until(0, std::equal_to<>(), CASE); // the comparison must be one of nvshmemrs::equal_to
    ONLY(12) numbers.wait_until(0, nvshmemrs::equal_to, 1.0); // elements of another type cannot be waited for
    ONLY(13) doubles.at(0).atomic(0) &= 1.0; // atomic and, or and xor take integers only
    ONLY(14) numbers.at(0).atomic(0).load(); // atomic operations take integers of 32 and 64 bits
    ONLY(15) ints.at(0).put_signal(local, signal, nvshmemrs::plus, 1); // must be nvshmemrs::signal_set or
    ONLY(16) typename later<CASE, nvshmemrs::symmetric_span<const int>>::type(ints).at(0).put(local); // this symmetric memory must not be constant
    ONLY(17) doubles.at(0).atomic(0).fetch_inc(); // add 1 to a floating-point number
}

template <int... cases> void all(std::integer_sequence<int, cases...>) {
    (program<cases>(nvshmemrs::runtime()), ...);
}

int main() { all(std::make_integer_sequence<int, COUNT>()); }
