/* A program changes its own process after init: `closes FILE` closes all descriptors, opens the file and allocates;
   `uses_up` leaves no descriptor free; `another_user` gives up root and `another_root` changes the root. The last three finalize. */

#include "check.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { FILES = 20, BYTES = 1 << 20 };

static int closes(nvshmemrs_runtime_t runtime, int32_t pe, const char *folder)
{
    char name[300];
    int files[FILES], open_files = 0;
    snprintf(name, sizeof name, "%s/%d", folder, (int)pe);
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    for (int i = 0; i < FILES; i++)
        files[i] = open(name, O_RDWR | O_CREAT, 0600);
    if (write(files[0], "mine", 4) != 4)
        return 1;

    void *memory = NULL;
    int status = nvshmemrs_malloc(runtime, BYTES, &memory);
    printf("malloc: %d %s\n", status, status ? nvshmemrs_last_error() : "");
    status = nvshmemrs_finalize(runtime);
    struct stat seen;
    fstat(files[0], &seen);
    for (int i = 0; i < FILES; i++)
        open_files += fcntl(files[i], F_GETFD) != -1;
    printf("%d bytes, %d open\n", (int)seen.st_size, open_files);
    return 0;
}

int main(int argc, char **argv)
{
    int32_t pe;
    nvshmemrs_runtime_t runtime = join(&pe);
    if (argc > 2 && strcmp(argv[1], "closes") == 0)
        return closes(runtime, pe, argv[2]);
    if (argc > 1 && strcmp(argv[1], "uses_up") == 0) {
        struct rlimit none = {0, 0};
        if (setrlimit(RLIMIT_NOFILE, &none))
            return 1;
    } else if (argc > 1 && strcmp(argv[1], "another_user") == 0) {
        if (setgid(65534) || setuid(65534))
            return 1;
    } else if (argc > 1 && strcmp(argv[1], "another_root") == 0) {
        if (chdir("/dev") || chroot("/dev"))
            return 1;
    } else {
        return 2;
    }
    CHECK(nvshmemrs_finalize(runtime));
    return 0;
}
