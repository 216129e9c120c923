//! The state of a job at one time, as text; and the text of a wait's own error.

use super::graph::{Graph, MOST};
use super::needs::{Needs, place};
use super::rings::Rings;
use super::{Board, Entry, State};
use crate::Pe;
use crate::clock::now_ns;
use crate::job::block::Control;
use crate::job::published::{Seen, Target, Wait as Waiting};
use crate::job::team;
use crate::words::{numbered, pes, seconds};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::time::Duration;

/// A job of at most so many PEs has a line for each on the board; in larger ones PEs with the same activity share a line.
const LINES: usize = 4;

/// The state of a job at one time, as text.
#[derive(Clone, Debug)]
pub struct Picture {
    /// A sentence for each culprit or circle.
    pub summary: Vec<String>,
    /// Every PE.
    pub pes: Vec<PePicture>,
    /// The culprits: PEs that others wait for, and that wait for no PE themselves, or are stopped.
    pub culprits: Vec<Pe>,
    /// PEs that wait for each other in a circle, each for the next one.
    pub circles: Vec<Vec<Pe>>,
}

/// One PE of a [`Picture`].
#[derive(Clone, Debug)]
pub struct PePicture {
    /// Its number.
    pub pe: Pe,
    /// Its process, as it is numbered here; 0 if it has no number here.
    pub pid: u32,
    /// Its state.
    pub state: State,
    /// Its activity: "in barrier on WORLD (its 7th collective there) for 12.3 s: waits for PE 2".
    pub doing: String,
    /// The PEs that it waits for, where that is known.
    pub waits_for: Vec<Pe>,
}

impl Picture {
    pub(super) fn of(board: &Board) -> Picture {
        let graph = Graph::of(board);
        let pes = graph.nodes.iter().map(|node| PePicture {
            pe: node.pe,
            pid: node.pid,
            state: node.state,
            doing: graph.at_length(node),
            waits_for: node.needs().collect::<BTreeSet<Pe>>().into_iter().collect(),
        });
        Picture {
            summary: graph.summary(),
            pes: pes.collect(),
            culprits: graph.culprits().into_iter().collect(),
            circles: graph.circles(),
        }
    }

    /// A line for each PE; in a large job one for all PEs that do the same.
    pub fn lines(&self) -> Vec<String> {
        self.lines_of(|_| true)
    }

    /// As [`lines`](Picture::lines), for some of the PEs.
    pub fn lines_of(&self, wanted: impl Fn(Pe) -> bool) -> Vec<String> {
        let shown = self.pes.iter().filter(|pe| wanted(pe.pe));
        let shown: Vec<&PePicture> = shown.collect();
        let line = |pe: &PePicture| format!("PE {} ({}): {}", pe.pe, numbered(pe.pid), pe.doing);
        if shown.len() <= LINES {
            return shown.into_iter().map(line).collect();
        }
        // How long differs a little from PE to PE.
        let key = |pe: &PePicture| {
            let words = pe.doing.split(' ').map(|word| match word.parse::<f64>() {
                Ok(_) if word.contains('.') => "",
                _ => word,
            });
            words.collect::<Vec<&str>>().join(" ")
        };
        let mut groups: Vec<Vec<&PePicture>> = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        for pe in shown {
            let index = *known.entry(key(pe)).or_insert(groups.len());
            groups.resize_with(groups.len().max(index + 1), Vec::new);
            groups[index].push(pe);
        }
        groups
            .iter()
            .map(|group| match group.as_slice() {
                [one] => line(one),
                many => {
                    let list: Vec<Pe> = many.iter().map(|pe| pe.pe).collect();
                    format!("{}, each: {}", pes(&list), many[0].doing)
                }
            })
            .collect()
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut summary = self.summary.iter();
        summary.try_for_each(|line| writeln!(f, "{line}"))?;
        let lines = self.lines();
        lines.iter().try_for_each(|line| writeln!(f, "  {line}"))
    }
}

impl Board {
    /// Where a PE was that has ended: "in barrier on WORLD (its 7th collective there), after 0.3 s of waiting for PE 2", or
    /// "outside of nvshmemrs' waits".
    pub fn end_of(&self, pe: Pe) -> String {
        let now = now_ns();
        let mut rings = Rings::default();
        let waits: Vec<String> = self
            .entries_of(pe)
            .map(|entry| {
                let awaited = self.awaited(&entry, &rings.needs(self, &entry));
                let time = seconds(Duration::from_nanos(now.saturating_sub(entry.since)));
                let place = self.whereabouts(&entry);
                format!("in {place}, after {time} of waiting for {awaited}")
            })
            .collect();
        match (self.state(pe), waits.is_empty()) {
            (State::Absent, _) => "before it had joined the job".to_string(),
            (State::Finalized, _) => "after finalize".to_string(),
            (_, false) => waits.join("; and "),
            (_, true) => "outside of nvshmemrs' waits".to_string(),
        }
    }
}

/// The host of a remote PE: " on host beta"; empty for a local PE, or if hosts have no names.
#[doc(hidden)]
pub fn on_host(control: &Control, pe: Pe) -> String {
    let name = control
        .remote()
        .and_then(|remote| remote.hosts().name_of_other(pe));
    name.map_or_else(String::new, |name| format!(" on host {name}"))
}

/// The place of a PE that is gone: " on host beta" for a remote PE, " in barrier on WORLD" if it was waiting, or empty.
#[doc(hidden)]
pub fn last_place(control: &Control, pe: Pe) -> String {
    let host = on_host(control, pe);
    let places: Vec<String> = Board::of_job(control)
        .entries_of(pe)
        .map(|entry| place(&entry))
        .collect();
    match places.as_slice() {
        [] => host,
        places => format!("{host} in {}", places.join(" and in ")),
    }
}

/// The target of a wait of a PE of this job, and the activity of the PEs it waits for, for its own error message.
#[doc(hidden)]
pub fn detail(control: &Control, me: Pe, wait: &Waiting, seen: Seen, since: u64) -> String {
    let board = Board::of_job(control);
    let graph = Graph::of(&board);
    // If the wait has been long enough, its allocation is on the board.
    let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    let own = board.entries_of(me).find(|entry| entry.thread == thread);
    let entry = Entry {
        id: 0,
        pe: me,
        thread: 0,
        wait: *wait,
        called: None,
        seen,
        since,
        until: None,
        line: None,
        allocation: own.and_then(|entry| entry.allocation),
    };
    let needs = Rings::default().needs(&board, &entry);
    let call = match (wait.target, board.call(&entry)) {
        (Target::Team { index, .. }, Some(call)) => {
            format!("its {call} on {}", team::short_name(index))
        }
        _ => "it".to_string(),
    };
    let mut text = format!("{call} waits for {}", board.awaited(&entry, &needs));
    let others: Vec<Pe> = match &needs {
        Needs::Pes(pes) => pes.to_vec(),
        _ => (0..board.n_pes()).filter(|&pe| pe != me).collect(),
    };
    for &pe in others.iter().take(MOST) {
        let node = graph.node(pe);
        let waits_for: Vec<Pe> = node.needs().collect();
        let (process, doing) = (numbered(node.pid), node.doing(&board, 1));
        let (host, lines) = (on_host(control, pe), node.lines());
        text += &format!("; PE {pe} ({process}){host} {doing}{lines}");
        if !waits_for.is_empty() {
            text += &format!(" and waits for {}", pes(&waits_for));
        }
    }
    if others.len() > MOST {
        text += &format!("; and {} more", others.len() - MOST);
    }
    if let Some(deadlock) = graph.deadlock_of(me) {
        text += &format!("; {deadlock}");
    }
    text
}
