//! What the library writes to standard error when `NVSHMEM_DEBUG` asks for it; otherwise nothing.

use crate::Pe;
use std::io::Write;

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    Off,
    /// What is likely a mistake.
    Warn,
    /// What happens once per job.
    Info,
    /// What happens per allocation and collective.
    Trace,
}

impl Level {
    /// The level that the environment asks for. Unknown words count as INFO, as in NVSHMEM (`VERSION`, `ABORT`).
    pub(crate) fn from_environment() -> Level {
        match crate::config::set("NVSHMEM_DEBUG")
            .map(|word| word.to_ascii_uppercase())
            .as_deref()
        {
            None => Level::Off,
            Some("WARN") => Level::Warn,
            Some("TRACE") => Level::Trace,
            Some(_) => Level::Info,
        }
    }

    /// Writes one line, if `level` is asked for.
    pub(crate) fn write(self, level: Level, pe: Pe, text: impl FnOnce() -> String) {
        if self >= level && level != Level::Off {
            let line = format!(
                "nvshmemrs [PE {pe}, pid {}] {}\n",
                std::process::id(),
                text()
            );
            // Whoever closed standard error does not want to know.
            let _ = std::io::stderr().write_all(line.as_bytes());
        }
    }
}
