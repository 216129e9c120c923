//! The topology of a job: the host of each PE, its index there, and its GPU.
//!
//! Each PE publishes its host and its GPU in its block before it becomes active. So when a PE has seen all others active, it reads
//! the same table as they do.

use super::block::{Control, PeBlock};
pub use super::machine::{Id, words};
use super::shared_words;
use crate::Pe;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// The location of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeLocation {
    host: Id,
    /// None: its heap is in host memory.
    gpu: Option<Id>,
}

/// No GPU has this UUID.
const NO_GPU: Id = [0; 16];

/// Publishes the location of PE `me` in its block: the host of the job's memory, and this GPU.
pub fn publish(control: &Control, me: Pe, gpu: Option<Id>) {
    let host = id([0, 1].map(|word| control.header().host[word].load(Relaxed)));
    let location = PeLocation { host, gpu };
    shared_words::publish_location(control.pe(me), location.words());
}

fn id([low, high]: [u64; 2]) -> Id {
    (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
}

impl PeLocation {
    fn read(block: &PeBlock) -> PeLocation {
        let gpu = id([0, 1].map(|word| block.gpu[word].load(Relaxed)));
        PeLocation {
            host: id([0, 1].map(|word| block.host[word].load(Relaxed))),
            gpu: (gpu != NO_GPU).then_some(gpu),
        }
    }

    /// As a block has it: the host, then the GPU.
    fn words(&self) -> impl Iterator<Item = u64> {
        let gpu = self.gpu.unwrap_or(NO_GPU);
        [self.host, gpu].into_iter().flat_map(words)
    }
}

/// The locations of all PEs.
pub struct Topology {
    locations: Vec<PeLocation>,
    /// The number of each PE among those of its host.
    indices: Vec<Pe>,
}

impl Topology {
    /// The locations as the PEs have published them; each must have been seen active.
    pub fn read(control: &Control) -> Topology {
        let pes = 0..control.n_pes();
        Topology::of(pes.map(|pe| PeLocation::read(control.pe(pe))).collect())
    }

    fn of(locations: Vec<PeLocation>) -> Topology {
        let mut counts: HashMap<Id, Pe> = HashMap::new();
        let mut next = |location: &PeLocation| {
            let count = counts.entry(location.host).or_insert(0);
            *count += 1;
            *count - 1
        };
        let indices = locations.iter().map(&mut next).collect();
        Topology { locations, indices }
    }

    /// The PEs that satisfy a predicate, in order.
    fn pes(&self, holds: impl Fn(usize) -> bool) -> Vec<Pe> {
        let pes = (0..self.locations.len()).filter(|&pe| holds(pe));
        pes.map(|pe| pe as Pe).collect()
    }

    /// The PEs on the host of `pe`.
    pub fn on_host_of(&self, pe: Pe) -> Vec<Pe> {
        let host = self.locations[pe as usize].host;
        self.pes(|other| self.locations[other].host == host)
    }

    /// The PEs that have the index of `pe`, each on its own host.
    pub fn at_index_of(&self, pe: Pe) -> Vec<Pe> {
        let index = self.indices[pe as usize];
        self.pes(|other| self.indices[other] == index)
    }

    /// The PEs that use the GPU of `pe`. A PE without a GPU is alone.
    pub fn on_gpu_of(&self, pe: Pe) -> Vec<Pe> {
        match self.locations[pe as usize].gpu {
            None => vec![pe],
            gpu => self.pes(|other| self.locations[other].gpu == gpu),
        }
    }

    /// The first PE of each GPU, and every PE without a GPU.
    pub fn gpu_leaders(&self) -> Vec<Pe> {
        let mut firsts: HashMap<Id, usize> = HashMap::new();
        for (pe, location) in self.locations.iter().enumerate() {
            if let Some(gpu) = location.gpu {
                firsts.entry(gpu).or_insert(pe);
            }
        }
        let leads = |pe: usize| match self.locations[pe].gpu {
            None => true,
            Some(gpu) => firsts.get(&gpu) == Some(&pe),
        };
        self.pes(leads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(locations: &[(u8, Option<u8>)]) -> Topology {
        let location = |&(host, gpu): &(u8, Option<u8>)| PeLocation {
            host: [host; 16],
            gpu: gpu.map(|gpu| [gpu; 16]),
        };
        Topology::of(locations.iter().map(location).collect())
    }

    #[test]
    fn pes_on_one_host_without_gpus() {
        let topology = table(&[(7, None); 3]);
        assert_eq!(topology.on_host_of(1), [0, 1, 2]);
        assert_eq!(topology.at_index_of(1), [1]);
        assert_eq!(topology.on_gpu_of(2), [2]);
        assert_eq!(topology.gpu_leaders(), [0, 1, 2]);
    }

    /// Two hosts of different size, whose PEs alternate; the GPU of the last PE is its own.
    #[test]
    fn pes_on_two_hosts_that_share_gpus() {
        let (one, two) = (1, 2);
        let topology = table(&[
            (one, Some(10)),
            (two, Some(20)),
            (one, Some(10)),
            (two, Some(20)),
            (one, Some(11)),
        ]);
        assert_eq!(topology.on_host_of(4), [0, 2, 4]);
        assert_eq!(topology.on_host_of(3), [1, 3]);
        assert_eq!(topology.at_index_of(2), [2, 3]);
        assert_eq!(topology.at_index_of(3), [2, 3]);
        assert_eq!(topology.at_index_of(4), [4]);
        assert_eq!(topology.on_gpu_of(2), [0, 2]);
        assert_eq!(topology.on_gpu_of(4), [4]);
        assert_eq!(topology.gpu_leaders(), [0, 1, 4]);
    }

    #[test]
    fn what_is_published_is_read() {
        let control = Control::create(2, 2 << 20, Default::default(), None).unwrap();
        let gpu = std::array::from_fn(|i| 1 + i as u8);
        publish(&control, 0, Some(gpu));
        publish(&control, 1, None);
        let topology = Topology::read(&control);
        assert_eq!(topology.locations[0].gpu, Some(gpu));
        assert_eq!(topology.locations[1].gpu, None);
        assert_eq!(topology.locations[0].host, super::super::machine::host());
        assert_eq!(topology.on_host_of(0), [0, 1]);
    }
}
