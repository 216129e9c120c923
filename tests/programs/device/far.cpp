// Kernels in a job on several hosts: they reach PEs of their own host, and an access to another PE is an error that names the PE.
//
//   far near      kernels access PEs of their host
//   far CASE      PE 0 does one thing to the first PE of another host
#include "job.hpp"

#include <vector>

static Pe pe;

// Prints the error that the host reports.
static void told() {
    int32_t status = nvshmemrs_runtime_check(pe.runtime);
    printf("status %d: %s\n", status, nvshmemrs_last_error());
    fflush(stdout);
    _exit(0);
}

// The PEs of this host, and the others.
static std::vector<int> near, far;

static void meet_neighbours() {
    int k = (int)near.size(), mine = 0, me = pe.me, *boxes = pe.array<int>(pe.n), *sums = pe.array<int>(2), got[64] = {}, wrong = 0;
    u64 *signal = pe.array<u64>(2);
    signal[0] = signal[1] = 0;
    for (int i = 0; i < pe.n; i++) boxes[i] = -1;
    while (near[mine] != me) mine++;
    int right = near[(mine + 1) % k];
    sums[0] = me;
    // This host's PEs in another order.
    nvshmemrs_team_t pair;
    call(nvshmemrs_team_split_strided(pe.runtime, NVSHMEMRS_TEAM_NODE, k - 1, k > 1 ? -1 : 1, k, nullptr, 0, &pair));
    pe.barrier();
    nvshmemrs::host::launch(dim3(1), dim3(4), [&] {
        const State &s = pe.state;
        auto note = [&](bool good) { wrong += !good; };
        if (threadIdx.x == 0) {
            for (int p : near) note(nvshmemrs_ptr(s, boxes, p) == (char *)boxes + (long)(p - me) * (long)s.stride);
            for (int p : far) note(nvshmemrs_ptr(s, boxes, p) == nullptr);
            note(nvshmemrs_team_n_pes(s, NVSHMEMRS_TEAM_WORLD) == pe.n && nvshmemrs_team_my_pe(s, NVSHMEMRS_TEAM_WORLD) == me);
            nvshmemrs_int_p(s, boxes + me, me, right);
            nvshmemrs_fence(s);
            nvshmemrs_signal_op(s, signal, 1, NVSHMEMRS_SIGNAL_ADD, right);
            nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_EQ, 1);
            nvshmemrs_uint64_atomic_add(s, signal + 1, 3, near[0]);
            nvshmemrs_int_get(s, got, boxes, 1, right);
        }
        __syncthreads();
        note(nvshmemrs_barrier_block(s, NVSHMEMRS_TEAM_NODE, 0) == 0);
        note(nvshmemrs_int_sum_reduce_block(s, NVSHMEMRS_TEAM_SHARED, sums + 1, sums, 1, 1) == 0);
        note(nvshmemrs_barrier_block(s, pair, 2) == 0);
    });
    int sum = 0;
    for (int p : near) sum += p;
    check(wrong == 0, std::to_string(wrong) + " times a kernel found something wrong");
    check(sums[1] == sum, "the sum over the host's PEs is " + std::to_string(sums[1]));
    check(boxes[near[(mine + k - 1) % k]] == near[(mine + k - 1) % k], "nothing has come from the left");
    check(me != near[0] || signal[1] == 3u * k, "the atomic operations give " + std::to_string(signal[1]));
    pe.barrier();
    // A kernel waits for a signal from the host side of a far PE.
    call(nvshmemrs_signal_op(pe.runtime, signal, 7, NVSHMEMRS_SIGNAL_SET, far[0]));
    if (me == 0 || me == far[0]) {
        nvshmemrs::host::launch(dim3(1), dim3(1), [&] {
            u64 seen = nvshmemrs_signal_wait_until(pe.state, signal, NVSHMEMRS_CMP_EQ, 7);
            wrong += seen != 7;
        });
        check(wrong == 0, "a signal from another host was not seen");
    }
    pe.barrier();
    call(nvshmemrs_team_destroy(pe.runtime, pair));
    call(nvshmemrs_runtime_check(pe.runtime));
    printf("far ok PE %d of %d\n", me, pe.n);
}

static __global__ void puts_far(const State &s, int *data, const int *local, int other) { nvshmemrs_int_put(s, data, local, 4, other); }

static void reach_out(const std::string &what) {
    int other = far[0], *data = pe.array<int>(16), local[16] = {};
    u64 *word = pe.array<u64>(1);
    if (pe.me != 0) {
        // Until PE 0 is gone.
        _exit(nvshmemrs_barrier(pe.runtime, NVSHMEMRS_TEAM_WORLD) == 0);
    }
    nvshmemrs::host::launch(dim3(2), dim3(4), [&] {
        const State &s = pe.state;
        if (what == "reduce") nvshmemrs_int_sum_reduce_block(s, NVSHMEMRS_TEAM_WORLD, data + 8, data, 1, blockIdx.x);
        if (blockIdx.x != 1 || threadIdx.x != 2) return;
        if (what == "put") puts_far(s, data, local, other);
        if (what == "put nothing") nvshmemrs_int_put(s, data, local, 0, other);
        if (what == "p") nvshmemrs_int_p(s, data, 5, other);
        if (what == "get") nvshmemrs_int_get_nbi(s, local, data, 4, other);
        if (what == "iget") nvshmemrs_int_iget(s, local, data, 1, 2, 4, other);
        if (what == "put_signal") nvshmemrs_int_put_signal(s, data, local, 4, word, 1, NVSHMEMRS_SIGNAL_SET, other);
        if (what == "signal") nvshmemrs_signal_op(s, word, 1, NVSHMEMRS_SIGNAL_ADD, other);
        if (what == "atomic") nvshmemrs_uint64_atomic_fetch_add(s, word, 1, other);
        if (what == "barrier") nvshmemrs_barrier_all(s, 0);
    });
    check(nvshmemrs_runtime_check(pe.runtime) != NVSHMEMRS_SUCCESS, "a kernel did " + what + " on another host");
    told();
}

int main(int count, char **args) {
    std::string what = count > 1 ? args[1] : "";
    pe = start();
    int *any = pe.array<int>(1);
    for (int p = 0; p < pe.n; p++) {
        void *at;
        call(nvshmemrs_ptr(pe.runtime, any, p, &at));
        (at ? near : far).push_back(p);
    }
    check(pe.state.check & 2, "the state says nothing of other hosts");
    if (what == "near") meet_neighbours();
    else reach_out(what);
    call(nvshmemrs_finalize(pe.runtime));
}
