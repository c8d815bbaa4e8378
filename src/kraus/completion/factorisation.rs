//! Depth 1: the masked factorisation M ~ W W^T with W (n, r).
//!
//! By theorem 5 the blocks Phi(E_ij) of a Kraus map make the Choi matrix sum_k w_k w_k^T, w_k stacking the columns of A_k.
//! So completing M by one map is f(W) = (1/n^2) ||mask o (W W^T - M)||_F^2, df/dW = (4/n^2) (mask o (W W^T - M)) W: two
//! products of n x n by n x r, whatever (p, q) is. A row of W whose row of the mask is empty gets no gradient, so it
//! stays where it started: one map cannot predict a row without observed entries.

use super::partial::Partial;
use crate::map::KrausMap;
use linalg::{gemm, matmul};
use ndarray::{Array2, Array3, ArrayView2, Axis};
use rayon::prelude::*;

/// Rows of M that one task handles.
const TILE: usize = 64;

/// W (n, r) from operators (r, q, p): row i q + a, column k holds A_k[a, i].
pub(crate) fn factor_of(map: &KrausMap<f64>) -> Array2<f64> {
    let (r, q, p) = map.ops().dim();
    Array2::from_shape_fn((p * q, r), |(row, k)| map.ops()[[k, row % q, row / q]])
}

/// The operators (r, q, p) of a factor W (p q, r).
pub(crate) fn operators_of(w: ArrayView2<'_, f64>, p: usize, q: usize) -> Array3<f64> {
    Array3::from_shape_fn((w.ncols(), q, p), |(k, a, i)| w[[i * q + a, k]])
}

/// f and its gradient at W, row by row in `w`.
pub(crate) fn loss_gradient(partial: &Partial, rank: usize, w: &[f64], gradient: &mut [f64]) -> f64 {
    let n = partial.n();
    // The caller keeps n r parameters; anything else is a programming error.
    let w = ArrayView2::from_shape((n, rank), w).expect("n r parameters");
    let scale = 1.0 / (n * n) as f64;
    let (values, mask) = (partial.values(), partial.weights());
    let tiles: Vec<_> = gradient
        .chunks_mut(TILE * rank)
        .zip(w.axis_chunks_iter(Axis(0), TILE))
        .zip(values.axis_chunks_iter(Axis(0), TILE).zip(mask.axis_chunks_iter(Axis(0), TILE)))
        .collect();
    let one = |((out, rows), (values, mask)): (
        (&mut [f64], ArrayView2<'_, f64>),
        (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
    )| {
        let mut e = matmul(rows, w.t());
        let mut sum = 0.0;
        ndarray::Zip::from(&mut e).and(values).and(mask).for_each(|e, v, m| {
            *e = (*e - v) * m;
            sum += *e * *e;
        });
        let out = ndarray::ArrayViewMut2::from_shape((rows.nrows(), rank), out).expect("one chunk per tile of rows");
        gemm(4.0 * scale, e.view(), w, 0.0, out);
        sum
    };
    let sums: Vec<f64> = tiles.into_par_iter().map(one).collect();
    sums.iter().sum::<f64>() * scale
}
