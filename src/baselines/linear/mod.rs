//! Regressions in closed form or by latent vectors: least squares, ridge, reduced rank, HOPLS.
//!
//! Each file is one method with its parameters, its reference and its cost.

pub mod hopls;
pub mod multivariate;
pub mod reduced_rank;
