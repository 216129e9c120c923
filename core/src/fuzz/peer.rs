//! A PE whose partner is corrupted: it arrives in every meeting, but with arbitrary contents, and writes arbitrary values to
//! the control block.

use super::BlockWord;
use crate::job::block::{Control, PAYLOAD_WORDS};
use crate::job::state::State;
use crate::{Cmp, Dtype, InitAttr, Op, Pe, Request, Runtime, Symmetric, Team, TeamConfig, local};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// One step of the partner's, or of the PE's own.
#[derive(Clone, Debug)]
pub enum PeerAction {
    /// The partner sets a word.
    Corrupt(BlockWord, u64),
    /// The partner's words for the next meetings, in place of the PE's own.
    Bring(Vec<u64>),
    /// The PE calls an operation. The numbers choose among small ones.
    Call(Operation, u16, u16),
}

macro_rules! operations {
    ($($called:literal: $name:ident,)*) => {
        /// The calls of the PE.
        #[derive(Clone, Copy, Debug)]
        pub enum Operation {
            $(#[doc = $called] $name),*
        }

        impl Operation {
            /// Every operation.
            pub const ALL: &'static [Operation] = &[$(Operation::$name),*];
        }
    };
}
operations! {
    "barrier": Barrier,
    "sync": Sync,
    "broadcast": Broadcast,
    "collect": Collect,
    "fcollect": Fcollect,
    "alltoall": Alltoall,
    "alltoalls": Alltoalls,
    "gather": Gather,
    "scatter": Scatter,
    "reduce": Reduce,
    "reducescatter": Reducescatter,
    "inscan": Inscan,
    "exscan": Exscan,
    "malloc": Malloc,
    "free": Free,
    "realloc": Realloc,
    "release": Release,
    "team_split_strided": Split,
    "team_split_2d": Split2d,
    "team_init": TeamInit,
    "team_destroy": Destroy,
    "wait_until": Wait,
    "put, get and an atomic": Transfer,
    "the board, and the check of the job": Board,
}

/// Team numbers that the partner watches.
const WATCHED: u32 = 16;

/// The partner: PE 1.
struct Partner<'a> {
    control: &'a Control,
    brings: &'a Mutex<Vec<u64>>,
    seen: [u64; WATCHED as usize],
}

impl Partner<'_> {
    const ME: Pe = 1;

    /// Comes to the meetings that PE 0 has entered.
    fn come(&mut self) {
        for team in 0..WATCHED {
            for parity in 0..2 {
                self.arrive(team, parity);
            }
        }
        let (theirs, ours) = (self.control.pe(0), self.control.pe(Partner::ME));
        for (their, our) in theirs.joins.iter().zip(&ours.joins) {
            let phase = their.phase.load(Acquire);
            our.unique_id
                .overwrite(their.unique_id.load(Relaxed), Relaxed);
            our.n_pes.overwrite(their.n_pes.load(Relaxed), Relaxed);
            our.member
                .overwrite(1 ^ their.member.load(Relaxed), Relaxed);
            for (our, their) in our.offer.free.iter().zip(&their.offer.free) {
                our.overwrite(their.load(Relaxed), Relaxed);
            }
            let claimed = their.offer.claimed.load(Relaxed);
            our.offer.claimed.overwrite(claimed, Relaxed);
            if let Some(&epoch) = self.brings().first() {
                our.offer.epoch.overwrite(epoch, Relaxed);
            }
            our.phase.overwrite(phase, Release);
        }
    }

    fn brings(&self) -> Vec<u64> {
        crate::lock::lock(&self.brings).clone()
    }

    fn arrive(&mut self, team: u32, parity: u64) {
        let row = self.control.row(team);
        let their = self.control.slot(row, 0, parity);
        let epoch = their.epoch.load(Acquire);
        if epoch <= self.seen[team as usize] || epoch & 1 != parity {
            return;
        }
        self.seen[team as usize] = epoch;
        let our = self.control.slot(row, Partner::ME, parity);
        for (our, their) in our.args.iter().zip(&their.args) {
            our.overwrite(their.load(Relaxed), Relaxed);
        }
        our.operation
            .overwrite(their.operation.load(Relaxed), Relaxed);
        our.error.overwrite(0, Relaxed);
        let brings = self.brings();
        for (index, (our, their)) in our.payload.iter().zip(&their.payload).enumerate() {
            let own = brings.get(index).copied();
            our.overwrite(own.unwrap_or_else(|| their.load(Relaxed)), Relaxed);
        }
        our.signature
            .overwrite(their.signature.load(Relaxed), Relaxed);
        our.epoch.overwrite(epoch, Release);
    }
}

/// The PE that calls operations.
struct Caller<'a> {
    rt: &'a Runtime,
    blocks: Vec<u64>,
    teams: Vec<Team>,
}

impl Caller<'_> {
    fn call(&mut self, operation: Operation, a: u16, b: u16) {
        let rt = self.rt;
        let block = self.blocks.get(usize::from(a) % 8).or(self.blocks.first());
        let block = block.copied().unwrap_or(0);
        let (dest, source) = (
            Symmetric::Address(block),
            Symmetric::Address(block + u64::from(b % 3) * 4096),
        );
        let team = self.teams.get(usize::from(b >> 8) % 4).copied();
        let team = team.unwrap_or(Team::WORLD);
        let bytes = usize::from(b) % 4097;
        let dtype = Dtype::ALL[usize::from(a >> 8) % Dtype::ALL.len()] as i32;
        let count = bytes / 16;
        let op = Op::Sum as i32;
        let root = Pe::from(a >> 8 & 1 == 1);
        // Errors are expected.
        match operation {
            Operation::Barrier => drop(rt.barrier(team)),
            Operation::Sync => drop(rt.sync(team)),
            Operation::Broadcast => drop(rt.broadcast(team, dest, source, bytes, root)),
            Operation::Gather => drop(rt.gather(team, dest, source, bytes, root)),
            Operation::Scatter => drop(rt.scatter(team, dest, source, bytes, root)),
            Operation::Collect => drop(rt.collect(team, dest, source, bytes)),
            Operation::Fcollect => drop(rt.fcollect(team, dest, source, bytes)),
            Operation::Alltoall => drop(rt.alltoall(team, dest, source, bytes)),
            Operation::Alltoalls => drop(rt.alltoalls(team, dest, source, 2, 1, 8, count)),
            Operation::Reduce => drop(rt.reduce(team, dest, source, count, dtype, op)),
            Operation::Reducescatter => {
                drop(rt.reducescatter(team, dest, source, count, dtype, op));
            }
            Operation::Inscan => drop(rt.inscan(team, dest, source, count, dtype, op)),
            Operation::Exscan => drop(rt.exscan(team, dest, source, count, dtype, op)),
            Operation::Malloc => {
                if let Ok(Some(block)) = rt.malloc(Ok(Request::bytes(16384))) {
                    self.blocks.push(block);
                }
            }
            Operation::Free => {
                if rt.free(block).is_ok() {
                    self.blocks.retain(|&one| one != block);
                }
            }
            Operation::Realloc => {
                if let Ok(new) = rt.realloc(Ok(block), bytes * 8) {
                    self.blocks.retain(|&one| one != block);
                    self.blocks.extend(new);
                }
            }
            Operation::Release => {
                if rt.release(block).is_ok() {
                    self.blocks.retain(|&one| one != block);
                }
            }
            Operation::Split => {
                let size = 1 + Pe::from(b & 1 == 1);
                let made = rt.team_split_strided(team, 0, 1, size, Ok(TeamConfig::default()));
                self.teams.extend(made.ok().flatten());
            }
            Operation::Split2d => {
                let config = || Ok(TeamConfig::default());
                let made = rt.team_split_2d(team, 1 + Pe::from(b & 1 == 1), config(), config());
                if let Ok((x, y)) = made {
                    self.teams.extend([x, y]);
                }
            }
            Operation::TeamInit => {
                let config = TeamConfig {
                    unique_id: 1 + u64::from(a),
                    ..TeamConfig::default()
                };
                self.teams.extend(rt.team_init(config, 2, 0));
            }
            Operation::Destroy => {
                if let Some(team) = self.teams.pop() {
                    let _ = rt.team_destroy(team);
                }
            }
            Operation::Wait => {
                if let Ok(word) = rt.element::<u64>("ivar", block) {
                    let _ = rt.wait_until(word, Cmp::Ge, 1);
                }
            }
            Operation::Transfer => {
                let mut word = [1u64];
                let range = rt.symmetric("dest", block, 8);
                if let Ok(range) = range {
                    let _ = rt.put(range, &word[..], 1);
                    let _ = rt.get(&mut word[..], range, 1);
                }
                if let Ok(element) = rt.element::<u64>("dest", block) {
                    let _ = rt.atomic_fetch_add(element, 1, 1);
                }
                let _ = rt.quiet();
            }
            Operation::Board => {
                let _ = rt.check();
                assert!(!rt.board().report().is_empty());
            }
        }
    }
}

/// PE 0 of 2 calls operations while its partner does its worst; in a job under the synchronisation checker, if `checked`.
///
/// # Panics
/// If the PE does not get through.
pub fn peer(acts: &[PeerAction], checked: bool) {
    let attr = InitAttr {
        heap_bytes: Some(2 << 20),
        timeout: Some(Duration::from_millis(2)),
        check: Some(checked),
        check_seed: checked.then_some(1),
        ..InitAttr::default()
    };
    let job = local::Job::new(2, &attr).expect("a job");
    let control = job.control();
    let state = |state: State| {
        let block = control.pe(Partner::ME);
        block.state.overwrite(state as u32, Release);
    };
    state(State::Active);
    let rt = job.join(0).expect("the partner is there");
    let (brings, over) = (Mutex::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut partner = Partner {
                control,
                brings: &brings,
                seen: [0; WATCHED as usize],
            };
            while !over.load(Acquire) {
                partner.come();
                std::thread::yield_now();
            }
        });
        let mut caller = Caller {
            rt: &rt,
            blocks: Vec::new(),
            teams: vec![Team::WORLD],
        };
        for act in acts {
            match act {
                PeerAction::Corrupt(place, value) => drop(control.corrupt(*place, *value)),
                PeerAction::Bring(words) => {
                    let mut brings = crate::lock::lock(&brings);
                    brings.clone_from(words);
                    brings.truncate(PAYLOAD_WORDS);
                }
                PeerAction::Call(operation, a, b) => caller.call(*operation, *a, *b),
            }
        }
        over.store(true, Release);
    });
    state(State::Finalized);
    // Its result may be any error.
    let _ = rt.finalize();
}
