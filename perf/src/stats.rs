//! Statistics of several rounds.

use serde::Serialize;

/// One side's figures for one case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Microseconds of one call: the median of the rounds.
    pub(crate) us: f64,
    /// The fastest round.
    pub(crate) min_us: f64,
    /// The slowest round.
    pub(crate) max_us: f64,
    /// Rounds.
    pub(crate) rounds: usize,
    /// Calls in all rounds together.
    pub(crate) iterations: u64,
}

impl Summary {
    /// Summarises the rounds' times; `None` without rounds.
    pub(crate) fn new(times: &[f64], iterations: u64) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            us: median(&sorted)?,
            min_us: *sorted.first()?,
            max_us: *sorted.last()?,
            rounds: sorted.len(),
            iterations,
        })
    }

    /// The range of the rounds, relative to the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.max_us - self.min_us) / self.us
    }
}

/// The median; `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn summaries_keep_the_extremes() {
        let summary = Summary::new(&[4.0, 2.0, 3.0], 30).expect("three rounds");
        assert_eq!(
            (summary.us, summary.min_us, summary.max_us),
            (3.0, 2.0, 4.0)
        );
        assert_eq!((summary.rounds, summary.iterations), (3, 30));
        assert!((summary.spread() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(Summary::new(&[], 0), None);
    }
}
