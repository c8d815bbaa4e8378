//! Dense linear algebra for many small matrices.
//!
//! Arrays come and go as [`ndarray`] views; [`faer`] does the work underneath. Everything here runs on the
//! calling thread and gives the same bits whatever the thread count: parallel callers split their work into
//! blocks of a fixed size and reduce them in a fixed order.
//!
//! | module | what |
//! |---|---|
//! | [`real`] | the scalar trait [`Real`] (`f32`, `f64`) |
//! | [`product`] | [`gemm`] on strided views, [`matmul`] |
//! | [`decompose`] | symmetric eigenvalues, singular values, Cholesky, least squares |
//! | [`clamp`], [`lanes`] | clamped spectra and their derivative, sixteen matrices at once |
//! | [`lane_product`] | products of sixteen samples at once, one per lane |
//! | [`kernels`] | what a training step needs: products of small matrices and fused loops, by CPU features |
//! | [`symmetric`] | functions of symmetric matrices, half-vectorisation, checks |
#![warn(missing_docs)]

pub mod clamp;
pub mod decompose;
mod dots;
pub mod error;
pub mod kernels;
pub mod lane_product;
mod lane_tile;
pub mod lanes;
pub mod product;
pub mod real;
#[cfg(target_arch = "x86_64")]
mod shuffle;
mod simd;
#[cfg(target_arch = "x86_64")]
mod simd_x86;
pub mod symmetric;
mod tile;

pub use clamp::Clamp;
pub use decompose::{Eigh, Svd, cholesky, eigh, lstsq, solve_spd, svd};
pub use error::{Error, Result};
pub use product::{gemm, matmul};
pub use real::Real;
pub use symmetric::{is_symmetric, smat, svec, sym_fn, symmetrise};
