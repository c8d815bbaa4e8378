//! The files of a run on a cluster, in `runs/RUN/` of the store, on the shared file system.
//!
//! ```text
//! run.json           what was asked for, by which program, on which pipeline
//! driver             locked by the process that drives the run, as long as it lives
//! chunks/7.json      the units of chunk 7
//! chunks/7.messages  messages of the tasks that worked on it, one a line
//! chunks/7.exit      the exit code of its last task, when that was not 0
//! arrays/2.json      one submission: its job name, its chunks; arrays/2.sh is its script
//! logs/              what tasks printed
//! cancel             somebody asked that the run end
//! stop               tasks start no further unit
//! ended              the run is over, with the driver's exit code
//! ```
//!
//! Driver and tasks exchange messages through these files only. The files decide nothing: a unit is done when its record
//! is in the store.

use super::files::{ArrayFile, ChunkFile, ChunkUnit, RunInfo, TaskMessage};
use crate::error::{Error, Result};
use crate::store::lock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Ended runs whose files are kept.
const KEPT: usize = 20;

/// A run's folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// The run's id.
    pub id: String,
    path: PathBuf,
}

/// The number in an id, by which runs are ordered.
fn stamp(id: &str) -> u64 {
    u64::from_str_radix(id.split('-').next().unwrap_or_default(), 16).unwrap_or(0)
}

fn runs(store: &Path) -> PathBuf {
    store.join("runs")
}

impl RunFolder {
    /// A new run below the store's folder.
    pub fn create(store: &Path, info: &RunInfo) -> Result<Self> {
        // The last runs are kept for looking things up.
        let over: Vec<Self> = Self::all(store).into_iter().filter(|r| r.ended().is_some()).collect();
        for old in &over[..over.len().saturating_sub(KEPT)] {
            let _ = std::fs::remove_dir_all(&old.path);
        }
        let failed = |e| Error::io("write", &runs(store), e);
        std::fs::create_dir_all(runs(store)).map_err(failed)?;
        // Ids grow even when the clock goes back, so that the last run is the last one started.
        let last = Self::all(store).last().map_or(0, |run| stamp(&run.id));
        let mut number = crate::host::now().max(last + 1);
        let run = loop {
            let id = format!("{number:x}");
            let path = runs(store).join(&id);
            match std::fs::create_dir(&path) {
                Ok(()) => break Self { id, path },
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(e) => return Err(failed(e)),
            }
        };
        for folder in ["chunks", "arrays", "logs"] {
            let path = run.path.join(folder);
            std::fs::create_dir_all(&path).map_err(|e| Error::io("write", &path, e))?;
        }
        run.write("run.json", info)?;
        Ok(run)
    }

    /// The run that a driver which died left open, when it was asked for the same and nobody drives it now; else a new
    /// one. Says which.
    pub fn resume_or_create(store: &Path, info: &RunInfo) -> Result<(Self, bool)> {
        for run in Self::all(store).into_iter().rev() {
            if run.ended().is_none() && !run.driven() && run.info().is_ok_and(|i| i.same_as(info)) {
                return Ok((run, true));
            }
        }
        Ok((Self::create(store, info)?, false))
    }

    /// The run of that id.
    pub fn open(store: &Path, id: &str) -> Result<Self> {
        let fits = !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let path = runs(store).join(id);
        if !fits || !path.join("run.json").is_file() {
            let known: Vec<String> = Self::all(store).into_iter().map(|r| r.id).collect();
            let known = if known.is_empty() { "there is none".to_string() } else { known.join(", ") };
            return Err(Error::Executor(format!("there is no run `{id}` in this project; runs: {known}")));
        }
        Ok(Self { id: id.to_string(), path })
    }

    /// Every run, oldest first.
    pub fn all(store: &Path) -> Vec<Self> {
        let entries = std::fs::read_dir(runs(store)).into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries
            .filter(|e| e.path().join("run.json").is_file())
            .map(|e| Self { id: e.file_name().to_string_lossy().into_owned(), path: e.path() })
            .collect();
        all.sort_by(|a, b| (stamp(&a.id), &a.id).cmp(&(stamp(&b.id), &b.id)));
        all
    }

    /// Every unit of every chunk that was written, whether it was submitted or not.
    pub(crate) fn units(&self) -> Result<Vec<ChunkUnit>> {
        let folder = self.path.join("chunks");
        let mut out = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(|e| Error::io("read", &folder, e))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".json") {
                out.extend(self.read::<ChunkFile>(&format!("chunks/{name}"))?.units);
            }
        }
        Ok(out)
    }

    /// Where the run's files are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was asked for.
    pub fn info(&self) -> Result<RunInfo> {
        self.read("run.json")
    }

    /// Becomes the run's driver; the error names the one there is.
    pub fn drive(&self) -> Result<File> {
        let path = self.path.join("driver");
        let failed = |e| Error::io("write", &path, e);
        let mut file = lock::open(&path).map_err(failed)?;
        // Somebody who only asks whether the run is driven holds the lock for a moment too.
        let mut free = lock::try_exclusive(&file).map_err(failed)?;
        for _ in 0..20 {
            if free {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            free = lock::try_exclusive(&file).map_err(failed)?;
        }
        if !free {
            let who = std::fs::read_to_string(&path).unwrap_or_default();
            return Err(Error::Busy { who: format!("run {}: process {who}", self.id) });
        }
        file.set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(|e| Error::io("write", &path, e))?;
        Ok(file)
    }

    /// Whether some process drives the run now.
    pub fn driven(&self) -> bool {
        lock::held(&self.path.join("driver"))
    }

    /// Notes that the run is over, with the driver's exit code.
    pub fn end(&self, code: u8) {
        // Without the note the next run looks at the jobs once more, which costs a moment.
        let _ = self.write("ended", &code);
        let _ = std::fs::remove_file(self.path.join("cancel"));
    }

    /// The driver's exit code, when the run is over.
    pub fn ended(&self) -> Option<u8> {
        self.read("ended").ok()
    }

    /// Takes back that the run ended or was to stop: it goes on.
    pub fn reopen(&self) {
        for name in ["ended", "cancel", "stop"] {
            let _ = std::fs::remove_file(self.path.join(name));
        }
    }

    /// Tells tasks to start no further unit, also those that Slurm starts later. Stays until the run is reopened.
    pub(super) fn request_stop(&self) -> Result<()> {
        self.write("stop", &true)
    }

    pub(super) fn stop_requested(&self) -> bool {
        self.path.join("stop").exists()
    }

    /// Asks the driver to end the run.
    pub fn request_cancel(&self) -> Result<()> {
        self.write("cancel", &true)
    }

    pub(super) fn cancel_requested(&self) -> bool {
        self.path.join("cancel").exists()
    }

    /// Everything submitted, in order.
    pub(super) fn arrays(&self) -> Vec<ArrayFile> {
        (0..).map_while(|k| self.read(&format!("arrays/{k}.json")).ok()).collect()
    }

    pub(super) fn write(&self, name: &str, value: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec(value).map_err(|e| Error::Executor(format!("run {}: {e}", self.id)))?;
        self.write_bytes(name, &text)
    }

    /// Whole or not at all.
    pub(super) fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        let wrong = |e| Error::io("write", &path, e);
        let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(&self.path)).map_err(wrong)?;
        file.write_all(bytes).map_err(wrong)?;
        file.persist(&path).map_err(|e| wrong(e.error))?;
        Ok(())
    }

    pub(super) fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T> {
        let path = self.path.join(name);
        let bytes = std::fs::read(&path).map_err(|e| Error::io("read", &path, e))?;
        serde_json::from_slice(&bytes).map_err(|e| {
            Error::Executor(format!("`{}` cannot be read: {e}; cancel the run and start anew", path.display()))
        })
    }

    /// The messages about a chunk since `offset`, which moves on. Whole lines only.
    pub(super) fn messages(&self, chunk: usize, offset: &mut u64) -> Vec<TaskMessage> {
        let Ok(mut file) = File::open(self.path.join(format!("chunks/{chunk}.messages"))) else { return Vec::new() };
        let mut bytes = Vec::new();
        if file.seek(SeekFrom::Start(*offset)).and_then(|_| file.read_to_end(&mut bytes)).is_err() {
            return Vec::new();
        }
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        *offset += whole as u64;
        bytes[..whole].split(|&b| b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// The file to which a task appends its messages.
    pub(super) fn open_messages(&self, chunk: usize) -> Result<File> {
        let path = self.path.join(format!("chunks/{chunk}.messages"));
        OpenOptions::new().create(true).append(true).open(&path).map_err(|e| Error::io("write", &path, e))
    }
}

/// The last lines of a file, for messages.
pub(super) fn tail(path: &Path) -> String {
    let text = std::fs::read(path).map(|b| String::from_utf8_lossy(&b).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(5)..].join("\n")
}
