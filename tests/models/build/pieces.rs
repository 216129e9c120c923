//! The parts of the core that the models take, and the places where they can be weakened.

use super::{Mutant, Piece};

const fn mutant(item: &'static str, find: &'static str, put: &'static str) -> Mutant {
    Mutant { item, find, put }
}

/// A piece without weaker forms.
const fn whole(name: &'static str, file: &'static str, items: &'static [&'static str]) -> Piece {
    Piece {
        name,
        file,
        items,
        mutants: &[],
    }
}

pub(crate) const PIECES: &[Piece] = &[
    whole("control", "crates/job/src/block/mod.rs", &[
        "struct Header", "struct WaitSlot", "struct PeBlock", "struct Bell", "struct TeamBlock", "struct Slot",
        "struct JoinSlot", "struct TeamOffer",
    ]),
    Piece {
        name: "shared_words",
        file: "crates/job/src/shared_words.rs",
        items: &[
            "macro shared", "shared!", "struct WaitFields", "fn set_state", "fn end_active", "fn set_first_gone",
            "fn count_gone", "fn publish_membership", "fn advance_slot", "fn mark_broken", "fn count_collective",
            "struct Arrival", "fn publish_arrival", "fn take_join_slot", "fn take_over_join_slot", "fn free_join_slot",
            "fn publish_join", "fn set_join_phase", "fn publish_free_numbers", "fn publish_claim", "fn next_wait_id",
            "fn take_wait_slot", "fn publish_wait", "fn end_wait", "fn add_sleeper", "fn remove_sleeper", "fn ring",
            "fn await_ring",
        ],
        mutants: &[
            mutant("fn publish_wait", "fence(Release);", "if !weak(\"board: no fence of the writer\") { fence(Release); }"),
            mutant("fn publish_wait", "slot.id.0.store(id, Release)", "slot.id.0.store(id, ordering(\"board: relaxed id\", Relaxed, Release))"),
            mutant("fn ring", "bell.rings.0.fetch_add(1, Release);", "if !weak(\"doorbell: no ring\") { bell.rings.0.fetch_add(1, Release); }"),
            mutant("fn publish_arrival", "slot.epoch.0.store(epoch, Release)", "slot.epoch.0.store(epoch, ordering(\"meet: relaxed mark\", Relaxed, Release))"),
            mutant(
                "fn advance_slot",
                "slot.epoch.0.store(epoch, Release);",
                "if !weak(\"number: no mark\") { slot.epoch.0.store(epoch, Release); }",
            ),
            mutant("fn advance_slot", "fence(Release);", "if !weak(\"number: no fence\") { fence(Release); }"),
            mutant(
                "fn count_gone",
                "set_first_gone(header, pe); header.gone.0.fetch_add(1, SeqCst);",
                "if weak(\"gone: counted before it is named\") { header.gone.0.fetch_add(1, SeqCst); }
                 set_first_gone(header, pe);
                 if !weak(\"gone: counted before it is named\") { header.gone.0.fetch_add(1, ordering(\"gone: relaxed count\", Relaxed, SeqCst)); }",
            ),
        ],
    },
    Piece {
        name: "sending",
        file: "crates/net/src/endpoint/send_queue.rs",
        items: &[
            "struct QueuedPeers", "impl QueuedPeers", "fn bits", "Endpoint::kick", "Endpoint::kick_rest",
            "Endpoint::send_queued",
        ],
        mutants: &[
            mutant(
                "Endpoint::send_queued",
                "if self.queued.is_still_empty()",
                "if weak(\"sending: no look after the lock\") || self.queued.is_still_empty()",
            ),
            mutant(
                "impl QueuedPeers",
                "self.bits.fetch_or(0, AcqRel) == 0",
                "(weak(\"sending: a plain look after the lock\") && self.is_empty()) || self.bits.fetch_or(0, AcqRel) == 0",
            ),
        ],
    },
    whole("state", "crates/job/src/state.rs", &["enum State", "State::from_number"]),
    Piece {
        name: "board",
        file: "crates/diagnostics/src/board/mod.rs",
        items: &["struct Entry", "Board::entries", "Board::entries_of", "fn ahead", "fn read"],
        mutants: &[
            mutant("Board::entries_of", "fence(Acquire);", "if !weak(\"board: no fence\") { fence(Acquire); }"),
            mutant("Board::entries_of", "(slot.id.load(Relaxed) == id)", "(weak(\"board: no second look\") || slot.id.load(Relaxed) == id)"),
        ],
    },
    whole("error", "crates/vocabulary/src/error.rs", &["enum Error", "Error::status", "Error::naming", "Error::invalid"]),
    whole("range", "crates/vocabulary/src/buffer.rs", &["struct SymRange", "SymRange::new", "SymRange::offset", "SymRange::bytes"]),
    whole("dtype", "crates/vocabulary/src/dtype.rs", &["macro with_dtypes", "enum NumberKind", "macro define", "with_dtypes!", "impl Dtype"]),
    whole("cmp", "crates/vocabulary/src/op.rs", &["enum Cmp", "impl Cmp"]),
    whole("alloc", "crates/job/src/allocator.rs", &["struct Block", "struct Allocator", "impl Allocator"]),
    whole("operation", "crates/vocabulary/src/operation.rs", &[
        "struct Argument", "enum ArgumentKind", "enum Reach", "enum Completes", "macro operations", "operations!",
        "const FACTORS", "fn signature",
    ]),
    whole("published", "crates/job/src/published.rs", &[
        "enum Target", "struct Wait", "struct Seen", "impl From for Seen", "mod kind", "enum Limit", "impl Limit",
        "struct Published", "impl Published", "impl Drop for Published",
    ]),
    Piece {
        name: "bell",
        file: "crates/job/src/doorbell.rs",
        items: &["fn ring_words", "fn wake_words", "fn ring_team", "fn ring_pe", "fn ring_everyone", "fn wake"],
        mutants: &[
            // The waker looks for sleepers before its update is visible, unless a full barrier is in between.
            mutant("fn ring_words", "if control", "full_barrier(); if control"),
            mutant("fn ring_team", "if control", "full_barrier(); if control"),
        ],
    },
    Piece {
        name: "wait",
        file: "src/wait.rs",
        items: &["Inner::sleep"],
        mutants: &[
            mutant("Inner::sleep", "match ready()", "match looks_again(&mut *ready)"),
            mutant(
                "Inner::sleep",
                "shared_words::await_ring(bell, rings, &timeout)",
                "shared_words::await_ring(bell, late(rings, &bell.rings), &timeout)",
            ),
        ],
    },
    Piece {
        name: "calls",
        file: "crates/job/src/calls.rs",
        items: &["struct CallsInFlight", "CallsInFlight::during", "CallsInFlight::are_none"],
        mutants: &[
            mutant("CallsInFlight::during", "fence(SeqCst);", "if !weak(\"calls: no fence of the call\") { fence(SeqCst); }"),
            mutant("CallsInFlight::during", "self.0.fetch_sub(1, Release)", "self.0.fetch_sub(1, ordering(\"calls: relaxed end\", Relaxed, Release))"),
            mutant("CallsInFlight::are_none", "fence(SeqCst);", "if !weak(\"calls: no fence of the end\") { fence(SeqCst); }"),
            mutant(
                "CallsInFlight::are_none",
                "self.0.load(Acquire) == 0",
                "weak(\"calls: no look\") || self.0.load(Acquire) == 0",
            ),
        ],
    },
    Piece {
        name: "lookup",
        file: "src/heap/lookup.rs",
        items: &["struct Line", "Line::contains", "Line::set"],
        mutants: &[
            mutant("Line::contains", "fence(Acquire);", "if !weak(\"line: no fence\") { fence(Acquire); }"),
            mutant(
                "Line::contains",
                "self.version.load(Relaxed) == version",
                "(weak(\"line: no second look\") || self.version.load(Relaxed) == version)",
            ),
            mutant("Line::contains", "version & 1 == 0", "(weak(\"line: odd is fine\") || version & 1 == 0)"),
            mutant("Line::set", "self.start.store(start, Release)", "self.start.store(start, ordering(\"line: relaxed start\", Relaxed, Release))"),
            mutant("Line::set", "self.end.store(end, Release)", "self.end.store(end, ordering(\"line: relaxed end\", Relaxed, Release))"),
        ],
    },
    Piece {
        name: "meeting",
        file: "src/collectives/mod.rs",
        items: &[
            "struct MemberCall", "impl MemberCall", "struct CollectiveCall", "Inner::enter", "Inner::enter_as",
            "Inner::busy", "impl Drop for CollectiveCall", "CollectiveCall::members", "CollectiveCall::n_pes",
            "CollectiveCall::my_pe", "CollectiveCall::pe", "CollectiveCall::team", "CollectiveCall::next_epoch",
            "CollectiveCall::slot", "CollectiveCall::meet", "CollectiveCall::join", "CollectiveCall::meet_unchecked",
            "CollectiveCall::fail", "CollectiveCall::arrive", "CollectiveCall::await_arrivals",
            "CollectiveCall::leave", "CollectiveCall::break_team", "CollectiveCall::payload",
            "CollectiveCall::payload_from",
        ],
        mutants: &[
            mutant("CollectiveCall::await_arrivals", "other.epoch.load(Acquire)", "other.epoch.load(ordering(\"meet: relaxed look\", Relaxed, Acquire))"),
            mutant("CollectiveCall::await_arrivals", "while step < n_pes", "while step < n_pes - weak(\"meet: one is not waited for\") as Pe"),
            mutant("CollectiveCall::await_arrivals", "let equal = other.signature.load(Relaxed) == signature;", "let equal = weak(\"meet: signatures not compared\") || other.signature.load(Relaxed) == signature;"),
            mutant("CollectiveCall::await_arrivals", "if other.epoch.load(Relaxed) == epoch", "if weak(\"number: no second look\") || other.epoch.load(Relaxed) == epoch"),
            mutant("CollectiveCall::await_arrivals", "if gone_on", "if gone_on && !weak(\"number: gone on is fine\")"),
        ],
    },
    Piece {
        name: "team",
        file: "src/team/mod.rs",
        items: &[
            "const MAX_GENERATION", "struct Team", "impl Team", "struct TeamConfig", "struct Members", "impl Members",
            "struct TeamState", "impl TeamState", "struct Teams", "struct Pool", "Teams::pool", "Teams::unused",
            "Teams::claim", "Teams::give_back", "Teams::lose", "Teams::lost", "struct Claim", "impl Claim",
            "impl Drop for Claim", "fn choose", "const MAX_ATTEMPTS", "fn latest",
        ],
        mutants: &[
            mutant(
                "Teams::claim",
                "if *word & bit != 0",
                "if *word & bit != 0 && !weak(\"claim: not asked\")",
            ),
        ],
    },
    Piece {
        name: "teams",
        file: "src/runtime/teams.rs",
        items: &[
            "Inner::team", "Inner::team_state", "Inner::check_team", "Inner::mark_member_broken", "Inner::break_team",
            "fn no_team",
        ],
        mutants: &[mutant(
            "Inner::break_team",
            "self.mark_member_broken(team.index, pe, mark);",
            "if !weak(\"leave: no mark\") { self.mark_member_broken(team.index, pe, mark); }",
        )],
    },
    whole("making", "src/team_management/mod.rs", &["Inner::claim_team", "Inner::make_transport_team"]),
    whole("marks", "crates/job/src/team.rs", &["const NAMES", "fn breaks", "fn broken"]),
    whole("numbers", "src/team_management/numbers.rs", &["Inner::free_number", "Inner::end_for_kernels", "Inner::free_broken", "Inner::exhausted"]),
    Piece {
        name: "split",
        file: "src/team_management/split.rs",
        items: &["struct Part", "impl Part", "enum ClaimResult", "Inner::make_teams", "Inner::destroy_team", "Inner::take_handle", "fn common"],
        mutants: &[
            mutant("Inner::destroy_team", "state.skip_to(mark >> 20);", "if !weak(\"number: broken and not skipped\") { state.skip_to(mark >> 20); }"),
            mutant("Inner::destroy_team", "self.mark_member_broken(state.index, pe, mark);", "if !weak(\"number: broken and not told\") { self.mark_member_broken(state.index, pe, mark); }"),
            mutant("Inner::make_teams", "if answers.iter().all(is(ClaimResult::Claimed))", "if weak(\"split: claims of the others not asked\") || answers.iter().all(is(ClaimResult::Claimed))"),
        ],
    },
    whole("join", "src/team_management/join.rs", &[
        "const FAILED", "struct JoinAttempt", "impl Drop for JoinAttempt", "impl JoinAttempt", "fn failed",
        "fn check_failed", "fn joining_slots", "Inner::team_init",
    ]),
    Piece {
        name: "stream",
        file: "src/stream/queue.rs",
        items: &[
            "type Job", "struct Queue", "struct State", "impl Queue", "struct QueueStream", "QueueStream::submit",
            "QueueStream::submit_made", "QueueStream::synchronize", "QueueStream::wait", "struct QueueMarks",
            "impl QueueMarks",
        ],
        mutants: &[
            mutant("QueueStream::wait", "marks.await_ticket(&rt.inner, ticket)", "if weak(\"stream: no wait for the event\") { Ok(()) } else { marks.await_ticket(&rt.inner, ticket) }"),
            mutant("impl Queue", "state.jobs.pop_front()", "next_job(&mut state.jobs)"),
            mutant("impl Queue", "self.lock().closed = true;", "if !weak(\"stream: not closed\") { self.lock().closed = true; }"),
            mutant("impl Queue", "completed if completed >= goal => Ok(())", "completed if completed + weak(\"stream: one is not waited for\") as u64 >= goal => Ok(())"),
            mutant("impl Queue", "self.completed.fetch_add(1, Release)", "self.completed.fetch_add(1, ordering(\"stream: relaxed count\", Relaxed, Release))"),
            mutant("impl Queue", "self.completed.load(Acquire)", "self.completed.load(ordering(\"stream: relaxed look\", Relaxed, Acquire))"),
            mutant("impl QueueMarks", "marks.reached.fetch_max(ticket, AcqRel)", "marks.reached.fetch_max(ticket, ordering(\"event: relaxed mark\", Relaxed, AcqRel))"),
            mutant("QueueStream::submit_made", "self.queue.work.notify_one()", "if !weak(\"stream: not rung\") { self.queue.work.notify_one() }"),
        ],
    },
    Piece {
        name: "releases",
        file: "src/memory_management/released.rs",
        items: &[
            "const IDS", "const MORE", "struct Brought", "impl Brought", "struct Pending", "Pending::judge",
            "Inner::released_ids", "Inner::meet_and_free", "Inner::free_ids", "Inner::release",
        ],
        mutants: &[
            mutant(
                "Pending::judge",
                "brought[1..].iter().all(|one| one.has(id))",
                "brought[1 + weak(\"release: one is not asked\") as usize..].iter().all(|one| one.has(id))",
            ),
            mutant(
                "Inner::meet_and_free",
                "let Some(next) = next else",
                "let Some(next) = next.filter(|_| !weak(\"release: one meeting\")) else",
            ),
        ],
    },
    whole("runtime", "src/runtime/mod.rs", &["Inner::state", "Inner::check_job", "Inner::lost", "Inner::pe_gone"]),
    Piece {
        name: "liveness",
        file: "crates/job/src/liveness.rs",
        items: &["fn mark_gone", "fn all_are"],
        mutants: &[
            mutant("fn mark_gone", "if was_active ||", "if (was_active && !weak(\"gone: nobody is told\")) ||"),
        ],
    },
];
