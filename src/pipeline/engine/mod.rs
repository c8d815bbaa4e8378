//! The engine: a plan, a store, and what one can do with them.
//!
//! * this file: open, run, dry run, lock file.
//! * `execute`: one attempt at one unit.
//! * `inspect` answers `status`, `why`, `locate` and `logs`; `verify` reads every stored byte; `collect` removes results
//!   that nothing refers to; [`share`] exchanges results with other stores. [`answers`] holds the types of their answers.

pub mod answers;
pub mod collect;
mod execute;
mod inspect;
mod mark;
pub mod share;
mod verify;

use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::freshness::stale::Stale;
use crate::freshness::{Freshness, Judge};
use crate::host;
use crate::kind::context::Environment;
use crate::plan::Plan;
use crate::plan::target::select;
use crate::run::event::Event;
use crate::run::executor::Executor;
use crate::run::local::Local;
use crate::run::schedule::Scheduler;
use crate::run::{Force, Pending, RunOptions, Summary};
use crate::store::claim::Role;
use crate::store::lockfile::{Locked, Lockfile};
use crate::store::record::{Host, Record};
use crate::store::{Session, Store};
use crate::value::digest::Digest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the engine must know in addition to the plan.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// The program's name. The store is the folder `.NAME` and the lock file is `NAME.lock`, both beside pipeline.yaml,
    /// and jobs on a cluster are called `NAME-RUN-NUMBER`.
    pub name: String,
    /// Version of the program, for provenance.
    pub program: String,
    /// The compiler that built it, for provenance.
    pub rustc: String,
    /// What stages may look at.
    pub env: Environment,
    /// Names of the values of `env` that are recorded with each result.
    pub recorded: Vec<String>,
    /// Where the store is; `.NAME` in the project's folder when `None`.
    pub store: Option<PathBuf>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let (program, rustc, env) = Default::default();
        Self { name: "pipeline".to_string(), program, rustc, env, recorded: Vec::new(), store: None }
    }
}

/// A plan and the store of its results.
pub struct Engine {
    plan: Plan,
    store: Store,
    name: String,
    env: Arc<Environment>,
    settings: BTreeMap<String, String>,
    host: Host,
    host_digest: Digest,
}

impl Engine {
    /// Opens the store, or an empty one. Writes nothing before the first [`Engine::run`].
    pub fn open(plan: Plan, options: EngineOptions) -> Result<Self> {
        let folder = options.store.clone().unwrap_or_else(|| plan.folder.join(format!(".{}", options.name)));
        Ok(Self::with_store(plan, Store::open(folder)?, options))
    }

    /// The same with a store that is open already: reading a long journal takes as long as checking a large plan, and a
    /// program may do both at once.
    pub fn with_store(plan: Plan, store: Store, options: EngineOptions) -> Self {
        let EngineOptions { name, program, rustc, env, recorded, .. } = options;
        let host = host::host(&program, &rustc);
        let host_digest = Digest::of(format!("{host:?}").as_bytes());
        let settings = recorded.into_iter().filter_map(|name| env.get(&name).map(|v| (name.clone(), v.to_string())));
        let settings = settings.collect();
        Self { plan, store, name, env: Arc::new(env), settings, host, host_digest }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The program's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The values of the environment that are recorded with each result.
    pub(crate) fn settings(&self) -> &BTreeMap<String, String> {
        &self.settings
    }

    pub(crate) fn env(&self) -> &Arc<Environment> {
        &self.env
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn host_digest(&self) -> Digest {
        self.host_digest
    }

    pub(crate) fn judge(&self) -> Judge<'_> {
        Judge::new(&self.plan, &self.store, &self.env)
    }

    /// Where the lock file is: `NAME.lock`, or `NAME.PROFILE.lock` for a profile that is not the default, so that a
    /// quick run of a small profile does not rewrite the committed file.
    pub fn lock_path(&self) -> PathBuf {
        self.plan.folder.join(match self.plan.profile.as_str() {
            "default" => format!("{}.lock", self.name),
            other => format!("{}.{other}.lock", self.name),
        })
    }

    /// Runs what is stale, on threads of this process.
    pub fn run(&self, options: &RunOptions, events: &mut dyn FnMut(Event)) -> Result<Summary> {
        let most = if options.jobs == 0 { host::cores() } else { options.jobs };
        std::thread::scope(|scope| {
            let mut local = Local::new(scope, self, most);
            self.run_on(&mut local, options, events)
        })
    }

    /// Runs what is stale, on any executor.
    pub fn run_on(
        &self,
        executor: &mut dyn Executor,
        options: &RunOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Summary> {
        // Before anything is judged: gc must not remove what this run finds fresh. A store that cannot be written has no
        // gate; it is good enough for a run that has nothing to do.
        let waiting = || events(Event::Note("waiting for gc to end in this project".to_string()));
        let gate = self.store.enter(waiting).ok();
        self.store.journal.refresh()?;
        Scheduler::new(self, options, executor, events)?.run(executor, gate)
    }

    /// What [`Engine::run`] would run, and why, in plan order. Units whose only reason is
    /// [`Stale::UpstreamStale`] may turn out not to need a run.
    pub fn dry_run(&self, options: &RunOptions) -> Result<Vec<Pending>> {
        self.store.journal.refresh()?;
        let (scope, forced) = self.scope(options)?;
        let judge = self.judge();
        let mut states: Vec<Option<Freshness>> = vec![None; self.plan.units.len()];
        let mut pending = Vec::new();
        for unit in (0..self.plan.units.len()).filter(|&u| scope[u]) {
            let mut state = judge.one(unit, &states, true)?;
            let mut reasons = judge.reasons(unit, &state, || judge.parts_in(unit, &states)).0;
            if forced[unit] {
                if let Freshness::Fresh { key, .. } = &state {
                    state = Freshness::Stale { key: *key, damage: vec![Stale::Forced] };
                }
                reasons.insert(0, Stale::Forced);
            }
            if !matches!(state, Freshness::Fresh { .. }) {
                pending.push(Pending { unit, id: self.plan.units[unit].id.clone(), reasons });
            }
            states[unit] = Some(state);
        }
        Ok(pending)
    }

    /// Units in scope (targets and their upstream), and those to run anew.
    pub(crate) fn scope(&self, options: &RunOptions) -> Result<(Vec<bool>, Vec<bool>)> {
        let plan = self.plan();
        let targets = select(plan, &options.targets)?;
        let (mut scope, mut forced) = (vec![false; plan.units.len()], vec![false; plan.units.len()]);
        for unit in targets {
            scope[unit] = true;
            forced[unit] = options.force != Force::No;
        }
        if options.force == Force::Downstream {
            for unit in 0..plan.units.len() {
                if plan.units[unit].inputs.iter().any(|&i| forced[i]) {
                    (scope[unit], forced[unit]) = (true, true);
                }
            }
        }
        for unit in (0..plan.units.len()).rev().filter(|&u| scope[u]).collect::<Vec<_>>() {
            let mut open = vec![unit];
            while let Some(unit) = open.pop() {
                for &input in &plan.units[unit].inputs {
                    if !scope[input] {
                        scope[input] = true;
                        open.push(input);
                    }
                }
            }
        }
        Ok((scope, forced))
    }

    /// Begins work on the store outside a run; gc stays away until it ends.
    pub(crate) fn session(&self, role: Role) -> Result<Session> {
        self.store.begin(role, self.store.enter(|| {})?)
    }

    /// A digest of everything that may run and how: two processes with equal digests mean the same units by the same
    /// names, computed by the same sources.
    pub fn plan_digest(&self) -> Digest {
        let code = self.judge().code;
        let mut text = String::new();
        for unit in &self.plan.units {
            let kind = &self.plan.stages[unit.stage].kind;
            let (name, schema, code) = (kind.name(), kind.schema(), code[unit.stage]);
            text +=
                &format!("{:?} {name:?} {schema} {code} {:?} {} {:?}\n", unit.id, unit.params, unit.seed, unit.inputs);
        }
        Digest::of(text.as_bytes())
    }

    /// The unit of that id.
    pub(crate) fn unit_named(&self, id: &str) -> Option<usize> {
        self.plan.units.iter().position(|u| u.id == id)
    }

    /// Writes the lock file: the units that are done as they are now, the plan's other units as the file had them. Runs of
    /// different targets may do this at once, so a change is made under the journal's lock.
    pub(crate) fn write_lock(&self, done: &[(usize, Key, &Arc<Record>)]) -> Result<()> {
        let path = self.lock_path();
        let text = self.locked_with(done, &path).render(&self.name);
        if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
            return Ok(());
        }
        let write = || self.locked_with(done, &path).save(&path, &self.name).map(drop);
        match self.store.journal.locked(write) {
            // A store that cannot be written has no second writer either.
            Err(Error::ReadOnly(_)) => write(),
            written => written,
        }
    }

    fn locked_with(&self, done: &[(usize, Key, &Arc<Record>)], path: &Path) -> Lockfile {
        let mut lock = Lockfile::default();
        if done.len() < self.plan.units.len() {
            let mut old = Lockfile::load(path).unwrap_or_default();
            for unit in &self.plan.units {
                let stage = &self.plan.stages[unit.stage].name;
                if let Some(line) = old.stages.get_mut(stage).and_then(|units| units.remove(&unit.label)) {
                    lock.stages.entry(stage.clone()).or_default().insert(unit.label.clone(), line);
                }
            }
        }
        for (unit, key, record) in done {
            let unit = &self.plan.units[*unit];
            let locked = Locked::of(key, record);
            let stage = self.plan.stages[unit.stage].name.clone();
            lock.stages.entry(stage).or_default().insert(unit.label.clone(), locked);
        }
        lock
    }
}
