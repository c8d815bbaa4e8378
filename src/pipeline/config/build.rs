//! From declarations to units: kinds looked up, parameters checked, stages ordered, units joined.

use super::join::join;
use super::matrix::{Cell, MOST, cells};
use super::options::{publish, remotes, resources, slurm};
use super::overlay::{Declared, Entries, Overlaid, whole};
use super::seed::Defaults;
use super::substitute::fill;
use crate::freshness::key::derive_seed;
use crate::kind::{Kind, Registry};
use crate::plan::{Plan, PlannedStage, Unit, label};
use crate::value::typed::ParamError;
use crate::value::{Value, ValueMap};
use crate::yaml::ConfigError;
use crate::yaml::{Data, Node};
use std::collections::HashMap;
use std::path::Path;

type Result<T> = std::result::Result<T, ConfigError>;

/// Builds the plan.
pub(super) fn build(all: Overlaid, profile: &str, folder: &Path, kinds: &Registry) -> Result<Plan> {
    let mut plan = Plan {
        folder: folder.to_path_buf(),
        profile: profile.to_string(),
        seed: all.seed,
        stages: Vec::new(),
        units: Vec::new(),
        slurm: slurm(all.slurm.as_ref())?,
        remotes: remotes(all.remotes.as_ref())?,
    };
    // A global parameter is checked even when no stage uses it, so that a mistake shows before somebody uses it.
    for (_, value) in all.params.values() {
        fill(value, &all.params)?;
    }
    for index in order(&all.stages)? {
        let declared = &all.stages[index];
        let name = declared.name.text();
        let kind_name = declared.kind.text();
        let kind = kinds.get(&kind_name).ok_or_else(|| {
            ConfigError::at(&declared.kind, format!("stage `{name}`: there is no kind `{kind_name}`"))
                .suggest(&kind_name, &kinds.names())
        })?;
        let filled = |entries: &Entries| -> Result<Entries> {
            entries.iter().map(|(k, (key, v))| Ok((k.clone(), (key.clone(), fill(v, &all.params)?)))).collect()
        };
        let (with, matrix) = (filled(&declared.with)?, filled(&declared.matrix)?);
        let exclude = declared.exclude.as_ref().map(|e| fill(e, &all.params)).transpose()?;
        let start = plan.units.len();
        let stage = plan.stages.len();
        let mut units: Vec<Unit> = Vec::new();
        let mut defaults = Defaults::default();
        for cell in cells(&name, &matrix, exclude.as_ref())? {
            units.push(unit(stage, declared, kind.as_ref(), &with, &cell, all.seed, &mut defaults)?);
            if start + units.len() > MOST {
                return Err(ConfigError::at(
                    &declared.name,
                    format!("stage `{name}`: the plan has more than {MOST} units"),
                )
                .help("make the matrices smaller, or compute in several projects"));
            }
        }
        sort(&mut units);
        if let Some(pair) = units.windows(2).find(|p| p[0].label == p[1].label) {
            let place = matrix.values().next().map_or(&declared.name, |(key, _)| key);
            return Err(ConfigError::at(place, format!("stage `{name}`: the unit `{}` appears twice", pair[0].label))
                .help("remove the repeated value from its axis"));
        }
        if plan.units.is_empty() {
            // A large stage is not held twice.
            plan.units = units;
        } else {
            plan.units.append(&mut units);
        }
        plan.stages.push(PlannedStage {
            name: name.clone(),
            kind: kind.clone(),
            needs: declared.needs.iter().map(Node::text).collect(),
            axes: matrix.keys().cloned().collect(),
            units: start..plan.units.len(),
            resources: resources(declared)?,
            retries: match &declared.retries {
                Some(node) => whole(node, &format!("stage `{name}`: `retries`"))?.min(1000) as u32,
                None => 0,
            },
            publish: publish(declared, profile)?,
        });
        join(&mut plan, stage, declared)?;
    }
    Ok(plan)
}

fn unit(
    stage: usize,
    declared: &Declared,
    kind: &dyn Kind,
    with: &Entries,
    cell: &Cell,
    seed: u64,
    defaults: &mut Defaults,
) -> Result<Unit> {
    let name = declared.name.text();
    let with_values = with.iter().map(|(k, (_, v))| (k.clone(), v.value()));
    let written = Value::Map(with_values.chain(cell.iter().map(|(k, v)| (k.clone(), v.value()))).collect());
    let params = kind.check(&written).map_err(|e| refuse(&name, declared, with, cell, &e))?;
    // Labels come from the canonical value, so that `1` and `1.0` name the same unit of a stage that reads a float.
    let axis = |k: &String, v: &Node| (k.clone(), params.get(k).cloned().unwrap_or_else(|| v.value()));
    let axes: ValueMap = cell.iter().map(|(k, v)| axis(k, v)).collect();
    let label = label(&axes);
    let id = if label.is_empty() { name } else { format!("{name}/{label}") };
    let seed = derive_seed(seed, kind.seed_name(), &defaults.seed_params(kind, &written, &params));
    Ok(Unit { stage, label, id, axes, params, seed, inputs: Vec::new() })
}

/// Turns a kind's error about a parameter into an error at the place where the parameter is written.
fn refuse(stage: &str, declared: &Declared, with: &Entries, cell: &Cell, error: &ParamError) -> ConfigError {
    let mut steps = error.path.split('.');
    let first = steps.next().unwrap_or_default();
    let unknown = error.message.starts_with("unknown parameter");
    let mut place = match (cell.get(first), with.get(first)) {
        (Some(value), _) if !unknown => value.clone(),
        (_, Some((_, value))) if !unknown => value.clone(),
        (Some(_), _) => declared.matrix.get(first).map_or(&declared.name, |(key, _)| key).clone(),
        (_, Some((key, _))) => key.clone(),
        _ => declared.name.clone(),
    };
    for step in steps {
        let inner = match &place.data {
            Data::Map(entries) => entries.iter().find(|(k, _)| k.text() == step),
            Data::List(items) => {
                let item = step.parse::<usize>().ok().and_then(|i| items.get(i)).cloned();
                place = item.unwrap_or(place);
                continue;
            }
            Data::Scalar(_) => None,
        };
        let Some((key, value)) = inner else { break };
        place = if unknown && error.path.ends_with(step) { key.clone() } else { value.clone() };
    }
    let what = match (unknown || error.path.is_empty(), error.path.as_str()) {
        (true, _) => format!("stage `{stage}`: {}", error.message),
        (false, path) => format!("stage `{stage}`, parameter `{path}`: {}", error.message),
    };
    let wrong = if unknown { error.path.rsplit('.').next().unwrap_or_default().to_string() } else { place.text() };
    ConfigError::at(&place, what).suggest(&wrong, &error.candidates)
}

/// Stages after what they need, alphabetically where that leaves a choice.
fn order(stages: &[Declared]) -> Result<Vec<usize>> {
    let index: HashMap<String, usize> = stages.iter().enumerate().map(|(i, s)| (s.name.text(), i)).collect();
    let names: Vec<&String> = index.keys().collect();
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); stages.len()];
    for (i, stage) in stages.iter().enumerate() {
        for need in &stage.needs {
            let (text, name) = (need.text(), stage.name.text());
            let &j = index.get(&text).ok_or_else(|| {
                let mut names = names.clone();
                names.sort();
                ConfigError::at(need, format!("stage `{name}` needs `{text}`, which does not exist"))
                    .suggest(&text, &names)
            })?;
            if needs[i].contains(&j) {
                return Err(ConfigError::at(need, format!("stage `{name}` needs `{text}` twice")));
            }
            needs[i].push(j);
        }
    }
    let mut by_name: Vec<usize> = (0..stages.len()).collect();
    by_name.sort_by_key(|&i| stages[i].name.text());
    let (mut done, mut out) = (vec![false; stages.len()], Vec::new());
    while out.len() < stages.len() {
        match by_name.iter().copied().find(|&i| !done[i] && needs[i].iter().all(|&j| done[j])) {
            Some(i) => {
                done[i] = true;
                out.push(i);
            }
            None => return Err(cycle(stages, &needs, &done, &by_name)),
        }
    }
    Ok(out)
}

/// The error for a circle of `needs`: follows them among the stages that are left until a stage appears twice.
fn cycle(stages: &[Declared], needs: &[Vec<usize>], done: &[bool], by_name: &[usize]) -> ConfigError {
    let mut path: Vec<usize> = by_name.iter().copied().filter(|&i| !done[i]).take(1).collect();
    loop {
        let last = path[path.len() - 1];
        // Every stage that is left needs another one that is left, or it would have been placed.
        let next = needs[last].iter().copied().find(|&j| !done[j]).unwrap_or(last);
        if let Some(start) = path.iter().position(|&i| i == next) {
            let mut names: Vec<String> = path[start..].iter().map(|&i| stages[i].name.text()).collect();
            names.push(names[0].clone());
            let message = format!("the stages need each other in a circle: {}", names.join(" needs "));
            let place = stages[path[start]].needs.iter().find(|n| n.text() == names[1]);
            return ConfigError::at(place.unwrap_or(&stages[next].name), message);
        }
        path.push(next);
    }
}

/// By axis values, numbers as numbers, so that `seed=2` comes before `seed=10`.
fn sort(units: &mut [Unit]) {
    let rank = |v: &Value| v.as_f64().unwrap_or(f64::INFINITY);
    units.sort_by(|a, b| {
        let differing = a.axes.values().zip(b.axes.values()).find(|(x, y)| x != y);
        differing.map_or(std::cmp::Ordering::Equal, |(x, y)| {
            rank(x).total_cmp(&rank(y)).then_with(|| x.to_string().cmp(&y.to_string()))
        })
    });
}
