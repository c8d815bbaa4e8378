//! The committer: makes finished units permanent, many at a time.
//!
//! An fsync takes as long for a hundred units as for one. So finished units wait here while the last batch is being
//! synced, and the next batch takes all of them. The scheduler goes on meanwhile; units that read the results wait until
//! the results are permanent.

use super::Message;
use crate::error::Result;
use crate::freshness::key::{Key, Sources};
use crate::store::index::Entry;
use crate::store::objects::Stat;
use crate::store::record::{Host, Record};
use crate::store::{Store, Taken};
use crate::value::digest::Digest;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// A unit that ran and is to be committed.
#[derive(Debug)]
pub(crate) struct Finished {
    pub unit: usize,
    pub key: Key,
    pub record: Record,
    pub seen: Vec<(Digest, Stat)>,
    /// Whether a record that is there already stays: of two tasks that ran one unit, the first wins.
    pub keep: bool,
}

/// A unit that is committed.
#[derive(Debug)]
pub(crate) struct Committed {
    pub unit: usize,
    pub record: Arc<Record>,
    /// An artefact whose bytes differ from a former run with the same key.
    pub differs: Option<String>,
    /// The record that was there already, when it differs.
    pub former: Option<Arc<Record>>,
}

impl Finished {
    pub(crate) fn new(unit: usize, key: Key, mut record: Record, taken: Taken) -> Self {
        record.artefacts = taken.artefacts;
        Self { unit, key, record, seen: taken.seen, keep: false }
    }
}

/// What records refer to by digest.
pub(crate) struct Shared<'a> {
    pub code: &'a BTreeMap<Digest, Sources>,
    pub host: (Digest, &'a Host),
}

/// Commits until the sender is gone.
pub(crate) fn run(store: &Store, shared: &Shared<'_>, inbox: Receiver<Finished>, outbox: &Sender<Message>) {
    while let Ok(first) = inbox.recv() {
        let batch: Vec<Finished> = std::iter::once(first).chain(inbox.try_iter()).collect();
        let message = match commit(store, shared, batch) {
            Ok(done) => Message::Committed(done),
            Err(error) => Message::Broken(error),
        };
        if outbox.send(message).is_err() {
            return;
        }
    }
}

/// Makes a batch permanent: objects first, then the journal that names them.
pub(crate) fn commit(store: &Store, shared: &Shared<'_>, batch: Vec<Finished>) -> Result<Vec<Committed>> {
    let digests: BTreeSet<Digest> = batch.iter().flat_map(|f| f.seen.iter().map(|(d, _)| *d)).collect();
    store.objects.sync(&digests)?;
    let done = store.journal.update(|index| {
        let mut entries = Vec::with_capacity(batch.len() + 3);
        if !index.hosts.contains_key(&shared.host.0) {
            entries.push(Entry::Host { digest: shared.host.0, host: shared.host.1.clone() });
        }
        let codes: BTreeSet<Digest> = batch.iter().map(|f| f.record.parts.code).collect();
        for (digest, sources) in shared.code.iter().filter(|(d, _)| codes.contains(d) && !index.sources.contains_key(d))
        {
            entries.push(Entry::Sources { digest: *digest, sources: sources.clone() });
        }
        entries.push(Entry::Seen(batch.iter().flat_map(|f| f.seen.iter().copied()).collect()));
        let mut done = Vec::with_capacity(batch.len());
        for Finished { unit, key, record, keep, .. } in batch {
            let old = index.records.get(&key);
            let differs = old.and_then(|old| difference(old, &record));
            let former = old.filter(|_| differs.is_some()).cloned();
            done.push(Committed { unit, record: Arc::new(record.clone()), differs, former });
            if !keep || old.is_none() {
                entries.push(Entry::Record { key, record: Box::new(record) });
            }
        }
        (entries, done)
    })?;
    store.journal.sync()?;
    Ok(done)
}

/// An artefact in which two records of one key differ.
pub(crate) fn difference(old: &Record, new: &Record) -> Option<String> {
    let names: BTreeSet<&String> = old.artefacts.keys().chain(new.artefacts.keys()).collect();
    names.into_iter().find(|n| old.artefacts.get(*n) != new.artefacts.get(*n)).cloned()
}
