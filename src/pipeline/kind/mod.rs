//! What a stage does: the [`Kind`] trait, its typed form [`Stage`], and the [`Registry`] in which the names after `kind:`
//! in pipeline.yaml are looked up. [`context`] holds what a running unit sees.
//!
//! Most kinds are a parameter struct and a function, so they implement [`Stage`] and let the registry wrap them:
//!
//! ```
//! use pipeline::{Context, Registry, Stage, StageResult};
//!
//! /// Writes the square of `x`.
//! struct Square;
//!
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Params { x: f64, #[serde(default)] digits: usize }
//!
//! impl Stage for Square {
//!     const NAME: &'static str = "square";
//!     const ABOUT: &'static str = "the square of a number";
//!     const SCHEMA: u32 = 1;
//!     type Params = Params;
//!     fn run(&self, p: &Params, ctx: &Context) -> StageResult {
//!         std::fs::write(ctx.output("square.txt")?, format!("{:.*}\n", p.digits, p.x * p.x))?;
//!         Ok(())
//!     }
//! }
//!
//! let mut kinds = Registry::new();
//! kinds.stage(Square, &[("stages/square.rs", "digest of the source, from the build script")]);
//! assert_eq!(kinds.names(), ["square"]);
//! ```

pub mod context;

use crate::value::Value;
use crate::value::typed::{ParamError, from_value, to_value};
use context::{Context, Environment};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Any error a stage may end with; its text and its causes are shown to the user.
pub type StageError = Box<dyn std::error::Error + Send + Sync>;

/// What a stage returns: its results are the files it wrote through [`Context::output`].
pub type StageResult = Result<(), StageError>;

/// A stage kind as the engine sees it.
pub trait Kind: Send + Sync {
    /// The name in `kind:`.
    fn name(&self) -> &str;

    /// The name that seeds derive from. A kind that gets a new name keeps its old one here, and with it its results.
    fn seed_name(&self) -> &str {
        self.name()
    }

    /// One line that says what the kind does.
    fn about(&self) -> &str;

    /// Raise it when the *meaning* of the artefacts changes in a way the sources do not show.
    fn schema(&self) -> u32;

    /// The sources the kind can reach, each with the digest of its tokens, as found by the build script.
    fn sources(&self) -> &[(String, String)];

    /// Checks parameters and returns their canonical form: right types, defaults spelt out. Two spellings of the same
    /// parameters must return equal values, since this is what enters the key.
    fn check(&self, params: &Value) -> Result<Value, ParamError>;

    /// The parameters as a JSON Schema, for editors and for `repro kinds`: names, types, defaults and what each means.
    /// The default allows everything.
    fn parameters(&self) -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }

    /// Parameters that do not matter to randomness: how long to train, say. They stay out of the unit's seed, so that the
    /// same model trained longer starts where it started before.
    fn seedless(&self) -> &[&str] {
        &[]
    }

    /// What outside the DAG the result depends on, by name: the digest of a data folder, the backend that will be used.
    /// Asked for at every run, so it must be cheap. The default is nothing.
    fn externals(&self, params: &Value, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        let _ = (params, env);
        Ok(BTreeMap::new())
    }

    /// What a unit with these parameters and so many input units costs: seconds on one core of the machine that the costs
    /// were measured on. The scheduler starts long chains first by it, and tells how long a run will take. A cost enters no
    /// key. The default knows nothing.
    fn cost(&self, params: &Value, inputs: usize) -> Option<f64> {
        let _ = (params, inputs);
        None
    }

    /// Does the work of one unit.
    fn run(&self, ctx: &Context) -> StageResult;
}

/// A cost from outside the kind's own sources: [`Kind::cost`] of some kind. Correcting it makes no result stale.
pub type Cost = fn(&Value, usize) -> Option<f64>;

/// A stage kind with typed parameters: what most kinds implement.
pub trait Stage: Send + Sync + 'static {
    /// The name in `kind:`.
    const NAME: &'static str;
    /// See [`Kind::seed_name`].
    const SEED_NAME: &'static str = Self::NAME;
    /// One line that says what the kind does.
    const ABOUT: &'static str;
    /// See [`Kind::schema`].
    const SCHEMA: u32 = 1;
    /// See [`Kind::seedless`].
    const SEEDLESS: &'static [&'static str] = &[];
    /// The parameters, with `#[serde(deny_unknown_fields)]` and `#[serde(default)]` where a default exists.
    /// Their doc comments are what [`Kind::parameters`] says of them.
    type Params: Serialize + DeserializeOwned + JsonSchema;

    /// Refuses parameters that have the right types and make no sense (a rank of 0, say).
    fn check(&self, params: &Self::Params) -> Result<(), ParamError> {
        let _ = params;
        Ok(())
    }

    /// See [`Kind::externals`].
    fn externals(&self, params: &Self::Params, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        let _ = (params, env);
        Ok(BTreeMap::new())
    }

    /// See [`Kind::cost`]. A cost written here is part of the kind's sources, so correcting it makes its results stale; one
    /// that [`Registry::costed`] is given is not.
    fn cost(&self, params: &Self::Params, inputs: usize) -> Option<f64> {
        let _ = (params, inputs);
        None
    }

    /// Does the work of one unit.
    fn run(&self, params: &Self::Params, ctx: &Context) -> StageResult;
}

/// A [`Stage`] seen as a [`Kind`].
struct Typed<S> {
    stage: S,
    sources: Vec<(String, String)>,
    cost: Option<Cost>,
}

impl<S: Stage> Kind for Typed<S> {
    fn name(&self) -> &str {
        S::NAME
    }
    fn seed_name(&self) -> &str {
        S::SEED_NAME
    }
    fn about(&self) -> &str {
        S::ABOUT
    }
    fn schema(&self) -> u32 {
        S::SCHEMA
    }
    fn sources(&self) -> &[(String, String)] {
        &self.sources
    }
    fn seedless(&self) -> &[&str] {
        S::SEEDLESS
    }
    fn parameters(&self) -> serde_json::Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
        settings.into_generator().into_root_schema_for::<S::Params>().to_value()
    }
    fn check(&self, params: &Value) -> Result<Value, ParamError> {
        let typed: S::Params = from_value(params)?;
        self.stage.check(&typed)?;
        to_value(&typed)
    }
    fn externals(&self, params: &Value, env: &Environment) -> Result<BTreeMap<String, String>, StageError> {
        self.stage.externals(&from_value(params)?, env)
    }
    fn cost(&self, params: &Value, inputs: usize) -> Option<f64> {
        let seconds = match self.cost {
            Some(cost) => cost(params, inputs),
            None => self.stage.cost(&from_value(params).ok()?, inputs),
        };
        seconds.filter(|s| s.is_finite() && *s >= 0.0)
    }
    fn run(&self, ctx: &Context) -> StageResult {
        self.stage.run(&from_value(ctx.params())?, ctx)
    }
}

/// The kinds a program knows, by name.
#[derive(Default, Clone)]
pub struct Registry {
    kinds: BTreeMap<String, Arc<dyn Kind>>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind; a later one of the same name replaces the earlier.
    pub fn kind(&mut self, kind: impl Kind + 'static) -> &mut Self {
        self.kinds.insert(kind.name().to_string(), Arc::new(kind));
        self
    }

    /// Adds a typed stage with the sources its code is made of (path, digest), as the build script found them.
    pub fn stage<S: Stage, P: AsRef<str>, D: AsRef<str>>(&mut self, stage: S, sources: &[(P, D)]) -> &mut Self {
        let sources = sources.iter().map(|(p, d)| (p.as_ref().to_string(), d.as_ref().to_string())).collect();
        self.kind(Typed { stage, sources, cost: None })
    }

    /// The same with a cost that is no part of its sources.
    pub fn costed<S: Stage, P: AsRef<str>, D: AsRef<str>>(
        &mut self,
        stage: S,
        sources: &[(P, D)],
        cost: Cost,
    ) -> &mut Self {
        let sources = sources.iter().map(|(p, d)| (p.as_ref().to_string(), d.as_ref().to_string())).collect();
        self.kind(Typed { stage, sources, cost: Some(cost) })
    }

    /// The kind of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Kind>> {
        self.kinds.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.kinds.keys().map(String::as_str).collect()
    }

    /// All kinds, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Kind>> {
        self.kinds.values()
    }
}
