//! The interface between a weight format and its training: parameters theta -> weights W, and gradients back.

use super::scratch::Scratch;
use crate::Result;
use crate::regressor::mean_square;
use ndarray::{Array2, ArrayView2};

/// A parametrisation of a weight matrix W (inputs, outputs).
pub(crate) trait Format {
    /// Number of parameters.
    fn len(&self) -> usize;
    /// Standard deviation of each parameter such that the entries of W have standard deviation `weight`.
    fn deviation(&self, weight: f64) -> f64;
    /// W at theta.
    fn dense(&self, theta: &[f64], scratch: &Scratch) -> Array2<f64>;
    /// The gradient in theta, given that in W.
    fn pull(&self, theta: &[f64], dw: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]);
    /// Parameters whose weights are near W, where the format has a direct way to them: a start for the optimum.
    fn near(&self, _w: Array2<f64>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// Whether a batch is contracted with the parts of W instead of with W.
    fn contracts(&self) -> bool {
        false
    }
    /// A batch x (b, inputs) through the weights and back: `turn` gets x W and puts the gradient there in its place.
    /// W is formed once per step and the batch goes through it as one product.
    fn step(&self, theta: &[f64], x: ArrayView2<'_, f64>, turn: Turn<'_>, scratch: &Scratch, gradient: &mut [f64]) {
        let w = self.dense(theta, scratch);
        let mut y = scratch.product(x, w.view());
        scratch.give(w);
        turn(&mut y);
        self.pull(theta, scratch.product(x.t(), y.view()), scratch, gradient);
        scratch.give(y);
    }
}

/// Replaces the predictions of a batch by the gradient of the loss in them; called between the forward and the backward pass.
pub(crate) type Turn<'a> = &'a mut dyn FnMut(&mut Array2<f64>);

/// Loss (mean square over samples and entries) of a batch and its gradient in theta, the bias at the end of both.
pub(crate) fn loss_and_gradient(
    format: &dyn Format,
    theta: &[f64],
    (x, y): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
    scratch: &Scratch,
    gradient: &mut [f64],
) -> f64 {
    let (weights, offset) = theta.split_at(format.len());
    let (inner, outer) = gradient.split_at_mut(format.len());
    let mut loss = 0.0;
    let mut turn = |residual: &mut Array2<f64>| {
        *residual -= &y;
        if !offset.is_empty() {
            *residual += &ndarray::ArrayView1::from(offset);
        }
        loss = mean_square(residual.iter());
        *residual *= 2.0 / residual.len() as f64;
        if !outer.is_empty() {
            outer.iter_mut().zip(residual.columns()).for_each(|(g, column)| *g = column.sum());
        }
    };
    format.step(weights, x, &mut turn, scratch, inner);
    loss
}
