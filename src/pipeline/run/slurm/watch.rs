//! Watches the store, the messages of tasks, and now and then the queue.
//!
//! The store and the tasks' files are looked at often and cost little; the queue belongs to everybody and is asked less
//! and less while nothing changes. Times are measured on this machine's steady clock only: nodes may disagree about the
//! hour.

use super::commands::{TaskState, Tasks, squeue};
use super::files::TaskMessage;
use super::{Chunk, Queued, Slurm, stop};
use crate::error::Result;
use crate::freshness::key::Key;
use crate::run::executor::{Job, Outcome, Report, Reporter};
use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time between looks at the store: at first, and at most.
pub(super) const LOOK: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// Time between looks at the queue: at first, and at most.
pub(super) const QUEUE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));

/// A question to the queue: about jobs of which names, and where the answer comes.
pub(super) struct Question {
    names: BTreeSet<String>,
    answer: Receiver<Result<Option<Tasks>>>,
}

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
        if self.question.is_none() && now >= self.next_queue {
            self.ask_queue();
        }
        self.hear_queue(reporter)?;
        let grace = self.options.grace();
        let waited = |chunk: &Chunk| chunk.over.as_ref().is_some_and(|(since, _)| since.elapsed() >= grace);
        if self.chunks.values().any(waited) {
            // Its last messages may have come after the last look.
            self.look(reporter)?;
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

    /// Asks the queue which tasks are over, or unknown to it, in a thread of its own: `squeue` may take its time, and the
    /// store is watched meanwhile.
    fn ask_queue(&mut self) {
        let names: BTreeSet<String> = self.chunks.values().map(|c| c.array.clone()).collect();
        let (sender, answer) = channel();
        let (asked, limit): (Vec<String>, Duration) = (names.iter().cloned().collect(), self.options.timeout());
        let ask = move || {
            let _ = sender.send(squeue(&asked, limit));
        };
        if std::thread::Builder::new().name("squeue".to_string()).spawn(ask).is_ok() {
            self.question = Some(Question { names, answer });
        }
        self.queue_every = self.queue_every.mul_f64(1.3).min(QUEUE.1);
        self.next_queue = Instant::now() + self.queue_every;
    }

    /// Reads the queue's answer, when it is there.
    fn hear_queue(&mut self, reporter: &Reporter) -> Result<()> {
        let Some(question) = &self.question else { return Ok(()) };
        let Ok(answer) = question.answer.try_recv() else { return Ok(()) };
        let names = self.question.take().map(|question| question.names).unwrap_or_default();
        let Some(tasks) = answer? else {
            self.note(reporter, "squeue does not answer; watching the store until it does".into());
            return Ok(());
        };
        let now = Instant::now();
        // The answer says nothing about jobs that were submitted after the question.
        for chunk in self.chunks.values_mut().filter(|c| names.contains(&c.array)) {
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
        let (grace, stopping) = (self.options.grace(), self.stopping.is_some());
        let over = |c: &Chunk| {
            let waited = |since: &Instant| since.elapsed() >= grace;
            let reported = c.units.iter().any(|u| u.reported && !u.done && u.job.is_some());
            c.ended.as_ref().is_some_and(|since| !reported || waited(since))
                || c.over.as_ref().is_some_and(|(since, _)| waited(since))
                // After a stop nothing is expected of a task that never began.
                || (stopping && c.over.is_some() && c.node.is_none())
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
                _ if stopping => left.iter().for_each(|job| report(reporter, job, Outcome::Stopped)),
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
}

pub(super) fn report(reporter: &Reporter, job: &Job, outcome: Outcome) {
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
