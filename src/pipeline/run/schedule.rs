//! The scheduler: from stale units to fresh ones.
//!
//! Each unit in scope goes through phases:
//!
//! ```text
//! Waiting(inputs left) -> Ready -> Running -> Committing -> Done
//!        |                  |         \-> Failed (-> Ready again while retries last)
//!        |                  \-> Held by another process -> Done or Ready
//!        \-> Done without running (early cutoff), or Blocked by a failure upstream
//! ```
//!
//! One thread (the caller's) makes all decisions; executors and the committer report to it through one channel. A unit's
//! key is computed when its last input is done, which is when early cutoff may spare it. Before a unit starts it is
//! claimed in the journal, under the journal's lock, so no two processes run one unit (`claims`). What becomes of it is
//! handled in `outcome`.

use super::commit::{self, Finished, Shared};
use super::event::Event;
use super::executor::{Executor, Reporter};
use super::pool::{Machine, Pool};
use super::{Message, RunOptions, Summary};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::freshness::key::{Key, KeyParts};
use crate::freshness::stale::Stale;
use crate::freshness::{Freshness, Judge};
use crate::host;
use crate::store::Session;
use crate::store::record::Record;
use std::path::PathBuf;
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

pub(crate) struct Scheduler<'a> {
    pub(super) engine: &'a Engine,
    pub(super) judge: Judge<'a>,
    pub(super) options: &'a RunOptions,
    pub(super) events: &'a mut dyn FnMut(Event),
    pub(super) dependents: Vec<Vec<usize>>,
    pub(super) forced: Vec<bool>,
    pub(super) phases: Vec<Phase>,
    pub(super) tasks: Vec<Option<UnitTask>>,
    /// Mean time of each stage's units, from former runs.
    pub(super) means: Vec<Option<f64>>,
    pub(super) pool: Pool,
    /// What the executor adds to a stage's own retries.
    pub(super) retries: u32,
    pub(super) held: Vec<usize>,
    pub(super) committing: usize,
    pub(super) stopping: bool,
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
            means: plan.stages.iter().map(|s| engine.store().journal.with(|i| i.stage_mean(&s.name))).collect(),
            tasks: (0..plan.units.len()).map(|_| None).collect(),
            pool: Pool::new(Machine { threads, memory, gpus: options.gpus }, executor.queue()),
            retries: executor.retries(),
            held: Vec::new(),
            committing: 0,
            stopping: false,
            broken: None,
            ran: Vec::new(),
            summary: Summary::default(),
            engine,
            options,
            events,
        })
    }

    /// Runs everything in scope that is stale.
    pub(crate) fn run(mut self, executor: &mut dyn Executor) -> Result<Summary> {
        let began = Instant::now();
        self.first_look()?;
        if self.pool.len() > 0 {
            let session = self.engine.store().begin()?;
            let engine = self.engine;
            let (host, code) = (engine.host(), self.judge.code.clone());
            let shared = Shared { code: &code, host: (engine.host_digest(), host) };
            let (sender, inbox) = channel();
            let outbox = sender.clone();
            std::thread::scope(|scope| {
                let (finished, queue) = channel();
                scope.spawn(move || commit::run(engine.store(), &shared, queue, &outbox));
                self.drive(executor, &session, Reporter(sender), &inbox, &finished)
            })?;
        }
        if let Some(error) = self.broken.take() {
            return Err(error);
        }
        self.finish(began)
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
        let stale = (0..plan.units.len()).filter(open).map(|unit| (unit, self.expected(unit))).collect();
        (self.events)(Event::Planned { fresh, stale });
        Ok(())
    }

    /// Seconds a unit will take: as it took before, or as its stage does on average.
    pub(super) fn expected(&self, unit: usize) -> Option<f64> {
        let u = &self.engine.plan().units[unit];
        let stage = &self.engine.plan().stages[u.stage].name;
        self.engine.store().journal.with(|i| i.expected(stage, &u.label)).or(self.means[u.stage])
    }

    /// All inputs are done: is there a result already? If not, the unit is ready. Returns whether it is done.
    pub(super) fn resolve(&mut self, unit: usize) -> Result<bool> {
        let record = |i: usize| if let Phase::Done(record) = &self.phases[i] { Some(record.clone()) } else { None };
        let state = self.judge.judge(self.judge.parts(unit, record), true)?;
        let (key, parts, damage) = match state {
            Freshness::Fresh { record, .. } if !self.forced[unit] => {
                self.phases[unit] = Phase::Done(record);
                return Ok(true);
            }
            Freshness::Fresh { key, record } => (key, record.parts.clone(), vec![Stale::Forced]),
            Freshness::Stale { key, parts, damage } => (key, parts, damage),
            Freshness::Unknown { .. } => return Ok(false),
        };
        self.tasks[unit] = Some(UnitTask { key, parts, damage, attempt: 1, waited: false });
        self.ready(unit);
        Ok(false)
    }

    pub(super) fn ready(&mut self, unit: usize) {
        self.phases[unit] = Phase::Ready;
        self.pool.push(unit, self.expected(unit));
    }

    fn drive(
        &mut self,
        executor: &mut dyn Executor,
        session: &Session,
        reporter: Reporter,
        inbox: &Receiver<Message>,
        finished: &Sender<Finished>,
    ) -> Result<()> {
        let mut told = false;
        loop {
            if !self.stopping && self.options.cancel.load(Ordering::Relaxed) {
                (self.stopping, self.summary.interrupted) = (true, true);
                executor.cancel();
            } else if self.broken.is_some() && !told {
                told = true;
                executor.cancel();
            }
            self.dispatch(executor, session, &reporter)?;
            executor.poll(&reporter)?;
            let idle = self.pool.running == 0 && self.committing == 0;
            if idle && (self.stopping || (self.pool.len() == 0 && self.held.is_empty())) {
                return Ok(());
            }
            let patience = if self.pool.len() > 0 && idle { Duration::ZERO } else { TICK.min(executor.poll_every()) };
            if let Ok(message) = inbox.recv_timeout(patience) {
                self.handle(message, finished)?;
                while let Ok(message) = inbox.try_recv() {
                    self.handle(message, finished)?;
                }
            }
            self.look_at_held()?;
        }
    }

    fn finish(mut self, began: Instant) -> Result<Summary> {
        let plan = self.engine.plan();
        let id = |unit: usize| plan.units[unit].id.clone();
        self.ran.sort_unstable();
        self.summary.ran = self.ran.iter().map(|&u| id(u)).collect();
        for (unit, phase) in self.phases.iter().enumerate() {
            match phase {
                Phase::Blocked(by) => self.summary.blocked.push((id(unit), id(*by))),
                Phase::Waiting(_) | Phase::Ready | Phase::Held => self.summary.not_started += 1,
                _ => {}
            }
        }
        let mut done: Vec<(usize, &Arc<Record>)> = Vec::new();
        for (unit, phase) in self.phases.iter().enumerate() {
            if let Phase::Done(record) = phase {
                done.push((unit, record));
            }
        }
        let published: Vec<PathBuf> = self.engine.publish(done.iter().copied(), self.events)?;
        self.engine.write_lock(&done)?;
        self.engine.store().note_seen();
        self.summary.published = published;
        self.summary.wall = began.elapsed().as_secs_f64();
        Ok(self.summary)
    }
}
