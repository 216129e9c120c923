/* What the programs of OpenSHMEM's names share. They use these names only, so that other libraries run them, too. */

#ifndef COMMON_H
#define COMMON_H

#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(CONDITION) \
    do { \
        if (!(CONDITION)) { \
            printf("PE %d: %s:%d: %s\n", shmem_my_pe(), __FILE__, __LINE__, #CONDITION); \
            fflush(stdout); \
            shmem_global_exit(1); \
        } \
    } while (0)

/* The types of the standard's tables: name and type. */
#define RMA_TYPES(X) \
    X(float, float) X(double, double) X(longdouble, long double) X(char, char) X(schar, signed char) X(short, short) X(int, int) \
    X(long, long) X(longlong, long long) X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) \
    X(ulonglong, unsigned long long) X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) \
    X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define WAIT_TYPES(X) \
    X(short, short) X(int, int) X(long, long) X(longlong, long long) X(ushort, unsigned short) X(uint, unsigned int) \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) \
    X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define AMO_BITS_TYPES(X) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) \
    X(uint32, uint32_t) X(uint64, uint64_t)
#define AMO_TYPES(X) AMO_BITS_TYPES(X) X(int, int) X(long, long) X(longlong, long long) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define AMO_MOVE_TYPES(X) AMO_TYPES(X) X(float, float) X(double, double)
#define BITS_TYPES(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) \
    X(uint64, uint64_t) X(size, size_t)
#define SIZES(X) X(8, uint8_t) X(16, uint16_t) X(32, uint32_t) X(64, uint64_t)

static int me, n_pes, next, before;

static inline void begin(void)
{
    shmem_init();
    me = shmem_my_pe();
    n_pes = shmem_n_pes();
    next = (me + 1) % n_pes;
    before = (me + n_pes - 1) % n_pes;
}

static inline void end(void)
{
    shmem_barrier_all();
    printf("PE %d of %d: same\n", me, n_pes);
    shmem_finalize();
}

#endif
