//! Scratch arrays of a training step, kept from step to step.
//!
//! A step needs a handful of arrays of a few hundred kilobytes. Allocating them in every step was measured to cost as much as
//! the arithmetic, because the system maps and clears their pages anew. So a fit owns one [`Scratch`].

use linalg::gemm;
use ndarray::{Array2, ArrayView2};
use std::cell::RefCell;

/// A pool of scratch arrays, reused by length, so that the inner loop allocates nothing.
#[derive(Default)]
pub(crate) struct Scratch {
    spare: RefCell<Vec<Vec<f64>>>,
}

impl Scratch {
    /// An array of this shape. Its values are undefined: they are left over from its last use.
    pub(crate) fn take(&self, (rows, cols): (usize, usize)) -> Array2<f64> {
        let mut spare = self.spare.borrow_mut();
        let fits = spare.iter().position(|v| v.len() == rows * cols);
        let elements = fits.map_or_else(|| vec![0.0; rows * cols], |k| spare.swap_remove(k));
        Array2::from_shape_vec((rows, cols), elements).expect("as many elements as the shape says")
    }

    /// Returns an array to the pool.
    pub(crate) fn give(&self, a: Array2<f64>) {
        self.spare.borrow_mut().push(a.into_raw_vec_and_offset().0);
    }

    /// The product A B in a scratch array.
    pub(crate) fn product(&self, a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut c = self.take((a.nrows(), b.ncols()));
        gemm(1.0, a, b, 0.0, c.view_mut());
        c
    }
}

/// The elements of a row-major array.
pub(crate) fn elements(a: &Array2<f64>) -> &[f64] {
    a.as_slice().expect("scratch arrays are row-major")
}

/// The elements of a row-major array, for writing.
pub(crate) fn elements_mut(a: &mut Array2<f64>) -> &mut [f64] {
    a.as_slice_mut().expect("scratch arrays are row-major")
}
