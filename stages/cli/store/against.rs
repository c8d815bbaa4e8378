//! `repro verify --against LOCK`: are the results here those of another lock file?
//!
//! A unit whose key is the same there must have written the same bytes. Where the key differs (other code, another
//! arithmetic such as a GPU), bytes may differ; then the metrics are compared as numbers, each within the tolerance that it
//! declares ([`report::claims::tolerance`]), and every claim must get the same verdict. A lock file holds digests only, so
//! the numbers behind it are looked for in this store and in the store beside the lock file, by the unit's record there.
//!
//! Without a LOCK it is the project's own lock file as it was committed: the file on disk is rewritten by every run, so it
//! would agree with whatever was computed last.

use anyhow::{Context as _, Result};
use pipeline::store::Store;
use pipeline::store::lockfile::{Locked, Lockfile};
use pipeline::{Digest, Engine};
use report::claims::{Metrics, PAPER, judge_all, read, tolerance};
use serde::Serialize;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The lock file of the other side.
pub struct Theirs {
    lock: Lockfile,
    /// What the comparison calls it.
    name: String,
    /// The store beside it, which may hold the numbers behind it.
    store: PathBuf,
}

impl Theirs {
    /// A lock file by its path.
    pub fn file(path: &Path) -> Result<Self> {
        let text = fs_err::read_to_string(path)?;
        let lock = Lockfile::read(&text).with_context(|| format!("cannot compare with {}", path.display()))?;
        let store = Self::beside(path.parent().unwrap_or(Path::new(".")));
        Ok(Self { lock, name: path.display().to_string(), store })
    }

    /// The project's lock file as git has it in the last commit; as it is on disk where git does not know it.
    pub fn committed(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).arg("show").arg(format!("HEAD:./{name}")).stdin(Stdio::null());
        match git.output() {
            Ok(shown) if shown.status.success() => {
                let lock = Lockfile::read(&String::from_utf8_lossy(&shown.stdout))
                    .with_context(|| format!("cannot compare with {name} of the last commit"))?;
                Ok(Self { lock, name: format!("{} as committed", path.display()), store: Self::beside(folder) })
            }
            _ => {
                let found = Self::file(path)?;
                Ok(Self { name: format!("{} (not committed, so as the last run left it)", path.display()), ..found })
            }
        }
    }

    fn beside(folder: &Path) -> PathBuf {
        folder.join(".repro")
    }
}

/// Two values of one metric.
#[derive(Debug, Serialize)]
pub struct Pair {
    metric: String,
    here: Option<f64>,
    there: Option<f64>,
}

/// Two verdicts on one claim.
#[derive(Debug, Serialize)]
pub struct Verdicts {
    claim: String,
    here: String,
    there: String,
}

/// What the comparison found.
#[derive(Debug, Default, Serialize)]
pub struct Against {
    /// Units whose bytes are all equal.
    equal: usize,
    /// Units with other keys and other bytes, judged by their numbers.
    other: Vec<String>,
    /// Units with equal keys and other bytes: a real difference.
    broken: Vec<String>,
    /// Units that the lock file does not know.
    unknown: usize,
    /// Units without a current result.
    stale: usize,
    /// Metrics that are equal to the bit.
    numbers_equal: usize,
    /// Metrics that differ within their tolerance.
    within: Vec<Pair>,
    /// Metrics that differ by more, or that only one side has.
    beyond: Vec<Pair>,
    /// Claims whose verdicts differ.
    verdicts: Vec<Verdicts>,
    /// Stages whose numbers differ and are not to be had for the lock file's side.
    without_numbers: Vec<String>,
}

/// Compares the current results of the targets with a lock file.
pub fn compare(engine: &Engine, targets: &[String], theirs: &Theirs) -> Result<Against> {
    // A folder without a store is an empty one.
    let beside = Store::open(theirs.store.clone())?;
    let behind = |locked: &Locked, stage: &str, label: &str| -> Option<PathBuf> {
        [engine.store(), &beside].into_iter().find_map(|store| {
            let (_, record) = store.journal.with(|index| locked.find(index, stage, label))?;
            let path = store.objects.path(&record.artefacts.get("metrics.json")?.digest);
            path.exists().then_some(path)
        })
    };
    let units: HashMap<&str, usize> = engine.plan().units.iter().enumerate().map(|(i, u)| (u.id.as_str(), i)).collect();
    let (fresh, stale): (Vec<_>, Vec<_>) = engine.why(targets)?.into_iter().partition(|w| w.fresh);
    let keys: HashMap<&str, Option<Digest>> = fresh.iter().map(|w| (w.id.as_str(), w.key)).collect();
    let ids: Vec<&str> = fresh.iter().map(|w| w.id.as_str()).collect();
    let located = if ids.is_empty() { Vec::new() } else { engine.locate(&ids, None)? };

    let mut found = Against { stale: stale.len(), ..Against::default() };
    let (mut here, mut there) = (Metrics::new(), Metrics::new());
    for files in located.chunk_by(|a, b| a.unit == b.unit) {
        let id = files[0].unit.as_str();
        let unit = &engine.plan().units[units[id]];
        let stage = engine.plan().stages[unit.stage].name.as_str();
        let known = theirs.lock.stages.get(stage).and_then(|s| s.get(&unit.label));
        let Some(known) = known else {
            found.unknown += 1;
            continue;
        };
        let Some(key) = keys[id] else { continue };
        let now = Locked::new(&key, files.iter().map(|f| (f.artefact.as_str(), f.digest)));
        if now.same_result(known) {
            found.equal += 1;
        } else if known.has_key(&key) {
            found.broken.push(id.to_string());
        } else {
            found.other.push(id.to_string());
        }
        let Some(file) = files.iter().find(|f| f.artefact == "metrics.json") else { continue };
        let metrics = |path: &Path| -> Result<Metrics> { Ok(serde_json::from_str(&fs_err::read_to_string(path)?)?) };
        here.extend(metrics(&file.path)?);
        if now.same_result(known) {
            there.extend(metrics(&file.path)?);
            continue;
        }
        match behind(known, stage, &unit.label) {
            Some(path) => there.extend(metrics(&path)?),
            None => found.without_numbers.push(id.to_string()),
        }
    }
    found.numbers(&here, &there)?;
    Ok(found)
}

impl Against {
    fn numbers(&mut self, here: &Metrics, there: &Metrics) -> Result<()> {
        if !self.without_numbers.is_empty() {
            return Ok(());
        }
        let names: std::collections::BTreeSet<&String> = here.keys().chain(there.keys()).collect();
        for name in names {
            let (a, b) = (here.get(name).map(|m| m.value), there.get(name).map(|m| m.value));
            let pair = Pair { metric: name.clone(), here: a, there: b };
            match (a, b) {
                (Some(a), Some(b)) if a.to_bits() == b.to_bits() => self.numbers_equal += 1,
                (Some(a), Some(b)) if tolerance(name).holds(a, b) => self.within.push(pair),
                _ => self.beyond.push(pair),
            }
        }
        let claims = read(PAPER)?;
        for (a, b) in judge_all(&claims, here).into_iter().zip(judge_all(&claims, there)) {
            if a.verdict != b.verdict {
                let (here, there) = (a.verdict.to_string(), b.verdict.to_string());
                self.verdicts.push(Verdicts { claim: a.claim.id, here, there });
            }
        }
        Ok(())
    }

    /// Whether nothing but rounding differs.
    pub fn agrees(&self) -> bool {
        self.broken.is_empty() && self.beyond.is_empty() && self.verdicts.is_empty() && self.without_numbers.is_empty()
    }

    /// The findings as text.
    pub fn text(&self, theirs: &Theirs) -> String {
        let mut out = String::new();
        for what in &self.broken {
            out += &format!("problem: {what}: the same key, other bytes\n");
        }
        let value = |v: Option<f64>| v.map_or("none".to_string(), |v| format!("{v:.6e}"));
        for p in &self.beyond {
            out += &format!(
                "problem: {}: {} here, {} there, beyond its tolerance\n",
                p.metric,
                value(p.here),
                value(p.there)
            );
        }
        for p in &self.within {
            out += &format!("within tolerance: {}: {} here, {} there\n", p.metric, value(p.here), value(p.there));
        }
        for v in &self.verdicts {
            out += &format!("problem: claim `{}`: {} here, {} there\n", v.claim, v.here, v.there);
        }
        for id in &self.without_numbers {
            out += &format!(
                "problem: {id}: other numbers, and those behind the lock file are not here; copy that project's .repro folder beside it\n"
            );
        }
        if self.stale + self.unknown > 0 {
            out += &format!("{} without a current result, {} unknown to the lock file\n", self.stale, self.unknown);
        }
        let head = if self.agrees() { "agrees" } else { "differs" };
        out + &format!(
            "{head} with {}: units: {} equal to the bit, {} with other keys and bytes, {} broken; numbers: {} equal to the bit, {} within tolerance, {} beyond\n",
            theirs.name,
            self.equal,
            self.other.len(),
            self.broken.len(),
            self.numbers_equal,
            self.within.len(),
            self.beyond.len()
        )
    }
}
