//! The clock of a part. A read of the processor's counter takes a third of the time of a system clock, and a record needs two.

use crate::clock::now_ns;

/// Ticks of the processor's counter where the kernel trusts it, else ns of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    counter: bool,
}

impl Clock {
    pub(super) fn new() -> Clock {
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let source = std::fs::read_to_string(source).unwrap_or_default();
        Clock {
            counter: cfg!(target_arch = "x86_64") && source.trim() == "tsc",
        }
    }

    /// The time; never 0.
    #[inline(always)]
    pub(super) fn now(self) -> u64 {
        let now = match self.counter {
            true => ticks(),
            false => now_ns(),
        };
        now | 1
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: reads a counter.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// No counter of other processors is read.
#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    now_ns()
}

/// Two readings of a part's clock and of the monotonic clock, between which other readings are interpolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scale {
    /// Ticks and ns.
    pub(super) first: (u64, u64),
    pub(super) last: (u64, u64),
}

impl Scale {
    /// The ticks between the two readings.
    pub(super) fn span(&self) -> u64 {
        self.last.0.saturating_sub(self.first.0)
    }

    /// A time of the part's clock in ns of the monotonic clock.
    pub(super) fn ns(&self, ticks: u64) -> i64 {
        let since = ticks.wrapping_sub(self.first.0) as i64;
        let (ticks, ns) = (self.span(), self.last.1.saturating_sub(self.first.1));
        let scaled = match ticks {
            0 => since.into(),
            ticks => i128::from(since) * i128::from(ns) / i128::from(ticks),
        };
        (self.first.1 as i64).saturating_add(scaled as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_interpolated() {
        let scale = Scale {
            first: (1000, 50),
            last: (4000, 1050),
        };
        let ns = [1000, 2500, 4000, 7000, 700].map(|ticks| scale.ns(ticks));
        assert_eq!(ns, [50, 550, 1050, 2050, -50]);
        let unread = Scale {
            last: (1000, 50),
            ..scale
        };
        assert_eq!(unread.ns(1010), 60);
    }
}
