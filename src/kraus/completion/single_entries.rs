//! Depth 2 on blocks of one entry (q = 1), which is trace regression by two maps.
//!
//! The second map takes h x h to 1 x 1, so it is Z -> tr(S Z) with S = sum_k b_k^T b_k, and the prediction of entry (i, j) is
//! sum_k a_ki^T S a_kj, a_ki the i-th column of A_k (h, n). With A (r h, n) stacking the A_k and E = mask o (Y - M):
//! f = (1/n^2) ||E||_F^2, df/dA_k = (4/n^2) S A_k E, dF/dS = (2/n^2) sum_k A_k E A_k^T, df/db_k = 2 b_k dF/dS. That is two
//! products of r h x n by n x n, where matrix units, one sample per entry, cost r h^2 for each of n^2 entries.
//!
//! A row without observed entries is a column a_ki that no term of the loss contains, as at depth 1.

use super::partial::Partial;
use crate::error::Result;
use crate::map::{Gamma, KrausMap, Stack};
use linalg::{gemm, matmul};
use ndarray::{Array2, Array3, ArrayView2, ArrayViewMut2, s};

/// Sizes: n columns, r operators of h rows in the first map, `outer` in the second.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    n: usize,
    h: usize,
    inner: usize,
    outer: usize,
}

impl Sizes {
    /// Of a stack of two maps that ends in 1 x 1 without Gamma; none for any other.
    pub(crate) fn of(stack: &Stack<f64>) -> Option<Self> {
        match stack.layers() {
            [a, b] if b.q() == 1 && stack.gamma() == Gamma::None => {
                Some(Self { n: a.p(), h: a.q(), inner: a.rank(), outer: b.rank() })
            }
            _ => None,
        }
    }

    /// Parameters of the first map.
    fn first_len(self) -> usize {
        self.inner * self.h * self.n
    }

    /// The parameters as one vector: A (r h, n), then b (outer, h).
    pub(crate) fn flat(stack: &Stack<f64>) -> Vec<f64> {
        stack.layers().iter().flat_map(|l| l.ops().iter().copied().collect::<Vec<_>>()).collect()
    }

    /// A and b. The caller keeps as many parameters as `flat` gives; anything else is a programming error.
    fn split(self, x: &[f64]) -> (ArrayView2<'_, f64>, ArrayView2<'_, f64>) {
        let (a, b) = x.split_at(self.first_len());
        (
            ArrayView2::from_shape((self.inner * self.h, self.n), a).expect("r h n parameters of the first map"),
            ArrayView2::from_shape((self.outer, self.h), b).expect("parameters of the second map"),
        )
    }

    /// S applied to every A_k: (r h, n).
    fn weighted(self, middle: &Array2<f64>, a: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros(a.dim());
        for k in 0..self.inner {
            let rows = s![k * self.h..(k + 1) * self.h, ..];
            gemm(1.0, middle.view(), a.slice(rows), 0.0, out.slice_mut(rows));
        }
        out
    }

    /// Y (n, n).
    pub(crate) fn predict(self, x: &[f64]) -> Array2<f64> {
        let (a, b) = self.split(x);
        linalg::symmetrise(matmul(a.t(), self.weighted(&matmul(b.t(), b), a).view()).view())
    }

    /// f and its gradient.
    pub(crate) fn loss_gradient(self, partial: &Partial, x: &[f64], gradient: &mut [f64]) -> f64 {
        let (a, b) = self.split(x);
        let middle = matmul(b.t(), b);
        let mut e = matmul(a.t(), self.weighted(&middle, a).view());
        let scale = 1.0 / (self.n * self.n) as f64;
        let mut sum = 0.0;
        ndarray::Zip::from(&mut e).and(partial.values()).and(partial.weights()).for_each(|e, v, m| {
            *e = (*e - v) * m;
            sum += *e * *e;
        });
        let ae = matmul(a, e.view());
        let mut to_middle = Array2::zeros((self.h, self.h));
        let (to_a, to_b) = gradient.split_at_mut(self.first_len());
        // Lengths as in `split`.
        let mut to_a = ArrayViewMut2::from_shape((self.inner * self.h, self.n), to_a).expect("as the parameters");
        let to_b = ArrayViewMut2::from_shape((self.outer, self.h), to_b).expect("as the parameters");
        for k in 0..self.inner {
            let rows = s![k * self.h..(k + 1) * self.h, ..];
            gemm(4.0 * scale, middle.view(), ae.slice(rows), 0.0, to_a.slice_mut(rows));
            gemm(2.0 * scale, ae.slice(rows), a.slice(rows).t(), 1.0, to_middle.view_mut());
        }
        gemm(2.0, b, to_middle.view(), 0.0, to_b);
        sum * scale
    }

    /// The stack with these parameters.
    pub(crate) fn stack(self, x: &[f64]) -> Result<Stack<f64>> {
        let (a, b) = self.split(x);
        let ops = |v: ArrayView2<'_, f64>, (r, q, p): (usize, usize, usize)| {
            Array3::from_shape_fn((r, q, p), |(k, c, i)| v[[k * q + c, i]])
        };
        let first = KrausMap::new(ops(a, (self.inner, self.h, self.n)))?;
        Stack::new(vec![first, KrausMap::new(ops(b, (self.outer, 1, self.h)))?], Gamma::None)
    }
}
