//! The engine: a plan, a store, and the questions and orders one can put to them.

use crate::context::Environment;
use crate::error::Result;
use crate::plan::Plan;
use crate::query::{Collected, Located, StageStatus, UnitLog, Verified, Why};
use crate::run::event::Event;
use crate::run::executor::Executor;
use crate::run::{Pending, RunOptions, Summary};
use std::path::PathBuf;

/// What the engine must know beside the plan.
#[derive(Clone, Debug, Default)]
pub struct EngineOptions {
    /// Version of the program, for provenance.
    pub program: String,
    /// The compiler that built it, for provenance.
    pub rustc: String,
    /// What stages may look at.
    pub env: Environment,
    /// Where the store is; `.repro` in the project's folder when `None`.
    pub store: Option<PathBuf>,
}

/// A plan and the store of its results.
pub struct Engine {
    plan: Plan,
}

impl Engine {
    /// Opens the store, or an empty one. Writes nothing before the first [`Engine::run`].
    pub fn open(plan: Plan, options: EngineOptions) -> Result<Self> {
        let _ = options;
        Ok(Self { plan })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs what is stale, on threads of this process.
    pub fn run(&self, options: &RunOptions, events: &mut dyn FnMut(Event)) -> Result<Summary> {
        let _ = (options, events);
        todo!()
    }

    /// Runs what is stale, on any executor.
    pub fn run_on(
        &self,
        executor: &mut dyn Executor,
        options: &RunOptions,
        events: &mut dyn FnMut(Event),
    ) -> Result<Summary> {
        let _ = (executor, options, events);
        todo!()
    }

    /// What [`Engine::run`] would run, and why.
    pub fn dry_run(&self, options: &RunOptions) -> Result<Vec<Pending>> {
        let _ = options;
        todo!()
    }

    /// One row per stage.
    pub fn status(&self) -> Result<Vec<StageStatus>> {
        todo!()
    }

    /// Why the targets are stale, or that they are not.
    pub fn why<S: AsRef<str>>(&self, targets: &[S]) -> Result<Vec<Why>> {
        let _ = targets.len();
        todo!()
    }

    /// Rehashes every artefact of the targets' current results and compares with `repro.lock`.
    pub fn verify<S: AsRef<str>>(&self, targets: &[S]) -> Result<Verified> {
        let _ = targets.len();
        todo!()
    }

    /// Executes `count` random finished units of the targets again in scratch and compares bytes.
    pub fn verify_rerun<S: AsRef<str>>(&self, targets: &[S], count: usize, random: u64) -> Result<Verified> {
        let _ = (targets.len(), count, random);
        todo!()
    }

    /// Removes what no current result needs.
    pub fn gc(&self, dry_run: bool) -> Result<Collected> {
        let _ = dry_run;
        todo!()
    }

    /// Where the artefacts of the targets lie; only `artefact` when given.
    pub fn locate<S: AsRef<str>>(&self, targets: &[S], artefact: Option<&str>) -> Result<Vec<Located>> {
        let _ = (targets.len(), artefact);
        todo!()
    }

    /// The logs of the targets' last attempts.
    pub fn logs<S: AsRef<str>>(&self, targets: &[S]) -> Result<Vec<UnitLog>> {
        let _ = targets.len();
        todo!()
    }
}
