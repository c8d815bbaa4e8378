//! The types of the answers to questions about results.

use crate::freshness::stale::Stale;
use crate::store::record::{Host, Provenance};
use crate::value::Value;
use crate::value::digest::Digest;
use serde::Serialize;
use std::path::PathBuf;

/// The state of one stage.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageStatus {
    /// The stage.
    pub stage: String,
    /// Its kind.
    pub kind: String,
    /// Units with a current result.
    pub fresh: usize,
    /// Units that must run or may have to, without the failed ones.
    pub stale: usize,
    /// Units whose last attempt failed.
    pub failed: usize,
    /// Bytes of the current results.
    pub size: u64,
    /// Seconds that computing the current results took, summed over units.
    pub duration: f64,
    /// The unit that `reason` is about.
    pub first_stale: Option<String>,
    /// Why the first stale unit is.
    pub reason: Option<Stale>,
}

/// Why one unit must run, or how its result was computed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Why {
    /// `stage/label`.
    pub id: String,
    /// Whether it has a current result; then there are no reasons.
    pub fresh: bool,
    /// Its key, when its inputs are known.
    pub key: Option<Digest>,
    /// The former unit it was compared with, when it is not itself.
    pub compared_with: Option<String>,
    /// Why it must run.
    pub reasons: Vec<Stale>,
    /// How the current result was computed.
    pub provenance: Option<Provenance>,
    /// The machine it was computed on.
    pub host: Option<Host>,
}

/// One thing that `verify` found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
pub enum Finding {
    /// The bytes are not those that were stored.
    Corrupt {
        /// The unit.
        unit: String,
        /// The artefact.
        artefact: String,
    },
    /// The object is gone.
    Missing {
        /// The unit.
        unit: String,
        /// The artefact.
        artefact: String,
    },
    /// The lock file lists other bytes for an equal key: two machines computed different results.
    LockDiffers {
        /// The unit.
        unit: String,
    },
    /// Executed again, the unit wrote other bytes.
    RerunDiffers {
        /// The unit.
        unit: String,
        /// The artefact.
        artefact: String,
    },
    /// Executed again, the unit failed.
    RerunFailed {
        /// The unit.
        unit: String,
        /// The error.
        error: String,
    },
    /// The lock file is there and cannot be read.
    LockUnreadable {
        /// The file.
        path: PathBuf,
    },
    /// A line of the store's journal was damaged; the unit it recorded, if any, will run again.
    DamagedRecord {
        /// Line number in the journal.
        line: usize,
    },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Finding::Corrupt { unit, artefact } => {
                write!(f, "`{unit}`: artefact `{artefact}` is corrupt; running the unit mends it")
            }
            Finding::Missing { unit, artefact } => {
                write!(f, "`{unit}`: artefact `{artefact}` is missing; running the unit mends it")
            }
            Finding::LockDiffers { unit } => {
                write!(f, "`{unit}`: it wrote other bytes than the lock file says for the same key")
            }
            Finding::RerunDiffers { unit, artefact } => {
                write!(f, "`{unit}`: executed again, artefact `{artefact}` came out with other bytes")
            }
            Finding::RerunFailed { unit, error } => write!(f, "`{unit}`: executed again, it failed: {error}"),
            Finding::LockUnreadable { path } => {
                write!(
                    f,
                    "`{}` cannot be read, so nothing was compared with it; the next run writes it anew",
                    path.display()
                )
            }
            Finding::DamagedRecord { line } => {
                write!(f, "line {line} of the store's journal is damaged; what it recorded will be computed again")
            }
        }
    }
}

/// What `verify` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verified {
    /// Units looked at.
    pub units: usize,
    /// Artefacts hashed.
    pub artefacts: usize,
    /// Bytes hashed.
    pub bytes: u64,
    /// Units without a current result, which were skipped.
    pub stale: usize,
    /// Units executed again.
    pub rerun: usize,
    /// What is wrong.
    pub problems: Vec<Finding>,
}

/// What `gc` removed, or would remove.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Collected {
    /// Whether anything was removed.
    pub dry_run: bool,
    /// Objects removed.
    pub objects: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Records removed.
    pub records: usize,
    /// Objects kept.
    pub kept: usize,
    /// Their bytes.
    pub kept_bytes: u64,
    /// What goes, by stage and reason.
    pub groups: Vec<CollectedGroup>,
}

/// Results of one stage that go for one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CollectedGroup {
    /// The stage they were computed for; empty for files that no result names.
    pub stage: String,
    /// Why they go.
    pub reason: CollectReason,
    /// Results.
    pub records: usize,
    /// Objects that go with them.
    pub objects: usize,
    /// Bytes of those objects.
    pub bytes: u64,
}

/// Why gc removes a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectReason {
    /// No profile has a unit of this name any more.
    NoSuchUnit,
    /// The unit has other parameters, inputs or code now.
    Superseded,
    /// Files that no result names: left by a process that was killed, or by a lost line of the journal.
    NoRecord,
}

impl std::fmt::Display for CollectReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CollectReason::NoSuchUnit => "no profile has the unit any more",
            CollectReason::Superseded => "other parameters, inputs or code now",
            CollectReason::NoRecord => "no result names the file",
        })
    }
}

/// Where an artefact lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Located {
    /// `stage/label`.
    pub unit: String,
    /// The artefact's name.
    pub artefact: String,
    /// Its object. Read only.
    pub path: PathBuf,
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// The copy in the `publish` folder, when the stage has one.
    pub published: Option<PathBuf>,
}

/// The log of a unit's last attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitLog {
    /// `stage/label`.
    pub id: String,
    /// Its parameters.
    pub params: Value,
    /// The log file.
    pub path: PathBuf,
    /// What it holds; `None` when the unit logged nothing.
    pub text: Option<String>,
    /// The error of the last attempt, when it failed.
    pub error: Option<String>,
    /// How the current result was computed, when there is one.
    pub provenance: Option<Provenance>,
}
