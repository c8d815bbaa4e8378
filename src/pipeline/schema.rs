//! pipeline.yaml as a JSON Schema, for editors that complete and check YAML while one types.
//!
//! The frame (stages, matrices, profiles) is written here; what `with` and `matrix` may hold comes from the registered kinds
//! ([`Kind::parameters`](crate::Kind::parameters)). A schema cannot follow `${name}`, joins along `needs` or the order of
//! stages: `repro status` checks those, with the line of the mistake.

use crate::Registry;
use serde_json::{Map, Value, json};

/// Text that is replaced before parameters are read.
const REFERENCE: &str = "#/$defs/reference";
/// Text that stands for several whole numbers.
const RANGE: &str = "#/$defs/range";

/// The schema of pipeline.yaml with these kinds.
pub fn schema(kinds: &Registry) -> Value {
    let rules: Vec<Value> = kinds.iter().map(|kind| of_kind(kind.name(), &kind.parameters())).collect();
    let all: Map<String, Value> = kinds
        .iter()
        .map(|kind| {
            let parameters = kind.parameters();
            let its: Map<String, Value> =
                properties(&parameters).map(|(name, of)| (name.clone(), of.clone())).collect();
            (kind.name().to_string(), Value::Object(its))
        })
        .collect();
    let about: Vec<Value> =
        kinds.iter().map(|kind| json!({ "const": kind.name(), "description": kind.about() })).collect();
    let anything = json!({ "type": ["object", "null"] });
    let overridden = json!({
        "with": anything, "matrix": anything, "exclude": { "$ref": "#/$defs/exclude" },
        "resources": { "$ref": "#/$defs/resources" }, "retries": { "type": ["integer", "null"], "minimum": 0 },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pipeline.yaml",
        "description": "The experiments as a graph of stages.",
        "type": "object",
        "required": ["version", "stages"],
        "additionalProperties": false,
        "properties": {
            "version": { "const": 1, "description": "Version of this format." },
            "seed": { "type": "integer", "description": "Seed of the run; 0 when absent." },
            "params": { "type": "object", "description": "Values for ${name} anywhere below." },
            "remotes": {
                "type": "object",
                "description": "Where results are pushed to and pulled from, by name; never credentials.",
                "propertyNames": { "pattern": "^[^/:]+$" },
                "additionalProperties": { "anyOf": [
                    { "type": "string", "minLength": 1, "description": "A folder, https://... or s3://BUCKET/PREFIX." },
                    {
                        "type": "object", "required": ["url"], "additionalProperties": false,
                        "properties": {
                            "url": { "type": "string", "minLength": 1 },
                            "endpoint": { "type": "string", "description": "The server of an S3 bucket." },
                            "region": { "type": "string" },
                            "style": { "enum": ["path", "host"], "description": "How the bucket is named to its server." },
                            "keys": {
                                "type": "array", "items": { "type": "string", "pattern": "^[0-9a-f]{64}$" },
                                "description": "The public keys that may sign what is there; anybody where there are none.",
                            },
                        },
                    },
                ] },
            },
            "slurm": { "type": "object", "description": "How stages run on a cluster." },
            "stages": {
                "type": "object",
                "description": "The stages by name.",
                "propertyNames": { "pattern": "^[^/*?]+$", "not": { "const": "all" } },
                "additionalProperties": { "$ref": "#/$defs/stage" },
            },
            "profiles": {
                "type": "object",
                "description": "Overlays of this file by name.",
                "additionalProperties": {
                    "type": ["object", "null"],
                    "additionalProperties": false,
                    "properties": {
                        "like": { "type": "string", "description": "A profile above this one, which it overrides instead of the file." },
                        "seed": { "type": "integer" },
                        "params": { "type": "object" },
                        "stages": {
                            "type": "object",
                            "additionalProperties": {
                                "type": ["object", "null"], "additionalProperties": false, "properties": overridden,
                            },
                        },
                    },
                },
            },
        },
        "$defs": {
            "parameters": all,
            "reference": { "type": "string", "pattern": "\\$\\{[^}]+\\}" },
            "range": { "type": "string", "pattern": "^-?[0-9]+\\.\\.-?[0-9]+$" },
            "exclude": { "type": ["array", "null"], "items": { "type": "object" } },
            "resources": {
                "type": ["object", "null"],
                "additionalProperties": false,
                "properties": {
                    "threads": { "type": ["integer", "string"] },
                    "memory": { "type": ["integer", "string"], "description": "Bytes, or a size like 2GB." },
                    "gpu": { "type": ["integer", "boolean", "string"] },
                },
            },
            "stage": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "kind": { "description": "Which code runs; the stage's own name when absent.", "oneOf": about },
                    "needs": {
                        "description": "Stages whose units this one reads.",
                        "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }, { "type": "null" }],
                    },
                    "with": { "type": ["object", "null"], "description": "Parameters of every unit." },
                    "matrix": { "type": ["object", "null"], "description": "Axes: one unit for each combination." },
                    "exclude": { "$ref": "#/$defs/exclude", "description": "Combinations without a unit." },
                    "resources": { "$ref": "#/$defs/resources" },
                    "retries": { "type": ["integer", "null"], "minimum": 0, "description": "Tries after a failure." },
                    "publish": {
                        "description": "Folder that gets a copy of the artefacts, or of some under other names.",
                        "anyOf": [{ "type": ["string", "null"] }, { "type": "object", "additionalProperties": false, "properties": {
                            "folder": { "type": "string" },
                            "files": { "type": "object", "additionalProperties": { "type": "string" } },
                            "at-most": { "type": ["integer", "string"], "description": "Larger artefacts are not copied." },
                        }, "required": ["folder", "files"] }],
                    },
                },
                "allOf": rules,
            },
        },
    })
}

/// What `with` and `matrix` may hold when a stage has this kind. The parameters themselves stand once, below `$defs`.
fn of_kind(name: &str, parameters: &Value) -> Value {
    let (mut with, mut matrix) = (Map::new(), Map::new());
    for parameter in properties(parameters).map(|(parameter, _)| parameter) {
        let itself = json!({ "$ref": format!("#/$defs/parameters/{name}/{parameter}") });
        with.insert(parameter.clone(), json!({ "anyOf": [itself, { "$ref": REFERENCE }] }));
        let listed = json!({ "anyOf": [itself, { "$ref": REFERENCE }, { "$ref": RANGE }] });
        let axis = json!({ "anyOf": [
            { "type": "array", "items": listed }, { "$ref": REFERENCE }, { "$ref": RANGE }, { "type": "null" },
        ] });
        matrix.insert(parameter.clone(), axis);
    }
    let open = parameters.get("additionalProperties").is_none_or(|a| a != &json!(false));
    let part = |properties: Map<String, Value>| json!({ "properties": properties, "additionalProperties": open });
    json!({
        "if": { "properties": { "kind": { "const": name } }, "required": ["kind"] },
        "then": { "properties": { "with": part(with), "matrix": part(matrix) } },
    })
}

/// The parameters of a kind by name.
fn properties(parameters: &Value) -> impl Iterator<Item = (&String, &Value)> {
    parameters.get("properties").and_then(Value::as_object).into_iter().flatten()
}
