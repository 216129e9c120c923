//! Jobs whose PEs are on several hosts. All PEs open a wire over a [plugin], exchange their hosts and attributes, and prove the job's
//! secret. The PEs of a host then connect as in a job on one host ([`socket`](super::socket)), each host with memory of its own. Once
//! every host has its memory, the [net transport](crate::transport::net) takes the wire.
//!
//! Each PE computes the same result from the exchanged facts, so an error reaches all of them.
//!
//! 1. [`PeInfo`] of every PE, of the same length in every version.
//! 2. The proof of the secret, over the facts of all, in which each PE has put random numbers.
//! 3. Whether the PE has joined on its host, or why not.

use super::pe_info::{PeInfo, text};
use super::unique_id::Key;
use super::{check_job, missing, socket, stride};
use crate::debug::Level;
use crate::job::hosts::Hosts;
use crate::job::layout::HEAP_UNIT;
use crate::job::membership::Membership;
use crate::job::published::Limit;
use crate::job::topology::Id;
use crate::job::{block, init_status, interrupt, machine, signals};
use crate::operation::Operation;
use crate::runtime::Resolved;
use crate::transport::net::{self, Progress, Table, Wire, plugin};
use crate::transport::{self, JobPeers, Route};
use crate::words::pes;
use crate::{Communicator, Error, InitAttr, MemoryKind, Pe, Result, Runtime, config};
use nvshmemrs_wire::VERSION as WIRE;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The error for launchers without MPI.
pub(super) const ONLY_MPI: &str =
    "only MPI brings the PEs of several hosts together, so start the job with mpirun or srun";

/// How often a PE that waits for MPI calls the interrupt hook.
const LOOK: Duration = Duration::from_millis(50);
/// How much later than its own limit a step is abandoned that should have ended by itself.
const GRACE: Duration = missing::TIME.saturating_mul(2);

/// The processes of the job, and the source of their number.
pub(super) struct JobSource<'a> {
    /// The program's communicator; without it all processes of the launcher join.
    pub(super) communicator: Option<Communicator>,
    /// This PE and the number of PEs, if a launcher has set them.
    pub(super) told: Option<(Pe, Pe)>,
    /// The source of these, for messages.
    pub(super) how: &'a str,
    /// An identity of the job, equal on all hosts.
    pub(super) identity: &'a str,
    /// Where the PEs meet if all are on one host; `None` to agree on a place.
    pub(super) key: Option<Key>,
}

/// How long init lasts at most for a PE whose own limit makes no sense.
const USUAL: Duration = Duration::from_secs(60);

/// Bytes of a PE's status on its host.
const STATUS_BYTES: usize = 512;

/// The bytes of heap per PE that all PEs agree on; an error if they disagree.
fn verdict(all: &[PeInfo]) -> Result<u64> {
    let first = &all[0];
    let disagree = |what: &str, say: &dyn Fn(&PeInfo) -> String, hint: &str| {
        let same = |one: &PeInfo| say(one) == say(first);
        match all.iter().position(|one| !same(one)) {
            None => Ok(()),
            Some(pe) => Err(Error::Bootstrap(format!(
                "the PEs disagree about {what}: PE {pe} on host {} has {}, PE 0 on host {} has {}; {hint}",
                all[pe].host_name,
                say(&all[pe]),
                first.host_name,
                say(first)
            ))),
        }
    };
    disagree(
        "the version of nvshmemrs",
        &|one| format!("{} (layout {}, wire {})", one.version, one.layout, one.wire),
        "install the same version on all hosts",
    )?;
    let kind = |one: &PeInfo| -> MemoryKind { one.memory.into() };
    disagree(
        "the kind of memory",
        &|one| format!("{} memory", kind(one)),
        "set NVSHMEMRS_MEMORY (or memory at init) alike on all hosts",
    )?;
    disagree(
        "the symmetric heap",
        &|one| match one.heap {
            u64::MAX => "the default size".into(),
            bytes => format!("{bytes} bytes"),
        },
        "set NVSHMEM_SYMMETRIC_SIZE (or heap_bytes at init) alike on all hosts",
    )?;
    disagree(
        "the checker",
        &|one| format!("NVSHMEMRS_CHECK={}", u32::from(one.check)),
        "set it alike on all hosts",
    )?;
    let seed = |one: &PeInfo| match one.any_seed || !first.check {
        true => first.seed,
        false => one.seed,
    };
    disagree(
        "the checker's seed",
        &|one| format!("NVSHMEMRS_CHECK_SEED={}", seed(one)),
        "set it for PE 0 only, or alike on all PEs",
    )?;
    match first.heap {
        u64::MAX => stride(default_heap(all)),
        bytes => stride(bytes),
    }
}

/// The default heap of a job: the smallest share per PE of all hosts.
fn default_heap(all: &[PeInfo]) -> u64 {
    let mut pes: HashMap<Id, Pe> = HashMap::new();
    for one in all {
        *pes.entry(one.host).or_insert(0) += 1;
    }
    let share = |one: &PeInfo| machine::share_of_heap(one.default_heap, pes[&one.host]);
    let least = all.iter().map(share).fold(u64::MAX, u64::min);
    machine::fitting_heap(least, all.len() as Pe)
}

/// The error of another PE that cannot join.
fn troubled(all: &[PeInfo]) -> Option<Error> {
    let pe = all.iter().position(|one| !one.trouble.is_empty())?;
    let PeInfo {
        host_name, trouble, ..
    } = &all[pe];
    Some(Error::Bootstrap(format!(
        "PE {pe} on host {host_name} says: {trouble}"
    )))
}

/// The state that a PE of a job on several hosts keeps until the job is over.
struct Step<'a> {
    how: &'a str,
    me: Pe,
    limit: (Duration, Limit),
    until: Instant,
}

impl Step<'_> {
    fn late(&self, what: &str) -> Error {
        let (deadline, limit) = self.limit;
        Error::Bootstrap(format!(
            "after {deadline:.1?} ({}) this PE could not {what} (set by {})",
            limit.name(),
            self.how
        ))
    }

    /// A mistake that may be the reason.
    fn hint(&self) -> &'static str {
        match config::set("NVSHMEMRS_HOST_ID") {
            Some(_) => "; NVSHMEMRS_HOST_ID is set here, and must be set for all PEs",
            None => "",
        }
    }

    /// Runs a function that may wait for other hosts on a thread of its own, which is detached if it takes too long.
    fn on_thread<T: Send + 'static>(
        &self,
        what: &str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (tell, told) = mpsc::channel();
        let builder = std::thread::Builder::new().name("nvshmemrs-hosts".into());
        let run = move || {
            // The receiver may have stopped waiting.
            let _ = tell.send(work());
        };
        signals::spawn(builder, run).map_err(|error| Error::system("starting a thread", error))?;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(result) => return result,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::Internal("a thread of init has panicked".into()));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if interrupt::asked() {
                let left = self.until.saturating_duration_since(Instant::now());
                return Err(Error::Interrupted {
                    operation: Operation::Init.name(),
                    me: self.me,
                    waited: self.limit.0.saturating_sub(left),
                    detail: format!("it waits to {what}"),
                });
            }
            if Instant::now() >= self.until + GRACE {
                return Err(self.late(&format!(
                    "{what}, and MPI does not say who is missing{}",
                    self.hint()
                )));
            }
        }
    }

    /// Exchanges bytes among all PEs.
    fn exchange(&self, wire: Table, mine: Vec<u8>) -> Result<(Table, Vec<Vec<u8>>)> {
        let left = self.until.saturating_duration_since(Instant::now());
        let mut wire = wire;
        let what = "hear the PEs of the other hosts";
        let heard = self.on_thread(what, move || match wire.exchange(&mine, left) {
            Ok(Some(all)) => {
                let each = all.chunks(mine.len().max(1)).map(<[u8]>::to_vec);
                Ok(Ok((wire, each.collect())))
            }
            Ok(None) => {
                let missing = missing::find(&mut wire);
                wire.close(Duration::ZERO);
                Ok(Err(missing))
            }
            Err(error) => {
                wire.close(Duration::ZERO);
                Err(error)
            }
        })?;
        heard.map_err(|missing| match &missing[..] {
            [] => self.late(&format!("{what} in time, though all are there by now")),
            missing => self.late(&format!("{what}: nothing is heard of {}", pes(missing))),
        })
    }
}

/// Closes the wire on an error of all PEs.
fn close_with(wire: &mut Table, error: Error) -> Error {
    wire.close(plugin::CLOSE_TIMEOUT);
    error
}

/// Joins a job whose PEs may be on several hosts.
pub(super) fn join(source: &JobSource<'_>, attr: &InitAttr) -> Result<Runtime> {
    // A PE that cannot go on comes all the same, because the others would wait for it, and sends the reason.
    let asked = attr.resolve();
    let limit = attr.init_limit().unwrap_or((USUAL, Limit::InitTimeout));
    let until = Instant::now() + limit.0;
    let mut step = Step {
        how: source.how,
        me: source.told.map_or(0, |(pe, _)| pe),
        limit,
        until,
    };
    let told = source.told;
    let wire = match source.communicator {
        // MPI runs already, so that this has a limit of its own; and the communicator may be gone once this call returns.
        Some(communicator) => plugin::open(Some(communicator), told, until)?,
        None => step.on_thread("start MPI with all PEs", move || {
            plugin::open(None, told, until)
        })?,
    };
    let ((pe, n_pes), network) = (wire.ranks(), wire.name());
    step.me = pe;
    let mut wire = wire;
    if let Err(error) = check_job(pe, n_pes) {
        return Err(close_with(&mut wire, error));
    }
    let able = asked.and_then(|resolved| {
        let provider = transport::of_process(resolved.memory, resolved.device, pe);
        let default_heap = match resolved.heap_bytes {
            None => provider.default_heap(1)?,
            Some(_) => HEAP_UNIT,
        };
        // PE 0 draws it for all.
        let seed = match pe {
            0 => resolved.check.seed()?,
            _ => resolved.check.said_seed().unwrap_or(0),
        };
        Ok((resolved, default_heap, socket::nonce()?, seed))
    });
    let here = machine::here();
    let mut facts = PeInfo {
        version: env!("CARGO_PKG_VERSION").into(),
        layout: block::VERSION,
        wire: WIRE,
        host: here.id,
        host_name: here.name,
        heap: u64::MAX,
        default_heap: 0,
        memory: 0,
        check: false,
        seed: 0,
        any_seed: true,
        nonce: [0; 32],
        trouble: String::new(),
    };
    match &able {
        Ok((resolved, default_heap, nonce, seed)) => {
            facts.heap = resolved.heap_bytes.unwrap_or(u64::MAX);
            facts.default_heap = *default_heap;
            facts.memory = resolved.memory.number();
            facts.check = resolved.check.wanted();
            (facts.seed, facts.any_seed) = (*seed, resolved.check.said_seed().is_none() && pe != 0);
            facts.nonce = *nonce;
        }
        Err(error) => facts.trouble = error.to_string(),
    }
    let (mut wire, said) = step.exchange(wire, facts.bytes().to_vec())?;
    let read: Vec<Option<PeInfo>> = said.iter().map(|bytes| PeInfo::read(bytes)).collect();
    if let Some(other) = read.iter().position(Option::is_none) {
        let why = format!(
            "rank {other} of this MPI job does not speak nvshmemrs's protocol, or another version of it: start the same program with the \
             same nvshmemrs in all processes"
        );
        return Err(close_with(&mut wire, Error::Bootstrap(why)));
    }
    let all: Vec<PeInfo> = read.into_iter().flatten().collect();
    let mut resolved = match (able, troubled(&all)) {
        (Ok((resolved, ..)), None) => resolved,
        (Err(error), _) | (Ok(_), Some(error)) => return Err(close_with(&mut wire, error)),
    };
    let secret = config::set("NVSHMEMRS_SECRET").unwrap_or_default();
    let facts = Sha256::digest(said.concat());
    let own: Key = Key::new(&[source.identity.as_bytes(), &[0], secret.as_bytes()].concat());
    let proof = |pe: Pe| [b"hosts".to_vec(), facts.to_vec(), pe.to_le_bytes().to_vec()].concat();
    let (mut wire, proofs) = step.exchange(wire, own.prove(&[&proof(pe)]).to_vec())?;
    let stranger = (0..n_pes).find(|&pe| !own.verify(&[&proof(pe)], &proofs[pe as usize]));
    if let Some(stranger) = stranger {
        let host = &all[stranger as usize].host_name;
        let error = Error::Bootstrap(format!(
            "PE {stranger} on host {host} and PE {pe} on host {} do not know the same secret: set NVSHMEMRS_SECRET alike for all PEs, or for none",
            all[pe as usize].host_name
        ));
        return Err(close_with(&mut wire, error));
    }
    let ids: Vec<Id> = all.iter().map(|one| one.host).collect();
    let mut hosts = Hosts::new(&ids, pe).named(|pe| all[pe as usize].host_name.clone());
    if config::set("NVSHMEMRS_HOST_ID").is_some() {
        hosts = hosts.simulated();
    }
    // A PE that meets here must have received the status of all.
    let meeting = |host: &Id| Key::new(&[&own.prove(&[b"host", &facts, host])[..]].concat());
    if hosts.count() == 1 {
        wire.close(until.saturating_duration_since(Instant::now()));
        let key = source.key.clone().unwrap_or_else(|| meeting(&here.id));
        return super::join(&key, pe, n_pes, attr, source.how, None);
    }
    let agreed = match verdict(&all) {
        Ok(agreed) => agreed,
        Err(error) => return Err(close_with(&mut wire, error)),
    };
    resolved.check = resolved.check.with_seed(all[0].seed);
    let key = meeting(&here.id);
    let met = meet(&key, &hosts, &here.id, agreed, source.how, &resolved, until);
    let mut words = vec![0; STATUS_BYTES];
    if let Err(error) = &met {
        let text = error.to_string();
        let text = text.as_bytes();
        let len = text.len().min(STATUS_BYTES - 1);
        words[0] = 1;
        words[1..=len].copy_from_slice(&text[..len]);
    }
    let (mut wire, words) = step.exchange(wire, words)?;
    let failed = words.iter().position(|said| said[0] != 0);
    let (control, joined) = match (met, failed) {
        (Ok(met), None) => met,
        (Err(error), _) => return Err(close_with(&mut wire, error)),
        (Ok(_), Some(other)) => {
            let (host, why) = (&all[other].host_name, text(&words[other][1..]));
            let error = Error::Bootstrap(format!("PE {other} on host {host}: {why}"));
            return Err(close_with(&mut wire, error));
        }
    };
    Level::from_environment().write(Level::Info, pe, || {
        format!("{} hosts reach each other over {network}", hosts.count())
    });
    let (control, joined) = net::join(control, joined, Box::new(wire), hosts, Progress::Thread)?;
    let member = Membership::Process;
    let joined = joined.with(Route::from);
    Runtime::assemble(control, pe, &resolved, member, until, joined, None)
}

/// The PEs of a host connect, and each joins the memory of the host.
fn meet(
    key: &Key,
    hosts: &Hosts,
    host: &Id,
    heap: u64,
    how: &str,
    resolved: &Resolved,
    until: Instant,
) -> Result<(block::Control, transport::Joined)> {
    let (pe, n_pes) = (hosts.me(), hosts.n_pes());
    let page = init_status::InitStatusFile::new(key.name(), pe, n_pes, until)?;
    // Each PE of a host has its turn among the GPUs there.
    let index = hosts
        .local_pes()
        .iter()
        .take_while(|&&local| local != pe)
        .count();
    let provider = transport::of_process(resolved.memory, resolved.device, index as Pe);
    let rendezvous = socket::Rendezvous {
        key,
        pe,
        n_pes,
        pes: hosts.local_pes(),
        host: *host,
        how,
        check: resolved.check,
        memory: resolved.memory,
        exchanges: provider.exchanges(),
        gpu: provider.gpu(),
        default_heap: heap,
        deadline: resolved.init_timeout.0,
        limit: resolved.init_timeout.1.name(),
        until,
        registry: None,
        look: std::cell::Cell::new(Instant::now() + socket::CHECK_INTERVAL),
        page: &page,
    };
    let (control, links) = match rendezvous.leader() == pe {
        true => rendezvous.lead(Some(heap))?,
        false => rendezvous.follow(Some(heap))?,
    };
    let peers = JobPeers::Processes(hosts.local_pes().to_vec(), links);
    let joined = provider.join(&control, pe, peers, until)?;
    Ok((control, joined))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(host: &str) -> PeInfo {
        PeInfo {
            version: "1.2.3".into(),
            layout: 5,
            wire: 1,
            host: [host.len() as u8; 16],
            host_name: host.into(),
            heap: 4 << 20,
            default_heap: 1 << 30,
            memory: 0,
            check: false,
            seed: 7,
            any_seed: false,
            trouble: String::new(),
            nonce: [3; 32],
        }
    }

    #[test]
    fn facts_go_there_and_back() {
        let one = facts("alpha");
        assert_eq!(PeInfo::read(&one.bytes()), Some(one.clone()));
        let mut wrong = one.bytes();
        wrong[3] ^= 1;
        assert_eq!(PeInfo::read(&wrong), None);
        assert_eq!(PeInfo::read(&one.bytes()[..100]), None);
        let long = facts(&"é\u{1b}[31m".repeat(40));
        let read = PeInfo::read(&long.bytes()).unwrap();
        assert!(read.host_name.starts_with("é[31m") && read.host_name.len() <= 64 + 2);
    }

    type Change<'a> = &'a dyn Fn(&mut PeInfo);

    /// A difference between PEs of two hosts is reported with both hosts.
    #[test]
    fn who_disagrees_is_named() {
        let agreed = |other: &dyn Fn(&mut PeInfo)| {
            let mut all = [facts("alpha"), facts("alpha"), facts("beta")];
            other(&mut all[2]);
            verdict(&all)
        };
        assert_eq!(agreed(&|_| ()).unwrap(), 4 << 20);
        let cases: [(Change<'_>, &str); 5] = [
            (&|one| one.version = "1.2.4".into(), "has 1.2.4 (layout 5"),
            (&|one| one.layout = 6, "layout 6"),
            (&|one| one.heap = 8 << 20, "has 8388608 bytes"),
            (&|one| one.heap = u64::MAX, "has the default size"),
            (&|one| one.check = true, "has NVSHMEMRS_CHECK=1"),
        ];
        for (change, words) in cases {
            let error = agreed(change).unwrap_err().to_string();
            for words in [words, "PE 2 on host beta", "PE 0 on host alpha"] {
                assert!(error.contains(words), "{error}");
            }
        }
    }

    /// Each host's memory is shared by its own PEs, however many the job has.
    #[test]
    fn the_smallest_default_holds() {
        let names = ["alpha", "beta", "alpha", "alpha", "beta"];
        let mut all = names.map(facts);
        for one in &mut all {
            let memory = if one.host_name == "alpha" { 96 } else { 80 };
            (one.heap, one.default_heap) = (u64::MAX, memory << 20);
        }
        assert_eq!(verdict(&all).unwrap(), 32 << 20);
        assert_eq!(verdict(&all[..2]).unwrap(), 80 << 20);
    }

    #[test]
    fn a_pe_that_cannot_go_on_is_named_with_its_host() {
        let mut all = [facts("alpha"), facts("beta")];
        assert!(troubled(&all).is_none());
        all[1].trouble = "no random numbers".into();
        let read = all.map(|one| PeInfo::read(&one.bytes()).unwrap());
        let error = troubled(&read).unwrap().to_string();
        assert!(
            error.contains("PE 1 on host beta says: no random numbers"),
            "{error}"
        );
    }

    /// PE 0 chooses the seed of a checked job; another PE may want the same one.
    #[test]
    fn seeds_of_the_checker_agree() {
        let agreed = |seed, any_seed| {
            let mut all = [facts("alpha"), facts("beta")];
            all.iter_mut().for_each(|one| one.check = true);
            (all[1].seed, all[1].any_seed) = (seed, any_seed);
            let read = all.map(|one| PeInfo::read(&one.bytes()).unwrap());
            verdict(&read).map_err(|error| error.to_string())
        };
        assert_eq!(agreed(7, false), Ok(4 << 20));
        assert_eq!(agreed(0, true), Ok(4 << 20));
        let error = agreed(8, false).unwrap_err();
        assert!(
            error.contains("NVSHMEMRS_CHECK_SEED=8, PE 0 on host alpha has NVSHMEMRS_CHECK_SEED=7"),
            "{error}"
        );
    }
}
