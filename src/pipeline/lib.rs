//! A DAG engine: `pipeline.yaml` says what to compute, [kinds](kind) say how, and nothing is computed twice or shown stale.
//! It knows neither the paper nor the program around it: a program registers its kinds, names itself in
//! [`EngineOptions`], and words its own hints about its commands.
//!
//! # Words
//!
//! A **stage** is a node of the DAG. Its **matrix** multiplies it into **units**, the grain of caching, scheduling,
//! retrying and distributing. A unit writes **artefacts**, files that the store keeps by content. A unit's **key**
//! decides whether it must run.
//!
//! # A whole pipeline
//!
//! ```
//! use pipeline::*;
//!
//! struct Add;
//!
//! #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
//! #[serde(deny_unknown_fields)]
//! struct Params { #[serde(default)] n: u32 }
//!
//! impl Stage for Add {
//!     const NAME: &'static str = "add";
//!     const ABOUT: &'static str = "n plus the sum of the inputs";
//!     const SCHEMA: u32 = 1;
//!     type Params = Params;
//!     fn run(&self, p: &Params, ctx: &Context) -> StageResult {
//!         let mut sum = p.n;
//!         for stage in ctx.needs() {
//!             for input in ctx.inputs(stage)? {
//!                 sum += std::fs::read_to_string(input.path("sum")?)?.parse::<u32>()?;
//!             }
//!         }
//!         Ok(std::fs::write(ctx.output("sum")?, sum.to_string())?)
//!     }
//! }
//!
//! let folder = tempfile::tempdir()?;
//! let mut kinds = Registry::new();
//! kinds.stage(Add, &[("add.rs", "digest of its tokens")]);
//! let yaml = "
//! version: 1
//! stages:
//!   numbers: {kind: add, matrix: {n: 1..4}}
//!   total: {kind: add, needs: [numbers]}
//! ";
//! let plan = Config::parse("pipeline.yaml", yaml, folder.path())?.plan("default", &[], &kinds)?;
//! let engine = Engine::open(plan, EngineOptions::default())?;
//! assert_eq!(engine.run(&RunOptions::default(), &mut |_| {})?.ran.len(), 5);
//! assert_eq!(engine.run(&RunOptions::default(), &mut |_| {})?.ran.len(), 0);
//! let total = &engine.locate(&["total"], Some("sum"))?[0].path;
//! assert_eq!(std::fs::read_to_string(total)?, "10");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where to read on
//!
//! | question | module |
//! |---|---|
//! | what may stand in pipeline.yaml | [`config`] |
//! | how is a mistake in it shown at its line | [`yaml`] |
//! | which units of two stages belong together, which units does a target name | [`plan`] |
//! | what is a stage, what does it see while it runs | [`kind`], [`kind::context`] |
//! | **when does a unit rerun, and why** | [`freshness`], [`freshness::key`], [`freshness::stale`] |
//! | what can one ask or order | [`engine`] |
//! | how are results kept through kills, races, full and failing disks | [`store`], [`store::journal`], [`store::objects`] |
//! | how do two processes avoid working on the same unit | [`store::owner`] |
//! | in what order do units run, and where | [`run`], [`run::executor`] |
//! | how does it run on a cluster | [`run::slurm`], options in [`plan::cluster`] |
//! | how do results come from another store | [`engine::share`] |
//! | how does an editor check pipeline.yaml | [`mod@schema`] |
//! | how are parameters compared and hashed | [`value`] |
//! | what does the engine itself cost | [`mod@bench`] |
#![warn(missing_docs)]

pub mod bench;
pub mod config;
pub mod engine;
pub mod error;
pub mod freshness;
pub mod host;
pub mod kind;
pub mod plan;
pub mod run;
pub mod schema;
pub mod store;
pub mod value;
pub mod yaml;

pub use bench::{EngineBench, bench_engine};
pub use config::{Config, ConfigError};
pub use engine::answers::{
    CollectReason, Collected, CollectedGroup, Finding, Located, StageStatus, UnitLog, Verified, Why,
};
pub use engine::collect::CollectOptions;
pub use engine::share::Lacking;
pub use engine::{Engine, EngineOptions};
pub use error::{Error, Result};
pub use freshness::key::{Key, KeyParts};
pub use freshness::stale::Stale;
pub use kind::context::{Context, Environment, Input, InputError};
pub use kind::{Cost, Kind, Registry, Stage, StageError, StageResult};
pub use plan::{Plan, PlannedStage, Publish, RemoteOptions, Resources, SlurmOptions, Unit};
pub use run::event::Event;
pub use run::executor::{Executor, Job, Outcome, Report, Reporter, Stop};
pub use run::forecast::{RemainingUnit, critical_path, rehearse, replay};
pub use run::slurm::Slurm;
pub use run::slurm::files::RunInfo;
pub use run::slurm::folder::RunFolder;
pub use run::{FailedUnit, Force, Pending, RunOptions, Summary};
pub use store::record::{Artefact, Failure, Host, Provenance, Record};
pub use value::digest::Digest;
pub use value::typed::{ParamError, from_value, to_value};
pub use value::{Value, ValueMap};
