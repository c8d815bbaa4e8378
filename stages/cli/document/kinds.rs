//! `repro kinds`: what `kind:` in pipeline.yaml may name, and the parameters of each.

use crate::cli::output;
use anyhow::{Result, bail};
use pipeline::Registry;
use serde_json::Value;
use std::fmt::Write as _;

/// List the stage kinds, or describe the parameters of one
///
/// A kind is the code behind a stage of pipeline.yaml. Its parameters stand in `with`, or in `matrix` for one unit per value.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  repro kinds             all kinds, a line each
  repro kinds train       its parameters with defaults and meaning
  repro kinds --json      everything, for a program")]
pub struct Args {
    /// The kind to describe
    kind: Option<String>,
    /// Print JSON: name, what it does and the JSON Schema of its parameters
    #[arg(long)]
    json: bool,
}

/// Run the command.
pub fn run(args: &Args) -> Result<u8> {
    let kinds = crate::kinds::kinds();
    if let Some(name) = &args.kind
        && kinds.get(name).is_none()
    {
        bail!("no kind is called `{name}`: `repro kinds` lists them");
    }
    let chosen = |name: &str| args.kind.as_deref().is_none_or(|wanted| wanted == name);
    if args.json {
        let all: Vec<Value> = kinds
            .iter()
            .filter(|kind| chosen(kind.name()))
            .map(|kind| serde_json::json!({ "name": kind.name(), "about": kind.about(), "parameters": kind.parameters() }))
            .collect();
        crate::cli::json(&all)?;
        return Ok(0);
    }
    output(&match &args.kind {
        None => list(&kinds),
        Some(name) => {
            kinds.get(name).map(|kind| describe(kind.name(), kind.about(), &kind.parameters())).unwrap_or_default()
        }
    });
    Ok(0)
}

/// One line a kind.
fn list(kinds: &Registry) -> String {
    let width = kinds.names().iter().map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for kind in kinds.iter() {
        let _ = writeln!(text, "{:width$}  {}", kind.name(), kind.about());
    }
    text
}

/// The parameters of one kind: name, type, default, meaning.
fn describe(name: &str, about: &str, parameters: &Value) -> String {
    let mut text = format!("{name}: {about}\n");
    let required = parameters.get("required").and_then(Value::as_array);
    let is_required = |p: &str| required.is_some_and(|all| all.iter().any(|r| r == p));
    let properties = parameters.get("properties").and_then(Value::as_object);
    for (parameter, schema) in properties.into_iter().flatten() {
        let default = match schema.get("default") {
            Some(value) => format!(", default {value}"),
            None if is_required(parameter) => ", required".to_string(),
            None => String::new(),
        };
        let _ = writeln!(text, "\n  {parameter} ({}{default})", type_of(schema));
        for line in meaning(schema) {
            let _ = writeln!(text, "      {line}");
        }
    }
    if properties.is_none_or(serde_json::Map::is_empty) {
        text.push_str("\n  no parameters\n");
    }
    text
}

/// The type of a parameter in a few words.
fn type_of(schema: &Value) -> String {
    let words = |key: &str| schema.get(key).and_then(Value::as_array);
    if let Some(values) = words("enum") {
        return values.iter().map(plain).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return plain(value);
    }
    if let Some(choices) = words("oneOf").or_else(|| words("anyOf")) {
        return choices.iter().map(type_of).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type") {
        Some(Value::Array(types)) => types.iter().map(plain).collect::<Vec<_>>().join(" | "),
        Some(Value::String(one)) if one == "array" => {
            format!("list of {}", schema.get("items").map_or("anything".into(), type_of))
        }
        Some(one) => plain(one),
        None => "anything".into(),
    }
}

/// A JSON value without quotation marks.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// What the doc comment says, and what each choice means where the parameter is a choice.
fn meaning(schema: &Value) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let said = |schema: &Value| {
        schema.get("description").and_then(Value::as_str).map(|s| s.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    lines.extend(said(schema));
    for choice in schema.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        if let (Some(name), Some(means)) = (choice.get("const"), said(choice)) {
            lines.push(format!("{}: {means}", plain(name)));
        }
    }
    lines
}
