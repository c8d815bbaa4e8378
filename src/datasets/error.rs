//! Errors on the way from an address to arrays. Each message says what happened, where and what to do next.

use std::path::{Path, PathBuf};

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Why data could not be obtained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A binary file is not what it claims to be.
    #[error("{file}: {what} (at byte {offset}); the file is damaged or not {format}, get it again")]
    Format {
        /// The file or archive member.
        file: String,
        /// The format that was expected.
        format: &'static str,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
    /// A numpy file or bundle is damaged.
    #[error(transparent)]
    Npy(#[from] npy::Error),
    /// A text file does not hold the table it should.
    #[error("{file}, line {line}, column {column}: {what}")]
    Text {
        /// The file or archive member.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Column of the table (not of the text), counted from 1.
        column: usize,
        /// What is wrong there.
        what: String,
    },
    /// An archive was refused before anything was taken from it.
    #[error("{file}: {what}; the archive was refused, get it again from its official address")]
    Archive {
        /// The archive.
        file: String,
        /// The reason.
        what: String,
    },
    /// A download did not succeed; the cache is as it was.
    #[error("{url}: {what}; the cache was left as it was")]
    Download {
        /// The address.
        url: String,
        /// The reason.
        what: String,
    },
    /// A file is not the one that was recorded.
    #[error(
        "{file}: checksum {found} is not the recorded {expected}; if upstream really changed, use --accept-changed"
    )]
    Checksum {
        /// The file or address.
        file: String,
        /// What is recorded in `data/sources.yaml` or at the first download.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A file of the download cache is not what it was.
    #[error(
        "{file}: its checksum is {found}, recorded is {expected}: the file is damaged; delete it, or fetch it again with the network"
    )]
    Damaged {
        /// The file.
        file: String,
        /// What is recorded in `data/sources.yaml` or at the first download.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A data set is readable but not what its description says.
    #[error("{dataset}: {what}")]
    Dataset {
        /// The data set and part.
        dataset: String,
        /// What is missing or wrong.
        what: String,
    },
    /// `--require-real` was given and no real data could be found.
    #[error("{dataset}: no real data found; {tried}; give the files with --data-dir or allow the stand-in")]
    NotReal {
        /// The data set.
        dataset: String,
        /// Each source with the reason why it failed.
        tried: String,
    },
    /// A parameter has a value that cannot work.
    #[error("parameter `{name}`: {what}")]
    Param {
        /// The parameter.
        name: &'static str,
        /// What is wrong and what is allowed.
        what: String,
    },
}

impl Error {
    /// Why `address` gave nothing, for a list that names the address itself.
    pub(crate) fn reason_for(&self, address: &str) -> String {
        match self {
            Error::Download { url, what } if url == address => what.clone(),
            Error::Download { url, what } => format!("{url}: {what}"),
            other => other.to_string(),
        }
    }

    /// Wraps an I/O error with its path.
    pub fn io(path: impl AsRef<Path>, source: std::io::Error) -> Self {
        Error::Io { path: path.as_ref().to_path_buf(), source }
    }

    /// A parameter that cannot work.
    pub fn param(name: &'static str, what: impl Into<String>) -> Self {
        Error::Param { name, what: what.into() }
    }

    /// A data set that is not what it should be.
    pub fn dataset(dataset: impl Into<String>, what: impl Into<String>) -> Self {
        Error::Dataset { dataset: dataset.into(), what: what.into() }
    }
}
