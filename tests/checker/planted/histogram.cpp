/* A histogram whose bins are spread over the PEs.
 *
 * Bug: a bin is read, raised and written back, and two PEs may do so at once. It takes an atomic addition.
 * Not instrumented: all are calls of the library.
 * Expect: two writers: put at A, put at A
 * Expect: read early or write early: put at A, get at B
 */
#include "job.h"
#include <nvshmemrs/ffi.hpp>

#include <vector>

namespace ffi = nvshmemrs::ffi;

namespace {

constexpr int VALUES = 40;

template <typename T> void raise(T *bin, int pe) {
#ifdef MENDED
    CALL(nvshmemrs_atomic_add64(rt, bin, 1, pe));
#else
    T count = 0;
    auto read = ffi::get(rt, &count, bin, sizeof count, pe); // B
    count++;
    auto written = ffi::put(rt, bin, &count, sizeof count, pe); // A
    if (read != ffi::Status::Success || written != ffi::Status::Success) {
        std::exit(1);
    }
    CALL(nvshmemrs_quiet(rt));
#endif
}

} // namespace

int main() {
    join();
    auto *bin = static_cast<std::uint64_t *>(zeroed(1, sizeof(std::uint64_t)));
    std::vector<int> values;
    for (int i = 0; i < VALUES; i++) {
        values.push_back((i * 7 + me) % n);
    }
    for (int value : values) {
        raise(bin, value);
    }
    barrier();
    std::uint64_t mine = 0, all = 0;
    for (int pe = 0; pe < n; pe++) {
        CALL(nvshmemrs_g64(rt, bin, pe, &mine));
        all += mine;
    }
    EXPECT(all == static_cast<std::uint64_t>(VALUES) * n);
    barrier();
    CALL(nvshmemrs_free(rt, bin));
    return leave();
}
