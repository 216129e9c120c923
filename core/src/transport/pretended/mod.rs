//! The tests of `core/tests`, unchanged, on several hosts, and tests for several hosts only. The PEs are threads; PEs of one pretended
//! host share memory, and the others reach each other over a wire in memory.
//!
//! Left out are `streams.rs`, `litmus.rs` and `planted_races.rs`, `check_delay.rs`, and tests of processes, the board and the end of
//! jobs, which is above the transports: `allocator.rs`, `finalizers.rs`, `hangs.rs`, `jobs.rs`, `left_behind.rs`, `track.rs`.

mod checked;
mod faults;
mod growth;
pub(crate) mod memory;
mod operations;
mod reports;
mod transfers;

#[path = "../../../tests/atomics.rs"]
mod atomics;
#[path = "../../../tests/collectives.rs"]
mod collectives;
#[path = "../../../tests/collectives_model.rs"]
mod collectives_model;
#[path = "../../../tests/contexts.rs"]
mod contexts;
#[path = "../../../tests/heap.rs"]
mod heap;
#[path = "../../../tests/joins.rs"]
mod joins;
#[path = "../../../tests/register.rs"]
mod register;
#[path = "../../../tests/rma.rs"]
mod rma;
#[path = "../../../tests/strided.rs"]
mod strided;
#[path = "../../../tests/teams.rs"]
mod teams;
#[path = "../../../tests/waits.rs"]
mod waits;

use crate::job::block::{Checked, Control};
use crate::job::hosts::Hosts;
use crate::job::topology::Id;
use crate::local::Job;
use crate::transport::net::{self, Progress};
use crate::transport::{Joined, Route};
use crate::{InitAttr, MemoryKind, Pe, Result, Runtime};
use memory::Inboxes;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Runs `body` as each PE of a job.
fn on_threads(job: &Job, n_pes: Pe, body: impl Fn(Runtime) -> Result<()> + Sync) {
    std::thread::scope(|scope| {
        for pe in 0..n_pes {
            let body = &body;
            scope.spawn(move || body(job.join(pe).unwrap()).unwrap());
        }
    });
}

/// Runs `body` as each PE of a job on these hosts.
fn run(pretended: Pretended, attr: &InitAttr, body: impl Fn(Runtime) -> Result<()> + Sync) {
    let n_pes = pretended.ids.len() as Pe;
    let job = Job::new(n_pes, attr).unwrap().on(Some(pretended)).unwrap();
    on_threads(&job, n_pes, body);
}

/// Hosts that a job of threads pretends to be on.
#[derive(Clone, Debug)]
pub(crate) struct Pretended {
    /// The host of each PE.
    pub(crate) ids: Vec<Id>,
    pub(crate) hub: Arc<Inboxes>,
    /// Whether each PE has a network thread.
    attended: bool,
}

impl Pretended {
    /// The hosts of a job that is made at `place`, if it is to have some: in turn 2 and 3, with the PEs one after the other or in turns.
    /// Unit tests compile files of `core/tests` for this transport only.
    pub(crate) fn wanted(n_pes: Pe, place: &Location<'_>) -> Option<Pretended> {
        static JOBS: AtomicUsize = AtomicUsize::new(0);
        let file = place.file();
        let wanted = file.contains("transport/pretended/") || file.contains("core/tests/");
        (wanted && n_pes > 1).then(|| {
            let job = JOBS.fetch_add(1, Relaxed);
            let (n_pes, hosts) = (n_pes as usize, (2 + job % 2).min(n_pes as usize));
            let host = |pe: usize| match job / 2 % 2 {
                0 => pe * hosts / n_pes,
                _ => pe % hosts,
            };
            Pretended::on((0..n_pes).map(host).collect(), true)
        })
    }

    /// Hosts by PE. `delays`: the wire is late now and then.
    pub(crate) fn on(hosts: Vec<usize>, delays: bool) -> Pretended {
        Pretended {
            ids: (hosts.iter())
                .map(|host| (*host as u128 + 1).to_le_bytes())
                .collect(),
            hub: Inboxes::new(hosts.len() as Pe, delays),
            attended: true,
        }
    }

    /// The same without network threads: only waiting PEs make progress.
    fn unattended(self) -> Pretended {
        Pretended {
            attended: false,
            ..self
        }
    }

    /// Gives PE `me` the way to the other hosts.
    pub(crate) fn join(
        &self,
        me: Pe,
        control: Control,
        joined: Joined,
    ) -> Result<(Control, Joined<Route>)> {
        let (wire, hosts) = (self.hub.wire(me), Hosts::new(&self.ids, me).simulated());
        let progress = match self.attended {
            true => Progress::Thread,
            false => Progress::Calls,
        };
        let (control, joined) = net::join(control, joined, wire, hosts, progress)?;
        Ok((control, joined.with(Route::from)))
    }

    /// With the block of each PE's host.
    pub(crate) fn with_blocks(self, like: &Control) -> Result<(Pretended, Vec<Control>)> {
        let check = like.check_seed().map(|seed| Checked {
            seed,
            area_bytes: like.area_bytes(),
        });
        let heap_bytes = like.heap_bytes();
        let mut blocks: HashMap<Id, Control> = HashMap::new();
        let n_pes = self.ids.len() as Pe;
        let block = |id: &Id| match blocks.entry(*id) {
            Entry::Occupied(there) => Ok(there.get().clone()),
            Entry::Vacant(room) => {
                let made = Control::create_on(*id, n_pes, heap_bytes, MemoryKind::Host, check)?;
                Ok(room.insert(made).clone())
            }
        };
        let blocks = self.ids.iter().map(block).collect::<Result<_>>()?;
        Ok((self, blocks))
    }
}
