/* Mistakes that are there on purpose: `cargo xtask sanitize` must find each, or it would miss one elsewhere, too.
 *
 *   overflow    the library is to read more than the program's buffer has
 *   undefined   the program adds past the largest number
 *   leak        the program loses a block of memory */

#include "check.h"

#include <limits.h>
#include <string.h>

static void overflow(nvshmemrs_runtime_t runtime)
{
    enum { BYTES = 100 };
    void *symmetric;
    CHECK(nvshmemrs_malloc(runtime, BYTES, &symmetric));
    char *buffer = malloc(BYTES - 1);
    memset(buffer, 1, BYTES - 1);
    CHECK(nvshmemrs_put(runtime, symmetric, buffer, BYTES, 0));
    free(buffer);
}

int main(int argc, char **argv)
{
    int32_t me;
    const char *what = argc > 1 ? argv[1] : "";
    nvshmemrs_runtime_t runtime = join(&me);
    if (strcmp(what, "overflow") == 0) {
        overflow(runtime);
    } else if (strcmp(what, "undefined") == 0) {
        volatile int number = INT_MAX;
        number = number + argc;
        printf("%d\n", number);
    } else if (strcmp(what, "leak") == 0) {
        static char *volatile lost;
        lost = malloc(12345);
        if (lost == NULL) {
            return 97;
        }
        lost = NULL;
    } else {
        return 98;
    }
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
