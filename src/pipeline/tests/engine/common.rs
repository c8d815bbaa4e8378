//! A tiny pipeline of toy kinds, and a project folder to run it in.
#![allow(dead_code)] // each test file uses its own share of this

use pipeline::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes its parameters, its seed and what its inputs hold. Notes each execution in `ran.log`.
pub struct Toy;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToyParams {
    #[serde(default)]
    pub x: f64,
    #[serde(default)]
    pub rank: u32,
    #[serde(default)]
    pub sleep_ms: u64,
    /// What to do instead of working: `fail`, `panic`, `full` (as on a full disk), or `fail-N`: fail the first N times.
    #[serde(default)]
    pub mood: String,
    /// Leaves only the size of the inputs in the output.
    #[serde(default)]
    pub blunt: bool,
}

impl Stage for Toy {
    const NAME: &'static str = "toy";
    const ABOUT: &'static str = "writes what it was given";
    const SCHEMA: u32 = 1;
    const SEEDLESS: &'static [&'static str] = &["sleep_ms", "mood"];
    type Params = ToyParams;

    fn check(&self, p: &ToyParams) -> Result<(), ParamError> {
        if p.x < 0.0 { Err(ParamError::new("x", "must not be negative")) } else { Ok(()) }
    }

    fn externals(
        &self,
        _: &ToyParams,
        env: &Environment,
    ) -> Result<std::collections::BTreeMap<String, String>, StageError> {
        Ok(env.get("weather").map(|v| ("weather".to_string(), v.to_string())).into_iter().collect())
    }

    fn run(&self, p: &ToyParams, ctx: &Context) -> StageResult {
        // In pieces, so that a unit that is asked to end does.
        let start = std::time::Instant::now();
        while start.elapsed().as_millis() < u128::from(p.sleep_ms) {
            if ctx.cancelled() {
                return Err("asked to end".into());
            }
            std::thread::sleep(std::time::Duration::from_millis(p.sleep_ms.min(5)));
        }
        if let Some(log) = ctx.env().get("ran") {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
            file.write_all(format!("{}\n", ctx.id()).as_bytes())?;
            if let Some(times) = p.mood.strip_prefix("fail-") {
                let ran = std::fs::read_to_string(log)?.lines().filter(|l| *l == ctx.id()).count();
                if ran <= times.parse::<usize>()? {
                    return Err(format!("not yet, attempt {ran}").into());
                }
            }
        }
        match p.mood.as_str() {
            "full" => return Err(Box::new(std::io::Error::from(std::io::ErrorKind::StorageFull))),
            "fail" => return Err("told to fail".into()),
            "panic" => panic!("told to panic"),
            _ => {}
        }
        ctx.log(&format!("x is {}", p.x));
        ctx.progress(0.5, "half way");
        let mut text = format!("x={} rank={} seed={:020}\n", p.x, p.rank, ctx.seed());
        for stage in ctx.needs().map(str::to_string).collect::<Vec<_>>() {
            for input in ctx.inputs(&stage)? {
                let held = std::fs::read_to_string(input.path("out.txt")?)?;
                match p.blunt {
                    true => text.push_str(&format!("{} bytes\n", held.len())),
                    false => text.push_str(&format!("{} holds {held}", input.id)),
                }
            }
        }
        std::fs::write(ctx.output("out.txt")?, text)?;
        Ok(())
    }
}

/// The toy kinds, built from "sources" with the given digests.
pub fn kinds_with(sources: &[(&str, &str)]) -> Registry {
    let mut kinds = Registry::new();
    kinds.stage(Toy, sources);
    kinds
}

pub fn kinds() -> Registry {
    kinds_with(&[("toy.rs", "a")])
}

/// A project folder.
pub struct Project {
    pub folder: tempfile::TempDir,
    pub kinds: Registry,
    pub env: Environment,
}

impl Project {
    pub fn new() -> Self {
        Self::within(&std::env::temp_dir())
    }

    pub fn within(parent: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("engine-").tempdir_in(parent).unwrap();
        let mut env = Environment::default();
        env.set("ran", folder.path().join("ran.log").display().to_string());
        Self { folder, kinds: kinds(), env }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn plan(&self, yaml: &str) -> Plan {
        self.plan_as(yaml, "default")
    }

    pub fn plan_as(&self, yaml: &str, profile: &str) -> Plan {
        let config = Config::parse("pipeline.yaml", yaml, self.folder.path()).unwrap_or_else(|e| panic!("{e}"));
        config.plan(profile, &[], &self.kinds).unwrap_or_else(|e| panic!("{e}"))
    }

    pub fn engine(&self, yaml: &str) -> Engine {
        self.engine_for(self.plan(yaml))
    }

    pub fn engine_for(&self, plan: Plan) -> Engine {
        let options = EngineOptions { program: "test".into(), env: self.env.clone(), ..Default::default() };
        Engine::open(plan, options).unwrap()
    }

    pub fn run(&self, yaml: &str) -> Summary {
        self.engine(yaml).run(&RunOptions::default(), &mut |_| {}).unwrap()
    }

    pub fn lock(&self) -> String {
        std::fs::read_to_string(self.path("pipeline.lock")).unwrap_or_default()
    }

    /// The units executed so far, in order.
    pub fn ran(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("ran.log")).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }
}

pub const CHAIN: &str = "
version: 1
seed: 7
stages:
  a: {kind: toy, matrix: {x: [1, 2]}}
  b: {kind: toy, needs: [a], matrix: {x: [1, 2], rank: 1..2}}
  c: {kind: toy, needs: [b], publish: figures}
";
