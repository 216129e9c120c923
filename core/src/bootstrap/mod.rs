//! How the PEs of a job find each other: [`env`] reads what a launcher said, [`socket`] and [`gather`] bring processes of one host
//! together, [`local`] the threads of one process.

mod env;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod gather;
mod holder;
pub mod local;
mod places;
mod socket;
mod unique_id;

pub use env::{LAUNCHERS, Launcher};
pub(crate) use interrupt::hook;
pub use interrupt::set_init_interrupt_hook;
pub use unique_id::UniqueId;

use crate::job::block::MAX_PES;
use crate::job::layout::MAX_ALIGNMENT;
use crate::job::{interrupt, machine, wire};
use crate::runtime::Membership;
use crate::transport::cuda::{self, Company, CudaTransport, Device};
use crate::{Error, InitAttr, MemoryKind, Pe, Result, Runtime};
use std::sync::Arc;
use std::time::Instant;

fn check_job(pe: Pe, n_pes: Pe) -> Result<()> {
    if !(1..=MAX_PES).contains(&n_pes) {
        return Err(Error::invalid("n_pes", n_pes, format!("1 to {MAX_PES}")));
    }
    crate::pe::check("pe", pe, n_pes)
}

/// The bytes of heap per PE if nobody says otherwise. `device` is the GPU that memory is on, unless there is none.
fn default_heap(device: Option<&Result<Arc<Device>>>, n_pes: Pe) -> Result<u64> {
    match device {
        None => Ok(machine::default_heap_bytes(n_pes)),
        Some(Ok(device)) => cuda::default_heap_bytes(device, n_pes),
        // The job will not come to be.
        Some(Err(_)) => Ok(MAX_ALIGNMENT),
    }
}

/// The heap size in force, rounded up so that every PE's part is aligned alike.
fn stride(bytes: u64) -> Result<u64> {
    crate::job::layout::round_up(bytes, MAX_ALIGNMENT)
        .ok_or_else(|| Error::invalid("heap_bytes", bytes, "a size that fits the address space"))
}

/// Joins the job that the environment describes.
pub(crate) fn from_environment(attr: &InitAttr) -> Result<Runtime> {
    match env::find()? {
        env::Found::Single => local::Job::new(1, attr)?.join(0),
        env::Found::Member {
            key,
            pe,
            n_pes,
            launcher,
        } => join(&key, pe, n_pes, attr, launcher),
    }
}

/// Joins the job that a unique id names.
pub(crate) fn from_unique_id(id: &UniqueId, pe: Pe, n_pes: Pe, attr: &InitAttr) -> Result<Runtime> {
    join(&id.key(), pe, n_pes, attr, "unique id")
}

fn join(key: &unique_id::Key, pe: Pe, n_pes: Pe, attr: &InitAttr, how: &str) -> Result<Runtime> {
    check_job(pe, n_pes)?;
    let resolved = attr.resolve()?;
    let until = Instant::now() + resolved.init_timeout;
    // A PE without a GPU joins, and tells the others why it cannot go on.
    let device = (resolved.memory == MemoryKind::Device).then(|| {
        let ordinal = cuda::device::choose(resolved.device, pe)?;
        Device::open(ordinal).map(Arc::new)
    });
    let default_heap = match (pe, resolved.heap_bytes) {
        (0, None) => default_heap(device.as_ref(), n_pes)?,
        _ => MAX_ALIGNMENT,
    };
    let rendezvous = socket::Rendezvous {
        key,
        pe,
        n_pes,
        how,
        check: resolved.check,
        memory: resolved.memory,
        default_heap,
        deadline: resolved.init_timeout,
        until,
    };
    let (control, links) = match pe {
        0 => rendezvous.lead(resolved.heap_bytes)?,
        _ => rendezvous.follow(resolved.heap_bytes)?,
    };
    let company = Company::Processes(links);
    let cuda = device
        .map(|device| CudaTransport::join(&control, pe, device, company, until))
        .transpose()?;
    Runtime::assemble(control, pe, &resolved, Membership::Process, until, cuda)
}
