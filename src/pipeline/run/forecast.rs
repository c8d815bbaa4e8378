//! How long a run will take: the expected time of each unit, and a simulation of the schedule with these times.
//!
//! | a unit's expected time | when |
//! |---|---|
//! | as long as it took last time | it ran before with the same parameters, whatever its inputs and its code were |
//! | its [cost](crate::Kind::cost) times the seconds per cost of its stage so far | units of its stage ran before, with any parameters |
//! | its cost times the seconds per cost of this machine ([`RunOptions::speed`](crate::RunOptions)) | its kind has a cost |
//! | as long as it took last time with other parameters, or the mean of its stage | its kind has no cost |
//!
//! Units start in the order of their **critical path**, longest first. The critical path of a unit is its own time plus that of the
//! longest chain of units that wait for it. So a short unit with long units after it starts before a longer one that no unit waits
//! for, in the first run too.
//!
//! [`rehearse`] simulates that schedule. Dividing the work by the threads would be wrong when only a few long units remain.

use crate::engine::Engine;
use crate::plan::{Plan, PlannedStage};
use crate::run::RunOptions;
use crate::run::event::Event;
use crate::run::schedule::{Phase, Scheduler};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The speed of the machine is measured only for more work than this, in seconds of cost: the measurement itself takes a second.
const MEASURE_ABOVE: f64 = 30.0;

/// The weight of the cost model against measured times, in seconds of cost. A stage that has run units of much more cost than this is
/// forecast by its own times; a tiny profile, which is mostly overhead, changes the forecast little.
const MODEL_WEIGHT: f64 = 5.0;

/// Expected seconds by unit, for one run.
pub(crate) struct Expected {
    seconds: Vec<Option<f64>>,
    /// Seconds from the start of a unit to the end of the longest chain that waits for it. `None` where its own time is unknown.
    path: Vec<Option<f64>>,
}

impl Expected {
    /// The expected times for a run of these stale units. Measures the machine where much of their work has not run before.
    pub(crate) fn of(engine: &Engine, stale: &[usize], options: &RunOptions) -> Self {
        let unknown = stale.iter().filter(|&&unit| engine.former(unit).is_none());
        let work: f64 = unknown.filter_map(|&unit| engine.cost(unit)).sum();
        let threads = if options.jobs == 0 { crate::host::cores() } else { options.jobs };
        let speed = options.speed.filter(|_| work > MEASURE_ABOVE).map_or(1.0, |measure| measure(threads));
        // If the clock stood still, the measurement is not a usable number.
        Self::new(engine, if speed.is_finite() && speed > 0.0 { speed } else { 1.0 })
    }

    /// The expected times from the records in the store and the costs of the kinds; `speed` is in seconds per second of cost.
    fn new(engine: &Engine, speed: f64) -> Self {
        let plan = engine.plan();
        let mut seconds: Vec<Option<f64>> = Vec::with_capacity(plan.units.len());
        for stage in &plan.stages {
            let (took, costs) = engine.per_cost(stage);
            let seconds_per_cost = (took + MODEL_WEIGHT * speed) / (costs + MODEL_WEIGHT);
            let mean = engine.store().journal.with(|index| index.stage_mean(&stage.name));
            for unit in stage.units.clone() {
                let other = || engine.store().journal.with(|i| i.expected(&stage.name, &plan.units[unit].label));
                let modelled = || engine.cost(unit).map(|c| c * seconds_per_cost);
                seconds.push(engine.former(unit).or_else(modelled).or_else(other).or(mean));
            }
        }
        let path = critical_path(plan, &seconds);
        Self { seconds, path }
    }
}

impl Engine {
    /// The cost of a unit, if its kind has one.
    pub fn cost(&self, unit: usize) -> Option<f64> {
        let u = &self.plan().units[unit];
        self.plan().stage_of(unit).kind.cost(&u.params, u.inputs.len())
    }

    /// Seconds that a unit took last time, if it had these parameters then.
    pub fn former(&self, unit: usize) -> Option<f64> {
        let (u, stage) = (&self.plan().units[unit], &self.plan().stage_of(unit).name);
        self.store().journal.with(|index| {
            let record = index.last(stage, &u.label)?;
            (record.parts.params == u.params).then_some(record.provenance.wall)
        })
    }

    /// Seconds that the units of a stage took last time, and their cost with the parameters of that time; both are sums.
    fn per_cost(&self, stage: &PlannedStage) -> (f64, f64) {
        self.store().journal.with(|index| {
            let last = stage.units.clone().filter_map(|unit| index.last(&stage.name, &self.plan().units[unit].label));
            let same = last.filter(|record| record.parts.kind == stage.kind.name());
            same.fold((0.0, 0.0), |(took, costs), record| {
                match stage.kind.cost(&record.parts.params, record.parts.inputs.len()) {
                    Some(cost) => (took + record.provenance.wall, costs + cost),
                    None => (took, costs),
                }
            })
        })
    }
}

impl Scheduler<'_> {
    /// Called when the first check of all units has found which are stale. Reports them with their times and queues those that are ready.
    pub(super) fn planned(&mut self, open: Vec<usize>) {
        if !open.is_empty() {
            self.times = Some(Expected::of(self.engine, &open, self.options));
        }
        let ready: Vec<usize> = open.iter().copied().filter(|&u| matches!(self.phases[u], Phase::Ready)).collect();
        let stale = open.into_iter().map(|unit| (unit, self.expected(unit))).collect();
        (self.events)(Event::Planned { fresh: self.summary.fresh, stale });
        ready.into_iter().for_each(|unit| self.enqueue(unit));
    }

    /// Puts a ready unit into the queue. During the first check the times are not known yet, so the unit waits for
    /// [`Scheduler::planned`].
    pub(super) fn enqueue(&mut self, unit: usize) {
        if let Some(times) = &self.times {
            self.pool.push(unit, times.path[unit]);
        }
    }

    /// The expected seconds of a unit, where they are known.
    pub(super) fn expected(&self, unit: usize) -> Option<f64> {
        self.times.as_ref().and_then(|times| times.seconds[unit])
    }
}

/// For each unit its own time plus that of the longest chain of units that wait for it; `None` where its own time is unknown. In the
/// chains of other units an unknown time counts as zero.
pub fn critical_path(plan: &Plan, seconds: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut below = vec![0.0_f64; plan.units.len()];
    let mut path = vec![None; plan.units.len()];
    // The plan lists inputs before the units that read them, so the reverse order visits readers first.
    for unit in (0..plan.units.len()).rev() {
        path[unit] = seconds[unit].map(|own| own + below[unit]);
        let long = path[unit].unwrap_or(below[unit]);
        for &input in &plan.units[unit].inputs {
            below[input] = below[input].max(long);
        }
    }
    path
}

/// A unit of a simulated schedule: how long it will still take, and whether it has started.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemainingUnit {
    /// Index into [`Plan::units`].
    pub unit: usize,
    /// Seconds that it will still take.
    pub seconds: f64,
    /// Whether it has started.
    pub running: bool,
}

/// Seconds until all these units are done on this number of threads, one thread per unit, in the order in which the scheduler would
/// start them. Units that are not listed count as done.
pub fn rehearse(plan: &Plan, left: &[RemainingUnit], threads: usize) -> f64 {
    let mut seconds = vec![None; plan.units.len()];
    left.iter().for_each(|l| seconds[l.unit] = Some(l.seconds.max(0.0)));
    replay(plan, left, &critical_path(plan, &seconds), threads, |_, _, _| {})
}

/// As [`rehearse`], in another order: highest `priority` first, and units without a priority before all others. Calls `on_event` with the
/// unit, `false` at its start and `true` at its end, and the time. So a run can be simulated with measured times and any order.
pub fn replay(
    plan: &Plan,
    left: &[RemainingUnit],
    priority: &[Option<f64>],
    threads: usize,
    mut on_event: impl FnMut(usize, bool, f64),
) -> f64 {
    let mut seconds = vec![None; plan.units.len()];
    left.iter().for_each(|l| seconds[l.unit] = Some(l.seconds.max(0.0)));
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); plan.units.len()];
    let mut waits = vec![0usize; plan.units.len()];
    for l in left {
        for &input in plan.units[l.unit].inputs.iter().filter(|&&i| seconds[i].is_some()) {
            readers[input].push(l.unit);
            waits[l.unit] += 1;
        }
    }
    // For numbers that are not negative, the order of their bits is the order of the numbers.
    let bits = |s: f64| s.max(0.0).to_bits();
    let key = |unit: usize| (bits(priority[unit].unwrap_or(f64::INFINITY)), Reverse(unit));
    let mut ready: BinaryHeap<(u64, Reverse<usize>)> =
        left.iter().filter(|l| !l.running && waits[l.unit] == 0).map(|l| key(l.unit)).collect();
    let mut working: BinaryHeap<Reverse<(u64, usize)>> =
        left.iter().filter(|l| l.running).map(|l| Reverse((bits(l.seconds), l.unit))).collect();
    let mut now = 0.0;
    loop {
        while working.len() < threads.max(1)
            && let Some((_, Reverse(unit))) = ready.pop()
        {
            on_event(unit, false, now);
            working.push(Reverse((bits(now + seconds[unit].unwrap_or(0.0)), unit)));
        }
        let Some(Reverse((ends, unit))) = working.pop() else { return now };
        now = f64::from_bits(ends);
        on_event(unit, true, now);
        for &reader in &readers[unit] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(key(reader));
            }
        }
    }
}
