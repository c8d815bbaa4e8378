//! Where files come from: the list of sources, the download cache, the network.
//!
//! [`get`] returns a remote file as a path in the cache. A file enters the cache only whole and only after its checks: size
//! limit, SHA-256, and the reader of the data set it belongs to. Where `data/sources.yaml` knows no checksum, the first one seen is
//! recorded beside the file and required from then on (trust on first use).
//!
//! | file | what |
//! |---|---|
//! | `options.rs` | what the user allows, and the record of what was used |
//! | `sources.rs`, `yaml.rs` | the list of remote files |
//! | `cache.rs`, `sums.rs` | files on this machine and their checksums |
//! | `download.rs`, `reach.rs` | the network, and which hosts did not answer lately |
//! | `contents.rs` | the checksum of the files of a place, without reading them at every run |

mod cache;
mod contents;
mod download;
mod options;
mod reach;
mod sources;
mod sums;
mod yaml;

pub use cache::{Fetched, cached, get};
pub(crate) use contents::Listing;
pub use download::HttpParams;
pub use options::{Kind, Options, Progress, Provenance};
pub use sources::{Remote, Sources};
pub(crate) use sums::by_content;
pub use sums::{checksum, sha256};
