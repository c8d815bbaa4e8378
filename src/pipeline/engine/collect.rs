//! `gc`: removes the results that nothing needs any more.

use crate::engine::Engine;
use crate::engine::answers::Collected;
use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::freshness::{Freshness, Judge};
use crate::plan::Plan;
use crate::store::index::{Entry, Index};
use crate::store::owner;
use crate::store::record::Record;
use crate::value::digest::Digest;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

impl Engine {
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
                if let Freshness::Fresh { key, .. } | Freshness::Stale { key, .. } = state {
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
            // Records go first. A kill in between leaves objects without a record, which the next gc removes; the other
            // order would leave records without their objects.
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
