//! Which entries are observed.

use crate::{Error, Result};
use ndarray::{Array, ArrayView, Axis, Dimension, NdIndex, RemoveAxis};
use std::ops::Index;

/// Observed (true) and missing (false) entries of an array of any shape. What validation holds out is a mask, too: it observes
/// just those entries.
///
/// A mask may be false everywhere; a method that needs something observed refuses that in its own words.
///
/// ```
/// use estimator::Mask;
/// use ndarray::array;
/// let mask = Mask::from_nan(array![[1.0, f64::NAN], [2.0, 3.0]].view());
/// assert_eq!((mask.observed(), mask.missing()), (3, 1));
/// assert!(mask[[1, 0]] && !mask[[0, 1]]);
/// assert_eq!(mask.zeros_and_ones::<f64>(), array![[1.0, 0.0], [1.0, 1.0]]);
/// let wrong = Mask::from_zeros_and_ones(array![0.0, 0.5].view()).unwrap_err().to_string();
/// assert!(wrong.starts_with("mask: sample 1 has the value 0.5"), "{wrong}");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask<D: Dimension>(Array<bool, D>);

impl<D: Dimension> Mask<D> {
    /// From flags.
    pub fn new(observed: Array<bool, D>) -> Self {
        Self(observed)
    }

    /// From 1 (observed) and 0 (missing); any other value is refused.
    pub fn from_zeros_and_ones(values: ArrayView<'_, f64, D>) -> Result<Self> {
        if let Some((at, value)) = values.iter().enumerate().find(|(_, v)| **v != 0.0 && **v != 1.0) {
            // Something was found, so no axis is empty.
            let sample = at / (values.len() / values.shape().first().copied().unwrap_or(1));
            let why = format!("sample {sample} has the value {value}; only 0 (missing) and 1 (observed) are allowed");
            return Err(Error::Mask { why });
        }
        Ok(Self(values.mapv(|v| v == 1.0)))
    }

    /// NaN is missing, everything else is observed.
    pub fn from_nan(values: ArrayView<'_, f64, D>) -> Self {
        Self(values.mapv(|v| !v.is_nan()))
    }

    /// The flags.
    pub fn flags(&self) -> ArrayView<'_, bool, D> {
        self.0.view()
    }

    /// The flags, as they are written to files.
    pub fn into_flags(self) -> Array<bool, D> {
        self.0
    }

    /// 1 at observed and 0 at missing entries, for products with residuals.
    pub fn zeros_and_ones<T: From<u8> + Clone>(&self) -> Array<T, D> {
        self.0.mapv(|o| T::from(u8::from(o)))
    }

    /// The places `indices` along one axis, in that order.
    ///
    /// # Panics
    /// If an index lies outside the axis: a programming error.
    pub fn select(&self, axis: Axis, indices: &[usize]) -> Self
    where
        D: RemoveAxis,
    {
        Self(self.0.select(axis, indices))
    }

    /// The mask at one place along one axis: that of one view, say.
    ///
    /// # Panics
    /// If the index lies outside the axis: a programming error.
    pub fn at(&self, axis: Axis, index: usize) -> Mask<D::Smaller>
    where
        D: RemoveAxis,
    {
        Mask(self.0.index_axis(axis, index).to_owned())
    }

    /// Number of observed entries.
    pub fn observed(&self) -> usize {
        self.0.iter().filter(|o| **o).count()
    }

    /// Number of missing entries.
    pub fn missing(&self) -> usize {
        self.0.len() - self.observed()
    }
}

/// Whether an entry is observed.
impl<D: Dimension, I: NdIndex<D>> Index<I> for Mask<D> {
    type Output = bool;

    fn index(&self, at: I) -> &bool {
        &self.0[at]
    }
}
