//! Fitted models as files.
//!
//! | file | what |
//! |---|---|
//! | disk.rs | [`save`] and [`load`]: a fitted stack as one .npz file |
//! | npz.rs | the .npz container |

pub mod disk;
pub(crate) mod npz;

pub use disk::{DiskError, load, save};
