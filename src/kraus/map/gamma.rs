//! Gamma, the clamp of singular values: U max(S, eps) V^T.
//!
//! Where the stack's input is symmetric the eigenvalues are clamped instead, V max(w, eps) V^T: the same on positive
//! semidefinite matrices, which is what a Kraus map gives there, and well defined where eigenvalues vanish.

use crate::error::Result;
use linalg::{Real, matmul, svd, sym_fn};
use ndarray::{Array2, ArrayView2};
use num_traits::Float;

/// Gamma of one matrix: of its eigenvalues if `symmetric`, of its singular values otherwise.
pub fn clamp<T: Real>(m: ArrayView2<'_, T>, eps: f64, symmetric: bool) -> Result<Array2<T>> {
    let floor = T::of(eps);
    if symmetric {
        return Ok(sym_fn(m, |w| Float::max(w, floor))?);
    }
    let d = svd(m)?;
    let us = &d.u * &d.s.mapv(|s| Float::max(s, floor));
    Ok(matmul(us.view(), d.vt.view()))
}
