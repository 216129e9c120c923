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
//! | [`wire`], [`interrupt`] | messages over the sockets that bring a job together; what ends init's waits |
//! | [`executable`] | the executable's variables, and its build |
//! | [`process`], [`credentials`], [`machine`] | what the kernel says of a process, of a socket's other end and of the machine |

pub(crate) mod block;
pub(crate) mod cores;
pub(crate) mod credentials;
pub(crate) mod descriptor;
pub(crate) mod device_area;
pub(crate) mod doorbell;
pub(crate) mod executable;
pub(crate) mod exit_registry;
pub(crate) mod fork;
pub(crate) mod hosts;
pub(crate) mod init_status;
pub(crate) mod interrupt;
pub(crate) mod layout;
pub(crate) mod liveness;
pub(crate) mod locks;
pub mod machine;
pub(crate) mod membership;
pub(crate) mod process;
pub(crate) mod published;
pub(crate) mod remote;
pub(crate) mod segment;
pub(crate) mod shared_words;
pub(crate) mod signals;
pub(crate) mod state;
pub(crate) mod status_file;
pub(crate) mod stops;
pub(crate) mod team;
pub(crate) mod topology;
pub(crate) mod wire;
