/* Shared parts of the files of libnvshmemrs_shmem.so. The macros below define a function under its `pshmem_` name, with the `shmem_` name
 * as a weak symbol for the same code, so that a tool can define its own. */

#ifndef NVSHMEMRS_SHMEM_INTERNAL_H
#define NVSHMEMRS_SHMEM_INTERNAL_H

#define NVSHMEMRS_SHMEM_EMIT
#define NVSHMEMRS_SHMEM_FUNCTION(RESULT, NAME, ARGS) \
    RESULT p##NAME ARGS; \
    RESULT NAME ARGS __attribute__((__weak__, __alias__("p" #NAME))); \
    RESULT p##NAME ARGS

/* The program's call site of the function that uses it. */
#define NVSHMEMRS_SHMEM_PLACE __builtin_return_address(0)

#ifdef NVSHMEMRS_SHMEM_DEFINES_HOT
#define NVSHMEMRS_SHMEM_HOT(RESULT, NAME, ARGS) NVSHMEMRS_SHMEM_FUNCTION(RESULT, NAME, ARGS)
#else
#define NVSHMEMRS_SHMEM_HOT(RESULT, NAME, ARGS) NVSHMEMRS_SHMEM_INLINE RESULT NAME ARGS
#endif

/* In these files `(void)` marks a status that is ignored on purpose. */
#define NVSHMEMRS_MUST_CHECK
#include "../../../include/shmemx.h"
#include <stdbool.h>

#define HIDDEN __attribute__((__visibility__("hidden")))

/* Drops the state of a runtime that is finalized. */
HIDDEN void nvshmemrs_shmem_forget_contexts(nvshmemrs_runtime_t rt);
HIDDEN void nvshmemrs_shmem_forget_sets(nvshmemrs_runtime_t rt);

/* Handles of teams: the native handles plus 1, so that 0 is no team. */
static inline nvshmemrs_team_t nvshmemrs_shmem_native(shmem_team_t team)
{
    return (nvshmemrs_team_t)(uintptr_t)team - 1;
}

static inline shmem_team_t nvshmemrs_shmem_from_native(nvshmemrs_team_t team)
{
    return (shmem_team_t)(uintptr_t)(team + 1);
}

/* The runtime of a context, and the number of `pe` in the job; false after an error, which has been reported. */
HIDDEN bool nvshmemrs_shmem_enter_ctx(const char *name, shmem_ctx_t ctx, nvshmemrs_runtime_t *rt, int *pe, const void *place);

#define NVSHMEMRS_SHMEM_ENTER_CTX(NAME, RESULT) \
    const char *const nvshmemrs_name = (NAME); \
    nvshmemrs_runtime_t rt; \
    if (!nvshmemrs_shmem_enter_ctx(nvshmemrs_name, ctx, &rt, &pe, NVSHMEMRS_SHMEM_PLACE)) \
    return (RESULT)0

#define NVSHMEMRS_SHMEM_ENTER_TEAM(NAME) \
    const char *const nvshmemrs_name __attribute__((__unused__)) = (NAME); \
    const nvshmemrs_runtime_t rt = nvshmemrs_shmem_now(); \
    const nvshmemrs_team_t native = nvshmemrs_shmem_native(team)

/* A collective returns a status. An address that is not symmetric ends the job: few programs check the status, and all expect static
 * variables to work. */
#define NVSHMEMRS_SHMEM_COLLECTIVE(CALL) \
    do { \
        const int32_t nvshmemrs_status = (CALL); \
        if (nvshmemrs_status == NVSHMEMRS_ERROR_NOT_SYMMETRIC) \
            nvshmemrs_shmem_failed(nvshmemrs_name, nvshmemrs_status, NVSHMEMRS_SHMEM_PLACE); \
        return nvshmemrs_status; \
    } while (0)

/* The team of the active set in the arguments; the function returns after an error, which has been reported. */
HIDDEN bool nvshmemrs_shmem_set(
    const char *name, nvshmemrs_runtime_t rt, int start, int log_stride, int size, nvshmemrs_team_t *team, const void *place);

#define NVSHMEMRS_SHMEM_SET() \
    nvshmemrs_team_t native; \
    (void)pSync; \
    if (!nvshmemrs_shmem_set(nvshmemrs_name, rt, PE_start, logPE_stride, PE_size, &native, NVSHMEMRS_SHMEM_PLACE)) \
    return

/* A negative number of elements becomes larger than any allocation. */
#define NVSHMEMRS_SHMEM_ELEMENTS(COUNT) ((COUNT) < 0 ? SIZE_MAX : (size_t)(COUNT))

/* Collectives that nvshmemrs.h lacks in this form; `dtype` 0 stands for `long double`. */
HIDDEN int32_t nvshmemrs_shmem_reduce(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype, int32_t op);
HIDDEN int32_t nvshmemrs_shmem_inscan(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype);
HIDDEN int32_t nvshmemrs_shmem_exscan(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t count, int32_t dtype);
HIDDEN int32_t nvshmemrs_shmem_set_broadcast(
    nvshmemrs_runtime_t rt, nvshmemrs_team_t team, void *dest, const void *source, size_t bytes, int root);

/* ---- For the files of `bindings/names`, which NVSHMEM's library is compiled from, too ---- */

/* Names of the standard, and of this library's own functions. */
#define STANDARD(NAME) shmem_##NAME
#define STANDARD_TEXT "shmem_"
#define STANDARD_FILE "shmem"
#define CAPITALS(NAME) SHMEM_##NAME
#define STANDARD_CAPITALS "SHMEM_"
#define OWN(NAME) nvshmemrs_shmem_##NAME
#define TEAM_T shmem_team_t
#define CONFIG_T shmem_team_config_t

#define FUNCTION(RESULT, NAME, ARGS) NVSHMEMRS_SHMEM_FUNCTION(RESULT, NAME, ARGS)
#define PLACE NVSHMEMRS_SHMEM_PLACE
#define DO NVSHMEMRS_SHMEM_DO
#define ENTER NVSHMEMRS_SHMEM_ENTER
#define ENTER_TEAM NVSHMEMRS_SHMEM_ENTER_TEAM
/* For collective functions, and for queries of a team. */
#define ENTER_COLLECTIVE NVSHMEMRS_SHMEM_ENTER
#define ENTER_TEAM_QUERY NVSHMEMRS_SHMEM_ENTER_TEAM

/* The runtime for the collective function `name`. */
static inline nvshmemrs_runtime_t nvshmemrs_shmem_complete(const char *name)
{
    (void)name;
    return nvshmemrs_shmem_now();
}

/* The runtime for the end of the job; init has one stage, so there is nothing to wait for. */
static inline nvshmemrs_runtime_t nvshmemrs_shmem_known(bool *joining)
{
    *joining = false;
    return nvshmemrs_shmem_now();
}

/* The status of a call with a runtime. The core reports a missing runtime. */
#define WITH(RT, CALL) (CALL)

/* The size of an allocation of so many bytes. */
static inline size_t nvshmemrs_shmem_whole(size_t bytes)
{
    return bytes;
}

#include "../../names/shared.h"

#endif /* NVSHMEMRS_SHMEM_INTERNAL_H */
