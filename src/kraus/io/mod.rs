//! Fitted models as files.
//!
//! | file | what |
//! |---|---|
//! | disk.rs | [`save`] and [`load`]: a fitted stack as one .npz file |

pub mod disk;

pub use disk::{DiskError, load, save};
