//! Keys: when is a result still the result?
//!
//! A stale cache is a wrong result, and a cache that forgets too easily is slow. The key decides. It is the BLAKE3
//! digest of everything that may change a byte of what a unit writes, and of nothing else:
//!
//! | enters the key | as | so that |
//! |---|---|---|
//! | kind | name | two kinds never share a result |
//! | schema | number | a kind can declare its old results void |
//! | code | digest of (path, token digest) of each source the kind can reach | editing the solver retrains, editing the CLI or a comment does not |
//! | parameters | [canonical bytes](crate::Value::canonical_bytes) of what [`check`](crate::Kind::check) returned | `1e-3` is `0.001`, key order is nothing, spelling out a default is nothing |
//! | seed | the unit's derived seed | another run seed is another result |
//! | inputs | digest of each artefact, by unit id and artefact name | new bytes upstream rerun, equal bytes do not |
//! | externals | name and state, as the kind reports them | a swapped data folder is seen |
//!
//! | stays out of the key | because |
//! |---|---|
//! | stage name, profile, comments, layout of pipeline.yaml | they change no byte; renaming a stage keeps its results (and reruns its readers, who know it by name) |
//! | upstream *keys* | **early cutoff**: an upstream unit that reran and wrote equal bytes changes nothing below it |
//! | threads, jobs, executor, host | results may not depend on them (`verify --rerun` checks) |
//! | instruction set, caches, C library | the libraries compute the same bits with all of them; a GPU does not, and is an external |
//! | file times, absolute paths | a copied project is the same project |
//! | retries, resources, publish | they say how to run, not what comes out |
//!
//! Since inputs enter by content, a unit's key is known only when its inputs are. Before that it is *upstream stale*: it
//! may have to run, and the engine asks again when its inputs are there.
//!
//! The parts are stored beside the result ([`KeyParts`] in each record), so [`KeyParts::diff`] can say field by field
//! what changed. Two results with one key are interchangeable: that is why records are found by key, and why switching
//! profiles back and forth runs nothing twice.

use crate::freshness::stale::Stale;
use crate::value::Value;
use crate::value::digest::Digest;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The artefacts of one upstream unit: name to digest.
pub type ArtefactDigests = BTreeMap<String, Digest>;

/// The sources of a kind: path to digest.
pub type Sources = BTreeMap<String, String>;

/// Everything that enters a key, kept so that a difference can be named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeyParts {
    /// The kind's name.
    pub kind: String,
    /// The kind's schema number.
    pub schema: u32,
    /// Digest of the kind's [`Sources`]; the store keeps each set of sources once, under this name.
    pub code: Digest,
    /// Canonical parameters.
    pub params: Value,
    /// The unit's seed.
    pub seed: u64,
    /// Upstream artefacts, by unit id.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, ArtefactDigests>,
    /// What the kind says it depends on outside the DAG.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub externals: BTreeMap<String, String>,
}

/// A unit's key.
pub type Key = Digest;

/// Length-prefixed text, so that no two sequences of fields give the same bytes.
fn text(out: &mut Vec<u8>, s: &str) {
    out.extend((s.len() as u64).to_le_bytes());
    out.extend(s.as_bytes());
}

/// The digest of a set of sources.
pub fn code_digest(sources: &Sources) -> Digest {
    digest_sources(sources.iter())
}

/// The same of sources that come sorted by path, each once.
pub(crate) fn digest_sources<'a>(sources: impl Iterator<Item = (&'a String, &'a String)>) -> Digest {
    let mut bytes = b"repro code 1\0".to_vec();
    for (path, digest) in sources {
        text(&mut bytes, path);
        text(&mut bytes, digest);
    }
    Digest::of(&bytes)
}

/// The seed of a unit: a function of the run seed, the kind, and the parameters that the user set and that matter to
/// randomness. See [`crate::Context::seed`] for why.
pub fn derive_seed(run_seed: u64, kind: &str, params: &Value) -> u64 {
    let mut bytes = b"pipeline seed 2\0".to_vec();
    bytes.extend(run_seed.to_le_bytes());
    text(&mut bytes, kind);
    params.write_canonical(&mut bytes);
    let digest = Digest::of(&bytes).0;
    u64::from_le_bytes([digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7]])
}

/// The bytes that a key is the digest of, in the order of the table above. Inputs come sorted by unit, their artefacts by
/// name, externals by name.
pub(crate) struct KeyBytes(Vec<u8>);

impl KeyBytes {
    /// Begins a key. `inputs` is the number of units that [`KeyBytes::input`] is told of.
    pub(crate) fn new(kind: &str, schema: u32, code: Digest, params: &Value, seed: u64, inputs: usize) -> Self {
        let mut bytes = b"repro key 1\0".to_vec();
        text(&mut bytes, kind);
        bytes.extend(schema.to_le_bytes());
        bytes.extend(code.0);
        params.write_canonical(&mut bytes);
        bytes.extend(seed.to_le_bytes());
        bytes.extend((inputs as u64).to_le_bytes());
        Self(bytes)
    }

    /// Adds an upstream unit.
    pub(crate) fn input<'a>(&mut self, unit: &str, artefacts: impl ExactSizeIterator<Item = (&'a String, &'a Digest)>) {
        text(&mut self.0, unit);
        self.0.extend((artefacts.len() as u64).to_le_bytes());
        for (name, digest) in artefacts {
            text(&mut self.0, name);
            self.0.extend(digest.0);
        }
    }

    /// Ends the key.
    pub(crate) fn end(mut self, externals: &BTreeMap<String, String>) -> Key {
        for (name, state) in externals {
            text(&mut self.0, name);
            text(&mut self.0, state);
        }
        Digest::of(&self.0)
    }
}

impl KeyParts {
    /// The key.
    pub fn key(&self) -> Key {
        let (kind, inputs) = (&self.kind, self.inputs.len());
        let mut bytes = KeyBytes::new(kind, self.schema, self.code, &self.params, self.seed, inputs);
        self.inputs.iter().for_each(|(unit, artefacts)| bytes.input(unit, artefacts.iter()));
        bytes.end(&self.externals)
    }

    /// What changed from `self` (then) to `new` (now), as reasons. `sources` finds a set of sources by its digest.
    /// `inputs_known` is false while upstream units are still to run: then inputs say nothing yet.
    pub fn diff<'a>(
        &self,
        new: &KeyParts,
        inputs_known: bool,
        sources: impl Fn(&Digest) -> Option<&'a Sources>,
    ) -> Vec<Stale> {
        let mut out = Vec::new();
        if self.kind != new.kind {
            out.push(Stale::KindChanged { old: self.kind.clone(), new: new.kind.clone() });
        }
        diff_params("", Some(&self.params), Some(&new.params), &mut out);
        // The seed follows from the parameters; it is news only when they are equal.
        if self.seed != new.seed && out.is_empty() {
            out.push(Stale::SeedChanged { old: self.seed, new: new.seed });
        }
        if self.schema != new.schema {
            out.push(Stale::SchemaChanged { old: self.schema, new: new.schema });
        }
        if self.code != new.code && self.kind == new.kind {
            let empty = Sources::new();
            let then = sources(&self.code).unwrap_or(&empty);
            let now = sources(&new.code).unwrap_or(&empty);
            for (source, _, _) in changes(entries(then), entries(now)) {
                out.push(Stale::CodeChanged { source: source.to_string() });
            }
        }
        for (name, old, new) in changes(entries(&self.externals), entries(&new.externals)) {
            out.push(Stale::ExternalChanged { name: name.to_string(), old: old.cloned(), new: new.cloned() });
        }
        if inputs_known {
            let none = ArtefactDigests::new();
            for (unit, old, new) in changes(entries(&self.inputs), entries(&new.inputs)) {
                let (old, new) = (entries(old.unwrap_or(&none)), entries(new.unwrap_or(&none)));
                for (artefact, old, new) in changes(old, new) {
                    let (unit, artefact) = (unit.to_string(), artefact.to_string());
                    out.push(Stale::InputChanged { unit, artefact, old: old.copied(), new: new.copied() });
                }
            }
        }
        out
    }
}

/// The keys under which two mappings differ, with both values. Both come sorted by key.
fn changes<'a, V: PartialEq>(
    old: impl IntoIterator<Item = (&'a str, &'a V)>,
    new: impl IntoIterator<Item = (&'a str, &'a V)>,
) -> Vec<(&'a str, Option<&'a V>, Option<&'a V>)> {
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    let mut out = Vec::new();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return out,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((then, _)), Some((now, _))) => then.cmp(now),
        };
        let then = if order.is_le() { old.next() } else { None };
        let now = if order.is_ge() { new.next() } else { None };
        if then.map(|(_, v)| v) != now.map(|(_, v)| v)
            && let Some((key, _)) = then.or(now)
        {
            out.push((key, then.map(|(_, v)| v), now.map(|(_, v)| v)));
        }
    }
}

/// The entries of a map for [`changes`].
fn entries<V>(map: &BTreeMap<String, V>) -> impl Iterator<Item = (&str, &V)> {
    map.iter().map(|(key, value)| (key.as_str(), value))
}

fn diff_params(path: &str, old: Option<&Value>, new: Option<&Value>, out: &mut Vec<Stale>) {
    if old == new {
        return;
    }
    if let (Some(Value::Map(old)), Some(Value::Map(new))) = (old, new) {
        for (key, old, new) in changes(old.iter(), new.iter()) {
            let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
            diff_params(&path, old, new, out);
        }
    } else {
        out.push(Stale::ParamChanged { key: path.to_string(), old: old.cloned(), new: new.cloned() });
    }
}
