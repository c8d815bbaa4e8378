//! The store: the folder that holds results.
//!
//! ```text
//! journal          what is known: records, failures, claims, the stat cache  (journal.rs, index.rs)
//! objects/ab/...   artefacts, named by their content, read-only              (objects.rs)
//! locks/           one file per process at work, and the gate                (owner.rs, claim.rs, lock.rs)
//! scratch/         what units in flight are writing, a folder per run
//! roots/           the keys that each run of late referred to, for gc        (roots.rs)
//! logs/ab/...      what units logged, by key
//! runs/...         what runs on a cluster submitted                           (run/slurm)
//! ```
//!
//! Everything in it can be deleted at the cost of computing it again. The times that the scheduler uses come from the
//! records.

pub mod claim;
pub mod index;
pub mod journal;
pub(crate) mod lock;
pub mod lockfile;
pub mod objects;
pub mod owner;
pub mod record;
pub(crate) mod roots;

use crate::error::{Error, Result};
use crate::freshness::key::Key;
use crate::value::digest::Digest;
use claim::Role;
use index::Entry;
use journal::Journal;
use objects::{Health, Objects, Stat};
use owner::{Gate, Owner};
use record::{Artefact, Record};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A store.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    /// The journal.
    pub journal: Journal,
    /// The objects.
    pub objects: Objects,
    /// Objects hashed by this process and not yet noted in the journal.
    seen: Mutex<Vec<(Digest, Stat)>>,
}

impl Store {
    /// Opens the store in `folder`, which need not exist. Writes nothing.
    pub fn open(folder: PathBuf) -> Result<Self> {
        let journal = Journal::open(folder.join("journal"))?;
        let objects = Objects::new(folder.join("objects"));
        Ok(Self { folder, journal, objects, seen: Mutex::default() })
    }

    /// Opens the store while `work` runs: reading the journal of a large project takes as long as checking its pipeline.
    pub fn open_beside<T>(folder: PathBuf, work: impl FnOnce() -> T) -> (T, Result<Self>) {
        std::thread::scope(|scope| {
            let read = || Self::open(folder.clone());
            let reader = std::thread::Builder::new().name("store".to_string()).spawn_scoped(scope, read);
            let done = work();
            // Where the system gives no thread, this one reads.
            (done, reader.ok().and_then(|reader| reader.join().ok()).unwrap_or_else(read))
        })
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where locks are.
    pub fn locks(&self) -> PathBuf {
        self.folder.join("locks")
    }

    /// The log of a unit, by its key.
    pub fn log_path(&self, key: &Key) -> PathBuf {
        let hex = key.to_string();
        self.folder.join("logs").join(&hex[..2]).join(format!("{}.log", &hex[2..]))
    }

    /// Begins a run: creates its lock and its scratch folder, and removes the scratch folders of runs that died.
    /// The gate was passed before anything was judged.
    pub fn begin(&self, role: Role, gate: Gate) -> Result<Session> {
        let owner = Owner::new(&self.locks(), role, gate)?;
        let scratches = self.folder.join("scratch");
        let scratch = scratches.join(&owner.id);
        std::fs::create_dir_all(&scratch).map_err(|e| Error::io("write", &scratch, e))?;
        for entry in std::fs::read_dir(&scratches).into_iter().flatten().flatten() {
            let id = entry.file_name().to_string_lossy().into_owned();
            if id != owner.id && owner::alive(&self.locks(), &id).is_none() {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        Ok(Session { owner, scratch })
    }

    /// Passes the gate that keeps gc away; see [`Gate::enter`]. Whoever judges units in order to use them does it behind
    /// the gate.
    pub fn enter(&self, waiting: impl FnOnce()) -> Result<Gate> {
        Gate::enter(&self.locks(), waiting)
    }

    /// What the stat cache knows of an object.
    fn known(&self, digest: &Digest) -> Option<Stat> {
        self.journal.with(|i| i.seen.get(digest).copied())
    }

    /// Looks at an artefact's object, reading it only when the stat cache does not know it as it is now.
    pub fn health(&self, artefact: &Artefact) -> Result<Health> {
        let (known, bad) =
            self.journal.with(|i| (i.seen.get(&artefact.digest).copied(), i.bad.contains(&artefact.digest)));
        let health = self.objects.health(artefact, known, bad)?;
        if let Health::Good(Some(stat)) = health {
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push((artefact.digest, stat));
        }
        Ok(health)
    }

    /// Notes in the journal what was hashed since the last time. A store that cannot be written only loses this note.
    pub fn note_seen(&self) {
        let seen = std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        if !seen.is_empty() {
            let _ = self.journal.update(|_| (vec![Entry::Seen(seen)], ()));
        }
    }

    /// Notes that a run made good what the damaged lines of the journal had recorded: `verify` no longer reports them.
    pub fn note_mended(&self) {
        let damaged: Vec<usize> = self.journal.with(|i| i.damaged.iter().copied().collect());
        if !damaged.is_empty() {
            let _ = self.journal.update(|_| (vec![Entry::Mended(damaged)], ()));
        }
    }

    /// Moves every file of a scratch folder into the store and leaves it empty. All files are artefacts; a folder among
    /// them is an error.
    pub fn take(&self, scratch: &Path) -> Result<Taken> {
        let wrong = |e| Error::io("read", scratch, e);
        let mut taken = Taken::default();
        let entries = match std::fs::read_dir(scratch) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(taken),
            Err(e) => return Err(wrong(e)),
        };
        for entry in entries {
            let entry = entry.map_err(wrong)?;
            if !entry.file_type().map_err(wrong)?.is_file() {
                return Err(Error::NotAFile(entry.file_name().to_string_lossy().into_owned()));
            }
            let (artefact, stat) = self.objects.take(&entry.path(), |d| self.known(d))?;
            taken.artefacts.insert(entry.file_name().to_string_lossy().into_owned(), artefact);
            taken.seen.push((artefact.digest, stat));
        }
        Ok(taken)
    }

    /// The record of a key and whether its objects are all there.
    pub fn look_up(&self, key: &Key) -> Result<Option<(std::sync::Arc<Record>, Vec<(String, Health)>)>> {
        let Some(record) = self.journal.with(|i| i.records.get(key).cloned()) else { return Ok(None) };
        let mut damage = Vec::new();
        for (name, artefact) in &record.artefacts {
            match self.health(artefact)? {
                Health::Good(_) => {}
                health => damage.push((name.clone(), health)),
            }
        }
        Ok(Some((record, damage)))
    }
}

/// What a unit left in its scratch folder, now in the store.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    /// By name.
    pub artefacts: BTreeMap<String, Artefact>,
    /// For the stat cache.
    pub seen: Vec<(Digest, Stat)>,
}

/// A run in progress: its lock and its scratch folder, both gone when it ends.
#[derive(Debug)]
pub struct Session {
    /// The lock.
    pub owner: Owner,
    /// The scratch folder.
    pub scratch: PathBuf,
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}
