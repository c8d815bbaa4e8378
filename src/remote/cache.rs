//! What a store remembers of a remote: its packs, the index seen last, and the objects that an interrupted push has sent.

use crate::error::{Error, Result};
use pipeline::Digest;
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The index that was seen last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    /// Its number ([`generation`](crate::index::Index::generation)).
    pub generation: u64,
    /// The digest of its bytes.
    pub digest: Digest,
    /// The key that signed it.
    pub key: Option<String>,
}

/// What this store remembers of a remote. All of it may be deleted: packs are then read again, and a warning about an older index or
/// another signer is lost.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Short digest of the remote's name. File names that belong to this remote alone start with it.
    id: String,
}

impl Cache {
    /// The cache in `folder` for the remote of that name.
    pub fn new(folder: PathBuf, remote: &str) -> Self {
        Self { folder, id: Digest::of(remote.as_bytes()).short() }
    }

    fn pack(&self, digest: &Digest) -> PathBuf {
        self.folder.join("packs").join(digest.to_string())
    }

    /// The folder of objects that have arrived only in part.
    pub(crate) fn parts(&self) -> PathBuf {
        self.folder.join("parts")
    }

    /// The bytes of a cached pack, if they still have their digest.
    pub(crate) fn get(&self, digest: &Digest) -> Option<Vec<u8>> {
        let bytes = std::fs::read(self.pack(digest)).ok()?;
        (Digest::of(&bytes) == *digest).then_some(bytes)
    }

    /// Caches a pack. If that fails, the pack is read from the remote again next time.
    pub(crate) fn put(&self, digest: &Digest, bytes: &[u8]) {
        let _ = replace(&self.pack(digest), bytes);
    }

    fn last_path(&self) -> PathBuf {
        self.folder.join(format!("{}.last", self.id))
    }

    /// The index that was seen last.
    pub(crate) fn last(&self) -> Option<Last> {
        let text = std::fs::read_to_string(self.last_path()).ok()?;
        let mut words = text.split_whitespace();
        let (generation, digest) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Last { generation, digest, key: words.next().map(str::to_string) })
    }

    /// Remembers the index that was seen last.
    pub(crate) fn set_last(&self, last: &Last) {
        let text = format!("{} {} {}\n", last.generation, last.digest, last.key.as_deref().unwrap_or_default());
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

    /// Opens the list of sent objects, to which a push appends one digest per line.
    pub(crate) fn note_sent(&self) -> Result<std::fs::File> {
        let path = self.sent_path();
        std::fs::create_dir_all(&self.folder).map_err(|e| Error::file(&self.folder, e))?;
        let open = std::fs::File::options().append(true).create(true).open(&path);
        let mut file = open.map_err(|e| Error::file(&path, e))?;
        // A killed push may have left a line without its end. The line break keeps the next digest on a line of its own.
        file.write_all(b"\n").map_err(|e| Error::file(&path, e))?;
        Ok(file)
    }

    /// Deletes the list of sent objects, once a push is complete.
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
