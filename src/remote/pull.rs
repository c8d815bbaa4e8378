//! Pull: finds the records that would make the targets fresh, fetches their objects, then enters the records into the journal.

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::index::{Catalogue, object_name};
use crate::transport::{Failure, Remote};
use crate::workers::{ObjectProgress, Tally, each};
use crate::{Options, cache};
use pipeline::freshness::key::Key;
use pipeline::store::index::Entry;
use pipeline::store::objects::{Health, Stat, hash};
use pipeline::store::record::Artefact;
use pipeline::{Digest, Engine, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two entries into the journal, so that a killed pull loses little.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

/// What a pull did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pulled {
    /// Units that were fresh before.
    pub fresh: usize,
    /// Units whose results arrived.
    pub units: usize,
    /// Objects that arrived.
    pub objects: usize,
    /// Bytes of the objects that arrived.
    pub bytes: u64,
    /// Units that the remote does not have.
    pub absent: Vec<String>,
    /// Number of units that depend on `absent` or refused ones, so that their keys cannot be computed.
    pub unknown: usize,
    /// Units whose objects are damaged or gone in the remote: nothing of them was taken in.
    pub damaged: Vec<String>,
    /// Units that the lock file knows with the same key and other bytes: nothing of them was taken in.
    pub refused: Vec<String>,
    /// Files published.
    pub published: Vec<PathBuf>,
    /// Files that could not be published, with the reason.
    pub unpublished: Vec<(PathBuf, String)>,
    /// Requests made, repeated ones included.
    pub requests: usize,
    /// Requests that failed and were repeated.
    pub retried: usize,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl Pulled {
    /// Whether everything that the targets need is here now.
    pub fn is_complete(&self) -> bool {
        self.absent.is_empty() && self.unknown == 0 && self.damaged.is_empty() && self.refused.is_empty()
    }
}

/// Takes from a remote what the targets lack.
pub fn pull(engine: &Engine, remote: &Remote, options: &Options<'_>) -> Result<Pulled> {
    let cache = Cache::new(cache(engine.store()), remote.name());
    let at_work = engine.at_work()?;
    let catalogue = Catalogue::load(remote, &cache, &options.cancel)?;
    if catalogue.index.is_none() {
        return Err(remote.error("there are no results: no index.json; check the address, or push there first"));
    }
    let lacking = engine.lacking(&options.targets, |key| catalogue.contents.records.get(key).cloned())?;
    let mut out = Pulled {
        fresh: lacking.fresh,
        absent: lacking.absent,
        unknown: lacking.unknown,
        refused: lacking.refused,
        notes: catalogue.notes.clone(),
        ..Pulled::default()
    };
    if lacking.lock_unreadable {
        let name = engine.lock_path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        out.notes.push(format!("{name} cannot be read (a merge conflict?), so what comes was not compared with it"));
    }
    let mut units: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut wanted: BTreeMap<Key, Arc<Record>> = BTreeMap::new();
    for (unit, key, record) in lacking.wanted {
        units.entry(key).or_default().push(unit);
        wanted.insert(key, record);
    }
    let mut arrival = Arrival {
        engine,
        catalogue: &catalogue,
        waiting: HashMap::new(),
        missing: BTreeMap::new(),
        ready: Vec::new(),
        seen: Vec::new(),
        taken: BTreeSet::new(),
        last: Instant::now(),
    };
    let mut items: BTreeMap<Digest, Artefact> = BTreeMap::new();
    for (key, record) in &wanted {
        let mut missing = BTreeSet::new();
        for artefact in record.artefacts.values() {
            let known = items.contains_key(&artefact.digest);
            if !known && matches!(engine.store().health(artefact)?, Health::Good(_)) {
                continue;
            }
            items.insert(artefact.digest, *artefact);
            missing.insert(artefact.digest);
        }
        for digest in &missing {
            arrival.waiting.entry(*digest).or_default().push(*key);
        }
        if missing.is_empty() {
            arrival.ready.push((*key, record.clone()));
        } else {
            arrival.missing.insert(*key, (missing.len(), record.clone()));
        }
    }
    let items: Vec<Artefact> = items.into_values().collect();
    let tally = Tally::new(options, remote, (items.len(), items.iter().map(|a| a.size).sum()));
    let parts = cache.parts();
    std::fs::create_dir_all(&parts).map_err(|e| Error::file(&parts, e))?;
    let work = |item: &Artefact| fetch(engine, remote, options, item, &tally, &parts, &at_work.scratch);
    let moved = each(&items, &tally, work, |item, stat| {
        let Some(stat) = stat else { return Ok(()) };
        (out.objects, out.bytes) = (out.objects + 1, out.bytes + item.size);
        arrival.arrived(item.digest, stat)
    });
    // What arrived is kept, even if the transfer ended with an error.
    arrival.commit()?;
    moved?;
    for (key, units) in &units {
        let ids = units.iter().map(|&unit| engine.plan().units[unit].id.clone());
        match arrival.taken.contains(key) {
            true => out.units += units.len(),
            false => out.damaged.extend(ids),
        }
    }
    let mut events = |_| {};
    (out.published, out.unpublished) = engine.settle(&options.targets, &mut events)?;
    (out.requests, out.retried) = (remote.requests(), remote.retried());
    Ok(out)
}

/// Brings one object into the store; none when the remote does not have it or has other bytes under its name.
fn fetch(
    engine: &Engine,
    remote: &Remote,
    options: &Options<'_>,
    item: &Artefact,
    tally: &Tally<'_>,
    parts: &Path,
    scratch: &Path,
) -> Result<Option<Stat>> {
    let name = object_name(&item.digest);
    let progress = ObjectProgress::new(tally);
    // A later pull continues the part of an earlier one. While another pull holds the lock, this one starts afresh in its scratch folder.
    let mut part = parts.join(item.digest.to_string());
    let lock_path = part.with_extension("lock");
    let lock = File::options().write(true).create(true).truncate(false).open(&lock_path);
    let lock = lock.ok().filter(|lock| lock.try_lock().is_ok());
    if lock.is_none() {
        part = scratch.join(item.digest.to_string());
    }
    let mut wrong = 0;
    let arrived = remote.ask(&name, &options.cancel, |transport| {
        progress.begin();
        if part.metadata().is_ok_and(|m| m.len() > item.size) {
            let _ = std::fs::remove_file(&part);
        }
        let whole = part.metadata().is_ok_and(|m| m.len() == item.size);
        if !whole && !transport.fetch(&name, &part, item.size, &|n| progress.moved(n))? {
            return Ok(false);
        }
        if item.size == 0 && !part.exists() {
            File::create(&part).map_err(|e| Failure::Local(Error::file(&part, e)))?;
        }
        let file = File::open(&part).map_err(|e| Failure::Local(Error::file(&part, e)))?;
        let size = file.metadata().map_or(0, |m| m.len());
        if size == item.size && hash(&file, size).is_ok_and(|digest| digest == item.digest) {
            return Ok(true);
        }
        // A part that is too short is continued by the next attempt; any other wrong part is removed, so that the next attempt starts
        // afresh. After the third wrong result the object counts as damaged.
        if size >= item.size {
            let _ = std::fs::remove_file(&part);
        }
        wrong += 1;
        if wrong > 2 {
            let _ = std::fs::remove_file(&part);
            return Ok(false);
        }
        Err(Failure::Transient("its bytes are not those of its digest".to_string()))
    });
    let answer = match arrived {
        Ok(Some(true)) => {
            let known = |d: &Digest| engine.store().journal.with(|i| i.seen.get(d).copied());
            let (taken, stat) = engine.store().objects.take(&part, known)?;
            debug_assert_eq!(taken.digest, item.digest);
            Ok(Some(stat))
        }
        Ok(_) => Ok(None),
        Err(error) => Err(error),
    };
    if lock.is_some() && !part.exists() {
        let _ = std::fs::remove_file(&lock_path);
    }
    answer
}

/// Records that wait for their objects, and those that are ready for the journal.
struct Arrival<'a> {
    engine: &'a Engine,
    catalogue: &'a Catalogue,
    /// The keys of the records that wait for each object.
    waiting: HashMap<Digest, Vec<Key>>,
    /// How many objects each record still waits for, and the record.
    missing: BTreeMap<Key, (usize, Arc<Record>)>,
    ready: Vec<(Key, Arc<Record>)>,
    seen: Vec<(Digest, Stat)>,
    taken: BTreeSet<Key>,
    last: Instant,
}

impl Arrival<'_> {
    fn arrived(&mut self, digest: Digest, stat: Stat) -> Result<()> {
        self.seen.push((digest, stat));
        for key in self.waiting.remove(&digest).unwrap_or_default() {
            let Some((left, _)) = self.missing.get_mut(&key) else { continue };
            *left -= 1;
            if *left == 0
                && let Some((_, record)) = self.missing.remove(&key)
            {
                self.ready.push((key, record));
            }
        }
        if self.last.elapsed() > COMMIT_INTERVAL { self.commit() } else { Ok(()) }
    }

    /// Enters the records whose objects are complete into the journal.
    fn commit(&mut self) -> Result<()> {
        let mut entries: BTreeMap<String, Entry> = BTreeMap::new();
        let mut records = Vec::new();
        for (key, record) in self.ready.drain(..) {
            for entry in self.catalogue.contents.referred(&record) {
                let name = match &entry {
                    Entry::Host { digest, .. } | Entry::Sources { digest, .. } => digest.to_string(),
                    _ => continue,
                };
                entries.insert(name, entry);
            }
            self.taken.insert(key);
            records.push(Entry::Record { key, record: Box::new((*record).clone()) });
        }
        self.last = Instant::now();
        if records.is_empty() && self.seen.is_empty() {
            return Ok(());
        }
        let all = entries.into_values().chain(records).collect();
        Ok(self.engine.take_in(all, std::mem::take(&mut self.seen))?)
    }
}
