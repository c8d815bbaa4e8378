//! Cholesky factors A = U^T U and solves with them, in the one arithmetic of [`crate::simd`].
//!
//! U[c, j] = (A[c, j] - sum_{k < c} U[k, c] U[k, j]) / U[c, c]. Each sum starts from A and subtracts its terms in the order of k, with one
//! fused multiply-add each, so blocks of any size give the same bits. The factor is upper, because its rows are then contiguous where the
//! products need it.

use super::product::product;
use crate::Real;
use crate::small::small_gemm;
use ndarray::{Array2, ArrayView2, Axis, s};

/// Rows of U that one large product prepares. The rows inside a block depend on each other and are computed one by one.
const BLOCK: usize = 48;

/// U with A = U^T U, zero below the diagonal; the lower triangle of A is read. None where a pivot is not positive.
pub(super) fn factor<T: Real>(a: ArrayView2<'_, T>) -> Option<Array2<T>> {
    let n = a.nrows();
    let mut u = upper(a);
    let mut minus = [T::of(0.0); BLOCK];
    for from in (0..n).step_by(BLOCK) {
        let to = (from + BLOCK).min(n);
        let (above, mut below) = u.view_mut().split_at(Axis(0), from);
        let columns = above.slice(s![.., from..to]).t().mapv(|v| -v);
        product(columns.view(), above.slice(s![.., from..]), below.slice_mut(s![..to - from, from..]), true);
        // Standard layout: `upper` made it.
        let flat = u.as_slice_mut()?;
        for c in from..to {
            for (m, k) in minus.iter_mut().zip(from..c) {
                *m = -flat[k * n + c];
            }
            let (done, rest) = flat.split_at_mut(c * n);
            // The large product wrote left of the diagonal, too.
            rest[from..c].fill(T::of(0.0));
            let row = &mut rest[c..n];
            small_gemm((1, n - c, c - from), &minus, (BLOCK, 1), &done[(from * n + c).min(c * n)..], n, row, n, true);
            let root = num_traits::Float::sqrt(row[0]);
            // A negative pivot has no root.
            if num_traits::Float::is_nan(root) || root <= T::of(0.0) {
                return None;
            }
            row[0] = root;
            row[1..].iter_mut().for_each(|v| *v /= root);
        }
    }
    Some(u)
}

/// The transposed lower triangle, copied in tiles that stay in the first cache.
fn upper<T: Real>(a: ArrayView2<'_, T>) -> Array2<T> {
    const TILE: usize = 32;
    let n = a.nrows();
    let mut u = Array2::zeros((n, n));
    for row in (0..n).step_by(TILE) {
        for col in (row..n).step_by(TILE) {
            let (rows, cols) = (row..(row + TILE).min(n), col..(col + TILE).min(n));
            for i in rows {
                for j in cols.start.max(i)..cols.end {
                    u[[i, j]] = a[[j, i]];
                }
            }
        }
    }
    u
}

/// X with U^T U X = B.
pub(super) fn solve<T: Real>(u: &Array2<T>, b: ArrayView2<'_, T>) -> Array2<T> {
    let n = u.nrows();
    let mut x = b.as_standard_layout().into_owned();
    let starts: Vec<usize> = (0..n).step_by(BLOCK).collect();
    // U^T Y = B, downwards: Y[c] = (B[c] - sum_{k < c} U[k, c] Y[k]) / U[c, c].
    for &from in &starts {
        let to = (from + BLOCK).min(n);
        let (above, mut below) = x.view_mut().split_at(Axis(0), from);
        let minus = u.slice(s![..from, from..to]).t().mapv(|v| -v);
        product(minus.view(), above.view(), below.slice_mut(s![..to - from, ..]), true);
        for c in from..to {
            for k in from..c {
                subtract(&mut x, c, k, u[[k, c]]);
            }
            x.row_mut(c).mapv_inplace(|v| v / u[[c, c]]);
        }
    }
    // U X = Y, upwards: X[c] = (Y[c] - sum_{k > c} U[c, k] X[k]) / U[c, c], the blocks below first.
    for &from in starts.iter().rev() {
        let to = (from + BLOCK).min(n);
        let (mut above, below) = x.view_mut().split_at(Axis(0), to);
        let minus = u.slice(s![from..to, to..]).mapv(|v| -v);
        product(minus.view(), below.view(), above.slice_mut(s![from.., ..]), true);
        for c in (from..to).rev() {
            for k in c + 1..to {
                subtract(&mut x, c, k, u[[c, k]]);
            }
            x.row_mut(c).mapv_inplace(|v| v / u[[c, c]]);
        }
    }
    x
}

/// Row c minus `by` times row k.
fn subtract<T: Real>(x: &mut Array2<T>, c: usize, k: usize, by: T) {
    let (mut to, from) = x.multi_slice_mut((s![c, ..], s![k, ..]));
    to.zip_mut_with(&from, |t, f| *t -= *f * by);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, entry by entry.
    #[test]
    fn the_factor_is_that_of_the_definition() {
        for n in [1usize, 2, 5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
            let g = Array2::from_shape_fn((n, n + 3), |(i, j)| ((1 + 7 * i + 13 * j + i * j) as f64).sin());
            let mut a = g.dot(&g.t());
            a.diag_mut().mapv_inplace(|v| v + 0.5);
            let mut want = Array2::<f64>::zeros((n, n));
            for c in 0..n {
                for j in c..n {
                    let sum = (0..c).fold(a[[j, c]], |s, k| (-want[[k, c]]).mul_add(want[[k, j]], s));
                    want[[c, j]] = if j == c { sum.sqrt() } else { sum / want[[c, c]] };
                }
            }
            // What stands above the diagonal is not read.
            for i in 0..n {
                for j in i + 1..n {
                    a[[i, j]] = f64::NAN;
                }
            }
            let got = factor(a.view()).unwrap();
            assert!(got.iter().zip(&want).all(|(g, w)| g.to_bits() == w.to_bits()), "{n}");
            let x = Array2::from_shape_fn((n, 3), |(i, j)| ((i + 2 * j) as f64).cos());
            let b = want.t().dot(&want).dot(&x);
            let back = solve(&got, b.view());
            assert!((&back - &x).iter().all(|e| e.abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_has_none() {
        for a in [[[1.0, 2.0], [2.0, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[1.0, f64::NAN], [f64::NAN, 1.0]]] {
            assert!(factor(ndarray::arr2(&a).view()).is_none());
        }
    }
}
