//! The cluster executor: units in job arrays of Slurm, on nodes that share a file system.
//!
//! Chunks of units (`chunks`) are submitted as tasks (`submit`) of job arrays; each task is this same program
//! ([`worker`]), which works on the same store; the driver watches (`watch`) store, tasks and queue. What was submitted is
//! written down first ([`folder`]), so that a driver that dies can be replaced by another that submits nothing twice.
//! **The store is the truth**: a unit is done when its record is there, whatever Slurm says or forgets.
//!
//! | what happens | what is done |
//! |---|---|
//! | a unit fails | tried again after a pause, in a later chunk; then reported with its error |
//! | a task dies while a unit runs | the unit is blamed (with the log's tail) and tried again, the others go on elsewhere |
//! | out of memory, out of time | the same with twice as much, within `max_memory` and `max_minutes` |
//! | a node dies | Slurm starts the task again; it skips what is recorded |
//! | Slurm forgets a job, or says COMPLETED for one that never ran | after the grace period what has no record is submitted again |
//! | a task ends without a word (read-only mount, missing program) | its node is avoided; when that happens everywhere the run stops and says so |
//! | somebody cancels the jobs | the run stops and says so; the same command resumes |
//! | the run stops (Ctrl-C, `cancel`, `fail_fast`, a full disk) | queued jobs are cancelled, tasks start no further unit; the same command resumes |
//! | a command of Slurm hangs | it is killed after `timeout`; meanwhile the store is watched |
//! | a worker is another program, or sees other inputs | the run stops and says which |
//! | the driver dies | its jobs go on; the next driver takes them over |

mod chunks;
pub mod commands;
mod compare;
pub mod files;
pub mod folder;
mod lost;
mod sent;
mod submit;
mod watch;
pub mod worker;

use super::event::Event;
use super::executor::{Executor, Job, Outcome, Report, Reporter, Stop};
use super::{RunOptions, Summary};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::plan::SlurmOptions;
use crate::store::claim::Role;
use files::{ChunkFile, TaskMessage};
use folder::RunFolder;
use sent::{Chunk, Queued, Sent};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Units at hand at once: all of them, so that chunks can be formed.
const QUEUE: usize = 1_000_000;

/// Runs units on a cluster.
pub struct Slurm<'a> {
    engine: &'a Engine,
    run: RunFolder,
    /// The words of the command that starts a worker; the run's id and the number of a chunk follow.
    worker: Vec<String>,
    options: SlurmOptions,
    cancel: Arc<AtomicBool>,
    stopping: Option<Stop>,
    waiting: Vec<Queued>,
    chunks: BTreeMap<usize, Chunk>,
    /// Which unsettled chunk a unit is in.
    places: HashMap<Key, usize>,
    next_chunk: usize,
    next_array: usize,
    /// How often memory and time of a unit were doubled.
    boosts: HashMap<Key, (u32, u32)>,
    /// How often a unit was in a chunk that was lost.
    losses: HashMap<Key, u32>,
    /// Nodes on which tasks end without a word.
    avoid: BTreeSet<String>,
    silent: u32,
    /// Notes already given, so that none is given twice.
    noted: HashSet<String>,
    submitted: (usize, usize),
    refusals: u32,
    next_look: Instant,
    look_every: Duration,
    next_queue: Instant,
    queue_every: Duration,
    /// A question to the queue that has not been answered yet.
    question: Option<watch::Question>,
}

impl<'a> Slurm<'a> {
    /// An executor for the run in `run`, whose tasks start `worker` followed by the run's id and a chunk. Takes over what an earlier driver of this run
    /// submitted. `cancel` is the scheduler's flag.
    pub fn new(engine: &'a Engine, run: RunFolder, worker: Vec<String>, cancel: Arc<AtomicBool>) -> Result<Self> {
        let options = run.info()?.options;
        let now = Instant::now();
        let mut this = Self {
            engine,
            worker,
            options,
            cancel,
            stopping: None,
            question: None,
            waiting: Vec::new(),
            chunks: BTreeMap::new(),
            places: HashMap::new(),
            next_chunk: 0,
            next_array: 0,
            boosts: HashMap::new(),
            losses: HashMap::new(),
            avoid: BTreeSet::new(),
            silent: 0,
            noted: HashSet::new(),
            submitted: (0, 0),
            refusals: 0,
            next_look: now,
            look_every: watch::LOOK.0,
            next_queue: now,
            queue_every: watch::QUEUE.0,
            run,
        };
        for array in this.run.arrays() {
            this.next_array += 1;
            this.next_chunk = this.next_chunk.max(array.first + array.count);
            for task in 0..array.count {
                this.take_over(&array.name, array.first + task, task);
            }
        }
        Ok(this)
    }

    /// A chunk of an earlier driver, unless it is settled.
    fn take_over(&mut self, array: &str, id: usize, task: usize) {
        let Ok(file) = self.run.read::<ChunkFile>(&format!("chunks/{id}.json")) else { return };
        let mut offset = 0;
        let messages = self.run.messages(id, &mut offset);
        let settled =
            |s: &TaskMessage| matches!(s, TaskMessage::End | TaskMessage::Broken(_) | TaskMessage::Refused(_));
        if messages.last().is_some_and(settled) {
            return;
        }
        let reported: HashSet<Key> = messages
            .iter()
            .filter_map(
                |s| if let TaskMessage::Done(k) | TaskMessage::Failed { key: k, .. } = s { Some(*k) } else { None },
            )
            .collect();
        let units: Vec<Sent> =
            file.units.into_iter().filter(|u| !reported.contains(&u.key)).map(|unit| Sent::new(unit, None)).collect();
        self.places.extend(units.iter().map(|u| (u.unit.key, id)));
        self.chunks.insert(id, Chunk::new(array, task, units, true));
    }

    /// How many jobs (arrays) and tasks this process submitted.
    pub fn submitted(&self) -> (usize, usize) {
        self.submitted
    }

    fn note(&mut self, reporter: &Reporter, text: String) {
        if self.noted.insert(text.clone()) {
            reporter.report(Report::Note(text));
        }
    }

    /// Hands every unit back to the scheduler, which will not start them again.
    fn hand_back(&mut self, reporter: &Reporter) {
        let back = |job: &Job| reporter.report(Report::Done { unit: job.unit, outcome: Outcome::Stopped });
        self.waiting.drain(..).for_each(|w| back(&w.job));
        for chunk in std::mem::take(&mut self.chunks).values() {
            chunk.units.iter().filter(|u| !u.done).filter_map(|u| u.job.as_ref()).for_each(back);
        }
        self.places.clear();
    }
}

impl Executor for Slurm<'_> {
    fn name(&self) -> &str {
        "slurm"
    }

    fn queue(&self) -> Option<usize> {
        Some(QUEUE)
    }

    fn retries(&self) -> u32 {
        self.options.retries
    }

    fn role(&self) -> Role {
        Role::Driver(self.run.id.clone())
    }

    fn submit(&mut self, job: Job, _: &Reporter) -> Result<()> {
        if let Some(chunk) = self.places.get(&job.key).and_then(|id| self.chunks.get_mut(id))
            && let Some(sent) = chunk.units.iter_mut().find(|u| u.unit.key == job.key && !u.done && u.job.is_none())
        {
            // It was submitted by an earlier driver of this run.
            sent.job = Some(job);
            return Ok(());
        }
        // 1, 2, 4 ... seconds, at most a minute: trouble that passes should have passed.
        let pause = if job.attempt > 1 { f64::from(1u32 << (job.attempt - 2).min(6)).min(60.0) } else { 0.0 };
        self.waiting.push(Queued { job, due: Instant::now() + Duration::from_secs_f64(pause) });
        Ok(())
    }

    fn poll(&mut self, reporter: &Reporter) -> Result<()> {
        if self.run.cancel_requested() {
            self.cancel.store(true, Ordering::Relaxed);
        }
        match self.stopping {
            Some(Stop::Now) => {
                self.hand_back(reporter);
                return Ok(());
            }
            Some(Stop::Gently) => {}
            None => self.form(reporter)?,
        }
        self.watch(reporter)
    }

    fn poll_every(&self) -> Duration {
        watch::LOOK.0
    }

    fn stop(&mut self, how: Stop, reporter: &Reporter) {
        self.stopping = Some(how);
        // Tasks look for this before each unit, so that those that cannot be cancelled end soon, too.
        if let Err(error) = self.run.request_stop() {
            self.note(reporter, format!("tasks could not be told to stop: {error}"));
        }
        let names: BTreeSet<String> = self.chunks.values().map(|c| c.array.clone()).collect();
        let names: Vec<String> = names.into_iter().collect();
        let limit = self.options.timeout();
        if !commands::scancel(&names, how == Stop::Gently, limit).unwrap_or(false) {
            self.note(reporter, "scancel did not end all jobs; their tasks end before their next unit".into());
        }
        for queued in self.waiting.drain(..) {
            reporter.report(Report::Done { unit: queued.job.unit, outcome: Outcome::Stopped });
        }
        self.wake();
    }
}

/// Drives a run to its end: takes over what an earlier driver submitted, submits the rest, waits. A driver that is killed
/// leaves the run open, and [`RunFolder::resume_or_create`] finds it.
pub fn drive(
    engine: &Engine,
    run: &RunFolder,
    worker: Vec<String>,
    options: &RunOptions,
    events: &mut dyn FnMut(Event),
) -> Result<Summary> {
    let _lock = run.drive()?;
    run.reopen();
    let mut slurm = Slurm::new(engine, run.clone(), worker, options.cancel.clone())?;
    if !slurm.chunks.is_empty() {
        let count = slurm.chunks.len();
        events(Event::Note(format!("taking over run {}: {count} of its chunks may still be at work", run.id)));
    }
    let summary = engine.run_on(&mut slurm, options, events);
    if summary.is_err() && slurm.stopping.is_none() && !slurm.chunks.is_empty() {
        // It could not even begin, and tasks of an earlier driver may still be at work: the run stays open for the next.
        return summary;
    }
    run.end(match &summary {
        Ok(summary) if summary.is_complete() => 0,
        Ok(summary) if summary.interrupted => 130,
        Ok(_) => 1,
        Err(_) => 2,
    });
    summary
}

/// Ends a run that no driver can end any more: its jobs, and the tasks that start although their job was cancelled.
/// Whether Slurm took every request.
pub fn cancel(run: &RunFolder) -> Result<bool> {
    run.request_stop()?;
    let limit = run.info().map_or_else(|_| SlurmOptions::default().timeout(), |info| info.options.timeout());
    commands::scancel(&commands::job_names(run), false, limit)
}

/// The run could not go on, and why; nothing is lost.
fn stop(text: String) -> Outcome {
    Outcome::Broken { error: Error::Executor(text) }
}
