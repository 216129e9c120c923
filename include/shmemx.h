/* Functions of nvshmemrs beside OpenSHMEM's. The library's own functions, of `nvshmemrs.h`, may be called, too: they take the
 * runtime that `shmemx_runtime` gives. */

#ifndef NVSHMEMRS_SHMEMX_H
#define NVSHMEMRS_SHMEMX_H

#include "shmem.h"

/* Predefined teams: the PEs on the host of this PE, and those that have its number on their own hosts. */
#define SHMEMX_TEAM_NODE ((shmem_team_t)3)
#define SHMEMX_TEAM_SAME_MYPE_NODE ((shmem_team_t)4)

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime behind the functions of OpenSHMEM on this thread; 0 before `shmem_init`. */
nvshmemrs_runtime_t shmemx_runtime(void);

/* The handle of a team for functions of `nvshmemrs.h`. */
nvshmemrs_team_t shmemx_team(shmem_team_t team);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* NVSHMEMRS_SHMEMX_H */
