//! Creates a team of PEs that share only a unique id, without a parent team.
//!
//! Each member writes to a join slot of its own the id, the number of members, its own number and its free team numbers, and then
//! searches the others' slots. The rest is as in a split: all choose the same number, publish whether they have reserved it, and try
//! again if a member could not. A last meeting on the new team guarantees that all members have read the slots before they are freed.

use crate::collectives::MemberCall;
use crate::job::block::{JOIN_SLOTS, JoinSlot, TEAM_WORDS};
use crate::job::doorbell;
use crate::job::published::{Target, Wait};
use crate::job::{shared_words, stops};
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::team::{Claim, MAX_ATTEMPTS, Members, Team, TeamConfig, choose, latest};
use crate::{Error, Pe, Result, Runtime};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::fence;

/// The phase of a slot whose owner has failed; it stays until the slot is needed.
const FAILED: u32 = u32::MAX;

/// This thread's slot, while it creates a team.
struct JoinAttempt<'a> {
    inner: &'a Inner,
    slot: &'a JoinSlot,
    phase: u32,
    done: bool,
}

impl Drop for JoinAttempt<'_> {
    fn drop(&mut self) {
        if self.done {
            shared_words::free_join_slot(self.slot);
            self.send_slot();
        } else {
            shared_words::set_join_phase(self.slot, FAILED);
            self.send_slot();
            doorbell::ring_team(&self.inner.control);
        }
    }
}

impl<'a> JoinAttempt<'a> {
    fn take(
        inner: &'a Inner,
        config: TeamConfig,
        n_pes: Pe,
        member: Pe,
    ) -> Result<JoinAttempt<'a>> {
        let slots = &inner.control.pe(inner.my_pe).joins;
        // The words of an earlier attempt with the same id would confuse the other PEs.
        for slot in slots {
            let same = slot.unique_id.load(Relaxed) == config.unique_id;
            let stale = same && slot.phase.load(Acquire) == FAILED;
            // Only one thread gives the slot up.
            if stale && shared_words::take_over_join_slot(slot, FAILED) {
                shared_words::free_join_slot(slot);
                if let Some(remote) = inner.control.remote() {
                    remote.send_join_slot(&inner.control, slot);
                }
            }
        }
        let free = slots
            .iter()
            .find(|slot| shared_words::take_join_slot(slot))
            .or_else(|| {
                slots
                    .iter()
                    .find(|slot| shared_words::take_over_join_slot(slot, FAILED))
            });
        let slot = free.ok_or_else(|| {
            Error::NotSupported(format!(
                "{JOIN_SLOTS} threads of a PE can be in `team_init` at a time, and they are there"
            ))
        })?;
        shared_words::publish_join(slot, config.unique_id, n_pes, member);
        Ok(JoinAttempt {
            inner,
            slot,
            phase: 0,
            done: false,
        })
    }

    /// Sends the join slot to the other hosts.
    fn send_slot(&self) {
        if let Some(remote) = self.inner.control.remote() {
            remote.send_join_slot(&self.inner.control, self.slot);
        }
    }

    /// Publishes the next phase of this thread.
    fn advance(&mut self) {
        self.phase += 1;
        shared_words::set_join_phase(self.slot, self.phase);
        self.send_slot();
        doorbell::ring_team(&self.inner.control);
    }

    /// Waits until `ready` returns the members, or a member has failed.
    fn wait(
        &self,
        n_pes: Pe,
        mut ready: impl FnMut() -> std::result::Result<(), u64>,
    ) -> Result<()> {
        let wait = Wait {
            operation: Operation::TeamInit,
            target: Target::Join {
                unique_id: self.slot.unique_id.load(Relaxed),
                n_pes,
            },
        };
        self.inner.wait(wait, &mut ready)
    }

    /// Waits until `n_pes` threads have the same id: they are the members, returned by their numbers.
    fn gather(&self, unique_id: u64, n_pes: Pe) -> Result<Vec<(Pe, &'a JoinSlot)>> {
        let inner = self.inner;
        let agrees = |slot: &JoinSlot| slot.n_pes.load(Relaxed) == n_pes as u32;
        let mut slots = Vec::new();
        self.wait(n_pes, || {
            slots = joining_slots(inner, unique_id);
            let wrong = slots.iter().any(|(_, slot)| failed(slot) || !agrees(slot));
            match slots.len() {
                there if wrong || there >= n_pes as usize => Ok(()),
                there => Err(there as u64),
            }
        })?;
        let mut members: Vec<Option<(Pe, &JoinSlot)>> = vec![None; n_pes as usize];
        for (pe, slot) in slots {
            self.check_member(pe, slot)?;
            let differs = |theirs: String, ours: String| Error::Mismatch {
                operation: Operation::TeamInit.name(),
                pe,
                theirs,
                other: inner.my_pe,
                ours,
            };
            if !agrees(slot) {
                let theirs = slot.n_pes.load(Relaxed);
                return Err(differs(
                    format!("`n_pes` {theirs}"),
                    format!("`n_pes` {n_pes}"),
                ));
            }
            if members.iter().flatten().any(|(other, _)| *other == pe) {
                let theirs = "two threads that make this team".to_string();
                return Err(differs(theirs, "one place for each PE".to_string()));
            }
            let member = slot.member.load(Relaxed);
            match members.get_mut(member as usize) {
                Some(place @ None) => *place = Some((pe, slot)),
                _ => {
                    let ours = "another PE of that number".to_string();
                    return Err(differs(format!("`my_index` {member}"), ours));
                }
            }
        }
        members
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::Internal("team_init met too few members".into()))
    }

    /// An error if a member has failed; the error about another PE, if that is the reason.
    fn check_member(&self, pe: Pe, slot: &JoinSlot) -> Result<()> {
        if failed(slot) {
            self.inner.check_job(Operation::TeamInit)?;
            stops::check(&self.inner.control, self.inner.my_pe, Operation::TeamInit)?;
        }
        check_failed(pe, slot)
    }

    /// Waits until the members have reached the phase of this thread.
    fn await_phase(&self, members: &[(Pe, &JoinSlot)]) -> Result<()> {
        self.wait(members.len() as Pe, || {
            let behind = members
                .iter()
                .filter(|(_, slot)| slot.phase.load(Acquire) < self.phase)
                .count();
            match behind {
                0 => Ok(()),
                _ => Err((members.len() - behind) as u64),
            }
        })?;
        members
            .iter()
            .try_for_each(|(pe, slot)| self.check_member(*pe, slot))
    }
}

fn failed(slot: &JoinSlot) -> bool {
    slot.phase.load(Acquire) == FAILED
}

fn check_failed(pe: Pe, slot: &JoinSlot) -> Result<()> {
    if !failed(slot) {
        return Ok(());
    }
    Err(Error::PeerArgument {
        operation: Operation::TeamInit.name(),
        pe,
        why: format!(
            "it gave up making the team with unique id {}",
            slot.unique_id.load(Relaxed)
        ),
    })
}

/// The slots, on all PEs, of threads with a unique id.
fn joining_slots(inner: &Inner, unique_id: u64) -> Vec<(Pe, &JoinSlot)> {
    (0..inner.n_pes)
        .flat_map(|pe| {
            inner
                .control
                .pe(pe)
                .joins
                .iter()
                .map(move |slot| (pe, slot))
        })
        .filter(|(_, slot)| {
            let phase = slot.phase.load(Acquire);
            let same = slot.unique_id.load(Relaxed) == unique_id;
            fence(Acquire);
            // The slot may have been given up and taken anew between the two loads.
            phase > 0 && same && slot.phase.load(Acquire) >= phase
        })
        .collect()
}

impl Inner {
    fn team_init(&self, config: TeamConfig, n_pes: Pe, member: Result<Pe>) -> Result<Team> {
        self.ready()?;
        self.check_job(Operation::TeamInit)?;
        // First the slot: if it is left with an error, the other members see that this one gave up.
        let shown = member.as_ref().copied().unwrap_or(-1);
        let mut joining = JoinAttempt::take(self, config, n_pes, shown)?;
        let member = member?;
        if !(1..=self.n_pes).contains(&n_pes) {
            return Err(Error::invalid(
                "n_pes",
                n_pes,
                format!("from 1 to {}, the number of PEs of the job", self.n_pes),
            ));
        }
        crate::error::check_pe("my_index", member, n_pes)?;
        let offer = &joining.slot.offer;
        let mut slots = Vec::new();
        for attempt in 0..MAX_ATTEMPTS {
            shared_words::publish_free_numbers(offer, self.teams.unused());
            joining.advance();
            if attempt == 0 {
                slots = joining.gather(config.unique_id, n_pes)?;
            }
            joining.await_phase(&slots)?;
            let mut free = [u64::MAX; TEAM_WORDS];
            for (_, slot) in &slots {
                for (all, word) in free.iter_mut().zip(&slot.offer.free) {
                    *all &= word.load(Relaxed);
                }
            }
            let try_at = attempt * (1 + config.unique_id as usize % 64);
            let index = choose(free, try_at).ok_or_else(|| self.exhausted(self.my_pe))?;
            let claim = self.claim_team(index)?;
            let last = claim.as_ref().map_or(0, Claim::epoch);
            shared_words::publish_claim(offer, claim.is_some(), last);
            joining.advance();
            joining.await_phase(&slots)?;
            let mut offers = slots.iter().map(|(_, slot)| &slot.offer);
            if let (true, Some(claim)) =
                (offers.all(|offer| offer.claimed.load(Relaxed) == 1), claim)
            {
                let epochs = slots.iter().map(|(_, slot)| slot.offer.epoch.load(Relaxed));
                let base_epoch = latest(epochs)?;
                let members = Members::of(slots.iter().map(|(pe, _)| *pe).collect());
                let team = claim.into_team(&self.control, &members, member, base_epoch, config);
                self.make_transport_team(team, &members, member, base_epoch);
                let met = self
                    .enter(team, Operation::TeamInit)
                    .and_then(|collective| {
                        collective.meet(MemberCall::plain(Operation::TeamInit), &[])
                    });
                if let Err(error) = met {
                    // The others may use it already.
                    if let Some(state) = self.take_handle(team) {
                        self.free_broken(state);
                    }
                    return Err(error);
                }
                joining.done = true;
                return Ok(team);
            }
        }
        Err(Error::Internal("team_init gave up".into()))
    }
}

impl Runtime {
    /// A random id for [`team_init`](Runtime::team_init), to be sent to the members. Local.
    pub fn team_unique_id(&self) -> Result<u64> {
        self.inner.ready()?;
        getrandom::u64()
            // 0 and the largest number say "no id" in C.
            .map(|id| id.clamp(1, u64::MAX - 1))
            .map_err(|error| Error::system("getrandom", error))
    }

    /// Creates a team of the `n_pes` PEs that call it with the same `config.unique_id`; the caller is number `my_index`.
    ///
    /// Collective over the new team's members only. After an error use a fresh id. NVSHMEM `nvshmemx_team_init`.
    #[track_caller]
    pub fn team_init(&self, config: TeamConfig, n_pes: Pe, my_index: Pe) -> Result<Team> {
        self.team_init_checked(config, n_pes, Ok(my_index))
    }

    /// As [`team_init`](Runtime::team_init), where `my_index` may be an earlier error: the other members then learn of it.
    #[track_caller]
    pub fn team_init_checked(
        &self,
        config: TeamConfig,
        n_pes: Pe,
        my_index: Result<Pe>,
    ) -> Result<Team> {
        let team = self.inner.team_init(config, n_pes, my_index)?;
        self.note_team(Operation::TeamInit, team);
        Ok(team)
    }
}
