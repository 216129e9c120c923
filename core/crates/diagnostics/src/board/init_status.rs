//! The status of a job in init, seen from outside, before there is a board: the PEs that wait, since when, and for which PEs.

use super::process::{Process, memory_files};
use super::{PePicture, Picture, Refusal, State};
use crate::Pe;
use crate::clock::now_ns;
use crate::job::init_status::{self, BYTES, InitStatusFields, NAME, Step};
use crate::words::{numbered, pes, seconds, verb};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

/// How often a reader retries during a write.
const TRIES: usize = 20;

/// A PE that waits in init.
#[derive(Clone, Debug)]
pub struct InitStatus {
    /// Its process, as it is numbered here.
    pub pid: u32,
    fields: InitStatusFields,
}

impl InitStatus {
    /// The inits of process `pid`; several if its threads join as PEs of several jobs. The caller must be the same user.
    pub fn of_process(pid: u32) -> Result<Vec<InitStatus>, Refusal> {
        let files = memory_files(pid, NAME)?;
        let fields = files.into_iter().filter_map(|path| read(&path));
        Ok(fields.map(|fields| InitStatus { pid, fields }).collect())
    }

    /// The PE's number.
    pub fn pe(&self) -> Pe {
        self.fields.pe
    }

    /// The number of PEs of the job.
    pub fn n_pes(&self) -> Pe {
        self.fields.n_pes
    }

    /// The name of the socket, which identifies the job.
    pub fn name(&self) -> &str {
        &self.fields.name
    }

    /// How long init has taken until now.
    pub fn since(&self) -> Duration {
        Duration::from_nanos(now_ns().saturating_sub(self.fields.since))
    }

    /// The time until init times out.
    pub fn gives_up(&self) -> Duration {
        Duration::from_nanos(self.fields.until.saturating_sub(now_ns()))
    }

    /// The process of PE 0, as the PE numbers it, once it is connected to it.
    pub fn leader(&self) -> Option<u32> {
        let connected = !matches!(self.fields.step, Step::Start | Step::Search);
        u32::try_from(self.fields.leader)
            .ok()
            .filter(|&pid| connected && pid != 0)
    }

    /// A number that identifies the init and its progress.
    pub fn position(&self) -> (u64, u64) {
        let id = self
            .fields
            .since
            .wrapping_mul(4099)
            .wrapping_add(self.fields.pe as u64);
        (
            id,
            self.fields.step as u64 * 8192 + self.fields.missing.len() as u64,
        )
    }

    /// The PEs that it waits for, as far as it knows.
    pub fn waits_for(&self) -> Vec<Pe> {
        match self.fields.step {
            Step::Gather | Step::Map => self.fields.missing.clone(),
            Step::Search | Step::Connected => vec![0],
            Step::Start | Step::Arrived | Step::Mapped | Step::Share => Vec::new(),
        }
    }

    /// The text of its wait: "PEs 1 and 2 to join".
    pub fn target(&self) -> String {
        let leader = match self.leader() {
            Some(pid) => format!("PE 0 ({})", numbered(pid)),
            None => "PE 0".into(),
        };
        let text = match self.fields.step {
            Step::Start => "nobody yet".into(),
            Step::Gather => format!("{} to come", pes(&self.fields.missing)),
            Step::Map => format!("{} to map the job's memory", pes(&self.fields.missing)),
            Step::Search => "PE 0 to listen".into(),
            Step::Connected => format!("the answer of {leader}"),
            Step::Arrived => format!("the other PEs to come to {leader}, to which it has come"),
            Step::Mapped => "the other PEs to map the job's memory".into(),
            Step::Share => "the other PEs to share the memory of their GPUs".into(),
        };
        match self.fields.note.as_str() {
            "" => text,
            note => format!("{text} ({note})"),
        }
    }

    fn doing(&self) -> String {
        format!(
            "in init for {}: waits for {}; gives up in {} (NVSHMEMRS_INIT_TIMEOUT)",
            seconds(self.since()),
            self.target(),
            seconds(self.gives_up())
        )
    }
}

/// The init status in a file, if it is one.
fn read(path: &std::path::Path) -> Option<InitStatusFields> {
    let file = File::open(path).ok()?;
    let seen = file.metadata().ok()?;
    let me = rustix::process::geteuid().as_raw();
    if seen.len() != BYTES as u64 || (seen.uid() != me && me != 0) {
        return None;
    }
    let mut page = vec![0; BYTES];
    (0..TRIES).find_map(|_| {
        file.read_exact_at(&mut page, 0).ok()?;
        init_status::read(&page)
    })
}

/// The activity of a process that is not in init, according to the kernel: "sleeping in the kernel".
pub fn doing(pid: u32) -> String {
    Process::of(pid).to_string()
}

/// The activity of every PE of a job in init, and the PEs that it waits for. `others` describes a PE without an init status: its
/// process and the activity of that.
pub fn init_picture(
    inits: &[InitStatus],
    others: impl Fn(Pe) -> Option<(u32, String)>,
) -> Option<Picture> {
    // PE 0 knows most; and of several jobs one at a time.
    let first = inits.iter().min_by_key(|init| init.fields.pe)?;
    let same = inits
        .iter()
        .filter(|init| (init.name(), init.n_pes()) == (first.name(), first.n_pes()));
    let by_pe: BTreeMap<Pe, &InitStatus> = same.map(|init| (init.pe(), init)).collect();
    let waiting: Vec<Pe> = by_pe.keys().copied().collect();
    let n_pes = first.n_pes();
    let awaited = match (first.fields.step, first.fields.pe) {
        (Step::Gather, 0) => first.fields.missing.clone(),
        (Step::Map, 0) => first.fields.missing.clone(),
        (_, 0) => Vec::new(),
        _ => vec![0],
    };
    let come = match (first.fields.step, first.fields.pe) {
        (Step::Gather, 0) => (1..n_pes).filter(|pe| !awaited.contains(pe)).collect(),
        _ => Vec::new(),
    };
    let mut summary = Vec::new();
    let is = verb("wait", waiting.len());
    summary.push(match awaited.is_empty() {
        true => format!(
            "the job of {n_pes} PEs comes together: {} {is} in init",
            pes(&waiting)
        ),
        false => format!(
            "the job of {n_pes} PEs comes together: {} {is} in init for {}",
            pes(&waiting),
            pes(&awaited)
        ),
    });
    if !come.is_empty() {
        let have = verb("has", come.len());
        summary.push(format!("{} {have} come to PE 0", pes(&come)));
    }
    let picture = |pe: Pe| match by_pe.get(&pe) {
        Some(init) => Some((init.pid, init.doing(), init.waits_for())),
        None => others(pe).map(|(pid, doing)| (pid, doing, Vec::new())),
    };
    let known = (0..n_pes).filter_map(|pe| {
        let (pid, doing, waits_for) = picture(pe)?;
        Some(PePicture {
            pe,
            pid,
            state: State::Absent,
            doing,
            waits_for,
        })
    });
    Some(Picture {
        summary,
        pes: known.collect(),
        culprits: awaited,
        circles: Vec::new(),
    })
}
