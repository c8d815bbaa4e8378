//! Objects: files named by the digest of their bytes, `objects/ab/cdef...`, read-only and never changed.
//!
//! A unit writes into scratch; its files are hashed there and renamed into place, so an object is whole or absent. An
//! object that is there already is replaced unless the stat cache knows it to be good: that is how a corrupt one is mended.
//!
//! **The stat cache.** An object that was hashed once and has kept its size, modification time and inode is taken as
//! good without reading it. Writing to a file changes its time, so the cache sees every change made through the file
//! system. It does not see decay of the disk itself; `verify` does, because it always reads.
//!
//! **Durability.** Objects are made durable in batches before the journal names them: a few by `fsync` one by one, many
//! by one `syncfs`, which costs the same whatever their number.

use super::record::Artefact;
use crate::error::{Error, Result};
use crate::value::digest::Digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, Metadata, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Up to this many objects are synced one by one.
const FEW: usize = 16;

/// How a file looked when it was last hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stat(pub u64, pub i64, pub u64);

impl Stat {
    /// Size, modification time in nanoseconds, inode.
    pub fn of(meta: &Metadata) -> Self {
        Self(meta.len(), meta.mtime().wrapping_mul(1_000_000_000).wrapping_add(meta.mtime_nsec()), meta.ino())
    }
}

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// There and good; the stat is news for the cache when it was hashed just now.
    Good(Option<Stat>),
    /// Not there.
    Missing,
    /// There with other bytes.
    Corrupt,
}

/// The folder of objects.
#[derive(Debug)]
pub struct Objects {
    folder: PathBuf,
    /// Which of the 256 subfolders are known to exist.
    shards: Vec<AtomicBool>,
}

impl Objects {
    /// Objects below `folder`, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, shards: (0..256).map(|_| AtomicBool::new(false)).collect() }
    }

    /// Where an object lies, or would.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        let hex = digest.to_string();
        let mut path = self.folder.join(&hex[..2]);
        path.push(&hex[2..]);
        path
    }

    /// Hashes a scratch file and moves it into place. `known` is what the stat cache knows of a digest.
    pub fn take(&self, file: &Path, known: impl Fn(&Digest) -> Option<Stat>) -> Result<(Artefact, Stat)> {
        let wrong = |e| Error::io("write", file, e);
        let handle = File::open(file).map_err(wrong)?;
        let meta = handle.metadata().map_err(wrong)?;
        let digest = hash(&handle, meta.len()).map_err(wrong)?;
        let artefact = Artefact { digest, size: meta.len() };
        let target = self.path(&digest);
        if let Ok(there) = std::fs::symlink_metadata(&target) {
            let stat = Stat::of(&there);
            if known(&digest) == Some(stat) {
                std::fs::remove_file(file).map_err(wrong)?;
                return Ok((artefact, stat));
            }
        }
        handle.set_permissions(Permissions::from_mode(0o444)).map_err(wrong)?;
        let shard = &self.shards[usize::from(digest.0[0])];
        if !shard.load(Ordering::Relaxed) {
            let folder = target.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder).map_err(|e| Error::io("write", folder, e))?;
            shard.store(true, Ordering::Relaxed);
        }
        std::fs::rename(file, &target).map_err(|e| Error::io("write", &target, e))?;
        Ok((artefact, Stat::of(&meta)))
    }

    /// Looks at an object: by its stat when the cache knows it, by its bytes otherwise, or always when `read` is set.
    pub fn health(&self, artefact: &Artefact, known: Option<Stat>, read: bool) -> Result<Health> {
        let path = self.path(&artefact.digest);
        let wrong = |e| Error::io("read", &path, e);
        let meta = match std::fs::symlink_metadata(&path) {
            Ok(meta) => meta,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Health::Missing),
            Err(e) => return Err(wrong(e)),
        };
        let stat = Stat::of(&meta);
        if meta.len() != artefact.size {
            return Ok(Health::Corrupt);
        }
        if known == Some(stat) && !read {
            return Ok(Health::Good(None));
        }
        let digest = hash(&File::open(&path).map_err(wrong)?, meta.len()).map_err(wrong)?;
        Ok(if digest == artefact.digest { Health::Good(Some(stat)) } else { Health::Corrupt })
    }

    /// Makes objects survive a power failure.
    pub fn sync(&self, digests: &BTreeSet<Digest>) -> Result<()> {
        let wrong = |e| Error::io("write", &self.folder, e);
        if digests.is_empty() {
            return Ok(());
        }
        if digests.len() > FEW {
            let folder = File::open(&self.folder).map_err(wrong)?;
            return rustix::fs::syncfs(&folder).map_err(|e| wrong(e.into()));
        }
        let mut folders = BTreeSet::new();
        for digest in digests {
            let path = self.path(digest);
            File::open(&path).and_then(|f| f.sync_all()).map_err(wrong)?;
            folders.extend(path.parent().map(Path::to_path_buf));
        }
        folders.insert(self.folder.clone());
        folders.iter().try_for_each(|f| File::open(f).and_then(|f| f.sync_all())).map_err(wrong)
    }

    /// Every object there is, with its size.
    pub fn list(&self) -> Result<Vec<(Digest, u64)>> {
        let mut out = Vec::new();
        let read = |path: &Path| match std::fs::read_dir(path) {
            Ok(entries) => entries.collect::<std::io::Result<Vec<_>>>(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(e),
        };
        let wrong = |e| Error::io("read", &self.folder, e);
        for shard in read(&self.folder).map_err(wrong)? {
            // Whatever else somebody put here is not ours to judge.
            if !shard.file_type().is_ok_and(|t| t.is_dir()) {
                continue;
            }
            for object in read(&shard.path()).map_err(wrong)? {
                let name = format!("{}{}", shard.file_name().display(), object.file_name().display());
                if let (Ok(digest), Ok(meta)) = (name.parse(), object.metadata())
                    && meta.is_file()
                {
                    out.push((digest, meta.len()));
                }
            }
        }
        out.sort();
        Ok(out)
    }

    /// Removes an object.
    pub fn remove(&self, digest: &Digest) -> Result<()> {
        let path = self.path(digest);
        std::fs::remove_file(&path).map_err(|e| Error::io("write", &path, e))
    }
}

/// The digest of an open file.
pub fn hash(mut file: &File, size: u64) -> std::io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0u8; size.clamp(1, 1 << 20) as usize + 1];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(n) => hasher.update(&buffer[..n]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
    }
}
