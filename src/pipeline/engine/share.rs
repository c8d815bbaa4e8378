//! Results that come from elsewhere, or go there: what a push sends, what a pull lacks, and how a pull ends.
//!
//! The engine knows no network. It says which results are current, which records of somebody else would make the
//! targets fresh, and takes in records whose objects are in the store. Nothing is taken in on trust that can be checked:
//!
//! | of a foreign record | checked by |
//! |---|---|
//! | its key | computed again from its parts; the plan asks for it by the key that it computes itself |
//! | its sources | their digest |
//! | names of artefacts | must be plain file names: they become paths in a `publish` folder |
//! | digests of artefacts | the lock file, where it lists the key |
//! | bytes | their digests; a record enters the journal after its objects |

use super::Engine;
use crate::error::Result;
use crate::freshness::Freshness;
use crate::freshness::key::{Key, code_digest};
use crate::run::RunOptions;
use crate::run::event::Event;
use crate::store::index::Entry;
use crate::store::lockfile::{Locked, Lockfile};
use crate::store::objects::Stat;
use crate::store::record::Record;
use crate::store::{Session, roots};
use crate::value::digest::Digest;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What the targets lack and another store has.
#[derive(Clone, Debug, Default)]
pub struct Lacking {
    /// Records that would make units fresh: index of the unit, key, record.
    pub wanted: Vec<(usize, Key, Arc<Record>)>,
    /// Units that are fresh already.
    pub fresh: usize,
    /// Ids of units that neither side has.
    pub absent: Vec<String>,
    /// Units whose inputs neither side has, so that their keys are not known.
    pub unknown: usize,
    /// Ids of units that the lock file knows with the same key and other bytes: not wanted.
    pub refused: Vec<String>,
    /// Whether the lock file is there and cannot be read, so that nothing was compared with it.
    pub lock_unreadable: bool,
}

/// Whether an entry of somebody else's store is what it says: see the table at the head of this module.
pub fn is_sound(entry: &Entry) -> bool {
    let plain = |name: &String| !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']);
    match entry {
        Entry::Host { digest, host } => *digest == Digest::of(format!("{host:?}").as_bytes()),
        Entry::Sources { digest, sources } => *digest == code_digest(sources),
        Entry::Record { key, record } => record.parts.key() == *key && record.artefacts.keys().all(plain),
        _ => false,
    }
}

impl Engine {
    /// The units of the targets and everything they need.
    fn scope_of(&self, targets: &[String]) -> Result<Vec<bool>> {
        Ok(self.scope(&RunOptions { targets: targets.to_vec(), ..RunOptions::default() })?.0)
    }

    /// Every current result of the targets and of what they need, in plan order.
    pub fn current(&self, targets: &[String]) -> Result<Vec<(usize, Key, Arc<Record>)>> {
        self.store().journal.refresh()?;
        let states = self.judge().all(&self.scope_of(targets)?, true)?;
        self.store().note_seen();
        let fresh = |(unit, state)| match state {
            Some(Freshness::Fresh { key, record }) => Some((unit, key, record)),
            _ => None,
        };
        Ok(states.into_iter().enumerate().filter_map(fresh).collect())
    }

    /// What `known` could add to make the targets fresh. Units are judged in plan order, each with the results of its
    /// inputs, here or there.
    pub fn lacking(&self, targets: &[String], known: impl Fn(&Key) -> Option<Arc<Record>>) -> Result<Lacking> {
        self.store().journal.refresh()?;
        let (scope, judge, plan) = (self.scope_of(targets)?, self.judge(), self.plan());
        let lock = Lockfile::load(&self.lock_path());
        let lock_unreadable = lock.is_none() && self.lock_path().exists();
        let lock = lock.unwrap_or_default();
        // A line of the same key names another result: that one is not taken in.
        let agrees = |unit: usize, key: &Key, record: &Record| {
            let unit = &plan.units[unit];
            let line = lock.stages.get(&plan.stages[unit.stage].name).and_then(|units| units.get(&unit.label));
            line.is_none_or(|line| !line.has_key(key) || line.same_result(&Locked::of(key, record)))
        };
        let mut out = Lacking { lock_unreadable, ..Lacking::default() };
        let mut records: Vec<Option<Arc<Record>>> = vec![None; plan.units.len()];
        for unit in (0..plan.units.len()).filter(|&u| scope[u]) {
            if plan.units[unit].inputs.iter().any(|&i| records[i].is_none()) {
                out.unknown += 1;
                continue;
            }
            let key = judge.key(unit, |i| records[i].as_deref()).0;
            match (judge.judge(key, true)?, known(&key)) {
                (Freshness::Fresh { record, .. }, _) => {
                    out.fresh += 1;
                    records[unit] = Some(record);
                }
                (_, Some(record)) if agrees(unit, &key, &record) => {
                    records[unit] = Some(record.clone());
                    out.wanted.push((unit, key, record));
                }
                (_, Some(_)) => out.refused.push(plan.units[unit].id.clone()),
                (_, None) => out.absent.push(plan.units[unit].id.clone()),
            }
        }
        self.store().note_seen();
        Ok(out)
    }

    /// Keeps gc away and gives a scratch folder, as a run has it, until the result is dropped.
    pub fn at_work(&self) -> Result<Session> {
        self.session(crate::store::claim::Role::Run)
    }

    /// Enters records, with the hosts and sources they refer to, into the journal. Their objects are in the store, and
    /// `seen` says how they looked; they are made durable first.
    pub fn take_in(&self, entries: Vec<Entry>, seen: Vec<(Digest, Stat)>) -> Result<()> {
        let digests: BTreeSet<Digest> = seen.iter().map(|(digest, _)| *digest).collect();
        self.store().objects.sync(&digests)?;
        self.store().journal.update(|index| {
            let new = |entry: &Entry| match entry {
                Entry::Host { digest, .. } => !index.hosts.contains_key(digest),
                Entry::Sources { digest, .. } => !index.sources.contains_key(digest),
                entry => is_sound(entry),
            };
            let mut all = vec![Entry::Seen(seen)];
            all.extend(entries.into_iter().filter(new));
            (all, ())
        })?;
        self.store().journal.sync()
    }

    /// Ends a pull as a run ends: publishes what is fresh, writes the lock file, keeps gc from the results. Returns the
    /// files written and those that could not be.
    pub fn settle(
        &self,
        targets: &[String],
        events: &mut dyn FnMut(Event),
    ) -> Result<(Vec<PathBuf>, Vec<(PathBuf, String)>)> {
        let done = self.current(targets)?;
        let published = self.publish(done.iter().map(|(unit, _, record)| (*unit, record)), events);
        let lines: Vec<_> = done.iter().map(|(unit, key, record)| (*unit, *key, record)).collect();
        self.write_lock(&lines)?;
        roots::note(self.store().folder(), done.iter().map(|(_, key, _)| *key));
        Ok(published)
    }
}
