//! Root sets: which keys a run referred to, so that gc keeps them.
//!
//! Each run notes the keys of all units that were fresh when it ended, as one file in `roots/`, named by the digest of
//! its content. A later run with the same results finds the file there and only renews its time. So a run that had
//! nothing to do costs one small system call, and the number of files is the number of different results.

use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::value::digest::Digest;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Notes that a run refers to these keys. In a store that cannot be written the note is lost, no more.
pub(crate) fn note(store: &Path, keys: impl Iterator<Item = Key>) {
    let mut keys: Vec<Key> = keys.collect();
    if keys.is_empty() {
        return;
    }
    keys.sort_unstable();
    keys.dedup();
    let bytes: Vec<u8> = keys.iter().flat_map(|key| key.0).collect();
    let path = folder(store).join(Digest::of(&bytes).to_string());
    let renewed = OpenOptions::new().write(true).open(&path).and_then(|f| f.set_modified(SystemTime::now()));
    if renewed.is_err() {
        let _ = create(store, &path, &bytes);
    }
}

fn folder(store: &Path) -> PathBuf {
    store.join("roots")
}

fn create(store: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder(store))?;
    let mut file = tempfile::NamedTempFile::new_in(folder(store))?;
    file.write_all(bytes)?;
    super::lockfile::set_mode(file.as_file())?;
    file.persist(path)?;
    Ok(())
}

/// One root set.
pub(crate) struct RootSet {
    pub path: PathBuf,
    pub keys: Vec<Key>,
    /// Time since a run last noted it; nothing when the clock went back since.
    pub age: Duration,
}

/// Every root set. A file that is damaged, so that its content does not give its name, is an error: gc must not run
/// without knowing what it says.
pub(crate) fn all(store: &Path) -> Result<Vec<RootSet>> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder(store)).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(name) = entry.file_name().to_string_lossy().parse::<Digest>() else { continue };
        let failed = |e| Error::io("read", &path, e);
        let bytes = std::fs::read(&path).map_err(failed)?;
        if Digest::of(&bytes) != name || bytes.len() % 32 != 0 {
            return Err(Error::DamagedRoots(path));
        }
        let modified = File::open(&path).and_then(|f| f.metadata()).and_then(|m| m.modified()).map_err(failed)?;
        let age = SystemTime::now().duration_since(modified).unwrap_or_default();
        let keys = bytes.chunks_exact(32).filter_map(|key| Some(Digest(key.try_into().ok()?))).collect();
        out.push(RootSet { path, keys, age });
    }
    Ok(out)
}
