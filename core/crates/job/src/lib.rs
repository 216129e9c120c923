//! The state that PEs of a job share besides the heap, for every kind of heap memory.
//!
//! | file | contents |
//! |---|---|
//! | [`block`] | the control block: the words that PEs write for each other |
//! | [`shared_words`] | the only writer of these words |
//! | [`remote`], [`hosts`] | control messages to the other hosts of a job; the PEs of each host |
//! | [`descriptor`] | a descriptor that is kept, which the program may close |
//! | [`segment`] | the shared memory that the block, and a heap in host memory, lie in |
//! | [`layout`] | the address of each PE's part of the heap |
//! | [`device_area`] | the layout of the tables and flags for the program's kernels, behind the heap |
//! | [`topology`] | the host of each PE, its index there, its GPU |
//! | [`membership`] | how a PE joins a job |
//! | [`state`] | the state of a PE in its block |
//! | [`published`] | the published waits of a PE |
//! | [`doorbell`] | wakes PEs that sleep |
//! | [`init_status`], [`exit_registry`] | before the block exists: the status of a PE in init; the ends of PEs, from the launcher |
//! | [`locks`] | a lock per PE, which the kernel releases when the PE's process ends |
//! | [`liveness`] | the watchdog thread, which notices PEs that have ended or are stopped |
//! | [`stops`] | PEs that are stopped |
//! | [`status_file`] | the status of a PE, written on request |
//! | [`fork`], [`signals`] | forked children; the program's signals and the library's threads |
//! | [`team`] | names of teams for messages, marks of broken teams |
//! | [`allocator`], [`debug`] | the allocator of the heap; messages of `NVSHMEM_DEBUG` |
//! | [`wire`], [`interrupt`] | messages over the sockets of the bootstrap; interrupt hooks |
//! | [`executable`] | the executable's variables, and its build |
//! | [`process`], [`credentials`], [`machine`] | the kernel's data about a process, the peer of a socket and the machine |

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_vocabulary::{
    Error, MemoryKind, Pe, Result, buffer, clock, config, dtype, lock, op, operation, per_thread,
};

pub mod allocator;
pub mod block;
pub mod calls;
pub mod cores;
pub mod credentials;
pub mod debug;
pub mod descriptor;
pub mod device_area;
pub mod doorbell;
pub mod executable;
pub mod exit_registry;
pub mod fork;
pub mod hosts;
pub mod init_status;
pub mod interrupt;
pub mod layout;
pub mod liveness;
pub mod locks;
pub mod machine;
pub mod membership;
pub mod process;
pub mod published;
pub mod remote;
pub mod segment;
pub mod shared_words;
pub mod signals;
pub mod state;
pub mod status_file;
pub mod stops;
pub mod team;
pub mod topology;
pub mod wire;
