//! nvshmemrs: one-sided communication in the NVSHMEM/OpenSHMEM model.
//!
//! # Terms
//!
//! * **PE** (processing element): one member of a job, a process or a thread, numbered 0 to `n_pes - 1`.
//! * **Symmetric heap**: memory that every PE has, of the same size and layout. An address in it is a
//!   *symmetric address*: it refers to the same object on every PE.
//! * **Team**: an ordered set of PEs. A **collective** over a team is called by every member, in the same order.
//! * **One-sided**: only the caller takes part.
//! * **Put, get**: copy to, or from, another PE's symmetric memory. **Quiet** completes them, **fence** orders
//!   them, a **signal** tells another PE that they have arrived.
//!
//! # Layers
//!
//! | layer | modules |
//! |---|---|
//! | how the PEs of a job find each other | `bootstrap`, [`local`] |
//! | init and finalize | `lifecycle` |
//! | operations that run later, in order | [`Stream`] |
//! | collectives; they check every argument, once | `memory_management`, `team_management`, `collectives` |
//! | the other operations, with the same checks | `rma`, `strided`, `atomics`, `signal`, `point_to_point`, `order` |
//! | waiting, and the board of published waits | `wait`, [`board`] |
//! | a PE's membership in a job, its heap and its teams | [`Runtime`], `heap`, `team`, `symmetric` |
//! | memory and data movement, which rely on these checks | `transport` |
//!
//! # Example
//!
//! ```
//! use nvshmemrs::{Op, Team, local};
//!
//! local::run(3, |rt| {
//!     let source = rt.array::<i64>(1)?;
//!     let dest = rt.array::<i64>(1)?;
//!     source.store(0, i64::from(rt.my_pe()))?;
//!     rt.reduce_array(Team::WORLD, &dest.all(), &source.all(), Op::Sum)?;
//!     assert_eq!(dest.load(0)?, 0 + 1 + 2);
//!     rt.finalize()
//! })
//! .unwrap();
//! ```

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

// Unit tests compile files of `core/tests`, which know the crate by its name.
#[cfg(test)]
extern crate self as nvshmemrs;

use nvshmemrs_diagnostics::{sites, track};
use nvshmemrs_job::{self as job, allocator, debug};
use nvshmemrs_vocabulary::{
    buffer, clock, dtype, error, lock, memory_kind, op, operation, pe, strides, words,
};

mod accesses;
mod atomics;
mod bootstrap;
mod callers;
mod collectives;
mod device_state;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod heap;
mod lifecycle;
mod memory_management;
mod order;
mod point_to_point;
mod rma;
mod runtime;
mod signal;
mod stream;
mod strided;
mod symmetric;
mod team;
mod team_management;
mod transport;
mod wait;

pub use accesses::Accesses;
pub use allocator::{Allocator, Block};
pub use atomics::{AtomicElement, AtomicInteger};
pub use bootstrap::{LAUNCHERS, Launcher, UniqueId, local, set_init_interrupt_hook};
pub use buffer::{
    LocalDest, LocalSource, NbiDest, NbiSource, PrivateAddress, Registration, SymRange,
};
#[doc(hidden)]
pub use collectives::CollectiveBuffer;
/// # Example
///
/// ```
/// use nvshmemrs::{Cmp, Error, Runtime, deadline};
/// use std::time::Duration;
///
/// # fn main() -> nvshmemrs::Result<()> {
/// let rt = Runtime::init()?;
/// let flag = rt.array::<u64>(1)?;
/// let limit = Duration::from_millis(20);
/// let late = deadline(limit, || rt.signal_wait(flag.at(0)?, Cmp::Eq, 1));
/// assert!(matches!(late, Err(Error::Timeout { .. })));
/// drop(flag);
/// deadline(limit, || rt.finalize())
/// # }
/// ```
pub use deadline::deadline;
pub use debug::{Level as DebugLevel, abort, write_stderr};
pub use dtype::{Dtype, Element};
pub use error::{Error, Result};
pub use heap::{HeapStats, Request};
#[doc(hidden)]
pub use job::calls::CallsInFlight;
pub use job::exit_registry::{End, ExitRegistry, Progress};
pub use job::fork::generation as fork_generation;
pub use job::interrupt::{InterruptHook, in_interrupt_hook};
pub use job::machine;
pub use memory_kind::MemoryKind;
pub use memory_management::SymArray;
#[doc(hidden)]
pub use nvshmemrs_cuda::images::{Made as KernelImage, make as make_kernel_images};
pub use nvshmemrs_cuda::survey as gpus;
#[doc(hidden)]
pub use nvshmemrs_cuda::tuning;
pub use nvshmemrs_diagnostics::board;
pub use nvshmemrs_net::Communicator;
#[doc(hidden)]
pub use nvshmemrs_transport::trace;
#[doc(hidden)]
pub use nvshmemrs_vocabulary::per_thread;
#[doc(hidden)]
pub use nvshmemrs_vocabulary::with_dtypes;
pub use nvshmemrs_vocabulary::{Float8E4m3fn, Float8E5m2, config, deadline};
pub use op::{Cmp, Op, SignalOp};
#[doc(hidden)]
pub use operation::Operation;
pub use pe::Pe;
pub use point_to_point::WaitElement;
pub use runtime::{InitAttr, Mapping, Runtime};
pub use sites::{Access, CodeAddress, SiteHook, SiteWords};
pub use stream::{Event, Stream};
pub use strides::{Strides, Transfer};
pub use symmetric::{SymElement, SymSlice, Symmetric};
pub use team::{Team, TeamConfig};
pub use track::{Resource, Unfreed};
pub use transport::{CudaStreamRef, DeviceState};
pub use wait::on_stream;
