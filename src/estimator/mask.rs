//! Which entries are observed.

use crate::{Error, Result};
use ndarray::{Array, ArrayView, Dimension};

/// Observed (true) and missing (false) entries of an array of any shape.
///
/// ```
/// use estimator::Mask;
/// use ndarray::array;
/// let mask = Mask::from_nan(array![[1.0, f64::NAN], [2.0, 3.0]].view())?;
/// assert_eq!((mask.observed(), mask.missing()), (3, 1));
/// assert_eq!(mask.zeros_and_ones::<f64>(), array![[1.0, 0.0], [1.0, 1.0]]);
/// assert!(Mask::from_zeros_and_ones(array![0.0, 0.5].view()).is_err());
/// # Ok::<(), estimator::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask<D: Dimension>(Array<bool, D>);

impl<D: Dimension> Mask<D> {
    /// From flags; refuses a mask without a single observed entry.
    pub fn new(observed: Array<bool, D>) -> Result<Self> {
        if observed.iter().any(|o| *o) {
            return Ok(Self(observed));
        }
        Err(Error::Mask { why: "no entry is observed; at least one is needed".into() })
    }

    /// From 1 (observed) and 0 (missing); any other value is refused.
    pub fn from_zeros_and_ones(values: ArrayView<'_, f64, D>) -> Result<Self> {
        if let Some((at, value)) = values.indexed_iter().find(|(_, v)| **v != 0.0 && **v != 1.0) {
            let why = format!("entry {at:?} is {value}; only 0 (missing) and 1 (observed) are allowed");
            return Err(Error::Mask { why });
        }
        Self::new(values.mapv(|v| v == 1.0))
    }

    /// NaN is missing, everything else is observed.
    pub fn from_nan(values: ArrayView<'_, f64, D>) -> Result<Self> {
        Self::new(values.mapv(|v| !v.is_nan()))
    }

    /// The flags.
    pub fn flags(&self) -> ArrayView<'_, bool, D> {
        self.0.view()
    }

    /// 1 at observed and 0 at missing entries, for products with residuals.
    pub fn zeros_and_ones<T: From<u8> + Clone>(&self) -> Array<T, D> {
        self.0.mapv(|o| T::from(u8::from(o)))
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
