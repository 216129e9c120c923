//! The lists of PEs that waits need, each stored once: many waits need the same list. Algorithms on lists instead of waits visit each
//! list once, so a job of thousands of PEs takes time proportional to the length of its lists.

use super::graph::Node;
use crate::Pe;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// A list that waits need.
pub(super) struct List {
    pub(super) pes: Arc<[Pe]>,
    /// The waits that cannot end before all PEs of the list arrive: the PE, and the index of its wait.
    pub(super) waits: Vec<(Pe, usize)>,
}

/// All lists of a job.
pub(super) struct Lists {
    all: Vec<List>,
    /// By PE: the lists that its waits need.
    needed: Vec<Vec<usize>>,
    /// By PE: the lists that it is in.
    containing: Vec<Vec<usize>>,
}

impl Lists {
    pub(super) fn of(nodes: &[Node]) -> Lists {
        let mut lists = Lists {
            all: Vec::new(),
            needed: vec![Vec::new(); nodes.len()],
            containing: vec![Vec::new(); nodes.len()],
        };
        let mut known: HashMap<*const Pe, usize> = HashMap::new();
        for node in nodes {
            for (wait, (_, needs)) in node.waits.iter().enumerate() {
                let Some(pes) = needs.list().filter(|pes| !pes.is_empty()) else {
                    continue;
                };
                let index = *known.entry(pes.as_ptr()).or_insert(lists.all.len());
                if index == lists.all.len() {
                    for &pe in pes.iter() {
                        lists.containing[pe as usize].push(index);
                    }
                    lists.all.push(List {
                        pes: Arc::clone(pes),
                        waits: Vec::new(),
                    });
                }
                lists.all[index].waits.push((node.pe, wait));
                lists.needed[node.pe as usize].push(index);
            }
        }
        lists
    }

    /// Whether a wait of the PE needs another PE.
    pub(super) fn needs_any(&self, pe: Pe) -> bool {
        !self.needed[pe as usize].is_empty()
    }

    /// Whether another PE needs this one.
    pub(super) fn is_needed(&self, pe: Pe) -> bool {
        !self.containing[pe as usize].is_empty()
    }

    /// The lists that one of these PEs is in.
    pub(super) fn with_any<'a>(
        &'a self,
        pes: impl IntoIterator<Item = &'a Pe>,
    ) -> impl Iterator<Item = &'a List> {
        let pes = pes.into_iter();
        let indices = pes.flat_map(|&pe| &self.containing[pe as usize]);
        let indices: BTreeSet<usize> = indices.copied().collect();
        indices.into_iter().map(|index| &self.all[index])
    }

    /// The PEs from which one of `goals` is needed, directly or through others.
    pub(super) fn upstream(&self, goals: &BTreeSet<Pe>) -> BTreeSet<Pe> {
        let mut found = BTreeSet::new();
        let mut followed = vec![false; self.all.len()];
        let mut queue: Vec<Pe> = goals.iter().copied().collect();
        while let Some(pe) = queue.pop() {
            for &index in &self.containing[pe as usize] {
                if std::mem::replace(&mut followed[index], true) {
                    continue;
                }
                for &(waiter, _) in &self.all[index].waits {
                    if found.insert(waiter) {
                        queue.push(waiter);
                    }
                }
            }
        }
        found
    }

    /// The shortest circle of PEs, each of which needs the next, that begins with `start`; empty if it is in none.
    pub(super) fn circle(&self, start: Pe) -> Vec<Pe> {
        let mut before: Vec<Option<Pe>> = vec![None; self.needed.len()];
        let mut followed = vec![false; self.all.len()];
        let mut queue = VecDeque::from([start]);
        while let Some(pe) = queue.pop_front() {
            for &index in &self.needed[pe as usize] {
                if std::mem::replace(&mut followed[index], true) {
                    continue;
                }
                let pes = &self.all[index].pes;
                if pes.contains(&start) {
                    let mut circle = vec![pe];
                    while let Some(earlier) = circle.last().and_then(|&pe| before[pe as usize]) {
                        circle.push(earlier);
                    }
                    circle.reverse();
                    return circle;
                }
                for &needed in pes.iter() {
                    if before[needed as usize].is_none() {
                        before[needed as usize] = Some(pe);
                        queue.push_back(needed);
                    }
                }
            }
        }
        Vec::new()
    }

    /// The most of `candidates` of which each needs another of them: by each of its lists, or by one at least. So from each of them a
    /// circle is reached.
    pub(super) fn tied(&self, candidates: BTreeSet<Pe>, by_each: bool) -> BTreeSet<Pe> {
        let mut tied = candidates;
        let counts = self.all.iter().map(|list| {
            let members = list.pes.iter().filter(|pe| tied.contains(pe));
            members.count()
        });
        let mut counts: Vec<usize> = counts.collect();
        // By PE, how many of its lists have none of them.
        let mut idle = vec![0; self.needed.len()];
        let mut ended: Vec<usize> = (0..counts.len())
            .filter(|&list| counts[list] == 0)
            .collect();
        let mut untied: Vec<Pe> = Vec::new();
        if !by_each {
            untied.extend(tied.iter().filter(|&&pe| !self.needs_any(pe)));
        }
        loop {
            if let Some(pe) = untied.pop() {
                if tied.remove(&pe) {
                    for &list in &self.containing[pe as usize] {
                        counts[list] -= 1;
                        if counts[list] == 0 {
                            ended.push(list);
                        }
                    }
                }
            } else if let Some(list) = ended.pop() {
                for &(waiter, _) in &self.all[list].waits {
                    let idle = &mut idle[waiter as usize];
                    *idle += 1;
                    if by_each || *idle == self.needed[waiter as usize].len() {
                        untied.push(waiter);
                    }
                }
            } else {
                return tied;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists as `(waiting PE, awaited PEs)`; lists with the same PEs are one.
    fn lists(n_pes: usize, waits: &[(Pe, &[Pe])]) -> Lists {
        let mut lists = Lists {
            all: Vec::new(),
            needed: vec![Vec::new(); n_pes],
            containing: vec![Vec::new(); n_pes],
        };
        for &(pe, pes) in waits {
            let known = lists.all.iter().position(|list| *list.pes == *pes);
            let index = known.unwrap_or_else(|| {
                let index = lists.all.len();
                pes.iter()
                    .for_each(|&pe| lists.containing[pe as usize].push(index));
                let (pes, waits) = (pes.into(), Vec::new());
                lists.all.push(List { pes, waits });
                index
            });
            let wait = lists.needed[pe as usize].len();
            lists.all[index].waits.push((pe, wait));
            lists.needed[pe as usize].push(index);
        }
        lists
    }

    #[test]
    fn circles_and_who_leads_to_them() {
        // 0 and 1 need each other, 1 needs 5, too; 2 needs 1; 3 waits twice: for 4, and for 2.
        let lists = lists(
            6,
            &[(0, &[1]), (1, &[0, 5]), (2, &[1]), (3, &[4]), (3, &[2])],
        );
        assert_eq!(lists.circle(0), [0, 1]);
        assert_eq!(lists.circle(1), [1, 0]);
        assert!(lists.circle(2).is_empty());
        let of = |goal| lists.upstream(&BTreeSet::from([goal]));
        assert_eq!(of(4), BTreeSet::from([3]));
        assert_eq!(of(1), BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(of(3), BTreeSet::new());
        let all: BTreeSet<Pe> = (0..6).collect();
        assert_eq!(lists.tied(all.clone(), false), BTreeSet::from([0, 1, 2, 3]));
        let waiting = BTreeSet::from([0, 1, 2, 3]);
        assert_eq!(lists.tied(waiting, true), BTreeSet::from([0, 1, 2]));
        assert!(lists.is_needed(4) && !lists.needs_any(4));
        assert_eq!(lists.with_any(&[0, 5]).count(), 1);
    }

    #[test]
    fn a_chain_unties_from_its_end() {
        let waits: Vec<(Pe, [Pe; 1])> = (0..999).map(|pe| (pe, [pe + 1])).collect();
        let waits: Vec<(Pe, &[Pe])> = waits.iter().map(|(pe, next)| (*pe, &next[..])).collect();
        let all: BTreeSet<Pe> = (0..1000).collect();
        for by_each in [false, true] {
            let lists = lists(1000, &waits);
            let mut candidates = all.clone();
            candidates.remove(&999);
            assert_eq!(lists.tied(candidates, by_each), BTreeSet::new());
        }
        let closed = [&waits[..], &[(999, &[400])]].concat();
        let lists = lists(1000, &closed);
        assert_eq!(lists.tied(all.clone(), true), all);
        assert_eq!(lists.circle(400).len(), 600);
        assert!(lists.circle(399).is_empty());
    }
}
