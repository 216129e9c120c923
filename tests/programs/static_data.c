/* The executable's variables as symmetric data. The argument says which part runs. */

#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

enum { MANY = 1 << 27 }; /* words of an array that is never touched: 1 GiB */

long initialised[4] = {10, 11, 12, 13};
static long zero[4];
static uint64_t word, flag;
static double sum[2], part[2] = {1.5, 2.5};
static long touched_late[MANY];
_Thread_local long of_thread = 3;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int may_end;

static nvshmemrs_runtime_t rt;
static int32_t me, n;

static void everything(void)
{
    static long of_function[3] = {7, 8, 9};
    int32_t right = (me + 1) % n, left = (me + n - 1) % n, last;
    long sent[2] = {100 + me, 200 + me}, got[4];
    uint64_t before;
    void *there;

    CHECK(nvshmemrs_put(rt, &initialised[1], sent, sizeof sent, right));
    CHECK(nvshmemrs_p64(rt, &zero[2], 300 + (uint64_t)me, right));
    CHECK(nvshmemrs_put(rt, &of_function[1], sent, sizeof sent[0], right));
    CHECK(nvshmemrs_put(rt, &touched_late[MANY - 2], sent, sizeof sent[0], right));
    for (int32_t pe = 0; pe < n; pe++) CHECK(nvshmemrs_atomic_add64(rt, &word, 1 + (uint64_t)me, pe));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    EXPECT(initialised[0] == 10 && initialised[1] == 100 + left && initialised[2] == 200 + left && initialised[3] == 13);
    EXPECT(zero[1] == 0 && zero[2] == 300 + left && zero[3] == 0);
    EXPECT(of_function[0] == 7 && of_function[1] == 100 + left && of_function[2] == 9);
    EXPECT(touched_late[MANY - 3] == 0 && touched_late[MANY - 2] == 100 + left && touched_late[MANY - 1] == 0);
    EXPECT(word == (uint64_t)n * (n + 1) / 2);

    CHECK(nvshmemrs_get(rt, got, initialised, sizeof got, right));
    EXPECT(got[0] == 10 && got[1] == 100 + me && got[2] == 200 + me && got[3] == 13);
    CHECK(nvshmemrs_g64(rt, &zero[2], right, &before));
    EXPECT(before == 300 + (uint64_t)me);
    CHECK(nvshmemrs_ptr(rt, initialised, me, &there));
    EXPECT(there != NULL && ((long *)there)[3] == 13);

    CHECK(nvshmemrs_reduce(rt, NVSHMEMRS_TEAM_WORLD, sum, part, 2, NVSHMEMRS_DTYPE_DOUBLE, NVSHMEMRS_OP_SUM));
    EXPECT(sum[0] == 1.5 * n && sum[1] == 2.5 * n && part[0] == 1.5);
    CHECK(nvshmemrs_put_signal(rt, &zero[0], sent, sizeof sent[0], &flag, 1, NVSHMEMRS_SIGNAL_SET, right));
    CHECK(nvshmemrs_signal_wait(rt, &flag, NVSHMEMRS_CMP_EQ, 1, NULL));
    EXPECT(zero[0] == 100 + left && zero[1] == 0);
    CHECK(nvshmemrs_is_symmetric(rt, &of_function[2], sizeof of_function[2], &last));
    EXPECT(last);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
}

/* A child starts with its parent's contents, and neither sees the other's stores. */
static void forks(void)
{
    zero[3] = 5;
    pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        int wrong = zero[3] != 5 || initialised[3] != 13;
        zero[3] = 6;
        initialised[3] = 14;
        _exit(wrong);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(zero[3] == 5 && initialised[3] == 13);
    /* A word that a peer writes does not appear in a child that lives on. */
    int wake[2];
    EXPECT(pipe(wake) == 0);
    child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        char byte;
        close(wake[1]);
        if (read(wake[0], &byte, 1) != 1) _exit(2);
        _exit(zero[3] != 5);
    }
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_p64(rt, &zero[3], 50, (me + 1) % n));
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    EXPECT(zero[3] == 50);
    EXPECT(write(wake[1], "x", 1) == 1);
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    close(wake[0]);
    close(wake[1]);
}

static void *waiter(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!may_end) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void start(void)
{
    CHECK(nvshmemrs_init(NULL, &rt));
    CHECK(nvshmemrs_my_pe(rt, &me));
    CHECK(nvshmemrs_n_pes(rt, &n));
}

/* Another thread waits on a variable when the variables move. */
static void works(void)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, waiter, NULL) == 0);
    start();
    CHECK(nvshmemrs_static_data_register(rt));
    everything();
    forks();
    EXPECT(nvshmemrs_static_data_register(rt) == NVSHMEMRS_ERROR_NOT_SUPPORTED);
    CHECK(nvshmemrs_finalize(rt));
    EXPECT(zero[3] == 50 && touched_late[MANY - 2] != 0 && part[1] == 2.5);

    /* The next job takes the same variables. */
    memset(zero, 0, sizeof zero);
    memcpy(initialised, (long[]){10, 11, 12, 13}, sizeof initialised);
    word = flag = 0;
    start();
    CHECK(nvshmemrs_static_data_register(rt));
    if (me == 0) touched_late[5] = 77;
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    long got = 0;
    CHECK(nvshmemrs_get(rt, &got, &touched_late[5], sizeof got, 0));
    EXPECT(got == 77);
    pthread_mutex_lock(&mutex);
    may_end = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    EXPECT(pthread_join(thread, NULL) == 0);
    CHECK(nvshmemrs_finalize(rt));
}

static void refused(void *address, const char *says)
{
    long value = 1;
    REFUSED(NVSHMEMRS_ERROR_NOT_SYMMETRIC, says, nvshmemrs_put(rt, address, &value, sizeof value, 0));
}

static void mistakes(void)
{
    long local = 0;
    start();
    refused(zero, "static_data_register");
    CHECK(nvshmemrs_static_data_register(rt));
    refused(&of_thread, "thread-local");
    refused((void *)&stdout->_flags, "libc");
    refused(&local, "malloc");
    EXPECT(nvshmemrs_put(rt, zero, &local, (size_t)MANY * 16, 0) != NVSHMEMRS_SUCCESS);
    EXPECT(nvshmemrs_free(rt, zero) == NVSHMEMRS_ERROR_BAD_FREE);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(rt));
}

/* PEs whose executables differ, or are in device memory, learn why at once, and when they use a variable. */
static void cannot(const char *says)
{
    start();
    int32_t status = nvshmemrs_static_data_register(rt);
    EXPECT(status != NVSHMEMRS_SUCCESS && strstr(nvshmemrs_last_error(), says));
    refused(zero, says);
    CHECK(nvshmemrs_barrier(rt, NVSHMEMRS_TEAM_WORLD));
    CHECK(nvshmemrs_finalize(rt));
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "cannot") == 0) cannot(argv[2]);
    else if (argc == 2 && strcmp(argv[1], "mistakes") == 0) mistakes();
    else works();
    printf("static data ok PE %d of %d\n", (int)me, (int)n);
    return 0;
}
