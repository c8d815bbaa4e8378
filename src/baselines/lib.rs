//! What the paper compares with.
#![warn(missing_docs)]

pub mod error;
pub mod multivariate;
pub mod reduced_rank;
pub mod regressor;

pub use error::{Error, Result};
pub use multivariate::Multivariate;
pub use reduced_rank::{RankPath, ReducedRank};
pub use regressor::{Fitted, Layout, Regressor, Report};
