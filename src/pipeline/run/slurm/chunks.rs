//! Units into chunks: thousands of units of milliseconds must not become thousands of jobs, and an hour's unit must not
//! wait behind another.
//!
//! A chunk is filled until its expected time reaches the budget `clamp(total / spread, SHORT, chunk)`: much work goes out
//! in chunks of the target duration, little work is spread over a few tasks, and very little stays together. The guess
//! for a unit nobody has timed is [`UNKNOWN`]; a task that finds it wrong stops early and hands the rest back.

use crate::plan::SlurmOptions;
use std::ops::Range;

/// Seconds a unit is thought to take when neither it nor its stage was timed.
const UNKNOWN: f64 = 0.5;
/// Seconds that a unit costs beside its own work.
const OVERHEAD: f64 = 0.005;
/// Less than this many seconds of work is not worth a task of its own.
const SHORT: f64 = 2.0;

/// Cuts a list of units (their expected seconds) into chunks, in order.
pub(super) fn chunks(expected: &[Option<f64>], options: &SlurmOptions) -> Vec<Range<usize>> {
    let cost = |t: &Option<f64>| t.unwrap_or(UNKNOWN).max(0.0) + OVERHEAD;
    let total: f64 = expected.iter().map(cost).sum();
    let budget = (total / options.spread as f64).max(SHORT).min(options.chunk);
    let (mut out, mut start, mut filled) = (Vec::new(), 0, 0.0);
    for (at, time) in expected.iter().enumerate() {
        if at > start && filled + cost(time) > budget * (1.0 + 1e-9) {
            out.push(start..at);
            (start, filled) = (at, 0.0);
        }
        filled += cost(time);
    }
    if start < expected.len() {
        out.push(start..expected.len());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(expected: &[Option<f64>]) -> Vec<usize> {
        let cut = chunks(expected, &SlurmOptions::default());
        assert_eq!(cut.iter().cloned().flatten().collect::<Vec<_>>(), (0..expected.len()).collect::<Vec<_>>());
        cut.iter().map(ExactSizeIterator::len).collect()
    }

    #[test]
    fn small_units_go_together_and_large_ones_alone() {
        assert_eq!(sizes(&[]), [] as [usize; 0]);
        assert_eq!(sizes(&[Some(3600.0); 3]), [1, 1, 1]);
        assert_eq!(sizes(&[Some(0.01); 100]), [100], "1.5 seconds of work are one task");
        let sweep = sizes(&[Some(0.01); 2000]);
        assert!((8..=17).contains(&sweep.len()), "30 seconds of work are spread: {sweep:?}");
        let long = sizes(&[Some(1.0); 10_000]);
        assert!(long.iter().all(|&n| n <= 60) && long.len() < 200, "chunks last about a minute");
        assert!(sizes(&[None; 2000]).len() <= 24, "unknown units are not a job each");
    }
}
