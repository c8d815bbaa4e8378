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
//! | a worker is another program, or sees other inputs | the run stops and says which |
//! | the driver dies | its jobs go on; the next driver takes them over |

mod chunks;
pub mod commands;
pub mod folder;
mod submit;
mod watch;
pub mod worker;

use super::event::Event;
use super::executor::{Executor, Job, Outcome, Report, Reporter};
use super::{RunOptions, Summary};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::plan::SlurmOptions;
use commands::TaskState;
use folder::{ChunkFile, ChunkUnit, RunFolder, TaskMessage};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Units at hand at once: all of them, so that chunks can be formed.
const QUEUE: usize = 1_000_000;

/// A unit that waits to be submitted.
struct Queued {
    job: Job,
    /// Not before this: failed units pause.
    due: Instant,
}

/// A unit in a chunk that was submitted.
struct Sent {
    unit: ChunkUnit,
    /// The scheduler's job, when the scheduler of this process waits for it.
    job: Option<Job>,
    done: bool,
    /// A task reported that its record is in the store; this machine may see it later.
    reported: bool,
}

impl Sent {
    fn new(unit: ChunkUnit, job: Option<Job>) -> Self {
        Self { unit, job, done: false, reported: false }
    }
}

/// A submitted chunk whose units are not all accounted for.
struct Chunk {
    array: String,
    task: usize,
    units: Vec<Sent>,
    offset: u64,
    /// Where its last task ran.
    node: Option<String>,
    running: Option<Key>,
    /// When this driver read the task's message that it ended as it should.
    ended: Option<Instant>,
    /// Slurm says that the task is over, or does not know it, since then.
    over: Option<(Instant, TaskState)>,
    /// An earlier driver submitted it, and this one has not seen it in the queue: it may have been cancelled with that driver.
    inherited: bool,
}

impl Chunk {
    /// Task number `task` of the array named `array`. `inherited` says that an earlier driver submitted it.
    fn new(array: &str, task: usize, units: Vec<Sent>, inherited: bool) -> Self {
        let array = array.to_string();
        Self { array, task, units, offset: 0, node: None, running: None, ended: None, over: None, inherited }
    }
}

/// Runs units on a cluster.
pub struct Slurm<'a> {
    engine: &'a Engine,
    run: RunFolder,
    /// The words of the command that starts a worker; the run's id and the number of a chunk follow.
    worker: Vec<String>,
    options: SlurmOptions,
    cancel: Arc<AtomicBool>,
    stopped: bool,
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
            stopped: false,
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
        let back = |job: &Job| {
            let error = "the run was stopped".to_string();
            reporter.report(Report::Done { unit: job.unit, outcome: Outcome::Failed { error } });
        };
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

    fn submit(&mut self, job: Job, _: &Reporter) -> Result<()> {
        if let Some(chunk) = self.places.get(&job.key).and_then(|id| self.chunks.get_mut(id))
            && let Some(sent) = chunk.units.iter_mut().find(|u| u.unit.key == job.key && !u.done)
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
        if self.stopped {
            self.hand_back(reporter);
            return Ok(());
        }
        self.form(reporter)?;
        self.watch(reporter)
    }

    fn poll_every(&self) -> Duration {
        watch::LOOK.0
    }

    fn cancel(&mut self) {
        self.stopped = true;
        let names: BTreeSet<String> = self.chunks.values().map(|c| c.array.clone()).collect();
        // Jobs that cannot be cancelled end on their own; their results will be found.
        let _ = commands::scancel(&names.into_iter().collect::<Vec<_>>());
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
    if summary.is_err() {
        slurm.cancel();
    }
    run.end(match &summary {
        Ok(summary) if summary.is_complete() => 0,
        Ok(summary) if summary.interrupted => 130,
        Ok(_) => 1,
        Err(_) => 2,
    });
    summary
}

/// The run could not go on, and why; nothing is lost.
fn stop(text: String) -> Outcome {
    Outcome::Broken { error: Error::Executor(text) }
}
