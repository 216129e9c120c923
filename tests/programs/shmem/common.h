/* Shared by the programs of OpenSHMEM's names, which use these names only, so that other libraries run them, too. */

#ifndef COMMON_H
#define COMMON_H

#include <shmem.h>

#define NAME_OF(FUNCTION) shmem_##FUNCTION
#include "../names/common.h"

#define RMA_TYPES(X) NUMBERS(X) X(longdouble, long double) X(ptrdiff, ptrdiff_t)
#define AMO_MOVE_TYPES(X) AMO_TYPES(X) X(float, float) X(double, double)
#define SIZES(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t)

#endif
