/* The functions of this folder, as the including library sees them. Its `internal.h` includes this file. */

#ifndef NVSHMEMRS_NAMES_SHARED_H
#define NVSHMEMRS_NAMES_SHARED_H

#include <time.h>

/* Whether a call without a result returns after a failure (NVSHMEMRS_ON_ERROR=return). */
HIDDEN bool OWN(returns)(void);

/* As `OWN(failed)`, for an error that this library detects. If it returns, the error is the last one of `nvshmemrs_last_error`. */
HIDDEN void OWN(misused)(const char *name, const void *place, const char *format, ...)
    __attribute__((__format__(__printf__, 3, 4)));

/* Whether the program's header and the libraries have the same ABI version. If not, the job ends, as in `OWN(misused)`. */
HIDDEN bool OWN(versions_match)(const char *name, const void *place);

/* Whether a runtime of this process has been finalized. */
extern HIDDEN bool OWN(finalized);

/* The result of an allocation: NULL if the arguments or the heap are the cause of a failure. */
HIDDEN void *OWN(allocated)(const char *name, int32_t status, void *const *memory, const void *place);

/* The native configuration of a team; NULL stays NULL. */
HIDDEN const nvshmemrs_team_config_t *OWN(config_of)(const CONFIG_T *config, nvshmemrs_team_config_t *native);

/* The time in the given number of nanoseconds, less than a second, for waits with a limit. */
static inline struct timespec OWN(time_in)(long ns)
{
    enum { ONE_SECOND_NS = 1000000000 };
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += ns;
    time.tv_sec += time.tv_nsec / ONE_SECOND_NS;
    time.tv_nsec %= ONE_SECOND_NS;
    return time;
}

#endif /* NVSHMEMRS_NAMES_SHARED_H */
