//! Where units run: the [`Executor`] trait.
//!
//! The scheduler decides *what* and *when*; an executor decides *where*. `Local` runs units on threads of this
//! process. A cluster executor submits jobs whose workers open the same store, run the unit with
//! [`Engine::execute`](crate::Engine::execute) and commit its record themselves; it then reports [`Outcome::Stored`].
//! **The store is the truth**: whatever an executor reports, a unit is done when its record is in the store.

use crate::error::{Error, Result};
use crate::freshness::key::{Key, KeyParts};
use crate::store::Taken;
use crate::store::claim::Role;
use crate::store::record::Provenance;
use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// One attempt at one unit.
#[derive(Clone, Debug)]
pub struct Job {
    /// Index into [`crate::Plan::units`].
    pub unit: usize,
    /// Its key.
    pub key: Key,
    /// What went into the key.
    pub parts: KeyParts,
    /// Threads it may use.
    pub threads: usize,
    /// Seconds the last run of this unit took, when known.
    pub expected: Option<f64>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// Where to make the unit's scratch folder.
    pub scratch: PathBuf,
}

/// How an attempt ended.
#[derive(Debug)]
pub enum Outcome {
    /// The unit ran here; its artefacts are in the store and its record is still to be committed.
    Ran {
        /// What it wrote.
        taken: Taken,
        /// How.
        provenance: Provenance,
    },
    /// A worker ran it and committed the record to the store itself.
    Stored,
    /// It was not run, or not to its end, because the run stops.
    Stopped,
    /// It failed.
    Failed {
        /// The error and its causes.
        error: String,
    },
    /// The store itself failed (disk full, read-only): the run must stop, the unit is not to blame.
    Broken {
        /// Why.
        error: Error,
    },
}

/// What executors report to the scheduler.
#[derive(Debug)]
pub enum Report {
    /// Reports a unit's progress: the fraction done and a short text.
    Progress {
        /// The unit.
        unit: usize,
        /// In 0..=1.
        fraction: f64,
        /// A few words.
        message: String,
    },
    /// Something worth a line that is no error.
    Note(String),
    /// An attempt ended.
    Done {
        /// The unit.
        unit: usize,
        /// How.
        outcome: Outcome,
    },
}

/// How a run stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// Nothing new starts, and units that run end by themselves: what `fail_fast` does after a failure.
    Gently,
    /// Units that run are asked to end as well: the user cancelled, or the store cannot be written.
    Now,
}

/// Where executors send their reports. Cheap to clone, usable from any thread.
#[derive(Clone)]
pub struct Reporter(pub(crate) Sender<crate::run::Message>);

impl Reporter {
    /// Sends a report. A report after the end of the run is dropped.
    pub fn report(&self, report: Report) {
        let _ = self.0.send(crate::run::Message::Report(report));
    }
}

/// Runs units somewhere.
pub trait Executor {
    /// Its name for users.
    fn name(&self) -> &str;

    /// How many units it wants at hand at once, when that is not decided by threads and memory of this machine. A
    /// cluster executor returns a large number so that it can form chunks.
    fn queue(&self) -> Option<usize> {
        None
    }

    /// How often a failed unit is tried again at least, whatever its stage says: elsewhere units also fail for reasons
    /// that are not theirs.
    fn retries(&self) -> u32 {
        0
    }

    /// What a process that runs units this way is to other processes.
    fn role(&self) -> Role {
        Role::Run
    }

    /// Takes a unit. Returns at once; the end of the attempt comes through the reporter.
    fn submit(&mut self, job: Job, reporter: &Reporter) -> Result<()>;

    /// Called whenever the scheduler has submitted what it could, and then at least every [`Executor::poll_every`]: the
    /// place to form chunks, look at a queue and look at the store.
    fn poll(&mut self, reporter: &Reporter) -> Result<()> {
        let _ = reporter;
        Ok(())
    }

    /// How long the scheduler may sleep between polls.
    fn poll_every(&self) -> Duration {
        Duration::from_secs(3600)
    }

    /// The run stops, in this way: called once for each way, [`Stop::Now`] possibly after [`Stop::Gently`]. Nothing is
    /// submitted any more, and every unit that was submitted still gets its report.
    fn stop(&mut self, how: Stop, reporter: &Reporter);
}
