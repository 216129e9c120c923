// Collectives drawn by lot.

// The expected contents of a range of a member's memory as soon as its kernel has ended.
struct Expected {
    i32 member;
    u64 offset;
    Bytes bytes;
    std::string what;
};

// A range of a member's memory that the member may reuse at that time.
struct Source {
    i32 member;
    u64 offset, bytes;
};

class Draw {
  public:
    std::mt19937_64 random;
    Job &job;
    u64 top = Job::SYNC;
    std::vector<Step> steps;
    // Of the step that is being drawn.
    std::vector<Expected> expected;
    std::vector<Source> sources;

    Draw(Job &job, u32 seed) : random(seed), job(job) {}

    u64 below(u64 bound) { return random() % bound; }
    bool coin() { return below(2); }

    // Room of `bytes` bytes at a multiple of `align`, more or less aligned, with guards around it.
    u64 room(u64 bytes, u64 align) {
        u64 at = (top + 63) & ~63ull;
        at += 16 + (coin() ? 0 : below(16) / align * align);
        top = at + bytes + 32;
        check(top <= job.stride, "the heap is too small for so many steps");
        return at;
    }

    Bytes bytes(u64 count) {
        Bytes all(count);
        for (u8 &byte : all) byte = random();
        return all;
    }

    void put(i32 member, u64 offset, const Bytes &data) {
        if (!data.empty()) memcpy(job.part(member) + offset, data.data(), data.size());
        sources.push_back({member, offset, data.size()});
    }

    // Member `member` shall hold `data` at `offset`, and the guards around it shall be whole.
    void expect(i32 member, u64 offset, Bytes data, const std::string &what) {
        Bytes framed(data.size() + 32, 0xee);
        std::copy(data.begin(), data.end(), framed.begin() + 16);
        expected.push_back({member, offset - 16, framed, what});
    }

    Way any_way() { return (Way)below(3); }

    static CollectiveKernel kernel_of(Way way, CollectiveKernel flags, CollectiveKernel lamport, CollectiveKernel direct) {
        return way == Way::Flags ? flags : way == Way::Lamport ? lamport : direct;
    }

    void step(CollectiveKernel kernel, u32 operation, Way way, const std::function<void(i32, Collective &)> &set) {
        Step step;
        step.kernel = kernel;
        step.grid = 1 + below(3);
        step.block = way != Way::Direct ? 32 + 32 * (1 + below(2)) : 32 * (1 + below(3));
        u32 signature = random();
        for (i32 m = 0; m < job.n; m++) {
            Collective c = job.call(m, operation, signature);
            c.finished = coin() ? (u64)&job.finished[m] : 0, c.ticket = steps.size() + 1;
            set(m, c);
            step.calls.push_back(c);
        }
        std::vector<Collective> calls = step.calls;
        step.after = [this, calls, expected = std::move(expected), sources = std::move(sources)](i32 m) {
            check(!calls[m].finished || job.finished[m] == calls[m].ticket, "a collective does not say that it is over");
            for (const Expected &want : expected)
                if (want.member == m) compare(want);
            for (const Source &source : sources)
                if (source.member == m) memset(job.part(m) + source.offset, 0xdd, source.bytes);
        };
        expected.clear();
        sources.clear();
        steps.push_back(step);
    }

    void compare(const Expected &want) {
        const u8 *there = job.part(want.member) + want.offset;
        for (u64 i = 0; i < want.bytes.size(); i++)
            if (there[i] != want.bytes[i])
                fail(want.what + " of " + std::to_string(job.n) + " members: member " + std::to_string(want.member) + " has " +
                     std::to_string(there[i]) + " instead of " + std::to_string(want.bytes[i]) + " at byte " +
                     std::to_string((i64)i - 16) + " of " + std::to_string(want.bytes.size() - 32));
    }

    // Bytes of a part that fits the staging.
    u64 length(Way way) {
        u64 most = way == Way::Flags ? job.team.slot / 2 : way == Way::Lamport ? job.team.lamport : 900;
        u64 bytes = coin() ? below(40) + 1 : below(most) + 1, unit = job.n * 16;
        // Often a message that has equal shares.
        return way == Way::Lamport && bytes > unit && coin() ? bytes - bytes % unit : bytes;
    }

    // Equal shares of a message for all members, for two shots of Lamport's algorithm; 0: one shot.
    u64 share(u64 bytes) const { return job.n > 2 && bytes % (job.n * 16) == 0 ? bytes / job.n : 0; }

    void barrier() {
        step(nvshmemrs_barrier, BARRIER, Way::Direct, [](i32, Collective &) {});
        steps.back().grid = 1;
    }

    void broadcast() {
        Way way = any_way();
        bool in_place = coin();
        u64 bytes = length(way);
        i32 root = below(job.n);
        u64 source = room(bytes, 1), dest = in_place ? source : room(bytes, 1), chunk = way == Way::Lamport ? share(bytes) : coin() ? 0 : 128;
        Bytes data = this->bytes(bytes);
        put(root, source, data);
        for (i32 m = 0; m < job.n; m++) expect(m, dest, data, "broadcast");
        step(kernel_of(way, nvshmemrs_broadcast_flags, nvshmemrs_broadcast_lamport, nvshmemrs_broadcast), BROADCAST, way, [&](i32, Collective &c) {
            c.dest = dest, c.source = source, c.bytes = bytes, c.root = root, c.chunk = chunk;
        });
    }

    void fcollect() {
        Way way = any_way();
        bool in_place = coin();
        u64 bytes = length(way), dest = room(bytes * job.n, 1), source = room(bytes, 1);
        Bytes all;
        for (i32 m = 0; m < job.n; m++) {
            Bytes data = this->bytes(bytes);
            put(m, in_place ? dest + m * bytes : source, data);
            all.insert(all.end(), data.begin(), data.end());
        }
        for (i32 m = 0; m < job.n; m++) expect(m, dest, all, "fcollect");
        step(kernel_of(way, nvshmemrs_fcollect_flags, nvshmemrs_fcollect_lamport, nvshmemrs_fcollect), FCOLLECT, way, [&](i32 m, Collective &c) {
            c.dest = dest, c.source = in_place ? dest + m * bytes : source, c.bytes = bytes;
        });
    }

    void collect() {
        std::vector<u64> lengths(job.n), sources(job.n);
        u64 total = 0;
        bool all_short = coin();
        for (u64 &length : lengths) total += length = below(all_short ? job.team.slot / 2 + 1 : 700);
        u64 dest = room(total, 1);
        Bytes all;
        for (i32 m = 0; m < job.n; m++) {
            sources[m] = room(lengths[m], 1);
            Bytes data = bytes(lengths[m]);
            put(m, sources[m], data);
            all.insert(all.end(), data.begin(), data.end());
        }
        for (i32 m = 0; m < job.n; m++) expect(m, dest, all, "collect");
        step(nvshmemrs_collect, COLLECT, Way::Direct, [&](i32 m, Collective &c) {
            c.dest = dest, c.source = sources[m], c.bytes = lengths[m], c.count = total;
        });
    }

    void alltoall() {
        Way way = any_way();
        bool in_place = coin();
        i32 n = job.n;
        u64 bytes = length(way), source = room(bytes * n, 1), dest = in_place ? source : room(bytes * n, 1);
        std::vector<Bytes> results(n);
        for (i32 m = 0; m < n; m++) {
            Bytes data = this->bytes(bytes * n);
            put(m, source, data);
            for (i32 to = 0; to < n; to++)
                results[to].insert(results[to].end(), data.begin() + to * bytes, data.begin() + (to + 1) * bytes);
        }
        for (i32 m = 0; m < n; m++) expect(m, dest, results[m], "alltoall");
        step(kernel_of(way, nvshmemrs_alltoall_flags, nvshmemrs_alltoall_lamport, nvshmemrs_alltoall), ALLTOALL, way, [&](i32, Collective &c) {
            c.dest = dest, c.source = source, c.bytes = bytes;
        });
    }

    void alltoalls() {
        i32 n = job.n;
        u64 element = coin() ? 1ull << below(5) : 1 + below(20), count = 1 + below(9);
        u64 to_step = element * (1 + below(3)), from_step = element * (1 + below(3));
        u64 to_bytes = (count * n - 1) * to_step + element, from_bytes = (count * n - 1) * from_step + element;
        u64 dest = room(to_bytes, 1), source = room(from_bytes, 1);
        std::vector<Bytes> results(n, Bytes(to_bytes, 0xee));
        for (i32 m = 0; m < n; m++) {
            Bytes data = bytes(from_bytes);
            put(m, source, data);
            for (i32 to = 0; to < n; to++)
                for (u64 k = 0; k < count; k++)
                    memcpy(&results[to][(m * count + k) * to_step], &data[(to * count + k) * from_step], element);
        }
        for (i32 m = 0; m < n; m++) expect(m, dest, results[m], "alltoalls");
        step(nvshmemrs_alltoalls, ALLTOALLS, Way::Direct, [&](i32, Collective &c) {
            c.dest = dest, c.source = source, c.count = count, c.element = element;
            c.dest_step = to_step, c.source_step = from_step;
        });
    }

    // Only the root uses this buffer, so other members may pass any address.
    static constexpr u64 NOWHERE = ~0ull / 2;

    // In place, each member's part lies where the root's does.
    void gather() {
        Way way = any_way();
        bool in_place = coin();
        i32 n = job.n, root = below(n);
        u64 bytes = length(way), dest = room(bytes * n, 1), source = in_place ? dest + root * bytes : room(bytes, 1);
        Bytes all;
        for (i32 m = 0; m < n; m++) {
            Bytes data = this->bytes(bytes), untouched(bytes * n, 0xee);
            put(m, source, data);
            all.insert(all.end(), data.begin(), data.end());
            if (in_place) std::copy(data.begin(), data.end(), untouched.begin() + root * bytes);
            if (m != root) expect(m, dest, untouched, "gather beside the root");
        }
        expect(root, dest, all, "gather");
        step(kernel_of(way, nvshmemrs_gather_flags, nvshmemrs_gather_lamport, nvshmemrs_gather), GATHER, way, [&](i32 m, Collective &c) {
            c.dest = m == root ? dest : NOWHERE, c.source = source, c.bytes = bytes, c.root = root;
        });
    }

    void scatter() {
        Way way = any_way();
        bool in_place = coin();
        i32 n = job.n, root = below(n);
        u64 bytes = length(way), source = room(bytes * n, 1), dest = in_place ? source + root * bytes : room(bytes, 1);
        Bytes all = this->bytes(bytes * n);
        put(root, source, all);
        for (i32 m = 0; m < n; m++) {
            if (in_place && m == root) expect(root, source, all, "scatter in place");
            else expect(m, dest, Bytes(all.begin() + m * bytes, all.begin() + (m + 1) * bytes), "scatter");
        }
        step(kernel_of(way, nvshmemrs_scatter_flags, nvshmemrs_scatter_lamport, nvshmemrs_scatter), SCATTER, way, [&](i32 m, Collective &c) {
            c.dest = dest, c.source = m == root ? source : NOWHERE, c.bytes = bytes, c.root = root;
        });
    }

    // Sums of 32-bit integers and of floats, which show the order; the types' arithmetic is compared with the host's in `fold`.
    void reduction() {
        static const u32 OPERATIONS[] = {REDUCE, REDUCESCATTER, INSCAN, EXSCAN};
        u32 operation = OPERATIONS[below(4)];
        Way way = any_way();
        bool in_place = coin(), floating = coin(), scatter = operation == REDUCESCATTER;
        i32 n = job.n;
        // Where all parts are aligned, elements are reduced in packs, and by two members in chunks.
        u64 alignment = coin() ? 16 : 4, multiple = coin() ? alignment : 4;
        if (way == Way::Lamport && coin()) multiple = 16 * n;
        u64 bytes = std::max(length(way) / multiple, 1ull) * multiple, count = bytes / 4, length = scatter ? bytes * n : bytes;
        u64 source = room(length, alignment), dest = room(bytes, alignment);
        std::vector<Bytes> sources(n);
        for (i32 m = 0; m < n; m++) {
            sources[m] = this->bytes(length);
            for (u64 i = 0; floating && i < length / 4; i++) {
                float value = (float)(i64)random() / (1ull << below(40));
                memcpy(&sources[m][i * 4], &value, 4);
            }
            put(m, source, sources[m]);
        }
        auto folded = [&](u64 start, i32 members) {
            Bytes result(bytes, 0);
            for (u64 i = 0; i < count; i++) {
                u32 sum = 0;
                float total = 0;
                for (i32 m = 0; m < members; m++) {
                    const u8 *element = &sources[m][start + i * 4];
                    sum += device::bits<u32>(element);
                    total = m == 0 ? device::bits<float>(element) : total + device::bits<float>(element);
                }
                memcpy(&result[i * 4], floating ? (void *)&total : (void *)&sum, 4);
            }
            return result;
        };
        auto place = [&](i32 m) { return !in_place ? dest : scatter ? source + m * bytes : source; };
        for (i32 m = 0; m < n; m++) {
            Bytes result = scatter                ? folded(m * bytes, n)
                           : operation == INSCAN ? folded(0, m + 1)
                           : operation == EXSCAN ? folded(0, m)
                                                 : folded(0, n);
            if (in_place && scatter) {
                Bytes whole = sources[m];
                std::copy(result.begin(), result.end(), whole.begin() + m * bytes);
                expect(m, source, whole, "reducescatter in place");
            } else {
                expect(m, place(m), result, "reduction " + std::to_string(operation));
            }
        }
        u64 chunk = way == Way::Lamport ? share(bytes) : below(3) * 32;
        const ReduceKernels &kernels = REDUCTIONS[floating ? 11 : 7];
        step(kernel_of(way, kernels.flags, kernels.lamport, kernels.direct), operation, way, [&](i32 m, Collective &c) {
            c.dest = place(m), c.source = source, c.bytes = bytes, c.op = SUM, c.chunk = chunk;
        });
    }

    void any() {
        switch (below(11)) {
        case 0: return barrier();
        case 1: return broadcast();
        case 2: return fcollect();
        case 3: return collect();
        case 4: return alltoall();
        case 5: return alltoalls();
        case 6: return gather();
        case 7: return scatter();
        default: return reduction();
        }
    }
};

static void random_steps(u32 seed, u32 count) {
    std::mt19937 random(seed);
    Job job(1 + random() % 5, (u64)count * 24000, 256 + 128 * (random() % 8), seed % 2);
    Draw draw(job, seed);
    for (u32 i = 0; i < count; i++) draw.any();
    run(job, draw.steps, seed);
    for (const ErrorRecord &error : job.errors) check(error.state == 0, "a kernel reports an error");
    const Team &team = job.team;
    for (i32 m = 0; m < job.n; m++) {
        const u8 *staging = job.part(m) + team.staging + 2 * job.n * team.slot, *end = staging + 2 * job.n * team.lamport;
        check(std::all_of(staging, end, [](u8 byte) { return byte == 0; }), "data is left in the staging");
    }
    for (i32 m = 0; m < job.n; m++) check(job.epochs(m) == count && job.locals[m].begun == 0, "epochs are counted wrongly");
}
