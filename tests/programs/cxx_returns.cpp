// nvshmemrs.hpp without exceptions (-fno-exceptions): every call returns a value or an error.

#include <nvshmemrs/nvshmemrs.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#ifdef __cpp_exceptions
#error "this program is compiled with -fno-exceptions"
#endif

namespace {

#define CHECK(what)                                                       \
    do {                                                                  \
        if (!(what)) {                                                    \
            std::fprintf(stderr, "cxx_returns:%d: failed: %s\n", __LINE__, #what); \
            std::exit(1);                                                 \
        }                                                                 \
    } while (0)

// A second way to write the same: the caller's caller hears of the error.
nvshmemrs::expected<int> sum_of_all(const nvshmemrs::runtime &rt, int mine) {
    auto array = nvshmemrs::symmetric_array<int>::make(rt, 1);
    if (!array)
        return array.error();
    (*array)[0] = mine;
    if (auto done = rt.world().reduce(nvshmemrs::plus, *array); !done)
        return done.error();
    return (*array)[0];
}

} // namespace

int main(int argc, char **) {
    nvshmemrs::runtime none;
    const auto nobody = none.my_pe();
    CHECK(!nobody && nobody.error().status() == nvshmemrs::ffi::Status::NotInitialized);
    CHECK(std::strlen(nobody.error().what()) > 10 && nobody.value_or(-1) == -1);
    CHECK(!sum_of_all(none, 1));
    CHECK(!none.finalize());

    auto joined = nvshmemrs::runtime::init();
    CHECK(joined);
    nvshmemrs::runtime rt = std::move(*joined);
    const int me = *rt.my_pe(), n = *rt.n_pes();
    CHECK(*sum_of_all(rt, me + 1) == n * (n + 1) / 2);

    auto made = nvshmemrs::symmetric_array<long>::make(rt, 4);
    CHECK(made.has_value());
    auto array = std::move(made).value();
    CHECK(array.at((me + 1) % n)[1].put(7 + me));
    CHECK(rt.world().barrier());
    CHECK(array[1] == 7 + (me + n - 1) % n && array[0] == 0 && array[2] == 0);
    CHECK(*array.at(me)[1].get() == array[1]);
    CHECK(*array.at(me).atomic(2).fetch_add(4) == 0);
    CHECK(++array.at(me).atomic(2));
    CHECK(*array.test(2, nvshmemrs::equal_to, 5));
    CHECK(**array.wait_until_any(nvshmemrs::equal_to, 5) == 2);
    const auto refused = array.at(n)[0].put(1);
    CHECK(!refused && refused.error().status() == nvshmemrs::ffi::Status::PeRange);
    CHECK(std::strstr(refused.error().what(), "`pe`") != nullptr);
    const auto slice = array.slice(2, 3);
    CHECK(!slice && std::strstr(slice.error().what(), "at least 5") != nullptr);

    auto stream = nvshmemrs::stream::make(rt);
    auto signal = nvshmemrs::signal::make(rt);
    CHECK(stream && signal);
    int calls = 0;
    CHECK(stream->call([&calls] { calls++; }));
    CHECK(signal->on(*stream).wait_until(nvshmemrs::equal_to, me == 0 ? 0 : 3));
    CHECK(me + 1 == n || signal->at(me + 1).set(3));
    CHECK(stream->synchronize() && calls == 1);
    CHECK(signal->free() && !signal->free());
    CHECK(rt.finalize());
    const auto again = rt.finalize();
    CHECK(!again && again.error().status() == nvshmemrs::ffi::Status::NotInitialized);
    std::printf("returns ok PE %d\n", me);
    std::fflush(stdout);
    // The value of an error ends the program with the error's text.
    return argc > 1 ? *rt.my_pe() : 0;
}
