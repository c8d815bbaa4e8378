//! A weight format for symmetric inputs, which are half-vectorised.
//!
//! For symmetric X, vec(X) W = svec(X) V with V[ij] = (W[ij] + W[ji]) / sqrt 2 for i < j and V[ii] = W[ii]: a product
//! with p(p+1)/2 rows instead of p^2. The model, its parameters and its loss stay the same.

use super::format::Format;
use super::lanes::{Dense, Layer};
use super::scratch::{Scratch, elements, elements_mut};
use crate::{Layout, Result};
use ndarray::Array2;
use std::f64::consts::FRAC_1_SQRT_2;

/// The format `inner` with folded weights V: the rows ij and ji of W become one row.
pub(crate) struct SymmetricInput<'a> {
    inner: &'a dyn Format,
    layout: Layout,
}

impl<'a> SymmetricInput<'a> {
    /// Wraps `inner` for inputs in this half layout.
    pub(crate) fn new(inner: &'a dyn Format, layout: Layout) -> Self {
        SymmetricInput { inner, layout }
    }

    /// For each row of V: its index, and the indices of the two rows of W that it stands for (the same index twice on the diagonal).
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let n = self.layout.rows;
        let pairs = (0..n).flat_map(move |i| (i..n).map(move |j| (i * n + j, j * n + i)));
        pairs.enumerate().map(|(k, (a, b))| (k, a, b))
    }
}

impl Format for SymmetricInput<'_> {
    fn len(&self) -> usize {
        self.inner.len()
    }

    fn deviation(&self, weight: f64) -> f64 {
        self.inner.deviation(weight)
    }

    fn dense(&self, theta: &[f64], scratch: &Scratch) -> Array2<f64> {
        let w = self.inner.dense(theta, scratch);
        let mut v = scratch.take((self.layout.len(), w.ncols()));
        let (n, from) = (w.ncols(), elements(&w));
        for ((_, a, b), row) in self.pairs().zip(elements_mut(&mut v).chunks_exact_mut(n)) {
            let (first, second) = (&from[a * n..][..n], &from[b * n..][..n]);
            if a == b {
                row.copy_from_slice(first);
            } else {
                row.iter_mut().zip(first).zip(second).for_each(|((v, a), b)| *v = (a + b) * FRAC_1_SQRT_2);
            }
        }
        scratch.give(w);
        v
    }

    fn parameter_gradient(&self, theta: &[f64], dv: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]) {
        let dw = self.unfold(&dv, scratch);
        scratch.give(dv);
        self.inner.parameter_gradient(theta, dw, scratch, gradient);
    }

    fn layer(&self) -> Box<dyn Layer<f32> + '_> {
        Box::new(Dense::new(self))
    }

    fn parameters_near(&self, v: Array2<f64>) -> Result<Option<Vec<f64>>> {
        self.inner.parameters_near(self.unfold(&v, &Scratch::default()))
    }
}

impl SymmetricInput<'_> {
    /// The W of least norm that folds to V. It is also the transpose of folding, so it takes the gradient in V to the gradient in W.
    fn unfold(&self, dv: &Array2<f64>, scratch: &Scratch) -> Array2<f64> {
        let (n, dv) = (dv.ncols(), dv.as_standard_layout());
        let mut dw = scratch.take((self.layout.rows * self.layout.cols, n));
        let (from, to) = (dv.as_slice().expect("standard layout"), elements_mut(&mut dw));
        for (k, a, b) in self.pairs() {
            let (share, row) = (if a == b { 1.0 } else { FRAC_1_SQRT_2 }, &from[k * n..][..n]);
            for at in [a, b] {
                to[at * n..][..n].iter_mut().zip(row).for_each(|(w, v)| *w = share * v);
            }
        }
        dw
    }
}
