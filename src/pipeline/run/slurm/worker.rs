//! A worker: what a task of a job array does with one chunk of units on a node.
//!
//! It opens the same store as the driver, makes sure that it is the same program on the same inputs, runs the units of
//! its chunk one after the other and commits their records itself. It may be killed at any moment, started again for the
//! same chunk, or run beside another task of the same chunk: a unit that has a record is not run, a unit that another
//! living task works on is left for later, and of two records of one unit the first stays.
//!
//! No clock of another machine is ever compared with this one's.

use super::compare::{differs, other_inputs};
use super::files::{ChunkFile, ChunkUnit, TaskMessage};
use super::folder::RunFolder;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::host;
use crate::run::Message;
use crate::run::commit::{self, Committed, Finished, Shared};
use crate::run::executor::{Job, Outcome};
use crate::store::Session;
use crate::store::claim::{Role, Verdict};
use crate::store::index::Entry;
use crate::store::record::Record;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A unit that brought down that many tasks of its chunk is not tried by the next.
const FATAL: usize = 3;
/// Time between looks at a unit that another task works on.
const PAUSE: Duration = Duration::from_millis(200);

struct Worker<'a> {
    engine: &'a Engine,
    run: &'a RunFolder,
    session: Session,
    messages: File,
    threads: usize,
    grace: Duration,
    cancel: Arc<AtomicBool>,
    /// Units of this task that are being committed, by plan index.
    units: HashMap<usize, ChunkUnit>,
}

/// What to do with a unit now.
enum Turn {
    Run,
    Recorded,
    Busy,
}

/// Works on a chunk. `Ok(false)` when it could not be worked on and the driver has been reported why.
pub fn exec_chunk(
    engine: &Engine,
    program: &str,
    run: &RunFolder,
    chunk: usize,
    cancel: Arc<AtomicBool>,
) -> Result<bool> {
    let info = run.info()?;
    let grace = info.options.grace();
    let mut messages = run.open_messages(chunk)?;
    let node = std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| "this machine".into());
    send(&mut messages, &TaskMessage::Begin { node: node.clone() })?;
    let refuse = |messages: &mut File, why: String| {
        send(messages, &TaskMessage::Refused(format!("node {node}: {why}"))).map(|()| false)
    };
    if info.program != program {
        let why =
            format!("this is {program}, the run was started by {}; install one version on all nodes", info.program);
        return refuse(&mut messages, why);
    }
    if info.plan != engine.plan_digest() {
        let why = "pipeline.yaml or the program's stages are not those the run was started with; cancel the run and start it again";
        return refuse(&mut messages, why.into());
    }
    let file: ChunkFile = patiently(grace, || run.read(&format!("chunks/{chunk}.json")))?;
    // Behind the gate from here on, so that gc cannot remove what is read now and used later.
    let session = engine.session(Role::Task(run.id.clone()));
    if let Some(why) = other_inputs(engine, &file) {
        return refuse(&mut messages, why);
    }
    let threads =
        ["SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE"].iter().find_map(|v| std::env::var(v).ok()?.parse().ok());
    let ended = session.and_then(|session| {
        let messages = messages.try_clone().map_err(|e| Error::io("write", run.path(), e))?;
        let threads = threads.unwrap_or_else(host::cores);
        let mut worker = Worker { engine, run, session, messages, threads, grace, cancel, units: HashMap::new() };
        worker.work(chunk, file)
    });
    match ended {
        Ok(()) => Ok(true),
        Err(error) => {
            send(&mut messages, &TaskMessage::Broken(format!("node {node}: {error}")))?;
            Ok(false)
        }
    }
}

fn send(messages: &mut File, message: &TaskMessage) -> Result<()> {
    let wrong = |e| Error::io("write", Path::new("the messages of a chunk"), e);
    let mut line = serde_json::to_vec(message).map_err(|e| wrong(e.into()))?;
    line.push(b'\n');
    // One write, so that lines of two tasks do not mix.
    messages.write_all(&line).map_err(wrong)
}

/// Tries until it works or the grace period is over.
fn patiently<T>(grace: Duration, mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    loop {
        match attempt() {
            Err(_) if start.elapsed() < grace => std::thread::sleep(PAUSE),
            answer => return answer,
        }
    }
}

impl Worker<'_> {
    fn work(&mut self, chunk: usize, file: ChunkFile) -> Result<()> {
        let start = Instant::now();
        // What earlier tasks of this chunk did.
        let (mut starts, mut done) = (HashMap::<_, usize>::new(), HashSet::new());
        for message in self.run.messages(chunk, &mut 0) {
            match message {
                TaskMessage::Start(key) => *starts.entry(key).or_default() += 1,
                TaskMessage::Done(key) | TaskMessage::Failed { key, .. } => {
                    done.insert(key);
                }
                _ => {}
            }
        }
        let mut queue: VecDeque<ChunkUnit> = file.units.into_iter().filter(|u| !done.contains(&u.key)).collect();
        let engine = self.engine;
        let code = engine.judge().sources();
        let shared = Shared { code: &code, host: (engine.host_digest(), engine.host()) };
        let (outbox, inbox) = channel();
        std::thread::scope(|scope| {
            let (finished, work) = channel();
            scope.spawn(move || commit::run(engine.store(), &shared, work, &outbox));
            let mut busy = 0;
            while let Some(unit) = queue.pop_front() {
                let late = start.elapsed().as_secs_f64() > file.deadline;
                if late || self.cancel.load(Ordering::Relaxed) || self.run.stop_requested() {
                    break;
                }
                match self.turn(&unit)? {
                    Turn::Recorded => send(&mut self.messages, &TaskMessage::Done(unit.key))?,
                    Turn::Busy => {
                        busy += 1;
                        if busy > queue.len() {
                            busy = 0;
                            std::thread::sleep(PAUSE);
                        }
                        queue.push_back(unit);
                    }
                    Turn::Run if starts.get(&unit.key).is_some_and(|&n| n >= FATAL) => {
                        let error = format!(
                            "its job ended {FATAL} times while it ran (killed, out of memory, or the node was lost)"
                        );
                        self.failed(unit.key, error)?;
                    }
                    Turn::Run => {
                        busy = 0;
                        self.run(unit, &finished)?;
                    }
                }
                self.committed(&inbox, false)?;
            }
            drop(finished);
            self.committed(&inbox, true)
        })?;
        if self.cancel.load(Ordering::Relaxed) { Ok(()) } else { send(&mut self.messages, &TaskMessage::End) }
    }

    /// Decides under the journal's lock whether this task runs the unit, so that of two tasks one does.
    fn turn(&self, unit: &ChunkUnit) -> Result<Turn> {
        let (locks, owner) = (self.engine.store().locks(), &self.session.owner);
        self.engine.store().journal.update(|index| match owner.decide(index, &unit.key, unit.again, &locks) {
            Verdict::Recorded => (Vec::new(), Turn::Recorded),
            Verdict::Theirs(_) | Verdict::Served => (Vec::new(), Turn::Busy),
            Verdict::Ours => (vec![owner.claim(unit.key)], Turn::Run),
        })
    }

    /// A unit failed: its claim goes back first, so that whoever tries it again need not wait for the end of this task.
    fn failed(&mut self, key: Key, error: String) -> Result<()> {
        let release = Entry::Release { key, owner: self.session.owner.id.clone() };
        self.engine.store().journal.update(|_| (vec![release], ()))?;
        send(&mut self.messages, &TaskMessage::Failed { key, error })
    }

    fn run(&mut self, unit: ChunkUnit, finished: &std::sync::mpsc::Sender<Finished>) -> Result<()> {
        let Some(index) = self.engine.unit_named(&unit.id) else { return Ok(()) };
        send(&mut self.messages, &TaskMessage::Start(unit.key))?;
        for digest in unit.parts.inputs.values().flat_map(|artefacts| artefacts.values()) {
            let path = self.engine.store().objects.path(digest);
            patiently(self.grace, || std::fs::metadata(&path).map_err(|e| Error::io("read", &path, e)))?;
        }
        let job = Job {
            unit: index,
            key: unit.key,
            parts: unit.parts.clone(),
            threads: self.threads,
            expected: None,
            attempt: unit.attempt,
            scratch: self.session.scratch.clone(),
        };
        match self.engine.execute(&job, None, &self.cancel) {
            Outcome::Ran { taken, provenance } => {
                let planned = &self.engine.plan().units[index];
                let record = Record {
                    stage: self.engine.plan().stage_of(index).name.clone(),
                    label: planned.label.clone(),
                    parts: job.parts,
                    artefacts: Default::default(),
                    provenance,
                };
                let mut done = Finished::new(index, unit.key, record, taken);
                done.keep = !unit.again;
                self.units.insert(index, unit);
                // The committer ends only when this sender does.
                let _ = finished.send(done);
                Ok(())
            }
            // A task that is asked to end blames no unit.
            Outcome::Failed { .. } if self.cancel.load(Ordering::Relaxed) => Ok(()),
            Outcome::Failed { error } => self.failed(unit.key, error),
            Outcome::Broken { error } => Err(error),
            Outcome::Stored | Outcome::Stopped => Ok(()),
        }
    }

    /// Reports what the committer has made permanent; waits for its end when `all`.
    fn committed(&mut self, inbox: &Receiver<Message>, all: bool) -> Result<()> {
        loop {
            let message = if all { inbox.recv().ok() } else { inbox.try_recv().ok() };
            match message {
                None => return Ok(()),
                Some(Message::Committed(units)) => {
                    units.into_iter().try_for_each(|done| self.report_committed(done))?
                }
                Some(Message::Broken(error)) => return Err(error),
                Some(Message::Report(_)) => {}
            }
        }
    }

    fn report_committed(&mut self, done: Committed) -> Result<()> {
        let Some(unit) = self.units.remove(&done.unit) else { return Ok(()) };
        if let (Some(artefact), Some(former)) = (&done.differs, &done.former) {
            let text = differs(self.engine, &unit, artefact, former, &done.record);
            send(&mut self.messages, &TaskMessage::Differs { key: unit.key, text })?;
        }
        send(&mut self.messages, &TaskMessage::Done(unit.key))
    }
}
