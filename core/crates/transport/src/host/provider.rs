//! How a PE joins a heap in host memory, which is a part of the job's segment.

use super::HostTransport;
use crate::job::block::Control;
use crate::job::layout::Layout;
use crate::job::machine;
use crate::{HostAccess, JobPeers, Joined, LocalTransport, MemoryProvider};
use crate::{Pe, Result};
use std::time::Instant;

/// The machine's memory.
#[derive(Debug)]
pub struct HostProvider;

impl MemoryProvider for HostProvider {
    fn default_heap(&self, n_pes: Pe) -> Result<u64> {
        Ok(machine::default_heap_bytes(n_pes))
    }

    fn join(&self, control: &Control, me: Pe, _: JobPeers, _: Instant) -> Result<Joined> {
        let heap_bytes = control.heap_bytes();
        let layout = Layout::new(
            control.segment().base() + Control::heap_offset(control.n_pes()),
            Control::stride(control.n_pes(), heap_bytes),
            heap_bytes,
            me,
            control.n_pes(),
        );
        let check = crate::config::device_check()?;
        let host = HostTransport::new(control, layout, me, check);
        Ok(Joined {
            layout,
            transport: LocalTransport::Host(host),
            gpu: None,
            access: HostAccess::default(),
        })
    }
}
