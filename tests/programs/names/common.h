/* Shared by the programs of OpenSHMEM's and of NVSHMEM's names. The file that includes this one defines `NAME_OF`, which adds the prefix:
 * `NAME_OF(quiet)` is `shmem_quiet` or `nvshmem_quiet`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(CONDITION) \
    do { \
        if (!(CONDITION)) { \
            printf("PE %d: %s:%d: %s\n", me, __FILE__, __LINE__, #CONDITION); \
            fflush(stdout); \
            NAME_OF(global_exit)(1); \
        } \
    } while (0)

/* Types of the standards' tables: name and type. */
#define WAIT_TYPES(X) \
    X(short, short) X(int, int) X(long, long) X(longlong, long long) X(ushort, unsigned short) X(uint, unsigned int) \
    X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) \
    X(uint64, uint64_t) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define AMO_BITS_TYPES(X) \
    X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) X(int32, int32_t) X(int64, int64_t) \
    X(uint32, uint32_t) X(uint64, uint64_t)
#define AMO_TYPES(X) AMO_BITS_TYPES(X) X(int, int) X(long, long) X(longlong, long long) X(size, size_t) X(ptrdiff, ptrdiff_t)
#define BITS_TYPES(X) \
    X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long) \
    X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t) X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) \
    X(uint64, uint64_t) X(size, size_t)
/* Types that elements of both standards have. */
#define NUMBERS(X) \
    X(float, float) X(double, double) X(char, char) X(schar, signed char) X(short, short) X(int, int) X(long, long) \
    X(longlong, long long) BITS_TYPES(X)

static int me, n_pes, next, before;

/* Asks for this PE's number and those of its neighbours. */
static inline void who(void)
{
    me = NAME_OF(my_pe)();
    n_pes = NAME_OF(n_pes)();
    next = (me + 1) % n_pes;
    before = (me + n_pes - 1) % n_pes;
}

static inline void begin(void)
{
    NAME_OF(init)();
    who();
}

static inline void end(void)
{
    NAME_OF(barrier_all)();
    printf("PE %d of %d: same\n", me, n_pes);
    NAME_OF(finalize)();
}
