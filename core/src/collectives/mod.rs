//! Collectives, and the meetings of a team's members.
//!
//! Every collective begins with a meeting. Each member writes its arguments (and its own error, if it has one) to its slot, marks
//! the slot with the epoch, and waits until it has seen every other member's mark. All members then see the same signatures:
//! either all are equal, or every member reads the posted arguments and returns the same error, before any data is written. So
//! invalid arguments of one member leave no other member waiting.
//!
//! A meeting can carry a payload of up to [`PAYLOAD_BYTES`], which small collectives use instead of a second meeting: the data
//! is stored with the mark, in one cache line if it is short. Each member's two slots are used in turn, and a slot
//! is written again only after every member has entered the next epoch, hence has read it.

mod alltoall;
mod arguments;
mod barrier;
mod broadcast;
mod checked;
mod collect;
mod fold;
mod hosts;
mod levels;
mod moves;
mod offload;
mod private;
mod reduce;
mod reducescatter;
mod scan;
mod work;

use arguments::{check_overlap, times};
use levels::Part;
pub use private::CollectiveBuffer;
use work::{WORK_WORDS, Work, bytes_of, bytes_of_mut, with_work};

use crate::job::block::{PAYLOAD_WORDS, Slot};
use crate::job::doorbell::ring_team;
use crate::job::published::{Target, Wait};
use crate::job::shared_words::{self, Arrival};
use crate::job::team;
use crate::operation::{ARGS, Operation, Reach, signature};
use crate::runtime::{Inner, Span};
use crate::team::{Members, Team, TeamState};
use crate::{Error, Pe, Result};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// The most bytes of a meeting's payload.
pub(crate) const PAYLOAD_BYTES: usize = PAYLOAD_WORDS * 8;

/// A member's call of a collective.
#[derive(Debug)]
pub(crate) struct MemberCall {
    pub(crate) operation: Operation,
    /// The arguments that all members must pass alike.
    pub(crate) args: [u64; ARGS],
    /// This member's own error, which is sent to every member.
    pub(crate) error: Option<Error>,
}

impl MemberCall {
    /// A call without arguments.
    pub(crate) fn plain(operation: Operation) -> MemberCall {
        MemberCall {
            operation,
            args: [0; ARGS],
            error: None,
        }
    }

    /// The same with these arguments.
    pub(crate) fn with(self, args: [u64; ARGS]) -> MemberCall {
        MemberCall { args, ..self }
    }

    /// The same with an error of this member's own, if there is one.
    pub(crate) fn failing(self, error: Option<Error>) -> MemberCall {
        MemberCall { error, ..self }
    }
}

/// The words of an error as a payload, up to a 0.
#[cold]
fn error_words(error: &Error) -> [u64; PAYLOAD_WORDS] {
    let mut words = [0; PAYLOAD_WORDS];
    let text = error.to_string();
    let len = text.len().min(PAYLOAD_BYTES - 1);
    bytemuck::cast_slice_mut(&mut words)[..len].copy_from_slice(&text.as_bytes()[..len]);
    words
}

/// A collective call of this PE on a team; one thread at a time has one.
pub(crate) struct CollectiveCall<'a> {
    inner: &'a Inner,
    team: &'a TeamState,
    /// The members, where no stride describes them.
    list: Option<Arc<[Pe]>>,
    /// Where the program called the collective, in a checked job.
    site: u16,
    /// Whether the members have met, in a checked job.
    met: Cell<bool>,
    /// Its record, in a traced job.
    span: Option<Span<'a>>,
}

impl Drop for CollectiveCall<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.team.leave();
    }
}

impl Inner {
    /// Begins a collective.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn enter(&self, team: Team, operation: Operation) -> Result<CollectiveCall<'_>> {
        self.enter_as(team, operation, operation)
    }

    /// As [`enter`](Inner::enter), for a collective that the program knows by another name.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn enter_as(
        &self,
        team: Team,
        operation: Operation,
        called: Operation,
    ) -> Result<CollectiveCall<'_>> {
        debug_assert!(operation.reach() == Reach::Collective, "{operation:?}");
        self.ready()?;
        // A member that has given up on a dead PE must not arrive once more in its place.
        self.check_job(operation)?;
        let handle = team;
        let team = self.team(handle)?;
        if !team.enter() {
            return Err(self.busy(operation, team));
        }
        let collective = CollectiveCall {
            inner: self,
            team,
            list: team.list(),
            site: self.site(called),
            met: Cell::new(false),
            span: self.span_of_collective(called, team.index, || team.next_epoch()),
        };
        // Another thread may have destroyed the team since.
        self.team(handle)?;
        self.check_team(operation, team)?;
        shared_words::count_collective(self.control.block(team.row, self.my_pe));
        Ok(collective)
    }

    #[cold]
    fn busy(&self, operation: Operation, team: &TeamState) -> Error {
        Error::Busy {
            operation: operation.name(),
            me: self.my_pe,
            team: team::name(team.index),
        }
    }
}

impl<'a> CollectiveCall<'a> {
    pub(crate) fn team(&self) -> &'a TeamState {
        self.team
    }

    /// The members, by their numbers.
    pub(crate) fn members(&self) -> Members {
        self.team.members()
    }

    /// The number of members.
    #[inline(always)]
    pub(crate) fn n_pes(&self) -> Pe {
        self.team.n_pes()
    }

    /// This PE's number in the team.
    #[inline(always)]
    pub(crate) fn my_pe(&self) -> Pe {
        self.team.my_pe()
    }

    /// The PE that is member `member`.
    #[inline(always)]
    pub(crate) fn pe(&self, member: Pe) -> Pe {
        match &self.list {
            None => self.team.strided_pe(member),
            Some(list) => list[member as usize],
        }
    }

    /// The epoch that the next meeting will have.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.team.next_epoch()
    }

    #[inline(always)]
    fn slot(&self, member: Pe, epoch: u64) -> &'a Slot {
        self.inner
            .control
            .slot(self.team.row, self.pe(member), epoch)
    }

    /// Meets the other members with `payload`. Returns the epoch once all have arrived with equal calls.
    pub(crate) fn meet(&self, call: MemberCall, payload: &[u64]) -> Result<u64> {
        match call.error {
            None => self.join(call.operation, call.args, payload),
            Some(error) => self.fail(call.operation, call.args, error),
        }
    }

    /// As [`meet`](CollectiveCall::meet), for a member without an error of its own.
    #[inline(always)]
    pub(crate) fn join(
        &self,
        operation: Operation,
        args: [u64; ARGS],
        payload: &[u64],
    ) -> Result<u64> {
        if let Err(error) = self.inner.transport.internal().failure() {
            return self.fail(operation, args, error);
        }
        match self.inner.transport.observer() {
            None => self.meet_unchecked(operation, args, payload),
            Some(observer) => self.meet_checked(observer, operation, args, payload),
        }
    }

    #[inline(always)]
    fn meet_unchecked(
        &self,
        operation: Operation,
        args: [u64; ARGS],
        payload: &[u64],
    ) -> Result<u64> {
        let signature = signature(operation, &args, false);
        let epoch = self.arrive(operation, args, signature, 0, payload);
        match self.await_arrivals(operation, epoch, signature) {
            Ok(true) => Ok(epoch),
            Ok(false) => Err(self.explain(operation, epoch)),
            Err(error) => Err(error),
        }
    }

    /// Meets the other members with this member's own error in place of data, so that every member learns of it.
    #[cold]
    #[inline(never)]
    pub(crate) fn fail<T>(
        &self,
        operation: Operation,
        args: [u64; ARGS],
        error: Error,
    ) -> Result<T> {
        let signature = signature(operation, &args, true);
        let status = error.status() as u32;
        let epoch = self.arrive(operation, args, signature, status, &error_words(&error));
        match error {
            // It has waited in this collective as long as it may, or must not wait.
            Error::Timeout { .. } | Error::Interrupted { .. } | Error::PeStopped { .. } => {
                self.leave(&error);
            }
            _ => {
                self.await_arrivals(operation, epoch, signature)?;
            }
        }
        Err(error)
    }

    /// Publishes this member's call, and marks its slot. Returns the epoch.
    #[inline(always)]
    fn arrive(
        &self,
        operation: Operation,
        args: [u64; ARGS],
        signature: u64,
        status: u32,
        payload: &[u64],
    ) -> u64 {
        let epoch = self.team.begin_epoch();
        let arrival = Arrival {
            operation: operation as u32,
            args,
            error: status,
            payload,
            signature,
        };
        shared_words::publish_arrival(self.slot(self.my_pe(), epoch), epoch, arrival);
        // A member that falls asleep right now may miss it, and naps for at most a millisecond; a full barrier would cost
        // every meeting some nanoseconds.
        ring_team(&self.inner.control);
        epoch
    }

    /// Waits until every member has marked its slot; returns whether all calls match.
    #[inline(always)]
    fn await_arrivals(&self, operation: Operation, epoch: u64, signature: u64) -> Result<bool> {
        let wait = Wait {
            operation,
            target: Target::Team {
                index: self.team.index,
                epoch,
            },
        };
        // Members seen so far, from the right-hand neighbour on, and whether all of them match.
        let (mut step, mut same, mut gone_on) = (1, true, false);
        let (n_pes, me) = (self.n_pes(), self.my_pe());
        let mut relay = self.relay(epoch);
        let met = self.inner.wait(wait, || {
            if let Some(relay) = &mut relay {
                relay.step();
            }
            while step < n_pes {
                let next = me + step;
                let member = if next < n_pes { next } else { next - n_pes };
                let other = self.slot(member, epoch);
                let mark = other.epoch.load(Acquire);
                if mark < epoch {
                    return Err(step as u64);
                }
                let equal = other.signature.load(Relaxed) == signature;
                fence(Acquire);
                // After the team's last meeting a member may have gone on to another team with this number. It left the meeting
                // before, so all came with equal calls, unless the team was broken.
                if other.epoch.load(Relaxed) == epoch {
                    same &= equal;
                } else {
                    gone_on = true;
                }
                step += 1;
            }
            // The last mark may have come after the first look for what to send.
            if let Some(relay) = &mut relay {
                relay.step();
            }
            Ok(())
        });
        if let Err(error) = met {
            self.leave(&error);
            return Err(error);
        }
        if gone_on {
            self.inner.check_team(operation, self.team)?;
        }
        Ok(same)
    }

    /// Meets once more, when the data of a large collective has been moved.
    pub(crate) fn meet_again(&self, operation: Operation) -> Result<()> {
        self.inner.transport.internal().quiet_before_release();
        // Arguments with which no PE enters a collective.
        self.join(operation, [u64::MAX; ARGS], &[]).map(|_| ())
    }

    /// This member's wait ended early, so the others can never complete this team's collectives: marks the team as broken. They know
    /// already of a PE that is gone, and of a broken team.
    #[cold]
    fn leave(&self, error: &Error) {
        if !matches!(error, Error::PeDied { .. } | Error::TeamBroken { .. }) {
            self.break_team();
        }
    }

    /// Marks the team as broken.
    #[cold]
    fn break_team(&self) {
        self.inner.break_team(self.team());
    }

    /// The error for calls that do not match in an epoch: the first member's own error, else the first member that differs from member
    /// 0.
    #[cold]
    #[inline(never)]
    fn explain(&self, operation: Operation, epoch: u64) -> Error {
        let members = 0..self.n_pes();
        let operation_name = operation.name();
        for member in members.clone() {
            let (pe, slot) = (self.pe(member), self.slot(member, epoch));
            let status = slot.error.load(Relaxed);
            let (requested, available) = (slot.args[3].load(Relaxed), slot.args[4].load(Relaxed));
            if operation == Operation::Malloc && status == 2 && requested > 0 {
                let limit = format!("says PE {pe}");
                let remote = self.inner.control.remote().map(|remote| remote.hosts());
                return Error::MachineMemory {
                    requested,
                    n_pes: remote.map_or(self.n_pes(), |hosts| hosts.pes(hosts.of(pe)).len() as Pe),
                    available,
                    limit,
                };
            }
            if status != 0 {
                let mut words = [0; PAYLOAD_WORDS];
                self.payload(member, epoch, &mut words);
                let bytes: &[u8] = bytemuck::cast_slice(&words);
                let end = bytes
                    .iter()
                    .position(|&byte| byte == 0)
                    .unwrap_or(bytes.len());
                let why = String::from_utf8_lossy(&bytes[..end]).into_owned();
                return Error::PeerArgument {
                    operation: operation_name,
                    pe,
                    why,
                };
            }
        }
        let first = self.slot(0, epoch);
        let name = |slot: &Slot| {
            Operation::from_number(slot.operation_and_length().0).map_or("unknown", Operation::name)
        };
        let mismatch = |member, theirs: String, ours: String| {
            self.report_mismatch(member, epoch, &theirs, &ours);
            Error::Mismatch {
                operation: operation_name,
                pe: self.pe(member),
                theirs,
                other: self.pe(0),
                ours,
            }
        };
        for member in members.skip(1) {
            let slot = self.slot(member, epoch);
            if name(slot) != name(first) {
                let called = |member, slot: &Slot| {
                    let place = self.place(member, epoch);
                    match place {
                        Some(place) => format!("called {place}"),
                        None => format!("called `{}`", name(slot)),
                    }
                };
                return mismatch(member, called(member, slot), called(0, first));
            }
            for index in 0..ARGS {
                let (theirs, ours) = (
                    slot.args[index].load(Relaxed),
                    first.args[index].load(Relaxed),
                );
                if theirs != ours {
                    let says = |value| match operation.arguments().get(index) {
                        Some(argument) => argument.describe(value),
                        None => format!("argument {value}"),
                    };
                    let called_at = |member| match self.place(member, epoch) {
                        Some(place) => format!(" ({place})"),
                        None => String::new(),
                    };
                    let theirs = says(theirs) + &called_at(member);
                    return mismatch(member, theirs, says(ours) + &called_at(0));
                }
            }
        }
        Error::Internal(format!(
            "epoch {epoch} of {operation_name} failed without a difference"
        ))
    }

    /// Reads a member's payload in an epoch.
    #[inline]
    pub(crate) fn payload(&self, member: Pe, epoch: u64, words: &mut [u64]) {
        self.payload_from(member, epoch, 0, words);
    }

    /// As [`payload`](CollectiveCall::payload), from word `first` on.
    #[inline]
    pub(crate) fn payload_from(&self, member: Pe, epoch: u64, first: usize, words: &mut [u64]) {
        let brought = &self.slot(member, epoch).payload[first..];
        for (value, word) in words.iter_mut().zip(brought) {
            *value = word.load(Relaxed);
        }
    }
}
