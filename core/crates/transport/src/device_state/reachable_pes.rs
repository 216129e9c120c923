//! The PEs that kernels reach: those of their own host.

use crate::Pe;
use crate::job::hosts::Hosts;
use std::sync::OnceLock;

/// Bits of [`State::check`](super::State::check): arguments are checked; some PEs are on other hosts.
const ARGUMENTS: u32 = 1;
const HOSTS: u32 = 2;

/// A bit per PE, in words of 32, in a job on several hosts; unset: kernels reach all.
#[derive(Debug, Default)]
pub struct ReachablePes(OnceLock<Box<[u32]>>);

impl ReachablePes {
    /// Sets the local PEs in a job on several hosts; once.
    pub fn set(&self, hosts: &Hosts) {
        let mut words = vec![0; hosts.n_pes().unsigned_abs().div_ceil(32) as usize];
        for &pe in hosts.local_pes() {
            words[pe as usize / 32] |= 1 << (pe % 32);
        }
        let again = self.0.set(words.into());
        debug_assert!(again.is_ok(), "a job has its hosts from init on");
    }

    pub fn words(&self) -> Option<&[u32]> {
        self.0.get().map(|words| &**words)
    }

    pub fn has(&self, pe: Pe) -> bool {
        self.words()
            .is_none_or(|words| words[pe as usize / 32] >> (pe % 32) & 1 != 0)
    }

    /// The first of some PEs that kernels do not reach.
    pub(crate) fn first_unreachable(&self, pes: &[Pe]) -> Option<Pe> {
        pes.iter().copied().find(|&pe| !self.has(pe))
    }

    /// The word that kernels test before they access memory of a PE; `arguments`: whether their arguments are
    /// checked.
    pub fn checks(&self, arguments: bool) -> u32 {
        let hosts = self.words().map_or(0, |_| HOSTS);
        hosts | if arguments { ARGUMENTS } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_of_this_host_are_reached() {
        let reached = ReachablePes::default();
        assert!(reached.has(77) && reached.first_unreachable(&[0, 99]).is_none());
        assert_eq!([false, true].map(|check| reached.checks(check)), [0, 1]);
        let ids: Vec<_> = (0..70).map(|pe| [u8::from(pe % 3 == 0); 16]).collect();
        reached.set(&Hosts::new(&ids, 3));
        let near: Vec<Pe> = (0..70).filter(|&pe| reached.has(pe)).collect();
        assert_eq!(near, (0..70).step_by(3).collect::<Vec<_>>());
        assert_eq!(reached.first_unreachable(&[69, 33, 68, 1]), Some(68));
        assert_eq!([false, true].map(|check| reached.checks(check)), [2, 3]);
    }
}
