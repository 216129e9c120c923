//! What the library writes to standard error when it is asked to; `NVSHMEM_DEBUG` is one that asks.

use crate::Pe;
use crate::config::{nvshmem, unknown};
use crate::signals;
use std::io::Write;

/// Writes to standard error, in one go. Whoever closed it, or reads no more, does not want to know: such a write fails, and no signal of
/// it (SIGPIPE, above all) reaches the program. All that the library writes goes through here.
pub fn write_stderr(text: &str) {
    signals::without_those_of(|| {
        let _ = std::io::stderr().write_all(text.as_bytes());
    });
}

/// Ends the process, and says why: only for what would otherwise end it without a word.
#[doc(hidden)]
pub fn abort(why: &str) -> ! {
    write_stderr(&format!("nvshmemrs: {why}\n"));
    std::process::abort()
}

/// How much is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
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

    /// Writes one line, if `level` is asked for.
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

    /// Writes which settings in the environment nothing reads, and which of NVSHMEM's do nothing here.
    pub fn tell_settings(self, pe: Pe) {
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
