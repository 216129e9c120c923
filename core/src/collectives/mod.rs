//! Collectives, and where the members of a team meet.
//!
//! Every collective begins with a meeting. Each member writes what it was called with (and its own error, if it has one) to its
//! slot, marks the slot with the epoch, and waits until it has seen every other member's mark. All members then see the same
//! signatures, so they come to the same verdict: either all signatures are equal, or every member reads the posted arguments
//! and returns the same error, and nothing has been written yet. So a member with wrong arguments strands nobody.
//!
//! A meeting can carry a payload of up to [`PAYLOAD_BYTES`], which small collectives use instead of a second meeting: the
//! data comes with the mark, in one cache line if it is short. Each member's two slots are used in turn, and a slot
//! is written again only after every member has entered the next epoch, hence has read it.

mod barrier;
mod broadcast;
mod reduce;

use crate::heap::sym::SymRange;
use crate::runtime::Inner;
use crate::team::{self, Team, TeamState};
use crate::transport::host::control::{ARGS, PAYLOAD_WORDS, Slot, TeamBlock};
use crate::wait::{Operation, Target, Wait, ring_team};
use crate::{Error, Pe, Result};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// What fits in a meeting's payload.
pub(crate) const PAYLOAD_BYTES: usize = PAYLOAD_WORDS * 8;

/// What a member calls a collective with.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) operation: Operation,
    /// The arguments that all members must pass alike.
    pub(crate) args: [u64; ARGS],
    /// This member's own error, which every member is to learn of.
    pub(crate) error: Option<Error>,
}

/// Odd numbers without a pattern, one for each argument.
const FACTORS: [u64; ARGS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
];

/// The names of a collective's arguments, for messages.
fn argument_names(operation: Operation) -> [&'static str; ARGS] {
    const NONE: &str = "argument";
    match operation {
        Operation::Malloc => ["bytes", "alignment", "zero", NONE, NONE],
        Operation::Free => ["ptr at offset", NONE, NONE, NONE, NONE],
        Operation::Broadcast => ["bytes", "root", "dest at offset", "source at offset", NONE],
        Operation::Reduce => ["count", "dtype", "op", "dest at offset", "source at offset"],
        _ => [NONE; ARGS],
    }
}

impl Call {
    /// A call without arguments.
    pub(crate) fn plain(operation: Operation) -> Call {
        Call {
            operation,
            args: [0; ARGS],
            error: None,
        }
    }

    /// A hash that stands for operation and arguments. Members with different calls have the same one with a chance of about 2^-63. An
    /// error has an odd signature, a call an even one.
    #[inline(always)]
    fn signature(&self) -> u64 {
        let products = self.args.iter().zip(FACTORS).map(|(arg, factor)| {
            // Both halves count: the low bits of a product know nothing of the high bits of a factor.
            let product = u128::from(*arg) * u128::from(factor);
            (product as u64) ^ (product >> 64) as u64
        });
        let hash = products.fold(self.operation as u64, |hash, product| {
            hash.rotate_left(13).wrapping_add(product)
        });
        hash & !1 | u64::from(self.error.is_some())
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

/// This PE's turn in the collectives of a team; one thread at a time has it.
pub(crate) struct Turn<'a> {
    inner: &'a Inner,
    team: &'a TeamState,
    block: &'a TeamBlock,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.team.busy.store(false, Release);
    }
}

impl Inner {
    /// Begins a collective.
    #[inline(always)]
    pub(crate) fn enter(&self, team: Team, operation: Operation) -> Result<Turn<'_>> {
        self.ready()?;
        // Who has given up on a PE that is gone must not arrive once more in its place.
        self.check_job(operation)?;
        let team = self.team(team)?;
        let name = team::name(team.index.into());
        if team.busy.swap(true, Acquire) {
            return Err(Error::Busy {
                operation: operation.name(),
                me: self.my_pe,
                team: name,
            });
        }
        let turn = Turn {
            inner: self,
            team,
            block: self.control.team(team.index.into()),
        };
        if turn.block.broken.load(Relaxed) != 0 {
            self.check_team(operation, team.index)?;
        }
        Ok(turn)
    }
}

impl<'a> Turn<'a> {
    pub(crate) fn team(&self) -> &'a TeamState {
        self.team
    }

    /// The epoch that the next meeting will have.
    pub(crate) fn next_epoch(&self) -> u64 {
        self.team.epoch.load(Relaxed) + 1
    }

    fn slot(&self, member: Pe, epoch: u64) -> &'a Slot {
        self.inner
            .control
            .slot(self.team.index.into(), member, epoch)
    }

    /// Meets the other members, bringing `payload`. Returns the epoch once all have come with equal calls.
    #[inline(always)]
    pub(crate) fn meet(&self, call: Call, payload: &[u64]) -> Result<u64> {
        let team = self.team;
        let epoch = team.epoch.load(Relaxed) + 1;
        team.epoch.store(epoch, Relaxed);
        let slot = self.slot(team.my_pe, epoch);
        for (word, value) in slot.args.iter().zip(call.args) {
            word.store(value, Relaxed);
        }
        slot.operation.store(call.operation as u32, Relaxed);
        slot.error.store(
            call.error.as_ref().map_or(0, |error| error.status() as u32),
            Relaxed,
        );
        let signature = call.signature();
        // A member with an error brings its words instead of data.
        let words = call.error.as_ref().map(error_words);
        let payload = words.as_ref().map_or(payload, |words| &words[..]);
        // Last and in one go what the others look at all the time, so that the line moves once.
        for (word, value) in slot.payload.iter().zip(payload) {
            word.store(*value, Relaxed);
        }
        slot.signature.store(signature, Relaxed);
        // A member that falls asleep right now may miss it, and naps for at most a millisecond; a full barrier would cost
        // every meeting some nanoseconds.
        slot.epoch.store(epoch, Release);
        ring_team(&self.inner.control);

        let wait = Wait {
            operation: call.operation,
            target: Target::Team {
                index: team.index,
                epoch,
            },
        };
        // Members seen so far, from the right-hand neighbour on, and whether all of them match.
        let (mut step, mut same) = (1, true);
        let met = self.inner.wait(wait, || {
            while step < team.n_pes {
                let next = team.my_pe + step;
                let member = if next < team.n_pes {
                    next
                } else {
                    next - team.n_pes
                };
                let other = self.slot(member, epoch);
                if other.epoch.load(Acquire) != epoch {
                    return Err(step as u64);
                }
                same &= other.signature.load(Relaxed) == signature;
                step += 1;
            }
            Ok(())
        });
        met.inspect_err(|error| self.leave(error))?;
        match call.error {
            Some(error) => Err(error),
            None if !same => Err(self.explain(call.operation, epoch)),
            None => Ok(epoch),
        }
    }

    /// This member's wait ended early, so the others can never finish this team's collectives: tell them.
    #[cold]
    fn leave(&self, error: &Error) {
        if matches!(error, Error::Timeout { .. } | Error::Interrupted { .. }) {
            let me = self.inner.my_pe as u32 + 1;
            let _ = self.block.broken.compare_exchange(0, me, AcqRel, Relaxed);
            ring_team(&self.inner.control);
        }
    }

    /// Why the members of an epoch do not match: the first member's own error, else the first one that differs from
    /// member 0.
    #[cold]
    fn explain(&self, operation: Operation, epoch: u64) -> Error {
        let members = 0..self.team.n_pes;
        let operation_name = operation.name();
        for pe in members.clone() {
            let slot = self.slot(pe, epoch);
            let status = slot.error.load(Relaxed);
            let (requested, available) = (slot.args[3].load(Relaxed), slot.args[4].load(Relaxed));
            if operation == Operation::Malloc && status == 2 && requested > 0 {
                let limit = format!("says PE {pe}");
                return Error::MachineMemory {
                    requested,
                    n_pes: self.team.n_pes,
                    available,
                    limit,
                };
            }
            if status != 0 {
                let mut words = [0; PAYLOAD_WORDS];
                self.payload(pe, epoch, &mut words);
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
            Operation::from_number(slot.operation.load(Relaxed)).map_or("unknown", Operation::name)
        };
        for pe in members.skip(1) {
            let slot = self.slot(pe, epoch);
            if name(slot) != name(first) {
                let called = |slot: &Slot| format!("called {}", name(slot));
                return Error::Mismatch {
                    operation: operation_name,
                    pe,
                    theirs: called(slot),
                    other: 0,
                    ours: called(first),
                };
            }
            let names = argument_names(operation);
            for (index, argument) in names.into_iter().enumerate() {
                let (theirs, ours) = (
                    slot.args[index].load(Relaxed),
                    first.args[index].load(Relaxed),
                );
                if theirs != ours {
                    let says = |value: u64| match value {
                        u64::MAX => format!("{argument} none (NULL)"),
                        _ => format!("{argument} {value}"),
                    };
                    return Error::Mismatch {
                        operation: operation_name,
                        pe,
                        theirs: says(theirs),
                        other: 0,
                        ours: says(ours),
                    };
                }
            }
        }
        Error::Internal(format!(
            "epoch {epoch} of {operation_name} failed without a difference"
        ))
    }

    /// Reads what a member brought to an epoch.
    #[inline]
    pub(crate) fn payload(&self, member: Pe, epoch: u64, words: &mut [u64]) {
        for (value, word) in words.iter_mut().zip(&self.slot(member, epoch).payload) {
            *value = word.load(Relaxed);
        }
    }
}

impl Inner {
    /// Checks the two symmetric buffers of a collective, of equal length: the same or disjoint. Returns their offsets.
    fn buffers(&self, dest: SymRange, source: SymRange) -> Result<(u64, u64)> {
        self.within(dest)?;
        self.within(source)?;
        let (to, from, bytes) = (dest.offset(), source.offset(), dest.bytes());
        let apart = to + bytes <= from || from + bytes <= to;
        if to != from && !apart && bytes > 0 {
            return Err(Error::invalid(
                "dest",
                format!("at byte {to:#x} of the heap"),
                format!("the same as source or clear of it; source has {bytes} bytes at {from:#x}"),
            ));
        }
        Ok((to, from))
    }
}

/// Checks that the arrays of a collective have the same length.
fn same_length(dest: usize, source: usize) -> Result<()> {
    if dest == source {
        Ok(())
    } else {
        Err(Error::invalid(
            "dest",
            format!("{dest} elements"),
            format!("as many as source: {source}"),
        ))
    }
}
