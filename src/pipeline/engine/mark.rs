//! What gc keeps: everything that roots refer to, directly or not. The table of roots stands in [`super::collect`].

use super::Engine;
use super::collect::CollectOptions;
use crate::error::{Error, Result};
use crate::freshness::Judge;
use crate::freshness::key::{ArtefactDigests, Key};
use crate::plan::Plan;
use crate::run::slurm::folder::RunFolder;
use crate::store::index::Index;
use crate::store::lockfile::Lockfile;
use crate::store::record::Record;
use crate::store::roots;
use crate::value::digest::Digest;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

/// What roots refer to.
#[derive(Default)]
pub(super) struct Marked {
    pub(super) keys: HashSet<Key>,
    pub(super) objects: HashSet<Digest>,
}

impl Engine {
    /// Everything that roots refer to.
    pub(super) fn mark(&self, options: &CollectOptions) -> Result<Marked> {
        let mut marked = Marked::default();
        let writers = self.store().journal.with(writers);
        for plan in self.plans(options) {
            self.mark_plan(plan, &mut marked);
        }
        for path in self.lock_files()? {
            let lock = Lockfile::load(&path).ok_or_else(|| Error::DamagedRoots(path.clone()))?;
            self.store().journal.with(|index| marked.keys.extend(lock.keys(index)));
        }
        for set in roots::all(self.store().folder())?.into_iter().filter(|set| set.age < options.older_than) {
            marked.keys.extend(set.keys);
        }
        for run in RunFolder::all(self.store().folder()).into_iter().filter(|run| run.ended().is_none()) {
            for unit in run.units()? {
                marked.keys.insert(unit.key);
                marked.objects.extend(unit.parts.inputs.values().flat_map(BTreeMap::values));
                self.store().journal.with(|index| marked.producers(index, &writers, &unit.parts.inputs));
            }
        }
        let recent = crate::host::now().saturating_sub(options.older_than.as_secs());
        self.store().journal.with(|index| {
            let young = index.records.iter().filter(|(_, r)| r.provenance.ended > recent);
            marked.keys.extend(young.map(|(key, _)| *key));
            marked.close(index, &writers);
        });
        Ok(marked)
    }

    /// The results that a plan's units have, or had: where a unit has no current result, its last one stands for it, and
    /// the units below are looked up as if it were current. So what a stale unit would come out as again is kept.
    fn mark_plan(&self, plan: &Plan, marked: &mut Marked) {
        let judge = Judge::new(plan, self.store(), self.env());
        let mut assumed: Vec<Option<Arc<Record>>> = vec![None; plan.units.len()];
        for (index, unit) in plan.units.iter().enumerate() {
            let stage = &plan.stages[unit.stage].name;
            let (current, _) = judge.key(index, |i| assumed[i].as_deref());
            assumed[index] = self.store().journal.with(|journal| {
                let complete = unit.inputs.iter().all(|&i| assumed[i].is_some());
                let current = journal.records.get_key_value(&current).filter(|_| complete);
                let last = || {
                    let key = journal.history.get(stage)?.get(&unit.label)?.last()?;
                    journal.records.get_key_value(key)
                };
                let (key, record) = current.or_else(last)?;
                marked.keys.insert(*key);
                Some(record.clone())
            });
        }
    }

    /// The lock files beside pipeline.yaml, of all profiles.
    fn lock_files(&self) -> Result<Vec<PathBuf>> {
        let folder = &self.plan().folder;
        let failed = |e| Error::io("read", folder, e);
        let mut out = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let ours =
                name.strip_prefix(self.name()).is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".lock"));
            if ours && entry.path().is_file() {
                out.push(entry.path());
            }
        }
        Ok(out)
    }
}

/// The results that wrote each object.
type Writers = HashMap<Digest, Vec<Key>>;

fn writers(index: &Index) -> Writers {
    let mut out = Writers::new();
    for (key, record) in &index.records {
        for artefact in record.artefacts.values() {
            out.entry(artefact.digest).or_default().push(*key);
        }
    }
    out
}

impl Marked {
    /// Keeps the results that wrote these inputs.
    fn producers(&mut self, index: &Index, writers: &Writers, inputs: &BTreeMap<String, ArtefactDigests>) {
        for (unit, artefacts) in inputs {
            let (stage, label) = unit.split_once('/').unwrap_or((unit, ""));
            let named = index.history.get(stage).and_then(|labels| labels.get(label)).into_iter().flatten();
            // A unit of another name may have written them: one with an equal key, or the same before it was renamed.
            let first = artefacts.values().next().and_then(|digest| writers.get(digest)).into_iter().flatten();
            let wrote = |key: &&Key| {
                index.records.get(*key).is_some_and(|r| {
                    r.artefacts.len() == artefacts.len()
                        && r.artefacts.iter().all(|(name, a)| artefacts.get(name) == Some(&a.digest))
                })
            };
            self.keys.extend(named.chain(first).filter(wrote));
            self.objects.extend(artefacts.values());
        }
    }

    /// Adds the results from which kept results were computed, and those from which these were.
    fn close(&mut self, index: &Index, writers: &Writers) {
        let mut open: Vec<Key> = self.keys.iter().copied().collect();
        while let Some(key) = open.pop() {
            let Some(record) = index.records.get(&key) else { continue };
            let mut found = Marked::default();
            found.producers(index, writers, &record.parts.inputs);
            self.objects.extend(found.objects);
            open.extend(found.keys.into_iter().filter(|key| self.keys.insert(*key)));
        }
    }
}
