//! Matrices of deficient rank, projected to the range that they share: X -> U^T X U with orthonormal columns U (n, r).
//!
//! An average reference, interpolated channels or removed components leave covariances without full rank, and their
//! logarithms do not exist. Where all of them lack the same directions, nothing is lost by leaving these out: the reduced
//! matrices (r, r) have full rank, and distances and means between them are those on the common range.
//!
//! U holds the eigenvectors of the average of X / tr X whose eigenvalue exceeds `tolerance` times the largest, largest first.

use crate::manifold::function::sandwich;
use crate::{Error, InputError, Result, check};
use ndarray::{Array2, Array3, ArrayView3, Axis, s};

/// Share of the largest eigenvalue of the average below which a direction counts as missing. Rounding in f32 recordings leaves
/// 1e-14 (it is squared in a covariance); real directions of EEG lie above 1e-7.
const MISSING: f64 = 1e-10;

/// A projection to the common range of matrices.
#[derive(Debug, Clone, PartialEq)]
pub struct Reduction {
    basis: Array2<f64>,
}

impl Reduction {
    /// The common range of all matrices of all sets, each set (k, n, n) with the same n.
    ///
    /// ```
    /// use spd::{Metric, Reduction};
    /// // Two channels that always see the same: rank one.
    /// let x = ndarray::arr3(&[[[1.0, 1.0], [1.0, 1.0]], [[3.0, 3.0], [3.0, 3.0]]]);
    /// assert!(spd::self_distances(x.view(), Metric::AffineInvariant).is_err());
    /// let reduction = Reduction::fit(&[x.view()])?;
    /// let small = reduction.apply(x.view())?;
    /// assert_eq!((reduction.rank(), small.dim()), (1, (2, 1, 1)));
    /// let d = spd::self_distances(small.view(), Metric::AffineInvariant)?;
    /// assert!((d[[0, 1]] - 3f64.ln()).abs() < 1e-14);
    /// # Ok::<(), spd::Error>(())
    /// ```
    pub fn fit(sets: &[ArrayView3<'_, f64>]) -> Result<Self> {
        let what = "reduction";
        let first = sets.first().ok_or(InputError::empty(what))?;
        let n = check::symmetric(what, first)?;
        let mut average = Array2::<f64>::zeros((n, n));
        for set in sets {
            check::symmetric_pair(what, first, set)?;
            for (index, x) in set.outer_iter().enumerate() {
                let trace = x.diag().sum();
                if !(trace > 0.0 && trace.is_finite()) {
                    return Err(Error::NotPositiveDefinite { what, index });
                }
                average.scaled_add(1.0 / trace, &x);
            }
        }
        let e = linalg::eigh(linalg::symmetrise(average.view()).view())?;
        let top = e.values[n - 1];
        let rank = e.values.iter().filter(|v| **v > MISSING * top).count();
        let mut basis = e.vectors.slice(s![.., n - rank..]).to_owned();
        basis.invert_axis(Axis(1));
        Ok(Reduction { basis: basis.as_standard_layout().into_owned() })
    }

    /// A reduction with a basis that was found before, U (n, rank) with orthonormal columns.
    pub fn from_basis(basis: Array2<f64>) -> Result<Self> {
        let (n, rank) = basis.dim();
        let gram = linalg::matmul(basis.t(), basis.view());
        let off = gram.indexed_iter().fold(0.0f64, |m, ((i, j), v)| m.max((v - f64::from(u8::from(i == j))).abs()));
        if rank == 0 || rank > n || off.is_nan() || off > 1e-8 {
            let must = "orthonormal columns, at least one and at most as many as rows";
            return Err(InputError::parameter("basis", off, must).into());
        }
        Ok(Reduction { basis })
    }

    /// The largest share of a trace that the projection leaves out: zero where the matrices have no power outside the range.
    pub fn left_out(&self, x: ArrayView3<'_, f64>) -> Result<f64> {
        let kept = self.apply(x)?;
        let share = |(whole, part): (ndarray::ArrayView2<'_, f64>, ndarray::ArrayView2<'_, f64>)| {
            1.0 - part.diag().sum() / whole.diag().sum()
        };
        Ok(x.outer_iter().zip(kept.outer_iter()).map(share).fold(0.0, f64::max))
    }

    /// Dimension of the common range.
    pub fn rank(&self) -> usize {
        self.basis.ncols()
    }

    /// U, (n, rank), with orthonormal columns.
    pub fn basis(&self) -> &Array2<f64> {
        &self.basis
    }

    /// U^T X U for every matrix.
    pub fn apply(&self, x: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        sandwich("reduction", self.basis.t(), x)
    }

    /// U Z U^T for reduced matrices Z (k, rank, rank): back in the channels.
    pub fn restore(&self, z: ArrayView3<'_, f64>) -> Result<Array3<f64>> {
        sandwich("reduction", self.basis.view(), z)
    }
}
