// Allocates from several places and frees nothing: a list of allocations must name these lines.
#include <nvshmemrs/nvshmemrs.hpp>

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

void hold(const nvshmemrs::runtime &rt) {
    static nvshmemrs::symmetric_array<short> kept;
    kept = nvshmemrs::symmetric_array<short>(rt, 30); // hold
}

} // namespace field

int main() {
    nvshmemrs_runtime_t rt = 0;
    if (ffi::init(nullptr, &rt) != ffi::Status::Success) {
        return 1;
    }
    field::Maker{rt}.make(100);
    field::fill(rt, 25L);
    nvshmemrs::runtime owner(rt);
    field::hold(owner);
    return ffi::finalize(owner.take()) == ffi::Status::Success ? 0 : 1;
}
