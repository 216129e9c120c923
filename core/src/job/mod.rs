//! What the PEs of a job share besides the heap, whatever kind of memory the heap is in.
//!
//! | file | what it holds |
//! |---|---|
//! | [`block`] | the control block: the words that PEs write for each other |
//! | [`tell`] | the only writer of these words |
//! | [`far`], [`hosts`] | what is told to the other hosts of a job; which PEs are where |
//! | [`descriptor`] | a descriptor that is kept, which the program may close |
//! | [`segment`] | the shared memory that the block, and a heap in host memory, lie in |
//! | [`layout`] | where each PE's part of the heap lies |
//! | [`device_area`] | where, behind the heap, lies what the program's kernels meet by |
//! | [`places`] | where the PEs are: the host of each, its index there, its GPU |
//! | [`membership`] | how a PE takes its place |
//! | [`state`] | what a PE is doing, as the block says it |
//! | [`published`] | the waits that others can see |
//! | [`bell`] | wakes PEs that sleep |
//! | [`forming`], [`roll`] | what is told before the block exists: by a PE in init, and by the launcher |
//! | [`locks`] | which process holds a PE's place; the kernel drops it when the process ends |
//! | [`liveness`] | the thread that notices PEs that have ended, or are stopped |
//! | [`stops`] | PEs that are stopped |
//! | [`answer`] | what a PE tells of itself when somebody asks |
//! | [`fork`], [`signals`] | forked children; the program's signals and the library's threads |
//! | [`team`] | names of teams for messages, marks of broken ones |
//! | [`wire`], [`interrupt`] | messages over the sockets that bring a job together; what ends init's waits |
//! | [`process`], [`credentials`], [`machine`] | what the kernel says of a process, of a socket's other end and of the machine |

pub(crate) mod answer;
pub(crate) mod bell;
pub(crate) mod block;
pub(crate) mod cores;
pub(crate) mod credentials;
pub(crate) mod descriptor;
pub(crate) mod device_area;
pub(crate) mod far;
pub(crate) mod fork;
pub(crate) mod forming;
pub(crate) mod hosts;
pub(crate) mod interrupt;
pub(crate) mod layout;
pub(crate) mod liveness;
pub(crate) mod locks;
pub mod machine;
pub(crate) mod membership;
pub(crate) mod places;
pub(crate) mod process;
pub(crate) mod published;
pub(crate) mod roll;
pub(crate) mod segment;
pub(crate) mod signals;
pub(crate) mod state;
pub(crate) mod stops;
pub(crate) mod team;
pub(crate) mod tell;
pub(crate) mod wire;
