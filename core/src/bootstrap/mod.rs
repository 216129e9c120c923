//! The bootstrap: how the PEs of a job find each other. [`env`] reads the launcher's variables, [`socket`] connects the processes of one
//! host, [`local`] the threads of one process. [`init_status`] shows the progress to observers, [`exit_registry`] shows exits that the
//! launcher has seen to the PEs.

mod env;
mod file_limit;
mod follower;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod gather;
mod holder;
mod hosts;
mod joined;
mod leader;
pub mod local;
mod missing;
mod pe_info;
mod socket;
mod socket_names;
mod unique_id;

pub use env::{LAUNCHERS, Launcher};
pub use interrupt::set_init_interrupt_hook;
pub use unique_id::UniqueId;

use unique_id::Key;

use crate::job::block::MAX_PES;
use crate::job::layout::HEAP_UNIT;
use crate::job::membership::Membership;
use crate::job::{exit_registry, init_status, interrupt, machine};
use crate::transport::{self, JobPeers, Route};
use crate::{Communicator, Error, InitAttr, Pe, Result, Runtime};
use std::cell::Cell;
use std::time::Instant;

fn check_job(pe: Pe, n_pes: Pe) -> Result<()> {
    if !(1..=MAX_PES).contains(&n_pes) {
        return Err(Error::invalid(
            "n_pes",
            n_pes,
            format!("from 1 to {MAX_PES}"),
        ));
    }
    crate::error::check_pe("pe", pe, n_pes)
}

/// The heap size in force, rounded up so that every PE's part is aligned alike.
fn stride(bytes: u64) -> Result<u64> {
    crate::job::layout::round_up(bytes, HEAP_UNIT)
        .ok_or_else(|| Error::invalid("heap_bytes", bytes, "a size that fits the address space"))
}

/// Joins the job that the environment describes.
fn from_environment(attr: &InitAttr) -> Result<Runtime> {
    match env::find()? {
        env::Found::Single => local::Job::new(1, attr)?.join(0),
        env::Found::Member {
            key,
            pe,
            n_pes,
            launcher,
            ancestors,
        } => {
            let keys: Vec<&Key> = std::iter::once(&key).chain(&ancestors).collect();
            joined::check(&keys, pe, n_pes, &env::remedy(launcher))?;
            // A unique id of the program's own may number its PEs in another way.
            let registry = match launcher {
                env::OURS => exit_registry::RegistryReader::from_environment(pe, n_pes)?,
                _ => None,
            };
            let runtime = join(&key, pe, n_pes, attr, launcher, registry)?;
            joined::keep(&key, pe, n_pes);
            Ok(runtime)
        }
        env::Found::Hosts {
            identity,
            pe,
            n_pes,
            launcher,
            key,
            ancestors,
        } => {
            let keys: Vec<&Key> = std::iter::once(&key).chain(&ancestors).collect();
            joined::check(&keys, pe, n_pes, &env::remedy(launcher))?;
            let source = hosts::JobSource {
                communicator: None,
                told: Some((pe, n_pes)),
                how: launcher,
                identity: &identity,
                key: Some(key.clone()),
            };
            let runtime = hosts::join(&source, attr)?;
            joined::keep(&key, pe, n_pes);
            Ok(runtime)
        }
    }
}

/// Joins the job that a unique id names.
fn from_unique_id(id: &UniqueId, pe: Pe, n_pes: Pe, attr: &InitAttr) -> Result<Runtime> {
    let key = id.key();
    let remedy = "a process that is to be no PE of this job needs a unique id of its own";
    joined::check(&[&key], pe, n_pes, remedy)?;
    let runtime = join(&key, pe, n_pes, attr, "unique id", None)?;
    if let Some(mark) = joined::take(&key, pe, n_pes) {
        *crate::lock::lock(&runtime.inner.held) = Some(Box::new(mark));
    }
    Ok(runtime)
}

fn join(
    key: &Key,
    pe: Pe,
    n_pes: Pe,
    attr: &InitAttr,
    how: &str,
    registry: Option<exit_registry::RegistryReader>,
) -> Result<Runtime> {
    check_job(pe, n_pes)?;
    let resolved = attr.resolve()?;
    let until = Instant::now() + resolved.init_timeout.0;
    let page = init_status::InitStatusFile::new(key.name(), pe, n_pes, until)?;
    let provider = transport::of_process(resolved.memory, resolved.device, pe);
    let default_heap = match (pe, resolved.heap_bytes) {
        (0, None) => provider.default_heap(n_pes)?,
        _ => HEAP_UNIT,
    };
    let pes: Vec<Pe> = (0..n_pes).collect();
    let rendezvous = socket::Rendezvous {
        key,
        pe,
        n_pes,
        pes: &pes,
        host: machine::here().id,
        how,
        check: resolved.check,
        memory: resolved.memory,
        exchanges: provider.exchanges(),
        gpu: provider.gpu(),
        default_heap,
        deadline: resolved.init_timeout.0,
        limit: resolved.init_timeout.1.name(),
        until,
        registry: registry.as_ref(),
        look: Cell::new(Instant::now() + socket::CHECK_INTERVAL),
        page: &page,
    };
    let (control, links) = match pe {
        0 => rendezvous.lead(resolved.heap_bytes)?,
        _ => rendezvous.follow(resolved.heap_bytes)?,
    };
    if provider.exchanges() {
        page.set_step(init_status::Step::Share, "");
    }
    let peers = JobPeers::Processes((0..n_pes).collect(), links);
    let joined = provider.join(&control, pe, peers, until);
    // From here on the board shows the waits of this PE.
    drop(page);
    let membership = Membership::Process;
    let joined = Route::joined(joined?, &control)?;
    Runtime::assemble(control, pe, &resolved, membership, until, joined, registry)
}

impl Runtime {
    /// Joins the job that the environment describes: `nvshmemrs-run`, `torchrun`, `mpirun`, `srun`. Without any of
    /// them the caller is the only PE. The PEs may be on several hosts if the launcher starts MPI.
    ///
    /// Collective over all PEs of the job. OpenSHMEM 1.5 section 9.1.1.
    pub fn init() -> Result<Runtime> {
        Runtime::init_with(&InitAttr::default())
    }

    /// As [`init`](Runtime::init), with attributes.
    pub fn init_with(attr: &InitAttr) -> Result<Runtime> {
        from_environment(attr)
    }

    /// Joins the job that `id` names, as PE `pe` of `n_pes`. The PEs are processes of one host, or threads of them.
    ///
    /// Collective over all PEs of the job. NVSHMEM `nvshmemx_init_attr` with a unique id.
    pub fn init_unique_id(id: &UniqueId, pe: Pe, n_pes: Pe, attr: &InitAttr) -> Result<Runtime> {
        from_unique_id(id, pe, n_pes, attr)
    }

    /// Joins the job of the processes of an MPI communicator: their ranks in it are the PEs. The program has initialised MPI with
    /// MPI_THREAD_MULTIPLE, because a thread of nvshmemrs calls it, too, and finalises it after the job has ended. If all PEs are on one
    /// host, MPI is used in init only.
    ///
    /// Collective over all processes of the communicator. NVSHMEM `nvshmemx_init_attr` with an MPI communicator.
    pub fn init_mpi(communicator: Communicator, attr: &InitAttr) -> Result<Runtime> {
        let source = hosts::JobSource {
            communicator: Some(communicator),
            told: None,
            how: "the program's communicator",
            identity: "communicator",
            key: None,
        };
        hosts::join(&source, attr)
    }
}
