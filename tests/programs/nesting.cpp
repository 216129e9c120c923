// A runtime that is joined twice: each object finalizes once.

#include <nvshmemrs/nvshmemrs.hpp>

#include <cstdio>
#include <cstdlib>

static void sure(bool well, const char *what)
{
    if (well)
        return;
    std::fprintf(stderr, "%s: %s\n", what, nvshmemrs_last_error());
    std::exit(5);
}

#define SURE(condition) sure(condition, #condition)

// The status of the error that a call throws.
template <typename Call> static nvshmemrs::ffi::Status fails(Call &&call)
{
    try {
        call();
    } catch (const nvshmemrs::error &problem) {
        return problem.status();
    }
    return nvshmemrs::ffi::Status::Success;
}

int main()
{
    auto outer = nvshmemrs::runtime::init();
    {
        auto inner = nvshmemrs::runtime::init();
        SURE(inner.handle() == outer.handle());
        auto attr = nvshmemrs::runtime::defaults();
        attr.heap_bytes = 3 << 20;
        SURE(fails([&] { nvshmemrs::runtime::init(attr); }) == nvshmemrs::ffi::Status::InvalidValue);
        inner.finalize();
        SURE(!inner);
        SURE(fails([&] { inner.finalize(); }) == nvshmemrs::ffi::Status::NotInitialized);
    }
    SURE(outer.my_pe() < outer.n_pes());
    outer.world().barrier();
    outer.finalize();
    SURE(fails([&] { outer.my_pe(); }) == nvshmemrs::ffi::Status::NotInitialized);
    std::puts("all well");
}
