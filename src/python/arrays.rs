//! Arrays from Python, and errors to Python.
//!
//! The Python layer hands over float64 arrays in C order; they are used where they lie. A copy is made of matrices that are symmetric up to
//! rounding but not to the bit: these are made exactly symmetric, as the program `repro` does when it reads a file.

use kraus::data::{rounding, symmetrise_rounding};
use ndarray::{ArrayView2, ArrayView3, Axis, CowArray, Ix3};
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyValueError};
use rayon::prelude::*;
use std::fmt::Display;

/// Any refusal of the libraries: the caller's values are wrong.
pub fn refused(e: impl Display) -> PyErr {
    PyValueError::new_err(e.to_string())
}

/// A file that cannot be read or written is no fault of a value.
pub fn disk(e: kraus::DiskError) -> PyErr {
    match e {
        kraus::DiskError::Io { .. } => PyOSError::new_err(e.to_string()),
        other => refused(other),
    }
}

/// Refuses NaN and infinity, and says where they are.
pub fn finite(what: &str, x: ArrayView3<'_, f64>) -> Result<(), String> {
    // Nearly always all is well, and that is seen faster without positions.
    if x.axis_iter(Axis(0)).into_par_iter().all(|m| m.iter().all(|v| v.is_finite())) {
        return Ok(());
    }
    match x.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((s, i, j), v)) => Err(format!("{what}: sample {s}, entry ({i}, {j}) is {v}; remove or repair it")),
    }
}

/// The same for one matrix.
pub fn finite_matrix(what: &str, x: ArrayView2<'_, f64>) -> Result<(), String> {
    match x.indexed_iter().find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some(((i, j), v)) => Err(format!("{what}: entry ({i}, {j}) is {v}; remove or repair it")),
    }
}

/// Finite matrices, exactly symmetric where they are so up to the rounding of their own precision.
pub fn tidy<'a>(what: &str, x: ArrayView3<'a, f64>, single: bool) -> Result<CowArray<'a, f64, Ix3>, String> {
    finite(what, x)?;
    if x.axis_iter(Axis(0)).into_par_iter().all(|m| linalg::is_symmetric(m, 0.0)) {
        return Ok(x.into());
    }
    let mut own = x.to_owned();
    own.outer_iter_mut().for_each(|mut m| symmetrise_rounding(&mut m, rounding(single)));
    Ok(own.into())
}

/// Symmetric positive definite matrices; the error names the matrix and, where entries differ, the entries.
pub fn definite<'a>(what: &str, x: ArrayView3<'a, f64>, single: bool) -> Result<CowArray<'a, f64, Ix3>, String> {
    let x = tidy(what, x, single)?;
    for (s, m) in x.outer_iter().enumerate() {
        if !linalg::is_symmetric(m, 1e-8) {
            let apart = m.indexed_iter().find(|((i, j), v)| i < j && **v != m[[*j, *i]]);
            let ((i, j), v) = apart.unwrap_or(((0, 0), &0.0));
            return Err(format!(
                "{what}: matrix {s} is not symmetric, entry ({i}, {j}) is {v} and ({j}, {i}) is {}; pass (A + A^T) / 2 if that is what you mean",
                m[[j, i]]
            ));
        }
    }
    Ok(x)
}
