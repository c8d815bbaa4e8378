//! What the engine itself costs.
//!
//! Runs units that only write a few bytes, from an empty store and then again with nothing to do. Beside it stands the
//! time that the file system alone takes to write as many files, which no engine that keeps results in files can beat.

use crate::config::Config;
use crate::engine::{Engine, EngineOptions};
use crate::error::{Error, Result};
use crate::kind::context::Context;
use crate::kind::{Registry, Stage, StageResult};
use crate::run::RunOptions;
use crate::store::Store;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;

/// Writes its number into a file.
struct Trivial;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Number {
    n: u64,
}

impl Stage for Trivial {
    const NAME: &'static str = "trivial";
    const ABOUT: &'static str = "writes a number";
    const SCHEMA: u32 = 1;
    type Params = Number;
    fn run(&self, p: &Number, ctx: &Context) -> StageResult {
        std::fs::write(ctx.output("n.txt")?, p.n.to_string())?;
        Ok(())
    }
}

/// What was measured, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EngineBench {
    /// Units run.
    pub units: usize,
    /// Reading and checking the pipeline, multiplying out its matrix.
    pub plan: f64,
    /// Running all units, from an empty store.
    pub cold: f64,
    /// Running again with nothing to do, opening the store included.
    pub noop: f64,
    /// Writing as many files of the same content into folders, without any engine and without fsync.
    pub floor: f64,
}

impl std::fmt::Display for EngineBench {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let per_unit = |seconds: f64| seconds * 1e3 / self.units as f64;
        writeln!(f, "{} trivial units", self.units)?;
        writeln!(f, "plan    {:8.1} ms", self.plan * 1e3)?;
        writeln!(f, "cold    {:8.1} ms, {:.3} ms per unit", self.cold * 1e3, per_unit(self.cold))?;
        writeln!(f, "no-op   {:8.1} ms", self.noop * 1e3)?;
        write!(
            f,
            "floor   {:8.1} ms to write the files alone, {:.3} ms per file",
            self.floor * 1e3,
            per_unit(self.floor)
        )
    }
}

/// Measures with `units` units in a new folder below `parent`, which is removed afterwards.
pub fn bench_engine(units: usize, parent: &Path) -> Result<EngineBench> {
    let wrong = |e| Error::io("write", parent, e);
    let folder = tempfile::Builder::new().prefix("engine-bench-").tempdir_in(parent).map_err(wrong)?;
    let mut kinds = Registry::new();
    kinds.stage(Trivial, &[("bench.rs", "1")]);
    let yaml = format!("version: 1\nstages:\n  trivial:\n    matrix: {{n: 1..{}}}\n", units.max(1));
    let options = EngineOptions::default();
    let store = folder.path().join(format!(".{}", options.name));
    let engine = || -> Result<(Engine, f64)> {
        let start = Instant::now();
        let (planned, store) = Store::open_beside(store.clone(), || -> Result<_> {
            let plan = Config::parse("pipeline.yaml", &yaml, folder.path())?.plan("default", &[], &kinds)?;
            Ok((plan, start.elapsed().as_secs_f64()))
        });
        let (plan, time) = planned?;
        Ok((Engine::with_store(plan, store?, options.clone()), time))
    };
    let run = |engine: &Engine| engine.run(&RunOptions::default(), &mut |_| {});

    let files = folder.path().join("floor");
    let start = Instant::now();
    for shard in 0..256 {
        std::fs::create_dir_all(files.join(shard.to_string())).map_err(wrong)?;
    }
    for n in 0..units {
        std::fs::write(files.join((n % 256).to_string()).join(n.to_string()), n.to_string()).map_err(wrong)?;
    }
    let floor = start.elapsed().as_secs_f64();

    let (cold_engine, plan) = engine()?;
    let start = Instant::now();
    let summary = run(&cold_engine)?;
    let cold = start.elapsed().as_secs_f64();
    drop(cold_engine);
    let start = Instant::now();
    let again = run(&engine()?.0)?;
    let noop = start.elapsed().as_secs_f64();
    if summary.ran.len() != units.max(1) || !again.ran.is_empty() {
        return Err(Error::Executor("the bench did not run what it should have".to_string()));
    }
    Ok(EngineBench { units: units.max(1), plan, cold, noop, floor })
}
