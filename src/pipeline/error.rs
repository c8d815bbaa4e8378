//! Errors outside a stage: the store, the disk, a target that does not exist.
//!
//! The sentences name no command of a program: a program adds its own hints.

use std::path::{Path, PathBuf};

/// An error of the engine. Stages' own errors are not here: they end one unit, not the run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// pipeline.yaml is wrong.
    #[error(transparent)]
    Config(#[from] crate::yaml::ConfigError),
    /// A target names nothing.
    #[error(transparent)]
    Target(#[from] crate::plan::target::NoTarget),
    /// The disk is full.
    #[error("the disk is full while writing `{}`: nothing that had finished is lost; free some space and run again", .0.display())]
    DiskFull(PathBuf),
    /// The store cannot be written.
    #[error("the store cannot be written: `{}` is read-only for this user; fix its permissions or mount and run again (reading commands still work)", .0.display())]
    ReadOnly(PathBuf),
    /// Any other error about a file.
    #[error("`{}`: {action} failed: {source}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The store was written by another version.
    #[error("`{}` was written by a newer version of the program (format {found}, this one knows {known}); update the program or move the folder away", .path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format found.
        found: String,
        /// The format known.
        known: u32,
    },
    /// A unit was asked for that has no result yet.
    #[error("`{unit}` has no result yet")]
    NoResult {
        /// The unit.
        unit: String,
    },
    /// A unit has no such artefact.
    #[error("`{unit}` has no artefact `{artefact}`; it has: {have}")]
    NoArtefact {
        /// The unit.
        unit: String,
        /// The name asked for.
        artefact: String,
        /// The names it has.
        have: String,
    },
    /// A stage left a folder or a link where artefacts are expected.
    #[error("`{0}` is not a plain file, and artefacts must be")]
    NotAFile(String),
    /// A file that says what gc must keep is damaged.
    #[error("`{}` is damaged, so it is not known which results it refers to; remove it if they may go, and run gc again", .0.display())]
    DamagedRoots(PathBuf),
    /// The store is in use.
    #[error("{who} is running in this project; wait for it to end and try again")]
    Busy {
        /// The process that uses it.
        who: String,
    },
    /// An executor could not do its part.
    #[error("{0}")]
    Executor(String),
}

impl Error {
    /// The error for an I/O error: a full disk and a read-only store have sentences of their own.
    pub(crate) fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        match source.kind() {
            StorageFull | QuotaExceeded => Error::DiskFull(path.to_path_buf()),
            ReadOnlyFilesystem | PermissionDenied if action != "read" => Error::ReadOnly(path.to_path_buf()),
            _ => Error::Io { action, path: path.to_path_buf(), source },
        }
    }
}

/// A result of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;
