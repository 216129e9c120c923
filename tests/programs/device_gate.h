/* Holding streams up, and threads that end in time. For programs of several threads, compiled with _GNU_SOURCE. */

#ifndef DEVICE_GATE_H
#define DEVICE_GATE_H

#include "device_pe.h"

#include <pthread.h>
#include <stdatomic.h>

/* Holds a stream up until `open` is set. */
static inline void gate(void *open)
{
    while (!atomic_load((atomic_int *)open))
        pause_ms(1);
}

static inline void hold_up(cuda_stream_t stream, atomic_int *open)
{
    CUDA(cuLaunchHostFunc, (cuda_stream_t, void (*)(void *), void *), stream, gate, open);
}

/* A thread's result must be there within this time, or it waits for something that does not come. */
static inline void join_within(pthread_t thread, double seconds, const char *what)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    if (pthread_timedjoin_np(thread, NULL, &until))
        FAIL("%s does not return", what);
}

/* The gate of parts whose threads or functions open it. An earlier part of the process may have left it open. */
static atomic_int door;

static inline void hold_up_behind_door(cuda_stream_t stream)
{
    atomic_store(&door, 0);
    hold_up(stream, &door);
}

/* Opens the door after a time. */
static inline void *open_late(void *argument)
{
    pause_ms(*(long *)argument);
    atomic_store(&door, 1);
    return NULL;
}

/* Runs something on a thread of its own. */
static inline pthread_t begin_thread(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument))
        FAIL("no thread");
    return thread;
}

#endif
