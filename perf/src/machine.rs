//! The machine and the date of the figures.

use crate::side::Peer;
use serde::Serialize;
use std::process::Command;
use std::thread;

/// The machine, the peer's version and the date.
#[derive(Serialize)]
pub(crate) struct Machine {
    /// The processor.
    pub(crate) processor: String,
    /// Cores that this process may use.
    pub(crate) cores: usize,
    /// The kernel's release.
    pub(crate) kernel: String,
    /// The version of nvshmemrs.
    pub(crate) version: &'static str,
    /// The peer's version, as its launcher prints it.
    pub(crate) peer: Option<String>,
    /// The date.
    pub(crate) date: String,
}

impl Machine {
    /// Collects the properties.
    pub(crate) fn gather(peer: Option<Peer>) -> Self {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = processors
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
            .map_or(std::env::consts::ARCH, |(_, name)| name.trim());
        Self {
            processor: processor.to_owned(),
            cores: cores(),
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            version: env!("CARGO_PKG_VERSION"),
            peer: peer.map(|peer| first_line(Command::new(peer.launcher()).arg("--version"))),
            date: first_line(Command::new("date").args(["-u", "+%F %R UTC"])),
        }
    }

    /// One line of text.
    pub(crate) fn line(&self) -> String {
        let mut parts = vec![
            self.processor.clone(),
            format!("{} cores", self.cores),
            format!("Linux {}", self.kernel),
            format!("nvshmemrs {}", self.version),
        ];
        parts.extend(self.peer.clone());
        parts.push(self.date.clone());
        parts.join(", ")
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn first_line(command: &mut Command) -> String {
    let output = command
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&output);
    text.lines().next().unwrap_or_default().trim().to_owned()
}
