//! Splits teams, and destroys teams.
//!
//! All members of the parent take part. They meet once to compare arguments and to learn the free numbers of each member, and once more to
//! learn whether each has reserved the number that its new team has chosen: a thread that creates another team at the same time may have
//! taken it, and then all try again.

use super::NAMES;
use crate::collectives::{CollectiveCall, MemberCall};
use crate::job::block::TEAM_WORDS;
use crate::job::team;
use crate::operation::Operation;
use crate::runtime::Inner;
use crate::team::{Claim, MAX_ATTEMPTS, Team, TeamConfig, TeamState, choose, latest};
use crate::track::Resource;
use crate::{Error, Pe, Result, Runtime};
use std::sync::atomic::Ordering::Acquire;

/// The new team of a PE, in its parent's numbers.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: Pe,
    stride: Pe,
    n_pes: Pe,
}

impl Part {
    fn parent_pe(self, member: Pe) -> Pe {
        self.start + member * self.stride
    }

    fn member(self, parent_pe: Pe) -> Option<Pe> {
        (0..self.n_pes).find(|&member| self.parent_pe(member) == parent_pe)
    }
}

/// The result of a PE's reservation of the number that its new team has chosen.
#[derive(Clone, Copy, PartialEq)]
#[repr(u64)]
enum ClaimResult {
    TooLate = 0,
    Claimed = 1,
    NoneLeft = 2,
}

impl Inner {
    /// Creates one team per part. Every member of the parent calls it with its own part, or with none. The members compare `call`.
    fn make_teams(
        &self,
        collective: &CollectiveCall<'_>,
        mut call: MemberCall,
        part: Option<Part>,
        config: TeamConfig,
    ) -> Result<Option<Team>> {
        let operation = call.operation;
        for attempt in 0..MAX_ATTEMPTS {
            let epoch = collective.meet(call, &self.teams.unused())?;
            let (mut claim, mut failed) = (None, None);
            let claimed = match part {
                None => ClaimResult::Claimed,
                Some(part) => {
                    // Threads of different parents are not to try the same numbers in the same order.
                    let try_at = attempt * (1 + collective.team().index as usize);
                    match choose(common(collective, epoch, part), try_at) {
                        None => ClaimResult::NoneLeft,
                        Some(index) => {
                            match self.claim_team(index) {
                                Ok(claimed) => claim = claimed,
                                Err(error) => failed = Some(error),
                            }
                            if claim.is_some() {
                                ClaimResult::Claimed
                            } else {
                                ClaimResult::TooLate
                            }
                        }
                    }
                }
            };
            let last = claim.as_ref().map_or(0, Claim::epoch);
            let second = MemberCall::plain(operation).failing(failed);
            let epoch = collective.meet(second, &[claimed as u64, last])?;
            let answers: Vec<[u64; 2]> = (0..collective.n_pes())
                .map(|member| {
                    let mut words = [0; 2];
                    collective.payload(member, epoch, &mut words);
                    words
                })
                .collect();
            let is = |claimed: ClaimResult| move |answer: &[u64; 2]| answer[0] == claimed as u64;
            if let Some(member) = answers.iter().position(is(ClaimResult::NoneLeft)) {
                return Err(self.exhausted(collective.pe(member as Pe)));
            }
            if answers.iter().all(is(ClaimResult::Claimed)) {
                let Some((claim, part)) = claim.zip(part) else {
                    return Ok(None);
                };
                let epochs = (0..part.n_pes).map(|m| answers[part.parent_pe(m) as usize][1]);
                let base_epoch = latest(epochs)?;
                let members = collective
                    .members()
                    .pick(part.start, part.stride, part.n_pes);
                let me = part.member(collective.my_pe()).unwrap_or(0);
                let team = claim.into_team(&self.control, &members, me, base_epoch, config);
                self.make_transport_team(team, &members, me, base_epoch);
                return Ok(Some(team));
            }
            call = MemberCall::plain(operation);
        }
        Err(Error::Internal("a split gave up".into()))
    }

    fn destroy_team(&self, team: Team) -> Result<()> {
        if team == Team::INVALID {
            return self.ready();
        }
        if (team.number() as usize) < NAMES.len() {
            return Err(Error::invalid(
                "team",
                team::name(team.number() as u32),
                "a team made by a split or by `team_init()`: the predefined teams stay",
            ));
        }
        match self.enter(team, Operation::TeamDestroy) {
            Ok(collective) => {
                let index = collective.team().index;
                let own = self.transport.collectives();
                let mut call = MemberCall::plain(Operation::TeamDestroy);
                call.args[0] = own.map_or(0, |own| own.begun(index));
                collective.meet(call, &[])?;
                // On every member, or on none: all have begun as many.
                let ended = own.and_then(|own| own.await_team(Operation::TeamDestroy, index));
                if let Some(ended) = ended {
                    let call = MemberCall::plain(Operation::TeamDestroy);
                    collective.meet(call.failing(ended.err()), &[])?;
                }
                // The handle goes before the turn ends, so that no other thread comes in between; the number after, so that the next
                // team with it does not find the turn taken.
                let state = collective.team();
                state.take_handle(team);
                drop(collective);
                self.free_number(state);
            }
            // Nobody can meet on it any more, and nobody needs to. The mark must not be taken for a later team's.
            Err(Error::TeamBroken { .. }) => {
                let state = self.team(team)?;
                let block = |pe| self.control.team(state.index, pe);
                let mark = block(self.my_pe).broken.load(Acquire);
                // A PE that left the team may still be telling the members; no member may believe that this PE has gone on.
                let members = state.members();
                for pe in (0..members.n_pes).map(|member| members.pe(member)) {
                    self.mark_member_broken(state.index, pe, mark);
                }
                state.skip_to(mark >> 20);
                if let Some(state) = self.take_handle(team) {
                    self.free_broken(state);
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Invalidates a team's handle on this PE; of several threads that do, one gets the team's state.
    pub(super) fn take_handle(&self, team: Team) -> Option<&TeamState> {
        let state = self.team(team).ok()?;
        state.take_handle(team).then_some(state)
    }
}

/// The numbers that are free on every member of a part.
fn common(collective: &CollectiveCall<'_>, epoch: u64, part: Part) -> [u64; TEAM_WORDS] {
    let mut all = [u64::MAX; TEAM_WORDS];
    for member in 0..part.n_pes {
        let mut words = [0; TEAM_WORDS];
        collective.payload(part.parent_pe(member), epoch, &mut words);
        for (all, word) in all.iter_mut().zip(words) {
            *all &= word;
        }
    }
    all
}

fn check_strided(start: Pe, stride: Pe, size: Pe, n_pes: Pe) -> Result<Part> {
    crate::error::check_pe("start", start, n_pes)?;
    if !(1..=n_pes).contains(&size) {
        return Err(Error::invalid(
            "size",
            size,
            format!("from 1 to {n_pes}, the size of the parent team"),
        ));
    }
    if stride == 0 && size > 1 {
        return Err(Error::invalid(
            "stride",
            stride,
            "another number than 0 unless `size` is 1, because members differ",
        ));
    }
    let last = i64::from(start) + i64::from(stride) * i64::from(size - 1);
    if !(0..i64::from(n_pes)).contains(&last) {
        return Err(Error::PeRange {
            argument: "start + stride * (size - 1)",
            pe: last,
            n_pes,
        });
    }
    // With one member the stride means nothing, and may be as large as it likes.
    let stride = if size == 1 { 1 } else { stride };
    Ok(Part {
        start,
        stride,
        n_pes: size,
    })
}

impl Runtime {
    /// Creates a team of the parent's members `start`, `start + stride`, ..., `size` of them. `None` on other members. `config` may be an
    /// earlier error: the other members then learn of it.
    ///
    /// Collective over `parent`, with equal arguments. OpenSHMEM 1.5 section 9.4.6.
    #[track_caller]
    pub fn team_split_strided(
        &self,
        parent: Team,
        start: Pe,
        stride: Pe,
        size: Pe,
        config: Result<TeamConfig>,
    ) -> Result<Option<Team>> {
        let operation = Operation::TeamSplitStrided;
        let entered = self.inner.enter(parent, operation);
        let collective = entered.map_err(|error| error.naming("parent"))?;
        let checked = config.and_then(|config| {
            Ok((
                check_strided(start, stride, size, collective.n_pes())?,
                config,
            ))
        });
        let contexts = checked
            .as_ref()
            .map_or(0, |(_, config)| config.num_contexts);
        let part = checked.as_ref().ok().copied();
        let args = [start, stride, size, contexts, 0].map(|arg| arg as u64);
        let call = MemberCall::plain(operation).with(args);
        let call = call.failing(checked.err());
        let (part, config) = part.unzip();
        let mine = part.filter(|part| part.member(collective.my_pe()).is_some());
        let team = self
            .inner
            .make_teams(&collective, call, mine, config.unwrap_or_default())?;
        if let Some(team) = team {
            self.note_team(operation, team);
        }
        Ok(team)
    }

    /// Arranges the parent's members in rows of `x_range`, and creates a team of each row and of each column. Returns the caller's row (x
    /// axis), then its column (y axis).
    ///
    /// Collective over `parent`, with equal arguments. OpenSHMEM 1.5 section 9.4.7.
    #[track_caller]
    pub fn team_split_2d(
        &self,
        parent: Team,
        x_range: Pe,
        x_config: Result<TeamConfig>,
        y_config: Result<TeamConfig>,
    ) -> Result<(Team, Team)> {
        let operation = Operation::TeamSplit2d;
        let entered = self.inner.enter(parent, operation);
        let collective = entered.map_err(|error| error.naming("parent"))?;
        let configs = x_config.and_then(|x| Ok((x, y_config?))).and_then(|both| {
            if x_range < 1 {
                return Err(Error::invalid("xrange", x_range, "at least 1"));
            }
            Ok(both)
        });
        let (n_pes, me) = (collective.n_pes(), collective.my_pe());
        // A row longer than the parent is the parent.
        let width = x_range.clamp(1, n_pes);
        let (row, column) = (me / width * width, me % width);
        let x = Part {
            start: row,
            stride: 1,
            n_pes: width.min(n_pes - row),
        };
        let y = Part {
            start: column,
            stride: width,
            n_pes: (n_pes - column + width - 1) / width,
        };
        let (x_config, y_config) = configs.as_ref().ok().copied().unwrap_or_default();
        let args = [x_range, x_config.num_contexts, y_config.num_contexts, 0, 0];
        let call = MemberCall::plain(operation).with(args.map(|arg| arg as u64));
        let call = call.failing(configs.err());
        let first = self
            .inner
            .make_teams(&collective, call, Some(x), x_config)?;
        let second =
            self.inner
                .make_teams(&collective, MemberCall::plain(operation), Some(y), y_config);
        match (first, second) {
            (Some(x), Ok(Some(y))) => {
                self.note_team(operation, x);
                self.note_team(operation, y);
                Ok((x, y))
            }
            (Some(x), Err(error)) => {
                // Every member is here, so the row can go without a meeting of its own.
                if let Some(state) = self.inner.take_handle(x) {
                    self.inner.free_number(state);
                }
                Err(error)
            }
            _ => Err(Error::Internal("a 2d split made no team".into())),
        }
    }

    /// Destroys a team created by a split or by [`team_init`](Runtime::team_init); [`Team::INVALID`] has no effect. If the team is broken,
    /// this PE's part of it is destroyed without waiting for the others.
    ///
    /// Collectives of the team on streams run first; launched graphs with its collectives must have completed. Collectives of a broken
    /// team have no effect any more; on GPUs its number is not used again, so a job has room for 314 broken teams.
    ///
    /// Collective over `team`. OpenSHMEM 1.5 section 9.4.8.
    pub fn team_destroy(&self, team: Team) -> Result<()> {
        self.inner.destroy_team(team)?;
        self.inner.note_freed(Resource::Team, team.number());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(part: Part) -> Vec<Pe> {
        (0..part.n_pes).map(|m| part.parent_pe(m)).collect()
    }

    #[test]
    fn strides_may_be_negative_and_must_stay_inside() {
        assert_eq!(members(check_strided(3, -1, 4, 4).unwrap()), [3, 2, 1, 0]);
        assert_eq!(members(check_strided(0, 3, 2, 4).unwrap()), [0, 3]);
        assert_eq!(members(check_strided(2, 99, 1, 4).unwrap()), [2]);
        for (start, stride, size) in [
            (4, 1, 1),
            (-1, 1, 1),
            (0, 0, 2),
            (0, 1, 0),
            (0, 1, 5),
            (1, -1, 3),
            (0, i32::MAX, 3),
            (3, i32::MIN, 4),
            (0, 1, i32::MAX),
        ] {
            assert!(
                check_strided(start, stride, size, 4).is_err(),
                "{start} {stride} {size}"
            );
        }
    }
}
