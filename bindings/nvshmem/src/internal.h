/* Declarations that the files of libnvshmemrs_nvshmem.so share. */

#ifndef NVSHMEMRS_NVSHMEM_INTERNAL_H
#define NVSHMEMRS_NVSHMEM_INTERNAL_H

/* In these files `(void)` marks a status that is ignored on purpose. */
#define NVSHMEMRS_MUST_CHECK
/* The library needs no CUDA header: CUDA's types are pointers, or the bits of numbers of 16 bits. */
#include "../../../include/nvshmemrs.h"
#include "../../../include/nvshmemx.h"
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define HIDDEN __attribute__((__visibility__("hidden")))

/* ---- A PE of this process that joined through this library, or is known to it ---- */

struct nvshmemrs_nvshmem_member {
    nvshmemrs_runtime_t rt;
    /* The number of init calls without finalize; whether the last finalize has begun. */
    unsigned inits;
    bool leaving;
    /* Whether another interface has joined, and owns the runtime. */
    bool adopted;
    /* Whether the second stage of init is over; and the lock of the thread in it. */
    bool complete;
    pthread_mutex_t completing;
    /* The status and the reason of a failed init; 0 and NULL otherwise. */
    int32_t failed;
    char *reason;
    /* How it joined: the flags, and the arguments that they announce. */
    unsigned flags;
    nvshmemrs_unique_id_t id;
    int rank, n_ranks;
    uint64_t comm;
    /* The GPU requested at init, or -1. */
    int device;
    /* Streams of NULL, cudaStreamLegacy and cudaStreamPerThread; 0 until they are used. */
    nvshmemrs_stream_t streams[3];
    struct nvshmemrs_nvshmem_member *next;
};

/* The calling thread's PE; NULL before init. */
HIDDEN struct nvshmemrs_nvshmem_member *nvshmemrs_nvshmem_member(void);

/* The runtime of a process that is one PE, after init is complete; else 0. */
extern HIDDEN nvshmemrs_runtime_t nvshmemrs_nvshmem_only;
HIDDEN nvshmemrs_runtime_t nvshmemrs_nvshmem_find(void) __attribute__((__cold__));

/* The runtime of the calling thread in its present stage of init; 0 before init. */
static inline nvshmemrs_runtime_t nvshmemrs_nvshmem_now(void)
{
    const nvshmemrs_runtime_t runtime = __atomic_load_n(&nvshmemrs_nvshmem_only, __ATOMIC_RELAXED);
    return __builtin_expect(runtime != 0, 1) ? runtime : nvshmemrs_nvshmem_find();
}

/* The runtime after the second stage of init, which this call runs if necessary for the function `name`. */
HIDDEN nvshmemrs_runtime_t nvshmemrs_nvshmem_complete_now(const char *name) __attribute__((__cold__));
static inline nvshmemrs_runtime_t nvshmemrs_nvshmem_complete(const char *name)
{
    const nvshmemrs_runtime_t runtime = __atomic_load_n(&nvshmemrs_nvshmem_only, __ATOMIC_RELAXED);
    return __builtin_expect(runtime != 0, 1) ? runtime : nvshmemrs_nvshmem_complete_now(name);
}

/* The runtime for the end of the job, without waiting for threads that are joining; `joining`: there is such a thread. */
HIDDEN nvshmemrs_runtime_t nvshmemrs_nvshmem_known(bool *joining);

/* The status of a call without a runtime. */
HIDDEN int32_t nvshmemrs_nvshmem_absent(void) __attribute__((__cold__));

/* Gives the kernels of this process their state, after init is complete; returns the reason for a failure, else NULL. */
HIDDEN const char *nvshmemrs_nvshmem_fill_all(nvshmemrs_runtime_t runtime);
/* Clears the state, before finalize. */
HIDDEN void nvshmemrs_nvshmem_clear_all(nvshmemrs_runtime_t runtime);

/* Waits for the streams that the library keeps for a PE, and frees them. Returns the first error of a queued call. */
HIDDEN int32_t nvshmemrs_nvshmem_end_streams(struct nvshmemrs_nvshmem_member *member);
/* Drops registrations that the program has not ended. */
HIDDEN void nvshmemrs_nvshmem_forget(void);

/* ---- Teams ---- */

/* The bits of a team's number below the count of teams. */
#define TEAM_BITS 8

static inline nvshmemrs_team_t nvshmemrs_nvshmem_native(nvshmem_team_t team)
{
    if (team == NVSHMEM_TEAM_INVALID)
        return NVSHMEMRS_TEAM_INVALID;
    if (team == NVSHMEM_TEAM_MC_SHARED)
        return NVSHMEMRS_TEAM_SHARED;
    return (uint64_t)((uint32_t)team >> TEAM_BITS) << 32 | ((uint32_t)team & ((1u << TEAM_BITS) - 1));
}

/* The core counts teams in this many bits. */
static inline nvshmem_team_t nvshmemrs_nvshmem_from_native(nvshmemrs_team_t team)
{
    return team == NVSHMEMRS_TEAM_INVALID ? NVSHMEM_TEAM_INVALID : (nvshmem_team_t)(team >> 32 << TEAM_BITS | (uint32_t)team);
}

/* ---- Streams ---- */

/* The handle of a stream, for calls that take it in place of a runtime's; 0 after an error, which has been reported. */
HIDDEN nvshmemrs_stream_t nvshmemrs_nvshmem_handle_of(const char *name, cudaStream_t stream, const void *place);

/* ---- Macros for the generated functions ---- */

#define NVSHMEMRS_NVSHMEM_FUNCTION(RESULT, NAME, ARGS) RESULT NAME ARGS

/* The program's call site of the function that uses it. */
#define NVSHMEMRS_NVSHMEM_PLACE __builtin_return_address(0)

#define NVSHMEMRS_NVSHMEM_ENTER(NAME) \
    const char *const nvshmemrs_name __attribute__((__unused__)) = (NAME); \
    const nvshmemrs_runtime_t rt __attribute__((__unused__)) = nvshmemrs_nvshmem_now()

#define NVSHMEMRS_NVSHMEM_ENTER_TEAM(NAME) \
    const char *const nvshmemrs_name __attribute__((__unused__)) = (NAME); \
    const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_complete(nvshmemrs_name); \
    const nvshmemrs_team_t native = nvshmemrs_nvshmem_native(team)

#define NVSHMEMRS_NVSHMEM_ENTER_STREAM(NAME) \
    const char *const nvshmemrs_name __attribute__((__unused__)) = (NAME); \
    const nvshmemrs_stream_t rt = nvshmemrs_nvshmem_handle_of(nvshmemrs_name, stream, NVSHMEMRS_NVSHMEM_PLACE)

#define NVSHMEMRS_NVSHMEM_ENTER_TEAM_STREAM(NAME) \
    NVSHMEMRS_NVSHMEM_ENTER_STREAM(NAME); \
    const nvshmemrs_team_t native = nvshmemrs_nvshmem_native(team)

/* The status of a call with the handle `RT` of a runtime or a stream. Without a handle the core is not called, because its error would hide
 * the reason. */
#define WITH(RT, CALL) (__builtin_expect((RT) != 0, 1) ? (CALL) : nvshmemrs_nvshmem_absent())

#define NVSHMEMRS_NVSHMEM_DO(CALL) \
    do { \
        const int32_t nvshmemrs_status = WITH(rt, CALL); \
        if (__builtin_expect(nvshmemrs_status != 0, 0)) \
            nvshmemrs_nvshmem_failed(nvshmemrs_name, nvshmemrs_status, NVSHMEMRS_NVSHMEM_PLACE); \
    } while (0)

/* A collective of all PEs, which completes init. */
#define NVSHMEMRS_NVSHMEM_ALL(CALL) \
    do { \
        const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_complete(nvshmemrs_name); \
        NVSHMEMRS_NVSHMEM_DO(CALL); \
    } while (0)

/* A collective returns a status. An address that is not symmetric ends the job, because few programs check the status. */
#define NVSHMEMRS_NVSHMEM_COLLECTIVE(CALL) \
    do { \
        const int32_t nvshmemrs_status = WITH(rt, CALL); \
        if (nvshmemrs_status == NVSHMEMRS_ERROR_NOT_SYMMETRIC) \
            nvshmemrs_nvshmem_failed(nvshmemrs_name, nvshmemrs_status, NVSHMEMRS_NVSHMEM_PLACE); \
        return nvshmemrs_status; \
    } while (0)

/* A size that overflows becomes larger than any allocation. */
#define NVSHMEMRS_NVSHMEM_BYTES(COUNT, SIZE) nvshmemrs_nvshmem_bytes((COUNT), (SIZE))
static inline size_t nvshmemrs_nvshmem_bytes(size_t count, size_t size)
{
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes;
}

#define ONE(BITS) \
    if (bytes == BITS / 8) { \
        uint##BITS##_t one; \
        memcpy(&one, value, sizeof one); \
        return nvshmemrs_p##BITS(rt, dest, one, pe); \
    }
static inline int32_t nvshmemrs_nvshmem_put_one(nvshmemrs_runtime_t rt, void *dest, const void *value, size_t bytes, int pe)
{
    ONE(8) ONE(16) ONE(32) ONE(64)
    return NVSHMEMRS_ERROR_INTERNAL;
}
#undef ONE

/* Works on streams, too, because a call with a result waits until the stream has run it. */
#define ONE(BITS) \
    if (bytes == BITS / 8) { \
        uint##BITS##_t one = 0; \
        const int32_t status = nvshmemrs_g##BITS(rt, source, pe, &one); \
        memcpy(value, &one, sizeof one); \
        return status; \
    }
static inline int32_t nvshmemrs_nvshmem_get_one(nvshmemrs_runtime_t rt, const void *source, void *value, size_t bytes, int pe)
{
    ONE(8) ONE(16) ONE(32) ONE(64)
    return NVSHMEMRS_ERROR_INTERNAL;
}
#undef ONE

#define NVSHMEMRS_NVSHMEM_CARRIER32 uint32_t
#define NVSHMEMRS_NVSHMEM_CARRIER64 uint64_t
#define NVSHMEMRS_NVSHMEM_CARRIER_float float
#define NVSHMEMRS_NVSHMEM_CARRIER_double double

/* Atomic operations of `half`. */
enum nvshmemrs_nvshmem_half { HALF_FETCH, HALF_SET, HALF_SWAP, HALF_ADD };
HIDDEN int32_t nvshmemrs_nvshmem_half(
    nvshmemrs_runtime_t rt, const half *address, enum nvshmemrs_nvshmem_half operation, const half *value, int pe, half *old);

/* ---- For the files of `bindings/names`, which OpenSHMEM's library is compiled from, too ---- */

#define STANDARD(NAME) nvshmem_##NAME
#define STANDARD_TEXT "nvshmem_"
#define STANDARD_FILE "nvshmem"
#define CAPITALS(NAME) NVSHMEM_##NAME
#define STANDARD_CAPITALS "NVSHMEM_"
#define OWN(NAME) nvshmemrs_nvshmem_##NAME
#define TEAM_T nvshmem_team_t
#define CONFIG_T nvshmem_team_config_t

#define FUNCTION(RESULT, NAME, ARGS) NVSHMEMRS_NVSHMEM_FUNCTION(RESULT, NAME, ARGS)
#define PLACE NVSHMEMRS_NVSHMEM_PLACE
#define DO NVSHMEMRS_NVSHMEM_DO
#define ENTER NVSHMEMRS_NVSHMEM_ENTER
#define ENTER_TEAM NVSHMEMRS_NVSHMEM_ENTER_TEAM
/* For collective functions, and for queries of a team. */
#define ENTER_COLLECTIVE(NAME) \
    const char *const nvshmemrs_name __attribute__((__unused__)) = (NAME); \
    const nvshmemrs_runtime_t rt = nvshmemrs_nvshmem_complete(nvshmemrs_name)
#define ENTER_TEAM_QUERY(NAME) \
    NVSHMEMRS_NVSHMEM_ENTER(NAME); \
    const nvshmemrs_team_t native = nvshmemrs_nvshmem_native(team)

/* Reports that the function `name`, called from `place`, has failed, and ends the job, unless NVSHMEMRS_ON_ERROR=return is set. */
HIDDEN void nvshmemrs_nvshmem_failed(const char *name, int32_t status, const void *place) __attribute__((__cold__));

/* The size of an allocation of so many bytes: whole words, because atomic operations of `half` access the enclosing 32 bits. */
static inline size_t nvshmemrs_nvshmem_whole(size_t bytes)
{
    return bytes > SIZE_MAX - 3 ? bytes : (bytes + 3) & ~(size_t)3;
}

#include "../../names/shared.h"

#endif /* NVSHMEMRS_NVSHMEM_INTERNAL_H */
