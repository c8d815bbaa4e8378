//! Seeds: what changes them, and what does not.

use crate::common::*;
use pipeline::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The same kind before and after it got a parameter.
struct Old;
struct New;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OldParams {
    rank: u32,
    #[serde(default)]
    epochs: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewParams {
    rank: u32,
    #[serde(default)]
    epochs: u32,
    #[serde(default)]
    momentum: f64,
}

impl Stage for Old {
    const NAME: &'static str = "model";
    const ABOUT: &'static str = "";
    const SCHEMA: u32 = 1;
    const SEEDLESS: &'static [&'static str] = &["epochs"];
    type Params = OldParams;
    fn run(&self, _: &OldParams, _: &Context) -> StageResult {
        Ok(())
    }
}

impl Stage for New {
    const NAME: &'static str = "model";
    const ABOUT: &'static str = "";
    const SCHEMA: u32 = 1;
    const SEEDLESS: &'static [&'static str] = &["epochs"];
    type Params = NewParams;
    fn run(&self, _: &NewParams, _: &Context) -> StageResult {
        Ok(())
    }
}

fn seed<S: Stage>(stage: S, with: &str) -> u64 {
    let mut p = Project::new();
    p.kinds.stage(stage, &[("model.rs", "a")]);
    p.plan(&format!("{{version: 1, seed: 7, stages: {{m: {{kind: model, with: {with}}}}}}}")).units[0].seed
}

#[test]
fn a_new_parameter_with_a_default_reseeds_nothing() {
    assert_eq!(seed(Old, "{rank: 2}"), seed(New, "{rank: 2}"));
    assert_eq!(seed(New, "{rank: 2}"), seed(New, "{rank: 2, momentum: 0}"), "nor does writing the default out");
    assert_ne!(seed(New, "{rank: 2}"), seed(New, "{rank: 2, momentum: 0.9}"), "another value does");
}

#[test]
fn the_same_model_trained_longer_starts_where_it_started() {
    assert_eq!(seed(Old, "{rank: 2, epochs: 10}"), seed(Old, "{rank: 2, epochs: 1000}"));
    assert_ne!(seed(Old, "{rank: 2}"), seed(Old, "{rank: 3}"));
}

#[test]
fn a_value_written_otherwise_is_the_same_seed() {
    let p = Project::new();
    let seeds = |yaml: &str| p.plan(yaml).units.iter().map(|u| u.seed).collect::<Vec<_>>();
    assert_eq!(seeds(CHAIN), seeds(&CHAIN.replace("[1, 2]", "[1e0, 2.0]")));
}
