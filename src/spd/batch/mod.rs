//! Decompositions of eight small symmetric matrices at once, entry by entry side by side in one vector.
//!
//! | file | what it holds |
//! |---|---|
//! | `lanes` | the vector of eight numbers, and how matrices are put into it and taken out |
//! | `tridiagonal` | Householder reduction to tridiagonal form, and back |
//! | `eigen` | eigenvalues and eigenvectors by QL iterations |
//! | `logarithm` | matrix logarithms without eigenvectors |
//! | `triangular` | Cholesky factors and congruences R B R^T |
//!
//! Nothing here knows a metric or checks its input: `manifold` does both.

pub(crate) mod eigen;
pub(crate) mod lanes;
pub(crate) mod logarithm;
pub(crate) mod triangular;
pub(crate) mod tridiagonal;
