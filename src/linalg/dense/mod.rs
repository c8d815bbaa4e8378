//! One dense matrix of any size, as [`ndarray`] views: products, decompositions, functions of symmetric matrices.
//!
//! | file | what it holds |
//! |---|---|
//! | `product` | [`gemm`] and [`matmul`] on strided views, [`dot`] of slices |
//! | `decompose` | eigenvalues, singular values, Cholesky, least squares |
//! | `cholesky` | Cholesky factors and solves by our own products: with its fixed scalars faer takes three times as long |
//! | `jacobi` | singular values where faer finds none |
//! | `fixed` | the scalars that make faer compute the same bits on every machine |
//! | `symmetric` | functions of symmetric matrices, half-vectorisation, checks |

mod cholesky;
mod decompose;
mod fixed;
mod jacobi;
mod product;
mod symmetric;

pub use decompose::{Eigh, Svd, cholesky, eigh, lstsq, pivoted_cholesky, solve_spd, svd};
#[doc(hidden)]
pub use fixed::{Fixed32, Fixed64};
pub use product::{dot, gemm, matmul};
pub use symmetric::{is_symmetric, smat, svec, sym_fn, symmetrise};
