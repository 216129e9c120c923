/* NVSHMEM's names for host code: both headers. */

#ifndef NVSHMEMRS_NVSHMEM_HOST_H
#define NVSHMEMRS_NVSHMEM_HOST_H

#include "nvshmem.h"
#include "nvshmemx.h"

#endif /* NVSHMEMRS_NVSHMEM_HOST_H */
