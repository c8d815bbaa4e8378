//! Regression from matrices to matrices.

use crate::{Convergence, Error, Result};
use ndarray::{Array3, ArrayView3, Axis};
use std::fmt::Debug;

/// A regression method with checked parameters, with the type of its model.
///
/// To loop over methods of several kinds use [`Regressor`], which every `Regression` is.
pub trait Regression: Debug + Send + Sync {
    /// What a fit gives.
    type Model: MatrixModel + 'static;

    /// The name of the method in tables and messages.
    fn name(&self) -> &'static str;

    /// Learns from X (l, p, p') and Y (l, q, q'), samples along the first axis.
    fn fit_matrices(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Self::Model>;
}

/// A [`Regression`] whose type is not known: what a loop over methods holds.
pub trait Regressor: Debug + Send + Sync {
    /// The name of the method in tables and messages.
    fn name(&self) -> &'static str;

    /// Learns from X (l, p, p') and Y (l, q, q'), samples along the first axis.
    fn fit_boxed(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Box<dyn MatrixModel>>;
}

impl<R: Regression> Regressor for R {
    fn name(&self) -> &'static str {
        Regression::name(self)
    }

    fn fit_boxed(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<Box<dyn MatrixModel>> {
        Ok(Box::new(self.fit_matrices(x, y)?))
    }
}

/// A fitted map from matrices to matrices.
pub trait MatrixModel: Debug + Send + Sync {
    /// Rows and columns of its inputs, then of its outputs.
    fn sizes(&self) -> ((usize, usize), (usize, usize));

    /// The outputs (l, q, q') for inputs (l, p, p').
    fn predict_matrices(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>>;

    /// Number of free parameters.
    fn parameters(&self) -> usize;

    /// How the fit ended; none for a method that does not iterate.
    fn convergence(&self) -> Option<Convergence>;

    /// What the method decided, as short texts: a chosen penalty, the path it took.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Mean squared error over all samples and entries.
    fn mean_squared_error(&self, x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<f64> {
        let predicted = self.predict_matrices(x)?;
        if predicted.dim() != y.dim() {
            let expected = format!("{:?}", predicted.shape());
            return Err(Error::Shape { what: "Y", expected, got: y.shape().to_vec() });
        }
        let sum: f64 = predicted.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        Ok(sum / predicted.len().max(1) as f64)
    }
}

/// Refuses pairs that no method can learn from: empty sets, other numbers of samples, NaN and infinity.
pub fn check_pairs(x: ArrayView3<'_, f64>, y: ArrayView3<'_, f64>) -> Result<()> {
    for (what, a) in [("X", x.view()), ("Y", y.view())] {
        if a.is_empty() {
            return Err(Error::Empty { what });
        }
        if let Some(sample) = a.axis_iter(Axis(0)).position(|m| m.iter().any(|v| !v.is_finite())) {
            return Err(Error::NotFinite { what, sample });
        }
    }
    if x.dim().0 != y.dim().0 {
        let expected = format!("({}, q, q), as many samples as X", x.dim().0);
        return Err(Error::Shape { what: "Y", expected, got: y.shape().to_vec() });
    }
    Ok(())
}
