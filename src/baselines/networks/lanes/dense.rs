//! Any format as a layer: its weights W are formed once per step, a batch goes through them, and the gradient in W goes back through the format.

use super::super::format::Format;
use super::super::scratch::Scratch;
use super::{Layer, to_rows};
use linalg::Real;
use linalg::batch::{LANES, Lane};
use linalg::small::small_gemm;
use ndarray::Array2;

/// The format, and the buffers of a step.
pub(crate) struct Dense<'a, T> {
    format: &'a dyn Format,
    scratch: Scratch,
    /// W (inputs, outputs) and its gradient.
    w: Vec<T>,
    dw: Vec<T>,
    /// D with one row per sample.
    rows: Vec<T>,
}

impl<'a, T: Real> Dense<'a, T> {
    pub(crate) fn new(format: &'a dyn Format) -> Self {
        Dense { format, scratch: Scratch::default(), w: Vec::new(), dw: Vec::new(), rows: Vec::new() }
    }

    fn theta(theta: &[T]) -> Vec<f64> {
        theta.iter().map(|v| v.as_f64()).collect()
    }
}

impl<T: Real> Layer<T> for Dense<'_, T> {
    fn begin(&mut self, theta: &[T]) {
        let w = self.format.dense(&Self::theta(theta), &self.scratch);
        self.w.clear();
        self.w.extend(w.iter().map(|&v| T::of(v)));
        self.dw.clear();
        self.dw.resize(w.len(), T::of(0.0));
        self.scratch.give(w);
    }

    fn forward(&mut self, _theta: &[T], x: &[Lane<T>], y: &mut [Lane<T>]) {
        let (m, n) = (x.len(), y.len());
        small_gemm((n, LANES, m), &self.w, (1, n), x.as_flattened(), LANES, y.as_flattened_mut(), LANES, false);
    }

    fn backward(&mut self, _theta: &[T], x: &[Lane<T>], d: &[Lane<T>], _gradient: &mut [T]) {
        let (m, n) = (x.len(), d.len());
        self.rows.resize(LANES * n, T::of(0.0));
        to_rows(d, &mut self.rows);
        small_gemm((m, n, LANES), x.as_flattened(), (LANES, 1), &self.rows, n, &mut self.dw, n, true);
    }

    fn end(&mut self, theta: &[T], gradient: &mut [T]) {
        let n = self.rows.len() / LANES;
        let dw = self.dw.iter().map(|v| v.as_f64()).collect();
        let dw = Array2::from_shape_vec((self.dw.len() / n, n), dw).expect("as many elements as W has");
        let mut pulled = vec![0.0; gradient.len()];
        self.format.parameter_gradient(&Self::theta(theta), dw, &self.scratch, &mut pulled);
        gradient.iter_mut().zip(&pulled).for_each(|(g, &v)| *g += T::of(v));
    }
}
