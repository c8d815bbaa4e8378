//! Watches the store, the messages of tasks, and now and then the queue.
//!
//! The store and the tasks' files are looked at often and cost little; the queue belongs to everybody and is asked less
//! and less while nothing changes. Times are measured on this machine's steady clock only: nodes may disagree about the
//! hour.

use super::commands::{TaskState, squeue};
use super::folder::{TaskMessage, tail};
use super::{Chunk, Queued, Slurm, stop};
use crate::error::Result;
use crate::freshness::key::Key;
use crate::run::executor::{Job, Outcome, Report, Reporter};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Time between looks at the store: at first, and at most.
pub(super) const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Time between looks at the queue: at first, and at most.
pub(super) const QUEUE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));
/// A unit that was lost that often (with its chunk, not by its own fault) is given up.
const LOSSES: u32 = 5;
/// On so many nodes in a row may tasks end without a word before the run stops.
const SILENT: u32 = 3;

impl Slurm<'_> {
    /// Makes the next looks come soon, because something changed.
    pub(super) fn wake(&mut self) {
        (self.look_every, self.queue_every) = (LOOK.0, QUEUE.0);
        let now = Instant::now();
        self.next_look = self.next_look.min(now + LOOK.0);
        self.next_queue = self.next_queue.min(now + QUEUE.0);
    }

    pub(super) fn watch(&mut self, reporter: &Reporter) -> Result<()> {
        let now = Instant::now();
        if self.chunks.is_empty() {
            return Ok(());
        }
        if now >= self.next_look {
            let news = self.look(reporter)?;
            self.look_every = if news { LOOK.0 } else { self.look_every.mul_f64(1.3).min(LOOK.1) };
            if news {
                self.queue_every = QUEUE.0;
            }
            self.next_look = Instant::now() + self.look_every;
        }
        if now >= self.next_queue {
            self.ask_queue(reporter)?;
            self.queue_every = self.queue_every.mul_f64(1.3).min(QUEUE.1);
            self.next_queue = Instant::now() + self.queue_every;
        }
        self.settle(reporter);
        Ok(())
    }

    /// Reads the store and the messages of tasks. Returns whether there was any news.
    fn look(&mut self, reporter: &Reporter) -> Result<bool> {
        let store = self.engine.store();
        store.journal.refresh()?;
        let mut news = false;
        let mut notes = Vec::new();
        for (id, chunk) in &mut self.chunks {
            for message in self.run.messages(*id, &mut chunk.offset) {
                news = true;
                match message {
                    TaskMessage::Begin { node } => {
                        (chunk.node, chunk.running, chunk.over) = (Some(node), None, None);
                    }
                    TaskMessage::Start(key) => chunk.running = Some(key),
                    TaskMessage::Done(key) => {
                        self.silent = 0;
                        if chunk.running == Some(key) {
                            chunk.running = None;
                        }
                        let sent = chunk.units.iter_mut().find(|u| u.unit.key == key);
                        let again = sent.is_some_and(|u| {
                            u.reported = true;
                            u.unit.again
                        });
                        if again {
                            chunk.report(&key, reporter, || Outcome::Stored);
                        }
                    }
                    TaskMessage::Failed { key, error } => {
                        self.silent = 0;
                        if chunk.running == Some(key) {
                            chunk.running = None;
                        }
                        chunk.report(&key, reporter, || Outcome::Failed { error });
                    }
                    TaskMessage::Differs { text, .. } => notes.push(text),
                    TaskMessage::Broken(error) => chunk.report_all(reporter, || {
                        stop(format!("{error} (a task of run {}); run again to resume", self.run.id))
                    }),
                    TaskMessage::Refused(why) => {
                        chunk.report_all(reporter, || stop(format!("a task was refused: {why}")))
                    }
                    TaskMessage::End => chunk.ended = Some(Instant::now()),
                }
            }
            for at in 0..chunk.units.len() {
                let sent = &chunk.units[at];
                if sent.done || sent.unit.again || sent.job.is_none() {
                    continue;
                }
                let key = sent.unit.key;
                // An object that this machine does not see yet is waited for.
                if let Some((_, damage)) = store.look_up(&key)?
                    && damage.is_empty()
                {
                    news = true;
                    chunk.report(&key, reporter, || Outcome::Stored);
                }
            }
        }
        notes.into_iter().for_each(|text| self.note(reporter, text));
        Ok(news)
    }

    /// Asks the queue which tasks are over, or unknown to it.
    fn ask_queue(&mut self, reporter: &Reporter) -> Result<()> {
        let names: BTreeSet<String> = self.chunks.values().map(|c| c.array.clone()).collect();
        let names: Vec<String> = names.into_iter().collect();
        let Some(tasks) = squeue(&names)? else {
            self.note(reporter, "squeue does not answer; watching the store until it does".into());
            return Ok(());
        };
        let now = Instant::now();
        for chunk in self.chunks.values_mut() {
            let gone = TaskState { state: "unknown to Slurm".into(), node: String::new(), job: chunk.array.clone() };
            let state = tasks.get(&(chunk.array.clone(), chunk.task)).cloned().unwrap_or(gone);
            chunk.over = match (&chunk.over, state.state == "unknown to Slurm" || !state.active()) {
                (_, false) => {
                    chunk.inherited = false;
                    None
                }
                (Some((since, _)), true) => Some((*since, state)),
                (None, true) => Some((now, state)),
            };
        }
        Ok(())
    }

    /// Decides what becomes of the units that chunks which are over have left.
    fn settle(&mut self, reporter: &Reporter) {
        let grace = self.options.grace();
        let over = |c: &Chunk| {
            let waited = |since: &Instant| since.elapsed() >= grace;
            let reported = c.units.iter().any(|u| u.reported && !u.done && u.job.is_some());
            c.ended.as_ref().is_some_and(|since| !reported || waited(since))
                || c.over.as_ref().is_some_and(|(since, _)| waited(since))
                || c.units.iter().all(|u| u.done)
        };
        let settled: Vec<usize> = self.chunks.iter().filter(|(_, c)| over(c)).map(|(id, _)| *id).collect();
        for id in settled {
            let Some(chunk) = self.chunks.remove(&id) else { continue };
            for sent in &chunk.units {
                self.places.remove(&sent.unit.key);
            }
            let left: Vec<Job> = chunk.units.into_iter().filter(|u| !u.done).filter_map(|u| u.job).collect();
            if left.is_empty() {
                continue;
            }
            let now = Instant::now();
            match &chunk.over {
                // The task's time was up, or it says it is done and the record is nowhere: again, and nobody is blamed.
                _ if chunk.ended.is_some() => self.waiting.extend(left.into_iter().map(|job| Queued { job, due: now })),
                Some((_, state)) => {
                    let state = state.clone();
                    self.lost(id, &state, (chunk.node, chunk.running), chunk.inherited, left, reporter);
                }
                None => self.waiting.extend(left.into_iter().map(|job| Queued { job, due: now })),
            }
            self.wake();
        }
    }

    /// A task ended without ending its chunk.
    fn lost(
        &mut self,
        id: usize,
        state: &TaskState,
        (node, running): (Option<String>, Option<Key>),
        inherited: bool,
        left: Vec<Job>,
        reporter: &Reporter,
    ) {
        let job = &state.job;
        let on = if state.node.is_empty() { String::new() } else { format!(" on {}", state.node) };
        if state.state == "CANCELLED" && inherited {
            let due = Instant::now();
            self.waiting.extend(left.into_iter().map(|job| Queued { job, due }));
            return;
        }
        if state.state == "CANCELLED" {
            let text = format!(
                "job {job} was cancelled from outside this program: nothing that had finished is lost; the same command, or attaching to run {}, resumes",
                self.run.id
            );
            left.iter().for_each(|j| report(reporter, j, stop(text.clone())));
            return;
        }
        let log = tail(&self.run.path().join(format!("logs/{job}.log")));
        let log = if log.is_empty() { String::new() } else { format!("; its log ends: {log}") };
        let code: Option<i32> = self.run.read(&format!("chunks/{id}.exit")).ok();
        let word = match code {
            Some(137) => format!("{}, killed", state.state),
            Some(code) => format!("{}, exit code {code}", state.state),
            None => state.state.clone(),
        };
        if node.is_none() && matches!(state.state.as_str(), "FAILED" | "COMPLETED" | "BOOT_FAIL") {
            // A bad node fails fast and would draw all tasks to itself: it counts once.
            let news = state.node.is_empty() || self.avoid.insert(state.node.clone());
            self.silent += u32::from(news);
            if self.silent >= SILENT {
                let text = format!(
                    "tasks end without having worked (the last: {job}{on}, {word}{log}); can the nodes read the program and write the store? nothing that had finished is lost, run again to resume"
                );
                left.iter().for_each(|j| report(reporter, j, stop(text.clone())));
                return;
            }
            if news && !state.node.is_empty() {
                self.note(reporter, format!("a task ended without a word on {}: avoiding that node{log}", state.node));
            }
        }
        for unit in left {
            let blamed = running == Some(unit.key);
            let passing = matches!(state.state.as_str(), "NODE_FAIL" | "PREEMPTED" | "BOOT_FAIL" | "unknown to Slurm");
            if blamed && !passing {
                let boost = self.boosts.entry(unit.key).or_default();
                match state.state.as_str() {
                    "TIMEOUT" | "DEADLINE" => boost.1 += 1,
                    "OUT_OF_MEMORY" => boost.0 += 1,
                    _ if code == Some(137) => boost.0 += 1,
                    _ => {}
                }
                let error = format!("job {job}{on} ended ({word}) while this unit ran{log}");
                report(reporter, &unit, Outcome::Failed { error });
                continue;
            }
            let losses = self.losses.entry(unit.key).or_default();
            *losses += 1;
            if *losses > LOSSES {
                let error = format!(
                    "it was submitted {LOSSES} times and its jobs ended each time (the last: {job}{on}, {word}{log})"
                );
                report(reporter, &unit, Outcome::Failed { error });
            } else {
                self.waiting.push(Queued { job: unit, due: Instant::now() });
            }
        }
        self.note(reporter, format!("job {job}{on} ended early ({word}): submitting what it left again"));
    }
}

fn report(reporter: &Reporter, job: &Job, outcome: Outcome) {
    reporter.report(Report::Done { unit: job.unit, outcome });
}

impl Chunk {
    fn report(&mut self, key: &Key, reporter: &Reporter, outcome: impl FnOnce() -> Outcome) {
        if let Some(sent) = self.units.iter_mut().find(|u| u.unit.key == *key && !u.done)
            && let Some(job) = &sent.job
        {
            sent.done = true;
            report(reporter, job, outcome());
        }
    }

    fn report_all(&mut self, reporter: &Reporter, outcome: impl Fn() -> Outcome) {
        for sent in self.units.iter_mut().filter(|u| !u.done) {
            if let Some(job) = &sent.job {
                sent.done = true;
                report(reporter, job, outcome());
            }
        }
    }
}
