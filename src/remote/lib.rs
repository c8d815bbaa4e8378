//! Results that travel. `push` sends current results to a remote, `pull` takes from one what the targets need.
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
//! (`.repro/remotes/`). A push that has nothing to say reads the index and ends. When there are more than
//! [`index::MOST_PACKS`], the next push writes one in place of all; the old ones are removed one compaction later, so that
//! nobody who has just read the old index misses them.
//!
//! # What can go wrong
//!
//! * **A push is killed.** The index does not name what it sent; readers see the remote as before. The next push asks
//!   after each object that was sent and sends the rest.
//! * **Two push at once.** The index is replaced only where it is still what was read (a lock in a folder, `If-Match` on
//!   S3); who is late reads again and adds to what is there. On an S3 server that knows no conditions the later one wins,
//!   and the next push of the other repeats its pack.
//! * **A pull is killed.** Objects that arrived are whole and stay; records enter the journal after their objects. A large
//!   object goes on where it stopped.
//! * **A byte is wrong, a file is cut off, a pack is gone.** Nothing enters the store that does not have its digest. Pull
//!   says which units it left out; `push --again` from a good store mends the remote.
//! * **The server is busy, slow or cut off.** Each request is tried several times, with growing pauses.
//!
//! # Trust
//!
//! The index names packs by digest, packs name objects by digest, and each index names the digest of the one before and is signed by
//! the key of who pushed it ([`sign`]). A signature that does not hold is refused. Where pipeline.yaml lists `keys` for a remote,
//! only indices that one of them signed are taken; where it lists none, anybody may have written there, and what is noticed is
//! another signer than last time, or an older index than was seen. Two things hold in any case: bytes have their digests, and a
//! record whose key stands in the lock file of the project's git with other digests is refused (`pipeline::engine::share`).
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

/// How far a push or pull is.
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
    /// Transfers at once.
    pub jobs: usize,
    /// Push only: sends every object and record again, to mend a remote.
    pub again: bool,
    /// Raise it to stop.
    pub cancel: Arc<AtomicBool>,
    /// Called several times a second at most.
    pub progress: &'a (dyn Fn(Progress) + Sync),
}

/// Transfers at once where nobody says otherwise: enough to hide the way to a server.
pub const JOBS: usize = 8;

/// Where a store keeps what it knows of remotes: packs, which are the same everywhere.
fn cache(store: &pipeline::store::Store) -> PathBuf {
    store.folder().join("remotes")
}
