//! How long will it take? Expected times of units, and a rehearsal of the schedule with them.
//!
//! | a unit's expected time | when |
//! |---|---|
//! | as long as it took last time | it ran before, with whatever key |
//! | its [cost](crate::Kind::cost) times what its stage took per cost before | other units of its stage ran before |
//! | its cost times the speed of this machine ([`RunOptions::speed`](crate::RunOptions)) | its kind knows what it costs |
//! | the mean of its stage before | its kind does not |
//!
//! Units are started by their **critical path**, longest first: a unit's own time and that of the longest chain of units that
//! wait for it. So a short unit that holds up long ones goes before a longer one that nobody waits for, in the first run too.
//!
//! [`rehearse`] runs that schedule on paper: the end of a run is not its work divided by the threads when few long units remain.

use crate::engine::Engine;
use crate::plan::Plan;
use crate::run::RunOptions;
use crate::run::event::Event;
use crate::run::schedule::{Phase, Scheduler};
use crate::store::index::Index;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Measuring the machine takes a second, so less work than this is not worth it, in seconds of cost.
const MUCH: f64 = 30.0;

/// Expected seconds by unit, for one run.
pub(crate) struct Expected {
    seconds: Vec<Option<f64>>,
    /// Seconds from the start of a unit to the end of the longest chain that waits for it. `None` where its own time is unknown.
    path: Vec<Option<f64>>,
}

impl Expected {
    /// Of a run in which these units are to run. Measures the machine where history tells too little.
    pub(crate) fn of(engine: &Engine, stale: &[usize], options: &RunOptions) -> Self {
        let plan = engine.plan();
        let unknown = |unit: &&usize| {
            let (stage, label) = (&plan.stage_of(**unit).name, &plan.units[**unit].label);
            engine.store().journal.with(|index| index.expected(stage, label).is_none())
        };
        let cost =
            |&unit: &usize| plan.stage_of(unit).kind.cost(&plan.units[unit].params, plan.units[unit].inputs.len());
        let work: f64 = stale.iter().filter(unknown).filter_map(cost).sum();
        let threads = if options.jobs == 0 { crate::host::cores() } else { options.jobs };
        let speed = options.speed.filter(|_| work > MUCH).map_or(1.0, |measure| measure(threads));
        // A clock that stood still measures nothing.
        Self::new(engine, if speed.is_finite() && speed > 0.0 { speed } else { 1.0 })
    }

    /// From the store's history and the kinds' costs; `speed` is in seconds per unit of cost.
    fn new(engine: &Engine, speed: f64) -> Self {
        let plan = engine.plan();
        let cost = |unit: usize| plan.stage_of(unit).kind.cost(&plan.units[unit].params, plan.units[unit].inputs.len());
        let seconds: Vec<Option<f64>> = engine.store().journal.with(|index| {
            let mut seconds = Vec::with_capacity(plan.units.len());
            for stage in &plan.stages {
                let former = per_cost(index, plan, stage.units.clone(), &cost);
                let mean = index.stage_mean(&stage.name);
                for unit in stage.units.clone() {
                    let own = index.expected(&stage.name, &plan.units[unit].label);
                    let modelled = || cost(unit).map(|c| c * former.unwrap_or(speed));
                    seconds.push(own.or_else(modelled).or(mean));
                }
            }
            seconds
        });
        let path = critical_path(plan, &seconds);
        Self { seconds, path }
    }
}

impl Scheduler<'_> {
    /// The first look has found what is to run: tells of it, with times, and lets begin what is ready.
    pub(super) fn planned(&mut self, open: Vec<usize>) {
        if !open.is_empty() {
            self.times = Some(Expected::of(self.engine, &open, self.options));
        }
        let ready: Vec<usize> = open.iter().copied().filter(|&u| matches!(self.phases[u], Phase::Ready)).collect();
        let stale = open.into_iter().map(|unit| (unit, self.expected(unit))).collect();
        (self.events)(Event::Planned { fresh: self.summary.fresh, stale });
        ready.into_iter().for_each(|unit| self.enqueue(unit));
    }

    /// Puts a ready unit into the queue. During the first look nobody knows how long anything takes, so then it waits for
    /// [`Scheduler::planned`].
    pub(super) fn enqueue(&mut self, unit: usize) {
        if let Some(times) = &self.times {
            self.pool.push(unit, times.path[unit]);
        }
    }

    /// Seconds a unit will take, where that is known.
    pub(super) fn expected(&self, unit: usize) -> Option<f64> {
        self.times.as_ref().and_then(|times| times.seconds[unit])
    }
}

/// What the units of a stage took per cost in former runs.
fn per_cost(index: &Index, plan: &Plan, units: Range<usize>, cost: &impl Fn(usize) -> Option<f64>) -> Option<f64> {
    let (mut took, mut costs) = (0.0, 0.0);
    for unit in units {
        let stage = &plan.stages[plan.units[unit].stage].name;
        if let (Some(wall), Some(c)) = (index.expected(stage, &plan.units[unit].label), cost(unit)) {
            (took, costs) = (took + wall, costs + c);
        }
    }
    (costs > 0.0 && took > 0.0).then(|| took / costs)
}

/// For each unit its own time and that of the longest chain below it; a chain ends where a time is unknown.
pub fn critical_path(plan: &Plan, seconds: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut below = vec![0.0_f64; plan.units.len()];
    let mut path = vec![None; plan.units.len()];
    // Inputs come before the units that read them.
    for unit in (0..plan.units.len()).rev() {
        path[unit] = seconds[unit].map(|own| own + below[unit]);
        let long = path[unit].unwrap_or(below[unit]);
        for &input in &plan.units[unit].inputs {
            below[input] = below[input].max(long);
        }
    }
    path
}

/// A unit of a rehearsal: how long it will still take, and whether it is at work already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Left {
    /// Index into [`Plan::units`].
    pub unit: usize,
    /// Seconds that it will still take.
    pub seconds: f64,
    /// Whether it has started.
    pub running: bool,
}

/// Seconds until all these units are done on so many threads, one thread each, in the order in which the scheduler would start
/// them. Units that are not listed count as done.
pub fn rehearse(plan: &Plan, left: &[Left], threads: usize) -> f64 {
    let mut seconds = vec![None; plan.units.len()];
    left.iter().for_each(|l| seconds[l.unit] = Some(l.seconds.max(0.0)));
    replay(plan, left, &critical_path(plan, &seconds), threads, |_, _, _| {})
}

/// The same in another order, highest `priority` first, and telling of each unit when it starts (`false`) and ends (`true`): a
/// run on paper, with times that were measured and an order that was not chosen by them.
pub fn replay(
    plan: &Plan,
    left: &[Left],
    priority: &[Option<f64>],
    threads: usize,
    mut tell: impl FnMut(usize, bool, f64),
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
    // Times are not negative, so their bits sort as they do.
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
            tell(unit, false, now);
            working.push(Reverse((bits(now + seconds[unit].unwrap_or(0.0)), unit)));
        }
        let Some(Reverse((ends, unit))) = working.pop() else { return now };
        now = f64::from_bits(ends);
        tell(unit, true, now);
        for &reader in &readers[unit] {
            waits[reader] -= 1;
            if waits[reader] == 0 {
                ready.push(key(reader));
            }
        }
    }
}
