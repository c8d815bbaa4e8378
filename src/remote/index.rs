//! The index of a remote, what it leads to, and what this store remembers of it.

use crate::error::{Error, Result};
use crate::pack::{self, Contents};
use crate::transport::{Body, Failure, Read, Remote, When};
use pipeline::Digest;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The index's name.
pub const NAME: &str = "index.json";
/// The format this program writes.
pub const FORMAT: u32 = 1;
/// With more packs than this, a push makes one of all.
pub const MOST_PACKS: usize = 8;
/// Largest index.
const MOST: u64 = 1 << 20;

/// The index as it stands in the remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The format.
    pub format: u32,
    /// How many indices came before this one.
    pub generation: u64,
    /// The digest of the one before.
    pub previous: Option<Digest>,
    /// The packs, oldest first; later ones win.
    pub packs: Vec<Pack>,
    /// Packs that the one before named and that go with the next compaction.
    #[serde(default)]
    pub retired: Vec<Digest>,
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
    /// Its file.
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
        let read = remote.ask(NAME, cancel, |way| way.read(NAME, MOST))?.flatten();
        let Some(read) = read else { return Ok(Self::default()) };
        let broken = |why: String| remote.error(format!("{NAME} cannot be read: {why}; push to an empty remote"));
        let index: Index = serde_json::from_slice(&read.bytes).map_err(|e| broken(e.to_string()))?;
        if index.format > FORMAT {
            return Err(remote.error(format!("it has format {}, this program knows {FORMAT}; update it", index.format)));
        }
        let mut out = Self::default();
        if let Some((generation, digest)) = cache.last() {
            let rewritten = generation == index.generation && digest != Digest::of(&read.bytes);
            if generation > index.generation || rewritten {
                out.notes.push(format!(
                    "{}: its index is number {}, and number {generation} was seen before; somebody put an older one there, or began it anew",
                    remote.name(), index.generation
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
                "{}: {} records are not what they say and were left out",
                remote.name(),
                out.contents.unsound
            ));
        }
        cache.set_last(index.generation, &Digest::of(&read.bytes));
        (out.index, out.read) = (Some(index), Some(read));
        Ok(out)
    }

    /// Adds a pack of `new` to the index, or one of everything when there are many. `false` when somebody else changed the
    /// index meanwhile.
    pub fn add(self, new: Contents, remote: &Remote, cache: &Cache, cancel: &AtomicBool) -> Result<bool> {
        let old = self.index.unwrap_or(Index {
            format: FORMAT,
            generation: 0,
            previous: None,
            packs: Vec::new(),
            retired: Vec::new(),
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
        remote.ask(&name, cancel, |way| way.write(&name, Body::Bytes(&bytes), &When::Always, &quiet))?;
        cache.put(&pack.digest, &bytes);
        packs.retain(|p| p.digest != pack.digest);
        retired.retain(|digest| *digest != pack.digest);
        gone.retain(|digest| *digest != pack.digest);
        packs.push(pack);
        let index = Index {
            format: FORMAT,
            generation: old.generation + 1,
            previous: self.read.as_ref().map(|read| Digest::of(&read.bytes)),
            packs,
            retired,
        };
        let text = serde_json::to_vec_pretty(&index).map_err(|e| remote.error(e.to_string()))?;
        let when = self.read.map_or(When::Absent, When::Same);
        let mut tries = 0;
        let written = remote.ask(NAME, cancel, |way| {
            tries += 1;
            match way.write(NAME, Body::Bytes(&text), &when, &quiet) {
                // The answer to an earlier attempt may have been lost on its way, and what is there is ours.
                Err(Failure::Changed) if tries > 1 => match way.read(NAME, MOST)? {
                    Some(there) if there.bytes == text => Ok(()),
                    _ => Err(Failure::Changed),
                },
                answer => answer,
            }
        })?;
        if written.is_some() {
            cache.set_last(index.generation, &Digest::of(&text));
            for digest in gone {
                // What cannot be removed only takes up room.
                let name = pack_name(&digest);
                let _ = remote.ask(&name, cancel, |way| way.remove(&name));
            }
        }
        Ok(written.is_some())
    }
}

/// A pack, from the cache or from the remote; none when the remote has it not, or not as its digest says.
fn cached_pack(remote: &Remote, cache: &Cache, pack: &Pack, cancel: &AtomicBool) -> Result<Option<Vec<u8>>> {
    if let Some(bytes) = cache.get(&pack.digest) {
        return Ok(Some(bytes));
    }
    let name = pack_name(&pack.digest);
    let mut wrong = 0;
    let read = remote.ask(&name, cancel, |way| match way.read(&name, pack::MOST)? {
        Some(read) if Digest::of(&read.bytes) == pack.digest => Ok(Some(read.bytes)),
        Some(_) if wrong == 0 => {
            wrong += 1;
            Err(Failure::Passing("its bytes are not those of its digest".to_string()))
        }
        _ => Ok(None),
    })?;
    let bytes = read.flatten();
    if let Some(bytes) = &bytes {
        cache.put(&pack.digest, bytes);
    }
    Ok(bytes)
}

/// What this store remembers of a remote. All of it can be deleted at the cost of reading it again.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// The remote's own files start with this.
    id: String,
}

impl Cache {
    /// The memory in `folder` of the remote of that name.
    pub fn new(folder: PathBuf, remote: &str) -> Self {
        Self { folder, id: Digest::of(remote.as_bytes()).short() }
    }

    fn pack(&self, digest: &Digest) -> PathBuf {
        self.folder.join("packs").join(digest.to_string())
    }

    /// The folder of objects that arrived in part.
    pub(crate) fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.pack(digest)).ok()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// Keeps a pack; where that fails it is read again next time.
    fn put(&self, digest: &Digest, bytes: &[u8]) {
        let _ = replace(&self.pack(digest), bytes);
    }

    fn last_path(&self) -> PathBuf {
        self.folder.join(format!("{}.last", self.id))
    }

    fn last(&self) -> Option<(u64, Digest)> {
        let text = std::fs::read_to_string(self.last_path()).ok()?;
        let (generation, digest) = text.trim().split_once(' ')?;
        Some((generation.parse().ok()?, digest.parse().ok()?))
    }

    fn set_last(&self, generation: u64, digest: &Digest) {
        let text = format!("{generation} {digest}\n");
        if std::fs::read_to_string(self.last_path()).ok().as_ref() != Some(&text) {
            let _ = replace(&self.last_path(), text.as_bytes());
        }
    }

    fn sent_path(&self) -> PathBuf {
        self.folder.join(format!("{}.sent", self.id))
    }

    /// Objects that a push sent before it was stopped.
    pub(crate) fn sent(&self) -> HashSet<Digest> {
        let text = std::fs::read_to_string(self.sent_path()).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// A file that takes the digests of objects as they are sent, one a line.
    pub(crate) fn note_sent(&self) -> Result<std::fs::File> {
        let path = self.sent_path();
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::file(&self.folder, e))?;
        let open = std::fs::File::options().append(true).create(true).open(&path);
        let mut file = open.map_err(|e| Error::file(&path, e))?;
        // A line that was cut off by a kill must not swallow the next one.
        file.write_all(b"\n").map_err(|e| Error::file(&path, e))?;
        Ok(file)
    }

    /// The push is complete: its notes go.
    pub(crate) fn forget_sent(&self) {
        let _ = std::fs::remove_file(self.sent_path());
    }
}

/// Writes a file whole or not at all.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
