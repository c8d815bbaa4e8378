//! Fitted models as files.
//!
//! | file | what |
//! |---|---|
//! | disk.rs | [`save`] and [`load`]: a fitted stack as one .npz file; the same as bytes |

pub mod disk;

pub use disk::{DiskError, from_bytes, load, save, to_bytes};
