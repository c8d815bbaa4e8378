//! Ready units and the machine they share: the longest unit first, within threads, memory and GPUs.
//!
//! Starting the longest known unit first keeps the end of a run from waiting for one late giant. A unit never seen
//! before counts as longest of all. A unit that does not fit just now lets smaller ones pass, but only so often: then the
//! pool drains until it fits, so nothing starves.

use crate::plan::Resources;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// How often the head of the queue may be passed by, per thread of the machine.
const PATIENCE: usize = 8;

/// What is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    pub threads: usize,
    pub memory: u64,
    pub gpus: usize,
}

/// Ready units and free resources.
pub(crate) struct Pool {
    total: Machine,
    free: Machine,
    /// Units at work.
    pub running: usize,
    /// Longest first, then in plan order.
    ready: BTreeSet<(Reverse<u64>, usize)>,
    passed: usize,
    /// When an executor has its own machines: how many units it takes at once.
    queue: Option<usize>,
}

impl Pool {
    pub(crate) fn new(total: Machine, queue: Option<usize>) -> Self {
        Self { total, free: total, running: 0, ready: BTreeSet::new(), passed: 0, queue }
    }

    /// Adds a ready unit. Times are not negative, so their bits sort as they do.
    pub(crate) fn push(&mut self, unit: usize, expected: Option<f64>) {
        self.ready.insert((Reverse(expected.unwrap_or(f64::INFINITY).max(0.0).to_bits()), unit));
    }

    pub(crate) fn len(&self) -> usize {
        self.ready.len()
    }

    /// Threads a unit gets.
    pub(crate) fn threads(&self, wants: &Resources) -> usize {
        wants.threads.unwrap_or(self.total.threads).clamp(1, self.total.threads)
    }

    /// Whether it fits now. A unit that wants more than there is runs alone.
    fn fits(&self, wants: &Resources) -> bool {
        match self.queue {
            Some(queue) => self.running < queue,
            None => {
                self.running == 0
                    || (self.threads(wants) <= self.free.threads
                        && wants.memory <= self.free.memory
                        && wants.gpu <= self.free.gpus)
            }
        }
    }

    /// Takes the next unit that fits, and its share of the machine.
    pub(crate) fn pop(&mut self, wants: impl Fn(usize) -> Resources) -> Option<usize> {
        if self.queue.is_none() && self.free.threads == 0 {
            return None;
        }
        let patient = self.passed < PATIENCE * self.total.threads;
        let reach = if patient { usize::MAX } else { 1 };
        let mut ready = self.ready.iter().take(reach).enumerate();
        let (place, entry) = ready.find(|(_, (_, unit))| self.fits(&wants(*unit))).map(|(i, e)| (i, *e))?;
        self.passed = if place == 0 { 0 } else { self.passed + 1 };
        self.ready.remove(&entry);
        let share = wants(entry.1);
        self.running += 1;
        self.free.threads = self.free.threads.saturating_sub(self.threads(&share));
        self.free.memory = self.free.memory.saturating_sub(share.memory);
        self.free.gpus = self.free.gpus.saturating_sub(share.gpu);
        Some(entry.1)
    }

    /// Gives a unit's share back.
    pub(crate) fn release(&mut self, share: &Resources) {
        self.running -= 1;
        self.free.threads = (self.free.threads + self.threads(share)).min(self.total.threads);
        self.free.memory = (self.free.memory + share.memory).min(self.total.memory);
        self.free.gpus = (self.free.gpus + share.gpu).min(self.total.gpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Machine = Machine { threads: 4, memory: 100, gpus: 1 };

    fn small(_: usize) -> Resources {
        Resources::default()
    }

    #[test]
    fn the_longest_goes_first_and_the_unknown_before_it() {
        let mut pool = Pool::new(MACHINE, None);
        [(0, Some(1.0)), (1, Some(9.0)), (2, None), (3, Some(9.0))].into_iter().for_each(|(u, t)| pool.push(u, t));
        let order: Vec<_> = std::iter::from_fn(|| pool.pop(small)).collect();
        assert_eq!(order, [2, 1, 3, 0]);
        assert_eq!(pool.pop(small), None);
    }

    #[test]
    fn a_large_unit_is_passed_by_but_does_not_starve() {
        let wants = |u: usize| Resources { threads: if u == 0 { None } else { Some(1) }, ..Resources::default() };
        let mut pool = Pool::new(MACHINE, None);
        pool.push(99, None);
        assert_eq!(pool.pop(wants), Some(99));
        pool.push(0, None);
        (1..=98).for_each(|u| pool.push(u, Some(1.0)));
        let mut before = 0;
        while let Some(unit) = pool.pop(wants) {
            assert_ne!(unit, 0, "it needs all threads and one is taken");
            before += 1;
            pool.release(&wants(unit));
        }
        assert_eq!(before, PATIENCE * 4);
        pool.release(&wants(99));
        assert_eq!(pool.pop(wants), Some(0));
    }

    #[test]
    fn a_unit_that_wants_more_than_there_is_runs_alone() {
        let wants = |u: usize| Resources { memory: if u == 0 { 1000 } else { 10 }, ..Resources::default() };
        let mut pool = Pool::new(MACHINE, None);
        (0..2).for_each(|u| pool.push(u, None));
        assert_eq!((pool.pop(wants), pool.pop(wants)), (Some(0), None));
        pool.release(&wants(0));
        assert_eq!(pool.pop(wants), Some(1));
    }
}
