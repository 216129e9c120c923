// More of gpu.cu: collectives, order, teams that the program makes, and kernels in CUDA's graphs.
#pragma once

// ---- Collectives: as the host's own. ----

struct Collectives {
    static const u64 ROOM = 4096, DEST = 64;
    nvshmemrs_team_t team = NVSHMEMRS_TEAM_WORLD;
    int members = n_pes;
    Memory<u8> dest{ROOM, true}, source{ROOM, true}, expected{ROOM, true};
    Memory<int> status{64, false};
    int salt = 0;

    // Small whole numbers in every type, so that sums and products are exact in any order.
    void fill(int32_t dtype, u64 size) {
        u64 random = 0x9e3779b97f4a7c15ull * (u64)(me + 1 + 64 * ++salt);
        std::vector<u8> bytes(ROOM);
        for (u64 i = 0; i < ROOM / size; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            int number = (int)(random % 4) + 1;
            float single = (float)number;
            double twice = number;
            unsigned bits;
            memcpy(&bits, &single, 4);
            u16 brain = (u16)(bits >> 16), half = number == 1 ? 0x3c00 : number == 2 ? 0x4000 : number == 3 ? 0x4200 : 0x4400;
            const void *from = &random;
            if (dtype == NVSHMEMRS_DTYPE_FLOAT) from = &single;
            if (dtype == NVSHMEMRS_DTYPE_DOUBLE) from = &twice;
            if (dtype == NVSHMEMRS_DTYPE_HALF) from = &half;
            if (dtype == NVSHMEMRS_DTYPE_BFLOAT16) from = &brain;
            if (size <= 8) memcpy(&bytes[i * size], from, size);
            else
                for (u64 k = 0; k < size; k++) bytes[i * size + k] = (u8)(random >> (k % 8 * 8)) + (u8)k;
        }
        source.write(bytes);
        dest.write(std::vector<u8>(ROOM, 0xee));
        expected.write(std::vector<u8>(ROOM, 0xee));
    }

    void barrier() { ::barrier(team); }

    void run(const std::string &name, void (*kernel)(Collective, int), int what, u64 n, u8 *to) {
        status.write(std::vector<int>(64, 77));
        barrier();
        launch(kernel, 1, THREADS, Collective{state, team, to, source.at, n, members - 1, (unsigned)salt % 128, status.at}, what);
        int calling = what % 3 == 0 ? 1 : what % 3 == 1 ? 32 : 40;
        auto got = status.read();
        for (int i = 0; i < 64; i++) check(got[i] == (i < calling ? 0 : 77), name + ": the status of thread " + std::to_string(i));
        barrier();
    }

    void moves(const std::string &name, void (*kernel)(Collective, int), u64 size) {
        for (int what = 0; what < 9; what++) {
            u64 n = salt % 2 ? 1 : 900 / size / members, at = DEST + size * (what % 2), bytes = n * size;
            fill(0, size);
            barrier();
            if (what < FCOLLECT_) call(nvshmemrs_broadcast(runtime, team, expected.at + at, source.at, bytes, members - 1));
            else if (what < ALLTOALL_) call(nvshmemrs_fcollect(runtime, team, expected.at + at, source.at, bytes));
            else call(nvshmemrs_alltoall(runtime, team, expected.at + at, source.at, bytes));
            run(name, kernel, what, n, dest.at + at);
            check(dest.read() == expected.read(), name + " function " + std::to_string(what));
        }
    }

    void reductions(const std::string &name, void (*kernel)(Collective, int), u64 size, int32_t dtype, int ops) {
        for (int op = 1; op <= ops; op++)
            for (int k = 0; k < 6; k++) {
                bool scatter = k >= 3;
                u64 n = salt % 3 == 0 ? 1 : (scatter ? 240 : 720) / size + salt % 2, at = DEST + (salt % 2 ? size : 0);
                fill(dtype, size);
                barrier();
                if (scatter) call(nvshmemrs_reducescatter(runtime, team, expected.at + at, source.at, n, dtype, op));
                else call(nvshmemrs_reduce(runtime, team, expected.at + at, source.at, n, dtype, op));
                run(name, kernel, op * 6 + k, n, dest.at + at);
                check(dest.read() == expected.read(), name + " reduction " + std::to_string(op * 6 + k) + ", " + std::to_string(n) + " elements");
            }
    }
};

// ---- Order, teams and graphs. ----

// Blocks that meet at the same time in slots of their own, again and again, and all scopes.
[[maybe_unused]] __global__ static void many(State s, int rounds, int *failures) {
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x < 32) wrong += nvshmemrs_barrier_warp(s, NVSHMEMRS_TEAM_WORLD, 3 * blockIdx.x + 1) != 0;
        if (threadIdx.x == 39) wrong += nvshmemrs_sync_all(s, 3 * blockIdx.x + 2) != 0;
        wrong += nvshmemrs_team_sync_block(s, NVSHMEMRS_TEAM_WORLD, 3 * blockIdx.x) != 0;
    }
    if (wrong) atomicAdd(failures, 1);
}

// Messages around a ring: a PE that sees the signal sees the data, in every scope.
[[maybe_unused]] __global__ static void messages(State s, int *dest, int *source, u64 *signal, int n, int rounds, int scope, int *failures) {
    int wrong = 0, to = (s.my_pe + 1) % s.n_pes;
    for (int round = 1; round <= rounds; round++) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) source[i] = round;
        __syncthreads();
        if (scope == 0 && threadIdx.x == 0) nvshmemrs_int_put_signal(s, dest, source, n, signal, round, NVSHMEMRS_SIGNAL_SET, to);
        if (scope == 1 && threadIdx.x < 32) nvshmemrs_int_put_signal_nbi_warp(s, dest, source, n, signal, round, NVSHMEMRS_SIGNAL_SET, to);
        if (scope == 2) nvshmemrs_int_put_signal_block(s, dest, source, n, signal, round, NVSHMEMRS_SIGNAL_SET, to);
        if (threadIdx.x == 0) nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_GE, round);
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) wrong += ((volatile int *)dest)[i] != round;
        // No PE puts the next round before this round has been read.
        nvshmemrs_barrier_all_block(s, 7);
    }
    if (wrong) atomicAdd(failures, 1);
}

// A whole number up to 2048 as half.
[[maybe_unused]] static u16 half_of(unsigned number) {
    int exponent = 31 - __builtin_clz(number);
    return (u16)((exponent + 15) << 10 | ((number << 10 >> exponent) & 0x3ff));
}

// Kernels query the job and the header.
[[maybe_unused]] static void queries_and_names() {
    Memory<long> result(6, false);
    Memory<void *> places(3, false);
    Memory<int> numbers(7, false);
    Memory<char> name(256, false);
    Memory<u64> signal(1, true);
    signal.write({5});
    launch(queries, 1, 1, state, (const void *)signal.at, right(), result.at, places.at);
    launch(about, 1, 32, state, (unsigned long *)signal.at, numbers.at, name.at);
    auto got = result.read();
    check(got == std::vector<long>{me, n_pes, 0, me, n_pes, right()}, "who am I");
    void *there;
    call(nvshmemrs_ptr(runtime, signal.at, right(), &there));
    check(places.read() == std::vector<void *>{there, nullptr, nullptr}, "ptr");
    int major, minor, patch;
    call(nvshmemrs_version(&major, &minor, &patch));
    check(numbers.read() == std::vector<int>{1, 5, major, minor, patch, 0, 0}, "versions");
    check(std::string(name.read().data()) == nvshmemrs_name() && signal.read()[0] == 0, "the name, or a signal that is reset");
    barrier();
}

#ifdef OTHER_TEAMS
// Every collective in one type of each kind, every meeting, and maxloc.
static void collectives_of(nvshmemrs_team_t team) {
    Collectives all;
    // A PE that is no member has only made the memory.
    if (team != NVSHMEMRS_TEAM_INVALID) {
        all.team = team;
        call(nvshmemrs_team_n_pes(runtime, team, &all.members));
        all.moves("long", moves_long, 8);
        all.reductions("double", reduce_double, 8, NVSHMEMRS_DTYPE_DOUBLE, 4);
        all.reductions("int32", reduce_int32, 4, NVSHMEMRS_DTYPE_INT32, 7);
        for (int what = 0; what < MAXLOC_ + 3; what++) {
            bool of_all = what / 3 == BARRIER_ALL_ / 3 || what / 3 == SYNC_ALL_ / 3;
            if (of_all && all.members < n_pes) continue;
            // The member with the highest number has the largest values.
            std::vector<double> values(22);
            int mine;
            call(nvshmemrs_team_my_pe(runtime, team, &mine));
            for (int i = 0; i < 22; i += 2) values[i] = mine * 10 + i, values[i + 1] = mine + 0.5;
            cuda(cudaMemcpy(all.source.at, values.data(), 22 * sizeof(double), cudaMemcpyDefault));
            all.dest.write(std::vector<u8>(Collectives::ROOM, 0xee));
            all.salt++;
            all.run("a meeting", meets, what, 11, all.dest.at + Collectives::DEST);
            if (what < MAXLOC_) continue;
            auto got = all.dest.read();
            for (int i = 0; i < 22; i += 2) values[i] = (all.members - 1) * 10 + i, values[i + 1] = all.members - 0.5;
            check(memcmp(got.data() + Collectives::DEST, values.data(), 22 * sizeof(double)) == 0, "maxloc");
            check(got[Collectives::DEST - 1] == 0xee && got[Collectives::DEST + 176] == 0xee, "maxloc: the neighbours");
        }
    }
    barrier();
}

static void of_teams() {
    for (int first : {0, n_pes > 1 ? 1 : 0}) {
        nvshmemrs_team_t team;
        call(nvshmemrs_team_split_strided(runtime, NVSHMEMRS_TEAM_WORLD, first, 1, n_pes - first, nullptr, 0, &team));
        collectives_of(team);
        call(nvshmemrs_team_destroy(runtime, team));
    }
    collectives_of(NVSHMEMRS_TEAM_WORLD);
}
#endif

#ifdef GRAPHS
// Puts with a signal, which the neighbour waits for, and sums the contributions of all PEs. The signal counts the launches.
__global__ static void step(State s, int *dest, int *source, u64 *signal, long *sum, int n, int *failures) {
    int to = (s.my_pe + 1) % s.n_pes;
    __shared__ int round;
    if (threadIdx.x == 0) round = (int)nvshmemrs_signal_fetch(s, signal) + 1;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) source[i] = round * 1000 + i;
    // The neighbour's signal is that of the round before, until all have looked at theirs.
    nvshmemrs_barrier_all_block(s, 1);
    nvshmemrs_int_put_signal_block(s, dest, source, n, signal, 1, NVSHMEMRS_SIGNAL_ADD, to);
    if (threadIdx.x == 0) nvshmemrs_signal_wait_until(s, signal, NVSHMEMRS_CMP_GE, round);
    __syncthreads();
    int wrong = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) wrong += dest[i] != round * 1000 + i;
    if (threadIdx.x == 0) sum[0] = s.my_pe + round;
    wrong += nvshmemrs_long_sum_reduce_block(s, NVSHMEMRS_TEAM_WORLD, sum + 1, sum, 1, 2) != 0;
    __syncthreads();
    if (threadIdx.x == 0) wrong += sum[1] != (long)s.n_pes * (s.n_pes - 1) / 2 + (long)s.n_pes * round;
    if (wrong) atomicAdd(failures, 1);
    nvshmemrs_barrier_all_block(s, 1);
}

// A graph of two such kernels and a copy between them is launched again and again. Its kernels have the state as it was at the capture.
static void graphs() {
    const int N = 3000, TIMES = 25;
    Memory<int> dest(N, true), source(N, true), failures(1, false), copy(N, false);
    Memory<u64> signal(1, true);
    Memory<long> sum(2, true);
    failures.write({0});
    cudaStream_t stream;
    cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    // A kernel that is loaded at its first launch may wait for kernels that run.
    cudaFuncAttributes loaded;
    cuda(cudaFuncGetAttributes(&loaded, step));
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int twice = 0; twice < 2; twice++) {
        step<<<1, 256, 0, stream>>>(state, dest.at, source.at, signal.at, sum.at, N, failures.at);
        cuda(cudaMemcpyAsync(copy.at, dest.at, N * sizeof(int), cudaMemcpyDeviceToDevice, stream));
    }
    cuda(cudaStreamEndCapture(stream, &graph));
    cuda(cudaGraphInstantiate(&executable, graph, 0));
    barrier();
    for (int time = 0; time < TIMES; time++) cuda(cudaGraphLaunch(executable, stream));
    cuda(cudaStreamSynchronize(stream));
    check(failures.read()[0] == 0, "a kernel of a graph saw what is wrong");
    check(signal.read()[0] == 2 * TIMES, "kernels of a graph have not all run");
    check(copy.read()[N - 1] == 2 * TIMES * 1000 + N - 1, "what a graph has copied");
    cuda(cudaGraphExecDestroy(executable));
    cuda(cudaGraphDestroy(graph));
    cuda(cudaStreamDestroy(stream));
    barrier();
}
#endif
