/* Buffers that are registered and unregistered while threads of the program store to them, and other PEs put to them in between: nothing
 * is lost. With REGISTERED_FORBIDS the kernel refuses userfaultfd, as in many a container: then a process with several threads gets an
 * error, and one without can go on. With REGISTERED_FORKS a thread forks children meanwhile, which find the buffer's contents. Each PE prints
 * "same" at the end. */

#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PAGE = 4096, PAGES = 48, BYTES = PAGES * PAGE, WORDS = BYTES / 8, WRITERS = 2, ROUNDS = 25 };

static nvshmemrs_runtime_t rt;
static int32_t me, n_pes;

/* One writer each counts in the words of its number; the words of number WRITERS are the other PEs'. */
static volatile uint64_t *words;
static atomic_int stop;

static void *count(void *number)
{
    uint64_t *counts = calloc(WORDS, sizeof *counts);
    for (int round = 0; round < 3 || !atomic_load(&stop); round++) {
        for (size_t i = (size_t)(intptr_t)number; i < WORDS; i += (WRITERS + 1) * (1 + (size_t)round % 5)) {
            words[i] = words[i] + 1;
            counts[i]++;
        }
    }
    return counts;
}

/* A buffer of four mappings: two with other advice than their neighbours, and pages of which some have not been touched. */
static void *several_mappings(void)
{
    char *start = mmap(NULL, BYTES + 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(start != MAP_FAILED);
    start += PAGE;
    EXPECT(madvise(start + 8 * PAGE, 8 * PAGE, MADV_DONTFORK) == 0);
    EXPECT(madvise(start + 20 * PAGE, PAGE, MADV_DONTDUMP) == 0);
    EXPECT(mlock(start + 30 * PAGE, 2 * PAGE) == 0);
    return start;
}

static void nothing_is_lost(void)
{
    pthread_t threads[WRITERS];
    uint64_t *counts[WRITERS], puts = 0;
    char *buffer = several_mappings();
    words = (uint64_t *)buffer;
    for (intptr_t i = 0; i < WRITERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, count, (void *)i) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        void *symmetric;
        CHECK(nvshmemrs_buffer_register(rt, buffer, BYTES, NULL, &symmetric));
        puts++;
        for (size_t i = WRITERS; i < WORDS; i += WRITERS + 1)
            CHECK(nvshmemrs_put(rt, (uint64_t *)symmetric + i, &puts, sizeof puts, (me + 1) % n_pes));
        /* Pages that are locked in memory come back, too. */
        if (round % 4 == 3)
            EXPECT(mlock(buffer, 4 * PAGE) == 0);
        CHECK(nvshmemrs_buffer_unregister(rt, symmetric));
        for (size_t i = WRITERS; i < WORDS; i += WRITERS + 1)
            EXPECT(words[i] == puts);
    }
    atomic_store(&stop, 1);
    for (size_t i = 0; i < WRITERS; i++)
        EXPECT(pthread_join(threads[i], (void **)&counts[i]) == 0);
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t expected = i % (WRITERS + 1) == WRITERS ? puts : counts[i % (WRITERS + 1)][i];
        if (words[i] != expected) {
            fprintf(stderr, "word %zu is %ju, not %ju\n", i, (uintmax_t)words[i], (uintmax_t)expected);
            exit(6);
        }
    }
    for (size_t i = 0; i < WRITERS; i++)
        free(counts[i]);
    munmap(buffer - PAGE, BYTES + 2 * PAGE);
}

/* userfaultfd fails with EPERM from now on. */
static void forbid(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    EXPECT(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void *stay(void *unused)
{
    while (!atomic_load(&stop))
        usleep(1000);
    return unused;
}

static void refused_where_it_could_be(void)
{
    pthread_t thread;
    void *symmetric;
    uint64_t *buffer = several_mappings(), put = 5;
    for (size_t i = 0; i < WORDS; i++)
        buffer[i] = i;
    EXPECT(pthread_create(&thread, NULL, stay, NULL) == 0);
    EXPECT(nvshmemrs_buffer_register(rt, buffer, BYTES, NULL, &symmetric) == NVSHMEMRS_ERROR_NOT_SUPPORTED);
    EXPECT(strstr(nvshmemrs_last_error(), "userfaultfd") != NULL);
    atomic_store(&stop, 1);
    EXPECT(pthread_join(thread, NULL) == 0);
    CHECK(nvshmemrs_buffer_register(rt, buffer, BYTES, NULL, &symmetric));
    CHECK(nvshmemrs_put(rt, (uint64_t *)symmetric + 7, &put, sizeof put, (me + 1) % n_pes));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    /* A thread that has come meanwhile. */
    atomic_store(&stop, 0);
    EXPECT(pthread_create(&thread, NULL, stay, NULL) == 0);
    EXPECT(nvshmemrs_buffer_unregister(rt, symmetric) == NVSHMEMRS_ERROR_NOT_SUPPORTED);
    atomic_store(&stop, 1);
    EXPECT(pthread_join(thread, NULL) == 0);
    /* It has stayed registered. */
    CHECK(nvshmemrs_buffer_unregister(rt, symmetric));
    for (size_t i = 0; i < WORDS; i++)
        EXPECT(buffer[i] == (i == 7 ? 5 : i));
}

/* The contents of a buffer that takes some time to move. */
enum { LARGE = 32 << 20, VALUE = 5 };

static void *fork_children(void *large)
{
    const volatile char *bytes = large;
    for (int children = 0; children < 10 || !atomic_load(&stop); children++) {
        const pid_t child = fork();
        if (child == 0) {
            for (size_t i = 0; i < LARGE; i += PAGE)
                if (bytes[i] != VALUE)
                    _exit(1);
            _exit(0);
        }
        int status;
        EXPECT(child > 0 && waitpid(child, &status, 0) == child);
        if (status != 0) {
            fprintf(stderr, "child %d has found other contents: wait status %#x\n", children, status);
            exit(6);
        }
    }
    return NULL;
}

static void children_find_the_contents(void)
{
    char *large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(large != MAP_FAILED);
    memset(large, VALUE, LARGE);
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, fork_children, large) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        void *symmetric;
        CHECK(nvshmemrs_buffer_register(rt, large, LARGE, NULL, &symmetric));
        CHECK(nvshmemrs_buffer_unregister(rt, symmetric));
    }
    atomic_store(&stop, 1);
    EXPECT(pthread_join(thread, NULL) == 0);
    munmap(large, LARGE);
}

int main(void)
{
    if (getenv("REGISTERED_FORBIDS") != NULL)
        forbid();
    rt = join(&me);
    CHECK(nvshmemrs_n_pes(rt, &n_pes));
    if (getenv("REGISTERED_FORBIDS") != NULL)
        refused_where_it_could_be();
    else if (getenv("REGISTERED_FORKS") != NULL)
        children_find_the_contents();
    else
        nothing_is_lost();
    CHECK(nvshmemrs_finalize(rt));
    puts("same");
    return 0;
}
