//! The plan: stages in order, their units, and which unit reads which.
//!
//! [`target`] selects units by what a user writes; [`cluster`] holds the options of a cluster, [`remotes`]
//! the places that results are pushed to.
//!
//! # How units of two stages meet
//!
//! Stage `train` needs `simulate`. Which units of `simulate` does one unit of `train` read? **Every one that agrees with
//! it on all axes that both stages have.** Three cases follow, and they mix freely:
//!
//! | axis is in | the rule gives | example |
//! |---|---|---|
//! | both | match | `train/rank=2,seed=1` reads `simulate/seed=1` |
//! | downstream only | fan out | `train/rank=1,seed=1` and `train/rank=2,seed=1` read the same `simulate/seed=1` |
//! | upstream only | gather | `evaluate/rank=2` reads `train/rank=2,seed=1` ... `train/rank=2,seed=5` |
//!
//! Values are compared as numbers, so an axis typed `1` in one stage meets `1.0` in another. A unit that finds no partner
//! in a stage it needs is an error: an empty join is always a mistake in a matrix or an `exclude`.

pub mod cluster;
pub mod remotes;
pub mod target;

pub use cluster::SlurmOptions;
pub use remotes::RemoteOptions;

use crate::kind::Kind;
use crate::value::{Value, ValueMap};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// What a unit takes from the machine while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Threads; `None` is all of them (`threads: all`).
    pub threads: Option<usize>,
    /// Bytes of memory; 0 means that the unit needs little and is not counted.
    pub memory: u64,
    /// Number of GPUs.
    pub gpu: usize,
}

impl Default for Resources {
    fn default() -> Self {
        Self { threads: Some(1), memory: 0, gpu: 0 }
    }
}

/// One stage, ready to run.
#[derive(Clone)]
pub struct PlannedStage {
    /// Its name in pipeline.yaml.
    pub name: String,
    /// What it does.
    pub kind: Arc<dyn Kind>,
    /// The stages it reads, as written.
    pub needs: Vec<String>,
    /// The axes of its matrix, sorted.
    pub axes: Vec<String>,
    /// Its units, as indices into [`Plan::units`].
    pub units: Range<usize>,
    /// What each unit takes.
    pub resources: Resources,
    /// How often a failed unit is tried again.
    pub retries: u32,
    /// Which of its artefacts are copied to where people look for them.
    pub publish: Option<Publish>,
}

/// Which artefacts of a stage are copied out of the store, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publish {
    /// The folder, relative to the project.
    pub folder: PathBuf,
    /// Artefacts and the names of their copies; `None` for all under their own names, which is what figures do.
    pub files: Option<BTreeMap<String, String>>,
    /// Larger artefacts are not copied.
    pub at_most: Option<u64>,
}

impl Publish {
    /// Where the copy of an artefact of this size goes, if it gets one.
    pub fn place(&self, artefact: &str, size: u64) -> Option<PathBuf> {
        let name = match &self.files {
            None => artefact,
            Some(files) => files.get(artefact)?,
        };
        self.at_most.is_none_or(|most| size <= most).then(|| self.folder.join(name))
    }
}

impl PlannedStage {
    /// Whether all it makes is published: it is a figure or a table, not data behind one.
    pub fn is_shown(&self) -> bool {
        self.publish.as_ref().is_some_and(|p| p.files.is_none())
    }
}

impl std::fmt::Debug for PlannedStage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}, {} units)", self.name, self.kind.name(), self.units.len())
    }
}

/// One cell of a stage's matrix: the grain of caching, scheduling, retry and distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Index into [`Plan::stages`].
    pub stage: usize,
    /// `rank=2,seed=1`: axes sorted by name. Empty for a stage without a matrix.
    pub label: String,
    /// `stage/label`, or `stage` alone when the label is empty.
    pub id: String,
    /// The cell.
    pub axes: ValueMap,
    /// Canonical parameters.
    pub params: Value,
    /// The seed of its randomness.
    pub seed: u64,
    /// The units it reads, as indices into [`Plan::units`], ordered by stage and label.
    pub inputs: Vec<usize>,
}

/// A checked pipeline: every name in it exists and every parameter was accepted by its kind.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The project's folder.
    pub folder: PathBuf,
    /// The profile it was made for.
    pub profile: String,
    /// The run seed.
    pub seed: u64,
    /// Stages, each after the ones it needs, by name where that leaves a choice.
    pub stages: Vec<PlannedStage>,
    /// All units, stage by stage, each stage sorted by label (numbers as numbers).
    pub units: Vec<Unit>,
    /// How to use a cluster (`slurm:` in pipeline.yaml). Enters no key.
    pub slurm: SlurmOptions,
    /// Where results may be pushed to (`remotes:` in pipeline.yaml), by name. Enters no key.
    pub remotes: BTreeMap<String, RemoteOptions>,
}

impl Plan {
    /// The stage of that name.
    pub fn stage(&self, name: &str) -> Option<&PlannedStage> {
        self.stages.iter().find(|s| s.name == name)
    }

    /// The stage a unit belongs to.
    pub fn stage_of(&self, unit: usize) -> &PlannedStage {
        &self.stages[self.units[unit].stage]
    }

    /// For each unit, the units that read it.
    pub fn dependents(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new(); self.units.len()];
        for (index, unit) in self.units.iter().enumerate() {
            for &input in &unit.inputs {
                out[input].push(index);
            }
        }
        out
    }
}

/// `rank=2,seed=1`.
pub(crate) fn label(axes: &ValueMap) -> String {
    axes.iter().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>().join(",")
}
