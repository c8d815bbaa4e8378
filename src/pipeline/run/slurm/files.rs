//! What the files of a run on a cluster hold; [`super::folder`] says where they are.

use crate::freshness::key::{Key, KeyParts};
use crate::kind::context::Environment;
use crate::plan::SlurmOptions;
use crate::value::digest::Digest;
use serde::{Deserialize, Serialize};

/// What was asked for: enough for another process to continue, and for a task to know that it is the same program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The program and its version.
    pub program: String,
    /// [`crate::Engine::plan_digest`] of the driver.
    pub plan: Digest,
    /// The profile.
    pub profile: String,
    /// `--set`.
    pub sets: Vec<(String, String)>,
    /// What stages may look at.
    pub env: Environment,
    /// What to run.
    pub targets: Vec<String>,
    /// Whether to stop at the first failure.
    pub fail_fast: bool,
    /// Options of the cluster.
    pub options: SlurmOptions,
}

impl RunInfo {
    /// Whether two runs are the same but for how they use the cluster.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        *self == Self { options: self.options.clone(), ..other.clone() }
    }
}

/// A chunk as submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkFile {
    /// Seconds after which no further unit is started.
    pub deadline: f64,
    pub units: Vec<ChunkUnit>,
}

/// One unit of a chunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ChunkUnit {
    pub id: String,
    pub key: Key,
    pub parts: KeyParts,
    pub attempt: u32,
    /// Whether to run it although it has a record (forced, or its objects are damaged).
    pub again: bool,
}

/// One submission.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrayFile {
    /// The job's name, by which Slurm is asked about it: written before submitting, so that no job is ever unknown.
    pub name: String,
    pub first: usize,
    pub count: usize,
}

/// A message of a task to the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskMessage {
    /// A task begins, on this node.
    Begin { node: String },
    /// A unit starts.
    Start(Key),
    /// A unit's record is in the store.
    Done(Key),
    /// A unit failed.
    Failed { key: Key, error: String },
    /// A unit wrote other bytes than another task did.
    Differs { key: Key, text: String },
    /// The store failed.
    Broken(String),
    /// The task is not the same program on the same inputs.
    Refused(String),
    /// The task ended as it should; units not done are to be submitted again.
    End,
}
