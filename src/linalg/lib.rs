//! Dense linear algebra for many small matrices.
//!
//! Everything here runs on the calling thread. Results do not depend on the number of threads: parallel callers split
//! their work into blocks of a fixed size and add the results in a fixed order.
//!
//! | folder | what belongs there |
//! |---|---|
//! | [`dense`] | one matrix of any size as an [`ndarray`] view: products and decompositions, with [`faer`] underneath |
//! | [`small`] | products of small matrices and the vector loops of a training step |
//! | [`batch`] | sixteen or eight small matrices at once, one per lane: products, Jacobi iterations, clamped spectra, vectors for algorithms of other crates |
//! | [`simd`] | vectors of each instruction set, and the choice between them at run time |
//!
//! Beside them: the scalar trait [`Real`] (`f32`, `f64`), elementary functions ([`math`]), normal random numbers ([`random`]),
//! the table of all tolerances of the project ([`tolerances`]) and the error types [`Error`] and [`InputError`].
//!
//! Results have the same bits on every machine: whatever its instruction set, its caches and its C library. The page of
//! [`simd`] defines the order of operations; `dense::fixed` says how faer is held to one path.
#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod batch;
pub mod dense;
mod error;
pub mod math;
pub mod random;
mod real;
pub mod simd;
pub mod small;
pub mod tolerances;

pub use batch::Clamp;
pub use dense::{
    Eigh, Svd, cholesky, dot, eigh, gemm, is_symmetric, lstsq, matmul, pivoted_cholesky, smat, solve_spd, svd, svec,
    sym_fn, symmetrise,
};
pub use error::{Error, InputError, Result};
pub use real::Real;
