//! Notices that a job stands still.

use super::{Board, InitStatus, State};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The state whose change means that the job has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    waits: BTreeSet<u64>,
    progress: Vec<(i32, u64)>,
}

impl Position {
    /// Where a job stands now.
    pub fn of(board: &Board) -> Self {
        let active = board
            .pes()
            .into_iter()
            .filter(|pe| pe.state == State::Active);
        Self {
            waits: board.waits().iter().map(|wait| wait.id).collect(),
            progress: active.map(|pe| (pe.pe, pe.progress)).collect(),
        }
    }

    /// Whether a PE waits.
    pub fn waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// Where a job stands whose PEs are in init.
    pub fn forming(inits: &[InitStatus]) -> Self {
        let at = |init: &InitStatus| (init.pe(), init.position().1);
        Self {
            waits: inits.iter().map(|init| init.position().0).collect(),
            progress: inits.iter().map(at).collect(),
        }
    }
}

/// Watches a job's position over time.
#[derive(Debug)]
pub struct Monitor {
    stall_after: Duration,
    last: Option<Position>,
    since: Instant,
    told: bool,
}

impl Monitor {
    /// A monitor that tells when nothing has moved for `stall_after`.
    pub fn new(stall_after: Duration, now: Instant) -> Self {
        Self {
            stall_after,
            last: None,
            since: now,
            told: false,
        }
    }

    /// How often to look; none when the monitor is off.
    pub fn interval(&self) -> Option<Duration> {
        let most = Duration::from_secs(1);
        let least = Duration::from_millis(20);
        (!self.stall_after.is_zero()).then(|| (self.stall_after / 4).clamp(least, most))
    }

    /// Starts counting anew, as after a stop.
    pub fn reset(&mut self, now: Instant) {
        *self = Self::new(self.stall_after, now);
    }

    /// Takes the job's position, none while there is no board. True when it is time to say that nothing
    /// moves: once, until something does.
    pub fn stalled(&mut self, position: Option<Position>, now: Instant) -> bool {
        let standing = position.as_ref().is_some_and(Position::waits);
        if !standing || position != self.last {
            self.reset(now);
            self.last = position;
            return false;
        }
        let due = !self.told && now.duration_since(self.since) >= self.stall_after;
        self.told |= due;
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(waits: &[u64], progress: &[(i32, u64)]) -> Option<Position> {
        let waits = waits.iter().copied().collect();
        Some(Position {
            waits,
            progress: progress.to_vec(),
        })
    }

    /// The answers of a monitor with a limit of 2 s, asked once a second.
    fn answers(positions: &[Option<Position>]) -> Vec<bool> {
        let start = Instant::now();
        let mut monitor = Monitor::new(Duration::from_secs(2), start);
        let ask = |(i, position): (usize, &Option<Position>)| {
            monitor.stalled(position.clone(), start + Duration::from_secs(i as u64))
        };
        positions.iter().enumerate().map(ask).collect()
    }

    #[test]
    fn tells_once_until_something_moves() {
        let (a, b) = (at(&[1], &[(0, 5)]), at(&[2], &[(0, 5)]));
        let line = [&a, &a, &a, &a, &b, &b, &b, &b].map(Clone::clone);
        assert_eq!(
            answers(&line),
            [false, false, true, false, false, false, true, false]
        );
    }

    #[test]
    fn progress_counts_as_movement() {
        let line: Vec<_> = (0..6).map(|i| at(&[1], &[(0, 5), (1, i)])).collect();
        assert!(!answers(&line).contains(&true));
    }

    #[test]
    fn a_job_without_waits_does_not_stall() {
        let mut line = vec![at(&[], &[(0, 5)]); 6];
        line.extend(vec![None; 6]);
        assert!(!answers(&line).contains(&true));
    }
}
