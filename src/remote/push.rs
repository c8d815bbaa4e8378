//! Push: objects first, then one pack of records, then the index that names it.

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::index::{Catalogue, object_name};
use crate::pack::Contents;
use crate::sign::Signer;
use crate::transport::{Body, Remote, When};
use crate::workers::{ObjectProgress, Tally, each};
use crate::{Options, cache};
use pipeline::store::record::Artefact;
use pipeline::{Digest, Engine};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

/// Objects up to this size, in bytes, are sent from memory; larger ones from their files.
const SMALL: u64 = 8 << 20;
/// Attempts to replace the index while others push as well.
const TRIES: usize = 10;

/// What a push did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pushed {
    /// Current results of this project.
    pub current: usize,
    /// Records sent.
    pub records: usize,
    /// Objects sent.
    pub objects: usize,
    /// Bytes of the sent objects.
    pub bytes: u64,
    /// Objects that were there already because an earlier, interrupted push had sent them.
    pub resumed: usize,
    /// The public key that signed the index.
    pub key: Option<String>,
    /// Requests made, repeated ones included.
    pub requests: usize,
    /// Requests that failed and were repeated.
    pub retried: usize,
    /// Messages for the user.
    pub notes: Vec<String>,
}

/// Sends the current results of the targets, and of what they need, to a remote. `signer` signs the index.
pub fn push(engine: &Engine, remote: &Remote, signer: Option<&Signer>, options: &Options<'_>) -> Result<Pushed> {
    let key = signer.map(Signer::key);
    if !remote.keys().is_empty() && !key.as_ref().is_some_and(|key| remote.keys().contains(key)) {
        let who = key.map_or("there is no key of yours".to_string(), |key| format!("your key {key} is not"));
        return Err(
            remote.error(format!("{who} among its `keys` in pipeline.yaml, so nobody would take what you push"))
        );
    }
    // The guard keeps `gc` from removing objects while they are sent. Where the store is read-only, the guard fails and `gc` cannot run.
    let _at_work = engine.at_work().ok();
    let current = engine.current(&options.targets)?;
    let cache = Cache::new(cache(engine.store()), remote.name());
    let mut out = Pushed { current: current.len(), key, ..Pushed::default() };
    // Objects known to be in the remote: later attempts skip them.
    let mut there: HashSet<Digest> = HashSet::new();
    for _ in 0..TRIES {
        let catalogue = Catalogue::load(remote, &cache, &options.cancel)?;
        for note in &catalogue.notes {
            if !out.notes.contains(note) {
                out.notes.push(note.clone());
            }
        }
        let mut new = Contents::default();
        for (unit, key, record) in &current {
            match catalogue.contents.records.get(key).filter(|_| !options.again) {
                None => drop(new.records.insert(*key, record.clone())),
                Some(theirs) if theirs.artefacts != record.artefacts => {
                    let id = &engine.plan().units[*unit].id;
                    let note = format!(
                        "`{id}`: the remote has other bytes for the same key and keeps them; `repro verify --rerun` finds out who is right"
                    );
                    if !out.notes.contains(&note) {
                        out.notes.push(note);
                    }
                }
                Some(_) => {}
            }
        }
        if new.records.is_empty() && catalogue.lost.is_empty() {
            // There is nothing new to send, or somebody else has sent it meanwhile.
            cache.forget_sent();
            (out.requests, out.retried) = (remote.requests(), remote.retried());
            return Ok(out);
        }
        engine.store().journal.with(|index| {
            for record in new.records.values() {
                let (host, code) = (record.provenance.host, record.parts.code);
                new.hosts.extend(index.hosts.get(&host).map(|h| (host, h.clone())));
                new.sources.extend(index.sources.get(&code).map(|s| (code, s.clone())));
            }
        });
        // The new pack leaves out machines and sources that other packs of the remote hold. A compaction merges all packs anyway.
        if !options.again && catalogue.index.as_ref().is_none_or(|i| i.packs.len() < crate::index::MOST_PACKS) {
            new.hosts.retain(|digest, _| !catalogue.contents.hosts.contains_key(digest));
            new.sources.retain(|digest, _| !catalogue.contents.sources.contains_key(digest));
        }
        if !options.again {
            there.extend(catalogue.contents.objects());
        }
        send(engine, remote, options, &cache, &new, &mut there, &mut out)?;
        let records = new.records.len();
        if catalogue.add(new, signer, remote, &cache, &options.cancel)? {
            out.records = records;
            cache.forget_sent();
            (out.requests, out.retried) = (remote.requests(), remote.retried());
            return Ok(out);
        }
    }
    Err(remote.error("others change the index all the time; the objects are there, the same command goes on"))
}

/// Sends the objects of `new` that are not in `there`, and adds them to it.
fn send(
    engine: &Engine,
    remote: &Remote,
    options: &Options<'_>,
    cache: &Cache,
    new: &Contents,
    there: &mut HashSet<Digest>,
    out: &mut Pushed,
) -> Result<()> {
    let artefacts = new.records.values().flat_map(|record| record.artefacts.values());
    let wanted: BTreeMap<Digest, u64> =
        artefacts.filter(|a| !there.contains(&a.digest)).map(|a| (a.digest, a.size)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let items: Vec<Artefact> = wanted.iter().map(|(&digest, &size)| Artefact { digest, size }).collect();
    let sent = if options.again { HashSet::new() } else { cache.sent() };
    let mut notes = cache.note_sent()?;
    let tally = Tally::new(options, remote, (items.len(), wanted.values().sum()));
    let work = |item: &Artefact| -> Result<bool> {
        let (name, progress) = (object_name(&item.digest), ObjectProgress::new(&tally));
        if sent.contains(&item.digest) {
            let size = remote.ask(&name, &options.cancel, |transport| transport.size(&name))?.flatten();
            if size == Some(item.size) {
                progress.moved(item.size);
                return Ok(false);
            }
        }
        let path = engine.store().objects.path(&item.digest);
        let corrupt = || {
            remote.error(format!(
                "not sent: object {} of this store is damaged; `repro run` mends it",
                item.digest.short()
            ))
        };
        let bytes =
            if item.size <= SMALL { Some(std::fs::read(&path).map_err(|e| Error::file(&path, e))?) } else { None };
        let digest = match &bytes {
            Some(bytes) => Digest::of(bytes),
            None => {
                let file = std::fs::File::open(&path).map_err(|e| Error::file(&path, e))?;
                pipeline::store::objects::hash(&file, item.size).map_err(|e| Error::file(&path, e))?
            }
        };
        if digest != item.digest {
            return Err(corrupt());
        }
        let body = bytes.as_ref().map_or(Body::File(&path, item.size), |bytes| Body::Bytes(bytes));
        remote.ask(&name, &options.cancel, |transport| {
            progress.begin();
            transport.write(&name, body, &When::Always, &|n| progress.moved(n))
        })?;
        Ok(true)
    };
    each(&items, &tally, work, |item, new| {
        there.insert(item.digest);
        if new {
            (out.objects, out.bytes) = (out.objects + 1, out.bytes + item.size);
            // If this line is lost, the next push sends one object again.
            let _ = notes.write_all(format!("{}\n", item.digest).as_bytes());
        } else {
            out.resumed += 1;
        }
        Ok(())
    })
}
