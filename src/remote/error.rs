//! What goes wrong between two stores.

/// An error of a push or pull. Sentences say what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address or its options.
    #[error("{0}")]
    Address(String),
    /// The remote did not answer, or refused.
    #[error("{remote}: {what}")]
    Remote {
        /// The remote.
        remote: String,
        /// What happened and what to do.
        what: String,
    },
    /// The store of this project.
    #[error(transparent)]
    Engine(#[from] pipeline::Error),
    /// A file of this machine.
    #[error("`{path}`: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// Ctrl-C.
    #[error("interrupted: what arrived is kept; the same command goes on")]
    Interrupted,
}

impl Error {
    /// An error about a file here.
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}

/// A result of a push or pull.
pub type Result<T, E = Error> = std::result::Result<T, E>;
