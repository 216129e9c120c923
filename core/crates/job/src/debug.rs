//! Messages that the library writes to standard error if a setting asks for them, such as `NVSHMEM_DEBUG`.

use crate::Pe;
use crate::config::{nvshmem, unknown};
use crate::signals;
use std::io::Write;

/// Writes to standard error, in one call. If it is closed, or has no reader, the write fails silently, and no signal of it (such as
/// SIGPIPE) reaches the program. All output of the library passes through here.
pub fn write_stderr(text: &str) {
    signals::without_those_of(|| {
        let _ = std::io::stderr().write_all(text.as_bytes());
    });
}

/// Ends the process with a message: only for errors that would otherwise end it without one.
#[doc(hidden)]
pub fn abort(why: &str) -> ! {
    write_stderr(&format!("nvshmemrs: {why}\n"));
    std::process::abort()
}

/// The amount of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// Likely mistakes.
    Warn,
    /// Events once per job.
    Info,
    /// Events of each allocation and collective.
    Trace,
}

impl Level {
    /// The level in the environment. Unknown words count as INFO, as in NVSHMEM (`VERSION`, `ABORT`).
    pub fn from_environment() -> Level {
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

    /// Writes one line, if `level` is enabled.
    pub fn write(self, level: Level, pe: Pe, text: impl FnOnce() -> String) {
        if self >= level && level != Level::Off {
            let line = format!(
                "nvshmemrs [PE {pe}, pid {}] {}\n",
                std::process::id(),
                text()
            );
            write_stderr(&line);
        }
    }

    /// Writes which settings in the environment are unknown, and which of NVSHMEM's have no effect here.
    pub fn log_settings(self, pe: Pe) {
        if self < Level::Warn {
            return;
        }
        if let Some(line) = unknown::unknown_line() {
            self.write(Level::Warn, pe, || line);
        }
        for (name, row) in nvshmem::without_effect() {
            self.write(Level::Info, pe, || {
                format!("{name} does nothing here: {}", row.why)
            });
        }
    }
}
