//! How the PEs of a job find each other: [`env`] reads what a launcher said, [`socket`] and [`gather`] bring processes of one host
//! together, [`local`] the threads of one process.

mod env;
#[cfg(fuzzing)]
pub(crate) mod fuzz;
mod gather;
mod interrupt;
pub mod local;
mod socket;
mod unique_id;
mod wire;

pub use env::{LAUNCHERS, Launcher};
pub(crate) use interrupt::hook;
pub use interrupt::set_init_interrupt_hook;
pub use unique_id::UniqueId;

use crate::runtime::{Membership, machine};
use crate::{Error, InitAttr, Pe, Result, Runtime};
use std::time::Instant;

/// The most PEs a job on one host can have.
const MAX_PES: Pe = 4096;

fn check_job(pe: Pe, n_pes: Pe) -> Result<()> {
    if !(1..=MAX_PES).contains(&n_pes) {
        return Err(Error::invalid("n_pes", n_pes, format!("1 to {MAX_PES}")));
    }
    crate::pe::check("pe", pe, n_pes)
}

/// The heap size in force, rounded up so that every PE's part is aligned alike.
fn stride(asked: Option<u64>, n_pes: Pe) -> Result<u64> {
    let bytes = asked.unwrap_or_else(|| machine::default_heap_bytes(n_pes));
    crate::heap::layout::round_up(bytes, crate::heap::layout::MAX_ALIGNMENT)
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
    let rendezvous = socket::Rendezvous {
        key,
        pe,
        n_pes,
        how,
        check: resolved.check,
        deadline: resolved.init_timeout,
        until: Instant::now() + resolved.init_timeout,
    };
    let control = match pe {
        0 => rendezvous.lead(resolved.heap_bytes)?,
        _ => rendezvous.follow(resolved.heap_bytes)?,
    };
    Runtime::assemble(control, pe, &resolved, Membership::Process)
}
