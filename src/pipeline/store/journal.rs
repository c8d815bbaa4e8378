//! The journal: one append-only file that holds everything the store remembers.
//!
//! # Why one file
//!
//! A file per record would cost each unit a create, an fsync and a rename, and each no-op run an open and a read per
//! unit. A journal costs a unit a share of one write and one fsync (the scheduler commits whatever has finished in one
//! go), and a no-op one sequential read.
//!
//! # Format
//!
//! Text, one entry per line: 16 hexadecimal digits of the BLAKE3 digest of the rest, a space, JSON. The first entry names
//! the format. Later entries win over earlier ones.
//!
//! # What can go wrong
//!
//! * **A writer dies half way through a line.** Readers take whole lines only. The next writer, under the lock, cuts the
//!   torn tail off. The units on it run again.
//! * **A line is damaged** (bad disk, an editor). Its checksum fails; it is skipped, counted and reported by `verify`.
//!   Lines are found by their newline, so the damage does not spread.
//! * **Two writers.** Appends happen under an OS lock (`flock`) on the file, which dies with its holder. A writer first
//!   reads what others added, so it decides on what is true (see [`Journal::update`]).
//! * **The disk fills up.** The half-written entry is cut off again, and the error says so. Nothing earlier is touched.
//! * **Power fails.** Objects are synced before the entry that names them, entries before the unit counts as done. The
//!   lock is released before the fsync: another process may read an entry that is not yet on disk, but what it adds
//!   comes after it in the same file, so no surviving entry can rest on a lost one.
//! * **`gc` rewrites the file.** It is replaced by rename; who has the old one open sees another inode and starts over.

use super::index::{Entry, Index};
use crate::error::{Error, Result};
use crate::value::digest::{Digest, hex};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The format this program writes.
pub const FORMAT: u32 = 1;

/// The journal of one store, shared by the threads of a process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    contents: Mutex<Contents>,
}

#[derive(Debug, Default)]
struct Contents {
    /// Open for reading and appending; `None` until the first write.
    writer: Option<File>,
    /// Which file `index` was read from.
    inode: u64,
    /// How much of it was read: always the start of a line.
    offset: u64,
    lines: usize,
    index: Index,
}

impl Journal {
    /// A journal at `path`, which need not exist. Reads it.
    pub fn open(path: PathBuf) -> Result<Self> {
        let journal = Self { path, contents: Mutex::default() };
        journal.refresh()?;
        Ok(journal)
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        // The contents are consistent between any two statements that may panic, so a poisoned lock is usable.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what others have added.
    pub fn refresh(&self) -> Result<()> {
        self.lock().read(&self.path)
    }

    /// Looks at the index.
    pub fn with<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        look(&self.lock().index)
    }

    /// Under the lock: reads what others have added, lets `decide` look at it and say what to add, and adds it. What
    /// `decide` saw is still true when its entries are in the file.
    pub fn update<T>(&self, decide: impl FnOnce(&Index) -> (Vec<Entry>, T)) -> Result<T> {
        let mut contents = self.lock();
        let contents = &mut *contents;
        let file = contents.writer(&self.path)?;
        let answer = contents.locked_update(&self.path, &file, decide);
        // The lock ends with the handle anyway; unlocking here only lets others in sooner.
        let _ = file.unlock();
        answer
    }

    /// Runs `work` under the journal's lock, after reading what others have added. For files beside the journal that two
    /// processes may change at once: the lock file is one.
    pub fn locked<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let mut contents = self.lock();
        let file = contents.writer(&self.path)?;
        let answer = contents.read(&self.path).and_then(|()| work());
        let _ = file.unlock();
        answer
    }

    /// Makes everything added so far survive a power failure.
    pub fn sync(&self) -> Result<()> {
        let writer = self.lock().writer.as_ref().map(File::try_clone).transpose();
        match writer.map_err(|e| Error::io("write", &self.path, e))? {
            Some(file) => file.sync_data().map_err(|e| Error::io("write", &self.path, e)),
            None => Ok(()),
        }
    }

    /// Replaces the whole journal by the entries that `choose` keeps. The caller keeps runs away (see `gc`).
    pub fn rewrite(&self, choose: impl FnOnce(&Index) -> Vec<Entry>) -> Result<()> {
        let mut contents = self.lock();
        let file = contents.writer(&self.path)?;
        contents.read(&self.path)?;
        let mut bytes = encode(&[Entry::Format(FORMAT)]);
        bytes.extend(encode(&choose(&contents.index)));
        let wrong = |e| Error::io("write", &self.path, e);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut fresh = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
        fresh.write_all(&bytes).map_err(wrong)?;
        // A temporary file is private. The journal of a shared store must stay readable for those who could read it.
        let there = file.metadata().map_err(wrong)?;
        if fresh.as_file().metadata().map_err(wrong)?.gid() != there.gid() {
            // Only a member of the group, or root, can do this; for others the group changes to their own.
            let group = rustix::fs::Gid::from_raw(there.gid());
            let _ = rustix::fs::fchown(fresh.as_file(), None, Some(group));
        }
        fresh.as_file().set_permissions(there.permissions()).map_err(wrong)?;
        fresh.as_file().sync_all().map_err(wrong)?;
        fresh.persist(&self.path).map_err(|e| wrong(e.error))?;
        drop(file);
        contents.writer = None;
        contents.read(&self.path)
    }
}

impl Contents {
    /// The file, open for writing and locked, and certainly the one that `path` names.
    fn writer(&mut self, path: &Path) -> Result<File> {
        let wrong = |e| Error::io("write", path, e);
        loop {
            if self.writer.is_none() {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder).map_err(wrong)?;
                }
                let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(wrong)?;
                self.writer = Some(file);
            }
            let Some(writer) = &self.writer else { continue };
            let file = writer.try_clone().map_err(wrong)?;
            file.lock().map_err(wrong)?;
            let same = |there: std::fs::Metadata| file.metadata().is_ok_and(|here| here.ino() == there.ino());
            if std::fs::metadata(path).is_ok_and(same) {
                return Ok(file);
            }
            // `gc` put another file in its place while we waited: open that one.
            let _ = file.unlock();
            self.writer = None;
        }
    }

    fn locked_update<T>(
        &mut self,
        path: &Path,
        file: &File,
        decide: impl FnOnce(&Index) -> (Vec<Entry>, T),
    ) -> Result<T> {
        let wrong = |e| Error::io("write", path, e);
        self.read(path)?;
        let length = file.metadata().map_err(wrong)?.len();
        if length > self.offset {
            file.set_len(self.offset).map_err(wrong)?;
        }
        let (mut entries, answer) = decide(&self.index);
        if entries.is_empty() {
            return Ok(answer);
        }
        if self.offset == 0 {
            entries.insert(0, Entry::Format(FORMAT));
        }
        let bytes = encode(&entries);
        if let Err(error) = (&*file).write_all(&bytes) {
            let _ = file.set_len(self.offset);
            return Err(wrong(error));
        }
        self.offset += bytes.len() as u64;
        self.lines += entries.len();
        entries.into_iter().for_each(|e| self.index.apply(e));
        Ok(answer)
    }

    /// Reads whole lines from where the last read ended.
    fn read(&mut self, path: &Path) -> Result<()> {
        let wrong = |e| Error::io("read", path, e);
        let there = match std::fs::metadata(path) {
            Ok(there) => there,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(wrong(e)),
        };
        if there.ino() != self.inode || there.len() < self.offset {
            self.index = Index::default();
            (self.inode, self.offset, self.lines) = (there.ino(), 0, 0);
        }
        if there.len() == self.offset {
            return Ok(());
        }
        let mut file = File::open(path).map_err(wrong)?;
        file.seek(SeekFrom::Start(self.offset)).map_err(wrong)?;
        let mut bytes = Vec::with_capacity((there.len() - self.offset) as usize);
        file.read_to_end(&mut bytes).map_err(wrong)?;
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<&[u8]> = bytes[..whole].split_inclusive(|&b| b == b'\n').map(|l| &l[..l.len() - 1]).collect();
        for entry in decode_all(&lines) {
            self.lines += 1;
            match entry {
                Some(Entry::Format(found)) if found > FORMAT => {
                    return Err(Error::Format { path: path.to_path_buf(), found: found.to_string(), known: FORMAT });
                }
                Some(entry) => self.index.apply(entry),
                None => {
                    self.index.damaged.insert(self.lines);
                }
            }
        }
        self.offset += whole as u64;
        Ok(())
    }
}

fn checksum(json: &[u8]) -> [u8; 16] {
    let Digest([a, b, c, d, e, f, g, h, ..]) = Digest::of(json);
    hex(&[a, b, c, d, e, f, g, h])
}

/// A line's entry, or nothing when the line is damaged; lines of a long journal are decoded by all cores.
fn decode_all(lines: &[&[u8]]) -> Vec<Option<Entry>> {
    let decode_some = |lines: &[&[u8]]| lines.iter().map(|line| decode(line)).collect::<Vec<_>>();
    let parts = crate::host::cores().min(lines.len() / LINES_PER_THREAD).max(1);
    let size = lines.len().div_ceil(parts).max(1);
    let mut chunks = lines.chunks(size);
    let first = chunks.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = chunks
            .map(|chunk| {
                let thread = std::thread::Builder::new().name("journal".to_string());
                // Where the system gives no more threads, this one decodes the chunk.
                thread.spawn_scoped(scope, move || decode_some(chunk)).map_err(|_| chunk)
            })
            .collect();
        let mut out = decode_some(first);
        for other in others {
            match other {
                // Decoding does not panic; should it, its lines count as damaged.
                Ok(thread) => out.extend(thread.join().unwrap_or_default()),
                Err(chunk) => out.extend(decode_some(chunk)),
            }
        }
        out
    })
}

/// Starting a thread costs as much as decoding some dozens of lines.
const LINES_PER_THREAD: usize = 250;

fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        // Entries are maps with text keys and finite numbers: they always have a JSON form.
        let Ok(json) = serde_json::to_vec(entry) else { continue };
        out.extend(checksum(&json));
        out.push(b' ');
        out.extend(json);
        out.push(b'\n');
    }
    out
}

fn decode(line: &[u8]) -> Option<Entry> {
    let (sum, json) = (line.get(..16)?, line.get(17..)?);
    if sum != checksum(json) {
        return None;
    }
    serde_json::from_slice(json).ok()
}
