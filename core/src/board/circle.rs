//! PEs that need each other in a circle.
//!
//! Any thread of a PE may come for it. So a circle is a deadlock for certain only where every thread of the PEs in it waits, and each
//! of these waits is for a PE of which the same is true. Otherwise the report says whose other threads could still end it.

use super::Entry;
use super::graph::{Graph, MOST};
use super::needs::{Needs, place};
use super::words::{pes, seconds, verb};
use crate::Pe;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

impl Graph<'_> {
    /// The shortest circle of PEs, each of which needs the next, that begins with `start`; empty if it is in none.
    fn circle(&self, start: Pe) -> Vec<Pe> {
        use std::collections::btree_map::Entry;
        let mut before: BTreeMap<Pe, Pe> = BTreeMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(pe) = queue.pop_front() {
            for needed in self.node(pe).needs() {
                if needed == start {
                    let mut circle = vec![pe];
                    while let Some(&earlier) = before.get(circle.last().unwrap_or(&start)) {
                        circle.push(earlier);
                    }
                    circle.reverse();
                    return circle;
                }
                if let Entry::Vacant(entry) = before.entry(needed) {
                    entry.insert(pe);
                    queue.push_back(needed);
                }
            }
        }
        Vec::new()
    }

    /// A circle of PEs among `stuck`, all of which need somebody in one.
    pub(super) fn circle_among(&self, stuck: &BTreeSet<Pe>) -> Vec<Pe> {
        let mut seen = BTreeSet::new();
        let mut next = stuck.first().copied();
        while let Some(pe) = next {
            if !seen.insert(pe) {
                return self.circle(pe);
            }
            next = self.node(pe).needs().find(|needed| stuck.contains(needed));
        }
        Vec::new()
    }

    /// What is to be said of PEs that need each other in a circle, and of those that need one of them.
    pub(super) fn deadlock(&self, circle: &[Pe]) -> Option<String> {
        // The wait of each that is for the next one.
        let links: Vec<(Pe, &Entry, Pe)> = circle
            .iter()
            .zip(circle.iter().cycle().skip(1))
            .filter_map(|(&pe, &next)| {
                let waits = &self.node(pe).waits;
                let (entry, _) = waits
                    .iter()
                    .find(|(_, needs)| needs.pes().contains(&next))?;
                Some((pe, entry, next))
            })
            .collect();
        let (first, rest) = links.split_first()?;
        let mut text = format!(
            "deadlock{}: PE {} is in {} and waits for PE {}",
            self.way_out(circle),
            first.0,
            place(&first.1.wait),
            first.2
        );
        for link in rest {
            text += &format!(
                ", which is in {} and waits for PE {}",
                place(&link.1.wait),
                link.2
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
        let others: Vec<Pe> = self.upstream(&goals).difference(&goals).copied().collect();
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
        self.deadlock(&self.circle(pe))
    }

    /// The PEs of which every thread waits, each for a PE among these, so that none can go on.
    fn stuck(&self) -> BTreeSet<Pe> {
        let nodes = self.nodes.iter();
        let all_wait = nodes.filter(|node| self.others(node) == Some(0));
        let mut stuck: BTreeSet<Pe> = all_wait.map(|node| node.pe).collect();
        loop {
            // A PE's stream goes on as its other waits do.
            let may_end = |needs: &Needs| {
                *needs != Needs::Stream && !needs.pes().iter().any(|pe| stuck.contains(pe))
            };
            let free = |pe: &Pe| self.node(*pe).waits.iter().any(|wait| may_end(&wait.1));
            let free: Vec<Pe> = stuck.iter().copied().filter(free).collect();
            if free.is_empty() {
                return stuck;
            }
            stuck.retain(|pe| !free.contains(pe));
        }
    }

    /// What could end a circle: nothing, or other threads of PEs in it.
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
