//! Which units of the stages it needs a unit reads; the rule stands in [`crate::plan`].

use super::overlay::Declared;
use crate::plan::{Plan, Unit};
use crate::value::Value;
use crate::yaml::ConfigError;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, ConfigError>;

/// More inputs than this of the units of one stage are taken for a mistake.
const MOST_INPUTS: usize = 10_000_000;

/// Joins the units of a stage with the units it needs; the rule stands in [`crate::plan`].
pub(super) fn join(plan: &mut Plan, stage: usize, declared: &Declared) -> Result<()> {
    let mut joined = 0;
    for need in &declared.needs {
        let Some(up) = plan.stages.iter().position(|s| s.name == need.text()) else { continue };
        let (upstream, downstream) = (&plan.stages[up], &plan.stages[stage]);
        let shared: Vec<&String> = upstream.axes.iter().filter(|a| downstream.axes.contains(a)).collect();
        let place = |unit: &Unit| -> Vec<u8> {
            let value = |a: &&String| unit.axes.get(a.as_str()).map(Value::joined).unwrap_or_default();
            Value::List(shared.iter().map(value).collect()).canonical_bytes()
        };
        let mut groups: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for index in upstream.units.clone() {
            groups.entry(place(&plan.units[index])).or_default().push(index);
        }
        let range = downstream.units.clone();
        for index in range {
            let found = groups.get(&place(&plan.units[index])).cloned().ok_or_else(|| {
                let id = &plan.units[index].id;
                let axes = shared.iter().map(|a| format!("`{a}`")).collect::<Vec<_>>().join(", ");
                ConfigError::at(need, format!("unit `{id}` finds no unit of `{}` with the same {axes}", need.text()))
                    .help("give both stages the same values on the axes they share, or exclude the unit")
            })?;
            joined += found.len();
            if joined > MOST_INPUTS {
                let message =
                    format!("the units of stage `{}` read more than {MOST_INPUTS} units", declared.name.text());
                return Err(ConfigError::at(need, message).help("give both stages an axis in common, or fewer units"));
            }
            plan.units[index].inputs.extend(found);
        }
    }
    for unit in &mut plan.units[plan.stages[stage].units.clone()] {
        unit.inputs.sort_unstable();
    }
    Ok(())
}
