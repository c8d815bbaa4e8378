//! Why units differ: parameters, code, inputs from outside the pipeline.
//!
//! Records say it exactly. For a unit without a record on one side, the parameters come from pipeline.yaml and the changed files from git.

use super::side::Side;
use pipeline::{Stale, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Takes the place of the stage for a file that changed according to git, which does not know stages.
pub const BY_GIT: &str = "(git)";

/// One setting that differs, and where.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The name of the setting: a parameter, a source file or an input.
    pub what: String,
    /// Its value on the old side.
    pub a: Option<String>,
    /// Its value on the new side.
    pub b: Option<String>,
    /// The stages that it concerns, each with the number of units.
    pub stages: BTreeMap<String, usize>,
}

/// What differs in the settings.
#[derive(Debug, Default, Serialize)]
pub struct Settings {
    /// Number of units with the same key and the same bytes.
    pub equal: usize,
    /// Number of units with another key and the same bytes.
    pub same_bytes: usize,
    /// Units with other bytes, by stage.
    pub other: BTreeMap<String, usize>,
    /// Units with other bytes although their key is the same: results that cannot be reproduced.
    pub broken: Vec<String>,
    /// Units that only the old side has, by stage.
    pub gone: BTreeMap<String, usize>,
    /// Units that only the new side has, by stage.
    pub new: BTreeMap<String, usize>,
    /// Parameters and seeds.
    pub parameters: Vec<Change>,
    /// Source files.
    pub code: Vec<Change>,
    /// What units read from outside the pipeline.
    pub inputs: Vec<Change>,
    /// Units whose records one side does not have: their settings come from pipeline.yaml and git.
    pub without_record: usize,
}

/// Changes found so far, by name and values, each with its stages.
#[derive(Default)]
struct Found(BTreeMap<(String, Option<String>, Option<String>), BTreeMap<String, usize>>);

impl Found {
    fn add(&mut self, what: String, a: Option<String>, b: Option<String>, stage: &str) {
        *self.0.entry((what, a, b)).or_default().entry(stage.to_string()).or_default() += 1;
    }

    fn changes(self) -> Vec<Change> {
        self.0.into_iter().map(|((what, a, b), stages)| Change { what, a, b, stages }).collect()
    }
}

/// Collects the values of a tree of parameters by their paths, for example `solver.rank`.
fn leaves(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter() {
                leaves(&if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }, value, out);
            }
        }
        value => drop(out.insert(path.to_string(), value.to_string())),
    }
}

impl Settings {
    /// Compares two sides unit by unit.
    pub fn compare(a: &Side<'_>, b: &Side<'_>) -> Self {
        let mut out = Self::default();
        let (mut parameters, mut code, mut inputs) = (Found::default(), Found::default(), Found::default());
        let text = |v: &Option<Value>| v.as_ref().map(ToString::to_string);
        let stages: BTreeSet<&String> = a.lock.stages.keys().chain(b.lock.stages.keys()).collect();
        let (none, mut planned) = (BTreeMap::new(), false);
        for stage in stages {
            let (of_a, of_b) = (a.lock.stages.get(stage).unwrap_or(&none), b.lock.stages.get(stage).unwrap_or(&none));
            let count = |into: &mut BTreeMap<String, usize>| *into.entry(stage.clone()).or_default() += 1;
            for (label, new) in of_b {
                let Some(old) = of_a.get(label) else {
                    count(&mut out.new);
                    continue;
                };
                match (old.same_key(new), old.same_result(new)) {
                    (true, true) => {
                        out.equal += 1;
                        continue;
                    }
                    (true, false) => {
                        out.broken.push(if label.is_empty() { stage.clone() } else { format!("{stage}/{label}") })
                    }
                    (false, true) => out.same_bytes += 1,
                    (false, false) => count(&mut out.other),
                }
                let (Some(then), Some(now)) = (a.record(stage, label), b.record(stage, label)) else {
                    out.without_record += 1;
                    planned = true;
                    continue;
                };
                let sources: BTreeMap<_, _> =
                    [(then.parts.code, a.sources(&then.parts.code)), (now.parts.code, b.sources(&now.parts.code))]
                        .into();
                let look = |digest: &pipeline::Digest| sources.get(digest).and_then(Option::as_ref);
                for reason in then.parts.diff(&now.parts, true, look) {
                    match reason {
                        Stale::ParamChanged { key, old, new } => parameters.add(key, text(&old), text(&new), stage),
                        // The seeds of units follow from the seed of the run, so one line stands for all of them.
                        Stale::SeedChanged { .. } => parameters.add("seed of units".into(), None, None, stage),
                        Stale::KindChanged { old, new } => parameters.add("kind".into(), Some(old), Some(new), stage),
                        Stale::SchemaChanged { old, new } => {
                            parameters.add("schema".into(), Some(old.to_string()), Some(new.to_string()), stage)
                        }
                        Stale::CodeChanged { source } => code.add(source, None, None, stage),
                        Stale::ExternalChanged { name, old, new } => inputs.add(name, old, new, stage),
                        // Inputs from upstream are the results of other units, which are compared themselves.
                        _ => {}
                    }
                }
            }
            for _ in of_a.keys().filter(|label| !of_b.contains_key(*label)) {
                count(&mut out.gone);
            }
        }
        if planned {
            from_plans(a, b, &mut parameters);
            for file in a.changed_files(b).unwrap_or_default() {
                code.add(file, None, None, BY_GIT);
            }
        }
        (out.parameters, out.code, out.inputs) = (parameters.changes(), code.changes(), inputs.changes());
        out
    }
}

/// Adds the parameters that differ between the two sides' pipeline.yaml.
fn from_plans(a: &Side<'_>, b: &Side<'_>, found: &mut Found) {
    let (Some(a), Some(b)) = (&a.plan, &b.plan) else { return };
    let old: BTreeMap<&str, &Value> = a.units.iter().map(|u| (u.id.as_str(), &u.params)).collect();
    for unit in &b.units {
        let Some(then) = old.get(unit.id.as_str()).filter(|then| ***then != unit.params) else { continue };
        let (mut was, mut is) = (BTreeMap::new(), BTreeMap::new());
        leaves("", then, &mut was);
        leaves("", &unit.params, &mut is);
        let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
        for name in names.into_iter().filter(|name| was.get(*name) != is.get(*name)) {
            found.add(name.clone(), was.get(name).cloned(), is.get(name).cloned(), &b.stages[unit.stage].name);
        }
    }
}
