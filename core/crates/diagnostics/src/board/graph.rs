//! The graph of PEs that need each other, and the culprits.
//!
//! A PE *needs* others if a wait of its own cannot end before they arrive. A PE that others need, and that needs no PE itself, is a culprit:
//! it computes, or waits for something else. PEs may also need each other in a circle (see [`circle`](super::circle)).

use super::lists::Lists;
use super::needs::{NOT_LOOKED_UP, Needs, place};
use super::rings::Rings;
use super::{Board, Entry, State, last_place};
use crate::Pe;
use crate::clock::now_ns;
use crate::job::process::{self, Process};
use crate::job::published::Target;
use crate::job::team;
use crate::words::{continued, pes, seconds, verb};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Most sentences of one kind about a job, and most PEs that one of them follows.
pub(super) const MOST: usize = 8;
/// Most circles in a report.
pub(super) const MOST_CIRCLES: usize = 4;

/// One PE and its state.
pub(super) struct Node {
    pub(super) pe: Pe,
    pub(super) pid: u32,
    pub(super) state: State,
    pub(super) waits: Vec<(Entry, Needs)>,
    /// Stands for its process.
    token: u64,
    others: OnceCell<Option<usize>>,
    /// False for PEs that are threads of one process, which the kernel's state of the process does not distinguish.
    has_process: bool,
    process: OnceCell<Process>,
    stop: OnceCell<Option<Process>>,
}

impl Node {
    fn has_live_process(&self) -> bool {
        self.has_process && matches!(self.state, State::Active | State::Finalizing)
    }

    fn process(&self) -> Option<&Process> {
        let process = || self.process.get_or_init(|| Process::of(self.pid));
        self.has_live_process().then(process)
    }

    /// The stop of its process, if it is stopped. This reads the process's state only, not that of each thread.
    pub(super) fn stop(&self) -> Option<&Process> {
        let stop = || match self.has_live_process() {
            true => Process::stop_of(self.pid),
            false => None,
        };
        self.stop.get_or_init(stop).as_ref()
    }

    pub(super) fn needs(&self) -> impl Iterator<Item = Pe> + '_ {
        self.waits
            .iter()
            .flat_map(|(_, needs)| needs.pes().iter().copied())
    }

    /// The lines of its waits in the program, as far as they are known: " at heat.c:71 (exchange)".
    pub(super) fn lines(&self) -> String {
        let lines = self
            .waits
            .iter()
            .filter_map(|(entry, _)| entry.line.as_ref());
        let lines: Vec<String> = lines.map(|line| format!(" at {line}")).collect();
        lines.join(" and")
    }

    fn places(&self) -> String {
        let places: Vec<String> = self.waits.iter().map(|(entry, _)| place(entry)).collect();
        places.join(" and in ")
    }

    /// The activity of this PE, and of others with the same: "is in signal_wait".
    pub(super) fn doing(&self, board: &Board, subjects: usize) -> String {
        let (is, has) = (verb("is", subjects), verb("has", subjects));
        match self.state {
            State::Absent => format!("{has} not joined"),
            State::Finalized => format!("{has} finalized"),
            State::Left => format!("{has} left without finalize"),
            State::Dead => format!("{has} died{}", last_place(&board.control, self.pe)),
            State::Active | State::Finalizing => match (self.stop(), self.waits.as_slice()) {
                (Some(stop), []) => format!("{is} {stop}"),
                (Some(stop), _) => format!("{is} {stop}, in {}", self.places()),
                (None, []) if self.state == State::Finalizing => format!("{is} in finalize"),
                (None, []) => match self.process() {
                    Some(process) => format!("{is} not waiting in nvshmemrs ({process})"),
                    None => format!("{is} not waiting in nvshmemrs"),
                },
                (None, _) => format!("{is} in {}", self.places()),
            },
        }
    }
}

/// The first sentences of a kind, and the number of omitted ones.
fn cut(mut sentences: Vec<String>, most: usize, kind: &str) -> Vec<String> {
    let more = sentences.len().saturating_sub(most);
    sentences.truncate(most);
    match more {
        0 => {}
        1 => sentences.push(format!("and 1 more {kind}")),
        _ => sentences.push(format!("and {more} more {kind}s")),
    }
    sentences
}

/// All PEs, and which PE needs which.
pub(super) struct Graph<'a> {
    board: &'a Board,
    pub(super) nodes: Vec<Node>,
    pub(super) lists: Lists,
    pub(super) now: u64,
    /// The threads that wait, by process.
    waiting: BTreeMap<u64, BTreeSet<u32>>,
    /// The PEs that cannot go on: see [`circle`](super::circle).
    pub(super) stuck: OnceCell<BTreeSet<Pe>>,
    /// The first reading, if it showed a circle.
    pub(super) first: Option<FirstLook>,
}

/// The data of the first reading of a board for the second.
pub(super) struct FirstLook {
    /// The waits on the board, by PE and number.
    pub(super) waits: BTreeSet<(Pe, u64)>,
    /// Remote PEs that have not answered a query sent after that reading.
    pub(super) silent: BTreeSet<Pe>,
}

impl Graph<'_> {
    /// The board, read twice if the first reading shows a circle. The waits of different hosts, and waits and arrivals, are read at
    /// different times, so an apparent circle may never have existed. Between the readings each other host answers a query. A wait in both
    /// readings lasted in between, with all other such waits.
    pub(super) fn of(board: &Board) -> Graph<'_> {
        let first = Graph::read(board);
        if first.tied().is_empty() {
            return first;
        }
        let waits = first.nodes.iter().flat_map(|node| {
            let waits = node.waits.iter();
            waits.map(|(entry, _)| (node.pe, entry.id))
        });
        let waits = waits.collect();
        let start = now_ns();
        board.query_other_hosts();
        let before: Vec<u64> = board.reported();
        let second = Graph::read(board);
        let after = board.reported().into_iter().zip(before);
        let silent = (0..).zip(after).filter(|&(pe, (after, before))| {
            board.is_elsewhere(pe) && (after != before || after < start)
        });
        let silent = silent.map(|(pe, _)| pe).collect();
        Graph {
            first: Some(FirstLook { waits, silent }),
            ..second
        }
    }

    fn read(board: &Board) -> Graph<'_> {
        let mut rings = Rings::default();
        let mut processes: BTreeMap<u64, u32> = BTreeMap::new();
        let mut nodes: Vec<Node> = Vec::new();
        for pe in 0..board.n_pes() {
            let token = board.control.pe(pe).process.load(Relaxed);
            *processes.entry(token).or_default() += 1;
            nodes.push(Node {
                pe,
                pid: process::pid_of(&board.control, pe),
                state: board.state(pe),
                waits: Vec::new(),
                token,
                others: OnceCell::new(),
                has_process: true,
                process: OnceCell::new(),
                stop: OnceCell::new(),
            });
        }
        for node in &mut nodes {
            node.has_process = processes.get(&node.token) == Some(&1);
        }
        let mut waiting: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for entry in board.entries() {
            let node = &mut nodes[entry.pe as usize];
            if matches!(node.state, State::Active | State::Finalizing) {
                waiting.entry(node.token).or_default().insert(entry.thread);
                let needs = rings.needs(board, &entry);
                node.waits.push((entry, needs));
            }
        }
        Graph {
            board,
            lists: Lists::of(&nodes),
            nodes,
            now: now_ns(),
            waiting,
            stuck: OnceCell::new(),
            first: None,
        }
    }

    /// The number of threads of a PE's process that do not wait and may make calls; none if the kernel does not say.
    pub(super) fn others(&self, node: &Node) -> Option<usize> {
        let waiting = self.waiting.get(&node.token)?;
        *node
            .others
            .get_or_init(|| process::others(node.pid, waiting))
    }

    pub(super) fn is_elsewhere(&self, pe: Pe) -> bool {
        self.board.is_elsewhere(pe)
    }

    pub(super) fn node(&self, pe: Pe) -> &Node {
        &self.nodes[pe as usize]
    }

    /// Whether others wait for this PE, and it waits for no PE itself, or is stopped. A PE with a wait for unknown PEs does not count.
    fn holds_others_up(&self, node: &Node) -> bool {
        let unknown = |(_, needs): &(Entry, Needs)| *needs == Needs::Unknown;
        let free = || !self.lists.needs_any(node.pe) && !node.waits.iter().any(unknown);
        self.lists.is_needed(node.pe) && (free() || node.stop().is_some())
    }

    /// The culprits.
    pub(super) fn culprits(&self) -> BTreeSet<Pe> {
        let culprits = self.nodes.iter().filter(|node| self.holds_others_up(node));
        culprits.map(|node| node.pe).collect()
    }

    /// Sentences about circles, and about culprits. Each kind has its own limit, so that many of one do not hide the others.
    pub(super) fn summary(&self) -> Vec<String> {
        let culprits = self.culprits();
        let mut sentences = cut(self.deadlocks(), MOST_CIRCLES, "circle");
        sentences.extend(self.unproven());
        sentences.extend(cut(self.blame(&culprits), MOST, "cause"));
        let others = self.nodes.iter();
        let others = others.filter(|node| !culprits.contains(&node.pe));
        let stopped = others.filter_map(|node| {
            let stop = node.stop()?;
            Some(format!("PE {} is {stop}", node.pe))
        });
        sentences.extend(cut(stopped.collect(), MOST, "stopped PE"));
        sentences.extend(self.writers());
        let unknown = self.waiting(|needs| *needs == Needs::Unknown);
        if !unknown.is_empty() {
            let wait = verb("wait", unknown.len());
            sentences.push(format!("{} {wait} for {NOT_LOOKED_UP}", pes(&unknown)));
        }
        if sentences.is_empty() {
            let waiting = self.waiting(|_| true);
            sentences.push(match waiting.len() {
                0 => "no PE waits".to_string(),
                n => format!(
                    "{} {} for {} own stream, or more PEs for a team",
                    pes(&waiting),
                    verb("wait", n),
                    if n == 1 { "its" } else { "their" }
                ),
            });
        }
        sentences
    }

    /// The PEs with a wait whose needs satisfy `such`.
    fn waiting(&self, such: impl Fn(&Needs) -> bool) -> Vec<Pe> {
        let has = |node: &&Node| node.waits.iter().any(|(_, needs)| such(needs));
        self.nodes.iter().filter(has).map(|node| node.pe).collect()
    }

    /// Whether another PE waits for a lock that this PE holds.
    fn holds_lock(&self, pe: Pe) -> bool {
        let lists = self.lists.with_any([&pe]);
        // A wait for a lock needs the PE ahead only.
        let alone = lists.filter(|list| list.pes.len() == 1);
        let mut waits = alone.flat_map(|list| &list.waits);
        waits.any(|&(waiter, wait)| self.board.holder(&self.node(waiter).waits[wait].0) == Some(pe))
    }

    /// "PEs 0 and 1 wait in barrier on WORLD for PE 2, which is in signal_wait instead".
    fn blame(&self, culprits: &BTreeSet<Pe>) -> Vec<String> {
        let mut groups: BTreeMap<(String, bool), Vec<Pe>> = BTreeMap::new();
        for &pe in culprits {
            let activity = self.node(pe).doing(self.board, 1);
            let group = groups.entry((activity, self.holds_lock(pe))).or_default();
            group.push(pe);
        }
        let groups = groups.into_iter();
        let mut groups: Vec<(Vec<Pe>, bool)> =
            groups.map(|((_, holds), group)| (group, holds)).collect();
        groups.sort();
        let sentence = |(group, holds_lock): &(Vec<Pe>, bool)| {
            let goals: BTreeSet<Pe> = group.iter().copied().collect();
            let mut direct: BTreeMap<String, BTreeSet<Pe>> = BTreeMap::new();
            for list in self.lists.with_any(group) {
                for &(pe, wait) in &list.waits {
                    let (entry, _) = &self.node(pe).waits[wait];
                    direct.entry(place(entry)).or_default().insert(pe);
                }
            }
            let mut indirect = self.lists.upstream(&goals);
            let places: Vec<String> = direct
                .iter()
                .map(|(place, waiters)| {
                    indirect.retain(|pe| !waiters.contains(pe));
                    let list: Vec<Pe> = waiters.iter().copied().collect();
                    format!("{} {} in {place}", pes(&list), verb("wait", list.len()))
                })
                .collect();
            indirect.retain(|pe| !goals.contains(pe));
            let others: Vec<Pe> = indirect.into_iter().collect();
            let others = match others.len() {
                0 => String::new(),
                n => format!("; {} {} for those", pes(&others), verb("wait", n)),
            };
            let culprit = self.node(group[0]);
            let instead = match (culprit.waits.is_empty(), culprit.stop()) {
                (false, None) => " instead",
                _ => "",
            };
            let holds = match (*holds_lock, group.len()) {
                (false, _) => "",
                (true, 1) => "holds the lock and ",
                (true, _) => "hold the locks and ",
            };
            format!(
                "{} for {}, which {holds}{}{instead}{others}",
                places.join(" and "),
                pes(group),
                culprit.doing(self.board, group.len()),
            )
        };
        groups.iter().map(sentence).collect()
    }

    /// The sentence about waits for values, whose writers are unknown.
    fn writers(&self) -> Option<String> {
        let waiters = self.waiting(|needs| *needs == Needs::Writer);
        if waiters.is_empty() {
            return None;
        }
        let text = format!(
            "{} {} for {} to write, and their writer is not known",
            pes(&waiters),
            verb("wait", waiters.len()),
            match waiters.len() {
                1 => "a value that another PE is",
                _ => "values that other PEs are",
            },
        );
        let live = |node: &&Node| matches!(node.state, State::Active | State::Finalizing);
        let free = |node: &&Node| live(node) && node.waits.is_empty();
        let mut free: Vec<Pe> = self.nodes.iter().filter(free).map(|node| node.pe).collect();
        if free.is_empty() {
            return Some(format!(
                "{text}: every PE waits, so nobody is left to do it"
            ));
        }
        free.truncate(MOST);
        let doing: Vec<String> = free
            .iter()
            .map(|&pe| format!("PE {pe} {}", self.node(pe).doing(self.board, 1)))
            .collect();
        Some(format!("{text}; {}", doing.join("; ")))
    }

    /// The activity of a PE, in full.
    pub(super) fn at_length(&self, node: &Node) -> String {
        let many = node.waits.len() > 1;
        let waits: Vec<String> = node
            .waits
            .iter()
            .map(|(entry, needs)| self.board.sentence(entry, needs, self.now, many))
            .collect();
        let text = match (waits.is_empty(), node.stop()) {
            (false, None) => waits.join("; and "),
            (false, Some(stop)) => format!("{stop}, {}", waits.join("; and ")),
            (true, _) => {
                let doing = node.doing(self.board, 1);
                let doing = doing.strip_prefix("is ").unwrap_or(&doing).to_string();
                match node.state {
                    State::Active => doing + &self.before(node),
                    _ => doing,
                }
            }
        };
        match node.stop() {
            Some(Process::Stopped) => format!("{text}; {} lets it go on", continued(node.pid)),
            _ => text,
        }
    }

    /// The past of a PE that does not wait: its last collective on a team that waits for it, and its last long wait.
    fn before(&self, node: &Node) -> String {
        let mut teams = BTreeSet::new();
        for list in self.lists.with_any(&[node.pe]) {
            // All waits for one list are on the same team, or on none.
            let first = list.waits.first();
            let entry = first.map(|&(pe, wait)| &self.node(pe).waits[wait].0);
            if let Some(Target::Team { index, .. }) = entry.map(|entry| entry.wait.target) {
                teams.insert(index);
            }
        }
        let mut text = String::new();
        for index in teams {
            let calls = self.board.collectives(index, node.pe);
            let collectives = if calls == 1 {
                "collective"
            } else {
                "collectives"
            };
            let team = team::short_name(index);
            text += &format!("; it has begun {calls} {collectives} on {team}");
        }
        if let Some((place, ended)) = self.board.last_wait(node.pe) {
            let ago = seconds(Duration::from_nanos(self.now.saturating_sub(ended)));
            text += &format!("; its last wait of more than 1 ms was in {place}, until {ago} ago");
        }
        text
    }
}
