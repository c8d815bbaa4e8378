//! The check of every argument: finite entries everywhere.

use crate::{InputError, Result};
use ndarray::ArrayView2;

/// Refuses NaN and infinity; the index in the error is the row.
pub(crate) fn finite(what: &'static str, x: &ArrayView2<'_, f64>) -> Result<()> {
    match x.rows().into_iter().position(|r| r.iter().any(|v| !v.is_finite())) {
        Some(index) => Err(InputError::not_finite(what, index).into()),
        None => Ok(()),
    }
}
