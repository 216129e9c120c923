/* The place of shmem.h in older versions of the standard. */
#include "../shmem.h"
