//! The command line tools of nvshmemrs.
//!
//! * [`run`] is `nvshmemrs-run`: it starts the PEs of a job on this host, watches over them, and ends the
//!   job when one of them fails.
//! * [`info`] is `nvshmemrs-info`: it tells what this machine and this build offer, which settings hold
//!   and why, and what the PEs of a running job are waiting for.
//!
//! [`pages`] makes completions and manual pages, and [`say`] is how every tool writes. Both stand on the public API of the `nvshmemrs`
//! crate and on `nvshmemrs-inspect`, which looks into running jobs, and neither contains `unsafe`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod console;
pub mod info;
pub mod pages;
pub mod run;
