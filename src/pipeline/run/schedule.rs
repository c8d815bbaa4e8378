//! The scheduler: from stale units to fresh ones.
//!
//! Each unit in scope goes through phases:
//!
//! ```text
//! Waiting(inputs left) -> Ready -> Running -> Committing -> Done
//!        |                  |         \-> Failed (-> Ready again while retries last)
//!        |                  \-> Held by another process or by a unit with the same key -> Done, Failed or Ready
//!        \-> Done without running (early cutoff), or Blocked by a failure upstream
//! ```
//!
//! One thread (the caller's) makes all decisions; executors and the committer report to it through one channel. A unit's
//! key is computed when its last input is done, which is when early cutoff may spare it. Before a unit starts it is
//! claimed (`claims`). What becomes of it is handled in `outcome`.
//!
//! # How a run stops
//!
//! One protocol for every cause and every executor. [`Scheduler::stop_wanted`] says how: [`Stop::Gently`] after a failure
//! with `fail_fast`, [`Stop::Now`] when the user cancels or the store cannot be written. A later, stronger cause
//! replaces a weaker one. From then on no unit starts; the executor is told once per level; the run ends when every unit
//! that it had started is accounted for.

use super::commit::{self, Finished, Shared};
use super::event::Event;
use super::executor::{Executor, Reporter, Stop};
use super::forecast::Expected;
use super::pool::{Machine, Pool};
use super::{Message, RunOptions, Summary};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::freshness::key::{Key, KeyParts};
use crate::freshness::stale::Stale;
use crate::freshness::{Freshness, Judge};
use crate::host;
use crate::store::Session;
use crate::store::owner::Gate;
use crate::store::record::Record;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How often the cancel flag is looked at, and another process' progress.
const TICK: Duration = Duration::from_millis(50);

#[derive(Clone, Debug)]
pub(super) enum Phase {
    Outside,
    Waiting(usize),
    Ready,
    Held,
    Running,
    Committing,
    Done(Arc<Record>),
    Failed,
    Blocked(usize),
}

/// What is known of a unit that is to run.
pub(super) struct UnitTask {
    pub(super) key: Key,
    pub(super) parts: KeyParts,
    pub(super) damage: Vec<Stale>,
    pub(super) attempt: u32,
    pub(super) waited: bool,
}

/// A key that this process works on: the unit that runs, and the units of the same key that wait for it.
pub(super) struct AtWork {
    pub(super) leader: usize,
    pub(super) followers: Vec<usize>,
}

/// What became of a key in this run.
#[derive(Clone)]
pub(super) enum Settled {
    Computed(Arc<Record>),
    Failed { error: String, attempts: u32 },
}

pub(crate) struct Scheduler<'a> {
    pub(super) engine: &'a Engine,
    pub(super) judge: Judge<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) events: &'a mut dyn FnMut(Event),
    pub(super) dependents: Vec<Vec<usize>>,
    pub(super) forced: Vec<bool>,
    pub(super) phases: Vec<Phase>,
    /// The key of each unit whose inputs are known.
    pub(super) keys: Vec<Option<Key>>,
    pub(super) tasks: Vec<Option<UnitTask>>,
    /// How long units will take. `None` until the first look has found what is to run.
    pub(super) times: Option<Expected>,
    pub(super) pool: Pool,
    /// What the executor adds to a stage's own retries.
    pub(super) retries: u32,
    /// Units that other processes work on.
    pub(super) held: Vec<usize>,
    /// One entry per key at work in this process.
    pub(super) at_work: HashMap<Key, AtWork>,
    /// Keys that this run has computed, or failed to: what became of them.
    pub(super) settled: HashMap<Key, Settled>,
    pub(super) committing: usize,
    pub(super) stop: Option<Stop>,
    pub(super) broken: Option<Error>,
    pub(super) ran: Vec<usize>,
    pub(super) summary: Summary,
}

impl<'a> Scheduler<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        options: &'a RunOptions,
        executor: &dyn Executor,
        events: &'a mut dyn FnMut(Event),
    ) -> Result<Self> {
        let plan = engine.plan();
        let threads = if options.jobs == 0 { host::cores() } else { options.jobs };
        let memory = options.memory.unwrap_or_else(|| host::memory() / 10 * 9);
        let (scope, forced) = engine.scope(options)?;
        let phase = |&inside: &bool| if inside { Phase::Waiting(0) } else { Phase::Outside };
        Ok(Self {
            judge: engine.judge(),
            dependents: plan.dependents(),
            forced,
            phases: scope.iter().map(phase).collect(),
            keys: vec![None; plan.units.len()],
            times: None,
            tasks: (0..plan.units.len()).map(|_| None).collect(),
            pool: Pool::new(Machine { threads, memory, gpus: options.gpus }, executor.queue()),
            retries: executor.retries(),
            held: Vec::new(),
            at_work: HashMap::new(),
            settled: HashMap::new(),
            committing: 0,
            stop: None,
            broken: None,
            ran: Vec::new(),
            summary: Summary::default(),
            engine,
            options,
            events,
        })
    }

    /// Runs everything in scope that is stale. `gate` was passed before this; without one (the store cannot be written)
    /// only a run with nothing to do succeeds.
    pub(crate) fn run(mut self, executor: &mut dyn Executor, gate: Option<Gate>) -> Result<Summary> {
        let began = Instant::now();
        self.first_look()?;
        if self.pool.len() > 0 {
            let gate = gate.map_or_else(|| self.engine.store().enter(|| {}), Ok)?;
            let session = self.engine.store().begin(executor.role(), gate)?;
            self.work(executor, &session)?;
        }
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.finish(began)
    }

    /// Starts the committer and drives the run.
    fn work(&mut self, executor: &mut dyn Executor, session: &Session) -> Result<()> {
        let engine = self.engine;
        let code = self.judge.sources();
        let shared = Shared { code: &code, host: (engine.host_digest(), engine.host()) };
        let (sender, inbox) = channel();
        let outbox = sender.clone();
        std::thread::scope(|scope| {
            let (finished, queue) = channel();
            let commit = move || commit::run(engine.store(), &shared, queue, &outbox);
            let spawned = std::thread::Builder::new().name("committer".to_string()).spawn_scoped(scope, commit);
            spawned.map_err(|e| Error::Executor(format!("a thread could not be started: {e}")))?;
            self.drive(executor, session, &Reporter(sender), &inbox, &finished);
            Ok(())
        })
    }

    /// Divides the units into done, ready and waiting.
    fn first_look(&mut self) -> Result<()> {
        let plan = self.engine.plan();
        let mut fresh = 0;
        for unit in 0..plan.units.len() {
            if matches!(self.phases[unit], Phase::Outside) {
                continue;
            }
            let undone = |&&i: &&usize| !matches!(self.phases[i], Phase::Done(_));
            let left = plan.units[unit].inputs.iter().filter(undone).count();
            if left > 0 {
                self.phases[unit] = Phase::Waiting(left);
            } else if self.resolve(unit)? {
                fresh += 1;
            }
        }
        self.summary.fresh = fresh;
        let open = |&unit: &usize| !matches!(self.phases[unit], Phase::Outside | Phase::Done(_));
        self.planned((0..plan.units.len()).filter(open).collect());
        Ok(())
    }

    /// All inputs are done: looks for a result. Without one the unit is ready. Returns whether it is done.
    pub(super) fn resolve(&mut self, unit: usize) -> Result<bool> {
        let record = |i: usize| if let Phase::Done(record) = &self.phases[i] { Some(&**record) } else { None };
        let (key, externals) = self.judge.key(unit, record);
        let (key, damage) = match self.judge.judge(key, true)? {
            Freshness::Fresh { key, record } if !self.forced[unit] => {
                self.phases[unit] = Phase::Done(record);
                self.keys[unit] = Some(key);
                return Ok(true);
            }
            Freshness::Fresh { key, .. } => (key, vec![Stale::Forced]),
            Freshness::Stale { key, damage } => (key, damage),
            Freshness::Unknown { .. } => return Ok(false),
        };
        let parts = self.judge.parts_with(unit, externals, record);
        self.keys[unit] = Some(key);
        self.tasks[unit] = Some(UnitTask { key, parts, damage, attempt: 1, waited: false });
        self.ready(unit);
        Ok(false)
    }

    pub(super) fn ready(&mut self, unit: usize) {
        self.phases[unit] = Phase::Ready;
        self.enqueue(unit);
    }

    /// Whether the run is to stop, and how.
    fn stop_wanted(&self) -> Option<Stop> {
        if self.broken.is_some() || self.options.cancel.load(Ordering::Relaxed) {
            Some(Stop::Now)
        } else if self.options.fail_fast && !self.summary.failed.is_empty() {
            Some(Stop::Gently)
        } else {
            None
        }
    }

    /// Whether units in flight were asked to end.
    pub(super) fn stop_now(&self) -> bool {
        self.stop_wanted() == Some(Stop::Now)
    }

    /// The run cannot go on. The first reason is the one that is reported.
    pub(super) fn give_up(&mut self, error: Error) {
        self.broken.get_or_insert(error);
    }

    /// Works until nothing is left to do, or until everything that was started has ended after a stop.
    fn drive(
        &mut self,
        executor: &mut dyn Executor,
        session: &Session,
        reporter: &Reporter,
        inbox: &Receiver<Message>,
        finished: &Sender<Finished>,
    ) {
        loop {
            let wanted = self.stop_wanted();
            if wanted > self.stop {
                self.stop = wanted;
                self.summary.interrupted = self.options.cancel.load(Ordering::Relaxed);
                executor.stop(wanted.unwrap_or(Stop::Now), reporter);
            }
            if let Err(error) = self.dispatch(executor, session, reporter).and_then(|()| executor.poll(reporter)) {
                self.give_up(error);
            }
            let idle = self.pool.running == 0 && self.committing == 0;
            if idle && (self.stop.is_some() || (self.pool.len() == 0 && self.held.is_empty())) {
                if self.stop_wanted() > self.stop {
                    continue;
                }
                return;
            }
            let patience = if self.pool.len() > 0 && idle { Duration::ZERO } else { TICK.min(executor.poll_every()) };
            if let Ok(message) = inbox.recv_timeout(patience) {
                for message in std::iter::once(message).chain(inbox.try_iter()) {
                    if let Err(error) = self.handle(message, finished) {
                        self.give_up(error);
                    }
                }
            }
            if self.stop.is_none()
                && let Err(error) = self.look_at_held()
            {
                self.give_up(error);
            }
        }
    }
}
