//! Random choices: the same on every PE, unless a PE draws with a lot of its own.

use nvshmemrs_suite::values::seed;

/// A source of numbers that follow from a seed.
#[derive(Clone, Debug)]
pub(crate) struct Lot {
    seed: u64,
    pe: i32,
    drawn: usize,
}

impl Lot {
    /// The lot of a round, for all PEs.
    pub(crate) fn of_round(seed: u64, round: u64) -> Lot {
        Lot {
            seed: seed ^ round.wrapping_mul(0xd134_2543_de82_ef95),
            pe: -1,
            drawn: 0,
        }
    }

    /// One PE's own lot.
    pub(crate) fn of_pe(seed: u64, pe: i32) -> Lot {
        Lot { seed, pe, drawn: 0 }
    }

    /// Another lot, derived from this one, for a thread that draws at the same time.
    pub(crate) fn split(&mut self) -> Lot {
        Lot {
            seed: self.number(),
            pe: self.pe,
            drawn: 0,
        }
    }

    /// Any number.
    pub(crate) fn number(&mut self) -> u64 {
        self.drawn += 1;
        seed(self.seed, self.pe, self.drawn)
    }

    /// 0 to `count` - 1.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.number() % count.max(1) as u64) as usize
    }

    /// `from` to `to`.
    pub(crate) fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of these.
    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A length: mostly short, now and then as long as `most`.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        let most = match self.below(20) {
            0 => most,
            1..=4 => most.min(5000),
            5..=12 => most.min(400),
            _ => most.min(20),
        };
        self.between(0, most)
    }
}
