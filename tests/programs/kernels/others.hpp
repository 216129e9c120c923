// Reductions from a file; errors; the kernels that concern one PE.

// A file of words: n, count, dtype, op, operation, alignment; then the members' sources. The results file: the members' results from
// the kernels in the order of Way.
static void fold_cases(const char *cases, const char *results) {
    std::ifstream in(cases, std::ios::binary);
    std::ofstream out(results, std::ios::binary);
    u32 head[6], number = 0;
    while (in.read((char *)head, sizeof head)) {
        auto [n, count, dtype, op, operation, askew] = head;
        const ReduceKernels &kernels = REDUCTIONS[dtype];
        u64 bytes = (u64)count * kernels.size, length = operation == REDUCESCATTER ? bytes * n : bytes;
        Job job(n, 64 << 10, 2048);
        check(2 * bytes + 32 <= job.team.slot && 2 * length + 256 <= 64 << 10, "a case is too long");
        u64 source = Job::SYNC + (askew ? kernels.align : 0), dest = source + ((length + 127) & ~63ull);
        for (u32 m = 0; m < n; m++) in.read((char *)job.part(m) + source, length);
        check(in.good(), "the file of cases ends early");
        for (CollectiveKernel kernel : {kernels.flags, kernels.lamport, kernels.direct}) {
            Step step = {kernel, {}, 2, kernel != kernels.direct ? 96u : 64u};
            for (u32 m = 0; m < n; m++) {
                Collective c = job.call(m, operation, number);
                c.dest = dest, c.source = source, c.bytes = bytes, c.op = op_of(dtype, op);
                step.calls.push_back(c);
                memset(job.part(m) + dest, 0x55, bytes);
            }
            run(job, {step}, number++);
            for (u32 m = 0; m < n; m++) out.write((char *)job.part(m) + dest, bytes);
        }
    }
    check(out.good(), "cannot write the results");
}

static Step barrier_of(Job &job, const std::vector<u32> &signatures) {
    Step step = {nvshmemrs_barrier, {}, 1, 32};
    for (i32 m = 0; m < job.n; m++) step.calls.push_back(job.call(m, BARRIER, signatures[m]));
    return step;
}

struct Kernel {
    CollectiveKernel kernel;
    u32 operation;
    // Whether a warp of the kernel's block only meets the other members.
    bool flag_threads;

    u32 threads() const { return flag_threads ? 96 : 64; }
};

// The members from `odd` on, and before `end`, call `other`, which ends the collective for all. Member `late` comes after the others have polled often.
static void mismatch(const Kernel &usual, const Kernel &other, i32 odd, i32 end, i32 late) {
    Job job(3, 64 << 10, 1024);
    run(job, {barrier_of(job, {1, 1, 1})}, 1);
    auto is_odd = [&](i32 m) { return odd <= m && m < end; };
    std::vector<std::thread> streams;
    for (i32 m = 0; m < 3; m++)
        streams.emplace_back([&, m] {
            const Kernel &called = is_odd(m) ? other : usual;
            Collective c = job.call(m, called.operation, is_odd(m) ? 77 : 78);
            c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 64, c.op = SUM;
            if (m == late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            device::launch(is_odd(m) ? 1 : 2, called.threads(), m, [&] { called.kernel(c); });
        });
    for (auto &stream : streams) stream.join();
    for (i32 m = 0; m < 3; m++) {
        const ErrorRecord &error = job.errors[m];
        check(error.state == 2 && error.code == MISMATCH, "a mismatch is not reported");
        check(job.aborts[m] == MISMATCH, "the abort word is not set");
        check(error.team == 7 && error.epoch == Job::START + 2, "the wrong collective is named");
        check(error.operation == (is_odd(m) ? other : usual).operation, "the wrong operation is named");
        bool other_kind = false;
        for (i32 k = 0; k < 3; k++) other_kind |= error.pe == job.members[k] && is_odd(k) != is_odd(m);
        check(other_kind, "the wrong PE is named");
        check(error.their_operation == (is_odd(m) ? usual : other).operation, "the other's operation is wrong");
        check(job.epochs(m) == 2, "the epoch is not counted");
    }
}

// A kernel that waits for a member that never comes leaves when the host tells it to.
static void abort_word(const Kernel &called) {
    Job job(2, 64 << 10, 1024);
    Collective c = job.call(0, called.operation, 5);
    c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 64, c.op = SUM, c.root = 1;
    std::thread host([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        store_relaxed_u32((u64)&job.aborts[0], 9);
    });
    device::launch(2, called.threads(), 3, [&] { called.kernel(c); });
    host.join();
    check(job.errors[0].state == 0, "an abort is no error of the kernel");
    check(job.epochs(0) == 1, "the epoch is not counted");
}

// Kernels of graphs count for those that come after them, but not for the host; one that tells the host does so when all blocks have ended.
static void counts(const Kernel &called) {
    Job job(1, 64 << 10, 1024);
    Collective c = job.call(0, called.operation, 5);
    c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 64, c.op = SUM;
    // Without room it would be an error, which ends the team's kernels.
    if (called.operation == COLLECT) c.count = 64;
    for (u32 grid = 1; grid <= 3; grid++) {
        TeamLocal before = job.locals[0];
        c.team.uncounted = 1, c.finished = 0;
        device::launch(grid, called.threads(), 3, [&] { called.kernel(c); });
        check(job.locals[0].epoch == before.epoch + 1 && job.locals[0].over == before.over, "a graph's kernel is counted wrongly");
        c.team.uncounted = 0, c.finished = (u64)&job.finished[0], c.ticket = grid;
        device::launch(grid, called.threads(), 4, [&] { called.kernel(c); });
        check(job.locals[0].epoch == before.epoch + 2 && job.locals[0].over == before.over + ENDS, "a kernel is counted wrongly");
        check(job.locals[0].begun == 0 && job.finished[0] == grid, "a kernel does not say that it is over");
    }
}

// A kernel of a team that was destroyed does nothing, and says so.
static void stale(const Kernel &called) {
    Job job(2, 64 << 10, 1024);
    job.locals[0].generation = ~0u;
    Collective c = job.call(0, called.operation, 5);
    c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 64, c.op = SUM, c.root = 0;
    Bytes before(job.part(1), job.part(1) + job.stride);
    device::launch(2, called.threads(), 3, [&] { called.kernel(c); });
    check(job.errors[0].state == 2 && job.errors[0].code == STALE, "a destroyed team is not reported");
    check(job.aborts[0] == 0, "a destroyed team ends the kernels of the next one");
    check(job.epochs(0) == 0 && job.locals[0].begun == 0, "a destroyed team has epochs");
    check(Bytes(job.part(1), job.part(1) + job.stride) == before, "a destroyed team writes");
}

// A member that announces another operation ends the others' next collective; its own epoch is not counted.
static void finalize_notice(const Kernel &called) {
    Job job(3, 64 << 10, 1024);
    std::vector<std::thread> streams;
    for (i32 m = 0; m < 3; m++)
        streams.emplace_back([&, m] {
            bool leaves = m == 2;
            Collective c = job.call(m, leaves ? FINALIZE : called.operation, leaves ? 0 : 78);
            c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 64, c.op = SUM, c.count = leaves;
            device::launch(1, leaves ? 64 : called.threads(), m, [&] { leaves ? nvshmemrs_barrier(c) : called.kernel(c); });
        });
    for (auto &stream : streams) stream.join();
    for (i32 m = 0; m < 2; m++) {
        const ErrorRecord &error = job.errors[m];
        check(error.state == 2 && error.code == MISMATCH && error.pe == job.members[2], "a finalize notice is not reported");
        check(error.operation == called.operation && error.their_operation == FINALIZE, "a finalize notice names the wrong operation");
    }
    check(job.errors[2].state == 0 && job.aborts[2] == 0 && job.epochs(2) == 0, "who leaves has an error");
}

// A wait for one of very many elements, of which nothing holds, leaves soon when the host says so: not after so many rounds over all.
static void large_wait() {
    std::vector<i32> ivars(100000, 0);
    u64 result = 77;
    u32 abort = 9;
    WaitCall w = {};
    w.state.abort = (u64)&abort;
    w.ivars = (u64)ivars.data(), w.count = ivars.size(), w.value = 2, w.result = (u64)&result;
    w.cmp = 0, w.dtype = 3, w.mode = WAIT_ANY;
    u64 before = device::loads;
    device::launch(1, 32, 5, [&] { nvshmemrs_wait(w); });
    check(result == ~0ull, "an ended wait has found something");
    check(device::loads - before < 2 * POLLS * 32, "an ended wait goes on looking");
}

// The collected data must fit into dest, or fill it.
static void overrun(u64 room, bool filled) {
    Job job(2, 64 << 10, 1024);
    Step step = {nvshmemrs_collect, {}, 2, 64};
    for (i32 m = 0; m < 2; m++) {
        Collective c = job.call(m, COLLECT, 5);
        c.dest = Job::SYNC, c.source = Job::SYNC + 4096, c.bytes = 300 + m * 600, c.count = room, c.element = filled;
        step.calls.push_back(c);
    }
    run(job, {step}, 1);
    for (i32 m = 0; m < 2; m++) {
        const ErrorRecord &error = job.errors[m];
        check(error.state == 2 && error.code == OVERRUN, "an overrun is not reported");
        check(error.mine == room && error.theirs == 1200, "the wrong lengths are named");
        for (u64 i = 0; i < 1500; i++) check(job.part(m)[Job::SYNC + i] == 0xee, "an overrun writes");
    }
}

template <class T>
static u64 bits_of_value(T value) {
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

// All comparisons of a type, as tests.
template <class T>
static void comparisons(u32 dtype, std::vector<T> values) {
    for (T left : values)
        for (T right : values) {
            bool held[6] = {left == right, left != right, left > right, left <= right, left < right, left >= right};
            for (u32 cmp = 0; cmp < 6; cmp++) {
                alignas(8) T ivar = left;
                u64 seen = 0, result = 7;
                u32 abort = 0;
                WaitCall w = {};
                w.state.abort = (u64)&abort;
                w.ivars = (u64)&ivar, w.count = 1, w.value = bits_of_value(right) | (sizeof(T) < 8 ? ~0ull << 63 : 0);
                w.result = (u64)&seen, w.indices = (u64)&result, w.cmp = cmp, w.dtype = dtype, w.test = 1;
                device::launch(1, 32, cmp, [&] { nvshmemrs_wait(w); });
                check(result == held[cmp] && seen == bits_of_value(left), "a comparison of dtype " + std::to_string(dtype));
            }
        }
}

// Waits and tests of several elements, against the result of a loop; a host thread fulfils the conditions.
static void waits(u32 mode, bool test, bool vector, u32 seed) {
    std::mt19937 random(seed);
    u64 count = 1 + random() % 150;
    std::vector<i32> ivars(count, 0), values(count), status(count);
    std::vector<u64> indices(count, 99);
    bool excludes = random() % 2;
    for (u64 i = 0; i < count; i++) values[i] = vector ? 1 + random() % 3 : 2, status[i] = excludes && random() % 3 == 0;
    u64 result = 77;
    u32 abort = 0;
    WaitCall w = {};
    w.state.abort = (u64)&abort;
    w.ivars = (u64)ivars.data(), w.count = count, w.status = excludes ? (u64)status.data() : 0;
    w.values = vector ? (u64)values.data() : 0, w.value = 2, w.result = (u64)&result, w.indices = (u64)indices.data();
    w.cmp = 0, w.dtype = 3, w.mode = mode, w.test = test, w.start = mode == WAIT_ANY ? random() % count : 0;
    auto set = [&] {
        for (u64 i = 0; i < count; i++)
            if (mode == WAIT_ALL ? !test || seed % 2 : random() % 4 == 0) __atomic_store_n(&ivars[i], values[i], __ATOMIC_SEQ_CST);
    };
    std::vector<u64> held;
    u64 candidates = 0;
    auto launch = [&] { device::launch(1, 64, seed, [&] { nvshmemrs_wait(w); }); };
    if (test) {
        set();
        launch();
    } else {
        std::thread kernel(launch);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        set();
        // There may be nothing that holds.
        u64 included = 0;
        while (included < count && status[included]) included++;
        if (included < count) __atomic_store_n(&ivars[included], values[included], __ATOMIC_SEQ_CST);
        kernel.join();
    }
    for (u64 i = 0; i < count; i++)
        if (!(excludes && status[i])) {
            candidates++;
            if (ivars[i] == values[i]) held.push_back(i);
        }
    std::string what = "wait mode " + std::to_string(mode) + (test ? " test" : "");
    if (mode == WAIT_ALL) return check(result == (held.size() == candidates), what);
    if (mode == WAIT_ANY) {
        // The first from the start on, or else the first of all.
        auto first = std::lower_bound(held.begin(), held.end(), w.start);
        u64 wanted = held.empty() ? ~0ull : first == held.end() ? held[0] : *first;
        if (test || held.empty()) return check(result == wanted, what);
        return check(std::count(held.begin(), held.end(), result) == 1, what);
    }
    // A wait may have found fewer elements than satisfy the condition at the end, but it has found some.
    std::vector<u64> found(indices.begin(), indices.begin() + result);
    check(result <= count && (test ? found == held : result > 0 || candidates == 0), what);
    check(std::includes(held.begin(), held.end(), found.begin(), found.end()), what);
}

static void copies() {
    std::mt19937 random(5);
    for (int round = 0; round < 400; round++) {
        u64 bytes = random() % 2 ? random() % 40 : random() % 3000, to = random() % 64, from = random() % 64;
        std::vector<u64> aligned(1000), target(1000, 0xeeeeeeeeeeeeeeee);
        u8 *source = (u8 *)aligned.data(), *dest = (u8 *)target.data();
        for (u64 i = 0; i < 8000; i++) source[i] = random();
        Bytes want(dest, dest + 8000);
        std::copy(source + from, source + from + bytes, want.begin() + to);
        if (round % 3 == 0)
            device::launch(1, 32, round, [&] { nvshmemrs_put_signal((u64)dest + to, (u64)source + from, bytes, (u64)&target[990], 5, round % 2); });
        else
            device::launch(1 + round % 3, 32, round, [&] { nvshmemrs_copy((u64)dest + to, (u64)source + from, bytes); });
        if (round % 3 == 0) {
            u64 signal = round % 2 ? 0xeeeeeeeeeeeeeeee + 5 : 5;
            memcpy(&want[990 * 8], &signal, 8);
        }
        check(Bytes(dest, dest + 8000) == want, "copy");
        // Within one buffer.
        Bytes moved(source, source + 8000);
        memmove(&moved[to], &moved[from], bytes);
        device::launch(1, round % 2 ? 256 : 32, round, [&] { nvshmemrs_move((u64)source + to, (u64)source + from, bytes); });
        check(Bytes(source, source + 8000) == moved, "move");
        u64 size = random() % 17;
        Pair value = {random() * 0x100000001ull, random() * 0x100000001ull};
        memcpy(&want[to], &value, size);
        device::launch(1, 32, round, [&] { nvshmemrs_put_value((u64)dest + to, value.first, value.second, size); });
        check(Bytes(dest, dest + 8000) == want, "put_value");
    }
    u64 signal = 5;
    device::launch(1, 32, 1, [&] { nvshmemrs_signal((u64)&signal, 3, 1); });
    check(signal == 8, "signal add");
    device::launch(1, 32, 1, [&] { nvshmemrs_signal((u64)&signal, 3, 0); });
    check(signal == 3, "signal set");
    for (int round = 0; round < 200; round++) {
        u64 block = 1 + random() % 24, count = 1 + random() % 20;
        i64 to_step = (block + random() % 8) * (random() % 2 ? 1 : -1), from_step = (i64)(random() % 60) - 30;
        std::vector<u64> aligned(600), target(600, 0xeeeeeeeeeeeeeeee);
        u8 *source = (u8 *)aligned.data(), *dest = (u8 *)target.data();
        for (u64 i = 0; i < 4800; i++) source[i] = random();
        Bytes want(dest, dest + 4800);
        for (u64 k = 0; k < count; k++)
            std::copy_n(source + 2000 + (i64)k * from_step, block, want.begin() + 2000 + (i64)k * to_step);
        Strided s = {(u64)dest + 2000, (u64)source + 2000, to_step, from_step, block, count};
        device::launch(1 + round % 2, 32, round, [&] { nvshmemrs_copy_strided(s); });
        check(Bytes(dest, dest + 4800) == want, "copy_strided");
    }
}

// A thread that sees the signal of a copy sees all of the copy.
static void signals_after_copies() {
    std::vector<u64> source(20000), dest(20000, 0);
    for (u64 i = 0; i < source.size(); i++) source[i] = i + 1;
    for (u32 round = 0; round < 20; round++) {
        std::fill(dest.begin(), dest.end(), 0);
        u64 signal = 0, bytes = dest.size() * 8 - round;
        std::thread kernel([&] {
            device::launch(1, 512, round, [&] { nvshmemrs_put_signal((u64)dest.data(), (u64)source.data(), bytes, (u64)&signal, 1, 0); });
        });
        while (!__atomic_load_n(&signal, __ATOMIC_SEQ_CST)) sched_yield();
        bool whole = !memcmp(dest.data(), source.data(), bytes);
        kernel.join();
        check(whole, "a signal is seen before the copy");
    }
}

template <class W>
static void atomic_words(W before, W value, W cond, W after, u32 operation, W old) {
    W word = before, result = 0;
    AtomicCall call = {(u64)&word, value, cond, (u64)&result, operation, sizeof(W)};
    device::launch(1, 32, 1, [&] { nvshmemrs_atomic(call); });
    check(word == after && result == old, "atomic " + std::to_string(operation) + " of " + std::to_string(sizeof(W)) + " bytes");
}

template <class W>
static void atomics_of(W half, W two_and_half, W three) {
    W big = (W)~(W)0;
    atomic_words<W>(big, 1, 2, big, 0, big);
    atomic_words<W>(big, 1, 2, 1, 1, 0);
    atomic_words<W>(big, 1, 2, 1, 2, big);
    atomic_words<W>(6, 1, 6, 1, 3, 6);
    atomic_words<W>(6, 1, 7, 6, 3, 6);
    atomic_words<W>(big, 3, 0, 2, 4, big);
    atomic_words<W>(half, two_and_half, 0, three, 5, half);
    atomic_words<W>(12, 10, 0, 8, 6, 12);
    atomic_words<W>(12, 10, 0, 14, 7, 12);
    atomic_words<W>(12, 10, 0, 6, 8, 12);
}

static void errors() {
#define OF(OPERATION, NAME)                                                                                    \
    {nvshmemrs_##NAME##_flags, OPERATION, true}, {nvshmemrs_##NAME##_lamport, OPERATION, true}, {nvshmemrs_##NAME, OPERATION, false}
    const Kernel all[] = {
        OF(REDUCE, reduce_float), OF(ALLTOALL, alltoall), OF(FCOLLECT, fcollect), OF(BROADCAST, broadcast),
        OF(GATHER, gather), OF(SCATTER, scatter), OF(EXSCAN, reduce_64), {nvshmemrs_collect, COLLECT, false},
    };
#undef OF
    for (const Kernel &called : all) {
        const Kernel barrier = {nvshmemrs_barrier, BARRIER, false};
        for (i32 late = 0; late < 3; late++) {
            mismatch(called, barrier, 1, 2, late);
            mismatch(called, called, 1, 2, late);
            mismatch(called, barrier, 1, 3, late);
        }
        finalize_notice(called);
        abort_word(called);
        counts(called);
        stale(called);
    }
    large_wait();
    overrun(1199, false);
    overrun(1199, true);
    overrun(1201, true);
    comparisons<i8>(1, {-128, -1, 0, 1, 127});
    comparisons<i16>(2, {-32768, -1, 0, 1, 32767});
    comparisons<i32>(3, {-2147483647 - 1, -1, 0, 1});
    comparisons<i64>(4, {(i64)(1ull << 63), -1, 0, 1});
    comparisons<u8>(5, {0, 1, 128, 255});
    comparisons<u16>(6, {0, 1, 32768, 65535});
    comparisons<u32>(7, {0, 1, 1u << 31, ~0u});
    comparisons<u64>(8, {0, 1, 1ull << 63, ~0ull});
    comparisons<float>(11, {-1.5f, -0.0f, 0.0f, 1e-40f, __builtin_nanf(""), __builtin_inff()});
    comparisons<double>(12, {-1.5, -0.0, 0.0, 1e-310, __builtin_nan(""), __builtin_inf()});
    for (u32 seed = 0; seed < 60; seed++)
        for (u32 mode : {WAIT_ALL, WAIT_ANY, WAIT_SOME}) waits(mode, seed % 3 != 0, seed % 2, seed);
    copies();
    signals_after_copies();
    atomics_of<u32>(0x3f000000, 0x40200000, 0x40400000);
    atomics_of<u64>(0x3fe0000000000000, 0x4004000000000000, 0x4008000000000000);
    // The smallest subnormal number twice.
    atomic_words<u32>(1, 1, 0, 2, 5, 1);
}
