/* Joins and leaves. */

#include "check.h"

int main(void)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
