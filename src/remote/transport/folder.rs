//! A remote in a folder: a shared disk, or what a web server serves.

use super::{Attempt, Body, Failure, Moved, Read, Transport, When};
use crate::error::Error;
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A remote in a folder. The folder need not exist: the first write makes it.
pub struct Folder {
    folder: PathBuf,
}

/// The lock file: whoever replaces the index locks it first. It stays empty.
const LOCK: &str = ".lock";
/// Bytes copied between two reports of progress.
const PIECE: usize = 256 << 10;

impl Folder {
    /// The remote in `folder`.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn wrong(&self, e: &std::io::Error) -> Failure {
        let advice = match e.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; make room there and go on with the same command",
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => "; its owner must let you write there",
            _ => "",
        };
        Failure::Final(format!("{e}{advice}"))
    }

    /// Opens a file; none when it does not exist.
    fn open(&self, name: &str) -> Attempt<Option<File>> {
        match File::open(self.folder.join(name)) {
            Ok(file) => Ok(Some(file)),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.wrong(&e)),
        }
    }

    /// Copies `from` to its end, or until `moved` returns `false`.
    fn copy(&self, from: &mut dyn std::io::Read, to: &mut dyn Write, moved: Moved<'_>) -> Attempt<()> {
        let mut buffer = vec![0u8; PIECE];
        loop {
            let n = from.read(&mut buffer).map_err(|e| self.wrong(&e))?;
            if n == 0 {
                return Ok(());
            }
            to.write_all(&buffer[..n]).map_err(|e| self.wrong(&e))?;
            if !moved(n as u64) {
                return Err(Failure::Transient("stopped".to_string()));
            }
        }
    }
}

impl Transport for Folder {
    fn read(&self, name: &str, most: u64) -> Attempt<Option<Read>> {
        let Some(file) = self.open(name)? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(most + 1).read_to_end(&mut bytes).map_err(|e| self.wrong(&e))?;
        if bytes.len() as u64 > most {
            return Err(Failure::Final(format!("more than {most} bytes")));
        }
        Ok(Some(Read { bytes, tag: None }))
    }

    fn fetch(&self, name: &str, part: &Path, size: u64, moved: Moved<'_>) -> Attempt<bool> {
        let here = |e| Failure::Local(Error::file(part, e));
        let Some(mut file) = self.open(name)? else { return Ok(false) };
        let mut to = File::options().append(true).create(true).open(part).map_err(here)?;
        let have = to.metadata().map_err(here)?.len();
        file.seek(SeekFrom::Start(have)).map_err(|e| self.wrong(&e))?;
        let mut buffer = vec![0u8; PIECE];
        let mut left = size.saturating_sub(have) + 1;
        loop {
            let most = buffer.len().min(left as usize);
            let n = file.read(&mut buffer[..most]).map_err(|e| self.wrong(&e))?;
            if n == 0 {
                return Ok(true);
            }
            to.write_all(&buffer[..n]).map_err(here)?;
            left -= n as u64;
            if !moved(n as u64) {
                return Err(Failure::Transient("stopped".to_string()));
            }
        }
    }

    fn write(&self, name: &str, body: Body<'_>, when: &When, moved: Moved<'_>) -> Attempt<()> {
        let target = self.folder.join(name);
        let folder = target.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder).map_err(|e| self.wrong(&e))?;
        // The lock is held to the end of this function. The system releases the lock of a writer that dies.
        let lock = if *when == When::Always {
            None
        } else {
            let lock = File::options().write(true).create(true).truncate(false).open(self.folder.join(LOCK));
            let lock = lock.map_err(|e| self.wrong(&e))?;
            lock.lock().map_err(|e| self.wrong(&e))?;
            let there = std::fs::read(&target).ok();
            let same = match when {
                When::Same(read) => there.as_ref() == Some(&read.bytes),
                _ => there.is_none(),
            };
            if !same {
                return Err(Failure::Changed);
            }
            Some(lock)
        };
        let mut new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).map_err(|e| self.wrong(&e))?;
        match body {
            Body::Bytes(mut bytes) => self.copy(&mut bytes, &mut new, moved)?,
            Body::File(path, _) => {
                let mut file = File::open(path).map_err(|e| Failure::Local(Error::file(path, e)))?;
                self.copy(&mut file, &mut new, moved)?;
            }
        }
        let mode = std::fs::Permissions::from_mode(0o644);
        let file = new.as_file();
        file.set_permissions(mode).and_then(|()| file.sync_all()).map_err(|e| self.wrong(&e))?;
        new.persist(&target).map_err(|e| self.wrong(&e.error))?;
        drop(lock);
        Ok(())
    }

    fn size(&self, name: &str) -> Attempt<Option<u64>> {
        match std::fs::metadata(self.folder.join(name)) {
            Ok(meta) => Ok(Some(meta.len())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
            Err(e) => Err(self.wrong(&e)),
        }
    }

    fn remove(&self, name: &str) -> Attempt<()> {
        match std::fs::remove_file(self.folder.join(name)) {
            Err(e) if e.kind() != ErrorKind::NotFound => Err(self.wrong(&e)),
            _ => Ok(()),
        }
    }
}
