// Ends of a process at which a PE waits, and finalizes: the first word says which. Functions of the program's that do not return, too.

#include "check.h"

#include <chrono>
#include <cstring>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

constexpr size_t COUNT = 3000;
nvshmemrs_runtime_t runtime;
int32_t pe, n_pes;
int64_t *source, *dest;
uint64_t *flags;

// Unlike CHECK, it may be used where `exit` has been called already.
void sure(bool well, const char *what)
{
    if (well)
        return;
    std::fprintf(stderr, "PE %d: %s: %s\n", (int)pe, what, nvshmemrs_last_error());
    _exit(CALL_FAILED);
}

#define SURE(call) sure((call) == NVSHMEMRS_SUCCESS, #call)

// A wait that is long on all PEs but the last, a collective with buffers of the thread's, and a search that takes turns.
void work()
{
    if (pe == n_pes - 1)
        std::this_thread::sleep_for(std::chrono::milliseconds(60));
    uint64_t before;
    SURE(nvshmemrs_deadline_begin(60, &before));
    SURE(nvshmemrs_barrier(runtime, NVSHMEMRS_TEAM_WORLD));
    SURE(nvshmemrs_deadline_end(before));
    for (size_t i = 0; i < COUNT; i++)
        source[i] = (int64_t)i + pe;
    SURE(nvshmemrs_reduce(runtime, NVSHMEMRS_TEAM_WORLD, dest, source, COUNT, NVSHMEMRS_DTYPE_INT64, NVSHMEMRS_OP_SUM));
    for (size_t i = 0; i < COUNT; i++)
        sure(dest[i] == (int64_t)i * n_pes + n_pes * (n_pes - 1) / 2, "another sum");
    uint64_t one = 1;
    size_t index = 9;
    SURE(nvshmemrs_wait_until_any(runtime, flags, 2, nullptr, NVSHMEMRS_CMP_EQ, &one, NVSHMEMRS_DTYPE_UINT64, &index));
    sure(index == 1, "another index");
    sure(nvshmemrs_put(runtime, dest, source, 8, n_pes) == NVSHMEMRS_ERROR_PE_RANGE, "no such PE");
    sure(std::strstr(nvshmemrs_last_error(), std::to_string(n_pes).c_str()) != nullptr, "another text");
}

void begin()
{
    SURE(nvshmemrs_init(nullptr, &runtime));
    SURE(nvshmemrs_my_pe(runtime, &pe));
    SURE(nvshmemrs_n_pes(runtime, &n_pes));
    void *memory;
    SURE(nvshmemrs_calloc(runtime, COUNT, 8, &memory));
    source = static_cast<int64_t *>(memory);
    SURE(nvshmemrs_calloc(runtime, COUNT, 8, &memory));
    dest = static_cast<int64_t *>(memory);
    SURE(nvshmemrs_calloc(runtime, 2, 8, &memory));
    flags = static_cast<uint64_t *>(memory);
    flags[1] = 1;
    work();
}

void end()
{
    if (runtime == 0)
        return;
    work();
    // Its threads and waits are those of any finalize.
    nvshmemrs_runtime_t gone = runtime;
    runtime = 0;
    SURE(nvshmemrs_finalize(gone));
    std::printf("PE %d fine\n", (int)pe);
    std::fflush(stdout);
}

struct Ends {
    bool armed = false;
    ~Ends()
    {
        if (armed)
            end();
    }
};
Ends global;

void end_by_key(void *)
{
    end();
}

int32_t throws(void *)
{
    throw std::runtime_error("from the program");
}

int32_t quits(void *)
{
    pthread_exit(nullptr);
}

void leave_function(const std::string &how)
{
    bool exception = how.find("throws") != std::string::npos;
    nvshmemrs_interrupt_hook_t function = exception ? throws : quits;
    if (how.find("init") == 0) {
        SURE(nvshmemrs_init_interrupt_hook(function, nullptr));
        SURE(nvshmemrs_init(nullptr, &runtime));
    } else {
        SURE(nvshmemrs_init(nullptr, &runtime));
    }
    void *flag;
    SURE(nvshmemrs_calloc(runtime, 1, 8, &flag));
    if (how.find("stream") == 0) {
        nvshmemrs_stream_t stream;
        SURE(nvshmemrs_stream_new(runtime, &stream));
        SURE(nvshmemrs_stream_call(stream, function, nullptr));
        SURE(nvshmemrs_stream_synchronize(stream));
    } else {
        if (how.find("hook") == 0)
            SURE(nvshmemrs_interrupt_hook(runtime, function, nullptr));
        SURE(nvshmemrs_signal_wait(runtime, static_cast<uint64_t *>(flag), NVSHMEMRS_CMP_EQ, 1, nullptr));
    }
}

}  // namespace

int main(int, char **words)
{
    std::string how = words[1];
    if (how.find('_') != std::string::npos) {
        leave_function(how);
    } else if (how == "atexit") {
        std::atexit(end);
        begin();
    } else if (how == "global") {
        global.armed = true;
        begin();
    } else if (how == "exit") {
        global.armed = true;
        begin();
        std::exit(0);
    } else if (how == "other") {
        // Another thread than the thread that has joined ends the process.
        global.armed = true;
        begin();
        std::thread([] { work(); std::exit(0); }).join();
    } else if (how == "local") {
        std::thread([] {
            thread_local Ends mine;
            mine.armed = true;
            begin();
        }).join();
    } else if (how == "key") {
        pthread_key_t key;
        pthread_key_create(&key, end_by_key);
        std::thread([key] {
            pthread_setspecific(key, &runtime);
            begin();
        }).join();
    } else {
        return 2;
    }
    return 0;
}
