//! Leading eigenpairs of a symmetric matrix by subspace iteration: A Q, then the eigenvectors of Q^T A Q.
//!
//! A block of k columns costs 2 n^2 k operations a pass, against about 9 n^3 for the whole spectrum. The caller iterates on a matrix that
//! changes little from step to step, so the last block is a good start and one pass is enough.

use crate::error::Result;
use linalg::{eigh, gemm};
use ndarray::{Array1, Array2, ArrayView2, Axis, s};
use rayon::prelude::*;

/// Up to this size the whole spectrum is cheap.
pub(super) const SMALL: usize = 256;
/// Rows of a product that one task computes: fixed, so that the number of threads changes no bit.
const TILE: usize = 64;

/// Eigenpairs, largest value first.
#[derive(Debug, Clone)]
pub(super) struct Pairs {
    pub values: Array1<f64>,
    /// One eigenvector per column.
    pub vectors: Array2<f64>,
}

/// A B, tiles of rows in parallel.
pub(crate) fn product(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
    let mut out = Array2::zeros((a.nrows(), b.ncols()));
    out.axis_chunks_iter_mut(Axis(0), TILE)
        .into_par_iter()
        .zip(a.axis_chunks_iter(Axis(0), TILE))
        .for_each(|(out, a)| gemm(1.0, a, b, 0.0, out));
    out
}

/// V diag(values) V^T.
pub(super) fn assemble(pairs: &Pairs) -> Array2<f64> {
    let scaled = &pairs.vectors * &pairs.values;
    product(scaled.view(), pairs.vectors.t())
}

/// All eigenpairs.
pub(super) fn all(a: ArrayView2<'_, f64>) -> Result<Pairs> {
    let e = eigh(a)?;
    let values = e.values.slice(s![..;-1]).to_owned();
    Ok(Pairs { values, vectors: e.vectors.slice(s![.., ..;-1]).to_owned() })
}

/// Columns made orthonormal; directions lost to rounding are dropped. Two rounds, since one leaves the square of the condition number. Each takes the Cholesky
/// factor of the Gram matrix, a twentieth of the cost of its eigenvectors, which are the way out where it is nearly singular.
fn orthonormal(mut q: Array2<f64>) -> Result<Array2<f64>> {
    for _ in 0..2 {
        for mut column in q.columns_mut() {
            let length = column.iter().map(|v| v * v).sum::<f64>().sqrt();
            column /= length.max(f64::MIN_POSITIVE);
        }
        let gram = product(q.t(), q.view());
        let factor = linalg::cholesky(gram.view()).ok().filter(|l| l.diag().iter().all(|d| *d > 1e-6));
        let turn = match factor {
            Some(l) => inverse_of_lower(&l).reversed_axes(),
            None => {
                let e = eigh(gram.view())?;
                let top = e.values.last().copied().unwrap_or(0.0);
                let keep: Vec<usize> = (0..e.values.len()).filter(|i| e.values[*i] > 1e-13 * top).collect();
                let mut turn = e.vectors.select(Axis(1), &keep);
                for (mut column, &i) in turn.columns_mut().into_iter().zip(&keep) {
                    column /= e.values[i].sqrt();
                }
                turn
            }
        };
        q = product(q.view(), turn.view());
    }
    Ok(q)
}

/// The inverse of a lower triangular matrix, by forward substitution.
fn inverse_of_lower(l: &Array2<f64>) -> Array2<f64> {
    let n = l.nrows();
    let mut out = Array2::<f64>::zeros((n, n));
    for i in 0..n {
        // Row i of the inverse: (e_i - sum_{k < i} l_ik row_k) / l_ii.
        let (done, mut rest) = out.view_mut().split_at(Axis(0), i);
        let mut row = rest.row_mut(0);
        row[i] = 1.0;
        for k in 0..i {
            row.slice_mut(s![..=k]).scaled_add(-l[[i, k]], &done.row(k).slice(s![..=k]));
        }
        row /= l[[i, i]];
    }
    out
}

/// The leading eigenpairs from a start block, after `passes` products with A, and A V, from which a matrix that differs little can start.
pub(super) fn leading(a: ArrayView2<'_, f64>, start: Array2<f64>, passes: usize) -> Result<(Pairs, Array2<f64>)> {
    let mut q = orthonormal(start)?;
    let mut image = product(a, q.view());
    for _ in 1..passes {
        q = orthonormal(image)?;
        image = product(a, q.view());
    }
    let small = linalg::symmetrise(product(q.t(), image.view()).view());
    let inner = all(small.view())?;
    let next = product(image.view(), inner.vectors.view());
    Ok((Pairs { vectors: product(q.view(), inner.vectors.view()), values: inner.values }, next))
}

/// The `count` leading eigenpairs from a fixed start: values and vectors (one per column), largest value first.
pub(crate) fn leading_pairs(a: ArrayView2<'_, f64>, count: usize, passes: usize) -> Result<(Array1<f64>, Array2<f64>)> {
    let start = pattern(a.nrows(), count.min(a.nrows()));
    let (pairs, _) = leading(a, start, passes)?;
    Ok((pairs.values, pairs.vectors))
}

/// Columns without structure: a fixed pattern, because randomness would need a seed and gains nothing.
pub(super) fn pattern(rows: usize, columns: usize) -> Array2<f64> {
    Array2::from_shape_fn((rows, columns), |(i, k)| {
        (((i + 1) * 7919 + (k + 1) * 104_729) as f64 * 0.618_033_988_749 * (1.0 + 0.37 * k as f64)).fract() - 0.5
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leading_pairs_are_those_of_the_whole_spectrum() {
        let n = 60;
        let w = Array2::from_shape_fn((n, 5), |(i, k)| ((i * (k + 1) + k) as f64 * 0.7).sin() * (5 - k) as f64);
        let a = w.dot(&w.t());
        let start = pattern(n, 8);
        let ((few, _), whole) = (leading(a.view(), start, 4).unwrap(), all(a.view()).unwrap());
        for k in 0..5 {
            assert!((few.values[k] - whole.values[k]).abs() < 1e-9 * whole.values[0], "pair {k}");
        }
        assert!((&assemble(&few) - &a).iter().all(|v| v.abs() < 1e-9 * whole.values[0]));
    }
}
