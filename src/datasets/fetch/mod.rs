//! Where files come from: the list of sources, the download cache, the network.
//!
//! [`get`] returns a remote file as a path in the cache. A file enters the cache only whole and only after its checks: size
//! limit, checksum, and the reader of the data set it belongs to. Where `data/sources.yaml` knows no checksum, the first one seen is
//! recorded beside the file and holds from then on (trust on first use).

mod cache;
mod download;
mod options;
mod sources;

pub use cache::{Fetched, cached, get};
pub use download::HttpParams;
pub use options::{Kind, Options, Progress, Provenance};
pub use sources::{Remote, Sources};

use std::path::Path;

use crate::{Error, Result};

/// BLAKE3 of some bytes, in hexadecimal.
pub fn checksum(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// BLAKE3 of a file, in hexadecimal, read in pieces.
pub fn checksum_file(path: &Path) -> Result<String> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(|e| Error::io(path, e))?;
    Ok(hasher.finalize().to_hex().to_string())
}
