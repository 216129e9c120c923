//! What the PEs of a job share besides the heap, whatever kind of memory the heap is in.
//!
//! | file | what it holds |
//! |---|---|
//! | [`block`] | the control block: the words that PEs write for each other |
//! | [`shared_words`] | the only writer of these words |
//! | [`remote`], [`hosts`] | control messages to the other hosts of a job; the PEs of each host |
//! | [`descriptor`] | a descriptor that is kept, which the program may close |
//! | [`segment`] | the shared memory that the block, and a heap in host memory, lie in |
//! | [`layout`] | where each PE's part of the heap lies |
//! | [`device_area`] | where, behind the heap, lies what the program's kernels meet by |
//! | [`topology`] | the host of each PE, its index there, its GPU |
//! | [`membership`] | how a PE takes its place |
//! | [`state`] | what a PE is doing, as the block says it |
//! | [`published`] | the waits that others can see |
//! | [`doorbell`] | wakes PEs that sleep |
//! | [`init_status`], [`exit_registry`] | before the block exists: the status of a PE in init; the ends of PEs, from the launcher |
//! | [`locks`] | which process holds a PE's place; the kernel drops it when the process ends |
//! | [`liveness`] | the thread that notices PEs that have ended, or are stopped |
//! | [`stops`] | PEs that are stopped |
//! | [`status_file`] | the status of a PE, written on request |
//! | [`fork`], [`signals`] | forked children; the program's signals and the library's threads |
//! | [`team`] | names of teams for messages, marks of broken ones |
//! | [`allocator`], [`debug`] | where allocations lie in the heap; messages that were asked for |
//! | [`wire`], [`interrupt`] | messages over the sockets that bring a job together; what ends init's waits |
//! | [`executable`] | the executable's variables, and its build |
//! | [`process`], [`credentials`], [`machine`] | what the kernel says of a process, of a socket's other end and of the machine |

#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

use nvshmemrs_vocabulary::{
    Error, MemoryKind, Pe, Result, buffer, clock, config, dtype, lock, op, operation, per_thread,
};

pub mod allocator;
pub mod block;
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
