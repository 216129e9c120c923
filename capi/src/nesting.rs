//! Counts repeated init calls of a PE: its membership ends with as many finalize calls.
//!
//! A PE is a process, or a thread of one. An init from the environment therefore refers to the job that the thread has joined, or
//! else to the job that the process has joined by the environment, by a communicator, or, if it has no other, by a unique id. An
//! init by a unique id refers to the PE that the id and the number name.

use crate::guard::lock;
use crate::handle;
use nvshmem_core::{Communicator, Error, InitAttr, MemoryKind, Result, Runtime, UniqueId};
use std::sync::{Mutex, MutexGuard};

/// How a PE has joined its job.
#[derive(PartialEq, Eq)]
pub(crate) enum InitMethod {
    Environment,
    UniqueId { id: UniqueId, pe: i32, n_pes: i32 },
    Communicator(Communicator),
    LocalJob,
}

struct Membership {
    handle: u64,
    method: InitMethod,
    attr: InitAttr,
    /// The number of init calls beyond the first that no finalize call has matched.
    again: u32,
}

impl Membership {
    /// Whether an init of a thread whose runtime is `own` refers to this membership; `only`: the process has no other membership.
    fn is_of(&self, method: &InitMethod, own: u64, only: bool) -> bool {
        match (method, &self.method) {
            (InitMethod::Environment, InitMethod::Environment | InitMethod::Communicator(_)) => {
                true
            }
            (InitMethod::Environment, InitMethod::UniqueId { .. }) => self.handle == own || only,
            (InitMethod::Environment, InitMethod::LocalJob) => self.handle == own,
            (
                InitMethod::UniqueId { id, pe, .. },
                InitMethod::UniqueId {
                    id: known,
                    pe: same,
                    ..
                },
            ) => (id, pe) == (known, same),
            _ => *method == self.method,
        }
    }

    /// An error if the arguments differ from those of the first init. Default attributes are not compared, nor is the limit for
    /// init, which applies to one call only.
    fn check(&self, method: &InitMethod, attr: &InitAttr, runtime: &Runtime) -> Result<()> {
        let differs = |argument, value: String, first: String| {
            let expected = format!(
                "{first}, as this PE has joined its job already: init may be called again with the same arguments, and has another job \
                 only after as many calls of `finalize()`"
            );
            Err(Error::InvalidValue {
                argument,
                value,
                expected,
            })
        };
        if let (InitMethod::UniqueId { n_pes, .. }, InitMethod::UniqueId { n_pes: first, .. }) =
            (method, &self.method)
            && n_pes != first
        {
            return differs("n_pes", n_pes.to_string(), first.to_string());
        }
        let memory = match runtime.device() {
            Some(_) => MemoryKind::Device,
            None => MemoryKind::Host,
        };
        if let Some(asked) = attr.memory.filter(|&asked| asked != memory) {
            return differs("attr.memory_kind", asked.to_string(), memory.to_string());
        }
        let device = runtime.device();
        if attr.device.is_some() && attr.device != device {
            let text = |device: Option<i32>| device.unwrap_or(-1).to_string();
            return differs("attr.device", text(attr.device), text(device));
        }
        let bytes = runtime.heap_stats().heap_bytes;
        if let Some(asked) = attr
            .heap_bytes
            .filter(|&asked| asked != bytes && self.attr.heap_bytes != Some(asked))
        {
            let first = self.attr.heap_bytes.unwrap_or(bytes);
            return differs(
                "attr.heap_bytes",
                asked.to_string(),
                format!("0 or {first}"),
            );
        }
        if attr.timeout.is_some() && attr.timeout != self.attr.timeout {
            let text = |limit: Option<std::time::Duration>| {
                limit.map_or(0.0, |limit| limit.as_secs_f64()).to_string()
            };
            return differs(
                "attr.timeout_s",
                text(attr.timeout),
                text(self.attr.timeout),
            );
        }
        Ok(())
    }
}

/// The memberships of this process. A forked child has its own list, because a thread that exists only in the parent may hold the
/// parent's lock.
fn memberships() -> MutexGuard<'static, Vec<Membership>> {
    static ALL: [Mutex<Vec<Membership>>; 8] = [const { Mutex::new(Vec::new()) }; 8];
    lock(&ALL[nvshmem_core::fork_generation() as usize % ALL.len()])
}

/// Records the runtime that init or a local job returned.
pub(crate) fn joined(handle: u64, method: InitMethod, attr: InitAttr) {
    let mut all = memberships();
    all.retain(|known| handle::is_joined(known.handle));
    all.push(Membership {
        handle,
        method,
        attr,
        again: 0,
    });
}

/// Counts an init of a PE that has joined already, and returns its runtime; `None` if the PE must join now.
pub(crate) fn again(method: &InitMethod, attr: &InitAttr) -> Result<Option<u64>> {
    let own = handle::own();
    let mut all = memberships();
    all.retain(|known| handle::is_joined(known.handle));
    let only = all.len() == 1;
    let known = all
        .iter_mut()
        .filter(|known| known.is_of(method, own, only));
    // For a thread that is a PE of several jobs, the job joined last comes first.
    let Some(known) = known.min_by_key(|known| known.handle != own) else {
        return Ok(None);
    };
    handle::with_runtime(known.handle, |runtime| known.check(method, attr, runtime))?;
    known.again += 1;
    Ok(Some(known.handle))
}

/// Counts a finalize; returns whether further finalize calls must follow.
pub(crate) fn goes_on(handle: u64) -> bool {
    let mut all = memberships();
    let known = all
        .iter_mut()
        .find(|known| known.handle == handle && known.again > 0);
    let goes_on = known.is_some() && handle::is_joined(handle);
    if let Some(known) = known
        && goes_on
    {
        known.again -= 1;
    }
    goes_on
}
