//! PEs that need each other in a circle.
//!
//! Any thread of a PE may make the missing call. So a circle is certainly a deadlock only if every thread of its PEs waits, and each of
//! these waits is for such a PE. Otherwise the report names the PEs whose other threads could still end it.
//!
//! A circle is reported only if two readings of the board show its waits: see [`Graph::of`].

use super::Entry;
use super::graph::{Graph, MOST};
use super::needs::{Needs, place};
use crate::Pe;
use crate::job::published::Target;
use crate::words::{pes, seconds, verb};
use std::collections::BTreeSet;
use std::time::Duration;

/// The time within which a PE that waits for a lock notices that it has the lock, in ns: it looks every millisecond if it can run.
const LOOKS_WITHIN: u64 = 1_000_000_000;

impl Graph<'_> {
    /// The sentences about all PEs that need each other in a circle.
    pub(super) fn deadlocks(&self) -> Vec<String> {
        let circles = self.circles().into_iter();
        circles
            .filter_map(|circle| self.deadlock(&circle))
            .collect()
    }

    /// The largest set of PEs each of which needs another of them.
    pub(super) fn tied(&self) -> BTreeSet<Pe> {
        let all = self.nodes.iter().map(|node| node.pe).collect();
        self.lists.tied(all, false)
    }

    /// All circles of PEs at one time, each of which needs the next. It does not matter if a PE also needs a PE outside of the
    /// circle, because a wait ends only when all have arrived.
    pub(super) fn circles(&self) -> Vec<Vec<Pe>> {
        let mut circles = self.all_circles();
        circles.retain(|circle| self.is_proven(circle));
        circles
    }

    /// The sentence about circles that may consist of waits of different times.
    pub(super) fn unproven(&self) -> Option<String> {
        let circles = self.all_circles();
        let unproven = circles.iter().filter(|circle| !self.is_proven(circle));
        let list: BTreeSet<Pe> = unproven.flatten().copied().collect();
        let list: Vec<Pe> = list.into_iter().collect();
        (!list.is_empty()).then(|| {
            format!(
                "{} {} for each other, as far as is known, but not all of these waits are known to last",
                pes(&list),
                verb("wait", list.len())
            )
        })
    }

    /// Whether all waits of a circle existed at the same time. No query shows the progress of a remote PE in `team_init`.
    ///
    /// A PE may have released a lock before its own wait began, and the PE behind it may not have looked since. So the wait for a lock
    /// counts if the other one is older than [`LOOKS_WITHIN`].
    fn is_proven(&self, circle: &[Pe]) -> bool {
        let Some(first) = &self.first else {
            return false;
        };
        let links = self.links(circle);
        let waits_long = |pe: Pe| {
            let mut own = links.iter().filter(|link| link.0 == pe);
            own.all(|(_, entry, _)| self.now.saturating_sub(entry.since) >= LOOKS_WITHIN)
        };
        links.len() == circle.len()
            && links.iter().all(|&(pe, entry, next)| {
                let joins = matches!(entry.wait.target, Target::Join { .. });
                let passed_on =
                    entry.lock().is_some() && (!waits_long(next) || self.node(pe).stop().is_some());
                first.waits.contains(&(pe, entry.id))
                    && !first.silent.contains(&pe)
                    && !(joins && (self.is_elsewhere(pe) || self.is_elsewhere(next)))
                    && !passed_on
            })
    }

    fn all_circles(&self) -> Vec<Vec<Pe>> {
        let mut tied = self.tied();
        let mut circles = Vec::new();
        while let Some(circle) = self.circle_among(&tied) {
            // PEs that need one of these are reported with them. Of the rest, each still needs one of the rest.
            let goals = circle.iter().copied().collect();
            for pe in self.lists.upstream(&goals) {
                tied.remove(&pe);
            }
            circles.push(circle);
        }
        circles
    }

    /// A circle of PEs among `tied`, each of which needs another of them.
    fn circle_among(&self, tied: &BTreeSet<Pe>) -> Option<Vec<Pe>> {
        let mut seen = BTreeSet::new();
        let mut pe = *tied.first()?;
        while seen.insert(pe) {
            pe = self.node(pe).needs().find(|needed| tied.contains(needed))?;
        }
        Some(self.lists.circle(pe))
    }

    /// For each PE of a circle, its wait for the next.
    fn links(&self, circle: &[Pe]) -> Vec<(Pe, &Entry, Pe)> {
        let pairs = circle.iter().zip(circle.iter().cycle().skip(1));
        let links = pairs.filter_map(|(&pe, &next)| {
            let mut waits = self.node(pe).waits.iter();
            let (entry, _) = waits.find(|(_, needs)| needs.pes().contains(&next))?;
            Some((pe, entry, next))
        });
        links.collect()
    }

    /// The sentence about PEs that need each other in a circle, and PEs that need one of them.
    pub(super) fn deadlock(&self, circle: &[Pe]) -> Option<String> {
        let links = self.links(circle);
        let (first, rest) = links.split_first()?;
        let mut text = format!(
            "deadlock{}: PE {} is in {} and waits for PE {}",
            self.way_out(circle),
            first.0,
            place(first.1),
            first.2
        );
        // Of a large circle the first PEs are reported, and the last one, by which it closes.
        let (told, last) = match rest {
            [told @ .., last] if told.len() > MOST => (&told[..MOST], Some(last)),
            all => (all, None),
        };
        for (_, entry, next) in told {
            let place = place(entry);
            text += &format!(", which is in {place} and waits for PE {next}");
        }
        if let Some((pe, entry, next)) = last {
            text += &format!(
                ", and so on over {} more PEs to PE {pe}, which is in {} and waits for PE {next}",
                rest.len() - told.len() - 1,
                place(entry),
            );
        }
        let mut times: Vec<(u64, Pe)> = links.iter().map(|link| (link.1.since, link.0)).collect();
        times.sort_unstable();
        let ago = |since: u64| seconds(Duration::from_nanos(self.now.saturating_sub(since)));
        let times: Vec<String> = times
            .iter()
            .take(MOST)
            .map(|(since, pe)| format!("PE {pe} ({} ago)", ago(*since)))
            .collect();
        text += &format!("; first came {}", times.join(", then "));
        let goals: BTreeSet<Pe> = circle.iter().copied().collect();
        let others: Vec<Pe> = self
            .lists
            .upstream(&goals)
            .difference(&goals)
            .copied()
            .collect();
        if !others.is_empty() {
            text += &format!(
                "; {} {} for those",
                pes(&others),
                verb("wait", others.len())
            );
        }
        Some(text)
    }

    /// As [`deadlock`](Graph::deadlock), of a circle with `pe` in it.
    pub(super) fn deadlock_of(&self, pe: Pe) -> Option<String> {
        let circle = self.lists.circle(pe);
        let proven = self.is_proven(&circle);
        proven.then(|| self.deadlock(&circle)).flatten()
    }

    /// The PEs whose threads all wait, each for a PE of this set, so that none can continue.
    fn stuck(&self) -> &BTreeSet<Pe> {
        self.stuck.get_or_init(|| self.find_stuck())
    }

    fn find_stuck(&self) -> BTreeSet<Pe> {
        // A PE's stream goes on as its other waits do.
        let may_be = |needs: &Needs| *needs == Needs::Stream || !needs.pes().is_empty();
        let nodes = self.nodes.iter();
        let nodes = nodes.filter(|node| node.waits.iter().all(|(_, needs)| may_be(needs)));
        let all_wait = nodes.filter(|node| self.others(node) == Some(0));
        let candidates = all_wait.map(|node| node.pe).collect();
        self.lists.tied(candidates, true)
    }

    /// The text about threads that could end a circle, if any.
    fn way_out(&self, circle: &[Pe]) -> String {
        let stuck = self.stuck();
        if circle.iter().all(|pe| stuck.contains(pe)) {
            return String::new();
        }
        let others = |pe: &Pe| {
            let node = self.node(*pe);
            node.waits.len() > 1 || self.others(node) != Some(0)
        };
        let mut list: Vec<Pe> = circle.iter().copied().filter(others).collect();
        list.sort_unstable();
        format!(", unless another thread of {} comes", pes(&list))
    }
}
