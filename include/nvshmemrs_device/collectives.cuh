// Part of nvshmemrs_device.cuh: teams, and collectives without reductions.
#pragma once

namespace nvshmemrs::device {

// ---- Teams. ----

// The row of a handle, which is not yet checked: the rows follow the job in memory, so that both are loaded at the same time.
NVSHMEMRS_I_DEVICE const Team *row_of(const State &s, u64 handle) { return (const Team *)((const Job *)s.job + 1) + least((u32)handle, TEAMS - 1); }
// A team, if this PE is a member; else an empty team, whose n is 0.
NVSHMEMRS_I_DEVICE Team find_team(const State &s, u64 handle) {
    const Job *job = (const Job *)s.job;
    Team team = *row_of(s, handle);
    if ((u32)handle >= job->n_teams || team.n < 0 || team.generation != (u32)(handle >> 32)) team.n = 0;
    return team;
}
NVSHMEMRS_I_DEVICE i32 pe_of(const Team &team, i32 member) {
    return team.step ? team.first + member * team.step : ((const i32 *)team.members)[member];
}
NVSHMEMRS_I_DEVICE i32 member_of(const Team &team, i32 pe) {
    for (i32 m = 0; m < team.n; m++)
        if (pe_of(team, m) == pe) return m;
    return -1;
}

// ---- Collectives. ----

// The end of a wait for mail: the word has arrived; the sender meets the members instead; the job is broken.
enum Taken { TAKEN, NOT_SENT, BROKEN };

// A collective call of a group, which meets the groups of the other members. All threads of the group have equal copies.
template <class G> class Call {
  public:
    const State &s;
    // The number of members, and this PE's number in the team.
    i32 n, me;

    NVSHMEMRS_I_PART Call(const Given &given, u32 operation, u64 handle, u32 slot)
        : s(given.get()), given_(given.by_members()), row_(row_of(s, handle)), operation_(operation), team_((u32)handle), slot_(slot) {
        const Job *job = (const Job *)s.job;
        // A thread of the group may just have met other members in this slot in a call of its own.
        G::sync();
        // All of these loads are in flight at the same time.
        n = row_->n, me = row_->me, first_ = row_->first, step_ = row_->step;
        const u64 *counter = (const u64 *)row_->epochs + slot;
        if ((u32)handle >= job->n_teams || row_->generation != (u32)(handle >> 32)) n = 0;
        if (s.check & CHECK_HOSTS && n != 0 && row_->unreachable) report(s.job, given_.caller(), UNREACHABLE_PE, operation, row_->unreachable - 1, handle, 0);
        if (s.check & CHECK_ARGUMENTS && n == 0) report(s.job, given_.caller(), WRONG_TEAM, operation, s.my_pe, handle, 0);
        if (s.check & CHECK_ARGUMENTS && slot >= job->slots) report(s.job, given_.caller(), WRONG_SLOT, operation, s.my_pe, slot, 0);
        good_ = n != 0 && slot < job->slots;
        if (good_) epoch_ = load_relaxed(counter);
    }

    NVSHMEMRS_I_DEVICE bool good() const { return good_; }

    // Symmetric memory of member m.
    NVSHMEMRS_I_DEVICE u64 on(i32 m, const void *own) const { return (u64)own + (u64)(i64)(pe(m) - s.my_pe) * s.stride; }

    // Checks that `bytes` bytes of this PE are symmetric, if checks are on.
    NVSHMEMRS_I_PART void check(u32 operation, const void *own, u64 bytes, u32 align) const {
        if (s.check & CHECK_ARGUMENTS)
            check_memory(s.check, s.job, given_.caller(), s.base + (u64)s.my_pe * s.stride, s.n_pes, operation, s.my_pe, (u64)own, bytes, align);
    }

    // The call reads or writes memory of this PE.
    NVSHMEMRS_I_DEVICE void reads(const void *own, u64 bytes) const { uses(own, bytes, 0); }
    NVSHMEMRS_I_DEVICE void writes(const void *own, u64 bytes) const { uses(own, bytes, WRITES_OWN); }

    // Returns when all members have come, and the earlier stores of their groups are visible; false: the job is broken. steps: 0 if this
    // meeting has an epoch already, because mail was sent in this epoch.
    NVSHMEMRS_I_PART bool meet(u32 steps = 1) {
        if (!good_) return false;
        // The stores of the group's threads come before the announcement of one of them. The load of the epoch may still be in flight.
        G::sync();
        u64 sync = row_->sync;
        u64 *counter = this->counter();
        if ((i32)G::rank() < n) fence();
        epoch_ += steps;
        record_meeting(RECORD_ARRIVAL);
        u64 row = sync + ((u64)slot_ * 2 + (epoch_ & 1)) * n * 8, own = s.base + (u64)s.my_pe * s.stride + row;
        for (i32 m = G::rank(); m < n; m += G::size())
            if (m != me) store_relaxed((u64 *)(s.base + (u64)pe(m) * s.stride + row) + me, epoch_);
        keep_epoch(counter);
        bool came = true;
        for (i32 m = G::rank(); m < n && came; m += G::size())
            for (u32 polls = 1; m != me && load_acquire((const u64 *)own + m) < epoch_; polls++)
                if (polls % POLLS == 0 && load_relaxed((const u32 *)s.abort)) {
                    came = false;
                    break;
                }
        good_ = !G::any(!came);
        if (good_) record_meeting(RECORD_MEETING);
        return good_;
    }

    // The end of a call: no member reads this PE's source any more.
    NVSHMEMRS_I_DEVICE int leave() { return meet() ? 0 : -1; }

    // Whether members send this number of words by mail, and the place of the mail.
    NVSHMEMRS_I_PART bool has_mail([[maybe_unused]] u64 bytes) {
#ifdef NVSHMEMRS_DEVICE_NO_MAIL
        return false;
#else
        bool longer = bytes > MAIL_WORDS * 4;
        mail_words_ = longer ? row_->long_words : MAIL_WORDS;
        mail_ = row_->mail;
        // The checker needs meetings, and there are none with mail.
        if (given_.is_watched() || mail_ == 0 || slot_ >= MAIL_SLOTS || bytes == 0 || bytes > mail_words_ * 4) return false;
        if (longer) mail_ += (u64)MAIL_SLOTS * 2 * s.n_pes * MAIL_WORDS * 8;
        return true;
#endif
    }

    // Words that a thread reads at once, of elements of EACH words.
    static constexpr NVSHMEMRS_I_DEVICE u32 batch(u32 each) { return each > MAIL_BATCH ? each : MAIL_BATCH; }

    // Sends `source` to all members, including this member.
    NVSHMEMRS_I_PART void post(const void *source, u32 bytes) {
        epoch_++;
        G::sync();
        u32 words = (bytes + 3) / 4;
        u64 place = s.base + mail(me), flag = epoch_ << 32;
        for (u32 first = G::rank(); first < words; first += G::size() * MAIL_BATCH) {
            // The loads of a batch are in flight at the same time.
            u32 values[MAIL_BATCH];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < MAIL_BATCH; k++) {
                u32 word = first + k * G::size();
                values[k] = word < words ? word_of((u64)source, bytes, word) : 0;
            }
            for (i32 m = 0; m < n; m++) {
                u64 *to = (u64 *)(place + (u64)pe(m) * s.stride);
                NVSHMEMRS_I_UNROLL
                for (u32 k = 0; k < MAIL_BATCH; k++)
                    if (first + k * G::size() < words) store_relaxed(to + first + k * G::size(), flag | values[k]);
            }
        }
        keep_epoch(counter());
        // No thread reads the source from here on.
        G::sync();
    }

    // Whether the group receives a part of this size from each member faster by mail than by a copy.
    static NVSHMEMRS_I_DEVICE bool is_short(u64 bytes) { return bytes <= G::size() * 16; }

    // Sends each member its part of `source`: `bytes` bytes for each.
    NVSHMEMRS_I_PART void post_parts(const void *source, u32 bytes) {
        epoch_++;
        G::sync();
        u32 words = (bytes + 3) / 4, all = words * n;
        u64 place = s.base + mail(me), flag = epoch_ << 32;
        for (u32 first = G::rank(); first < all; first += G::size() * MAIL_BATCH) {
            u32 values[MAIL_BATCH];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < MAIL_BATCH; k++) {
                u32 i = first + k * G::size();
                values[k] = i < all ? word_of((u64)source + (u64)(i / words) * bytes, bytes, i % words) : 0;
            }
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < MAIL_BATCH; k++) {
                u32 i = first + k * G::size();
                if (i < all) store_relaxed((u64 *)(place + (u64)pe(i / words) * s.stride) + i % words, flag | values[k]);
            }
        }
        keep_epoch(counter());
        G::sync();
    }

    // Receives a part from each member into its place in `dest`.
    NVSHMEMRS_I_PART Taken receive_parts(void *dest, u32 bytes) {
        u32 words = (bytes + 3) / 4;
        return receive(words * n, [&](u32 i) { return MailWord{(i32)(i / words), i % words, (u64)dest + (u64)(i / words) * bytes, bytes}; });
    }

    // Receives the message of `root`, and a word of each other member, which shows that the member has come.
    NVSHMEMRS_I_PART Taken receive_message(i32 root, void *dest, u32 bytes) {
        u32 words = (bytes + 3) / 4;
        return receive(words + n - 1, [&](u32 i) {
            if (i < words) return MailWord{root, i, (u64)dest, bytes};
            i32 other = (i32)(i - words);
            return MailWord{other < root ? other : other + 1, 0, 0, 0};
        });
    }

    // Reads words that a member has sent: BATCH / EACH runs of EACH words, from `first` on, as far as they are below `words`. The result
    // says whether all words have arrived, or why not.
    //
    // A member that has met the others in this epoch has sent no mail, or has not received all mail. Then no member receives all mail, and all
    // members meet: no member has left this epoch before.
    template <u32 EACH> NVSHMEMRS_I_PART Taken take(i32 m, u32 first, u32 words, u32 *values) const {
        u64 own = s.base + (u64)s.my_pe * s.stride;
        const u64 *at = (const u64 *)(own + mail(m));
        return await<batch(EACH)>(
            [&](u32 k) {
                u32 word = first + k / EACH * EACH * G::size() + k % EACH;
                return word < words ? at + word : nullptr;
            },
            [&](u32) { return m; }, values);
    }

    // The common result of all threads of the group.
    NVSHMEMRS_I_DEVICE Taken all_taken(Taken taken) {
        if (!G::any(taken != TAKEN)) return TAKEN;
        return G::any(taken == BROKEN) ? BROKEN : NOT_SENT;
    }

  private:
    // The address of member m's mail on a member.
    NVSHMEMRS_I_DEVICE u64 mail(i32 m) const { return mail_ + (((u64)slot_ * 2 + (epoch_ & 1)) * n + m) * mail_words_ * 8; }
    static NVSHMEMRS_I_DEVICE u32 word_of(u64 source, u32 bytes, u32 word) {
        u64 at = source + word * 4;
        if (at % 4 == 0 && bytes >= word * 4 + 4) return read<u32>(at);
        u32 value = 0;
        for (u32 k = 0; k < 4 && word * 4 + k < bytes; k++) value |= (u32)read<u8>(at + k) << k * 8;
        return value;
    }
    // A word of a member's message of `bytes` bytes, which belongs into `dest`.
    struct MailWord {
        i32 member;
        u32 word;
        u64 dest;
        u32 bytes;
    };
    // Receives `count` words, of which `word` describes the i-th, and writes each to its place. A thread has several loads in flight.
    template <class Describe> NVSHMEMRS_I_DEVICE Taken receive(u32 count, const Describe &word) {
        constexpr u32 BATCH = 4;
        u64 own = s.base + (u64)s.my_pe * s.stride;
        Taken came = TAKEN;
        for (u32 first = G::rank(); first < count && came == TAKEN; first += G::size() * BATCH) {
            u32 values[BATCH];
            const u64 *at[BATCH];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < BATCH; k++) {
                u32 i = first + k * G::size();
                MailWord of = word(i < count ? i : first);
                at[k] = i < count ? (const u64 *)(own + mail(of.member)) + of.word : nullptr;
            }
            came = await<BATCH>([&](u32 k) { return at[k]; }, [&](u32 k) { return word(first + k * G::size()).member; }, values);
            if (came != TAKEN) break;
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < BATCH; k++)
                if (at[k]) put_word(word(first + k * G::size()), values[k]);
        }
        return all_taken(came);
    }
    static NVSHMEMRS_I_DEVICE void put_word(const MailWord &word, u32 value) {
        u64 at = word.dest + word.word * 4;
        if (at % 4 == 0 && word.bytes >= word.word * 4 + 4) write<u32>(at, value);
        else
            for (u32 k = 0; k < 4 && word.word * 4 + k < word.bytes; k++) write<u8>(at + k, (u8)(value >> k * 8));
    }
    // Waits for COUNT words of mail. `at`: the address of the k-th word, or null; `member`: who sends it.
    template <u32 COUNT, class At, class Member> NVSHMEMRS_I_DEVICE Taken await(const At &at, const Member &member, u32 *values) const {
        for (u32 polls = 1;; polls++) {
            u32 missing = COUNT;
            u64 seen[COUNT];
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < COUNT; k++) {
                const u64 *word = at(k);
                seen[k] = word ? load_relaxed(word) : epoch_ << 32;
            }
            NVSHMEMRS_I_UNROLL
            for (u32 k = 0; k < COUNT; k++) {
                values[k] = (u32)seen[k];
                if ((u32)(seen[k] >> 32) != (u32)epoch_) missing = k;
            }
            if (missing == COUNT) return TAKEN;
            if (polls % MAIL_POLLS == 0) {
                u64 row = row_->sync + ((u64)slot_ * 2 + (epoch_ & 1)) * n * 8, own = s.base + (u64)s.my_pe * s.stride;
                if (load_relaxed((const u64 *)(own + row) + member(missing)) >= epoch_) return NOT_SENT;
                if (polls % POLLS == 0 && load_relaxed((const u32 *)s.abort)) return BROKEN;
            }
        }
    }
    // The PE of a member.
    NVSHMEMRS_I_DEVICE i32 pe(i32 m) const { return step_ ? first_ + m * step_ : ((const i32 *)row_->members)[m]; }
    NVSHMEMRS_I_DEVICE void keep_epoch(u64 *counter) const {
        if (G::rank() == 0) store_relaxed(counter, epoch_);
    }
    NVSHMEMRS_I_DEVICE u64 *counter() const { return (u64 *)row_->epochs + slot_; }
    NVSHMEMRS_I_DEVICE void uses([[maybe_unused]] const void *own, [[maybe_unused]] u64 bytes, [[maybe_unused]] u32 flags) const {
        if (given_.is_watched() && G::rank() == 0) given_.record(RECORD_USE, operation_, s.my_pe, (u64)own, bytes, 0, 0, 0, flags);
    }
    // No thread of the group continues before the checker has read the record.
    NVSHMEMRS_I_DEVICE void record_meeting([[maybe_unused]] u32 kind) const {
        if (!given_.is_watched()) return;
        u32 flags = operation_ == BARRIER || operation_ == SYNC ? COMPLETES : NO_FLAGS;
        if (G::rank() == 0) given_.record(kind, operation_, s.my_pe, team_, 0, 0, 0, epoch_, flags);
        G::sync();
    }
    Given given_;
    const Team *row_;
    i32 first_, step_;
    u32 operation_, team_, slot_;
    bool good_;
    u64 epoch_;
    // The start of the mail in use, and the words that a member sends another member.
    u64 mail_;
    u32 mail_words_;
};

template <class G> NVSHMEMRS_I_LOOP int barrier(Given s, u32 operation, u64 team, u32 slot) {
    Call<G> call(s, operation, team, slot);
    return call.leave();
}

template <class G, u32 ALIGN> NVSHMEMRS_I_LOOP int broadcast(Given s, u64 team, void *dest, const void *source, u64 bytes, i32 root, u32 slot) {
    Call<G> call(s, BROADCAST, team, slot);
    if (!call.good()) return -1;
    call.check(BROADCAST, dest, bytes, ALIGN);
    call.check(BROADCAST, source, bytes, ALIGN);
    s.check_argument(root >= 0 && root < call.n, BROADCAST, root);
    u32 steps = 1;
    if (call.is_short(bytes) && call.has_mail(bytes)) {
        call.post(call.me == root ? source : dest, call.me == root ? (u32)bytes : 1);
        Taken taken = call.receive_message(root, dest, (u32)bytes);
        if (taken != NOT_SENT) return taken == TAKEN ? 0 : -1;
        steps = 0;
    }
    if (call.me == root) call.reads(source, bytes);
    if (!call.meet(steps)) return -1;
    if (call.me != root || dest != source) call.writes(dest, bytes);
    if (call.me != root || dest != source) copy<G, ALIGN>((u64)dest, call.on(root, source), bytes);
    return call.leave();
}

// Member m's part goes to the m-th place of `dest`. STEP: the place of the part in member m's source, in parts: 0, or this member's number.
template <class G, u32 ALIGN, u32 OPERATION>
NVSHMEMRS_I_LOOP int gather(Given s, u64 team, void *dest, const void *source, u64 bytes, u32 slot) {
    Call<G> call(s, OPERATION, team, slot);
    if (!call.good()) return -1;
    i32 n = call.n, me = call.me;
    call.check(OPERATION, dest, bytes * n, ALIGN);
    call.check(OPERATION, source, OPERATION == ALLTOALL ? bytes * n : bytes, ALIGN);
    u64 all = OPERATION == ALLTOALL ? bytes * n : bytes;
    // If a member sends no mail, the members read each other's sources, which must not have been written.
    bool apart = (u64)source + all <= (u64)dest || (u64)dest + bytes * n <= (u64)source;
    u32 steps = 1;
    if (apart && call.is_short(bytes) && call.has_mail(bytes)) {
        if (OPERATION == ALLTOALL) call.post_parts(source, (u32)bytes);
        else call.post(source, (u32)bytes);
        Taken taken = call.receive_parts(dest, (u32)bytes);
        if (taken != NOT_SENT) return taken == TAKEN ? 0 : -1;
        steps = 0;
    }
    call.reads(source, all);
    if (!call.meet(steps)) return -1;
    call.writes(dest, bytes * n);
    u64 from = OPERATION == ALLTOALL ? me * bytes : 0;
    // Each member begins with a different member.
    for (i32 k = 0; k < n; k++) {
        i32 m = me + k < n ? me + k : me + k - n;
        copy<G, ALIGN>((u64)dest + m * bytes, call.on(m, source) + from, bytes);
    }
    return call.leave();
}

} // namespace nvshmemrs::device
