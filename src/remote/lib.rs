//! Results shared between machines. `push` sends current results to a remote; `pull` takes from a remote what the targets need.
//!
//! A remote is a folder, a web server that serves one (read only), or a bucket of any S3 server. All have one layout:
//!
//! ```text
//! index.json       the packs there are; the only file that ever changes       (index.rs)
//! packs/DIGEST     records of one push: JSON lines, compressed                 (pack.rs)
//! objects/ab/...   artefacts by content, as in the store
//! ```
//!
//! # Few requests
//!
//! A push sends its objects, then one pack, then the index: two requests beyond the objects, whatever the number of
//! records, and one before them to read the index. Packs never change, so each is read once and kept in the store
//! (`.repro/remotes/`). A push that has nothing new reads the index and ends. When the index names [`index::MOST_PACKS`] packs, the
//! next push writes one pack in place of all of them (a compaction). The old packs are removed at the compaction after that, so that
//! whoever has just read the old index still finds them.
//!
//! # What can go wrong
//!
//! * **A push is killed.** The index does not name what it sent; readers see the remote as before. The next push checks
//!   which of the sent objects are there and sends the rest.
//! * **Two push at once.** The index is replaced only while it is still the one that was read (a lock in a folder, `If-Match` on
//!   S3); the later push reads it again and adds to it. On an S3 server without conditional requests the later push wins,
//!   and the next push of the other repeats its pack.
//! * **A pull is killed.** Objects that arrived are whole and stay; records enter the journal after their objects. A partly
//!   received object is continued where it stopped.
//! * **A byte is wrong, a file is cut off, a pack is gone.** Nothing enters the store that does not have its digest. Pull
//!   says which units it left out; `push --again` from a good store mends the remote.
//! * **The server is busy, slow or cut off.** Each request is tried several times, with growing pauses.
//!
//! # Trust
//!
//! The index names packs by digest, and packs name objects by digest. Each index names the digest of the index before it and is signed
//! with the key of whoever pushed it ([`sign`]). An index with an invalid signature is refused. Where pipeline.yaml lists `keys` for a
//! remote, only an index that one of them signed is accepted. Where it lists none, anybody may have written there: the user is told
//! when the signer is another one than last time, or the index is older than one seen before. Two things hold in any case: bytes have
//! their digests, and a record whose key stands in the project's lock file with other digests is refused (`pipeline::engine::share`).
#![warn(missing_docs)]

pub mod address;
mod cache;
pub mod error;
pub mod index;
pub mod pack;
mod pull;
mod push;
pub mod sign;
pub mod transport;
mod workers;

pub use address::Address;
pub use error::{Error, Result};
pub use pull::{Pulled, pull};
pub use push::{Pushed, push};

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The progress of a push or pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Objects moved.
    pub objects: usize,
    /// Objects to move.
    pub of_objects: usize,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes to move.
    pub of_bytes: u64,
    /// Requests that failed and were repeated.
    pub retried: usize,
}

/// How to move results.
pub struct Options<'a> {
    /// `all`, STAGE, STAGE/UNIT or patterns; none means all.
    pub targets: Vec<String>,
    /// Number of transfers at the same time.
    pub jobs: usize,
    /// Push only: sends every object and record again, to mend a remote.
    pub again: bool,
    /// Set to true to stop the transfer.
    pub cancel: Arc<AtomicBool>,
    /// Called with the progress, about ten times a second.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// Default number of transfers at the same time: enough to hide the delay of each request to a distant server.
pub const JOBS: usize = 8;

/// The folder in which a store keeps what it remembers of all remotes ([`cache::Cache`]).
fn cache(store: &pipeline::store::Store) -> PathBuf {
    store.folder().join("remotes")
}
