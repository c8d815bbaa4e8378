//! A linear map between symmetric matrices in two layouts: the matrix L of half-vectors, and the Choi matrix J.
//!
//! With x = svec(X), y = svec(Y) (isometries), the map is y = L x, L of ny x nx. As sum_k s_k A_k X A_k^T it is the symmetric matrix
//! J[(a, i), (b, j)] = sum_k s_k A_k[a, i] A_k[b, j] of size q p. Symmetric inputs see only the average of J and its partial transpose, so J -> L
//! loses half of J; [`spread`] is the adjoint of [`gather`], and gather(spread(L)) = L.

use linalg::gemm;
use ndarray::{Array2, ArrayView2, ArrayView3, ArrayViewMut2, Axis, s};
use rayon::prelude::*;
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

    /// L of the map sum_k A_k X A_k^T from operators as rows (r, q p), without J: one block of rows of J at a time stays in the cache. Fills the first
    /// columns of `l`.
    pub fn of_operators(&self, ops: ArrayView2<'_, f64>, l: ArrayViewMut2<'_, f64>) {
        let (p, q) = (self.p, self.q);
        // The rows of L for output pairs (a, a), (a, a + 1), ... stand together.
        let (mut parts, mut rest) = (Vec::with_capacity(q), l);
        for a in 0..q {
            let (part, more) = rest.split_at(Axis(0), q - a);
            parts.push((a, part));
            rest = more;
        }
        parts.into_par_iter().for_each(|(a, mut part)| {
            let mut block = Array2::zeros((p, (q - a) * p));
            gemm(1.0, ops.slice(s![.., a * p..(a + 1) * p]).t(), ops.slice(s![.., a * p..]), 0.0, block.view_mut());
            for (mut row, b) in part.rows_mut().into_iter().zip(a..q) {
                let (w, at) = (if a == b { 0.5 } else { 0.5 * SQRT_2 }, (b - a) * p);
                for (value, &(i, k)) in row.iter_mut().zip(&self.pairs_in) {
                    let c = if i == k { w } else { w * SQRT_2 };
                    *value = c * (block[[i, at + k]] + block[[k, at + i]]);
                }
            }
        });
    }

    /// `ops` times [`spread`](Self::spread) of g, without building it: the gradient of a function of L with respect to the operators, halved.
    pub fn pull_back(&self, g: ArrayView2<'_, f64>, ops: ArrayView2<'_, f64>) -> Array2<f64> {
        let (p, q, r) = (self.p, self.q, ops.nrows());
        let row = |a: usize, b: usize| {
            let (a, b) = (a.min(b), a.max(b));
            a * q - a * (a + 1) / 2 + b
        };
        let parts: Vec<Array2<f64>> = (0..q)
            .into_par_iter()
            .map(|a| {
                let mut block = Array2::zeros((q * p, p));
                for b in 0..q {
                    let w = if a == b { 1.0 } else { FRAC_1_SQRT_2 };
                    for (value, &(i, k)) in g.row(row(a, b)).iter().zip(&self.pairs_in) {
                        let v = value * if i == k { w } else { w * FRAC_1_SQRT_2 };
                        (block[[b * p + i, k]], block[[b * p + k, i]]) = (v, v);
                    }
                }
                let mut out = Array2::zeros((r, p));
                gemm(1.0, ops, block.view(), 0.0, out.view_mut());
                out
            })
            .collect();
        let mut out = Array2::zeros((r, q * p));
        for (a, part) in parts.iter().enumerate() {
            out.slice_mut(s![.., a * p..(a + 1) * p]).assign(part);
        }
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
        let j = ops.t().dot(&ops);
        let l = layout.gather(j.view());
        let mut direct = Array2::zeros(l.dim());
        layout.of_operators(ops.view(), direct.view_mut());
        assert!((&direct - &l).iter().all(|v| v.abs() < 1e-14));
        let pulled = layout.pull_back(l.view(), ops.view());
        assert!((&pulled - &ops.dot(&layout.spread(l.view()))).iter().all(|v| v.abs() < 1e-12));
        let x = ndarray::Array3::from_shape_fn((5, 4, 4), |(s, i, j)| ((s + 1) * (i + j + 1) * (i * j + 2)) as f64)
            .mapv(f64::sin);
        let got = svecs(x.view()).dot(&l.t());
        let want = svecs(map.apply_batch(x.view()).unwrap().view());
        assert!((&got - &want).iter().all(|v| v.abs() < 1e-12));
        let back = layout.gather(layout.spread(l.view()).view());
        assert!((&back - &l).iter().all(|v| v.abs() < 1e-14));
    }
}
