// How the members of a team meet in a kernel.
//
// Every collective has an epoch, counted by the kernels in the PE's own device memory, and a flag of 64 bits, from the highest: 1, the
// operation in 7 bits, the signature of the arguments in 24, the epoch in 32. The upper bits of the epoch and the generation of the team's
// number are mixed into the signature. Each member announces its flag to all members, so that all of them learn of arguments that do not
// match, and no member leaves an epoch before all have entered it. Where each member receives data with flags from all others, the data shows
// that they have entered; there a member announces its flag only after it has polled for long (move_through_staging). Each word exists twice, for
// even and odd epochs: it is written again only two epochs later, which no member enters before all have left this epoch.
//
// A team's sync block, the same on every PE (TeamArgs::new in mod.rs):
//
//   calls    [2][n]                      8 bytes: flag
//   lengths  [2][n]                     16 bytes: length, flag (collect)
//   steps    [2][STEPS][blocks][n]       8 bytes: flag; block b of a member tells block b of the others
//   staging  [2][n][slot]               16 bytes each: eight bytes of data, flag
//            [2][n][lamport]            16 bytes each: data, or zero (lamport.cuh)
#pragma once

static constexpr u32 STEPS = 2;

struct Team {
    i32 n;
    i32 me;
    u32 index;
    // How many blocks have places for steps; no grid is larger.
    u32 blocks;
    // Which of the teams with the number it is.
    u32 generation;
    // Member m is PE first + m * step; if step is 0, `members` says which.
    i32 step;
    i32 first;
    // Not 0 in a graph: the host does not know how often it runs, so TeamLocal::over leaves it out.
    u32 uncounted;
    // The PEs of the members, i32 each.
    u64 members;
    // A TeamLocal in this PE's device memory.
    u64 local;
    // Symmetric offsets: of the sync block and of its staging.
    u64 sync;
    u64 staging;
    // Bytes of staging per member and parity: with flags, and in lamport.cuh.
    u64 slot;
    u64 lamport;

    // The member `step` places on from this one, so that not all write to the same one at the same time.
    __device__ i32 right(i32 step) const {
        i32 member = me + step;
        return member < n ? member : member - n;
    }

    // The step at which `right` is `member`.
    __device__ i32 step_to(i32 member) const {
        i32 step = member - me;
        return step < 0 ? step + n : step;
    }
};
static_assert(sizeof(Team) == 80, "as Team in mod.rs");

struct TeamLocal {
    // Collectives of the team that this PE has counted: what the next one begins with.
    u64 epoch;
    // Blocks of the running one that know its epoch, but the first.
    u32 begun;
    // As in Team; another number once the team is no more.
    u32 generation;
    // Collectives of the team that are over, times ENDS; below that, blocks of the running one that have ended. For the host.
    u64 over;
};
static constexpr u64 ENDS = 1 << 16;
// That number if the team was broken while it was used: its members have had their errors.
static constexpr u32 GIVEN_UP = 0xfffffffe;
static_assert(sizeof(TeamLocal) == 24, "as TeamLocal in mod.rs");

// The arguments of every collective.
struct Collective {
    State state;
    Team team;
    u32 operation;
    u32 signature;
    // Symmetric offsets.
    u64 dest;
    u64 source;
    // Bytes of the message, or of one part where there is a part per member.
    u64 bytes;
    // collect: bytes that dest has room for. alltoalls: elements of a part. barrier: not 0 if this member only says what it does instead.
    u64 count;
    // alltoalls: bytes from element to element, and of an element. collect: not 0 in `element` if dest is to be filled.
    u64 dest_step;
    u64 source_step;
    u64 element;
    i32 root;
    // The operation of a reduction, as in fold.cuh.
    u32 op;
    // A u64 in pinned host memory where `ticket` goes when the collective is over; or 0.
    u64 finished;
    u64 ticket;
    // reduce, direct: bytes of the chunks in which members send each other their sources; 0: they read them.
    // reduce and broadcast in lamport.cuh: bytes of each member's share; 0: one shot.
    // broadcast, direct: bytes of the pieces in which other members hand the message on; 0: the root sends to all.
    u64 chunk;
};
static_assert(sizeof(Collective) == 240, "as Collective in mod.rs");

// Threads of a block beside those that move data: one warp, which in block 0 meets the other members meanwhile.
static constexpr u32 FLAG_THREADS = 32;
// The kernels through the staging: the most threads of a block, the flag threads among them.
#define STAGED __launch_bounds__(544, 1)
// The other kernels: a block has a multiprocessor to itself, and each thread has many loads under way.
#define DIRECT __launch_bounds__(512, 1)

// Notes the first error. What ends a collective ends the team's kernels that poll; a team that is no more has none, and its number, with
// the abort word, may be another one's.
DEVICE void report(const Collective &c, u32 code, u64 epoch, u64 mine, u64 theirs, i32 pe, u32 their_operation) {
    if (swap_if(c.state.error, 0u, 1u) == 0) {
        volatile ErrorRecord *record = (volatile ErrorRecord *)c.state.error;
        record->code = code;
        record->operation = c.operation;
        record->team = c.team.index;
        record->epoch = epoch;
        record->mine = mine;
        record->theirs = theirs;
        record->pe = pe;
        record->their_operation = their_operation;
        store_release_u32(c.state.error, 2);
    }
    if (code != STALE) store_relaxed_u32(c.state.abort, code);
}

// The address of this PE's part of symmetric memory.
DEVICE u64 own_part(const Collective &c) { return c.state.base + (u64)c.state.my_pe * c.state.stride; }

// The state of the team as the kernel finds it. In a graph, a collective may begin before the kernel before it has ended. `read` is called when the
// previous kernel has ended, so that the loads in `read` and those of the state are under way together. It is also called in a kernel whose team
// is no more: the addresses must be valid then, too.
template <class Read>
DEVICE TeamLocal entered(const Collective &c, const Read &read) {
    read_arguments(c);
    wait_for_previous_kernel();
    TeamLocal now = *(const TeamLocal *)c.team.local;
    read();
    return now;
}
DEVICE TeamLocal entered(const Collective &c) {
    return entered(c, [] {});
}

// For all threads: as `entered`, and in addition members that see this member's announcement see all earlier accesses of its stream. The
// threads that announce the call perform the fence while another warp reads the state: each takes about half a microsecond, and a fence
// waits for the loads of its own thread.
DEVICE TeamLocal entered_published(const Collective &c) {
    __shared__ TeamLocal now;
    read_arguments(c);
    wait_for_previous_kernel();
    if (blockIdx.x == 0 && threadIdx.x < (u32)c.team.n) fence();
    if (threadIdx.x == blockDim.x - 1) now = *(const TeamLocal *)c.team.local;
    __syncthreads();
    return now;
}

class CollectiveCall {
  public:
    const Collective &c;
    u64 epoch;
    u64 over;
    u64 flag;
    u32 parity;
    // That of the team that has the number now.
    u32 generation;

    __device__ explicit CollectiveCall(const Collective &given) : CollectiveCall(given, entered(given)) {}

    __device__ CollectiveCall(const Collective &given, const TeamLocal &now)
        : c(given), epoch(now.epoch + 1), over(now.over), generation(now.generation) {
        parity = epoch & 1;
        // Never 0, which is what the sync block holds at first.
        u32 mixed = (c.signature ^ (u32)(epoch >> 32) ^ c.team.generation) & 0xffffff;
        flag = (u64)(1u << 31 | c.operation << 24 | mixed) << 32 | (u32)epoch;
    }

    __device__ TeamLocal *local() const { return (TeamLocal *)c.team.local; }

    // Whether the number still belongs to the team of this call, as this thread has read it. The epoch is never 0; the comparison makes a vote of
    // the block wait for the loads of its threads.
    __device__ bool is_current() const { return generation == c.team.generation && epoch != 0; }

    __device__ bool enter_by_vote() const { return enter(!__syncthreads_or(!is_current())); }

    // `current`: whether the number still belongs to the team of this call; all threads of the block pass the same. They have read the epoch, so
    // each block but the first is counted here, and when all are counted the first block may change the epoch.
    __device__ bool enter(bool current) const {
        if (current) {
            if (blockIdx.x != 0 && threadIdx.x == 0) add_gpu((u64)&local()->begun, 1u);
            return true;
        }
        if (grid_thread() == 0 && generation != GIVEN_UP) report(c, STALE, epoch, 0, 0, c.state.my_pe, c.operation);
        return false;
    }

    // The address of a member's part of symmetric memory. After fill_parts and a meeting of the block's threads it is in `parts`, too.
    __device__ u64 part(i32 member) const { return c.state.base + (u64)pe_of(member) * c.state.stride; }

    __device__ void fill_parts() const {
        for (i32 m = threadIdx.x; m < c.team.n; m += blockDim.x) parts[m] = part(m);
    }

    __device__ u64 own() const { return own_part(c); }

    __device__ u64 call_of(i32 to, i32 member) const {
        return part(to) + c.team.sync + (parity * c.team.n + member) * 8;
    }

    __device__ u64 length_of(i32 to, i32 member) const {
        return part(to) + c.team.sync + 16 * (u64)c.team.n + (parity * c.team.n + member) * 16;
    }

    __device__ u64 step_of(u32 step, i32 to, i32 member) const {
        u64 index = ((u64)(parity * STEPS + step) * c.team.blocks + blockIdx.x) * c.team.n + member;
        return part(to) + c.team.sync + 48 * (u64)c.team.n + index * 8;
    }

    // Where `member` sends data to whoever has its part at `to`.
    __device__ u64 staging_in(u64 to, i32 member) const { return to + c.team.staging + (u64)(parity * c.team.n + member) * c.team.slot; }

    __device__ u64 staging_of(i32 to, i32 member) const { return staging_in(part(to), member); }

    // Tells all members that this one has come, and with what. Threads `thread` of `threads` of block 0.
    __device__ void announce(u32 thread, u32 threads) const {
        if (blockIdx.x != 0) return;
        for (i32 m = thread; m < c.team.n; m += threads)
            store_relaxed(call_of(m, c.team.me), flag);
    }

    // Whether waiting has become useless, looked at every POLLS polls: the abort word is set. The thread that waits for a member's call sets it, too,
    // when the member comes with another call.
    __device__ bool given_up(u32 polls) const { return polls % POLLS == 0 && aborted(c.state); }

    // Waits until a word holds the flag; false: leave.
    __device__ bool wait(u64 word) const {
        for (u32 polls = 1; load_acquire(word) != flag; polls++)
            if (given_up(polls)) return false;
        return true;
    }

    // Whether a member has announced another call in this epoch, which is reported. 0: it has announced none yet.
    __device__ bool differs(i32 member, u64 theirs) const {
        if ((u32)theirs != (u32)epoch || theirs == flag || theirs == 0) return false;
        report(c, MISMATCH, epoch, flag, theirs, pe_of(member), (u32)(theirs >> 56) & 0x7f);
        return true;
    }

    // Waits until a member has announced this call; false: it came with another one, or the job is broken. ACQUIRE: what it did before is seen.
    template <bool ACQUIRE>
    __device__ bool wait_call(i32 member) const {
        u64 theirs, word = call_of(c.team.me, member);
        for (u32 polls = 1; (theirs = ACQUIRE ? load_acquire(word) : load_relaxed(word)) != flag; polls++)
            if (differs(member, theirs) || given_up(polls)) return false;
        return true;
    }

    // One thread of the first block: waits until the other blocks have begun, so that all have read the epoch, and counts it. `came`: false if the
    // collective has failed; then it does not wait.
    __device__ bool count_epoch(bool came) const {
        u32 others = gridDim.x - 1;
        for (u32 polls = 1; others && came && load_gpu_u32((u64)&local()->begun) != others; polls++) came = !given_up(polls);
        local()->epoch = epoch;
        if (others) local()->begun = 0;
        return came;
    }

    // Waits until all members have announced themselves, and counts the epoch. Threads `thread` of `threads`.
    template <bool ACQUIRE = true>
    __device__ bool wait_all_calls(u32 thread, u32 threads) const {
        bool came = true;
        for (i32 m = thread; m < c.team.n && came; m += threads) came = wait_call<ACQUIRE>(m);
        return blockIdx.x != 0 || thread != 0 ? came : count_epoch(came);
    }

    // For all threads of all blocks, after entered_published: returns once all members have entered and their earlier accesses are visible;
    // `then` is called for each member.
    template <class Then>
    __device__ bool meet(const Then &then) const {
        fill_parts();
        announce(threadIdx.x, blockDim.x);
        bool came = wait_all_calls(threadIdx.x, blockDim.x);
        for (i32 m = threadIdx.x; m < c.team.n && came; m += blockDim.x) then(m);
        return !__syncthreads_or(!came);
    }
    __device__ bool meet() const {
        return meet([](i32) {});
    }

    // Signals the same block of `member`: all earlier accesses of this block are visible to it. After __syncthreads.
    __device__ void signal(u32 step, i32 member) const { store_release(step_of(step, member, c.team.me), flag); }

    // All threads: signals the same block of all members, and waits for their signals.
    __device__ bool meet_blocks(u32 step) const {
        __syncthreads();
        bool came = true;
        for (i32 m = threadIdx.x; m < c.team.n; m += blockDim.x) signal(step, m);
        for (i32 m = threadIdx.x; m < c.team.n && came; m += blockDim.x) came = wait(step_of(step, c.team.me, m));
        return !__syncthreads_or(!came);
    }

    __device__ i32 right(i32 step) const { return c.team.right(step); }

    __device__ i32 pe_of(i32 member) const {
        return c.team.step ? c.team.first + member * c.team.step : at<i32>(c.team.members + 4 * member);
    }

    // The end of the kernel, for all threads: counts the ends of blocks, but in graphs. The first block waits for the ends of the others only if
    // it is to say itself that the collective is over; otherwise that is the stream's. After an abort it says nothing.
    __device__ void leave() const {
        __syncthreads();
        launch_next_kernel();
        bool counted = c.team.uncounted == 0, ended = true;
        if (threadIdx.x != 0 || (!counted && !c.finished)) return;
        u64 count = (u64)&local()->over, others = gridDim.x - 1;
        if (c.finished) __threadfence();
        if (blockIdx.x != 0) {
            if (counted) add_gpu(count, (u64)1);
            return;
        }
        for (u32 polls = 1; others && c.finished && ended && load_gpu(count) % ENDS != others; polls++)
            ended = polls % POLLS != 0 || !aborted(c.state);
        if (c.finished) __threadfence();
        if (others && counted) add_gpu(count, ENDS - others);
        else if (counted) local()->over = over + ENDS;
        // All that this member has to write is to be seen with it.
        if (c.finished && ended) store_release(c.finished, c.ticket);
    }

    // Data that travels with flags.

    // A whole kernel: `send` and `receive` are called by the threads that move data, while the flag threads of block 0 meet the other members. All
    // data shows its arrival, so the announcement orders nothing. `mutual`: each member receives data with flags of all others, which shows that they
    // have entered; then members announce calls only after they have polled for long. Yet the calls of 2 of every 2^20 epochs are announced: a word that
    // is as old as 2^32 epochs would look like the announcement of another call. The block's threads agree on the state of the team while its
    // data is on the way; each has read the same state, unless the team is destroyed meanwhile. This vote also separates the block's reads in `send`
    // from its writes in `receive`, on which calls in place depend.
    template <class Send, class Receive>
    __device__ void move_through_staging(bool mutual, const Send &send, const Receive &receive) const {
        bool moves = threadIdx.x >= FLAG_THREADS;
        mutual = mutual && (epoch & 0xffffe) != 0;
        if (is_current() && moves) send();
        else if (is_current() && !mutual) announce(threadIdx.x, FLAG_THREADS);
        if (!enter_by_vote()) return;
        if (moves) receive();
        else if (blockIdx.x == 0 && !mutual) wait_all_calls<false>(threadIdx.x, FLAG_THREADS);
        else if (grid_thread() == 0) count_epoch(true);
        leave();
    }

    // Whether it has become useless to wait for a member's data; to be called every POLLS polls. The member may have come with another call, and
    // may wait for the announcement of this one. So may all others, for which this thread does not wait any more if it leaves.
    __device__ bool given_up_on(i32 member) const {
        store_relaxed(call_of(member, c.team.me), flag);
        if (!differs(member, load_relaxed(call_of(c.team.me, member))) && !aborted(c.state)) return false;
        for (i32 m = 0; m < c.team.n; m++) store_relaxed(call_of(m, c.team.me), flag);
        return true;
    }

    // Writes a unit to `member`; `unit` counts from the start of this PE's slot there.
    __device__ void send(i32 member, u64 unit, u64 data) const {
        store_pair(staging_of(member, c.team.me) + unit * 16, data, flag);
    }

    // Waits for a unit that `member` sends; false: leave.
    __device__ bool receive(i32 member, u64 unit, u64 &data) const {
        u64 place = staging_in(own(), member) + unit * 16;
        for (u32 polls = 1;; polls++) {
            Pair pair = load_pair(place);
            data = pair.first;
            if (pair.second == flag) return true;
            if (polls % POLLS == 0 && given_up_on(member)) return false;
        }
    }
};
