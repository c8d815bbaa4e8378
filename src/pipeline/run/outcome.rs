//! What becomes of units: finished, retried, failed, blocked, spared.

use super::commit::Finished;
use super::event::Event;
use super::executor::{Outcome, Report};
use super::schedule::{Phase, Scheduler};
use super::{FailedUnit, Message};
use crate::error::{Error, Result};
use crate::host;
use crate::store::index::Entry;
use crate::store::record::{Failure, Record};
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

impl Scheduler<'_> {
    /// Takes one message in.
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
                    let (unit, wall, size) = (done.unit, done.record.provenance.wall, done.record.size());
                    (self.events)(Event::Finished { unit, wall, size });
                    self.ran.push(unit);
                    self.phases[unit] = Phase::Done(done.record);
                    self.wake_dependents(unit)?;
                }
            }
            Message::Broken(error) => {
                self.committing = 0;
                self.give_up(error);
            }
        }
        Ok(())
    }

    fn give_up(&mut self, error: Error) {
        self.stopping = true;
        self.broken.get_or_insert(error);
    }

    fn ended(&mut self, unit: usize, outcome: Outcome, finished: &Sender<Finished>) -> Result<()> {
        let u = &self.engine.plan().units[unit];
        let stage = &self.engine.plan().stages[u.stage];
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
                    Some((record, damage)) if damage.is_empty() => {
                        self.ran.push(unit);
                        let (wall, size) = (record.provenance.wall, record.size());
                        (self.events)(Event::Finished { unit, wall, size });
                        self.phases[unit] = Phase::Done(record);
                        self.wake_dependents(unit)?;
                    }
                    _ => self.failed(unit, "a worker reported success, but the store has no result".into())?,
                }
            }
            Outcome::Failed { .. } if self.broken.is_some() || self.options.cancel.load(Ordering::Relaxed) => {
                self.phases[unit] = Phase::Ready
            }
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

    fn failed(&mut self, unit: usize, error: String) -> Result<()> {
        let u = &self.engine.plan().units[unit];
        let Some(task) = &self.tasks[unit] else { return Ok(()) };
        let failure = Failure {
            key: task.key,
            stage: self.engine.plan().stages[u.stage].name.clone(),
            label: u.label.clone(),
            error: error.clone(),
            attempts: task.attempt,
            ended: host::now(),
        };
        let log = self.engine.store().log_path(&task.key);
        let (id, params, attempts) = (u.id.clone(), u.params.clone(), task.attempt);
        self.summary.failed.push(FailedUnit { id, params, error: error.clone(), attempts, log });
        self.phases[unit] = Phase::Failed;
        (self.events)(Event::Failed { unit, error });
        self.engine.store().journal.update(|_| (vec![Entry::Failure(failure)], ()))?;
        self.stopping |= self.options.fail_fast;
        let mut open = vec![unit];
        while let Some(blocker) = open.pop() {
            for &below in &self.dependents[blocker] {
                if matches!(self.phases[below], Phase::Waiting(_)) {
                    self.phases[below] = Phase::Blocked(unit);
                    (self.events)(Event::Blocked { unit: below, by: unit });
                    open.push(below);
                }
            }
        }
        Ok(())
    }

    /// A unit is done: those that waited for it alone can be judged, and may be done at once.
    pub(super) fn wake_dependents(&mut self, unit: usize) -> Result<()> {
        let mut done = vec![unit];
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
