//! The index of a remote: which packs there are, who signed the list, and how it is read and replaced.

use crate::cache::{Cache, Last};
use crate::error::Result;
use crate::pack::{self, Contents};
use crate::sign::{Signed, Signer};
use crate::transport::{Body, Failure, Read, Remote, When};
use pipeline::Digest;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;

/// The file name of the index in a remote.
pub const NAME: &str = "index.json";
/// The format this program writes.
pub const FORMAT: u32 = 1;
/// An index names at most this many packs. The push that would add one more writes a single pack in place of all of them.
pub const MOST_PACKS: usize = 8;
/// Largest index that is read, in bytes.
const MAX_INDEX_BYTES: u64 = 1 << 20;

/// The index as it stands in the remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The format.
    pub format: u32,
    /// The number of this index: each push that changes the index adds 1.
    pub generation: u64,
    /// The digest of the index before this one.
    pub previous: Option<Digest>,
    /// The packs, oldest first; later ones win.
    pub packs: Vec<Pack>,
    /// Packs that the last compaction replaced by one. They stay until the next compaction, for readers of the old index.
    #[serde(default)]
    pub retired: Vec<Digest>,
    /// The signature and the public key of whoever wrote it; none where the writer had no key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
}

impl Index {
    /// The bytes that are signed: the index without its signature.
    fn unsigned(&self) -> Vec<u8> {
        let bare = Self { signed: None, ..self.clone() };
        // This cannot fail: numbers, texts and lists can always be written as JSON.
        serde_json::to_vec(&bare).unwrap_or_default()
    }

    /// The public key that signed it; none where it is not signed. An error says why the signature is not valid.
    pub fn signer(&self) -> std::result::Result<Option<&str>, String> {
        let Some(signed) = &self.signed else { return Ok(None) };
        signed.check(&self.unsigned())?;
        Ok(Some(&signed.key))
    }
}

/// One pack in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pack {
    /// The digest of its bytes, which is its name.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Its number of records.
    pub records: usize,
}

/// The name of a pack in a remote.
pub(crate) fn pack_name(digest: &Digest) -> String {
    format!("packs/{digest}")
}

/// The name of an object in a remote.
pub(crate) fn object_name(digest: &Digest) -> String {
    let hex = digest.to_string();
    format!("objects/{}/{}", &hex[..2], &hex[2..])
}

/// A remote as it was read.
#[derive(Debug, Default)]
pub struct Catalogue {
    /// The index; none in a remote that is empty.
    pub index: Option<Index>,
    /// The file that the index was read from, which a later write must find unchanged.
    read: Option<Read>,
    /// What the packs hold.
    pub contents: Contents,
    /// Packs that are gone or damaged.
    pub lost: Vec<Digest>,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Catalogue {
    /// Reads the index, and the packs that `cache` does not have.
    pub fn load(remote: &Remote, cache: &Cache, cancel: &AtomicBool) -> Result<Self> {
        let read = remote.ask(NAME, cancel, |transport| transport.read(NAME, MAX_INDEX_BYTES))?.flatten();
        let Some(read) = read else { return Ok(Self::default()) };
        let broken = |why: String| remote.error(format!("{NAME} cannot be read: {why}; push to an empty remote"));
        let index: Index = serde_json::from_slice(&read.bytes).map_err(|e| broken(e.to_string()))?;
        if index.format > FORMAT {
            return Err(remote.error(format!("it has format {}, this program knows {FORMAT}; update it", index.format)));
        }
        let mut out = Self::default();
        let key = trusted(remote, &index)?;
        if let Some(last) = cache.last() {
            let rewritten = last.generation == index.generation && last.digest != Digest::of(&read.bytes);
            if last.generation > index.generation || rewritten {
                out.notes.push(format!(
                    "{}: its index is number {}, and number {} was seen before; somebody put an older one there, or started it again from nothing",
                    remote.name(), index.generation, last.generation
                ));
            }
            if remote.keys().is_empty() && last.key != key {
                let by = |key: &Option<String>| key.as_ref().map_or("no key".to_string(), |key| format!("key {key}"));
                out.notes.push(format!(
                    "{}: its index is signed by {}, the one seen before by {}; `keys` of the remote in pipeline.yaml says who may",
                    remote.name(), by(&key), by(&last.key)
                ));
            }
        }
        for pack in &index.packs {
            let Some(bytes) = cached_pack(remote, cache, pack, cancel)? else {
                out.lost.push(pack.digest);
                continue;
            };
            match Contents::decode(&bytes) {
                Ok(contents) => out.contents.extend(contents),
                Err(_) => out.lost.push(pack.digest),
            }
        }
        if !out.lost.is_empty() {
            out.notes.push(format!(
                "{}: {} of {} packs are gone or damaged; what they recorded is not there. `push` from a store that has it mends this",
                remote.name(), out.lost.len(), index.packs.len()
            ));
        }
        if out.contents.unsound > 0 {
            out.notes.push(format!(
                "{}: {} records do not match their digests and were left out",
                remote.name(),
                out.contents.unsound
            ));
        }
        cache.set_last(&Last { generation: index.generation, digest: Digest::of(&read.bytes), key });
        (out.index, out.read) = (Some(index), Some(read));
        Ok(out)
    }

    /// Writes `new` as a pack and adds it to the index. Where the index names [`MOST_PACKS`] packs already, it writes one pack of
    /// everything instead (a compaction). `false` when somebody else changed the index meanwhile.
    pub fn add(
        self,
        new: Contents,
        signer: Option<&Signer>,
        remote: &Remote,
        cache: &Cache,
        cancel: &AtomicBool,
    ) -> Result<bool> {
        let old = self.index.unwrap_or(Index {
            format: FORMAT,
            generation: 0,
            previous: None,
            packs: Vec::new(),
            retired: Vec::new(),
            signed: None,
        });
        let mut packs: Vec<Pack> = old.packs.iter().filter(|p| !self.lost.contains(&p.digest)).cloned().collect();
        let (mut gone, mut retired) = (Vec::new(), old.retired.clone());
        let compact = packs.len() >= MOST_PACKS;
        let contents = if compact {
            let mut all = self.contents;
            all.extend(new);
            gone = std::mem::replace(&mut retired, packs.drain(..).map(|p| p.digest).collect());
            all
        } else {
            new
        };
        let bytes = contents.encode().map_err(|e| remote.error(format!("the pack cannot be written: {e}")))?;
        let pack = Pack { digest: Digest::of(&bytes), size: bytes.len() as u64, records: contents.records.len() };
        let quiet = |_: u64| true;
        let name = pack_name(&pack.digest);
        remote.ask(&name, cancel, |transport| transport.write(&name, Body::Bytes(&bytes), &When::Always, &quiet))?;
        cache.put(&pack.digest, &bytes);
        packs.retain(|p| p.digest != pack.digest);
        retired.retain(|digest| *digest != pack.digest);
        gone.retain(|digest| *digest != pack.digest);
        packs.push(pack);
        let mut index = Index {
            format: FORMAT,
            generation: old.generation + 1,
            previous: self.read.as_ref().map(|read| Digest::of(&read.bytes)),
            packs,
            retired,
            signed: None,
        };
        index.signed = signer.map(|signer| signer.sign(&index.unsigned()));
        let text = serde_json::to_vec_pretty(&index).map_err(|e| remote.error(e.to_string()))?;
        let when = self.read.map_or(When::Absent, When::Same);
        let mut tries = 0;
        let written = remote.ask(NAME, cancel, |transport| {
            tries += 1;
            match transport.write(NAME, Body::Bytes(&text), &when, &quiet) {
                // An earlier attempt may have succeeded although its answer was lost: then the index there is the one we wrote.
                Err(Failure::Changed) if tries > 1 => match transport.read(NAME, MAX_INDEX_BYTES)? {
                    Some(there) if there.bytes == text => Ok(()),
                    _ => Err(Failure::Changed),
                },
                answer => answer,
            }
        })?;
        if written.is_some() {
            let key = index.signed.map(|signed| signed.key);
            cache.set_last(&Last { generation: index.generation, digest: Digest::of(&text), key });
            for digest in gone {
                // A pack that cannot be removed only takes up disk space.
                let name = pack_name(&digest);
                let _ = remote.ask(&name, cancel, |transport| transport.remove(&name));
            }
        }
        Ok(written.is_some())
    }
}

/// The key that signed an index. An error where the signature is not valid, or the remote's `keys` do not allow the signer.
fn trusted(remote: &Remote, index: &Index) -> Result<Option<String>> {
    let key = index.signer().map_err(|why| remote.error(format!("{NAME}: {why}; nothing of it was taken in")))?;
    match key {
        _ if remote.keys().is_empty() => {}
        Some(key) if remote.keys().iter().any(|known| known == key) => {}
        Some(key) => {
            let why = format!("{NAME} is signed by key {key}, which is not among its `keys` in pipeline.yaml");
            return Err(remote.error(format!("{why}; add it there if you know whose it is")));
        }
        None => return Err(remote.error(format!("{NAME} is not signed, and pipeline.yaml lists `keys` for it"))),
    }
    Ok(key.map(str::to_string))
}

/// The bytes of a pack, from the cache or from the remote; none when the remote does not have it or has other bytes under its name.
fn cached_pack(remote: &Remote, cache: &Cache, pack: &Pack, cancel: &AtomicBool) -> Result<Option<Vec<u8>>> {
    if let Some(bytes) = cache.get(&pack.digest) {
        return Ok(Some(bytes));
    }
    let name = pack_name(&pack.digest);
    let mut wrong = 0;
    let read = remote.ask(&name, cancel, |transport| match transport.read(&name, pack::MAX_PACK_BYTES)? {
        Some(read) if Digest::of(&read.bytes) == pack.digest => Ok(Some(read.bytes)),
        Some(_) if wrong == 0 => {
            wrong += 1;
            Err(Failure::Transient("its bytes are not those of its digest".to_string()))
        }
        _ => Ok(None),
    })?;
    let bytes = read.flatten();
    if let Some(bytes) = &bytes {
        cache.put(&pack.digest, bytes);
    }
    Ok(bytes)
}
