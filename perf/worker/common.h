/* Shared parts of the worker and the three sides (side_ours.h, side_oshmem.h, side_mpi.h). */
#ifndef PERF_COMMON_H
#define PERF_COMMON_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Element types and operations of reductions and scans, named as in the worker's arguments. */
enum dtype { DOUBLE, FLOAT, INT64, INT32 };
enum op { SUM, MIN, MAX, PROD, AND, OR, XOR };

static const char *const dtype_names[] = {"double", "float", "int64", "int32"};
static const char *const op_names[] = {"sum", "min", "max", "prod", "and", "or", "xor"};

#endif
