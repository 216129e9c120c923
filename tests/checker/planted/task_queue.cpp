/* A queue of tasks on PE 0: the others reserve a place by an atomic addition, and put their task there.
 *
 * Bug: PE 0 takes a task as soon as its place is reserved, which says nothing about the put that follows. It takes a second
 * counter, that is raised when the task is there.
 * Expect: read early or write early: put at A, load at B
 */
#include "job.h"
#include <nvshmemrs/ffi.hpp>

namespace ffi = nvshmemrs::ffi;

namespace {

struct Task {
    std::int64_t sender, number;
};

/// On every PE; the one of PE 0 is used.
struct Queue {
    std::uint64_t reserved, filled;
    Task tasks[8];

    void push(const Task &task) {
        std::uint64_t place = 0;
        CALL(nvshmemrs_atomic_fetch_add64(rt, &reserved, 1, 0, &place));
        if (ffi::put(rt, &tasks[place], &task, sizeof task, 0) != ffi::Status::Success) { // A
            std::exit(1);
        }
        // An atomic operation comes after the PE's earlier puts to the same PE.
        CALL(nvshmemrs_atomic_inc64(rt, &filled, 0));
    }

    std::int64_t pop(std::uint64_t place) {
#ifdef MENDED
        auto *counter = &filled;
#else
        auto *counter = &reserved;
#endif
        std::uint64_t wanted = n - 1;
        CALL(nvshmemrs_wait_until(rt, counter, NVSHMEMRS_CMP_GE, &wanted, NVSHMEMRS_DTYPE_UINT64));
        return tasks[place].number; // B
    }
};

} // namespace

int main() {
    join();
    auto *queue = static_cast<Queue *>(zeroed(1, sizeof(Queue)));
    if (me != 0) {
        queue->push(Task{me, 5 * me});
    } else {
        std::int64_t sum = 0;
        for (int place = 0; place < n - 1; place++) {
            sum += queue->pop(place);
        }
        EXPECT(sum == 5 * n * (n - 1) / 2);
    }
    barrier();
    CALL(nvshmemrs_free(rt, queue));
    return leave();
}
