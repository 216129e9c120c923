//! Signs of life between hosts. Each PE tells the next host that it runs. A host of which nothing is heard is gone, with all its PEs.
//!
//! That a PE of a host dies which has others is noticed there, by its lock, and told. Only time in which the observer runs counts, so a
//! job that is stopped and continued as a whole is not hurt.

use crate::Pe;
use crate::job::block::Control;
use crate::job::far::{self, Far};
use crate::job::state::State;
use crate::job::tell;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How often a PE says that it runs.
const EVERY: Duration = Duration::from_millis(500);
/// How long a host may be silent.
pub(super) const SILENCE: Duration = Duration::from_secs(4);

/// What one PE has heard of the host before its own.
pub(super) struct Pulse {
    last: Instant,
    /// The host that is listened to, the sum of its PEs' beats, and for how long it has not grown.
    heard: Option<(usize, u64, Duration)>,
}

impl Pulse {
    pub(super) fn new() -> Pulse {
        Pulse {
            last: Instant::now(),
            heard: None,
        }
    }

    /// Says that this PE runs, if it is time to, and listens. Gives the PEs that are gone.
    pub(super) fn beat(&mut self, control: &Control, far: &Far) -> Vec<Pe> {
        let passed = self.last.elapsed();
        if passed < EVERY {
            return Vec::new();
        }
        self.last = Instant::now();
        tell::beat(control.pe(far.hosts().me()));
        far.beat(control);
        if far.has_met() {
            return Vec::new();
        }
        self.listen(control, far, passed.min(2 * EVERY))
    }

    fn listen(&mut self, control: &Control, far: &Far, passed: Duration) -> Vec<Pe> {
        let hosts = far.hosts();
        let lives = |pe: &Pe| {
            let state = far::state(control.pe(*pe));
            matches!(state, State::Active | State::Finalizing)
        };
        let before: Vec<usize> = hosts.others().collect();
        let host = before
            .into_iter()
            .rev()
            .find(|&host| hosts.pes(host).iter().any(lives));
        let Some(host) = host else {
            self.heard = None;
            return Vec::new();
        };
        let beats = |pe: &Pe| control.pe(*pe).beats.load(Relaxed);
        let sum = hosts.pes(host).iter().map(beats).fold(0, u64::wrapping_add);
        let silent = match self.heard {
            Some((of, heard, silent)) if of == host && heard == sum => silent + passed,
            _ => Duration::ZERO,
        };
        self.heard = Some((host, sum, silent));
        if silent < SILENCE {
            return Vec::new();
        }
        hosts.pes(host).iter().copied().filter(lives).collect()
    }
}
