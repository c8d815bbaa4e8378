//! The content (a checksum) of the files of a place, without reading them at every run.
//!
//! Whether a result is current depends on the *content* of the data, and large files take seconds to read. So the content is stored in a
//! list under the names, sizes, times and inode numbers of the files. A file whose time changed is read once more; if its content is the
//! same, every result that depends on it stays current.
//!
//! A file that changed within the last two seconds is not stored: another change within one tick of the clock would not be seen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::{Options, checksum};
use crate::{Error, Result};

/// Deepest folder that is searched, as in [`crate::archive::Files`].
const DEEPEST: usize = 4;
/// Files that changed within this time are read at every run.
const SETTLED: Duration = Duration::from_secs(2);
/// Most entries of the list of contents; a full list is emptied.
const MOST: usize = 4096;

/// The list of contents that were found before, with the folder that holds its file.
static REMEMBERED: Mutex<Option<(PathBuf, BTreeMap<String, String>)>> = Mutex::new(None);

/// The relevant files of some places: one line of text for each, with name, size, times and inode number.
#[derive(Default)]
pub(crate) struct Listing {
    lines: Vec<String>,
    /// Whether a file changed within the last two seconds, so that the content is not stored.
    changed_lately: bool,
}

impl Listing {
    /// Adds the regular files below a folder (or the one file `at`) whose base names are relevant.
    pub fn add(&mut self, at: &Path, relevant: &dyn Fn(&str) -> bool) -> Result<()> {
        if at.is_dir() {
            self.below(at, 0, relevant)?;
        } else if at.is_file() {
            self.file(at)?;
        }
        Ok(())
    }

    fn below(&mut self, folder: &Path, depth: usize, relevant: &dyn Fn(&str) -> bool) -> Result<()> {
        for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
            let path = entry.map_err(|e| Error::io(folder, e))?.path();
            if path.is_dir() {
                if depth < DEEPEST {
                    self.below(&path, depth + 1, relevant)?;
                }
            } else if path.file_name().is_some_and(|n| relevant(&n.to_string_lossy())) && path.is_file() {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<()> {
        let meta = path.metadata().map_err(|e| Error::io(path, e))?;
        let modified = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        // A file whose time lies in the future counts as changed just now.
        self.changed_lately |= modified.elapsed().map_or(true, |age| age < SETTLED);
        let modified = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        #[cfg(unix)]
        let number = {
            use std::os::unix::fs::MetadataExt;
            format!("{} {}.{}", meta.ino(), meta.ctime(), meta.ctime_nsec())
        };
        #[cfg(not(unix))]
        let number = "";
        self.lines.push(format!("{} {} {modified} {number}", path.display(), meta.len()));
        Ok(())
    }

    /// The content that `read` finds in these files. `read` is called only when they have changed since the last time. `what` is part of the
    /// key, so that two data sets in the same files have separate entries.
    pub fn content(
        mut self,
        options: &Options,
        what: &str,
        read: impl FnOnce() -> Result<Option<String>>,
    ) -> Result<Option<String>> {
        if self.lines.is_empty() {
            return Ok(None);
        }
        self.lines.sort();
        let key = checksum(format!("{what}\n{}", self.lines.join("\n")).as_bytes());
        let Some(dir) = options.cache_dir.as_deref().filter(|_| !self.changed_lately) else { return read() };
        if let Some(known) = with(dir, |list| list.get(&key).cloned()) {
            return Ok(Some(known).filter(|k| !k.is_empty()));
        }
        let found = read()?;
        with(dir, |list| {
            if list.len() >= MOST {
                list.clear();
            }
            list.insert(key, found.clone().unwrap_or_default());
            // If the list cannot be written, the next run reads the files again.
            let _ = save(dir, list);
        });
        Ok(found)
    }
}

fn with<T>(dir: &Path, f: impl FnOnce(&mut BTreeMap<String, String>) -> T) -> T {
    let mut guard = REMEMBERED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if guard.as_ref().is_none_or(|(of, _)| of != dir) {
        let list = std::fs::read(file_of(dir)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        *guard = Some((dir.to_path_buf(), list.unwrap_or_default()));
    }
    // The lines above have filled it, so the closure is never called.
    f(&mut guard.get_or_insert_with(|| (dir.to_path_buf(), BTreeMap::new())).1)
}

fn file_of(dir: &Path) -> PathBuf {
    dir.join("contents.json")
}

fn save(dir: &Path, list: &BTreeMap<String, String>) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let file = tempfile::NamedTempFile::new_in(dir)?;
    serde_json::to_writer(&file, list)?;
    file.persist(file_of(dir)).map(drop).map_err(|e| e.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(options: &Options, folder: &Path, reads: &mut usize) -> Option<String> {
        let mut listing = Listing::default();
        listing.add(folder, &|name| name.ends_with(".dat")).unwrap();
        let read = || {
            *reads += 1;
            Ok(Some(checksum(&std::fs::read(folder.join("a.dat")).unwrap())))
        };
        listing.content(options, "test", read).unwrap()
    }

    fn age(path: &Path, seconds: u64) {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    }

    #[test]
    fn settled_files_are_read_once_and_again_when_touched() {
        let (dir, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let options = Options::new(cache.path());
        let file = dir.path().join("a.dat");
        std::fs::write(&file, "one").unwrap();
        std::fs::write(dir.path().join("b.txt"), "not relevant").unwrap();
        let mut reads = 0;
        let first = ask(&options, dir.path(), &mut reads);
        assert_eq!((ask(&options, dir.path(), &mut reads), reads), (first.clone(), 2), "young files are read again");
        age(&file, 10);
        for _ in 0..3 {
            assert_eq!(ask(&options, dir.path(), &mut reads), first);
        }
        assert_eq!(reads, 3);
        age(&file, 20);
        assert_eq!((ask(&options, dir.path(), &mut reads), reads), (first.clone(), 4), "touched, the same content");
        std::fs::write(&file, "two").unwrap();
        age(&file, 20);
        assert_ne!(ask(&options, dir.path(), &mut reads), first, "the inode's change time tells");
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(ask(&options, nothing.path(), &mut reads), None);
    }
}
