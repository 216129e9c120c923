/* Shared by the correct programs of this folder. Each file is one program with many scenarios; each scenario allocates its own memory,
 * checks its own result and frees what it has allocated. With arguments only the scenarios that they name run. */

#ifndef SCENARIO_H
#define SCENARIO_H

#define MENDED
#include "../planted/job.h"

/* A scenario by its name. */
struct scenario {
    const char *name;
    void (*run)(void);
};

#define SCENARIO(name) { #name, name }

static inline void wait64(uint64_t *word, int cmp, uint64_t value)
{
    CALL(nvshmemrs_wait_until(rt, word, cmp, &value, NVSHMEMRS_DTYPE_UINT64));
}

static inline uint64_t signal_at_least(uint64_t *signal, uint64_t value)
{
    uint64_t seen;
    CALL(nvshmemrs_signal_wait(rt, signal, NVSHMEMRS_CMP_GE, value, &seen));
    return seen;
}

static inline void put(void *dest, const void *source, size_t bytes, int pe)
{
    CALL(nvshmemrs_put(rt, dest, source, bytes, pe));
}

static inline void get(void *dest, const void *source, size_t bytes, int pe)
{
    CALL(nvshmemrs_get(rt, dest, source, bytes, pe));
}

static inline void p64(uint64_t *dest, uint64_t value, int pe)
{
    CALL(nvshmemrs_p64(rt, dest, value, pe));
}

static inline uint64_t g64(const uint64_t *source, int pe)
{
    uint64_t value;
    CALL(nvshmemrs_g64(rt, source, pe, &value));
    return value;
}

static inline uint64_t fetch_add(uint64_t *dest, uint64_t value, int pe)
{
    uint64_t old;
    CALL(nvshmemrs_atomic_fetch_add64(rt, dest, value, pe, &old));
    return old;
}

static inline uint64_t atomic_fetch(const uint64_t *source, int pe)
{
    uint64_t value;
    CALL(nvshmemrs_atomic_fetch64(rt, source, pe, &value));
    return value;
}

static inline void fence(void)
{
    CALL(nvshmemrs_fence(rt));
}

static inline void quiet(void)
{
    CALL(nvshmemrs_quiet(rt));
}

static inline int right_of(int pe)
{
    return (pe + 1) % n;
}

static inline int left_of(int pe)
{
    return (pe + n - 1) % n;
}

static int run_scenarios(const struct scenario *all, size_t count, int argc, char **argv)
{
    join();
    for (size_t i = 0; i < count; i++) {
        int wanted = argc < 2;
        for (int k = 1; k < argc; k++) {
            wanted |= !strcmp(argv[k], all[i].name);
        }
        if (wanted) {
            all[i].run();
        }
    }
    return leave();
}

#define SCENARIOS(...)                                                              \
    int main(int argc, char **argv)                                                 \
    {                                                                               \
        static const struct scenario all[] = { __VA_ARGS__ };                       \
        return run_scenarios(all, sizeof all / sizeof *all, argc, argv);            \
    }

#endif
