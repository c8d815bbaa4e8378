//! The DAG engine: config, keys, store, locks, scheduler, executors, reasons. Knows nothing of the paper.
#![warn(missing_docs)]

pub mod bench;
pub mod config;
pub mod context;
pub mod digest;
pub mod engine;
pub mod error;
mod evaluate;
mod execute;
pub mod host;
mod inspect;
pub mod key;
pub mod kind;
pub mod plan;
pub mod query;
pub mod run;
pub mod stale;
pub mod store;
pub mod target;
pub mod typed;
pub mod value;
mod verify;

pub use bench::{EngineBench, bench_engine};
pub use config::{Config, ConfigError};
pub use context::{Context, Environment, Input, InputError};
pub use digest::Digest;
pub use engine::{Engine, EngineOptions};
pub use error::{Error, Result};
pub use key::{Key, KeyParts};
pub use kind::{Kind, Registry, Stage, StageError, StageResult};
pub use plan::{Plan, PlannedStage, Resources, Unit};
pub use query::{Collected, Located, Problem, StageStatus, UnitLog, Verified, Why};
pub use run::event::Event;
pub use run::executor::{Executor, Job, Outcome, Report, Reporter};
pub use run::{FailedUnit, Force, Pending, RunOptions, Summary};
pub use stale::Stale;
pub use store::record::{Artefact, Failure, Host, Provenance, Record};
pub use typed::{ParamError, from_value, to_value};
pub use value::Value;
