// The device code for fake_cuda.c, which runs it where a GPU would.
#include "all.hpp"

#include <atomic>
#include <tuple>

extern "C" {
// As in fake_cuda.c.
struct fake_kernel {
    const char *name;
    // Its parameters.
    int count;
    size_t sizes[6];
    // Whether it waits for other PEs.
    int waits;
    void (*run)(unsigned grid, unsigned block, void **args);
};
__attribute__((visibility("default"))) const fake_kernel *fake_kernel_find(const char *name);
}

template <auto FUNCTION, bool WAITS>
struct Runs;

template <class... P, void (*FUNCTION)(P...), bool WAITS>
struct Runs<FUNCTION, WAITS> {
    static void run(unsigned grid, unsigned block, void **args) {
        with(grid, block, args, std::index_sequence_for<P...>());
    }

    template <size_t... I>
    static void with(unsigned grid, unsigned block, void **args, std::index_sequence<I...>) {
        static std::atomic<u32> seed{1};
        (void)args;
        std::tuple<P...> values{*(P *)args[I]...};
        device::launch(grid, block, seed++, [&] { std::apply(FUNCTION, values); }, WAITS);
    }

    static fake_kernel of(const char *name) { return {name, sizeof...(P), {sizeof(P)...}, WAITS, run}; }
};

#define PLAIN(name) Runs<nvshmemrs_##name, false>::of("nvshmemrs_" #name)
#define WAITS(name) Runs<nvshmemrs_##name, true>::of("nvshmemrs_" #name)
#define BOTH(name) WAITS(name), WAITS(name##_flags)

const fake_kernel *fake_kernel_find(const char *name) {
    static const fake_kernel all[] = {
        PLAIN(copy), PLAIN(move), PLAIN(copy_strided), PLAIN(put_value), PLAIN(signal), PLAIN(put_signal), PLAIN(atomic),
        WAITS(wait), PLAIN(fence), PLAIN(quiet), WAITS(barrier), BOTH(broadcast), BOTH(fcollect), BOTH(alltoall),
        WAITS(alltoalls), WAITS(collect), BOTH(reduce_8), BOTH(reduce_16), BOTH(reduce_32), BOTH(reduce_64), BOTH(reduce_half),
        BOTH(reduce_bfloat16), BOTH(reduce_float), BOTH(reduce_double), BOTH(reduce_complexf), BOTH(reduce_complexd),
    };
    for (const fake_kernel &kernel : all)
        if (!strcmp(kernel.name, name)) return &kernel;
    return nullptr;
}
