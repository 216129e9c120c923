// Allocates from several places and frees nothing: whoever lists allocations must name these lines.
#include <nvshmemrs/ffi.hpp>

#include <cstddef>

namespace ffi = nvshmemrs::ffi;

namespace field {

struct Maker {
    nvshmemrs_runtime_t rt;

    void make(std::size_t bytes) const {
        void *memory = nullptr;
        (void)ffi::malloc(rt, bytes, &memory); // make
    }
};

template <typename T> void fill(nvshmemrs_runtime_t rt, T count) {
    void *memory = nullptr;
    (void)ffi::calloc(rt, static_cast<std::size_t>(count), sizeof(T), &memory); // fill
}

} // namespace field

int main() {
    nvshmemrs_runtime_t rt = 0;
    if (ffi::init(nullptr, &rt) != ffi::Status::Success) {
        return 1;
    }
    field::Maker{rt}.make(100);
    field::fill(rt, 25L);
    return ffi::finalize(rt) == ffi::Status::Success ? 0 : 1;
}
