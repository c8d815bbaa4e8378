//! A linear map between symmetric matrices in two layouts: the matrix L of half-vectors, and the Choi matrix J.
//!
//! With x = svec(X), y = svec(Y) (isometries), the map is y = L x, L of ny x nx. As sum_k s_k A_k X A_k^T it is the symmetric matrix
//! J[(a, i), (b, j)] = sum_k s_k A_k[a, i] A_k[b, j] of size q p. Symmetric inputs see only the average of J and its partial transpose, so J -> L
//! loses half of J; [`spread`] is the adjoint of [`gather`], and gather(spread(L)) = L.

use linalg::gemm;
use ndarray::{Array2, ArrayView2, ArrayView3, Axis};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

/// Sizes of a map and the positions of half-vectors.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub p: usize,
    pub q: usize,
    pairs_in: Vec<(usize, usize)>,
    pairs_out: Vec<(usize, usize)>,
}

/// Length of the half-vector of an n x n matrix.
pub(super) fn half(n: usize) -> usize {
    n * (n + 1) / 2
}

fn pairs(n: usize) -> Vec<(usize, usize)> {
    (0..n).flat_map(|i| (i..n).map(move |j| (i, j))).collect()
}

/// Half-vectors of a batch (l, n, n), one per row.
pub(super) fn svecs(x: ArrayView3<'_, f64>) -> Array2<f64> {
    let (l, n, _) = x.dim();
    let pairs = pairs(n);
    Array2::from_shape_fn((l, pairs.len()), |(s, k)| {
        let (i, j) = pairs[k];
        if i == j { x[[s, i, i]] } else { SQRT_2 * 0.5 * (x[[s, i, j]] + x[[s, j, i]]) }
    })
}

impl Layout {
    pub fn new(p: usize, q: usize) -> Self {
        Self { p, q, pairs_in: pairs(p), pairs_out: pairs(q) }
    }

    /// L of J.
    pub fn gather(&self, j: ArrayView2<'_, f64>) -> Array2<f64> {
        let p = self.p;
        let mut out = Array2::zeros((self.pairs_out.len(), self.pairs_in.len()));
        for (mut row, &(a, b)) in out.rows_mut().into_iter().zip(&self.pairs_out) {
            let w = if a == b { 1.0 } else { SQRT_2 };
            for (value, &(i, k)) in row.iter_mut().zip(&self.pairs_in) {
                let c = if i == k { 1.0 } else { SQRT_2 };
                // J is symmetric, so two of the four mirror images suffice.
                *value = 0.5 * w * c * (j[[a * p + i, b * p + k]] + j[[a * p + k, b * p + i]]);
            }
        }
        out
    }

    /// The Choi matrix of least norm with this L: the adjoint of [`gather`](Self::gather).
    pub fn spread(&self, l: ArrayView2<'_, f64>) -> Array2<f64> {
        let (p, n) = (self.p, self.p * self.q);
        let mut out = Array2::zeros((n, n));
        for (row, &(a, b)) in l.rows().into_iter().zip(&self.pairs_out) {
            let w = if a == b { 1.0 } else { FRAC_1_SQRT_2 };
            for (value, &(i, k)) in row.iter().zip(&self.pairs_in) {
                let v = value * w * if i == k { 1.0 } else { FRAC_1_SQRT_2 };
                for ((a, i), (b, k)) in [((a, i), (b, k)), ((a, k), (b, i)), ((b, i), (a, k)), ((b, k), (a, i))] {
                    out[[a * p + i, b * p + k]] = v;
                }
            }
        }
        out
    }

    /// J of operators as rows (r, q p) with signs.
    pub fn choi(&self, ops: ArrayView2<'_, f64>, signs: &[f64]) -> Array2<f64> {
        let mut signed = ops.to_owned();
        for (mut row, s) in signed.axis_iter_mut(Axis(0)).zip(signs) {
            row *= *s;
        }
        let n = self.p * self.q;
        let mut out = Array2::zeros((n, n));
        gemm(1.0, signed.t(), ops, 0.0, out.view_mut());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::KrausMap;

    #[test]
    fn both_layouts_apply_the_same_map() {
        let map = KrausMap::<f64>::glorot(3, 2, 4, 5).unwrap();
        let layout = Layout::new(4, 2);
        let ops = map.ops().to_shape((3, 8)).unwrap().to_owned();
        let j = layout.choi(ops.view(), &[1.0; 3]);
        let l = layout.gather(j.view());
        let x = ndarray::Array3::from_shape_fn((5, 4, 4), |(s, i, j)| ((s + 1) * (i + j + 1) * (i * j + 2)) as f64)
            .mapv(f64::sin);
        let got = svecs(x.view()).dot(&l.t());
        let want = svecs(map.apply_batch(x.view()).unwrap().view());
        assert!((&got - &want).iter().all(|v| v.abs() < 1e-12));
        let back = layout.gather(layout.spread(l.view()).view());
        assert!((&back - &l).iter().all(|v| v.abs() < 1e-14));
    }
}
