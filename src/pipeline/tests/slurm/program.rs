//! The program under test: a toy kind, a driver, a worker, and a project to run them in.

#![allow(dead_code)] // two test programs use it, each its part

use crate::cluster::Cluster;
use pipeline::run::slurm;
use pipeline::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// Writes its parameters and inputs; notes each start and end in `ran.log`.
struct Toy;

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Params {
    x: f64,
    text: String,
    sleep_ms: u64,
    fail: bool,
    fail_first: usize,
    /// Writes other bytes each time.
    random: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self { x: 0.0, text: String::new(), sleep_ms: 0, fail: false, fail_first: 0, random: false }
    }
}

impl Stage for Toy {
    const NAME: &'static str = "toy";
    const ABOUT: &'static str = "writes what it was given";
    const SCHEMA: u32 = 1;
    type Params = Params;

    fn run(&self, p: &Params, ctx: &Context) -> StageResult {
        let log = ctx.env().get("ran").ok_or("no log")?;
        let note = |word: &str| -> StageResult {
            let mut file = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
            Ok(file.write_all(format!("{word} {}\n", ctx.id()).as_bytes())?)
        };
        note("start")?;
        std::thread::sleep(std::time::Duration::from_millis(p.sleep_ms));
        let starts =
            || std::fs::read_to_string(log).map(|t| t.lines().filter(|l| *l == format!("start {}", ctx.id())).count());
        if p.fail || (p.fail_first > 0 && starts()? <= p.fail_first) {
            return Err("told to fail".into());
        }
        let mut text = format!("x={} text={} seed={}\n", p.x, p.text, ctx.seed());
        for stage in ctx.needs().map(str::to_string).collect::<Vec<_>>() {
            for input in ctx.inputs(&stage)? {
                text += &std::fs::read_to_string(input.path("out.txt")?)?;
            }
        }
        if p.random {
            text += &format!("{:?}", std::time::SystemTime::now());
        }
        std::fs::write(ctx.output("out.txt")?, text)?;
        note("end")
    }
}

fn kinds() -> Registry {
    let mut kinds = Registry::new();
    kinds.stage(Toy, &[("toy.rs", "a")]);
    kinds
}

fn engine(folder: &Path) -> Result<Engine> {
    let plan = Config::load(folder.join("pipeline.yaml"))?.plan("default", &[], &kinds())?;
    let mut env = Environment::default();
    env.set("ran", folder.join("ran.log").display().to_string());
    Engine::open(plan, EngineOptions { env, ..Default::default() })
}

/// What the program calls itself; a test can make it another.
fn version() -> String {
    std::env::var("TOY_VERSION").unwrap_or_else(|_| "toy 1".into())
}

/// `-C DIR exec-chunk RUN CHUNK`.
pub fn worker(folder: &str, run: &str, chunk: &str) -> ExitCode {
    let work = || -> std::result::Result<bool, Box<dyn std::error::Error>> {
        let engine = engine(Path::new(folder))?;
        let run = RunFolder::open(engine.store().folder(), run)?;
        Ok(slurm::worker::exec_chunk(&engine, &version(), &run, chunk.parse()?, Default::default())?)
    };
    match work() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `drive DIR`: the last line of stdout says how it ended.
pub fn driver(folder: &str) -> ExitCode {
    let folder = Path::new(folder);
    let work = || -> Result<Summary> {
        let engine = engine(folder)?;
        let info = RunInfo {
            program: "toy 1".into(),
            plan: engine.plan_digest(),
            profile: "default".into(),
            sets: Vec::new(),
            env: Environment::default(),
            targets: Vec::new(),
            fail_fast: std::env::var_os("TOY_FAIL_FAST").is_some(),
            options: engine.plan().slurm.clone(),
        };
        let fail_fast = std::env::var_os("TOY_FAIL_FAST").is_some();
        let options = RunOptions { fail_fast, ..Default::default() };
        // Nothing stale, nothing to submit: no run is begun.
        if engine.dry_run(&options)?.is_empty() {
            return engine.run(&options, &mut |_| {});
        }
        let (run, _) = RunFolder::resume_or_create(engine.store().folder(), &info)?;
        let program = std::env::current_exe().map_err(|e| Error::Executor(e.to_string()))?;
        let worker = [&program.display().to_string(), "-C", &folder.display().to_string(), "exec-chunk"];
        let worker = worker.map(str::to_string).to_vec();
        slurm::drive(&engine, &run, worker, &options, &mut |event| match event {
            Event::Note(text) => println!("note: {text}"),
            Event::Waiting { unit, holder } => println!("waiting: {} for {holder}", engine.plan().units[unit].id),
            Event::Nondeterministic { unit, .. } => println!("differs: {}", engine.plan().units[unit].id),
            _ => {}
        })
    };
    match work() {
        Ok(s) => {
            s.failed.iter().for_each(|f| println!("failed {} after {}: {}", f.id, f.attempts, f.error));
            println!("RAN {} FRESH {} FAILED {} BLOCKED {}", s.ran.len(), s.fresh, s.failed.len(), s.blocked.len());
            println!("SPARED {} NOT-STARTED {} INTERRUPTED {}", s.spared, s.not_started, s.interrupted);
        }
        Err(error) => println!("ERROR {error}"),
    }
    ExitCode::SUCCESS
}

/// A project on the "shared file system".
pub struct Project {
    pub folder: tempfile::TempDir,
}

impl Project {
    pub fn new(yaml: &str) -> Self {
        Self::named("project", yaml)
    }

    pub fn named(prefix: &str, yaml: &str) -> Self {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir().unwrap();
        std::fs::write(folder.path().join("pipeline.yaml"), yaml).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, cluster: &Cluster) -> Command {
        let mut command = cluster.command(&std::env::current_exe().unwrap());
        command.arg("drive").arg(self.folder.path());
        command
    }

    pub fn start(&self, cluster: &Cluster) -> Child {
        self.command(cluster).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the driver to its end: all it said.
    pub fn drive(&self, cluster: &Cluster) -> String {
        let out = self.command(cluster).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
    }

    /// The same on this machine alone.
    pub fn local(&self, jobs: usize) -> Summary {
        engine(self.folder.path()).unwrap().run(&RunOptions { jobs, ..Default::default() }, &mut |_| {}).unwrap()
    }

    pub fn lock(&self) -> String {
        std::fs::read_to_string(self.path("pipeline.lock")).unwrap_or_default()
    }

    /// How often each unit started.
    pub fn starts(&self) -> BTreeMap<String, usize> {
        let mut out = BTreeMap::new();
        for id in std::fs::read_to_string(self.path("ran.log"))
            .unwrap_or_default()
            .lines()
            .filter_map(|l| l.strip_prefix("start "))
        {
            *out.entry(id.to_string()).or_default() += 1;
        }
        out
    }

    /// The units that have a healthy record.
    pub fn fresh(&self) -> Vec<String> {
        let engine = engine(self.folder.path()).unwrap();
        let pending = engine.dry_run(&RunOptions::default()).unwrap();
        let stale: std::collections::BTreeSet<&String> = pending.iter().map(|p| &p.id).collect();
        engine.plan().units.iter().map(|u| u.id.clone()).filter(|id| !stale.contains(id)).collect()
    }
}

/// A driver that a test no longer needs.
pub fn wait(child: Child) -> String {
    String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout).into_owned()
}
