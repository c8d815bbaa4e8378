//! One side of a comparison: a lock file, and the places where the bytes of its digests may be found.

use crate::cli::options::Choose;
use crate::cli::project::FILE;
use anyhow::{Context as _, Result, bail};
use pipeline::store::Store;
use pipeline::store::lockfile::{Locked, Lockfile};
use pipeline::{Config, Digest, Engine, Plan, Record};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The word on the command line for the current results.
pub const NOW: &str = "now";

/// One side.
pub struct Side<'a> {
    /// Its name in the comparison.
    pub name: String,
    /// Its units, keys and digests.
    pub lock: Lockfile,
    /// The revision of git that it was read from.
    pub revision: Option<String>,
    engine: &'a Engine,
    /// The store beside its lock file, where the side is a lock file given by its path.
    lock_store: Option<Store>,
    /// Its plan, where its pipeline.yaml is at hand and this program's kinds accept it.
    pub plan: Option<Plan>,
    /// Whether files published in this folder may replace results whose records are not in the store. True for a profile.
    published: bool,
}

/// The output of `git ARGS` in a folder; none when it fails.
fn git(folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(args).stdin(Stdio::null()).stderr(Stdio::null());
    git.output().ok().filter(|out| out.status.success()).map(|out| out.stdout)
}

impl<'a> Side<'a> {
    /// The side that a word of the command line names; see the help of the command.
    pub fn open(engine: &'a Engine, word: &str, choose: &Choose) -> Result<Self> {
        let folder = &engine.plan().folder;
        let (kind, rest) = match word.split_once(':') {
            Some((kind @ ("file" | "profile" | "git"), rest)) => (Some(kind), rest),
            _ => (None, word),
        };
        let is = |name: &str| kind.is_none_or(|kind| kind == name);
        if kind.is_none() && word == NOW {
            return Self::now(engine);
        }
        if is("file") && (kind.is_some() || Path::new(rest).is_file()) {
            return Self::file(engine, Path::new(rest), choose);
        }
        let config = Config::load(folder.join(FILE))?;
        if is("profile") && config.profiles().iter().any(|p| p == rest) {
            let choose = Choose { profile: Some(rest.to_string()), sets: choose.sets.clone() };
            let name = if rest == "default" { "repro.lock".to_string() } else { format!("repro.{rest}.lock") };
            let lock = Lockfile::load(&folder.join(&name)).with_context(|| {
                format!("profile `{rest}` has no results: {name} is not there; run `repro run all --profile {rest}`")
            })?;
            let plan = crate::cli::project::plan(folder, &choose).ok();
            let name = format!("profile {rest}");
            return Ok(Self { name, lock, revision: None, engine, lock_store: None, plan, published: true });
        }
        if is("git")
            && let Some(id) = git(folder, &["rev-parse", "--verify", "--quiet", &format!("{rest}^{{commit}}")])
        {
            return Self::commit(engine, rest, String::from_utf8_lossy(&id).trim(), choose);
        }
        bail!(
            "`{word}` is neither a lock file nor a profile ({}) nor a revision of git; `{NOW}` is what the store has",
            config.profiles().join(", ")
        )
    }

    /// The current results of the plan.
    fn now(engine: &'a Engine) -> Result<Self> {
        let mut lock = Lockfile::default();
        for (unit, key, record) in engine.current(&[])? {
            let unit = &engine.plan().units[unit];
            let stage = engine.plan().stages[unit.stage].name.clone();
            lock.stages.entry(stage).or_default().insert(unit.label.clone(), Locked::of(&key, &record));
        }
        anyhow::ensure!(!lock.stages.is_empty(), "no unit has a current result; `repro run` computes them");
        let plan = Some(engine.plan().clone());
        Ok(Self { name: NOW.to_string(), lock, revision: None, engine, lock_store: None, plan, published: false })
    }

    fn file(engine: &'a Engine, path: &Path, choose: &Choose) -> Result<Self> {
        let lock =
            Lockfile::load(path).with_context(|| format!("{} is not a lock file that can be read", path.display()))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let store = folder.join(crate::cli::project::STORE);
        let lock_store = if store.is_dir() { Store::open(store).ok() } else { None };
        let plan = crate::cli::project::plan(folder, choose).ok();
        Ok(Self { name: path.display().to_string(), lock, revision: None, engine, lock_store, plan, published: false })
    }

    fn commit(engine: &'a Engine, word: &str, id: &str, choose: &Choose) -> Result<Self> {
        let folder = &engine.plan().folder;
        let name = engine.lock_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let show = |file: &str| git(folder, &["show", &format!("{id}:./{file}")]);
        let lock =
            show(&name).with_context(|| format!("revision {word} has no {name}: there is nothing to compare"))?;
        let lock =
            Lockfile::read(&String::from_utf8_lossy(&lock)).with_context(|| format!("{name} of revision {word}"))?;
        let yaml = show(FILE).map(|text| String::from_utf8_lossy(&text).into_owned());
        let config = yaml.and_then(|text| Config::parse(FILE, &text, folder).ok());
        let plan = config.and_then(|c| c.plan(choose.profile(), &choose.sets, &crate::kinds::kinds()).ok());
        let short = &id[..id.len().min(10)];
        let name = if id.starts_with(word) { short.to_string() } else { format!("{word} ({short})") };
        Ok(Self { name, lock, revision: Some(id.to_string()), engine, lock_store: None, plan, published: false })
    }

    /// The record of a unit, from this project's store or from the store beside the lock file.
    pub fn record(&self, stage: &str, label: &str) -> Option<Arc<Record>> {
        let locked = self.lock.stages.get(stage)?.get(label)?;
        let stores = [Some(self.engine.store()), self.lock_store.as_ref()];
        let mut found = stores.into_iter().flatten().filter_map(|s| s.journal.with(|i| locked.find(i, stage, label)));
        found.next().map(|(_, record)| record)
    }

    /// The source files behind the digest of a unit's code.
    pub fn sources(&self, code: &Digest) -> Option<pipeline::freshness::key::Sources> {
        let stores = [Some(self.engine.store()), self.lock_store.as_ref()];
        stores
            .into_iter()
            .flatten()
            .find_map(|s| s.journal.with(|index| index.sources.get(code).map(|s| (**s).clone())))
    }

    /// The names of a unit's artefacts: from its record, or from the files that its stage publishes.
    pub fn names(&self, stage: &str, label: &str) -> Vec<String> {
        if let Some(record) = self.record(stage, label) {
            return record.artefacts.keys().cloned().collect();
        }
        let plan = self.plan.as_ref().unwrap_or(self.engine.plan());
        match plan.stage(stage).and_then(|s| s.publish.as_ref()) {
            Some(publish) if self.revision.is_some() || self.published => match &publish.files {
                Some(files) => files.keys().cloned().collect(),
                // Figures and tables have the name of their stage.
                None => vec![format!("{stage}.csv"), format!("{stage}.svg")],
            },
            _ => Vec::new(),
        }
    }

    /// The bytes of an artefact of a unit: those that its record names or, where there is no record, those of the published file.
    pub fn bytes(&self, stage: &str, label: &str, artefact: &str) -> Option<Vec<u8>> {
        if let Some(record) = self.record(stage, label) {
            let digest = record.artefacts.get(artefact)?.digest;
            let stores = [Some(self.engine.store()), self.lock_store.as_ref()];
            let mut found = stores.into_iter().flatten().filter_map(|s| std::fs::read(s.objects.path(&digest)).ok());
            return found.find(|bytes| Digest::of(bytes) == digest);
        }
        let (plan, folder) = (self.plan.as_ref().unwrap_or(self.engine.plan()), &self.engine.plan().folder);
        let path = plan.stage(stage)?.publish.as_ref()?.place(artefact, 0)?;
        match &self.revision {
            Some(id) => git(folder, &["show", &format!("{id}:./{}", path.display())]),
            None if self.published => std::fs::read(folder.join(path)).ok(),
            None => None,
        }
    }

    /// The source files that changed, according to git, between two revisions or from a revision to the current files. None for other sides.
    pub fn changed_files(&self, other: &Side<'_>) -> Option<Vec<String>> {
        let mut args = vec!["diff", "--name-only", "--relative"];
        match (&self.revision, &other.revision) {
            (Some(a), Some(b)) => args.extend([a.as_str(), b.as_str()]),
            (Some(a), None) if other.name == NOW => args.push(a),
            _ => return None,
        }
        args.extend(["--", "src", "stages", "Cargo.toml", "Cargo.lock"]);
        let names = git(&self.engine.plan().folder, &args)?;
        Some(String::from_utf8_lossy(&names).lines().map(str::to_string).collect())
    }
}
