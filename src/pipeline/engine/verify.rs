//! `verify`: reads every stored byte again and compares it with the store's records and the lock file.

use crate::engine::Engine;
use crate::engine::answers::{Finding, Verified};
use crate::error::Result;
use crate::freshness::Freshness;
use crate::freshness::key::Key;
use crate::plan::target::select;
use crate::run::executor::{Job, Outcome};
use crate::store::claim::Role;
use crate::store::index::Entry;
use crate::store::lockfile::{Locked, Lockfile};
use crate::store::objects::Health;
use crate::store::record::Record;
use crate::value::digest::Digest;
use std::collections::HashSet;
use std::sync::Arc;

impl Engine {
    /// The targets that have a result on record, whatever became of its objects.
    fn recorded<S: AsRef<str>>(&self, targets: &[S], found: &mut Verified) -> Result<Vec<(usize, Key, Arc<Record>)>> {
        let chosen = select(self.plan(), targets)?;
        let states = self.states(&self.judge(), false)?;
        let mut out = Vec::new();
        for unit in chosen {
            match &states[unit] {
                Some(Freshness::Fresh { key, record }) => out.push((unit, *key, record.clone())),
                _ => found.stale += 1,
            }
        }
        Ok(out)
    }

    /// Reads every artefact of the targets' current results, and compares with the lock file where keys are equal.
    /// Objects found bad are noted in the journal, so that the next run computes them again even when their sizes and
    /// file times are as they were.
    pub fn verify<S: AsRef<str>>(&self, targets: &[S]) -> Result<Verified> {
        let mut found = Verified::default();
        let path = self.lock_path();
        let lock = Lockfile::load(&path);
        if lock.is_none() && path.exists() {
            found.problems.push(Finding::LockUnreadable { path });
        }
        let lock = lock.unwrap_or_default();
        let (mut bad, mut hashed) = (Vec::new(), HashSet::new());
        for (unit, key, record) in self.recorded(targets, &mut found)? {
            found.units += 1;
            let u = &self.plan().units[unit];
            let locked = lock.stages.get(&self.plan().stages[u.stage].name).and_then(|s| s.get(&u.label));
            if locked.is_some_and(|l| l.has_key(&key) && !l.same_result(&Locked::of(&key, &record))) {
                found.problems.push(Finding::LockDiffers { unit: u.id.clone() });
            }
            for (name, artefact) in &record.artefacts {
                let (unit, artefact_name) = (u.id.clone(), name.clone());
                if hashed.insert(artefact.digest) {
                    found.artefacts += 1;
                    found.bytes += artefact.size;
                }
                match self.store().objects.health(artefact, None, true)? {
                    Health::Good(_) => {}
                    Health::Missing => found.problems.push(Finding::Missing { unit, artefact: artefact_name }),
                    Health::Corrupt => {
                        bad.push(Entry::Bad(artefact.digest));
                        found.problems.push(Finding::Corrupt { unit, artefact: artefact_name });
                    }
                }
            }
        }
        let damaged = self.store().journal.with(|i| i.damaged.clone());
        found.problems.extend(damaged.into_iter().map(|line| Finding::DamagedRecord { line }));
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
        let session = self.session(Role::Run)?;
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
                        found.problems.push(Finding::RerunDiffers { unit: id, artefact });
                    }
                }
                Outcome::Failed { error } => found.problems.push(Finding::RerunFailed { unit: id, error }),
                Outcome::Broken { error } => return Err(error),
                Outcome::Stored | Outcome::Stopped => {}
            }
        }
        Ok(found)
    }
}
