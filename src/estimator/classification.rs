//! Classification: matrices (or rows of a kernel) to labels.

use crate::{Convergence, Error, Labels, Result};
use ndarray::{ArrayView, Dimension};
use std::fmt::Debug;

/// A classification method with checked parameters.
///
/// `D` is the number of axes of the samples: `Ix3` for one matrix per sample (MDM), `Ix2` for one row per sample. A machine
/// on a precomputed kernel learns from the kernel (n, n) of its n training samples and predicts from rows (m, n) of the
/// kernel between new samples and those.
pub trait Classification<D: Dimension>: Debug + Send + Sync {
    /// What a fit gives.
    type Model: LabelModel<D> + 'static;

    /// The name of the method in tables and messages.
    fn name(&self) -> &'static str;

    /// Learns from samples along the first axis of X, one label each.
    fn fit_labels(&self, x: ArrayView<'_, f64, D>, labels: &Labels) -> Result<Self::Model>;
}

/// A [`Classification`] whose type is not known: what a loop over methods holds.
pub trait Classifier<D: Dimension>: Debug + Send + Sync {
    /// The name of the method in tables and messages.
    fn name(&self) -> &'static str;

    /// Learns from samples along the first axis of X, one label each.
    fn fit_boxed(&self, x: ArrayView<'_, f64, D>, labels: &Labels) -> Result<Box<dyn LabelModel<D>>>;
}

impl<D: Dimension, C: Classification<D>> Classifier<D> for C {
    fn name(&self) -> &'static str {
        Classification::name(self)
    }

    fn fit_boxed(&self, x: ArrayView<'_, f64, D>, labels: &Labels) -> Result<Box<dyn LabelModel<D>>> {
        Ok(Box::new(self.fit_labels(x, labels)?))
    }
}

/// A fitted classifier.
pub trait LabelModel<D: Dimension>: Debug + Send + Sync {
    /// The classes, ascending.
    fn classes(&self) -> &[i64];

    /// The label of each sample along the first axis of X.
    fn predict_labels(&self, x: ArrayView<'_, f64, D>) -> Result<Vec<i64>>;

    /// How the fit ended; none for a method that does not iterate.
    fn convergence(&self) -> Option<Convergence>;

    /// Share of samples whose predicted label is the given one.
    fn accuracy(&self, x: ArrayView<'_, f64, D>, labels: &Labels) -> Result<f64> {
        let predicted = self.predict_labels(x)?;
        if predicted.len() != labels.len() {
            let why = format!("{} labels for {} samples; give one for each", labels.len(), predicted.len());
            return Err(Error::Labels { why });
        }
        let hits = predicted.iter().zip(labels.values()).filter(|(a, b)| **a == *b).count();
        Ok(hits as f64 / predicted.len().max(1) as f64)
    }
}
