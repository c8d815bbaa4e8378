//! Checks of arguments, shared by everything that takes a batch of matrices (k, n, n).

use crate::{Error, InputError, Result};
use estimator::Labels;
use ndarray::{Array3, ArrayView1, ArrayView2, ArrayView3, Axis};

/// A batch of symmetric matrices with finite entries; its size n.
pub(crate) fn symmetric(what: &'static str, x: &ArrayView3<'_, f64>) -> Result<usize> {
    let (k, n, m) = x.dim();
    if k == 0 || n == 0 {
        return Err(InputError::empty(what).into());
    }
    if n != m {
        return Err(InputError::shape(what, [k, n, n], [k, n, m]).into());
    }
    for (index, a) in x.axis_iter(Axis(0)).enumerate() {
        if a.iter().any(|v| !v.is_finite()) {
            return Err(InputError::not_finite(what, index).into());
        }
        if !linalg::is_symmetric(a, linalg::tolerances::SYMMETRIC_INPUT) {
            return Err(InputError::not_symmetric(what, index).into());
        }
    }
    Ok(n)
}

/// Two batches of symmetric matrices of one size.
pub(crate) fn symmetric_pair(what: &'static str, x: &ArrayView3<'_, f64>, y: &ArrayView3<'_, f64>) -> Result<usize> {
    let (n, m) = (symmetric(what, x)?, symmetric(what, y)?);
    if n != m {
        return Err(InputError::shape(what, [y.dim().0, n, n], y.shape()).into());
    }
    Ok(n)
}

/// The labels of k matrices, with the classes that occur alone.
pub(crate) fn labels(k: usize, labels: &Labels) -> Result<Labels> {
    if labels.len() != k {
        return Err(InputError::shape("labels", [k], [labels.len()]).into());
    }
    Ok(labels.without_empty_classes())
}

/// Finite weights, none negative, with a positive sum; that sum.
pub(crate) fn weights(what: &'static str, w: &ArrayView1<'_, f64>, len: usize) -> Result<f64> {
    if w.len() != len {
        return Err(InputError::shape(what, [len], [w.len()]).into());
    }
    let sum: f64 = w.iter().sum();
    if w.iter().any(|v| !v.is_finite() || *v < 0.0) || sum <= 0.0 || !sum.is_finite() {
        return Err(Error::Weights { what });
    }
    Ok(sum)
}

/// Finite entries everywhere; the index in the error is the row.
pub(crate) fn finite(what: &'static str, x: &ArrayView2<'_, f64>) -> Result<()> {
    match x.rows().into_iter().position(|r| r.iter().any(|v| !v.is_finite())) {
        Some(index) => Err(InputError::not_finite(what, index).into()),
        None => Ok(()),
    }
}

/// A contiguous copy only when needed.
pub(crate) fn contiguous<'a>(x: &'a ArrayView3<'_, f64>) -> ndarray::CowArray<'a, f64, ndarray::Ix3> {
    if x.is_standard_layout() { x.view().into() } else { Array3::from_shape_fn(x.dim(), |at| x[at]).into() }
}
