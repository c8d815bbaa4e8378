//! What becomes of units: finished, retried, failed, blocked, spared.

use super::commit::Finished;
use super::event::Event;
use super::executor::{Outcome, Report};
use super::schedule::{Phase, Scheduler, Settled};
use super::{FailedUnit, Message};
use crate::error::Result;
use crate::host;
use crate::store::index::Entry;
use crate::store::record::{Failure, Record};
use std::sync::Arc;
use std::sync::mpsc::Sender;

impl Scheduler<'_> {
    /// Handles one message.
    pub(super) fn handle(&mut self, message: Message, finished: &Sender<Finished>) -> Result<()> {
        match message {
            Message::Report(Report::Progress { unit, fraction, message }) => {
                (self.events)(Event::Progress { unit, fraction, message });
            }
            Message::Report(Report::Note(text)) => (self.events)(Event::Note(text)),
            Message::Report(Report::Done { unit, outcome }) => {
                self.pool.release(&self.engine.plan().stage_of(unit).resources);
                self.ended(unit, outcome, finished)?;
            }
            Message::Committed(units) => {
                for done in units {
                    self.committing = self.committing.saturating_sub(1);
                    if let Some(artefact) = done.differs {
                        (self.events)(Event::Nondeterministic { unit: done.unit, artefact });
                    }
                    self.done(done.unit, done.record)?;
                }
            }
            Message::Broken(error) => {
                self.committing = 0;
                self.give_up(error);
            }
        }
        Ok(())
    }

    /// A unit ran and its result is permanent: the units of the same key are done with it.
    fn done(&mut self, unit: usize, record: Arc<Record>) -> Result<()> {
        let (wall, size) = (record.provenance.wall, record.size());
        (self.events)(Event::Finished { unit, wall, size });
        self.ran.push(unit);
        self.phases[unit] = Phase::Done(record.clone());
        self.wake_dependents(unit)?;
        self.settle(unit, Settled::Computed(record))
    }

    /// Shares what became of a unit with the units of the same key: those that wait, and those that come later.
    fn settle(&mut self, unit: usize, settled: Settled) -> Result<()> {
        let followers = self.followers(unit);
        if let Some(key) = self.tasks[unit].as_ref().map(|t| t.key) {
            self.settled.insert(key, settled.clone());
        }
        for follower in followers {
            self.share(follower, settled.clone());
            self.wake_dependents(follower)?;
        }
        Ok(())
    }

    /// A unit shares what became of another with the same key.
    pub(super) fn share(&mut self, unit: usize, settled: Settled) {
        match settled {
            Settled::Computed(record) => {
                self.phases[unit] = Phase::Done(record);
                self.summary.spared += 1;
                (self.events)(Event::Spared { unit });
            }
            Settled::Failed { error, attempts } => self.fail(unit, &error, attempts),
        }
    }

    fn ended(&mut self, unit: usize, outcome: Outcome, finished: &Sender<Finished>) -> Result<()> {
        let u = &self.engine.plan().units[unit];
        let stage = &self.engine.plan().stages[u.stage];
        let stopped = self.stop_now();
        let Some(task) = self.tasks[unit].as_mut() else { return Ok(()) };
        match outcome {
            Outcome::Ran { taken, provenance } => {
                let record = Record {
                    stage: stage.name.clone(),
                    label: u.label.clone(),
                    parts: task.parts.clone(),
                    artefacts: Default::default(),
                    provenance,
                };
                self.phases[unit] = Phase::Committing;
                if finished.send(Finished::new(unit, task.key, record, taken)).is_ok() {
                    self.committing += 1;
                }
            }
            Outcome::Stored => {
                self.engine.store().journal.refresh()?;
                let key = task.key;
                match self.engine.store().look_up(&key)? {
                    Some((record, damage)) if damage.is_empty() => self.done(unit, record)?,
                    _ => self.failed(unit, "a worker reported success, but the store has no result".into())?,
                }
            }
            // A unit that was asked to end is not to blame.
            Outcome::Stopped => self.phases[unit] = Phase::Ready,
            Outcome::Failed { .. } if stopped => self.phases[unit] = Phase::Ready,
            Outcome::Failed { error } if task.attempt <= stage.retries.max(self.retries) => {
                let attempt = task.attempt;
                task.attempt += 1;
                (self.events)(Event::Retrying { unit, error, attempt });
                self.ready(unit);
            }
            Outcome::Failed { error } => self.failed(unit, error)?,
            Outcome::Broken { error } => {
                self.phases[unit] = Phase::Ready;
                self.give_up(error);
            }
        }
        Ok(())
    }

    /// A unit failed for good, and with it the units of the same key.
    fn failed(&mut self, unit: usize, error: String) -> Result<()> {
        let Some((key, attempts)) = self.tasks[unit].as_ref().map(|t| (t.key, t.attempt)) else { return Ok(()) };
        let plan = self.engine.plan();
        let failure = Failure {
            key,
            stage: plan.stage_of(unit).name.clone(),
            label: plan.units[unit].label.clone(),
            error: error.clone(),
            attempts,
            ended: host::now(),
        };
        self.fail(unit, &error, attempts);
        self.settle(unit, Settled::Failed { error, attempts })?;
        self.engine.store().journal.update(|_| (vec![Entry::Failure(failure)], ()))
    }

    fn fail(&mut self, unit: usize, error: &str, attempts: u32) {
        let u = &self.engine.plan().units[unit];
        let log = self.tasks[unit].as_ref().map(|t| self.engine.store().log_path(&t.key)).unwrap_or_default();
        let (id, params, error) = (u.id.clone(), u.params.clone(), error.to_string());
        self.summary.failed.push(FailedUnit { id, params, error: error.clone(), attempts, log });
        self.phases[unit] = Phase::Failed;
        (self.events)(Event::Failed { unit, error });
        self.block_dependents(unit);
    }

    /// Nothing below a failed unit can run.
    fn block_dependents(&mut self, failed: usize) {
        let mut open = vec![failed];
        while let Some(blocker) = open.pop() {
            for &below in &self.dependents[blocker] {
                if matches!(self.phases[below], Phase::Waiting(_)) {
                    self.phases[below] = Phase::Blocked(failed);
                    (self.events)(Event::Blocked { unit: below, by: failed });
                    open.push(below);
                }
            }
        }
    }

    /// A unit is done: those that waited for it alone can be judged, and may be done at once. Nothing to do for a unit that
    /// is not done.
    pub(super) fn wake_dependents(&mut self, unit: usize) -> Result<()> {
        let mut done = if matches!(self.phases[unit], Phase::Done(_)) { vec![unit] } else { Vec::new() };
        while let Some(unit) = done.pop() {
            for at in 0..self.dependents[unit].len() {
                let below = self.dependents[unit][at];
                let Phase::Waiting(left) = &mut self.phases[below] else { continue };
                *left -= 1;
                if *left == 0 && self.resolve(below)? {
                    self.summary.spared += 1;
                    (self.events)(Event::Spared { unit: below });
                    done.push(below);
                }
            }
        }
        Ok(())
    }
}
