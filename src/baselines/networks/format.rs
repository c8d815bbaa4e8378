//! The interface between a weight format and its training: parameters theta -> weights W, and gradients back.

use super::lanes::Layer;
use super::scratch::Scratch;
use crate::Result;
use ndarray::Array2;

/// A parametrisation of a weight matrix W (inputs, outputs).
pub(crate) trait Format {
    /// Number of parameters.
    fn len(&self) -> usize;
    /// Standard deviation of each parameter such that the entries of W have standard deviation `weight`.
    fn deviation(&self, weight: f64) -> f64;
    /// W at theta.
    fn dense(&self, theta: &[f64], scratch: &Scratch) -> Array2<f64>;
    /// Writes the gradient in theta into `gradient`, given the gradient `dw` in W.
    fn parameter_gradient(&self, theta: &[f64], dw: Array2<f64>, scratch: &Scratch, gradient: &mut [f64]);
    /// Parameters whose weights are near W, where the format can compute them directly. L-BFGS starts from them.
    fn parameters_near(&self, _w: Array2<f64>) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }
    /// The layer that Adam trains, in single precision, as in partial trace regression.
    fn layer(&self) -> Box<dyn Layer<f32> + '_>;
}
