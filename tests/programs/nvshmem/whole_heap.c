/* Programs written for NVSHMEM allocate all of NVSHMEM_SYMMETRIC_SIZE after some small objects. */

#include <nvshmem.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    setenv("NVSHMEM_SYMMETRIC_SIZE", "8388608", 1);
    nvshmem_init();
    double *small = nvshmem_malloc(sizeof *small);
    void *whole = nvshmem_malloc(8388608);
    printf("PE %d ok: %d\n", nvshmem_my_pe(), small != NULL && whole != NULL);
    nvshmem_free(whole);
    nvshmem_free(small);
    nvshmem_finalize();
    return 0;
}
