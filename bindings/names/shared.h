/* The functions of this folder, as the library of a standard that they are compiled for sees them. Its `internal.h` includes this. */

#ifndef NVSHMEMRS_NAMES_SHARED_H
#define NVSHMEMRS_NAMES_SHARED_H

/* Whether a call without a result that fails returns (NVSHMEMRS_ON_ERROR=return). */
HIDDEN bool OWN(returns)(void);

/* As `OWN(failed)`, for a mistake that this library notices. */
HIDDEN void OWN(misused)(const char *name, const void *place, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* Whether a runtime of this process has been finalized. */
extern HIDDEN bool OWN(finalized);

/* The result of an allocation: NULL where the arguments or the heap are to blame. */
HIDDEN void *OWN(allocated)(const char *name, int32_t status, void *const *memory, const void *place);

/* The native configuration of a team; NULL for NULL. */
HIDDEN const nvshmemrs_team_config_t *OWN(config_of)(const CONFIG_T *config, nvshmemrs_team_config_t *native);

#endif /* NVSHMEMRS_NAMES_SHARED_H */
