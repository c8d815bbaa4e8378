//! How long a run will still take, from what its units took before.
//!
//! A unit's own former time is the best guess, then the mean of its stage in former runs (both from the journal), then the mean
//! of its stage in this run. Where none is known the estimate is a lower bound, and says so.

use crate::cli::text::seconds;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The units still to do, and what is known of their times.
#[derive(Debug, Default)]
pub struct Remaining {
    /// Expected seconds of each unit that has not ended.
    left: BTreeMap<usize, Option<f64>>,
    started: BTreeMap<usize, Instant>,
    /// Units ended in this run and their seconds, by stage.
    seen: BTreeMap<usize, (usize, f64)>,
}

impl Remaining {
    /// The stale units with their expected seconds.
    pub fn new(stale: &[(usize, Option<f64>)]) -> Remaining {
        Remaining { left: stale.iter().copied().collect(), ..Default::default() }
    }

    /// A unit starts.
    pub fn start(&mut self, unit: usize, now: Instant) {
        self.started.insert(unit, now);
    }

    /// A unit has ended: by itself after so many seconds, or without running.
    pub fn end(&mut self, unit: usize, stage: usize, seconds: Option<f64>) {
        self.left.remove(&unit);
        self.started.remove(&unit);
        if let Some(seconds) = seconds {
            let seen = self.seen.entry(stage).or_default();
            *seen = (seen.0 + 1, seen.1 + seconds);
        }
    }

    /// `about 3 min left`; `at least 3 min left` while some stage's times are unknown; `None` while nothing is known.
    pub fn words(&self, stage: impl Fn(usize) -> usize, spent: Duration, now: Instant) -> Option<String> {
        let (mut work, mut unknown) = (0.0, false);
        for (&unit, &expected) in &self.left {
            let here = || self.seen.get(&stage(unit)).map(|(n, seconds)| seconds / *n as f64);
            let done = self.started.get(&unit).map_or(0.0, |&t| now.duration_since(t).as_secs_f64());
            match expected.or_else(here) {
                Some(seconds) => work += (seconds - done).max(0.0),
                None => unknown = true,
            }
        }
        // How many units have run side by side so far is the best guess for how many will.
        let running: f64 = self.started.values().map(|&t| now.duration_since(t).as_secs_f64()).sum();
        let busy = running + self.seen.values().map(|s| s.1).sum::<f64>();
        let side_by_side = (busy / spent.as_secs_f64().max(1e-3)).max(1.0);
        let left = work / side_by_side;
        // A damaged record may say anything.
        if !left.is_finite() || left < 0.5 {
            return None;
        }
        let how = if unknown { "at least" } else { "about" };
        Some(format!("{how} {} left", seconds(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_times_then_this_runs_then_a_lower_bound() {
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        let now = start + minute;
        // Units 0 to 3 of stage 0, unit 4 of stage 1.
        let stage = |unit: usize| usize::from(unit == 4);
        let mut r = Remaining::new(&[(0, None), (1, None), (2, None), (3, None), (4, Some(100.0))]);
        assert_eq!(r.words(stage, minute, now).as_deref(), Some("at least 1 min 40 s left"));
        // Two units of a minute side by side: two more and a hundred seconds, still two at a time.
        for unit in [0, 1] {
            r.start(unit, start);
            r.end(unit, 0, Some(60.0));
        }
        assert_eq!(r.words(stage, minute, now).as_deref(), Some("about 1 min 50 s left"));
        // Half of a running unit is done; its time counts as time at work.
        r.start(4, now - Duration::from_secs(50));
        r.end(2, 0, None);
        r.end(3, 0, None);
        assert_eq!(r.words(stage, minute, now).as_deref(), Some("about 17.6 s left"));
        r.end(4, 1, Some(100.0));
        assert_eq!(r.words(stage, minute, now), None);
    }
}
