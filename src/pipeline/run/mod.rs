//! Running a plan: which units, in what order, on what, and what became of them.

pub(crate) mod claims;
pub(crate) mod commit;
pub mod event;
pub mod executor;
pub(crate) mod finish;
pub mod forecast;
pub mod local;
pub(crate) mod outcome;
pub(crate) mod pool;
pub(crate) mod publish;
pub(crate) mod schedule;
pub mod slurm;

use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::error::Error;
use crate::freshness::stale::Stale;
use crate::value::Value;

/// What the scheduler waits for.
#[derive(Debug)]
pub(crate) enum Message {
    /// From an executor.
    Report(executor::Report),
    /// From the committer: these units are in the journal, for good.
    Committed(Vec<commit::Committed>),
    /// From the committer: the store cannot be written.
    Broken(Error),
}

/// What to run anew although it is fresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Force {
    /// Nothing.
    #[default]
    No,
    /// The targets.
    Targets,
    /// The targets and everything that reads them, directly or not.
    Downstream,
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// `all`, `STAGE`, `STAGE/UNIT` or globs; none means all. Stale upstream units run first.
    pub targets: Vec<String>,
    /// Threads to share out among units; 0 means all cores.
    pub jobs: usize,
    /// Bytes of memory to share out; `None` means nine tenths of the machine's.
    pub memory: Option<u64>,
    /// GPUs to share out.
    pub gpus: usize,
    /// What to run anew.
    pub force: Force,
    /// Start nothing new once a unit failed; on a cluster, what has not started is taken out of the queue. Without it,
    /// whatever does not depend on the failed unit goes on.
    pub fail_fast: bool,
    /// Measures this machine on so many threads: seconds for each second of [cost](crate::Kind::cost). Asked once, when much
    /// is to run whose time no former run tells. Without it, costs count as seconds.
    pub speed: Option<fn(usize) -> f64>,
    /// Set it (from a signal handler, say) to stop: units in flight are asked to end, nothing new starts.
    pub cancel: Arc<AtomicBool>,
}

/// A unit that would run, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pending {
    /// Index into [`crate::Plan::units`].
    #[serde(skip)]
    pub unit: usize,
    /// `stage/label`.
    pub id: String,
    /// Why.
    pub reasons: Vec<Stale>,
}

/// A unit that failed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailedUnit {
    /// `stage/label`.
    pub id: String,
    /// Its parameters.
    pub params: Value,
    /// The error and its causes.
    pub error: String,
    /// Attempts made.
    pub attempts: u32,
    /// Its log.
    pub log: PathBuf,
}

/// What became of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Units that were fresh and left alone.
    pub fresh: usize,
    /// Ids of the units that ran, in plan order.
    pub ran: Vec<String>,
    /// Units that were upstream stale and turned out not to need a run, or that another process ran.
    pub spared: usize,
    /// Units that failed.
    pub failed: Vec<FailedUnit>,
    /// Units that could not start because one they need failed: (unit, failed unit).
    pub blocked: Vec<(String, String)>,
    /// Units that were not started because the run was cancelled or stopped at a failure.
    pub not_started: usize,
    /// Whether the run was cancelled.
    pub interrupted: bool,
    /// Files copied into `publish` folders.
    pub published: Vec<PathBuf>,
    /// Files that could not be copied into `publish` folders, each with the reason. Their results are in the store.
    pub unpublished: Vec<(PathBuf, String)>,
    /// Wall time in seconds.
    pub wall: f64,
}

impl Summary {
    /// Whether everything asked for is fresh now.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty() && self.blocked.is_empty() && !self.interrupted && self.not_started == 0
    }
}
