/* A program that was compiled with a header of another ABI version: STANDARD is `shmem` or `nvshmem`. */
#include <stdint.h>
#include <stdio.h>

#define JOINED(A, B) A##B
#define NAME(STANDARD, REST) JOINED(STANDARD, REST)
#define HEADER(STANDARD) JOINED(nvshmemrs_, STANDARD)

void NAME(STANDARD, _init)(void);
extern const uint32_t NAME(HEADER(STANDARD), _header);
const uint32_t NAME(HEADER(STANDARD), _header) = 77;

const char *nvshmemrs_last_error(void);

int main(void)
{
    NAME(STANDARD, _init)();
    printf("%s\n", nvshmemrs_last_error());
    return 0;
}
