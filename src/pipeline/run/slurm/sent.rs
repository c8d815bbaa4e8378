//! What the driver knows of units that wait to be submitted or were submitted, in memory.

use super::commands::TaskState;
use super::files::ChunkUnit;
use crate::freshness::key::Key;
use crate::run::executor::Job;
use std::time::Instant;

/// A unit that waits to be submitted.
pub(super) struct Queued {
    pub(super) job: Job,
    /// Not before this: failed units pause.
    pub(super) due: Instant,
}

/// A unit in a chunk that was submitted.
pub(super) struct Sent {
    pub(super) unit: ChunkUnit,
    /// The scheduler's job, when the scheduler of this process waits for it.
    pub(super) job: Option<Job>,
    pub(super) done: bool,
    /// A task reported that its record is in the store; this machine may see it later.
    pub(super) reported: bool,
}

impl Sent {
    pub(super) fn new(unit: ChunkUnit, job: Option<Job>) -> Self {
        Self { unit, job, done: false, reported: false }
    }
}

/// A submitted chunk whose units are not all accounted for.
pub(super) struct Chunk {
    pub(super) array: String,
    pub(super) task: usize,
    pub(super) units: Vec<Sent>,
    pub(super) offset: u64,
    /// Where its last task ran.
    pub(super) node: Option<String>,
    pub(super) running: Option<Key>,
    /// When this driver read the task's message that it ended as it should.
    pub(super) ended: Option<Instant>,
    /// Slurm says that the task is over, or does not know it, since then.
    pub(super) over: Option<(Instant, TaskState)>,
    /// An earlier driver submitted it, and this one has not seen it in the queue: it may have been cancelled with that driver.
    pub(super) inherited: bool,
}

impl Chunk {
    /// Task number `task` of the array named `array`. `inherited` says that an earlier driver submitted it.
    pub(super) fn new(array: &str, task: usize, units: Vec<Sent>, inherited: bool) -> Self {
        let array = array.to_string();
        Self { array, task, units, offset: 0, node: None, running: None, ended: None, over: None, inherited }
    }
}
