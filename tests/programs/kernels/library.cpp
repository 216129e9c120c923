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

// The threads of a kernel wait for other PEs, synchronize within their block, or do neither.
enum class Threads { WAIT, MEET, APART };

template <auto FUNCTION, Threads THREADS>
struct Runs;

template <class... P, void (*FUNCTION)(P...), Threads THREADS>
struct Runs<FUNCTION, THREADS> {
    static void run(unsigned grid, unsigned block, void **args) {
        with(grid, block, args, std::index_sequence_for<P...>());
    }

    template <size_t... I>
    static void with(unsigned grid, unsigned block, void **args, std::index_sequence<I...>) {
        static std::atomic<u32> seed{1};
        (void)args;
        std::tuple<P...> values{*(P *)args[I]...};
        auto body = [&] { std::apply(FUNCTION, values); };
        if (THREADS == Threads::APART) device::launch_apart(grid, block, body);
        else device::launch(grid, block, seed++, body);
    }

    static fake_kernel of(const char *name) {
        return {name, sizeof...(P), {sizeof(P)...}, THREADS == Threads::WAIT, run};
    }
};

#define APART(name) Runs<nvshmemrs_##name, Threads::APART>::of("nvshmemrs_" #name)
#define MEETS(name) Runs<nvshmemrs_##name, Threads::MEET>::of("nvshmemrs_" #name)
#define WAITS(name) Runs<nvshmemrs_##name, Threads::WAIT>::of("nvshmemrs_" #name)
#define ALL(name) WAITS(name), WAITS(name##_flags), WAITS(name##_lamport)
#define REDUCES(name, T) ALL(reduce_##name),

const fake_kernel *fake_kernel_find(const char *name) {
    static const fake_kernel all[] = {
        APART(copy), MEETS(move), APART(copy_strided), APART(put_value), APART(signal), MEETS(put_signal),
        APART(atomic), WAITS(wait), APART(fence), APART(quiet), WAITS(barrier), ALL(broadcast), ALL(fcollect), ALL(alltoall),
        ALL(gather), ALL(scatter),
        WAITS(alltoalls), WAITS(collect), INTEGER_REDUCTIONS(REDUCES) OTHER_REDUCTIONS(REDUCES)
    };
    for (const fake_kernel &kernel : all)
        if (!strcmp(kernel.name, name)) return &kernel;
    return nullptr;
}
