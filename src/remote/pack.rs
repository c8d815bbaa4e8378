//! Packs: the records of one push in one file, with the machines and sources they refer to.
//!
//! A pack holds one entry of the journal per line, as JSON, sorted and compressed by zlib. Its file name is the digest of its bytes.
//! Every entry that is read is checked ([`pipeline::engine::share::is_sound`]).

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use pipeline::engine::share::is_sound;
use pipeline::freshness::key::{Key, Sources};
use pipeline::store::index::Entry;
use pipeline::{Digest, Host, Record};
use std::collections::{BTreeMap, HashSet};
use std::io::{Read, Write};
use std::sync::Arc;

/// Largest pack in bytes, both compressed and decompressed.
pub(crate) const MAX_PACK_BYTES: u64 = 1 << 30;

/// Records and what they refer to.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// Records by key.
    pub records: BTreeMap<Key, Arc<Record>>,
    /// Machines.
    pub hosts: BTreeMap<Digest, Host>,
    /// Sets of sources.
    pub sources: BTreeMap<Digest, Arc<Sources>>,
    /// Number of entries that failed the check and were left out.
    pub unsound: usize,
}

impl Contents {
    /// Adds the entries of another pack. Where both have an entry, that of `other` is kept.
    pub fn extend(&mut self, other: Contents) {
        self.records.extend(other.records);
        self.hosts.extend(other.hosts);
        self.sources.extend(other.sources);
        self.unsound += other.unsound;
    }

    /// Every object that a record names.
    pub fn objects(&self) -> HashSet<Digest> {
        self.records.values().flat_map(|r| r.artefacts.values().map(|a| a.digest)).collect()
    }

    /// The host and the sources of a record, as entries.
    pub fn referred(&self, record: &Record) -> Vec<Entry> {
        let (host, code) = (record.provenance.host, record.parts.code);
        let host = self.hosts.get(&host).map(|h| Entry::Host { digest: host, host: h.clone() });
        let code = self.sources.get(&code).map(|s| Entry::Sources { digest: code, sources: (**s).clone() });
        host.into_iter().chain(code).collect()
    }

    fn entries(&self) -> impl Iterator<Item = Entry> {
        let hosts = self.hosts.iter().map(|(digest, host)| Entry::Host { digest: *digest, host: host.clone() });
        let sources = self.sources.iter().map(|(digest, s)| Entry::Sources { digest: *digest, sources: (**s).clone() });
        let records = self.records.iter().map(|(key, r)| Entry::Record { key: *key, record: Box::new((**r).clone()) });
        hosts.chain(sources).chain(records)
    }

    /// Encodes these contents as the bytes of a pack.
    pub fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::default());
        for entry in self.entries() {
            serde_json::to_writer(&mut out, &entry)?;
            out.write_all(b"\n")?;
        }
        out.finish()
    }

    /// Decodes the bytes of a pack.
    pub fn decode(bytes: &[u8]) -> std::io::Result<Self> {
        let mut text = String::new();
        ZlibDecoder::new(bytes).take(MAX_PACK_BYTES).read_to_string(&mut text)?;
        let mut out = Self::default();
        for line in text.lines() {
            match serde_json::from_str::<Entry>(line).ok().filter(is_sound) {
                Some(Entry::Host { digest, host }) => drop(out.hosts.insert(digest, host)),
                Some(Entry::Sources { digest, sources }) => drop(out.sources.insert(digest, Arc::new(sources))),
                Some(Entry::Record { key, record }) => drop(out.records.insert(key, Arc::from(record))),
                _ => out.unsound += 1,
            }
        }
        Ok(out)
    }
}
