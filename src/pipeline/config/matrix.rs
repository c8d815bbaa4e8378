//! The cells of a stage's matrix: the product of its axes, less what `exclude` names.
//!
//! An axis is a list (`[1, 2, 5]`), a range with both ends included (`1..10`), a range with a step
//! (`{from: 0.1, to: 0.9, step: 0.2}`), or a list that holds ranges (`[1..3, 10]`).

use super::overlay::{Entries, keys, map};
use crate::value::Value;
use crate::yaml::ConfigError;
use crate::yaml::{Data, Node};
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, ConfigError>;

/// One cell: for each axis a value and where it was written.
pub type Cell = BTreeMap<String, Node>;

/// More cells than this in one stage, or units in a plan, are taken for a mistake.
pub(super) const MOST: usize = 1_000_000;

/// The cells of a matrix, made one at a time: a million of them at once would take gigabytes.
pub struct Cells {
    axes: Vec<(String, Vec<Node>)>,
    rules: Vec<Rule>,
    /// The number of the next cell, counted with the last axis fastest.
    next: usize,
    count: usize,
}

impl Iterator for Cells {
    type Item = Cell;

    fn next(&mut self) -> Option<Cell> {
        while self.next < self.count {
            let mut rest = self.next;
            self.next += 1;
            let mut cell = Cell::new();
            for (name, values) in self.axes.iter().rev() {
                cell.insert(name.clone(), values[rest % values.len()].clone());
                rest /= values.len();
            }
            let excluded = self.rules.iter().any(|rule| rule.iter().all(|(axis, any)| matches(cell.get(axis), any)));
            if !excluded {
                return Some(cell);
            }
        }
        None
    }
}

/// All cells, or the single empty one when there is no matrix.
pub fn cells(stage: &str, axes: &Entries, exclude: Option<&Node>) -> Result<Cells> {
    let mut cells = Cells { axes: Vec::new(), rules: Vec::new(), next: 0, count: 1 };
    for (name, (key, node)) in axes {
        let values = axis(node, &format!("stage `{stage}`, axis `{name}`"))?;
        if values.is_empty() {
            return Err(ConfigError::at(
                node,
                format!("stage `{stage}`: axis `{name}` is empty, so nothing would run"),
            )
            .help("give it a value, or remove the axis (in a profile: `null`)"));
        }
        cells.count = cells.count.saturating_mul(values.len());
        if cells.count > MOST {
            return Err(ConfigError::at(key, format!("stage `{stage}`: the matrix has more than {MOST} cells")));
        }
        cells.axes.push((name.clone(), values));
    }
    if let Some(exclude) = exclude {
        cells.rules = rules(stage, axes, exclude)?;
        if cells.next().is_none() {
            return Err(ConfigError::at(exclude, format!("stage `{stage}`: `exclude` leaves no cell to run")));
        }
        cells.next = 0;
    }
    Ok(cells)
}

fn matches(value: Option<&Node>, any: &[Value]) -> bool {
    value.is_some_and(|v| any.iter().any(|a| a.same(&v.value())))
}

/// For each axis that the rule names, the values it excludes.
type Rule = Vec<(String, Vec<Value>)>;

/// `exclude` is a list of maps; a map excludes the cells that agree with it on every axis it names.
fn rules(stage: &str, axes: &Entries, exclude: &Node) -> Result<Vec<Rule>> {
    let names: Vec<&str> = axes.keys().map(String::as_str).collect();
    let what = format!("stage `{stage}`: `exclude`");
    let one = std::slice::from_ref(exclude);
    let list = match &exclude.data {
        Data::List(items) => items.as_slice(),
        Data::Map(_) => one,
        _ => return Err(ConfigError::at(exclude, format!("{what}: expected a list of maps from axis to value"))),
    };
    let mut rules = Vec::new();
    for item in list {
        keys(item, &names, &what)?;
        let mut rule = Rule::new();
        for (axis, node) in map(item, &what)? {
            let values = match &node.data {
                Data::List(_) => self::axis(node, &what)?.iter().map(Node::value).collect(),
                _ => match range(node, &what)? {
                    Some(nodes) => nodes.iter().map(Node::value).collect(),
                    None => vec![node.value()],
                },
            };
            rule.push((axis.text(), values));
        }
        if rule.is_empty() {
            return Err(ConfigError::at(item, format!("{what}: an empty map would exclude everything")));
        }
        rules.push(rule);
    }
    Ok(rules)
}

/// The values of one axis.
fn axis(node: &Node, what: &str) -> Result<Vec<Node>> {
    if let Some(values) = range(node, what)? {
        return Ok(values);
    }
    let Data::List(items) = &node.data else {
        return Err(ConfigError::at(node, format!("{what}: expected a list or a range, found {}", node.type_name()))
            .help("write `[1, 2, 3]`, `1..10` or `{from: 0.1, to: 0.9, step: 0.2}`"));
    };
    let mut values = Vec::new();
    for item in items {
        match &item.data {
            Data::Scalar(Value::Str(_)) => match range(item, what)? {
                Some(nodes) => values.extend(nodes),
                None => values.push(item.clone()),
            },
            _ => values.push(item.clone()),
        }
    }
    Ok(values)
}

/// The values of `a..b` or `{from, to, step}`; `None` when the node is neither.
fn range(node: &Node, what: &str) -> Result<Option<Vec<Node>>> {
    let scalar = |v| node.with(Data::Scalar(v));
    let bad = |message: String| ConfigError::at(node, format!("{what}: {message}"));
    match &node.data {
        Data::Scalar(Value::Str(text)) => {
            let Some((from, to)) = text.split_once("..") else { return Ok(None) };
            let (Ok(from), Ok(to)) = (from.trim().parse::<i64>(), to.trim().parse::<i64>()) else {
                return Err(bad(format!("`{text}` is not a range of whole numbers"))
                    .help("write `1..10` (both ends included), or `{from, to, step}` for other numbers"));
            };
            if from > to {
                return Err(bad(format!("the range `{text}` runs backwards")).help(format!("write `{to}..{from}`")));
            }
            if to.abs_diff(from) as usize >= MOST {
                return Err(bad(format!("the range `{text}` has more than {MOST} values")));
            }
            Ok(Some((from..=to).map(|i| scalar(Value::Int(i))).collect()))
        }
        Data::Map(_) if node.get("from").is_some() || node.get("to").is_some() => {
            keys(node, &["from", "to", "step"], what)?;
            let number = |key: &str| {
                let found = node.get(key).ok_or_else(|| bad(format!("the range has no `{key}`")))?;
                let value = found.value();
                let wrong =
                    || ConfigError::at(found, format!("{what}: `{key}` must be a number, found {}", found.type_name()));
                value.as_f64().map(|x| (value, x)).ok_or_else(wrong)
            };
            let one = (Value::Int(1), 1.0);
            let (from, to) = (number("from")?, number("to")?);
            let step = if node.get("step").is_some() { number("step")? } else { one };
            let count = ((to.1 - from.1) / step.1 + 1e-9).floor();
            if count.is_nan() || count < 0.0 || step.1 == 0.0 {
                return Err(bad(format!("the range from {} to {} by {} has no values", from.0, to.0, step.0)));
            }
            if count >= MOST as f64 {
                return Err(bad(format!("the range has more than {MOST} values")));
            }
            let whole = (from.0.as_i64(), step.0.as_i64());
            let value = |i: usize| match whole {
                // A sum past the largest whole number is a mistake, not a negative number.
                (Some(from), Some(step)) => {
                    step.checked_mul(i as i64).and_then(|rise| from.checked_add(rise)).map(Value::Int)
                }
                _ => Some(Value::Float(tidy(from.1 + step.1 * i as f64))),
            };
            let values: Option<Vec<Node>> = (0..=count as usize).map(|i| value(i).map(scalar)).collect();
            match values {
                Some(values) => Ok(Some(values)),
                None => Err(bad(format!("the range goes past {}, the largest whole number", i64::MAX))),
            }
        }
        _ => Ok(None),
    }
}

/// 0.1 + 2 * 0.1 is 0.30000000000000004; a range means 0.3.
fn tidy(x: f64) -> f64 {
    format!("{x:.12e}").parse().unwrap_or(x)
}
