//! A weight format seen from half-vectorised symmetric inputs.
//!
//! For symmetric X, vec(X) W = svec(X) V with V[ij] = (W[ij] + W[ji]) / sqrt 2 for i < j and V[ii] = W[ii]: a product
//! with p(p+1)/2 rows instead of p^2. The model, its parameters and its loss stay the same.

use crate::network::Format;
use crate::{Layout, Result};
use ndarray::Array2;
use std::f64::consts::FRAC_1_SQRT_2;

/// The format `inner` with the rows of symmetric pairs folded.
pub(crate) struct Half<'a> {
    inner: &'a dyn Format,
    layout: Layout,
}

impl<'a> Half<'a> {
    /// For inputs in this half layout.
    pub(crate) fn new(inner: &'a dyn Format, layout: Layout) -> Self {
        Half { inner, layout }
    }

    /// Row of V, and the two rows of W that it stands for.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let n = self.layout.rows;
        let pairs = (0..n).flat_map(move |i| (i..n).map(move |j| (i * n + j, j * n + i)));
        pairs.enumerate().map(|(k, (a, b))| (k, a, b))
    }
}

impl Format for Half<'_> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn deviation(&self, weight: f64) -> f64 {
        self.inner.deviation(weight)
    }

    fn dense(&self, theta: &[f64]) -> Array2<f64> {
        let w = self.inner.dense(theta);
        let mut v = Array2::zeros((self.layout.len(), w.ncols()));
        for (k, a, b) in self.pairs() {
            let mut row = v.row_mut(k);
            row.assign(&w.row(a));
            if a != b {
                row.zip_mut_with(&w.row(b), |v, w| *v = (*v + w) * FRAC_1_SQRT_2);
            }
        }
        v
    }

    fn pull(&self, theta: &[f64], dv: Array2<f64>) -> Vec<f64> {
        self.inner.pull(theta, self.unfold(&dv))
    }

    fn near(&self, v: Array2<f64>) -> Result<Option<Vec<f64>>> {
        self.inner.near(self.unfold(&v))
    }
}

impl Half<'_> {
    /// W from V such that folding W gives V back, of least norm; also the derivative's way back.
    fn unfold(&self, dv: &Array2<f64>) -> Array2<f64> {
        let mut dw = Array2::zeros((self.layout.rows * self.layout.cols, dv.ncols()));
        for (k, a, b) in self.pairs() {
            let share = if a == b { 1.0 } else { FRAC_1_SQRT_2 };
            dw.row_mut(a).zip_mut_with(&dv.row(k), |w, v| *w = share * v);
            dw.row_mut(b).zip_mut_with(&dv.row(k), |w, v| *w = share * v);
        }
        dw
    }
}
