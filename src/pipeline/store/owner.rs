//! Locks that end with their holder: which process works on what.
//!
//! Each run creates one file, `locks/<id>`, and holds an OS lock (`flock`) on it until it ends, however it ends: the
//! kernel releases it even after `kill -9`. Claims in the journal name that id, so a claim is worth exactly as much as
//! the lock: nobody clears stale locks by hand, and no process id is ever trusted. One lock per run and one journal line
//! per unit is what makes mutual exclusion cheap enough for ten thousand units.
//!
//! A second file, `locks/gate`, keeps `gc` and runs apart: runs share it, `gc` wants it alone.

use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A run's lock. Dropping it ends the run's claims.
#[derive(Debug)]
pub struct Owner {
    /// The id that claims name.
    pub id: String,
    path: PathBuf,
    _file: File,
    _gate: File,
}

/// How the ids of tasks end.
const TASK: &str = "-task";

/// Whether an id is a task's. The driver of a cluster run claims units before it submits them, and a task takes such a
/// claim over; from another task that is alive it does not.
pub fn is_task(id: &str) -> bool {
    id.ends_with(TASK)
}

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Owner {
    /// Takes a lock of its own below `folder`.
    pub fn new(folder: &Path) -> Result<Self> {
        Self::with(folder, "")
    }

    /// The same for a task of a cluster run, whose claims count among tasks (see [`is_task`]).
    pub fn task(folder: &Path) -> Result<Self> {
        Self::with(folder, TASK)
    }

    fn with(folder: &Path, suffix: &str) -> Result<Self> {
        let wrong = |e| Error::io("write", folder, e);
        std::fs::create_dir_all(folder).map_err(wrong)?;
        let gate = gate(folder)?;
        gate.lock_shared().map_err(wrong)?;
        loop {
            let nanos =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
            let id = format!("{}-{nanos:x}-{}{suffix}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(&id);
            let mut file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(wrong(e)),
            };
            file.lock().map_err(wrong)?;
            write!(file, "process {} on {}", std::process::id(), host()).map_err(wrong)?;
            // Between creating and locking, a cleaner may have taken the file for a dead one and removed it.
            let here = file.metadata().map_err(wrong)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == here) {
                return Ok(Self { id, path, _file: file, _gate: gate });
            }
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn gate(folder: &Path) -> Result<File> {
    let path = folder.join("gate");
    let open = OpenOptions::new().create(true).append(true).open(&path);
    open.map_err(|e| Error::io("write", &path, e))
}

/// Whether the owner of that id is alive, and how to call it.
pub fn alive(folder: &Path, id: &str) -> Option<String> {
    let path = folder.join(id);
    // For writing, since over NFS only such a handle can be locked; a lock of another user can only be read.
    let file = OpenOptions::new().read(true).write(true).open(&path).or_else(|_| File::open(&path)).ok()?;
    if file.try_lock().is_ok() {
        // The owner is dead. Its file is removed while we hold the lock.
        let _ = std::fs::remove_file(&path);
        return None;
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let name = text.strip_suffix(&format!(" on {}", host())).unwrap_or(&text);
    Some(if name.is_empty() { format!("process {}", id.split('-').next().unwrap_or(id)) } else { name.to_string() })
}

/// Every owner alive.
pub fn all_alive(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let ids = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n != "gate");
    ids.filter_map(|id| alive(folder, &id).map(|name| (id, name))).collect()
}

/// Keeps runs away while the result is held. When a run is under way, the error names it.
pub fn exclusive(folder: &Path) -> Result<File> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io("write", folder, e))?;
    let gate = gate(folder)?;
    match gate.try_lock() {
        Ok(()) => Ok(gate),
        Err(_) => {
            let who = all_alive(folder).into_iter().next().map_or("another process".to_string(), |(_, name)| name);
            Err(Error::Busy { who })
        }
    }
}
