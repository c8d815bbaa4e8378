//! Errors of a push or pull.

/// An error of a push or pull. Its message says what happened, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the remote or its options are wrong.
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
    /// An error of the pipeline engine, for example of this project's store.
    #[error(transparent)]
    Engine(#[from] pipeline::Error),
    /// A file of this machine cannot be read or written.
    #[error("`{path}`: {source}")]
    File {
        /// The file.
        path: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The user stopped the transfer with Ctrl-C.
    #[error("interrupted: what arrived is kept; the same command goes on")]
    Interrupted,
}

impl Error {
    /// An error about a file of this machine.
    pub(crate) fn file(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}

/// A result of a push or pull.
pub type Result<T, E = Error> = std::result::Result<T, E>;
