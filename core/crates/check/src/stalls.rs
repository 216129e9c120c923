//! Stalls: now and then a PE stands still after a wait or a meeting, or with held operations before quiet, and a stream before its
//! next operation. So the others get ahead of it, and an order that holds only by chance is missing.
//!
//! Stalls are frequent early in a run and rare later. Each ends soon after no other PE gets on by itself, and all of a PE together last no
//! longer than [`BUDGET`]. Of several PEs that stall and wait for each other those go on first that the seed has given precedence.

use super::delay::Random;
use super::tracker::Standing;
use super::{Checker, Tracking, actors};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a PE stands still in all.
const BUDGET: Duration = Duration::from_millis(600);
/// How long a stall lasts at most: one of these.
const LONGEST: [Duration; 4] = [
    Duration::from_millis(2),
    Duration::from_millis(6),
    Duration::from_millis(12),
    Duration::from_millis(12),
];
/// How long at most with something held back.
const DELAY: Duration = Duration::from_millis(50);
/// How often it looks whether the others get on; and where a look is a call to another host.
const SLICE: Duration = Duration::from_micros(50);
const SLICE_THERE: Duration = Duration::from_micros(500);
/// How long they must not: a PE that was woken may not have noticed yet.
const SETTLED: Duration = Duration::from_micros(1500);
/// Up to which wait or meeting a stall comes in so many of 2^16; and where something is held back. They thin out, because a stall takes as
/// long as thousands of barriers.
const RATES: [(u64, u64, u64); 4] = [
    (48, 32768, 61440),
    (512, 6144, 12288),
    (4096, 256, 512),
    (u64::MAX, 8, 8),
];

/// When the next stall comes.
pub(super) struct Stalls(Mutex<State>);

struct State {
    random: Random,
    turns: u64,
    left: Duration,
}

impl Stalls {
    pub(super) fn new(seed: u64) -> Stalls {
        Stalls(Mutex::new(State {
            random: Random::new(seed),
            turns: 0,
            left: BUDGET,
        }))
    }

    /// How long to stand still now, if at all. `holds`: something is held back.
    fn draw(&self, holds: bool) -> Option<Duration> {
        let mut state = crate::lock::lock(&self.0);
        state.turns += 1;
        let turns = state.turns;
        let (_, other, holding) = RATES.into_iter().find(|(until, ..)| turns <= *until)?;
        let rate = if holds { holding } else { other };
        let drawn = state.random.next();
        if drawn % 65536 >= rate || state.left.is_zero() {
            return None;
        }
        // A PE that holds an operation back waits for everything that the others can do without the operation, also on a busy machine.
        let longest = match holds {
            true => DELAY,
            false => LONGEST[(drawn >> 32) as usize % LONGEST.len()],
        };
        Some(longest.min(state.left))
    }

    fn spend(&self, taken: Duration) {
        let mut state = crate::lock::lock(&self.0);
        state.left = state.left.saturating_sub(taken);
    }
}

impl Checker {
    /// Perhaps stands still, after a wait or a meeting. Without any lock.
    pub(super) fn stall(&self) {
        self.stand_still(Standing::Stalls);
    }

    /// May stand still, with held operations.
    pub(super) fn delay(&self) {
        self.stand_still(Standing::Delays);
    }

    /// Whether it stands still, which ends by itself: until then nothing is delivered, also not while a call to another host waits.
    pub(super) fn stands_still(&self) -> bool {
        [Standing::Stalls, Standing::Delays]
            .into_iter()
            .any(|standing| self.tracker.is_standing(standing))
    }

    fn stand_still(&self, standing: Standing) {
        let Some(longest) = self.stalls.draw(standing == Standing::Delays) else {
            return;
        };
        let is_caller = actors::is_caller();
        if is_caller {
            self.tracker.stand(standing);
        }
        let seed = self.control.check_seed().unwrap_or(0);
        let stuck = || {
            (is_caller || self.tracker.is_standing(Standing::Waits))
                && self.tracker.others_need_this(seed)
        };
        let slice = match self.tracker {
            Tracking::Here(_) => SLICE,
            Tracking::There(_) => SLICE_THERE,
        };
        let begun = Instant::now();
        let mut settled = begun;
        while begun.elapsed() < longest && settled.elapsed() < SETTLED {
            std::thread::sleep(slice);
            if !stuck() {
                settled = Instant::now();
            }
        }
        if is_caller {
            self.tracker.stand(Standing::Runs);
        }
        self.stalls.spend(begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalls_become_rare_and_end_with_their_budget() {
        let stalls = Stalls::new(7);
        let count = |turns: u64| (0..turns).filter(|_| stalls.draw(false).is_some()).count();
        let (early, later, late) = (count(48), count(464), count(3584));
        assert!((12..36).contains(&early), "{early}");
        assert!((20..90).contains(&later), "{later}");
        assert!((2..40).contains(&late), "{late}");
        let last = count(1 << 16);
        assert!((1..30).contains(&last), "{last}");
        stalls.spend(BUDGET);
        assert_eq!(count(10_000), 0);
    }
}
