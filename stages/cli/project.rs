//! Finding the project: the nearest pipeline.yaml from here upwards.

use super::console::message;
use super::options::{Choose, View};
use super::remembered;
use pipeline::store::Store;
use pipeline::{Config, Engine, EngineOptions, Environment, Plan};
use std::path::{Path, PathBuf};

/// The program's name, which the engine's files carry: `repro.lock`, jobs of a cluster.
const NAME: &str = "repro";

/// The folder of the store in a project.
pub const STORE: &str = ".repro";

/// The file that makes a folder a project.
pub const FILE: &str = "pipeline.yaml";

/// The folder of the nearest pipeline.yaml, from `start` (or the current folder) upwards.
pub fn find(start: Option<&Path>) -> anyhow::Result<PathBuf> {
    let start = match start {
        Some(dir) if !dir.is_dir() => anyhow::bail!("-C {}: no such folder", dir.display()),
        Some(dir) => std::path::absolute(dir)?,
        None => std::env::current_dir()?,
    };
    let found = start.ancestors().find(|dir| dir.join(FILE).is_file()).map(Path::to_path_buf);
    found.ok_or_else(|| {
        anyhow::anyhow!(
            "no {FILE} in {} or any folder above it; go to a project or name one with -C DIR",
            start.display()
        )
    })
}

/// An open project.
pub struct Project {
    /// What would run.
    pub plan: Plan,
    /// What stages may use.
    pub env: Environment,
    /// The flags it was opened with, as [`View::flags`] gives them.
    pub flags: String,
    store: Store,
}

impl Project {
    /// Find the project, read its pipeline.yaml, check it and what it is to run on.
    pub fn open(start: Option<&Path>, view: &View) -> anyhow::Result<Project> {
        let folder = find(start)?;
        let (plan, store) = Store::open_beside(folder.join(STORE), || plan(&folder, &view.choose));
        let plan = plan?;
        view.surroundings.check()?;
        Ok(Project { plan, env: view.surroundings.environment(), flags: view.flags(), store: store? })
    }

    /// Opens the project to look at results: with the settings of the last run, unless a flag says otherwise.
    pub fn look(start: Option<&Path>, view: &View) -> anyhow::Result<Project> {
        let folder = find(start)?;
        let last = remembered::read(&folder).filter(|last| *view == View::default() && *last != *view);
        let Some(last) = last else { return Project::open(Some(&folder), view) };
        match Project::open(Some(&folder), &last) {
            Ok(project) => {
                message!("with the settings of the last run:{} (`--profile default` for none of them)", project.flags);
                Ok(project)
            }
            Err(why) => {
                message!("not with the settings of the last run ({}), because {why:#}", last.flags().trim_start());
                Project::open(Some(&folder), view)
            }
        }
    }

    /// The engine on its store.
    pub fn engine(self) -> anyhow::Result<Engine> {
        Ok(Engine::with_store(self.plan, self.store, options(self.env)))
    }
}

/// An engine that knows which program it is part of.
pub fn engine(plan: Plan, env: Environment) -> pipeline::Result<Engine> {
    Engine::open(plan, options(env))
}

/// What the engine must know of this program.
fn options(env: Environment) -> EngineOptions {
    EngineOptions {
        name: NAME.into(),
        recorded: vec![crate::shared::device::BACKEND.into(), crate::shared::device::ARITHMETIC.into()],
        program: env!("CARGO_PKG_VERSION").into(),
        rustc: env!("REPRO_RUSTC").into(),
        env,
        ..EngineOptions::default()
    }
}

/// What a user of this program can do about an error of the engine, as the end of its sentence.
pub fn hint(error: &anyhow::Error) -> String {
    match error.downcast_ref::<pipeline::Error>() {
        Some(pipeline::Error::NoResult { unit }) => format!("; run `repro run {unit}`"),
        Some(pipeline::Error::DiskFull(_)) => "; `repro gc` removes results that nothing refers to".to_string(),
        _ => String::new(),
    }
}

/// The checked pipeline of a folder.
pub fn plan(folder: &Path, choose: &Choose) -> anyhow::Result<Plan> {
    let config = Config::load(folder.join(FILE))?;
    Ok(config.plan(choose.profile(), &choose.sets, &crate::kinds::kinds())?)
}
