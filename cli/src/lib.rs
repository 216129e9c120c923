//! The command line tools of nvshmemrs.
//!
//! * [`run`] is `nvshmemrs-run`: it starts the PEs of a job on this host, watches over them, and ends the
//!   job when one of them fails.
//! * [`info`] is `nvshmemrs-info`: it shows the machine and this build, the settings in force with their sources, and the waits of a
//!   running job.
//! * [`top`] is `nvshmemrs-top`: it shows the jobs of this machine in a terminal.
//!
//! [`pages`] generates completions and manual pages, and every tool prints through [`console`]. The tools use the public API of
//! the `nvshmemrs` crate and of `nvshmemrs-inspect`, which inspects running jobs, and contain no `unsafe`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod console;
pub mod info;
pub mod pages;
pub mod run;
pub mod top;
