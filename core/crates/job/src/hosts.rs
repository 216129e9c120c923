//! The hosts of a job, as one PE sees them: which PEs are local, and which PE of another host receives this PE's control messages.

use super::machine::Id;
use crate::Pe;
use std::collections::HashMap;

/// The hosts of a job. They are numbered in the order of their first PEs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The host of each PE.
    host_of: Vec<usize>,
    /// The PEs of each host, in order.
    pes: Vec<Vec<Pe>>,
    me: Pe,
    /// The number of PE `me` among those of its host.
    index: usize,
    /// See [`range`](Hosts::range).
    range: (Pe, u32),
    /// See [`sharing_cores`](Hosts::sharing_cores).
    sharing_cores: Vec<Pe>,
    /// The names of the hosts, for messages, where they are known.
    names: Vec<String>,
}

impl Hosts {
    /// The hosts of a job whose PEs are on the hosts `ids`, as PE `me` sees them.
    pub fn new(ids: &[Id], me: Pe) -> Hosts {
        let mut numbers: HashMap<Id, usize> = HashMap::new();
        let mut pes: Vec<Vec<Pe>> = Vec::new();
        let mut host_of = Vec::with_capacity(ids.len());
        for (pe, id) in ids.iter().enumerate() {
            let host = *numbers.entry(*id).or_insert(pes.len());
            if host == pes.len() {
                pes.push(Vec::new());
            }
            pes[host].push(pe as Pe);
            host_of.push(host);
        }
        let own = &pes[host_of[me as usize]];
        let index = own.iter().take_while(|&&pe| pe != me).count();
        let range = match (own[0], own[own.len() - 1]) {
            (first, last) if (last - first) as usize + 1 == own.len() => (first, own.len() as u32),
            _ => (0, 0),
        };
        Hosts {
            sharing_cores: own.clone(),
            host_of,
            pes,
            me,
            index,
            range,
            names: Vec::new(),
        }
    }

    /// The same hosts, simulated by one machine whose cores all PEs share.
    pub fn simulated(self) -> Hosts {
        let sharing_cores = (0..self.n_pes()).collect();
        Hosts {
            sharing_cores,
            ..self
        }
    }

    /// With the names of the PEs' hosts.
    pub fn named(mut self, names: impl Fn(Pe) -> String) -> Hosts {
        self.names = self.pes.iter().map(|pes| names(pes[0])).collect();
        self
    }

    /// The name of the host of a remote PE, if known.
    pub fn name_of_other(&self, pe: Pe) -> Option<&str> {
        let host = self.of(pe);
        let name = self.names.get(host).filter(|_| host != self.mine());
        name.map(String::as_str)
    }

    /// How many hosts there are.
    pub fn count(&self) -> usize {
        self.pes.len()
    }

    /// How many PEs there are.
    pub fn n_pes(&self) -> Pe {
        self.host_of.len() as Pe
    }

    /// This PE.
    pub fn me(&self) -> Pe {
        self.me
    }

    /// The host of this PE.
    pub fn mine(&self) -> usize {
        self.host_of[self.me as usize]
    }

    /// The host of a PE of the job.
    pub fn of(&self, pe: Pe) -> usize {
        self.host_of[pe as usize]
    }

    /// Whether a PE of the job is on this PE's host.
    #[inline]
    pub fn is_local(&self, pe: Pe) -> bool {
        self.of(pe) == self.mine()
    }

    /// The PEs of a host, in order.
    pub fn pes(&self, host: usize) -> &[Pe] {
        &self.pes[host]
    }

    /// The PEs of this PE's host, in order.
    pub fn local_pes(&self) -> &[Pe] {
        self.pes(self.mine())
    }

    /// The PEs that share this PE's cores, in order.
    pub fn sharing_cores(&self) -> &[Pe] {
        &self.sharing_cores
    }

    /// The PEs of this PE's host as the first and their number, if they are consecutive; else `(0, 0)`.
    pub fn range(&self) -> (Pe, u32) {
        self.range
    }

    /// Whether all PEs from one to another are known to be on this PE's host.
    #[inline]
    pub fn holds(&self, (one, other): (Pe, Pe)) -> bool {
        let (first, count) = self.range;
        [one, other].map(|pe| (pe.wrapping_sub(first) as u32) < count) == [true; 2]
    }

    /// The other hosts, from the next one on.
    pub fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let (count, mine) = (self.count(), self.mine());
        (1..count).map(move |step| (mine + step) % count)
    }

    /// The PE of a host that receives this PE's control messages: always the same one, so that they stay in order.
    pub fn receiver(&self, host: usize) -> Pe {
        let pes = self.pes(host);
        pes[self.index % pes.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_numbered_by_their_first_pes() {
        let ids = [9, 4, 9, 9, 7, 4].map(|id| [id; 16]);
        let hosts = Hosts::new(&ids, 3);
        assert_eq!((hosts.count(), hosts.n_pes(), hosts.mine()), (3, 6, 0));
        assert_eq!(hosts.local_pes(), [0, 2, 3]);
        assert_eq!([1, 5].map(|pe| hosts.of(pe)), [1, 1]);
        assert!(hosts.is_local(0) && !hosts.is_local(4));
        assert_eq!(hosts.others().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(
            (hosts.range(), Hosts::new(&ids, 4).range()),
            ((0, 0), (4, 1))
        );
        assert!(Hosts::new(&ids, 4).holds((4, 4)) && !Hosts::new(&ids, 4).holds((4, 5)));
        let named = Hosts::new(&ids, 3).named(|pe| format!("h{pe}"));
        let names = [0, 1, 4, 5].map(|pe| named.name_of_other(pe));
        assert_eq!(names, [None, Some("h1"), Some("h4"), Some("h1")]);
        // The third PE of its host tells the first of two, and the only one.
        assert_eq!([1, 2].map(|host| hosts.receiver(host)), [1, 4]);
        assert_eq!(hosts.sharing_cores(), hosts.local_pes());
        assert_eq!(named.simulated().sharing_cores(), [0, 1, 2, 3, 4, 5]);
        let last = Hosts::new(&ids, 5);
        assert_eq!(last.others().collect::<Vec<_>>(), [2, 0]);
        assert_eq!([2, 0].map(|host| last.receiver(host)), [4, 2]);
    }
}
