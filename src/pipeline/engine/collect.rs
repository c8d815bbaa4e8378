//! `gc`: removes results from the store, working from roots as Nix does.
//!
//! A result is kept when a root refers to it, directly or through what it was computed from:
//!
//! | root | keeps |
//! |---|---|
//! | every profile of pipeline.yaml | the current result of each unit; where a unit is stale just now, its last result, and what was computed from that |
//! | every lock file beside pipeline.yaml | the results it lists |
//! | every run of late ([`CollectOptions::older_than`]) | the results that were fresh when it ended (`store::roots`) |
//! | every result computed of late | itself: the run that computed it may have been killed |
//! | every cluster run that has not ended, with or without a driver | its units and what they read |
//!
//! A run under way keeps gc outside the gate, so live processes need no root of their own. The result of a kept result's
//! input is kept as well, so that nothing that is kept can become stale by gc.

use super::Engine;
use super::answers::{CollectReason, Collected, CollectedGroup};
use super::mark::Marked;
use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::plan::Plan;
use crate::store::index::{Entry, Index};
use crate::store::owner::Gate;
use crate::store::record::Record;
use crate::store::roots;
use crate::value::digest::Digest;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What gc may remove.
#[derive(Clone, Debug)]
pub struct CollectOptions {
    /// The plans of the other profiles of pipeline.yaml.
    pub profiles: Vec<Plan>,
    /// What a run used, or computed, within this time is kept.
    pub older_than: Duration,
    /// Removes results of this stage only.
    pub only: Option<String>,
    /// Only says what would go.
    pub dry_run: bool,
}

impl Default for CollectOptions {
    /// Thirty days, all stages.
    fn default() -> Self {
        Self { profiles: Vec::new(), older_than: Duration::from_secs(30 * 86_400), only: None, dry_run: false }
    }
}

impl Engine {
    /// Removes what no root refers to: results, objects, logs and dead lines of the journal.
    pub fn gc(&self, options: &CollectOptions) -> Result<Collected> {
        // A dry run must not disturb anybody, nor be disturbed; what it says may be out of date a moment later.
        let gate = if options.dry_run { None } else { Some(Gate::close(&self.store().locks())?) };
        self.store().journal.refresh()?;
        let mut marked = self.mark(options)?;
        let names: HashSet<(&str, &str)> = self.plans(options).flat_map(units).collect();
        let mut groups: BTreeMap<(String, CollectReason), CollectedGroup> = BTreeMap::new();
        let mut dead: HashMap<Digest, (String, CollectReason)> = HashMap::new();
        self.store().journal.with(|index| {
            if let Some(stage) = &options.only {
                marked.keys.extend(index.records.iter().filter(|(_, r)| r.stage != *stage).map(|(key, _)| *key));
            }
            let kept = index.records.iter().filter(|(key, _)| marked.keys.contains(key));
            marked.objects.extend(kept.flat_map(|(_, r)| r.artefacts.values().map(|a| a.digest)));
            let mut gone: Vec<_> = index.records.iter().filter(|(key, _)| !marked.keys.contains(key)).collect();
            gone.sort_by_key(|(key, _)| **key);
            for (_, record) in gone {
                let known = names.contains(&(record.stage.as_str(), record.label.as_str()));
                let reason = if known { CollectReason::Superseded } else { CollectReason::NoSuchUnit };
                let group = (record.stage.clone(), reason);
                count(&mut groups, &group).records += 1;
                for artefact in record.artefacts.values().filter(|a| !marked.objects.contains(&a.digest)) {
                    dead.entry(artefact.digest).or_insert_with(|| group.clone());
                }
            }
        });
        let mut out = Collected { dry_run: options.dry_run, ..Collected::default() };
        let mut remove = Vec::new();
        for (digest, size) in self.store().objects.list()? {
            let group = match dead.get(&digest) {
                Some(group) => group.clone(),
                None if marked.objects.contains(&digest) || options.only.is_some() => {
                    out.kept += 1;
                    out.kept_bytes += size;
                    continue;
                }
                None => (String::new(), CollectReason::NoRecord),
            };
            let group = count(&mut groups, &group);
            group.objects += 1;
            group.bytes += size;
            remove.push(digest);
        }
        out.groups = groups.into_values().collect();
        out.records = out.groups.iter().map(|g| g.records).sum();
        out.objects = out.groups.iter().map(|g| g.objects).sum();
        out.bytes = out.groups.iter().map(|g| g.bytes).sum();
        if gate.is_some() && self.store().folder().exists() {
            // Records go first. A kill in between leaves objects without a record, which the next gc removes; the other
            // order would leave records without their objects.
            self.store().journal.rewrite(|index| survivors(index, &marked))?;
            remove.iter().try_for_each(|digest| self.store().objects.remove(digest))?;
            self.sweep(options, &marked)?;
        }
        Ok(out)
    }

    /// The stages that have results in the store, whatever pipeline.yaml says now.
    pub fn stages_stored(&self) -> BTreeSet<String> {
        self.store().journal.with(|index| index.records.values().map(|r| r.stage.clone()).collect())
    }

    pub(super) fn plans<'a>(&'a self, options: &'a CollectOptions) -> impl Iterator<Item = &'a Plan> {
        std::iter::once(self.plan()).chain(&options.profiles)
    }

    /// Removes logs and root sets that belong to nothing that is kept.
    fn sweep(&self, options: &CollectOptions, marked: &Marked) -> Result<()> {
        let failed = |path: PathBuf| move |e| Error::io("write", &path, e);
        if options.only.is_some() {
            return Ok(());
        }
        for set in roots::all(self.store().folder())?.into_iter().filter(|set| set.age >= options.older_than) {
            std::fs::remove_file(&set.path).map_err(failed(set.path.clone()))?;
        }
        let failures = self.store().journal.with(|i| i.failures.keys().copied().collect::<Vec<_>>());
        let wanted: HashSet<_> = marked.keys.iter().chain(&failures).map(|key| self.store().log_path(key)).collect();
        for shard in std::fs::read_dir(self.store().folder().join("logs")).into_iter().flatten().flatten() {
            for log in std::fs::read_dir(shard.path()).into_iter().flatten().flatten() {
                if !wanted.contains(&log.path()) {
                    std::fs::remove_file(log.path()).map_err(failed(log.path()))?;
                }
            }
        }
        Ok(())
    }
}

/// Stage and label of each unit.
fn units(plan: &Plan) -> impl Iterator<Item = (&str, &str)> {
    plan.units.iter().map(|u| (plan.stages[u.stage].name.as_str(), u.label.as_str()))
}

fn count<'a>(
    groups: &'a mut BTreeMap<(String, CollectReason), CollectedGroup>,
    group: &(String, CollectReason),
) -> &'a mut CollectedGroup {
    let (stage, reason) = group.clone();
    groups.entry(group.clone()).or_insert(CollectedGroup { stage, reason, records: 0, objects: 0, bytes: 0 })
}

/// The entries that say the same as the index about what is kept, in an order that does not depend on hashing.
fn survivors(index: &Index, marked: &Marked) -> Vec<Entry> {
    let mut out = Vec::new();
    let kept = |key: &Key| marked.keys.contains(key);
    let mut records: Vec<(&Key, &Arc<Record>)> = index.records.iter().filter(|(key, _)| kept(key)).collect();
    records.sort_by_key(|(key, record)| (record.provenance.ended, **key));
    let hosts: BTreeSet<Digest> = records.iter().map(|(_, r)| r.provenance.host).collect();
    let codes: BTreeSet<Digest> = records.iter().map(|(_, r)| r.parts.code).collect();
    for digest in hosts {
        out.extend(index.hosts.get(&digest).map(|host| Entry::Host { digest, host: host.clone() }));
    }
    for digest in codes {
        out.extend(index.sources.get(&digest).map(|s| Entry::Sources { digest, sources: (**s).clone() }));
    }
    let live = |d: &Digest| marked.objects.contains(d);
    let mut seen: Vec<_> = index.seen.iter().filter(|(d, _)| live(d)).map(|(d, s)| (*d, *s)).collect();
    seen.sort_by_key(|(digest, _)| *digest);
    out.push(Entry::Seen(seen));
    out.extend(index.bad.iter().filter(|d| live(d)).map(|d| Entry::Bad(*d)));
    for (key, record) in records {
        out.push(Entry::Record { key: *key, record: Box::new((**record).clone()) });
    }
    // A failure names no object: it is short, and the user may still want to read it.
    let mut failures: Vec<_> = index.failures.values().cloned().collect();
    failures.sort_by_key(|failure| failure.key);
    out.extend(failures.into_iter().map(Entry::Failure));
    let mut published: Vec<_> = index.published.iter().collect();
    published.sort_by_key(|(path, _)| *path);
    out.extend(published.into_iter().map(|(path, (digest, stat))| Entry::Published {
        path: path.clone(),
        digest: *digest,
        stat: *stat,
    }));
    out
}
