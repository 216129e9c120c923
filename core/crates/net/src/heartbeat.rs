//! Heartbeats between hosts. Each PE sends heartbeats to the next host. A host whose heartbeats stop is lost, with all its PEs.
//!
//! The death of a single PE is noticed on its own host, by its lock, and announced. Only time in which the watching process runs
//! counts, so stopping and continuing the whole job has no effect.

use crate::Pe;
use crate::job::block::Control;
use crate::job::remote::{self, RemoteHosts};
use crate::job::shared_words;
use crate::job::state::State;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The time between two heartbeats of a PE.
const PERIOD: Duration = Duration::from_millis(500);
/// How long a host may be silent.
pub(super) const SILENCE: Duration = Duration::from_secs(4);

/// The heartbeats that a PE has received from the host before its own.
pub(super) struct Heartbeat {
    last: Instant,
    /// The host that is watched, the sum of its PEs' heartbeats, and for how long the sum has not grown.
    last_received: Option<(usize, u64, Duration)>,
}

impl Heartbeat {
    pub(super) fn new() -> Heartbeat {
        Heartbeat {
            last: Instant::now(),
            last_received: None,
        }
    }

    /// Sends a heartbeat when it is due, and checks those received. Returns the PEs that are lost.
    pub(super) fn beat(&mut self, control: &Control, remote_hosts: &RemoteHosts) -> Vec<Pe> {
        let passed = self.last.elapsed();
        if passed < PERIOD {
            return Vec::new();
        }
        self.last = Instant::now();
        shared_words::count_heartbeat(control.pe(remote_hosts.hosts().me()));
        remote_hosts.send_heartbeat(control);
        if remote_hosts.has_met() {
            return Vec::new();
        }
        self.listen(control, remote_hosts, passed.min(2 * PERIOD))
    }

    fn listen(
        &mut self,
        control: &Control,
        remote_hosts: &RemoteHosts,
        passed: Duration,
    ) -> Vec<Pe> {
        let hosts = remote_hosts.hosts();
        let lives = |pe: &Pe| {
            let state = remote::state(control.pe(*pe));
            matches!(state, State::Active | State::Finalizing)
        };
        let before: Vec<usize> = hosts.others().collect();
        let host = before
            .into_iter()
            .rev()
            .find(|&host| hosts.pes(host).iter().any(lives));
        let Some(host) = host else {
            self.last_received = None;
            return Vec::new();
        };
        let beats = |pe: &Pe| control.pe(*pe).beats.load(Relaxed);
        let sum = hosts.pes(host).iter().map(beats).fold(0, u64::wrapping_add);
        let silent = match self.last_received {
            Some((of, last_received, silent)) if of == host && last_received == sum => {
                silent + passed
            }
            _ => Duration::ZERO,
        };
        self.last_received = Some((host, sum, silent));
        if silent < SILENCE {
            return Vec::new();
        }
        hosts.pes(host).iter().copied().filter(lives).collect()
    }
}
