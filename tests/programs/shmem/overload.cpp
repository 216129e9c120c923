/* A call without a type in its name that fails. */
#include <shmem.h>

static long word;

int main()
{
    shmem_init();
    shmem_p(&word, 1L, shmem_n_pes()); // put
    shmem_finalize();
}
