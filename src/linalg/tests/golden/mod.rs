//! Comparison with numbers that a peer computed; the tests of several crates include this file by its path.

use ndarray::Array2;

/// The entries on and above the diagonal, row by row.
pub fn upper(a: &Array2<f64>) -> Vec<f64> {
    (0..a.nrows()).flat_map(|i| (i..a.nrows()).map(move |j| (i, j))).map(|at| a[at]).collect()
}

/// Fails unless all numbers agree to 1e-12.
pub fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().zip(want).all(|(g, w)| (g - w).abs() < 1e-12), "{got:?} instead of {want:?}");
}
