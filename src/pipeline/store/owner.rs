//! Who works in a store: one lock file per process at work, and the gate between runs and gc.
//!
//! Each run, cluster driver and cluster task creates one file, `locks/<id>`, and holds its lock until it ends. Claims in
//! the journal name that id, so a claim is worth exactly as much as the lock: nobody clears stale locks by hand, and no
//! process id is ever trusted. One lock per process and one journal line per unit make mutual exclusion cheap enough for
//! ten thousand units. The rules of claims are in [`super::claim`].
//!
//! **The gate**, `locks/gate`, keeps gc and runs apart: runs share it, gc takes it alone. A run passes the gate before it
//! judges any unit, so nothing that it judged fresh can be removed before it has used it.

use super::claim::Role;
use super::lock;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A process at work in the store. Dropping it ends its claims.
#[derive(Debug)]
pub struct Owner {
    /// The id that claims name.
    pub id: String,
    /// What the process is.
    pub role: Role,
    path: PathBuf,
    _file: File,
    _gate: Gate,
}

/// The gate, shared with other runs. gc waits outside as long as it is held.
#[derive(Debug)]
pub struct Gate {
    _file: File,
}

impl Gate {
    /// Passes the gate below `folder`. When gc is at work, `waiting` is called once and then its end is waited for.
    pub fn enter(folder: &Path, waiting: impl FnOnce()) -> Result<Self> {
        let failed = |e| Error::io("write", folder, e);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = lock::open(&folder.join(GATE)).map_err(failed)?;
        if !lock::try_shared(&file).map_err(failed)? {
            waiting();
            file.lock_shared().map_err(failed)?;
        }
        Ok(Self { _file: file })
    }

    /// Closes the gate: no run is under way and none can begin while the result is held. When one is, the error names
    /// it.
    pub fn close(folder: &Path) -> Result<Self> {
        let failed = |e| Error::io("write", folder, e);
        std::fs::create_dir_all(folder).map_err(failed)?;
        let file = lock::open(&folder.join(GATE)).map_err(failed)?;
        if lock::try_exclusive(&file).map_err(failed)? {
            return Ok(Self { _file: file });
        }
        let who = all_alive(folder).into_iter().next().map_or("another process".to_string(), |(_, name)| name);
        Err(Error::Busy { who })
    }
}

/// The name of the gate's file.
const GATE: &str = "gate";

static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Owner {
    /// Takes a lock of its own below `folder`, behind the gate.
    pub fn new(folder: &Path, role: Role, gate: Gate) -> Result<Self> {
        let failed = |e| Error::io("write", folder, e);
        loop {
            let nanos =
                std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
            let id = format!("{}-{nanos:x}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
            let path = folder.join(&id);
            let mut file = match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                Ok(file) => file,
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(e) => return Err(failed(e)),
            };
            file.lock().map_err(failed)?;
            write!(file, "process {} on {}\n{role}", std::process::id(), host()).map_err(failed)?;
            // Between creating and locking, another process may have taken the file for a dead one and removed it.
            let here = file.metadata().map_err(failed)?.ino();
            if std::fs::metadata(&path).is_ok_and(|there| there.ino() == here) {
                return Ok(Self { id, role, path, _file: file, _gate: gate });
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

/// Whether the owner of that id is alive, and its name for messages: `process 4711`, with the host when it is another,
/// and with its role on a cluster.
pub fn alive(folder: &Path, id: &str) -> Option<String> {
    let path = folder.join(id);
    if !lock::held(&path) {
        // The owner is dead. Should its file belong to another user it stays, and does no harm.
        let _ = std::fs::remove_file(&path);
        return None;
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let (process, role) = text.split_once('\n').unwrap_or((&text, ""));
    let process = process.strip_suffix(&format!(" on {}", host())).unwrap_or(process);
    let process = match process {
        "" => format!("process {}", id.split('-').next().unwrap_or(id)),
        named => named.to_string(),
    };
    Some(if role.is_empty() { process } else { format!("{process} ({role})") })
}

/// Every owner alive: its id and its name.
pub fn all_alive(folder: &Path) -> Vec<(String, String)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let ids = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).filter(|n| n != GATE);
    ids.filter_map(|id| alive(folder, &id).map(|name| (id, name))).collect()
}
