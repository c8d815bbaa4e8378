//! Decompositions of eight small symmetric matrices at once, entry by entry side by side in one vector.
//!
//! | file | what it holds |
//! |---|---|
//! | `tridiagonal` | Householder reduction to tridiagonal form, and back |
//! | `ql` | eigenvalues of tridiagonal matrices by QL iterations |
//! | `eigen` | eigenvalues and eigenvectors of symmetric matrices |
//! | `logarithm` | matrix logarithms without eigenvectors |
//! | `triangular` | Cholesky factors and congruences R B R^T |
//!
//! The vector of eight numbers, [`V`], and the choice of an instruction set, [`vectorised`], are those of `linalg`. Nothing here knows a
//! metric or checks its input: `manifold` does both.

pub(crate) mod eigen;
pub(crate) mod logarithm;
pub(crate) mod ql;
pub(crate) mod triangular;
pub(crate) mod tridiagonal;

pub(crate) use linalg::batch::{F64x8 as V, pack_eight as pack, pack_lane, unpack_lane};
pub(crate) use linalg::simd::vectorised;

/// Matrices per vector.
pub(crate) const LANES: usize = V::LANES;
