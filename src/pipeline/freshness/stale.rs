//! Why a unit must run: one type, printed for people and serialised for scripts.

use crate::value::Value;
use crate::value::digest::Digest;
use serde::Serialize;
use std::fmt;

/// One reason why a unit is not fresh. A unit may have several.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum Stale {
    /// No unit of this stage that resembles it has ever finished.
    NeverRan,
    /// A parameter differs from the last run. `None` means that it was not there.
    ParamChanged {
        /// Dotted path of the parameter.
        key: String,
        /// The value of the last run.
        old: Option<Value>,
        /// The value now.
        new: Option<Value>,
    },
    /// The run's seed differs, and with it the unit's.
    SeedChanged {
        /// The unit's seed in the last run.
        old: u64,
        /// The unit's seed now.
        new: u64,
    },
    /// An artefact of an upstream unit has other bytes than last time, is new or is gone.
    InputChanged {
        /// The upstream unit.
        unit: String,
        /// The artefact.
        artefact: String,
        /// Its digest in the last run.
        old: Option<Digest>,
        /// Its digest now.
        new: Option<Digest>,
    },
    /// A source file that the kind's code can reach was edited, added or removed.
    CodeChanged {
        /// The source.
        source: String,
    },
    /// The stage is of another kind now.
    KindChanged {
        /// The kind of the last run.
        old: String,
        /// The kind now.
        new: String,
    },
    /// The kind's schema number was raised.
    SchemaChanged {
        /// The number of the last run.
        old: u32,
        /// The number now.
        new: u32,
    },
    /// Something outside the DAG that the kind named has changed.
    ExternalChanged {
        /// What.
        name: String,
        /// Its state in the last run.
        old: Option<String>,
        /// Its state now.
        new: Option<String>,
    },
    /// An artefact's object is not in the store.
    Missing {
        /// The artefact.
        artefact: String,
    },
    /// An artefact's object has other bytes than were stored.
    Corrupt {
        /// The artefact.
        artefact: String,
    },
    /// An upstream unit must run first; whether this one follows depends on the bytes it writes.
    UpstreamStale {
        /// One of them.
        unit: String,
        /// How many there are.
        count: usize,
    },
    /// The last attempt with exactly this key failed.
    Failed {
        /// Its error, first line.
        error: String,
    },
    /// The user asked for it.
    Forced,
}

impl Stale {
    /// Whether the reason alone makes the unit run. `UpstreamStale` does not: early cutoff may spare it.
    pub fn is_certain(&self) -> bool {
        !matches!(self, Stale::UpstreamStale { .. })
    }
}

fn or_absent<T: fmt::Display>(value: &Option<T>) -> String {
    value.as_ref().map_or_else(|| "(absent)".to_string(), ToString::to_string)
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stale::NeverRan => f.write_str("never ran"),
            Stale::ParamChanged { key, old, new } => {
                write!(f, "parameter {key}: {} -> {}", or_absent(old), or_absent(new))
            }
            Stale::SeedChanged { old, new } => write!(f, "seed: {old} -> {new}"),
            Stale::InputChanged { unit, artefact, old, new } => {
                let short = |d: &Option<Digest>| d.as_ref().map_or("(absent)".to_string(), Digest::short);
                write!(f, "input {unit} {artefact}: {} -> {}", short(old), short(new))
            }
            Stale::CodeChanged { source } => write!(f, "code {source} changed"),
            Stale::KindChanged { old, new } => write!(f, "kind: {old} -> {new}"),
            Stale::SchemaChanged { old, new } => write!(f, "schema: {old} -> {new}"),
            Stale::ExternalChanged { name, old, new } => {
                write!(f, "external {name}: {} -> {}", or_absent(old), or_absent(new))
            }
            Stale::Missing { artefact } => write!(f, "artefact {artefact} is missing from the store"),
            Stale::Corrupt { artefact } => write!(f, "artefact {artefact} is corrupt in the store"),
            Stale::UpstreamStale { unit, count: 1 } => write!(f, "upstream {unit} must run first"),
            Stale::UpstreamStale { unit, count } => {
                write!(f, "upstream {unit} and {} more must run first", count - 1)
            }
            Stale::Failed { error } => write!(f, "failed last time: {error}"),
            Stale::Forced => f.write_str("forced"),
        }
    }
}
