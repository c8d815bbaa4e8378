//! Claims: one key is computed by one worker at a time, whoever asks.
//!
//! A process that wants to work on a unit asks [`decide`] under the journal's lock and writes its claim in the same
//! step. The answer depends on who holds the key now:
//!
//! | the key | asked by | answer |
//! |---|---|---|
//! | has a record that is good enough | anybody | [`Verdict::Recorded`] |
//! | is claimed by nobody, by the asker, or by a dead process | anybody | [`Verdict::Ours`] |
//! | is claimed by the driver of a cluster run | a task of that run | `Ours`: the driver claimed it for its tasks |
//! | is claimed by a living task of a cluster run | the driver of that run | [`Verdict::Served`]: the task works for it |
//! | is claimed by any other living process | anybody | [`Verdict::Theirs`], with its name: the asker waits |
//!
//! A claim ends with the record, the failure or the release of its key, and with its holder. Two units of one process
//! that have one key are not told apart here: the scheduler keeps one entry per key and lets the others wait for it.

use super::index::Index;
use super::owner::Owner;
use crate::freshness::key::Key;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a process that claims units is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A run that computes by itself.
    #[default]
    Run,
    /// The driver of the cluster run of that id.
    Driver(String),
    /// A task of the cluster run of that id.
    Task(String),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Run => Ok(()),
            Role::Driver(run) => write!(f, "drives run {run} on the cluster"),
            Role::Task(run) => write!(f, "a task of run {run} on the cluster"),
        }
    }
}

impl Role {
    /// Whether a process of this role works for one of role `driver`: a task for the driver of its run.
    fn works_for(&self, driver: &Role) -> bool {
        matches!((self, driver), (Role::Task(run), Role::Driver(other)) if run == other)
    }
}

/// A claim in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The owner's id; the claim counts while its lock is held.
    pub owner: String,
    /// What the owner is.
    pub role: Role,
}

/// Who works on a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The asker does, and writes its claim.
    Ours,
    /// A living task of the asker's own cluster run does. Its claim stays.
    Served,
    /// Another process does; its name.
    Theirs(String),
    /// Nobody needs to.
    Recorded,
}

/// Decides who works on a key; see the table above. `redo` says that a record that is there does not count (the unit is
/// forced, or its objects are damaged). `alive` gives the name of a living owner.
pub fn decide(
    index: &Index,
    key: &Key,
    asker: (&str, &Role),
    redo: bool,
    alive: impl FnOnce(&str) -> Option<String>,
) -> Verdict {
    if index.records.contains_key(key) && !redo {
        return Verdict::Recorded;
    }
    match index.claims.get(key) {
        Some(claim) if claim.owner != asker.0 && !asker.1.works_for(&claim.role) => match alive(&claim.owner) {
            Some(_) if claim.role.works_for(asker.1) => Verdict::Served,
            Some(name) => Verdict::Theirs(name),
            None => Verdict::Ours,
        },
        _ => Verdict::Ours,
    }
}

impl Owner {
    /// [`decide`] for this process.
    pub(crate) fn decide(&self, index: &Index, key: &Key, redo: bool, locks: &std::path::Path) -> Verdict {
        decide(index, key, (&self.id, &self.role), redo, |id| super::owner::alive(locks, id))
    }
}
