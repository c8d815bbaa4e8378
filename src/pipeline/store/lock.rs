//! Locks on files that end with their holder, however it ends: the kernel releases them even after `kill -9`.
//!
//! Local file systems lock through any handle. NFS does not: there a shared lock needs a handle that can read, an
//! exclusive lock one that can write. So every handle here can do both, except where a file belongs to another user and
//! only reading is allowed; then only shared locks are taken. Nothing else in the engine locks a file.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Opens a lock file, which is created when it is missing. A file that this user may only read is opened for reading.
pub(crate) fn open(path: &Path) -> Result<File> {
    let both = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match both {
        Err(e) if matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => {
            // When the file is not there either, the first error says why it cannot be.
            File::open(path).map_err(|_| e)
        }
        opened => opened,
    }
}

/// Tries to take the lock alone: `false` when somebody else holds it.
pub(crate) fn try_exclusive(file: &File) -> Result<bool> {
    answer(file.try_lock())
}

/// Tries to share the lock: `false` when somebody holds it alone.
pub(crate) fn try_shared(file: &File) -> Result<bool> {
    answer(file.try_lock_shared())
}

fn answer(tried: std::result::Result<(), TryLockError>) -> Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Whether a process holds the lock of that file alone. A file that is not there is held by nobody; one that cannot be
/// asked counts as held, because to take a living process for a dead one would compute a unit twice.
pub(crate) fn held(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => !try_shared(&file).unwrap_or(false),
        Err(e) => e.kind() != ErrorKind::NotFound,
    }
}
