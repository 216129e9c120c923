// Every wait and test in every type: all comparisons, excluded elements, empty sets, values that a neighbour puts while a kernel waits, and
// a broken job.
#include "job.hpp"

#include "waits.cuh"

#include <set>
#include <vector>

static Pe pe;

static const u64 NONE = ~0ul;

template <class T> static bool holds(int cmp, T a, T b) {
    return cmp == NVSHMEMRS_CMP_EQ ? a == b : cmp == NVSHMEMRS_CMP_NE ? a != b : cmp == NVSHMEMRS_CMP_GT ? a > b : cmp == NVSHMEMRS_CMP_LE ? a <= b
           : cmp == NVSHMEMRS_CMP_LT ? a < b : a >= b;
}

template <class T> struct Waits {
    static constexpr int N = 7;
    std::string name;
    void (*kernel)(Wait<T>, int);
    T *ivars = pe.array<T>(N);
    u64 indices[N + 1] = {}, result[1] = {};

    void fail_in(int what, int cmp) { fail(name + " function " + std::to_string(what) + ", comparison " + std::to_string(cmp)); }

    u64 run(int what, u64 n, const int *status, int cmp, T value, const T *values) {
        std::fill(indices, indices + N + 1, 99);
        Wait<T> w = {pe.state, ivars, n, status, cmp, value, values, indices, result};
        static uint32_t seed = 0;
        nvshmemrs::host::Options options;
        options.seed = ++seed;
        nvshmemrs::host::launch(1, 1, [&] { kernel(w, what); }, options);
        return *result;
    }

    // Against a model, for elements that do not change. Waits are called where they end.
    void model() {
        const T low = (T)-2, values[N] = {1, 2, low, 4, 3, low, 7}, elements[N] = {1, 3, low, 2, 3, 0, 6};
        const int some[N] = {0, 1, 0, 0, 2, 0, 0}, everything[N] = {1, 1, 1, 1, 1, 1, 1};
        std::copy(elements, elements + N, ivars);
        for (const int *status : {(const int *)nullptr, some, everything})
            for (u64 n : {(u64)0, (u64)N})
                for (int cmp = 0; cmp < 6; cmp++)
                    for (bool vector : {false, true}) {
                        std::set<u64> holding;
                        u64 looked = 0;
                        for (u64 i = 0; i < n; i++) {
                            if (status && status[i]) continue;
                            looked++;
                            if (holds<T>(cmp, elements[i], vector ? values[i] : (T)2)) holding.insert(i);
                        }
                        const int by = vector ? ALL_VECTOR_ - ALL_ : 0, tests = vector ? TEST_ALL_VECTOR_ : TEST_ALL_;
                        bool all = holding.size() == looked;
                        for (bool test : {false, true}) {
                            int base = test ? tests : ALL_ + by;
                            if (test || all)
                                if (run(base, n, status, cmp, 2, values) != (u64)all) fail_in(base, cmp);
                            if (!test && holding.empty() && looked) continue;
                            u64 any = run(base + 1, n, status, cmp, 2, values);
                            if (holding.empty() ? any != NONE : !holding.count(any)) fail_in(base + 1, cmp);
                            u64 count = run(base + 2, n, status, cmp, 2, values);
                            if (count != holding.size() || indices[count] != 99 || std::set<u64>(indices, indices + count) != holding) fail_in(base + 2, cmp);
                        }
                    }
        for (int cmp = 0; cmp < 6; cmp++)
            for (int i = 0; i < N; i++) {
                ivars[0] = elements[i];
                bool good = holds<T>(cmp, elements[i], 2);
                if (run(TEST_, 1, nullptr, cmp, 2, nullptr) != good) fail_in(TEST_, cmp);
                if (good) run(UNTIL_, 1, nullptr, cmp, 2, nullptr);
            }
    }

    // The right neighbour's waits end when this PE's puts arrive.
    void from_a_neighbour() {
        for (int what : {UNTIL_, ALL_, ANY_, SOME_, ALL_VECTOR_, ANY_VECTOR_, SOME_VECTOR_}) {
            const T values[N] = {5, 5, 5, 5, 5, 5, 5};
            std::fill(ivars, ivars + N, 0);
            pe.barrier();
            nvshmemrs::host::launch(2, 1, [&] {
                if (blockIdx.x == 0) {
                    Wait<T> w = {pe.state, ivars, N, nullptr, NVSHMEMRS_CMP_EQ, 5, values, indices, result};
                    kernel(w, what);
                    return;
                }
                for (int i = N; i-- > 0;) {
                    nvshmemrs::host::yield();
                    // As p of the type does, which rma.cpp looks at.
                    nvshmemrs::device::p<T>(pe.state, ivars + i, 5, pe.right());
                }
            });
            bool any = what == ANY_ || what == ANY_VECTOR_, some = what == SOME_ || what == SOME_VECTOR_;
            check(any ? *result < N : some ? *result >= 1 && *result <= N : *result == 1, name + ": a wait for a neighbour");
            pe.barrier();
            for (int i = 0; i < N; i++) check(ivars[i] == 5, name + ": what a neighbour put");
        }
    }

    // Elements that hold all the time all have their turn.
    void turns() {
        std::fill(ivars, ivars + N, 1);
        for (int what : {ANY_, TEST_ANY_}) {
            std::set<u64> seen;
            for (int i = 0; i < 2000 && seen.size() < N; i++) seen.insert(run(what, N, nullptr, NVSHMEMRS_CMP_EQ, 1, nullptr));
            check(seen.size() == N, name + ": an element that holds has no turn");
        }
    }

    // A broken job ends every wait.
    void broken() {
        std::fill(ivars, ivars + N, 0);
        unsigned abort = 1;
        State state = pe.state;
        pe.state.abort = (u64)&abort;
        pe.give_state();
        for (int what : {UNTIL_, ALL_, ANY_, SOME_, ALL_VECTOR_, ANY_VECTOR_, SOME_VECTOR_}) {
            const T values[N] = {5, 5, 5, 5, 5, 5, 5};
            u64 got = run(what, N, nullptr, NVSHMEMRS_CMP_EQ, 5, values);
            bool any = what == ANY_ || what == ANY_VECTOR_, some = what == SOME_ || what == SOME_VECTOR_;
            check(got == (any ? NONE : some ? 0 : 1), name + ": a wait in a broken job");
        }
        pe.state = state;
        pe.give_state();
    }
};

static void signals() {
    u64 *signal = pe.array<u64>(1), result[2];
    *signal = 0;
    pe.barrier();
    nvshmemrs::host::launch(2, 1, [&] {
        if (blockIdx.x == 0) wait_signal(pe.state, signal, NVSHMEMRS_CMP_GE, 3, result);
        else
            for (int i = 0; i < 3; i++) nvshmemrs_signal_op(pe.state, signal, 1, NVSHMEMRS_SIGNAL_ADD, pe.right());
    });
    check(result[0] == 3 && result[1] == 3, "signal_wait_until");
    unsigned abort = 1;
    const State whole = pe.state;
    pe.state.abort = (u64)&abort;
    pe.give_state();
    nvshmemrs::host::launch(1, 1, [&] { wait_signal(pe.state, signal, NVSHMEMRS_CMP_GT, 3, result); });
    check(result[0] == 3, "signal_wait_until in a broken job");
    // Collectives fail there, too, where a member does not come.
    int got = 0;
    if (pe.n > 1 && pe.me == 0) {
        nvshmemrs::host::launch(1, 40, [&] {
            int status = nvshmemrs_barrier_all_block(pe.state, 127);
            if (threadIdx.x == 39) got = status;
        });
        check(got == -1, "a barrier in a broken job");
    }
    pe.state = whole;
    pe.give_state();
}

static void tell() {
    u64 *signal = pe.array<u64>(1);
    *signal = 5;
    int numbers[7], major, minor, patch;
    char name[256];
    nvshmemrs::host::launch(1, 1, [&] { about(pe.state, signal, numbers, name); });
    call(nvshmemrs_version(&major, &minor, &patch));
#ifdef NVSHMEM_NAMES
    check(numbers[0] == NVSHMEM_MAJOR_VERSION && numbers[1] == NVSHMEM_MINOR_VERSION, "the version of the standard");
    check(numbers[2] == 3 && numbers[3] == 8 && numbers[4] == 0 && name == std::string(NVSHMEM_VENDOR_STRING), "NVSHMEM's version");
#else
    check(std::string(name) == nvshmemrs_name(), std::string("the header is ") + name + ", the library is " + nvshmemrs_name());
    check(numbers[0] == 1 && numbers[1] == 5, "the version of OpenSHMEM");
    check(numbers[2] == major && numbers[3] == minor && numbers[4] == patch, "the header's version is not the library's");
#endif
    check(numbers[5] == 0 && numbers[6] == 0, "a region is nothing");
    check(*signal == 0, "a signal that is reset");
    State other = pe.state, none = {};
    other.version++;
    check(nvshmemrs_device_state_fits(pe.state) && !nvshmemrs_device_state_fits(other) && !nvshmemrs_device_state_fits(none), "which state fits");
}

static void ask() {
    u8 *symmetric = pe.array<u8>(8);
    long result[6];
    void *places[3], *right;
    call(nvshmemrs_ptr(pe.runtime, symmetric, pe.right(), &right));
    nvshmemrs::host::launch(1, 1, [&] { queries(pe.state, symmetric, pe.right(), result, places); });
    check(result[0] == pe.me && result[1] == pe.n && result[2] == 0, "who am I");
    check(result[3] == pe.me && result[4] == pe.n && result[5] == pe.right(), "team queries");
    check(places[0] == right && places[1] == nullptr && places[2] == nullptr, "ptr");
    for (int other : {-1, pe.n}) {
        nvshmemrs::host::launch(1, 1, [&] { queries(pe.state, symmetric, other, result, places); });
        check(places[0] == nullptr && result[5] == -1, "a PE that there is not");
    }
}

int main() {
    pe = start();
#define WAIT_TEST(NAME, T) { Waits<T> waits{#NAME, wait_##NAME}; waits.model(); waits.from_a_neighbour(); }
    WAIT_TYPES(WAIT_TEST)
    Waits<int> ints{"int", wait_int};
    ints.turns();
    ints.broken();
    ask();
    tell();
    signals();
    pe.barrier();
    printf("waits ok PE %d of %d\n", pe.me, pe.n);
    call(nvshmemrs_finalize(pe.runtime));
}
