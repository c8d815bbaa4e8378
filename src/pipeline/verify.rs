//! `verify`: is what the store says still true? And `gc`: what does nobody need any more?

use crate::digest::Digest;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::evaluate::{Judge, State};
use crate::key::Key;
use crate::plan::Plan;
use crate::query::{Collected, Problem, Verified};
use crate::run::executor::{Job, Outcome};
use crate::store::index::{Entry, Index};
use crate::store::lockfile::Lockfile;
use crate::store::objects::Health;
use crate::store::owner;
use crate::store::record::Record;
use crate::target::select;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

impl Engine {
    /// The targets that have a result on record, whatever became of its objects.
    fn recorded<S: AsRef<str>>(&self, targets: &[S], found: &mut Verified) -> Result<Vec<(usize, Key, Arc<Record>)>> {
        let chosen = select(self.plan(), targets)?;
        let states = self.states(false)?;
        let mut out = Vec::new();
        for unit in chosen {
            match &states[unit] {
                State::Fresh { key, record } => out.push((unit, *key, record.clone())),
                _ => found.stale += 1,
            }
        }
        Ok(out)
    }

    /// Reads every artefact of the targets' current results, and compares with `repro.lock` where keys are equal.
    /// Objects found bad are noted, so that the next run mends them even when their file times look innocent.
    pub fn verify<S: AsRef<str>>(&self, targets: &[S]) -> Result<Verified> {
        let mut found = Verified::default();
        let lock = Lockfile::load(&self.lock_path()).unwrap_or_default();
        let (mut bad, mut hashed) = (Vec::new(), HashSet::new());
        for (unit, key, record) in self.recorded(targets, &mut found)? {
            found.units += 1;
            let u = &self.plan().units[unit];
            let locked = lock.stages.get(&self.plan().stages[u.stage].name).and_then(|s| s.get(&u.label));
            for (name, artefact) in &record.artefacts {
                let (unit, artefact_name) = (u.id.clone(), name.clone());
                let differs = |l: &&crate::store::lockfile::Locked| l.key == key;
                if locked.filter(differs).is_some_and(|l| l.artefacts.get(name) != Some(&artefact.digest)) {
                    found.problems.push(Problem::LockDiffers { unit: unit.clone(), artefact: name.clone() });
                }
                if hashed.insert(artefact.digest) {
                    found.artefacts += 1;
                    found.bytes += artefact.size;
                }
                match self.store().objects.health(artefact, None, true)? {
                    Health::Good(_) => {}
                    Health::Missing => found.problems.push(Problem::Missing { unit, artefact: artefact_name }),
                    Health::Corrupt => {
                        bad.push(Entry::Bad(artefact.digest));
                        found.problems.push(Problem::Corrupt { unit, artefact: artefact_name });
                    }
                }
            }
        }
        let damaged = self.store().journal.with(|i| i.damaged.clone());
        found.problems.extend(damaged.into_iter().map(|line| Problem::DamagedRecord { line }));
        if !bad.is_empty() {
            // In a store that cannot be written the note is lost, the report is not.
            let _ = self.store().journal.update(|_| (bad, ()));
        }
        Ok(found)
    }

    /// Executes `count` finished units of the targets again, chosen by `random`, and compares the bytes they write.
    pub fn verify_rerun<S: AsRef<str>>(&self, targets: &[S], count: usize, random: u64) -> Result<Verified> {
        let mut found = Verified::default();
        let mut units = self.recorded(targets, &mut found)?;
        let order = |key: &Key| Digest::of(format!("{random} {key}").as_bytes());
        units.sort_by_cached_key(|(_, key, _)| order(key));
        let session = self.session()?;
        for (unit, key, record) in units.into_iter().take(count) {
            let (threads, scratch) = (record.provenance.threads, session.scratch.clone());
            let parts = record.parts.clone();
            let job = Job { unit, key, parts, threads, expected: None, attempt: 1, scratch };
            found.rerun += 1;
            found.units += 1;
            let id = self.plan().units[unit].id.clone();
            match self.execute(&job, None, &Arc::default()) {
                Outcome::Ran { taken, .. } => {
                    let again = Record { artefacts: taken.artefacts, ..(*record).clone() };
                    found.artefacts += again.artefacts.len();
                    found.bytes += again.size();
                    if let Some(artefact) = crate::run::commit::difference(&record, &again) {
                        found.problems.push(Problem::RerunDiffers { unit: id, artefact });
                    }
                }
                Outcome::Failed { error } => found.problems.push(Problem::RerunFailed { unit: id, error }),
                Outcome::Broken { error } => return Err(error),
                Outcome::Stored => {}
            }
        }
        Ok(found)
    }

    /// [`Engine::gc_keeping`] this plan's results only.
    pub fn gc(&self, dry_run: bool) -> Result<Collected> {
        self.gc_keeping(&[], dry_run)
    }

    /// Removes records and objects that no current result of this plan or of `others` (the plans of other profiles, say)
    /// needs, old logs and dead lines of the journal. With `dry_run` only counts.
    pub fn gc_keeping(&self, others: &[Plan], dry_run: bool) -> Result<Collected> {
        let gate = if dry_run { None } else { Some(owner::exclusive(&self.store().locks())?) };
        self.store().journal.refresh()?;
        let mut keep: HashSet<Key> = HashSet::new();
        for plan in std::iter::once(self.plan()).chain(others) {
            let judge = Judge::new(plan, self.store(), self.env());
            for state in judge.all(&vec![true; plan.units.len()], false)?.into_iter().flatten() {
                if let State::Fresh { key, .. } | State::Stale { key, .. } = state {
                    keep.insert(key);
                }
            }
        }
        let (records, live) = self.store().journal.with(|index| {
            let kept = index.records.iter().filter(|(key, _)| keep.contains(key));
            let live: HashSet<Digest> = kept.flat_map(|(_, r)| r.artefacts.values().map(|a| a.digest)).collect();
            (index.records.keys().filter(|key| !keep.contains(key)).count(), live)
        });
        let mut out = Collected { dry_run, records, ..Collected::default() };
        let mut dead = Vec::new();
        for (digest, size) in self.store().objects.list()? {
            if live.contains(&digest) {
                out.kept += 1;
                out.kept_bytes += size;
            } else {
                out.objects += 1;
                out.bytes += size;
                dead.push(digest);
            }
        }
        if gate.is_some() && self.store().folder().exists() {
            // Records go first: an object without a record is rubbish, a record without its object is a lie.
            self.store().journal.rewrite(|index| survivors(index, &keep, &live))?;
            dead.iter().try_for_each(|digest| self.store().objects.remove(digest))?;
            self.sweep_logs(&keep)?;
        }
        Ok(out)
    }

    fn sweep_logs(&self, keep: &HashSet<Key>) -> Result<()> {
        let wanted: HashSet<_> = keep.iter().map(|key| self.store().log_path(key)).collect();
        for shard in std::fs::read_dir(self.store().folder().join("logs")).into_iter().flatten().flatten() {
            for log in std::fs::read_dir(shard.path()).into_iter().flatten().flatten() {
                if !wanted.contains(&log.path()) {
                    std::fs::remove_file(log.path()).map_err(|e| Error::io("write", &log.path(), e))?;
                }
            }
        }
        Ok(())
    }
}

/// The entries that say the same as the index about what is kept, in an order that does not depend on hashing.
fn survivors(index: &Index, keep: &HashSet<Key>, live: &HashSet<Digest>) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut records: Vec<(&Key, &Arc<Record>)> = index.records.iter().filter(|(key, _)| keep.contains(key)).collect();
    records.sort_by_key(|(key, record)| (record.provenance.ended, **key));
    let hosts: BTreeSet<Digest> = records.iter().map(|(_, r)| r.provenance.host).collect();
    let codes: BTreeSet<Digest> = records.iter().map(|(_, r)| r.parts.code).collect();
    for digest in hosts {
        out.extend(index.hosts.get(&digest).map(|host| Entry::Host { digest, host: host.clone() }));
    }
    for digest in codes {
        out.extend(index.sources.get(&digest).map(|s| Entry::Sources { digest, sources: (**s).clone() }));
    }
    let mut seen: Vec<_> = index.seen.iter().filter(|(d, _)| live.contains(d)).map(|(d, s)| (*d, *s)).collect();
    seen.sort_by_key(|(digest, _)| *digest);
    out.push(Entry::Seen(seen));
    out.extend(index.bad.iter().filter(|d| live.contains(d)).map(|d| Entry::Bad(*d)));
    for (key, record) in records {
        out.push(Entry::Record { key: *key, record: Box::new((**record).clone()) });
    }
    out.extend(index.failures.values().filter(|f| keep.contains(&f.key)).cloned().map(Entry::Failure));
    let published = index.published.iter();
    out.extend(published.map(|(path, (digest, stat))| Entry::Published {
        path: path.clone(),
        digest: *digest,
        stat: *stat,
    }));
    out
}
