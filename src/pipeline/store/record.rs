//! What the store keeps of a unit: its record when it finished, its failure when it did not.

use crate::freshness::key::{Key, KeyParts};
use crate::value::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A file a unit wrote, as the store has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// The digest of its bytes, which is its name in the store.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
}

/// How a unit was computed. It is shown to people and enters no comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Digest of the [`Host`] facts, which the store keeps once.
    pub host: Digest,
    /// Values of the environment that the program wants to see beside a result (see [`crate::EngineOptions::recorded`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Threads the unit was given.
    pub threads: usize,
    /// Wall time in seconds.
    pub wall: f64,
    /// CPU time in seconds: of the worker thread alone when other units ran beside it.
    pub cpu: f64,
    /// High-water mark of the whole process' memory in bytes when the unit ended: an upper bound for the unit.
    pub peak_memory: u64,
    /// Attempts it took.
    pub attempts: u32,
    /// When it ended, in seconds since 1970.
    pub ended: u64,
}

/// Facts about program and machine; nothing that names a person or a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Version of the program.
    pub program: String,
    /// The compiler that built it.
    pub rustc: String,
    /// `linux x86_64`.
    pub system: String,
    /// Processor model.
    pub cpu: String,
    /// Logical processors.
    pub cores: usize,
    /// Bytes of memory.
    pub memory: u64,
}

/// A finished unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The stage it ran for.
    pub stage: String,
    /// Its label in that stage.
    pub label: String,
    /// What went into its key.
    pub parts: KeyParts,
    /// What it wrote.
    pub artefacts: BTreeMap<String, Artefact>,
    /// How it was computed.
    pub provenance: Provenance,
}

impl Record {
    /// Bytes of all artefacts.
    pub fn size(&self) -> u64 {
        self.artefacts.values().map(|a| a.size).sum()
    }
}

/// A unit that failed, after all its retries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The key it would have had.
    pub key: Key,
    /// The stage it ran for.
    pub stage: String,
    /// Its label in that stage.
    pub label: String,
    /// The error and its causes.
    pub error: String,
    /// Attempts made.
    pub attempts: u32,
    /// When, in seconds since 1970.
    pub ended: u64,
}
