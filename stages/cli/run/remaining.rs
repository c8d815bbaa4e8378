//! How long a run will still take.
//!
//! Each unit that has not ended has an expected time: from former runs, or from the cost of its kind. What ended units of a stage
//! took, over what was expected of them, corrects the others of that stage, and in part those of stages not yet seen. The
//! schedule of what is left is then rehearsed ([`pipeline::rehearse`]): at the end few units are at work and threads stand idle. Where no
//! time is known at all the estimate is a lower bound, and says so.

use crate::cli::text::seconds;
use pipeline::{Plan, RemainingUnit, rehearse};
use std::collections::BTreeMap;

/// Seconds of work that the expected times count for when all are corrected: one short unit proves little.
const TRUST: f64 = 2.0;
/// Units of its own size that a unit's expected time counts for when it is corrected by its stage.
const OWN: f64 = 2.0;
/// What a unit that ended counts for when one more of its stage has ended. Long units go first, so the last ones are most like those to come.
const FORGET: f64 = 0.93;
/// With more units than this the schedule is not rehearsed: their work is divided by the threads.
const MANY: usize = 50_000;

/// Seconds expected and taken, and those of the last units, older ones counting less and less.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    units: usize,
    expected: f64,
    took: f64,
    lately: (f64, f64),
}

/// The units still to do, and what is known of their times. Times are seconds since the start of the run.
#[derive(Debug, Default)]
pub struct Remaining {
    /// Expected seconds of each unit that has not ended.
    left: BTreeMap<usize, Option<f64>>,
    /// When each running unit started, and how much of it is done.
    started: BTreeMap<usize, (f64, f64)>,
    /// Units ended in this run, by stage.
    seen: BTreeMap<usize, Seen>,
    /// Threads that units share; `None` when they run elsewhere.
    threads: Option<usize>,
}

impl Remaining {
    /// The stale units with their expected seconds, to be run on so many threads.
    pub fn new(stale: &[(usize, Option<f64>)], threads: Option<usize>) -> Remaining {
        Remaining { left: stale.iter().copied().collect(), threads, ..Default::default() }
    }

    /// A unit starts.
    pub fn start(&mut self, unit: usize, now: f64) {
        self.started.insert(unit, (now, 0.0));
    }

    /// A share of a unit is done.
    pub fn progress(&mut self, unit: usize, fraction: f64) {
        if let Some(started) = self.started.get_mut(&unit) {
            started.1 = fraction.clamp(0.0, 1.0);
        }
    }

    /// A unit has ended: by itself after so many seconds, or without running.
    pub fn end(&mut self, unit: usize, stage: usize, seconds: Option<f64>) {
        let expected = self.left.remove(&unit).flatten();
        self.started.remove(&unit);
        if let Some(took) = seconds {
            let seen = self.seen.entry(stage).or_default();
            seen.units += 1;
            seen.took += took;
            // Where nothing was expected the stage's own mean will serve, and nothing is to be corrected by it.
            let expected = expected.unwrap_or(took);
            seen.expected += expected;
            seen.lately = (FORGET * seen.lately.0 + expected, FORGET * seen.lately.1 + took);
        }
    }

    /// Seconds until the end, and whether some unit's time is unknown.
    pub fn seconds(&self, plan: &Plan, now: f64) -> (f64, bool) {
        let took: f64 = self.seen.values().map(|s| s.took).sum();
        let everywhere = (took + TRUST) / (self.seen.values().map(|s| s.expected).sum::<f64>() + TRUST);
        let mut unknown = false;
        let mut left = Vec::with_capacity(self.left.len());
        for (&unit, &expected) in &self.left {
            let seen = self.seen.get(&plan.units[unit].stage).copied().unwrap_or_default();
            let corrected = |e: f64| {
                let own = (OWN * e).max(1e-9);
                e * (seen.lately.1 + own * everywhere) / (seen.lately.0 + own)
            };
            let mean = || (seen.units > 0).then(|| seen.took / seen.units as f64);
            let Some(whole) = expected.map(corrected).or_else(mean) else {
                unknown = true;
                continue;
            };
            let seconds = match self.started.get(&unit) {
                None => whole,
                Some(&(start, done)) => {
                    let spent = (now - start).max(0.0);
                    // A unit that takes longer than expected has not ended yet.
                    let rest = (whole - spent).max(0.05 * whole);
                    if done > 0.0 { done * spent * (1.0 - done) / done + (1.0 - done) * rest } else { rest }
                }
            };
            left.push(RemainingUnit { unit, seconds, running: self.started.contains_key(&unit) });
        }
        let threads = self.threads.unwrap_or_else(|| {
            // How many units have run side by side so far is the best guess for how many will.
            let running: f64 = self.started.values().map(|(start, _)| now - start).sum();
            ((running + took) / now.max(1e-3)).round().max(1.0) as usize
        });
        let end = if left.len() > MANY {
            left.iter().map(|l| l.seconds).sum::<f64>() / threads as f64
        } else {
            rehearse(plan, &left, threads)
        };
        (end, unknown)
    }

    /// `about 3 min left`; `at least 3 min left` while some stage's times are unknown; `None` while nothing is known.
    pub fn words(&self, plan: &Plan, now: f64) -> Option<String> {
        let (left, unknown) = self.seconds(plan, now);
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

    /// Units 0 to 3 of one stage, unit 4 of another; nobody waits for anybody.
    fn plan() -> Plan {
        let yaml = "version: 1\nstages:\n  a: {kind: probe, matrix: {value: 1..4}}\n  b: {kind: probe}\n";
        let config = pipeline::Config::parse("pipeline.yaml", yaml, std::path::Path::new(".")).unwrap();
        config.plan("default", &[], &crate::kinds::kinds()).unwrap()
    }

    #[test]
    fn former_times_then_this_runs_then_a_lower_bound() {
        let plan = plan();
        let stale = [(0, None), (1, None), (2, None), (3, None), (4, Some(100.0))];
        let mut r = Remaining::new(&stale, Some(2));
        assert_eq!(r.words(&plan, 0.0).as_deref(), Some("at least 1 min 40 s left"));
        // Two units of a minute side by side: two more on one thread and a hundred seconds on the other.
        for unit in [0, 1] {
            r.start(unit, 0.0);
            r.end(unit, 0, Some(60.0));
        }
        assert_eq!(r.words(&plan, 60.0).as_deref(), Some("about 2 min 00 s left"));
        // Half of a running unit is done.
        r.start(4, 10.0);
        r.end(2, 0, None);
        r.end(3, 0, None);
        assert_eq!(r.words(&plan, 60.0).as_deref(), Some("about 50.0 s left"));
        r.end(4, 1, Some(100.0));
        assert_eq!(r.words(&plan, 110.0), None);
    }

    #[test]
    fn units_that_take_longer_than_expected_correct_the_others() {
        let plan = plan();
        let mut r = Remaining::new(&[(0, Some(50.0)), (1, Some(50.0)), (2, Some(50.0)), (4, Some(50.0))], Some(1));
        assert!((r.seconds(&plan, 0.0).0 - 200.0).abs() < 1e-9);
        r.start(0, 0.0);
        r.end(0, 0, Some(100.0));
        // Twice as long as expected, in its stage and, so far as one can tell, elsewhere.
        let (left, unknown) = r.seconds(&plan, 100.0);
        assert!((left - 300.0).abs() < 12.0 && !unknown, "{left}");
        // A unit that says how far it is counts by that: after 30 s a tenth is done.
        r.start(1, 100.0);
        r.progress(1, 0.1);
        let slow = r.seconds(&plan, 130.0).0;
        r.progress(1, 0.9);
        assert!(slow > r.seconds(&plan, 130.0).0 + 50.0, "{slow}");
    }
}
