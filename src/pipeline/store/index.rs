//! The journal's content, indexed by key, digest, stage and label.

use super::claim::{Claim, Role};
use super::objects::Stat;
use super::record::{Failure, Record};
use crate::freshness::key::{Key, Sources};
use crate::value::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The format of the file; its first line.
    Format(u32),
    /// A set of sources, referred to by digest from many records.
    Sources {
        /// Its name.
        digest: Digest,
        /// The set.
        sources: Sources,
    },
    /// Facts about program and machine, referred to by digest from many records.
    Host {
        /// Its name.
        digest: Digest,
        /// The facts.
        host: super::record::Host,
    },
    /// A process has begun to work on the unit with this key.
    Claim {
        /// The key.
        key: Key,
        /// The owner; alive as long as its lock is held.
        owner: String,
        /// What the owner is.
        #[serde(default)]
        role: Role,
    },
    /// A process gives a claim of its own back without a record or a failure.
    Release {
        /// The key.
        key: Key,
        /// The owner.
        owner: String,
    },
    /// A unit finished. Ends its claim.
    Record {
        /// Its key.
        key: Key,
        /// The record.
        record: Box<Record>,
    },
    /// A unit failed. Ends its claim.
    Failure(Failure),
    /// Objects that were hashed and found good when they looked like this.
    Seen(Vec<(Digest, Stat)>),
    /// An object that was hashed and found bad.
    Bad(Digest),
    /// Damaged lines of the journal, by number, whose loss a later run has made good.
    Mended(Vec<usize>),
    /// A file in a `publish` folder: its path, what it holds, how it looked.
    Published {
        /// Path relative to the project.
        path: String,
        /// What it holds.
        digest: Digest,
        /// How it looked.
        stat: Stat,
    },
}

/// More seconds than this no unit took: a thousand years.
const MOST_SECONDS: f64 = 3.2e10;

/// The journal's content.
#[derive(Debug, Default)]
pub struct Index {
    /// Finished units.
    pub records: HashMap<Key, Arc<Record>>,
    /// Failed units that have not finished since.
    pub failures: HashMap<Key, Failure>,
    /// Units that some process works on, or worked on when it died, with the owner's id.
    pub claims: HashMap<Key, Claim>,
    /// Sets of sources.
    pub sources: HashMap<Digest, Arc<Sources>>,
    /// Machines.
    pub hosts: HashMap<Digest, super::record::Host>,
    /// The stat cache.
    pub seen: HashMap<Digest, Stat>,
    /// Objects known to be bad.
    pub bad: HashSet<Digest>,
    /// Published files.
    pub published: HashMap<String, (Digest, Stat)>,
    /// Keys of each stage's units by label, oldest first.
    pub history: HashMap<String, BTreeMap<String, Vec<Key>>>,
    /// Numbers of lines that could not be read and that no later run has made good.
    pub damaged: BTreeSet<usize>,
}

impl Index {
    /// Adds one entry.
    pub fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Format(_) => {}
            Entry::Sources { digest, sources } => {
                self.sources.insert(digest, Arc::new(sources));
            }
            Entry::Host { digest, host } => {
                self.hosts.insert(digest, host);
            }
            Entry::Claim { key, owner, role } => {
                self.claims.insert(key, Claim { owner, role });
            }
            Entry::Release { key, owner } => {
                if self.claims.get(&key).is_some_and(|claim| claim.owner == owner) {
                    self.claims.remove(&key);
                }
            }
            Entry::Mended(lines) => self.damaged.retain(|line| !lines.contains(line)),
            Entry::Record { key, mut record } => {
                // Times are shown, summed and planned with: one that cannot be true counts as none.
                for time in [&mut record.provenance.wall, &mut record.provenance.cpu] {
                    if !(0.0..MOST_SECONDS).contains(time) {
                        *time = 0.0;
                    }
                }
                self.claims.remove(&key);
                self.failures.remove(&key);
                let labels = self.history.entry(record.stage.clone()).or_default();
                let keys = labels.entry(record.label.clone()).or_default();
                keys.retain(|k| *k != key);
                keys.push(key);
                self.records.insert(key, Arc::from(record));
            }
            Entry::Failure(failure) => {
                self.claims.remove(&failure.key);
                self.failures.insert(failure.key, failure);
            }
            Entry::Seen(objects) => {
                for (digest, stat) in objects {
                    self.bad.remove(&digest);
                    self.seen.insert(digest, stat);
                }
            }
            Entry::Bad(digest) => {
                self.seen.remove(&digest);
                self.bad.insert(digest);
            }
            Entry::Published { path, digest, stat } => {
                self.published.insert(path, (digest, stat));
            }
        }
    }

    /// Seconds the unit of that label took last time, whatever its key was. `None` when it never ran; the caller may then
    /// use [`Index::stage_mean`].
    pub fn expected(&self, stage: &str, label: &str) -> Option<f64> {
        self.last(stage, label).map(|record| record.provenance.wall)
    }

    /// The last record of the unit of that label, whatever its key was.
    pub fn last(&self, stage: &str, label: &str) -> Option<&Arc<Record>> {
        self.history.get(stage)?.get(label)?.last().and_then(|key| self.records.get(key))
    }

    /// The mean time of a stage's units, each with its last time. `None` when none of them ever ran.
    pub fn stage_mean(&self, stage: &str) -> Option<f64> {
        let labels = self.history.get(stage)?;
        let walls: Vec<f64> =
            labels.values().filter_map(|k| Some(self.records.get(k.last()?)?.provenance.wall)).collect();
        (!walls.is_empty()).then(|| walls.iter().sum::<f64>() / walls.len() as f64)
    }
}
